"""What the oracle is asked of: every model_type that is read, and what is particular to some checkpoints."""

import re
from functools import partial
from unittest import mock

import torch
import transformers as tf
from attention_oracle import Case
from small_models import HEADS, TOKENS, WIDTH, inputs_of, small_config, small_model, tokens
from torch import nn
from transformers import AttentionInterface
from transformers.models.gemma3n import modeling_gemma3n
from transformers.models.qwen2_5_omni.modeling_qwen2_5_omni import DiTAttention

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Refused

# towers that run in the models of others alone; the last is of training, see tests/training/test_positions.py
TOWERS = """blip_text_decoder blt_global_transformer blt_local_decoder blt_local_encoder coarse_acoustics emu3_vqgan
fine_acoustics fun_asr_nano_adaptor granite4_vision_qformer idefics_perciever idefics_vision pp_chart2table_vision
sam3_geometry_encoder sam3_lite_text_geometry_encoder sam3_tracker_mask_decoder sam_hq_mask_decoder sam_mask_decoder
semantic attngeo-bert""".split()
# types whose code is on the Hub alone, see tests/checkpoints/test_published_layouts.py
PUBLISHED = (
    """Dream baichuan chatglm deci internlm internlm2 llada nemotron-nas neobert openelm qwen sl_model""".split()
)

# types of other libraries, see tests/checkpoints/test_other_libraries.py
LIBRARIES = "megatron open_clip open_clip_text open_clip_vision timm".split()


def without_alibi(name: str):
    """Leaves out the biases by distance, which the model adds to its logits."""

    def prepare(model) -> None:
        build = getattr(model, name)
        setattr(model, name, lambda *args, **kwargs: torch.zeros_like(build(*args, **kwargs), dtype=torch.float64))

    return prepare


def without_scale_by_place(model) -> None:
    """Leaves out the factor of queries that grows with their place."""
    for layer in model.layers:
        layer.self_attn.register_forward_pre_hook(
            lambda module, args, kwargs: (args, kwargs | {"attention_scaling": None}), with_kwargs=True
        )


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


def patches_of_bytes(model) -> None:
    """Runs a model whose patches of bytes are given, and the model that would find them."""
    model.patcher(tokens()["input_ids"])
    model(**tokens(), patch_lengths=torch.tensor([[1, 3, 4]] * 2), use_cache=False)


def encoded_and_decoded(model) -> None:
    """Runs encoder and decoder, each by itself: what makes the mask in between knows no float64."""
    ids, later = tokens()["input_ids"], torch.full((5, 5), -torch.inf).triu(1)
    model.decoder(ids[:, :5], model.encoder(ids).last_hidden_state, None, None, later)


def points(model) -> None:
    """Runs the layers on points of two images, which no detector has found."""
    descriptors, places = torch.randn(2, TOKENS, WIDTH), torch.rand(2, TOKENS, 2)
    for layer in model.transformer_layers:
        descriptors = layer(descriptors, model.positional_encoder(places)[0], None)[0]


def read_and_spoken(model) -> None:
    """Runs the encoder on tokens and the decoder on frames, whose number nothing has foretold."""
    model = getattr(model, "model", model)
    model.encoder(tokens()["input_ids"])
    model.decoder(torch.randn(2, TOKENS, WIDTH))


def image_and_codes(model) -> None:
    """Runs a text model, and what makes codes of an image and an image of codes."""
    model.text_model(**tokens())
    model.vqmodel.encode(torch.randn(1, 4, 3, 16, 16), torch.tensor([[16, 16]]))
    model.vqmodel.decode(torch.zeros(1, 1, 2, 2, dtype=torch.long))


def with_all_inputs(model) -> None:
    """Runs the whole model alone, and none of the models inside it."""
    model(**inputs_of(model))


def musicgen():
    """Text encoder, codec and decoder."""
    parts = {"text_encoder": "t5", "audio_encoder": "encodec", "decoder": "musicgen_decoder"}
    config = tf.MusicgenConfig(**{part: small_config(name).to_dict() for part, name in parts.items()})
    return tf.MusicgenForConditionalGeneration._from_config(config, attn_implementation="eager")


def gemma3n():
    """Text and audio; an identity stands for the model of images, which is one of timm."""
    config = small_config("gemma3n")
    inner = {"gemma3n_vision": nn.Identity}

    def made(config):
        return inner.get(config.model_type, partial(tf.AutoModel.from_config, config))()

    with mock.patch.object(modeling_gemma3n, "AutoModel", mock.Mock(from_config=made)):
        return tf.Gemma3nModel._from_config(config, attn_implementation="eager")


def windows(model) -> None:
    """Runs a model on two whole windows of tokens, so that none of them is padding."""
    ids = torch.arange(16).view(2, 8) * 7 % 31 + 3
    model(ids, **({"decoder_input_ids": ids} if model.config.is_encoder_decoder else {}))


