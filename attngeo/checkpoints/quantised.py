"""Quantised weights of a checkpoint: found by how formats name their tensors, read as the numbers they stand for.

Sources: bitsandbytes (``QuantState.as_dict``, ``int8_vectorwise_dequant``); AutoGPTQ and GPTQModel (``pack``); AutoAWQ
(``WQLinear_GEMM``); transformers' finegrained_fp8, fbgemm_fp8 and compressed-tensors for scales beside a weight.
"""

import json
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Size, Tensor

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.locate import places
from attngeo.checkpoints.derived import Computed
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError, needs

FLOAT8 = (torch.float8_e4m3fn, torch.float8_e5m2)
STATE = "weight.quant_state.bitsandbytes__"  # then nf4 or fp4: a JSON object, as bytes
BLOCK = (128, 128)  # rows and columns that share a scale, where a config does not say
AWQ_SLOTS = [0, 4, 1, 5, 2, 6, 3, 7]  # where in a word of 4-bit codes those of 8 successive outputs are
NO_PARTS = ("bias", "input_", "output_")  # beside a weight, without a say in what it is
PACKED_PARTS = {"qweight", "qzeros", "scales", "g_idx"}  # of GPTQ, AWQ and AutoRound
MASTER_WEIGHTS = ("store_master_weights", "keep_master_weights")  # of FP-Quant, and of Four Over Six
WAY_OUT = "score the checkpoint that it was made from, or open_model(model.dequantize()) of transformers"

Parts = Mapping[str, Tensor]  # by what follows the name of the linear map
Config = Mapping[str, Any]  # quantization_config


def four_bits(parts: Parts, config: Config, module: str) -> Float[Tensor, "out in"]:
    """``W = map[code] absmax``, absmax by block of successive entries, itself stored so in 8 bits if it is nested."""
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
    """``W = W_8 max / 127``, max by row."""
    return parts["weight"] * parts["SCB"].view(-1, 1) / 127


def packed_words(parts: Parts, config: Config, module: str) -> Float[Tensor, "out in"]:
    """``W = scale (code - zero)`` by group of inputs, codes packed into words of 32 bits as by GPTQ or by AWQ."""
    if unknown := parts.keys() - PACKED_PARTS:
        raise ValueError(f"{min(unknown)} stands beside its codes, and no formula that is known has it")
    words, scales = parts["qweight"], parts["scales"]  # scales (groups, out)
    outputs = scales.shape[1]
    if words.shape[1] == outputs:  # GPTQ packs successive inputs
        bits = 32 * parts["qzeros"].shape[1] // outputs
        if bits not in (2, 4, 8):
            raise ValueError(f"{bits} bits")
        codes, zeros = unpacked_bits(words.T, bits).T, _zeros_of_gptq(parts["qzeros"], bits, config)
    else:  # AWQ packs 8 outputs, in an order of its own
        version = str(config.get("version") or "gemm").lower()
        if version != "gemm":
            raise ValueError(f"its codes are in the order of AWQ's version {version}, and that of gemm alone is known")
        codes, zeros = (unpacked_bits(parts[name], 4) for name in ("qweight", "qzeros"))
        codes, zeros = (x.view(len(x), -1, 8)[..., AWQ_SLOTS].flatten(1) for x in (codes, zeros))
    group = parts.get("g_idx")  # (in,)
    if group is None:
        group = torch.arange(len(codes)) // (len(codes) // len(scales))
    return (scales[group.int()] * (codes.to(scales.dtype) - zeros.to(scales.dtype)[group.int()])).T


def _zeros_of_gptq(stored: Int[Tensor, "groups words"], bits: int, config: Config) -> Int[Tensor, "groups out"]:
    """The zeros of GPTQ's packing, which some formats store as zero - 1: a word minus 1 in every code.

    Symmetric weights have the zero in the middle of the codes, so that their words tell which of both was stored.
    """
    ones = sum(1 << shift for shift in range(0, 32, bits))
    as_stored, plus_one = unpacked_bits(stored, bits), unpacked_bits(stored + ones, bits)
    middle = 2 ** (bits - 1)
    if config.get("sym") is True:
        for zeros in (plus_one, as_stored):
            if (zeros == middle).all():
                return zeros
        raise ValueError(f"its config says sym, and its zeros are not the {middle} of symmetric codes")
    if config.get("sym") is None and (as_stored == middle).all():
        return as_stored
    return as_stored if _stores_zeros_as_they_are(config) else plus_one


