"""Every other model_type that is read: each model inside a small one, run by itself, gives its own probabilities."""

import re
from functools import partial

import pytest
import test_architectures_audio
import test_architectures_text
import test_architectures_vision
import torch
import transformers as tf
from attention_oracle import Case, agrees
from small_models import WIDTH, small_model
from transformers import AttentionInterface
from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import DiTAttention

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Refused

NAMED = test_architectures_text.CASES + test_architectures_vision.CASES + test_architectures_audio.CASES
# towers that run in the models of those cases alone; the last is of training, see tests/training/test_positions.py
PROVEN = {case.model_type for case in NAMED}.union(
    "git_vision_model idefics3_vision smolvlm_vision qwen2_vl_text qwen2_vl_vision qwen2_5_vl_text".split(),
    "qwen2_5_vl_vision sam_mask_decoder blt_global_transformer blt_local_decoder blt_local_encoder emu3_vqgan".split(),
    "coarse_acoustics fine_acoustics semantic fun_asr_nano_adaptor granite4_vision_qformer idefics_perciever".split(),
    "sam_hq_mask_decoder sam3_tracker_mask_decoder sam3_geometry_encoder sam3_lite_text_geometry_encoder".split(),
    "idefics_vision blip_text_decoder pp_chart2table_vision attngeo-bert".split(),
)
OTHERS = {name for name, entry in ARCHITECTURES.items() if not isinstance(entry, Refused)} - PROVEN


def plain(module, query, key, value, attention_mask, **kwargs):
    """Attention for a model that knows torch's fused one alone, with its mask of true where a query attends."""
    logits = (query @ key.mT * query.shape[-1] ** -0.5).masked_fill(~attention_mask, -torch.inf)
    probabilities = logits.softmax(-1)
    return (probabilities @ value).transpose(1, 2), probabilities


AttentionInterface.register("plain", plain)


def without_table(model) -> None:
    """GLM's vision models sample their table of positions in float32 alone, SAM's boxes need torchvision."""
    for module in model.double().modules():
        if isinstance(module, DiTAttention):
            module.config._attn_implementation = "plain"
        if hasattr(module, "_encode_boxes"):
            module._encode_boxes = lambda boxes, mask, *args: (torch.randn(*boxes.shape[:2], WIDTH), mask)
        if re.fullmatch("Glm.*VisionEmbeddings", type(module).__name__):
            module.forward = lambda patches, *args, **kwargs: patches


def as_decoder(model) -> None:
    """BLIP's text model is told by its caller to hide later tokens."""
    model.text_decoder.bert.forward = partial(model.text_decoder.bert.forward, is_decoder=True)


ANSWERING = small_model("blip", tf.BlipForQuestionAnswering)  # has a text encoder and a text decoder
CASES = [Case(name, alone=True, prepare=without_table) for name in sorted(OTHERS)]
CASES.append(Case("blip+answering", ANSWERING, alone=True, prepare=as_decoder))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_forms_read_give_the_models_own_probabilities(case, tmp_path):
    agrees(case, tmp_path)


def test_attention_that_is_not_read_is_missed(monkeypatch, tmp_path):
    monkeypatch.setitem(ARCHITECTURES, "bart", ARCHITECTURES["bart"][:1])
    with pytest.raises(AssertionError, match="more attention than was read"):
        agrees(Case("bart", alone=True), tmp_path)
