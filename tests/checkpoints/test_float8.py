import json
import math

import pytest
import torch
import transformers as tf
from safetensors.torch import load_file, save_file

from attngeo import AttngeoError, open_checkpoint
from attngeo.checkpoints.float8 import unscaled

LLAMA = {"hidden_size": 40, "num_hidden_layers": 2, "num_attention_heads": 5, "num_key_value_heads": 1,
         "intermediate_size": 16, "vocab_size": 50, "head_dim": 8}  # fmt: skip
BLOCK = 16
NAME = "model.layers.{}.self_attn.{}_proj.weight"


def by_tensor(weight):
    scale = weight.abs().amax() / 448
    return scale, scale


def by_row(weight):
    scale = weight.abs().amax(1, keepdim=True) / 448
    return scale, scale


def by_block(weight):
    """A scale for every block of 16 x 16, the last ones smaller."""
    down, across = (math.ceil(size / BLOCK) for size in weight.shape)
    scale = torch.rand(down, across) + 0.5
    whole = scale.repeat_interleave(BLOCK, 0)[: weight.shape[0]].repeat_interleave(BLOCK, 1)[:, : weight.shape[1]]
    return scale, whole


@pytest.fixture
def quantised(tmp_path):
    """A model in 8 bits, and the weights that its 8 bits and scales stand for."""

    def make(scaled, suffix: str, dtype: torch.dtype, keep_scale: bool = True):
        torch.manual_seed(0)
        tf.LlamaForCausalLM(tf.LlamaConfig(**LLAMA)).save_pretrained(tmp_path)
        tensors, meant = load_file(tmp_path / "model.safetensors"), {}
        for name in [NAME.format(layer, which) for layer in range(2) for which in "qk"]:
            scale, whole = scaled(tensors[name])
            tensors[name] = (tensors[name] / whole).to(dtype)
            meant[name] = tensors[name].to(torch.float32) * whole
            if keep_scale:
                tensors[name + suffix] = scale
        save_file(tensors, tmp_path / "model.safetensors")
        config = json.loads((tmp_path / "config.json").read_text())
        config["quantization_config"] = {"quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]}
        (tmp_path / "config.json").write_text(json.dumps(config))
        return tmp_path, meant

    return make


@pytest.mark.parametrize("dtype", [torch.float8_e4m3fn, torch.float8_e5m2], ids=["e4m3", "e5m2"])
@pytest.mark.parametrize(
    "scaled, suffix",
    [(by_tensor, "_scale"), (by_row, "_scale"), (by_block, "_scale_inv")],
    ids=["tensor", "row", "block"],
)
def test_eight_bit_weights_are_multiplied_by_their_scale(scaled, suffix, dtype, quantised):
    folder, meant = quantised(scaled, suffix, dtype)
    for layer in open_checkpoint(folder):
        assert layer.form.wq.dtype == torch.float32
        assert torch.equal(layer.form.wq.mT.flatten(0, 1), meant[NAME.format(layer.layer, "q")])
        assert torch.equal(layer.form.wk.mT.flatten(0, 1), meant[NAME.format(layer.layer, "k")])


def test_eight_bits_without_a_scale_are_refused(quantised, as_user):
    folder, _ = quantised(by_tensor, "_scale", torch.float8_e4m3fn, keep_scale=False)
    with pytest.raises(AttngeoError, match=r"q_proj\.weight_scale_inv"):
        list(open_checkpoint(folder))


def test_a_scale_of_another_shape_is_refused(as_user):
    with pytest.raises(AttngeoError, match=r" w .*\(3, 7\)"):
        unscaled(torch.ones(40, 40), torch.ones(3, 7), (16, 16), "w")


def test_the_first_rows_of_a_fused_weight_take_the_first_scales():
    scale = torch.arange(1.0, 7).view(6, 1)
    assert unscaled(torch.ones(4, 3), scale, (128, 128), "w")[:, 0].tolist() == [1, 2, 3, 4]
    assert unscaled(torch.ones(5, 4), torch.ones(4, 2) * 3, (2, 2), "w").eq(3).all()
