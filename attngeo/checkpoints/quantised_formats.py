"""Formulas that compute a weight from the tensors in which a format of quantisation stores it.

Sources: bitsandbytes (``QuantState.as_dict``, ``int8_vectorwise_dequant``); AutoGPTQ and GPTQModel (``pack``); AutoAWQ
    (``WQLinear_GEMM``); transformers' finegrained_fp8, fbgemm_fp8 and compressed-tensors for weights with separate
    scales.
"""

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attngeo.errors import needs

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
STATE = "weight.quant_state.bitsandbytes__"  # followed by nf4 or fp4; the tensor contains a JSON object as bytes
BLOCK = (128, 128)  # rows and columns that share a scale, unless the config says otherwise
AWQ_SLOTS = [0, 4, 1, 5, 2, 6, 3, 7]  # positions of the codes of 8 successive outputs in a word of 4-bit codes
PACKED_PARTS = {"qweight", "qzeros", "scales", "g_idx"}  # of GPTQ, AWQ and AutoRound

Parts = Mapping[str, Tensor]  # by the ending of the name after that of the linear map
Config = Mapping[str, Any]  # quantization_config


def four_bits(parts: Parts, config: Config, module: str) -> Float[Tensor, "out in"]:
    """``W = map[code] absmax`` with absmax per block of successive entries, itself quantised to 8 bits if nested."""
    state = json.loads(bytes(next(parts[name] for name in parts if name.startswith(STATE)).tolist()))
    absmax = parts["weight.absmax"]
    if "nested_blocksize" in state:
        absmax = parts["weight.nested_quant_map"][absmax.long()]
        absmax = _by_block(absmax, parts["weight.nested_absmax"], state["nested_blocksize"]) + state["nested_offset"]
    octets = parts["weight"].contiguous().view(torch.uint8).flatten()  # may be stored as numbers of a wider type
    codes = torch.stack((octets >> 4, octets & 15), 1).flatten()[: math.prod(state["shape"])]
    values = _by_block(parts["weight.quant_map"][codes.int()], absmax, state["blocksize"])
    return values.view(state["shape"]).to(getattr(torch, state["dtype"]))


def _by_block(values: Tensor, scales: Tensor, size: int) -> Tensor:
    return values * scales.repeat_interleave(size)[: len(values)]


def eight_bits(parts: Parts, config: Config, module: str) -> Float[Tensor, "out in"]:
    """``W = W_8 max / 127``, with max per row."""
    return parts["weight"] * parts["SCB"].view(-1, 1) / 127


def packed_words(parts: Parts, config: Config, module: str) -> Float[Tensor, "out in"]:
    """``W = scale (code - zero)`` per group of inputs, with codes packed into words of 32 bits as in GPTQ or AWQ."""
    if unknown := parts.keys() - PACKED_PARTS:
        raise ValueError(f"next to its codes, there is a tensor {min(unknown)}, which no known formula uses")
    words, scales = parts["qweight"], parts["scales"]  # scales (groups, out)
    outputs = scales.shape[1]
    if words.shape[1] == outputs:  # GPTQ packs successive inputs
        bits = 32 * parts["qzeros"].shape[1] // outputs
        if bits not in (2, 4, 8):
            raise ValueError(f"{bits} bits")
        codes, zeros = unpacked_bits(words.T, bits).T, _zeros_of_gptq(parts["qzeros"], bits, config)
    else:  # AWQ packs 8 outputs in its own order
        version = str(config.get("version") or "gemm").lower()
        if version != "gemm":
            raise ValueError(
                f"its codes are in the order of version {version} of AWQ, but only the order of gemm is known"
            )
        codes, zeros = (unpacked_bits(parts[name], 4) for name in ("qweight", "qzeros"))
        codes, zeros = (x.view(len(x), -1, 8)[..., AWQ_SLOTS].flatten(1) for x in (codes, zeros))
    group = parts.get("g_idx")  # (in,)
    if group is None:
        group = torch.arange(len(codes)) // (len(codes) // len(scales))
    return (scales[group.int()] * (codes.to(scales.dtype) - zeros.to(scales.dtype)[group.int()])).T


def _zeros_of_gptq(stored: Int[Tensor, "groups words"], bits: int, config: Config) -> Int[Tensor, "groups out"]:
    """The zeros in the packing of GPTQ. Some formats store zero - 1, that is, a word with 1 subtracted from every code.

    The zero of symmetric weights is the middle code, so their words show which of the two was stored.
    """
    ones = sum(1 << shift for shift in range(0, 32, bits))
    as_stored, plus_one = unpacked_bits(stored, bits), unpacked_bits(stored + ones, bits)
    middle = 2 ** (bits - 1)
    if config.get("sym") is True:
        for zeros in (plus_one, as_stored):
            if (zeros == middle).all():
                return zeros
        raise ValueError(f"its config says sym, but its zeros are not {middle}, as they are for symmetric codes")
    if config.get("sym") is None and (as_stored == middle).all():
        return as_stored
    return as_stored if _stores_zeros_as_they_are(config) else plus_one