def _stores_zeros_as_they_are(config: Config) -> bool:
    """Whether a format in GPTQ's packing stores a zero itself, and not zero - 1.

    Source: AutoRound, ``dynamic_import_quant_linear_for_packing``; GPTQModel, ``checkpoint_format``.
    """
    if "auto-round" in method(config):
        packing = str(config.get("packing_format") or config.get("backend") or "")
        _, _, kernel = packing.partition(":")
        if packing.partition(":")[0] != "auto_round" or "awq" in kernel:
            raise ValueError(f"no packing_format of AutoRound is known by the name {packing!r}")
        return "gptq" not in kernel or "gptqmodel" in kernel
    packing = str(config.get("checkpoint_format") or "gptq")
    if packing not in ("gptq", "gptq_v2"):
        raise ValueError(f"no checkpoint_format of GPTQ is known by the name {packing!r}")
    return packing == "gptq_v2"


def unpacked_bits(words: Int[Tensor, "rows words"], bits: int) -> Int[Tensor, "rows codes"]:
    """Codes of a few bits, successive ones from the lowest bit on."""
    octets = words.contiguous().numpy().view(np.uint8)
    planes = np.unpackbits(octets, axis=-1, bitorder="little").reshape(len(octets), -1, bits)
    return torch.from_numpy(np.packbits(planes, axis=-1, bitorder="little")[..., 0].astype(np.int16))


def scaled(parts: Parts, config: Config, module: str) -> Float[Tensor, "out in"]:
    """``W = (W_8 - zero) scale`` in float32; scales by tensor, by row or by block, the zero by row or absent."""
    weight, scale = parts["weight"], parts.get("weight_scale_inv", parts.get("weight_scale"))
    if not (weight.dtype in FLOAT8 or weight.dtype == torch.int8) or scale is None:
        raise ValueError(f"its weight is of type {weight.dtype}")
    block = config.get("weight_block_size")
    block = tuple(block) if isinstance(block, list) and len(block) == 2 else BLOCK
    shifted = weight.float() - parts["weight_zero_point"].float() if "weight_zero_point" in parts else weight.float()
    return shifted * _factors(scale.float(), weight.shape, block)


def _factors(scale: Tensor, shape: torch.Size, block: tuple[int, int]) -> Tensor:
    """A scale as a matrix that multiplies one of that shape."""
    if scale.numel() == 1:
        return scale.reshape(1, 1)
    if scale.ndim <= 2 and scale.numel() == scale.shape[0] == shape[0]:
        return scale.reshape(-1, 1)
    if tuple(scale.shape) == tuple(math.ceil(size / step) for size, step in zip(shape, block, strict=True)):
        return scale.repeat_interleave(block[0], 0)[: shape[0]].repeat_interleave(block[1], 1)[:, : shape[1]]
    raise ValueError(
        f"a scale of shape {tuple(scale.shape)} is neither one number, nor one by row, nor one by block of"
        f" {block[0]} x {block[1]}"
    )


def compressed(parts: Parts, config: Config, module: str) -> Float[Tensor, "out in"]:
    """By the library compressed-tensors, which knows its own formats."""
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


# how each is told: by a tensor beside or in place of the weight; the first that is there decides
MARKS = {
    f"{STATE}nf4": four_bits,
    f"{STATE}fp4": four_bits,
    "SCB": eight_bits,
    "qweight": packed_words,
    "weight_packed": compressed,
    "weight_scale_inv": scaled,
    "weight_scale": scaled,
}


class Quantised(TensorFile):
    """One weight, out of the tensors that a quantisation makes of it, by what follows the module's name in theirs.

    ``mark`` is which of `MARKS` tells it; ``turned``: it stands (in, out) in a checkpoint that is not quantised.

    Raises:
        CheckpointError: parts are missing, or do not fit one another.
    """

    def __init__(
        self, module: str, mark: str, parts: Mapping[str, tuple[TensorFile, str]], config: Mapping, turned: bool
    ) -> None:
        self._module, self._mark, self._parts, self._config, self._turned = module, mark, parts, config, turned
        self._weight, self.name = f"{module}.weight", parts[mark][0].name
        with self._whole():
            self.shapes = {self._weight: Size(reversed(self._shape()) if turned else self._shape())}

    def sources(self, tensor: str) -> list[tuple[TensorFile, str]]:
        """The files and the stored names of the parts."""
        return [source for file, name in self._parts.values() for source in file.sources(name)]

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Bytes of all parts."""
        return sum(file.size(name) for file, name in self._parts.values())

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The weight, or its rows [start, stop)."""
        with self._whole():
            weight = MARKS[self._mark]({part: self._part(part) for part in self._parts}, self._config, self._module)
        weight = weight.T if self._turned else weight
        return weight if rows is None else weight[slice(*rows)]

    def _part(self, part: str) -> Tensor:
        file, name = self._parts[part]
        return file.read(name)

    def _shape(self) -> list[int]:
        """Outputs and inputs."""
        shapes = {part: file.shapes[name] for part, (file, name) in self._parts.items()}
        if self._mark.startswith(STATE):
            return json.loads(bytes(self._part(self._mark).tolist()))["shape"]
        if self._mark == "weight_packed":  # without a shape two codes share an octet
            rows, columns = shapes["weight_packed"]
            return self._part("weight_shape").tolist() if "weight_shape" in shapes else [rows, 2 * columns]
        if self._mark != "qweight":
            return list(shapes["weight"])
        words, outputs = shapes["qweight"], shapes["scales"][1]
        inputs = words[0] if words[1] != outputs else words[0] * outputs // shapes["qzeros"][1]
        return [outputs, inputs]

    @contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self._weight} cannot be made of its {method(self._config) or 'quantised'} parts ({error});"
                f" {WAY_OUT}."
            ) from error


