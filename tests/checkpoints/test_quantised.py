import json
import math
from functools import partial

import pytest
import torch
from edited_files import edit_json
from safetensors.torch import save_file
from small_models import small_model

from attngeo import AttngeoError, open_checkpoint, open_model

BLOCK, GROUP = 24, 32


# each quantises a weight (out, in): its tensors by what follows the linear map's name, and what they stand for


def by_tensor(weight):
    return weight.abs().amax() / 448, weight.abs().amax() / 448


def by_row(weight):
    scale = weight.abs().amax(1, keepdim=True) / 448
    return scale, scale


def by_block(weight):
    """A scale for every block of 24 x 24, the last ones smaller."""
    down, across = (math.ceil(size / BLOCK) for size in weight.shape)
    scale = torch.rand(down, across) + 0.5
    whole = scale.repeat_interleave(BLOCK, 0)[: weight.shape[0]].repeat_interleave(BLOCK, 1)[:, : weight.shape[1]]
    return scale, whole


def eight_bit_floats(weight, scaled, suffix, dtype):
    scale, whole = scaled(weight)
    stored = (weight / whole).to(dtype)
    return {"weight": stored, f"weight{suffix}": scale}, stored.float() * whole


def eight_bit_integers(weight, zero):
    scale = weight.abs().amax(1, keepdim=True) / 60
    stored = (weight / scale + zero).round().to(torch.int8)
    parts = {"weight": stored, "weight_scale": scale}
    if zero:
        parts["weight_zero_point"] = torch.full_like(scale, zero).to(torch.int8)
    return parts, (stored.float() - zero) * scale


def llm_int8(weight):
    greatest = weight.abs().amax(1)
    stored = (weight / greatest[:, None] * 127).round().to(torch.int8)
    parts = {"weight": stored, "SCB": greatest, "weight_format": torch.tensor(0, dtype=torch.uint8)}
    return parts, stored.float() * greatest[:, None] / 127


def bitsandbytes4(weight, nested, dtype=torch.float16, storage=torch.uint8):
    """Sixteen levels, chosen freely: files bring theirs along."""
    levels = torch.linspace(-1, 1, 16) ** 3
    blocks = weight.flatten().view(-1, 64)
    absmax = blocks.abs().amax(1)
    state = {"quant_type": "nf4", "blocksize": 64, "dtype": str(dtype)[6:], "shape": list(weight.shape)}
    parts = {"weight.absmax": absmax}
    if nested:
        codes, offset = torch.randint(256, absmax.shape), 0.25
        parts = {"weight.absmax": codes.to(torch.uint8), "weight.nested_quant_map": torch.linspace(-1, 1, 256)}
        parts["weight.nested_absmax"] = torch.rand(math.ceil(len(absmax) / 16)) + 1
        absmax = parts["weight.nested_quant_map"][codes] * parts["weight.nested_absmax"].repeat_interleave(16) + offset
        state |= {"nested_blocksize": 16, "nested_dtype": "float32", "nested_offset": offset}
    codes = (blocks[..., None] / blocks.abs().amax() - levels).abs().argmin(-1)
    pairs = codes.flatten().view(-1, 2)
    octets = (pairs[:, :1] * 16 + pairs[:, 1:]).to(torch.uint8)
    parts |= {"weight": octets.view(1, -1).view(storage).view(-1, 1), "weight.quant_map": levels}
    parts["weight.quant_state.bitsandbytes__nf4"] = torch.tensor(list(json.dumps(state).encode()), dtype=torch.uint8)
    return parts, (levels[codes] * absmax[:, None]).view(weight.shape).to(dtype)


def words(codes, bits, order=None):
    """Codes along the last axis into words of 32 bits, the first in the lowest."""
    held = 32 // bits
    codes = codes.view(*codes.shape[:-1], -1, held)[..., order or list(range(held))]
    packed = sum(codes[..., place].long() << (bits * place) for place in range(held))
    return torch.where(packed < 2**31, packed, packed - 2**32).to(torch.int32)