def _stores_zeros_as_they_are(config: Config) -> bool:
    """Whether a format with the packing of GPTQ stores zero instead of zero - 1.

    Source: AutoRound, ``dynamic_import_quant_linear_for_packing``; GPTQModel, ``checkpoint_format``.
    """
    if "auto-round" in method(config):
        packing = str(config.get("packing_format") or config.get("backend") or "")
        _, _, kernel = packing.partition(":")
        if packing.partition(":")[0] != "auto_round" or "awq" in kernel:
            raise ValueError(f"the packing_format {packing!r} of AutoRound is not known")
        return "gptq" not in kernel or "gptqmodel" in kernel
    packing = str(config.get("checkpoint_format") or "gptq")
    if packing not in ("gptq", "gptq_v2"):
        raise ValueError(f"the checkpoint_format {packing!r} of GPTQ is not known")
    return packing == "gptq_v2"


def unpacked_bits(words: Int[Tensor, "rows words"], bits: int) -> Int[Tensor, "rows codes"]:
    """Codes of a few bits, which are stored one after the other beginning with the lowest bit."""
    octets = words.contiguous().numpy().view(np.uint8)
    planes = np.unpackbits(octets, axis=-1, bitorder="little").reshape(len(octets), -1, bits)
    return torch.from_numpy(np.packbits(planes, axis=-1, bitorder="little")[..., 0].astype(np.int16))


def scaled(parts: Parts, config: Config, module: str) -> Float[Tensor, "out in"]:
    """``W = (W_8 - zero) scale`` in float32, with scales per tensor, row or block, and zeros per row or absent."""
    weight, scale = parts["weight"], parts.get("weight_scale_inv", parts.get("weight_scale"))
    if not (weight.dtype in FLOAT8 or weight.dtype == torch.int8) or scale is None:
        raise ValueError(f"its weight is of type {weight.dtype}")
    block = config.get("weight_block_size")
    block = tuple(block) if isinstance(block, list) and len(block) == 2 else BLOCK
    shifted = weight.float() - parts["weight_zero_point"].float() if "weight_zero_point" in parts else weight.float()
    return shifted * _factors(scale.float(), weight.shape, block)


def _factors(scale: Tensor, shape: torch.Size, block: tuple[int, int]) -> Tensor:
    """A scale as a matrix that can be multiplied with a matrix of the given shape."""
    if scale.numel() == 1:
        return scale.reshape(1, 1)
    if scale.ndim <= 2 and scale.numel() == scale.shape[0] == shape[0]:
        return scale.reshape(-1, 1)
    if tuple(scale.shape) == tuple(math.ceil(size / step) for size, step in zip(shape, block, strict=True)):
        return scale.repeat_interleave(block[0], 0)[: shape[0]].repeat_interleave(block[1], 1)[:, : shape[1]]
    raise ValueError(
        f"a scale of shape {tuple(scale.shape)} is neither one number, nor one number per row, nor one per block of"
        f" {block[0]} x {block[1]}"
    )


def compressed(parts: Parts, config: Config, module: str) -> Float[Tensor, "out in"]:
    """The weight, decompressed by the library compressed-tensors."""
    with needs("compressed-tensors", "a checkpoint of compressed-tensors"):
        from compressed_tensors.compressors import BaseCompressor
        from compressed_tensors.compressors.format import infer_module_format
        from compressed_tensors.quantization import QuantizationConfig
        from compressed_tensors.utils.match import match_name
    schemes = QuantizationConfig.model_validate(config).config_groups.values()
    named = [scheme for scheme in schemes if any(match_name(module, target) for target in scheme.targets)]
    scheme = (named or [scheme for scheme in schemes if "Linear" in scheme.targets])[0]
    form = scheme.format or infer_module_format(torch.nn.Linear, scheme)
    return BaseCompressor.get_value_from_registry(getattr(form, "value", form)).decompress(dict(parts), scheme)[
        "weight"
    ]


def ternary(weight: Float[Tensor, "out in"]) -> Float[Tensor, "out in"]:
    """``W = c clip(round(W / c), -1, 1)`` with the mean absolute entry c, as in ``WeightQuant`` of BitNet."""
    scale = 1 / weight.float().abs().mean().clamp(min=1e-5)
    return ((weight.float() * scale).round().clamp(-1, 1) / scale).to(weight.dtype)


def method(settings: Mapping) -> str:
    """The name of the format in a ``quantization_config``, or "" if there is none."""
    bitsandbytes = any(settings.get(f"load_in_{bits}bit") for bits in (4, 8))
    return str(settings.get("quant_method") or ("bitsandbytes" if bitsandbytes else ""))


# formats by the tensor next to or in place of the weight that identifies them; the first that exists counts
MARKS = {
    f"{STATE}nf4": four_bits,
    f"{STATE}fp4": four_bits,
    "SCB": eight_bits,
    "qweight": packed_words,
    "weight_packed": compressed,
    "weight_scale_inv": scaled,
    "weight_scale": scaled,
}
