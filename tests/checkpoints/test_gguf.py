import gguf
import numpy as np
import pytest
import torch
import transformers as tf
from gguf_writer import write_gguf

from attngeo import AttngeoError, open_checkpoint, open_model

TYPES = gguf.GGMLQuantizationType
SIZES = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 64, "intermediate_size": 16, "vocab_size": 50}


def permuted(weight, heads):
    """Rows of each head in llama.cpp's order for rotary positions: halves become pairs."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def llama():
    model = tf.LlamaForCausalLM(tf.LlamaConfig(**SIZES, num_key_value_heads=2))
    weights = {}
    for number, layer in enumerate(model.model.layers):
        for name, linear, heads in (("q", layer.self_attn.q_proj, 4), ("k", layer.self_attn.k_proj, 2)):
            weights[f"blk.{number}.attn_{name}.weight"] = (linear.weight, heads)
    return model, weights, {}


def gpt2():
    model = tf.GPT2Model(tf.GPT2Config(n_embd=64, n_layer=2, n_head=4, vocab_size=50, n_positions=8))
    names = {f"blk.{number}.attn_qkv.weight": (block.attn.c_attn.weight.T, 0) for number, block in enumerate(model.h)}
    return model, names, {}


def bert():
    model, weights = tf.BertModel(tf.BertConfig(**SIZES)), {}
    for number, layer in enumerate(model.encoder.layer):
        for name in ("query", "key"):
            weights[f"blk.{number}.attn_{name[0]}.weight"] = (getattr(layer.attention.self, name).weight, 0)
    return model, weights, {"attention.causal": False}


def t5():
    model, weights = tf.T5Model(tf.T5Config(d_model=64, d_kv=16, d_ff=16, num_layers=2, num_heads=4, vocab_size=50)), {}
    for stack in ("encoder", "decoder"):
        for number, block in enumerate(getattr(model, stack).block):
            attentions = {"attn": block.layer[0].SelfAttention}
            if stack == "decoder":
                attentions["cross_attn"] = block.layer[1].EncDecAttention
            for name, attention in attentions.items():
                for which in "qk":
                    weight = getattr(attention, which).weight
                    weights[f"{stack[:3]}.blk.{number}.{name}_{which}.weight"] = (weight, 0)
    return model, weights, {}


@pytest.fixture
def written(tmp_path):
    """A GGUF file, and the model in memory whose weights it holds, rounded as in the file."""

    def make(architecture=llama, kind=TYPES.F32, name="model.gguf", **metadata):
        torch.manual_seed(0)
        model, weights, own = architecture()
        tensors = {}
        for tensor, (weight, heads) in weights.items():
            stored = gguf.quants.quantize(np.ascontiguousarray(weight.detach().numpy()), kind)
            with torch.no_grad():
                weight.copy_(torch.from_numpy(gguf.quants.dequantize(stored, kind)))
            tensors[tensor] = permuted(stored, heads) if heads else stored
        said = {"attention.head_count": 4, "block_count": 2} | own | metadata
        write_gguf(tmp_path / name, architecture.__name__, said, tensors, kind)
        return tmp_path / name, model

    return make


@pytest.mark.parametrize("kind", [TYPES.F32, TYPES.F16, TYPES.BF16, TYPES.Q8_0, TYPES.Q4_0, TYPES.Q5_1])
@pytest.mark.parametrize("architecture", [llama, gpt2, bert, t5])
def test_a_file_has_the_forms_of_its_dequantised_twin(written, architecture, kind):
    path, model = written(architecture, kind)
    ours, twin = open_checkpoint(path), open_model(model)
    assert ours.model_type == architecture.__name__ and ours.name == "model"
    assert [plan.part for plan in ours.plans] == [plan.part for plan in twin.plans]
    for a, b in zip(ours, twin, strict=True):
        assert (a.layer, a.causal) == (b.layer, b.causal)
        assert (a.form.wq.shape, a.form.wk.shape) == (b.form.wq.shape, b.form.wk.shape)
        for h in range(4):
            assert torch.allclose(a.form.head(h), b.form.head(h), rtol=1e-4, atol=1e-6)
    assert ours.bytes_read == ours.bytes_in_all > 0


def with_table():
    model, weights, own = gpt2()
    return model, weights | {"position_embd.weight": (model.wpe.weight, 0)}, own


@pytest.mark.parametrize(
    "architecture, metadata, kind",
    [(llama, {"rope.dimension_count": 16}, "rotary"), (t5, {}, "none-or-in-attention"), (with_table, {}, "learned")],
)
def test_positions_are_those_that_tensors_and_metadata_tell(written, architecture, metadata, kind, as_user, attngeo):
    path, model = written(architecture, **metadata)
    opened = open_checkpoint(path)
    said = " ".join(attngeo("score", path)[1].split())
    assert ("its layers are taken for those of decoders" in said) == (architecture is with_table)  # no known name
    assert {plan.positions.kind for plan in opened.plans} == {kind}
    if kind == "learned":
        assert torch.equal(opened.position_rows(opened.plans[0]), model.wpe.weight.double())
        return
    with pytest.raises(AttngeoError, match="adds no table of them to the embedding"):
        opened.position_rows(opened.plans[0])


def test_a_folder_stands_for_its_only_file(written):
    path, _ = written()
    assert len(open_checkpoint(path.parent)) == 2
    written(name="other.gguf")
    with pytest.raises(AttngeoError, match=r"model\.gguf"):
        open_checkpoint(path.parent)


def test_damage_ends_in_one_sentence(written, refused):
    whole = written()[0].read_bytes()
    for content in (whole[:900], b"x" * 900, b""):
        path, _ = written()
        path.write_bytes(content)
        assert "model.gguf" in refused("score", path)


def test_heads_that_do_not_fit_and_missing_pieces_end_in_one_sentence(written, refused):
    path, _ = written(**{"attention.head_count": 5})
    assert "which 5 (attention.head_count) does not divide" in refused("score", path)
    for option in ("--revision", "--as"):
        assert "no adapter, revision or other model_type" in refused("score", path, option, "v1")
    piece, _ = written(name="whole-00001-of-00002.gguf")
    assert "whole-00002-of-00002.gguf" in refused("score", piece)
    assert "made from" in refused("score", path, "--adapter", "nowhere")


def test_values_and_outputs_of_a_gguf_file_are_not_read(written, refused):
    said = refused("score", written()[0], "--matrix", "ov")
    assert "values and outputs of a GGUF file are not read; score W_qk, matrix 'qk'." in said