def without_distances(model) -> None:
    """Gives XLNet's attention its weights back, which bear the name of relative positions, but those of distances."""
    for name, parameter in model.double().named_parameters():
        if re.search(r"rel_attn\.[qkvo]$", name):
            nn.init.normal_(parameter, 0, WIDTH**-0.5)
        if name.endswith("rel_attn.layer_norm.weight"):
            nn.init.uniform_(parameter, 0.5, 1.5)


def text_alone(model) -> None:
    """Runs the text model of several."""
    model.language_model(**tokens())


KINDS = ["sliding_attention", "full_attention", "sliding_attention"] * 2
FIFTH = {"num_hidden_layers": 10, "num_kv_shared_layers": 5, "layer_types": None, "activation_sparsity_pattern": None}
PARTICULAR = [
    Case("beam", prepare=without_scale_by_place),
    Case("bloom", prepare=without_alibi("build_alibi_tensor")),
    Case("blip_text_model", run=with_all_inputs),  # alone, the model within is told to hide no later tokens
    Case("blt", run=patches_of_bytes),
    Case("emu3", run=image_and_codes),
    Case("esm", scale=(WIDTH // HEADS) ** -0.5),
    *(Case(name, run=read_and_spoken) for name in ("fastspeech2_conformer", "fastspeech2_conformer_with_hifigan")),
    Case("fsmt", run=encoded_and_decoded, time_first=True),
    Case("gemma3n", gemma3n, run=text_alone),
    Case("gpt_neo", scale=1.0),
    Case("kyutai_speech_to_text", small_model("kyutai_speech_to_text", tf.KyutaiSpeechToTextForConditionalGeneration)),
    Case("led", small_model("led", attention_window=4), run=windows),
    Case("lightglue", run=points),
    Case("longformer", small_model("longformer", attention_window=4), run=windows),
    Case("mpt", prepare=without_alibi("build_mpt_alibi_tensor")),
    Case("musicgen", musicgen),
    # where their queries look does not depend on keys
    *(Case(name, run=with_all_inputs) for name in ("mask2former", "oneformer")),
    Case("openai_privacy_filter", scale=(WIDTH // HEADS) ** -0.5),
    *(Case(name, cosine=True, scale=1.0) for name in ("swinv2", "swin2sr")),
    Case("xlnet", prepare=without_distances, time_first=True),
    # what is particular to some checkpoints
    Case("albert+two-groups", small_model("albert", num_hidden_groups=2)),
    Case("bert+masked-lm", small_model("bert", tf.BertForMaskedLM)),
    Case("bert+decoder", small_model("bert", tf.BertLMHeadModel, is_decoder=True)),
    Case("blip+answering", small_model("blip", tf.BlipForQuestionAnswering), prepare=as_decoder),  # two text models
    Case("falcon+grouped", small_model("falcon", new_decoder_architecture=True, num_kv_heads=2)),
    Case("falcon+a-key-head-each", small_model("falcon", multi_query=False)),
    *(
        Case(f"{name}+shared-keys", small_model(name, num_hidden_layers=6, num_kv_shared_layers=3, layer_types=KINDS))
        for name in ("gemma3n_text", "gemma4_text")
    ),
    Case("gemma3n_text+shared-keys-of-kinds-by-default", small_model("gemma3n_text", **FIFTH)),
    Case("laguna+heads-by-layer", small_model("laguna", num_attention_heads_per_layer=[4, 8])),
    Case("gpt2+lm", small_model("gpt2", tf.GPT2LMHeadModel)),
    Case("gpt_bigcode+a-key-head-each", small_model("gpt_bigcode", multi_query=False)),
    Case("llama+lm", small_model("llama", tf.LlamaForCausalLM, num_key_value_heads=4)),
    Case("llama+one-key-head", small_model("llama", num_key_value_heads=1)),
    Case("llama+wide-heads", small_model("llama", head_dim=10)),
    Case("phi3+a-key-head-each", small_model("phi3", num_key_value_heads=4)),
    Case("qwen2+lm", small_model("qwen2", tf.Qwen2ForCausalLM)),
    Case("stablelm+norms", small_model("stablelm", qk_layernorm=True)),
    # its code is on the Hub; its tensors have Llama's names and grouping
    Case("mobilellm", small_model("llama", tf.LlamaForCausalLM)),
]
READ = {name for name, entry in ARCHITECTURES.items() if not isinstance(entry, Refused)}
OTHERS = READ - {*TOWERS, *PUBLISHED, *LIBRARIES, *(case.id for case in PARTICULAR)}
CASES = PARTICULAR + [Case(name, prepare=without_table) for name in sorted(OTHERS)]