def grouped(weight, bits):
    """Codes (in, out), zeros and scales (groups, out)."""
    outputs, inputs = weight.shape
    codes = torch.randint(2**bits, (inputs, outputs))
    zeros = torch.randint(1, 2**bits, (inputs // GROUP, outputs))
    return codes, zeros, (torch.rand(inputs // GROUP, outputs) / 100).half()


def gptq(weight, bits, ordered, version=1, symmetric=False):
    codes, zeros, scales = grouped(weight, bits)
    zeros = torch.full_like(zeros, 2 ** (bits - 1)) if symmetric else zeros
    group = torch.arange(len(codes)) // GROUP
    group = group if ordered else group[torch.randperm(len(group))]
    stored = zeros if version == 2 else zeros - 1
    parts = {"qweight": words(codes.T, bits).T.contiguous(), "qzeros": words(stored, bits), "scales": scales}
    if not ordered:
        parts["g_idx"] = group.to(torch.int32)
    return parts, ((codes - zeros[group]).half() * scales[group]).T


def awq(weight):
    codes, zeros, scales = grouped(weight, 4)
    order, group = [0, 2, 4, 6, 1, 3, 5, 7], torch.arange(len(codes)) // GROUP
    parts = {"qweight": words(codes, 4, order), "qzeros": words(zeros, 4, order), "scales": scales}
    return parts, ((codes - zeros[group]).half() * scales[group]).T


SCHEME = {
    "targets": ["Linear"],
    "weights": {"num_bits": 4, "strategy": "group", "group_size": GROUP, "symmetric": True},
}


def compressed(weight):
    """By its own library, four bits in groups."""
    library = pytest.importorskip("compressed_tensors")
    from compressed_tensors.compressors import BaseCompressor

    scheme = library.quantization.QuantizationScheme(**SCHEME)
    scale = weight.view(len(weight), -1, GROUP).abs().amax(-1) / 7
    packing = BaseCompressor.get_value_from_registry("pack-quantized")
    parts = packing.compress({"weight": weight, "weight_scale": scale}, scheme)
    codes = (weight / scale.repeat_interleave(GROUP, 1)).round().clamp(-8, 7)
    return parts, codes * scale.repeat_interleave(GROUP, 1)


FLOATS = [
    (dtype, scaled, suffix)
    for dtype in (torch.float8_e4m3fn, torch.float8_e5m2)
    for scaled, suffix in ((by_tensor, "_scale"), (by_row, "_scale"), (by_block, "_scale_inv"))
]
FORMATS = {
    **{
        f"fp8 {str(dtype)[6:]} {scaled.__name__}": (
            partial(eight_bit_floats, scaled=scaled, suffix=suffix, dtype=dtype),
            {"quant_method": "fp8", "weight_block_size": [BLOCK, BLOCK]},
        )
        for dtype, scaled, suffix in FLOATS
    },
    "int8 by row": (partial(eight_bit_integers, zero=0), {"quant_method": "compressed-tensors"}),
    "int8 by row with zeros": (partial(eight_bit_integers, zero=-7), {"quant_method": "compressed-tensors"}),
    "bitsandbytes, 8 bits": (llm_int8, {"quant_method": "bitsandbytes"}),
    "bitsandbytes, 4 bits": (partial(bitsandbytes4, nested=False), {"quant_method": "bitsandbytes"}),
    "bitsandbytes, 4 bits, nested": (partial(bitsandbytes4, nested=True), {"quant_method": "bitsandbytes"}),
    **{
        f"bitsandbytes, 4 bits, stored as {storage}": (
            partial(bitsandbytes4, nested=False, storage=storage),
            {"quant_method": "bitsandbytes"},
        )
        for storage in (torch.bfloat16, torch.float32)
    },
    "gptq, 4 bits": (partial(gptq, bits=4, ordered=True), {"quant_method": "gptq"}),
    "gptq, 2 bits": (partial(gptq, bits=2, ordered=False), {"quant_method": "gptq"}),
    "gptq, 8 bits": (partial(gptq, bits=8, ordered=False), {"quant_method": "gptq"}),
    "gptq, second version": (
        partial(gptq, bits=4, ordered=False, version=2),
        {"quant_method": "gptq", "checkpoint_format": "gptq_v2"},
    ),
    "gptq, symmetric": (
        partial(gptq, bits=4, ordered=True, symmetric=True),
        {"quant_method": "gptq", "checkpoint_format": "gptq", "sym": True},
    ),
    "gptq, symmetric with zeros as in the second version": (
        partial(gptq, bits=4, ordered=True, version=2, symmetric=True),
        {"quant_method": "gptq", "checkpoint_format": "gptq", "sym": True},
    ),
    "gptq, symmetric as its zeros alone tell": (
        partial(gptq, bits=4, ordered=True, version=2, symmetric=True),
        {"quant_method": "gptq"},
    ),
    **{
        f"AutoRound, {key} {packing}": (
            partial(gptq, bits=4, ordered=True, version=version),
            {"quant_method": "auto-round", "sym": False, key: packing},
        )
        for key, packing, version in (
            ("packing_format", "auto_round:exllamav2", 2),
            ("packing_format", "auto_round:gptqmodel", 2),
            ("packing_format", "auto_round:auto_gptq", 1),
            ("backend", "auto_round:tritonv2", 2),
        )
    },
    "awq": (awq, {"quant_method": "awq"}),
    "compressed-tensors": (
        compressed,
        {"quant_method": "compressed-tensors", "format": "pack-quantized", "quantization_status": "compressed"}
        | {"config_groups": {"group_0": SCHEME}},
    ),
}


@pytest.fixture(scope="module")
def llama():
    torch.manual_seed(0)
    return small_model("llama", hidden_size=64)()


@pytest.fixture
def stored(tmp_path, llama):
    """A model whose queries and keys are quantised, and the same with the weights they stand for."""

    def make(quantise, settings, model=llama, maps=("q_proj.weight", "k_proj.weight", "c_attn.weight")):
        torch.manual_seed(0)
        ours, twin = tmp_path / "quantised", tmp_path / "twin"
        for folder in (ours, twin):
            model.config.save_pretrained(folder)
        tensors, whole = model.state_dict(), model.state_dict()
        for name in [name for name in tensors if name.endswith(maps)]:
            turned = "c_attn" in name  # stored (in, out) unless quantised
            weight = tensors.pop(name)
            parts, stands_for = quantise((weight.T if turned else weight).contiguous())
            tensors |= {name.removesuffix("weight") + part: tensor for part, tensor in parts.items()}
            whole[name] = (stands_for.T if turned else stands_for).contiguous()
        save_file(tensors, ours / "model.safetensors")
        save_file(whole, twin / "model.safetensors")
        edit_json(ours / "config.json", quantization_config=settings)
        return ours, twin

    return make


def assert_equal(ours, twin) -> None:
    ours, twin = open_checkpoint(ours), open_checkpoint(twin)
    assert len(ours) == len(twin) == 2
    for a, b in zip(ours, twin, strict=True):
        assert (a.part, a.layer, a.module) == (b.part, b.layer, b.module)
        assert torch.allclose(a.form.wq.double(), b.form.wq.double(), rtol=1e-6, atol=0)
        assert torch.allclose(a.form.wk.double(), b.form.wk.double(), rtol=1e-6, atol=0)
        assert b.form.wq.abs().sum() > 0


@pytest.mark.parametrize("quantise, settings", FORMATS.values(), ids=FORMATS)
def test_a_quantised_checkpoint_has_the_forms_of_its_dequantised_twin(stored, quantise, settings):
    assert_equal(*stored(quantise, settings))


# a format for each of the tensors that identify one
MARKED = ["fp8 float8_e5m2 by_row", "fp8 float8_e5m2 by_block", "bitsandbytes, 8 bits", "bitsandbytes, 4 bits"]
MARKED += ["gptq, 4 bits", "compressed-tensors"]


@pytest.mark.parametrize("name", MARKED)
def test_values_and_outputs_are_read_unless_quantised_and_then_called_so(stored, name, refused):
    for a, b in zip(*(open_checkpoint(path, matrix="ov") for path in stored(*FORMATS[name])), strict=True):
        assert torch.equal(a.form.wq, b.form.wq) and torch.equal(a.form.wk, b.form.wk)
    folder, _ = stored(*FORMATS[name], maps=tuple(f"{x}_proj.weight" for x in "qkvo"))
    said = refused("score", folder, "--matrix", "ov")
    assert "values and outputs of quantised weights cannot be read; score W_qk instead (matrix 'qk')." in said


@pytest.mark.parametrize("name", ["bitsandbytes, 8 bits", "bitsandbytes, 4 bits", "gptq, 4 bits"])
def test_what_stands_transposed_does_not_where_it_is_quantised(stored, name):
    assert_equal(*stored(*FORMATS[name], model=small_model("gpt2", n_embd=64)()))


def zeros(dtype, **shapes):
    """Parts that no format has, such as HQQ and quanto name theirs."""
    parts = {name.replace("__", "."): torch.zeros(size, dtype=dtype) for name, size in shapes.items()}
    return lambda weight: ({name: part.clone() for name, part in parts.items()}, weight)


REFUSED = {
    "hqq": zeros(torch.uint8, W_q=(7, 3)),
    "quanto": zeros(torch.uint8, weight___data=(7, 3)),
    "eetq": lambda w: ({"weight": torch.ones_like(w, dtype=torch.int8), "weight_scales": w[0]}, w),
    "fp8": lambda w: ({"weight": w.to(torch.float8_e4m3fn)}, w),
    "awq": zeros(torch.int32, qweight=(3, 5)),
    "bitsandbytes": zeros(torch.uint8, weight=(9, 1), weight__absmax=(64,)),
    "gptq": lambda w: (gptq(w, 4, True)[0] | {"scales": torch.zeros(5, len(w))}, w),
}


GPTQ = {"quant_method": "gptq"}
UNKNOWN = {
    "packing": (partial(gptq, bits=4, ordered=True), {"quant_method": "auto-round"}, "packing_format .* of AutoRound"),
    "format": (partial(gptq, bits=4, ordered=True), GPTQ | {"checkpoint_format": "bitblas"}, "'bitblas'"),
    "zeros": (partial(gptq, bits=4, ordered=True), GPTQ | {"sym": True}, "config says sym, .* not 8"),
    "order": (awq, {"quant_method": "awq", "version": "gemv"}, "version gemv of AWQ"),
    "part": (
        lambda w: (awq(w)[0] | {"rotation": w[0].clone()}, w),
        {"quant_method": "awq"},
        "tensor rotation, which no known formula",
    ),
    "rounding": (
        lambda w: ({"weight": w}, w),
        {"quant_method": "fp_quant", "store_master_weights": True},
        r"rounds its weights while it runs \(by fp_quant\)",
    ),
    "pattern": (
        lambda w: ({"weight": w}, w),
        {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "online"}
        | {"modules_to_not_convert": ["layers.*"]},
        r"'layers\.\*'",
    ),
}


@pytest.mark.parametrize("quantise, settings, why", UNKNOWN.values(), ids=UNKNOWN)
def test_a_variant_that_is_not_known_is_refused_with_the_reason(stored, quantise, settings, why, as_user):
    with pytest.raises(AttngeoError, match=why):
        list(open_checkpoint(stored(quantise, settings)[0]))


def test_weights_that_bitnet_rounds_as_it_runs_are_scored_as_they_are_multiplied(tmp_path):
    settings = {"quant_method": "bitnet", "linear_class": "autobitlinear", "quantization_mode": "online"}
    settings |= {"modules_to_not_convert": ["layers.1"]}
    model = small_model("llama", hidden_size=64)()
    model.save_pretrained(tmp_path)
    edit_json(tmp_path / "config.json", quantization_config=settings)
    model.config.quantization_config = settings
    first, second = (layer.self_attn for layer in model.layers)
    for opened in (open_checkpoint(tmp_path), open_model(model)):
        factors = (factor.mT.flatten(0, 1) for factor in (opened[0].form.wq, opened[0].form.wk))
        for factor, weight in zip(factors, (first.q_proj.weight, first.k_proj.weight), strict=True):
            size = weight.abs().mean()
            assert factor.unique().numel() == 3  # -1, 0 and 1 times the mean absolute entry
            assert torch.allclose(factor, (weight / size).round().clamp(-1, 1) * size, rtol=1e-5)
        assert torch.equal(opened[1].form.wq.mT.flatten(0, 1), second.q_proj.weight)
    with pytest.raises(AttngeoError, match="values and outputs are rounded while the model runs"):
        open_checkpoint(tmp_path, matrix="ov")


@pytest.mark.parametrize("name", REFUSED)
def test_other_formats_are_refused_by_name(stored, name, refused):
    said = refused("score", stored(REFUSED[name], {"quant_method": name})[0])
    assert name in said and "another checkpoint" not in said


def test_a_config_of_another_model_is_not_blamed_where_weights_are_quantised(stored, as_user):
    folder, _ = stored(*FORMATS["bitsandbytes, 4 bits"])
    edit_json(folder / "config.json", num_attention_heads=5, head_dim=None)
    with pytest.raises(AttngeoError, match="bitsandbytes"):
        open_checkpoint(folder)
