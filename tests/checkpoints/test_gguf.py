from itertools import product

import gguf
import numpy as np
import pytest
import torch
import transformers as tf
from gguf_writer import write_gguf
from small_models import small_model

from attngeo import AttngeoError, BilinearForm, open_checkpoint, open_model

TYPES = gguf.GGMLQuantizationType
MODELS = {"llama": tf.LlamaForCausalLM, "gpt2": tf.GPT2Model, "bert": tf.BertModel, "t5": tf.T5Model}


def permuted(weight, heads):
    """Rows of each head in llama.cpp's order for rotary positions: halves become pairs."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def named(architecture, plan):
    """Where llama.cpp keeps queries and keys, and the names of the model's own weights; gpt2's hold both."""
    stack = f"{plan.module[:3]}." if architecture == "t5" else ""
    names = {"qkv": plan.query} if plan.query == plan.key else {"q": plan.query, "k": plan.key}
    cross = "cross_" if plan.part == "cross" else ""
    return {f"{stack}blk.{plan.layer}.{cross}attn_{which}.weight": weight for which, weight in names.items()}


@pytest.fixture
def written(tmp_path):
    """A GGUF file, and the model in memory whose weights it holds, rounded as in the file."""

    def make(architecture="llama", kind=TYPES.F32, name="model.gguf", called="", others=(), **metadata):
        torch.manual_seed(0)
        model, tensors = small_model(architecture, MODELS[architecture])(), {}
        weights = model.state_dict()
        for plan in open_model(model).plans:
            for tensor, place in named(architecture, plan).items():
                weight = weights[place].T if architecture == "gpt2" else weights[place]
                stored = gguf.quants.quantize(np.ascontiguousarray(weight), kind)
                weight.copy_(torch.from_numpy(gguf.quants.dequantize(stored, kind)))
                heads = plan.heads if place == plan.query else plan.kv_heads
                tensors[tensor] = permuted(stored, heads) if architecture == "llama" else stored
        tensors |= {tensor: weights[place].numpy() for tensor, place in others}
        said = {"attention.head_count": 4, "block_count": 2} | metadata
        write_gguf(tmp_path / name, called or architecture, said, tensors, kind)
        return tmp_path / name, model

    return make


KINDS = (TYPES.F32, TYPES.F16, TYPES.BF16, TYPES.Q8_0, TYPES.Q4_0, TYPES.Q5_1)
# the package gguf dequantises every kind alike, whatever the tensor is
STORED = [("llama", kind) for kind in KINDS] + list(product(("gpt2", "bert", "t5"), (TYPES.F32, TYPES.Q8_0)))


@pytest.mark.parametrize("architecture, kind", STORED)
def test_a_file_has_the_forms_of_its_dequantised_twin(written, architecture, kind):
    path, model = written(architecture, kind, **({"attention.causal": False} if architecture == "bert" else {}))
    ours, twin = open_checkpoint(path), open_model(model)
    assert ours.model_type == architecture and ours.name == "model"
    assert [plan.part for plan in ours.plans] == [plan.part for plan in twin.plans]
    for a, b in zip(ours, twin, strict=True):
        assert (a.layer, a.causal) == (b.layer, b.causal)
        assert (a.form.wq.shape, a.form.wk.shape) == (b.form.wq.shape, b.form.wk.shape)
        for h in range(4):
            assert torch.allclose(a.form.head(h), b.form.head(h), rtol=1e-4, atol=1e-6)
    assert ours.bytes_read == ours.bytes_in_all > 0


@pytest.mark.parametrize(
    "architecture, given, kind",
    [
        ("llama", {"rope.dimension_count": 16}, "rotary"),
        ("t5", {}, "none-or-in-attention"),
        ("gpt2", {"called": "no-known-name", "others": [("position_embd.weight", "wpe.weight")]}, "learned"),
    ],
)
def test_positions_are_those_that_tensors_and_metadata_tell(written, architecture, given, kind, as_user, attngeo):
    path, model = written(architecture, **given)
    opened = open_checkpoint(path)
    said = " ".join(attngeo("score", path)[1].split())
    assert ("its layers are labelled as those of decoders" in said) == ("called" in given)
    assert {plan.positions.kind for plan in opened.plans} == {kind}
    if kind == "learned":
        assert torch.equal(opened.position_rows(opened.plans[0]), model.wpe.weight.double())
        return
    with pytest.raises(AttngeoError, match="does not add position embeddings to its input"):
        opened.position_rows(opened.plans[0])


def test_a_folder_stands_for_its_only_file(written):
    path, _ = written()
    assert len(open_checkpoint(path.parent)) == 2
    written(name="other.gguf")
    with pytest.raises(AttngeoError, match=r"model\.gguf"):
        open_checkpoint(path.parent)


def test_what_cannot_be_scored_ends_in_one_sentence(written, refused):
    whole = written()[0].read_bytes()
    for content in (whole[:900], b"x" * 900, b""):
        path, _ = written()
        path.write_bytes(content)
        assert "model.gguf" in refused("score", path)
    path, _ = written(**{"attention.head_count": 5})
    assert "which is not divisible by 5 (attention.head_count)" in refused("score", path)
    for option in ("--revision", "--as"):
        assert "no adapter, revision or other model type" in refused("score", path, option, "v1")
    piece, _ = written(name="whole-00001-of-00002.gguf")
    assert "whole-00002-of-00002.gguf" in refused("score", piece)
    assert "score the model from which it was made" in refused("score", path, "--adapter", "nowhere")
    said = refused("score", written()[0], "--matrix", "ov")
    assert "values and outputs of a GGUF file cannot be read; score W_qk instead (matrix 'qk')." in said


def layers_of(folder, architecture, tensors, **metadata):
    """The forms in a file of such tensors, by layer."""
    said = {"attention.head_count": 4, "block_count": 4} | metadata
    write_gguf(folder / "model.gguf", architecture, said, {name: t.numpy() for name, t in tensors.items()})
    return [layer.form for layer in open_checkpoint(folder / "model.gguf")]


def queries_and_keys(q_rows=32, k_rows=16, layers=4):
    return {
        f"blk.{layer}.attn_{which}.weight": torch.randn(rows, 32)
        for layer in range(layers)
        for which, rows in (("q", q_rows), ("k", k_rows))
    }


@pytest.mark.parametrize("with_dead_keys", [True, False])
@pytest.mark.parametrize("architecture", ["gemma3n", "gemma4"])
def test_layers_that_attend_to_the_keys_of_others_are_read_with_those(tmp_path, architecture, with_dead_keys):
    pattern, makers = [True, False, True, False], [0, 1, 0, 1]
    tensors = queries_and_keys()
    if not with_dead_keys:
        tensors = {n: t for n, t in tensors.items() if "attn_k" not in n or int(n.split(".")[1]) < 2}
    said = {"attention.shared_kv_layers": 2, "attention.sliding_window_pattern": pattern}
    for layer, form in enumerate(layers_of(tmp_path, architecture, tensors, **said)):
        key = tensors[f"blk.{makers[layer]}.attn_k.weight"]
        expected = BilinearForm.from_linear(tensors[f"blk.{layer}.attn_q.weight"], key, 8)
        assert torch.equal(form.wq, expected.wq) and torch.equal(form.wk, expected.wk)


def test_gemma_3n_shares_keys_from_layer_20_on_where_its_metadata_do_not_tell(tmp_path):
    tensors = queries_and_keys(layers=25)
    forms = layers_of(tmp_path, "gemma3n", tensors, block_count=25)
    for layer, maker in ((19, 19), (20, 18), (23, 18), (24, 19)):
        assert torch.equal(forms[layer].wk.mT.flatten(0, 1), tensors[f"blk.{maker}.attn_k.weight"]), layer


def test_widths_of_heads_that_differ_by_kind_of_layer_are_read(tmp_path):
    tensors = queries_and_keys() | {
        "blk.1.attn_q.weight": torch.randn(64, 32),
        "blk.1.attn_k.weight": torch.randn(32, 32),
    }
    said = {"attention.key_length": 16, "attention.key_length_swa": 8}
    forms = layers_of(
        tmp_path, "gemma4", tensors, **said, **{"attention.sliding_window_pattern": [True, False, True, True]}
    )
    assert [(form.n_heads, form.n_kv_heads, form.d_head) for form in forms] == [(4, 2, 8), (4, 2, 16), *[(4, 2, 8)] * 2]


def test_gates_behind_the_queries_are_no_queries(tmp_path):
    tensors = queries_and_keys(q_rows=64)
    recurrent = {"blk.4.attn_qkv.weight": torch.randn(64, 32)}
    forms = layers_of(tmp_path, "qwen35", tensors | recurrent, block_count=5, **{"attention.key_length": 8})
    assert len(forms) == 4
    queries = tensors["blk.0.attn_q.weight"].view(4, 2, 8, 32)[:, 0]
    assert torch.equal(forms[0].wq.mT, queries)


REFUSED = {
    "latent": ("deepseek2", {"blk.0.attn_kv_a_mqa.weight": (8, 32), "blk.0.attn_q.weight": (32, 32)}, {}, "low-rank"),
    "mixed": ("llama", {"blk.0.attn_qkv.weight": (96, 32), "blk.1.attn_q.weight": (32, 32)}, {}, "does not say which"),
    "no pattern": ("gemma4", {"blk.0.attn_q.weight": (32, 32)}, {"attention.shared_kv_layers": 1}, "no list gemma4"),
    "fused": ("gpt2", {"blk.0.attn_qkv.weight": (64, 32)}, {}, "4 query heads and 4 key heads of width 8 need 96"),
}


@pytest.mark.parametrize("architecture, shapes, said, why", REFUSED.values(), ids=REFUSED)
def test_what_has_no_form_or_does_not_tell_it_is_refused_with_the_reason(
    tmp_path, architecture, shapes, said, why, as_user
):
    with pytest.raises(AttngeoError, match=why):
        layers_of(tmp_path, architecture, {name: torch.randn(shape) for name, shape in shapes.items()}, **said)