def quantised(config: Mapping, files: Mapping[str, TensorFile]) -> dict[str, TensorFile]:
    """The queries and keys that are quantised in a format that can be read, by the names of their weights.

    Raises:
        CheckpointError: the architecture is unknown, or parts are missing.
    """
    marks = [
        (f"{name.removesuffix(mark)}weight", mark) for mark in MARKS for name in files if name.endswith(f".{mark}")
    ]
    marked = dict(reversed(marks))  # the first of MARKS decides
    readable = _rounded_as_the_model_runs(config, files)
    if not marked:
        return readable
    for (_, turned, *_), weight in places(ARCHITECTURES, config, marked).items():
        module = weight.removesuffix("weight")
        parts = {name.removeprefix(module): (file, name) for name, file in files.items() if name.startswith(module)}
        parts = {part: place for part, place in parts.items() if not part.startswith(NO_PARTS)}
        readable[weight] = Quantised(module[:-1], marked[weight], parts, _settings(config), turned)
    return readable


def _rounded_as_the_model_runs(config: Mapping, files: Mapping[str, TensorFile]) -> dict[str, TensorFile]:
    """The queries and keys that a model rounds before it multiplies by them, by their names.

    Raises:
        CheckpointError: their rounding is of another kind than BitNet's.
    """
    settings = _settings(config)
    if option := next((name for name in MASTER_WEIGHTS if settings.get(name)), ""):
        raise CheckpointError(
            f"the model rounds its weights by {method(settings) or 'a method it does not name'} as it runs, and the"
            f" files hold those before rounding ({option}); {WAY_OUT}."
        )
    online = settings.get("linear_class") == "autobitlinear" and settings.get("quantization_mode") == "online"
    if method(settings) != "bitnet" or not online:
        return {}
    weights = [name for name in files if name.endswith(".weight") and _is_converted(name, settings)]
    linear = {weight for (_, turned, *_), weight in places(ARCHITECTURES, config, weights).items() if not turned}
    return {name: Computed(name, ternary, [(files[name], name)], files[name].shapes[name]) for name in linear}


def _is_converted(weight: str, settings: Mapping) -> bool:
    """Whether a quantiser of transformers takes a module, by the names or patterns that it is told to leave out."""
    module = weight.removesuffix(".weight")
    kept = settings.get("modules_to_not_convert") or []
    if pattern := next((name for name in kept if not re.fullmatch(r"[\w.-]+", name)), ""):
        raise CheckpointError(
            f"modules_to_not_convert has the pattern {pattern!r:.80} in the config, and only plain names are understood"
            f" there; {WAY_OUT}."
        )
    boundary = r"(?:(?<=\.)|(?=\.|$))"
    return not any(re.match(f"(?:{re.escape(name)}){boundary}", module) or module.endswith(name) for name in kept)


def ternary(weight: Float[Tensor, "out in"]) -> Float[Tensor, "out in"]:
    """``W = c clip(round(W / c), -1, 1)`` with the mean absolute entry c, as ``WeightQuant`` of BitNet rounds it."""
    scale = 1 / weight.float().abs().mean().clamp(min=1e-5)
    return ((weight.float() * scale).round().clamp(-1, 1) / scale).to(weight.dtype)


def is_quantised(weight: str, files: Mapping[str, TensorFile]) -> bool:
    """Whether a weight stands among the files in a format that can be read."""
    return any(f"{weight.removesuffix('weight')}{mark}" in files for mark in MARKS)


def method(settings: Mapping) -> str:
    """What a ``quantization_config`` calls its format; "" where it says nothing."""
    bitsandbytes = any(settings.get(f"load_in_{bits}bit") for bits in (4, 8))
    return str(settings.get("quant_method") or ("bitsandbytes" if bitsandbytes else ""))


def refusal(config: Mapping) -> str:
    """A sentence on a checkpoint whose quantised weights cannot be read; "" where it is not quantised."""
    settings = _settings(config)
    named = method(settings) or ("MLX" if "quantization" in config else "")
    if not settings and not named:
        return ""
    return f"it is quantised by {named or 'a method it does not name'}, which cannot be read here; {WAY_OUT}."


def _settings(config: Mapping) -> Mapping[str, Any]:
    settings = config.get("quantization_config") or config.get("compression_config")
    return settings if isinstance(settings, Mapping) else {}
