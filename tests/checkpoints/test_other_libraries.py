"""Checkpoints of nanoGPT, timm, open_clip and Megatron Core, which have no config.json of transformers.

Small checkpoints are written as those libraries name their tensors, and the logits of the forms that were read are
compared with those of the libraries' computation, written again here in float64.
"""

import argparse
import json

import pytest
import torch
from safetensors.torch import save_file
from small_models import HEADS, TOKENS, WIDTH

from attngeo import open_checkpoint
from attngeo.errors import CheckpointError, ParameterError

D_HEAD, GROUPS = WIDTH // HEADS, 2
WEIGHT = (3 * WIDTH, WIDTH)


def random(*shape):
    return torch.randn(*shape, dtype=torch.float64)


def by_role(outputs):
    """nanoGPT, timm and open_clip: the outputs are q of all heads, then k, then v."""
    q, k, _ = outputs.view(TOKENS, 3, HEADS, D_HEAD).unbind(1)
    return q, k


def by_group(outputs):
    """Megatron Core, attention.py: for each group of queries, their q, then one k and one v."""
    q, k, _ = outputs.view(TOKENS, GROUPS, -1, D_HEAD).split([HEADS // GROUPS, 1, 1], dim=2)
    return q.flatten(1, 2), k.flatten(1, 2).repeat_interleave(HEADS // GROUPS, dim=1)


def nanogpt(folder):
    """karpathy/nanoGPT, train.py: ckpt.pt of a compiled model, with nn.Linear where transformers has Conv1D."""
    names = [f"_orig_mod.transformer.h.{layer}.attn.c_attn.weight" for layer in range(2)]
    state = {name: random(*WEIGHT) for name in names}
    torch.save({"model": state, "model_args": {"n_head": HEADS}, "iter_num": 10}, folder / "ckpt.pt")
    return {name.removeprefix("_orig_mod."): weight for name, weight in state.items()}


def timm(folder):
    """huggingface/pytorch-image-models, vision_transformer.py, as on the Hub."""
    state = {f"blocks.{layer}.attn.qkv.weight": random(*WEIGHT) for layer in range(2)}
    state |= {"blocks.0.attn.q_norm.weight": random(D_HEAD), "pos_embed": random(1, 5, WIDTH)}
    save_file(state, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps({"architecture": "vit_tiny", "num_features": WIDTH}))
    return state


def megatron(folder):
    """NVIDIA/Megatron-LM, megatron/core/transformer/attention.py."""
    name = "decoder.layers.{}.self_attention.linear_{}.weight"
    state = {name.format(layer, "qkv"): random((HEADS + 2 * GROUPS) * D_HEAD, WIDTH) for layer in range(2)}
    save_file(
        state | {name.format(layer, "proj"): random(WIDTH, WIDTH) for layer in range(2)}, folder / "m.safetensors"
    )
    return state


LIBRARIES = {"nanoGPT": (nanogpt, by_role, "gpt2"), "timm": (timm, by_role, "timm")}
LIBRARIES |= {"Megatron Core": (megatron, by_group, "megatron")}


@pytest.mark.parametrize("save, split, model_type", LIBRARIES.values(), ids=LIBRARIES)
def test_a_number_of_heads_is_enough(save, split, model_type, tmp_path, as_user):
    weights, x = save(tmp_path), random(TOKENS, WIDTH)
    if model_type != "gpt2":
        with pytest.raises(CheckpointError, match=r"--heads N"):
            open_checkpoint(tmp_path)
    checkpoint = open_checkpoint(tmp_path, heads=HEADS)
    assert (checkpoint.model_type, len(checkpoint)) == (model_type, 2)
    said = (
        "in the model_args of ckpt.pt, which is the number that was given"
        if model_type == "gpt2"
        else "did not check it"
    )
    assert any(said in remark for remark in checkpoint.remarks)
    for layer, plan in zip(checkpoint, checkpoint.plans, strict=True):
        q, k = split(x @ weights[plan.query].T)
        of_q, of_k = layer.form.per_head()
        torch.testing.assert_close((x @ of_q) @ (x @ of_k).mT, torch.einsum("ihd,jhd->hij", q, k))
    assert (checkpoint.plans[0].part == "encoder") == (model_type == "timm")
    assert any("the files do not tell" in words for words in checkpoint.left_out) == (model_type == "timm")


def test_the_number_of_heads_beside_the_weights_is_enough_and_is_not_contradicted(tmp_path, as_user):
    nanogpt(tmp_path)
    for told in (tmp_path, tmp_path / "ckpt.pt"):
        checkpoint = open_checkpoint(told)
        assert {plan.heads for plan in checkpoint.plans} == {HEADS}
        (said,) = (remark for remark in checkpoint.remarks if "heads" in remark)
        assert said.startswith(f"The number of heads is n_head = {HEADS} in the model_args of ckpt.pt. The tensors")
        with pytest.raises(ParameterError, match=f"heads is {HEADS // 2}, but n_head .* is {HEADS}; leave --heads out"):
            open_checkpoint(told, heads=HEADS // 2)


def test_of_several_files_one_has_to_be_named(tmp_path, as_user):
    nanogpt(tmp_path)
    (tmp_path / "ckpt.pt").rename(tmp_path / "best.pt")
    nanogpt(tmp_path)
    with pytest.raises(CheckpointError, match=r"has 2 weight files .*best.pt, ckpt.pt.* such as /.*/best.pt\."):
        open_checkpoint(tmp_path, heads=HEADS)
    assert len(open_checkpoint(tmp_path / "ckpt.pt", heads=HEADS)) == 2


def clip(folder, **cfg):
    """mlfoundations/open_clip: a text tower and a vision tower, whose heads are given by their width."""
    name = "transformer.resblocks.0.attn.in_proj_weight"
    state = {name: random(*WEIGHT), f"visual.{name}": random(6 * WIDTH, 2 * WIDTH)}
    save_file(state, folder / "open_clip_model.safetensors")
    vision = {"width": 2 * WIDTH, "head_width": D_HEAD, "layers": 1}
    towers = {"embed_dim": WIDTH, "vision_cfg": vision, "text_cfg": {"width": WIDTH, "heads": HEADS, "layers": 1} | cfg}
    (folder / "open_clip_config.json").write_text(json.dumps({"model_cfg": towers}))
    return state, name


def test_open_clip_is_read_by_its_own_config(tmp_path, as_user):
    state, name = clip(tmp_path)
    checkpoint, x = open_checkpoint(tmp_path), random(TOKENS, WIDTH)
    found = {plan.part: (plan.causal, plan.heads, plan.d_head, plan.query) for plan in checkpoint.plans}
    assert found == {
        "encoder": (False, 2 * HEADS, D_HEAD, f"visual.{name}"),
        "decoder": (True, HEADS, D_HEAD, name),
    }
    text = next(layer for layer in checkpoint if layer.part == "decoder")
    q, k = by_role(x @ state[name].T)
    of_q, of_k = text.form.per_head()
    torch.testing.assert_close((x @ of_q) @ (x @ of_k).mT, torch.einsum("ihd,jhd->hij", q, k))
    with pytest.raises(ParameterError, match=r"open_clip_config\.json of .* contains"):
        open_checkpoint(tmp_path, heads=HEADS)
    clip(tmp_path, no_causal_mask=True)
    assert {plan.part for plan in open_checkpoint(tmp_path).plans} == {"encoder"}


def test_open_clip_without_its_config_is_refused_where_two_towers_may_differ(tmp_path, as_user):
    clip(tmp_path)
    (tmp_path / "open_clip_config.json").unlink()
    with pytest.raises(CheckpointError, match=r"put its open_clip_config\.json, .* next to"):
        open_checkpoint(tmp_path, heads=HEADS)


def only(**tensors):
    def save(folder):
        save_file(
            {name.replace("__", "."): random(*shape) for name, shape in tensors.items()}, folder / "m.safetensors"
        )

    return save


REFUSED = {
    # XCiT attends between channels, and CaiT mixes the logits of heads
    "channels": (only(blocks__0__attn__qkv__weight=WEIGHT, blocks__0__attn__temperature=(HEADS, 1, 1)), "temperature"),
    "mixed heads": (only(blocks__0__attn__qkv__weight=WEIGHT, blocks__0__attn__proj_l__weight=(4, 4)), "proj_l.weight"),
    "other names": (only(body__0__attention__weight=WEIGHT), "nanoGPT, timm, open_clip or Megatron Core"),
    "a slice": (
        only(
            decoder__layers__0__self_attention__linear_qkv__weight=(2 * D_HEAD * 2, WIDTH),
            decoder__layers__0__self_attention__linear_proj__weight=(WIDTH, WIDTH // 2),
        ),
        "slice of one device",
    ),
    "heads that do not divide": (only(h__0__attn__c_attn__weight=(3 * 30, 30)), "is not divisible by 4"),
}


@pytest.mark.parametrize("save, named", REFUSED.values(), ids=REFUSED)
def test_what_may_be_another_attention_is_refused(save, named, tmp_path, as_user):
    save(tmp_path)
    with pytest.raises(CheckpointError, match=named):
        open_checkpoint(tmp_path, heads=HEADS)


FORMATS = {
    "fair-esm": ("encoder.sentence_encoder.layers.0.self_attn.q_proj.weight", "fairseq or fair-esm. .*facebook/esm2_"),
    "Megatron-LM": (
        "language_model.encoder.layers.0.self_attention.query_key_value.weight",
        r"Megatron-LM\. .*convert_megatron_gpt2",
    ),
}


@pytest.mark.parametrize("name, way_out", FORMATS.values(), ids=FORMATS)
def test_formats_that_are_not_read_are_named_with_the_way_out(name, way_out, tmp_path, as_user):
    state = {name: random(*WEIGHT)}
    torch.save({"args": argparse.Namespace(heads=HEADS), "model": state}, tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match=f"m.pt is a checkpoint of {way_out}"):
        open_checkpoint(tmp_path / "m.pt")
    save_file(state, tmp_path / "m.safetensors")
    with pytest.raises(CheckpointError, match=f"tensors have the names of {way_out}"):
        open_checkpoint(tmp_path / "m.safetensors", heads=HEADS)
    torch.save({"args": argparse.Namespace(heads=HEADS), "model": {"w": random(2, 2)}}, tmp_path / "m.pt")
    with pytest.raises(CheckpointError, match=r"m\.pt is cut short or damaged, or contains objects other than tensors"):
        open_checkpoint(tmp_path / "m.pt")


def test_a_stated_type_is_read_with_its_heads(tmp_path, as_user):
    name = "bert.encoder.layer.0.attention.self.{}.weight"
    save_file({name.format(which): random(WIDTH, WIDTH) for which in ("query", "key")}, tmp_path / "m.safetensors")
    checkpoint = open_checkpoint(tmp_path, model_type="bert", heads=HEADS)
    assert [(plan.part, plan.heads) for plan in checkpoint.plans] == [("encoder", HEADS)]
    for wrong in ({"model_type": "nothing", "heads": 4}, {"heads": 0}, {"heads": True}):
        with pytest.raises(ParameterError):
            open_checkpoint(tmp_path, **wrong)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "num_attention_heads": HEADS}))
    with pytest.raises(ParameterError, match="leave --heads out"):
        open_checkpoint(tmp_path, heads=HEADS)


def test_a_wrong_number_of_heads_is_named_and_no_config_is_blamed(tmp_path, as_user):
    timm(tmp_path)
    with pytest.raises(CheckpointError, match=r"blocks\.0.*The given number of heads, 5, does not fit") as caught:
        open_checkpoint(tmp_path, heads=5)
    assert "config" not in f"{caught.value}"
