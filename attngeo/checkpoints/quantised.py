"""Quantised weights of a checkpoint, found by the names of their tensors and converted to numbers."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Size, Tensor

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.stacks import places
from attngeo.checkpoints.derived import NO_PARTS, Computed
from attngeo.checkpoints.quantised_formats import MARKS, STATE, method, ternary
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError

MASTER_WEIGHTS = ("store_master_weights", "keep_master_weights")  # of FP-Quant, and of Four Over Six
WAY_OUT = (
    "score the checkpoint from which it was made, or load it with transformers and use open_model(model.dequantize())"
)


class Quantised(Computed):
    """One weight, computed from the tensors into which it was quantised.

    Args:
        module: name of the linear map.
        mark: key of `MARKS` that identifies the format.
        parts: files and stored names of the tensors, by the endings of these names.
        config: settings of the quantisation.
        turned: whether checkpoints without quantisation store this weight as (in, out).

    Raises:
        CheckpointError: parts are missing, or do not fit together.
    """

    def __init__(
        self, module: str, mark: str, parts: Mapping[str, tuple[TensorFile, str]], config: Mapping, turned: bool
    ) -> None:
        self._weight, self._method = f"{module}.weight", method(config) or "quantised"

        def dequantised(*tensors: Tensor) -> Tensor:
            weight = MARKS[mark](dict(zip(parts, tensors, strict=True)), config, module)
            return weight.T if turned else weight

        with self._whole():
            shape = _shape(mark, parts)
        super().__init__(self._weight, dequantised, list(parts.values()), Size(reversed(shape) if turned else shape))
        self.name = parts[mark][0].name

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The weight, or its rows [start, stop)."""
        with self._whole():
            return super().read(tensor, rows)

    @contextmanager
    def _whole(self) -> Iterator[None]:
        try:
            yield
        except (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError) as error:
            raise CheckpointError(
                f"{self._weight} cannot be computed from its {self._method} parts ({error}); {WAY_OUT}."
            ) from error


def _shape(mark: str, parts: Mapping[str, tuple[TensorFile, str]]) -> list[int]:
    """Outputs and inputs of a weight that is quantised in the format of a mark."""

    def read(part: str) -> list[int]:
        file, name = parts[part]
        return file.read(name).tolist()

    shapes = {part: file.shapes[name] for part, (file, name) in parts.items()}
    if mark.startswith(STATE):
        return json.loads(bytes(read(mark)))["shape"]
    if mark == "weight_packed":  # without a stored shape, one byte contains two codes
        rows, columns = shapes["weight_packed"]
        return read("weight_shape") if "weight_shape" in shapes else [rows, 2 * columns]
    if mark != "qweight":
        return list(shapes["weight"])
    words, outputs = shapes["qweight"], shapes["scales"][1]
    inputs = words[0] if words[1] != outputs else words[0] * outputs // shapes["qzeros"][1]
    return [outputs, inputs]


def quantised(config: Mapping, files: Mapping[str, TensorFile]) -> dict[str, TensorFile]:
    """The queries and keys that are quantised in a supported format, by the names of their weights.

    Raises:
        CheckpointError: the architecture is unknown, or parts are missing.
    """
    marked: dict[str, str] = {}  # the first entry of MARKS takes precedence
    for mark in MARKS:
        for name in files:
            if name.endswith(f".{mark}"):
                marked.setdefault(f"{name.removesuffix(mark)}weight", mark)
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
    """The queries and keys that a model rounds while it runs, before it multiplies by them, by their names.

    Raises:
        CheckpointError: they are not rounded in the way of BitNet.
    """
    settings = _settings(config)
    if option := next((name for name in MASTER_WEIGHTS if settings.get(name)), ""):
        raise CheckpointError(
            f"the model rounds its weights while it runs (by {method(settings) or 'an unnamed method'}), and the files"
            f" contain the weights before rounding ({option}); {WAY_OUT}."
        )
    online = settings.get("linear_class") == "autobitlinear" and settings.get("quantization_mode") == "online"
    if method(settings) != "bitnet" or not online:
        return {}
    weights = [name for name in files if name.endswith(".weight") and _is_converted(name, settings)]
    linear = {weight for (_, turned, *_), weight in places(ARCHITECTURES, config, weights).items() if not turned}
    return {name: Computed(name, ternary, [(files[name], name)], files[name].shapes[name]) for name in linear}


def _is_converted(weight: str, settings: Mapping) -> bool:
    """Whether a quantiser of transformers converts a module, given the modules that it must not convert."""
    module = weight.removesuffix(".weight")
    kept = settings.get("modules_to_not_convert") or []
    if pattern := next((name for name in kept if not re.fullmatch(r"[\w.-]+", name)), ""):
        raise CheckpointError(
            f"modules_to_not_convert has the pattern {pattern!r:.80} in the config, but attngeo reads only plain names"
            f" there; {WAY_OUT}."
        )
    boundary = r"(?:(?<=\.)|(?=\.|$))"
    return not any(re.match(f"(?:{re.escape(name)}){boundary}", module) or module.endswith(name) for name in kept)


def is_quantised(weight: str, files: Mapping[str, TensorFile]) -> bool:
    """Whether the files contain a weight in a supported quantised format."""
    return any(f"{weight.removesuffix('weight')}{mark}" in files for mark in MARKS)


def refusal(config: Mapping) -> str:
    """The reason why the quantised weights of a checkpoint cannot be read, or "" if it is not quantised."""
    settings = _settings(config)
    named = method(settings) or ("MLX" if "quantization" in config else "")
    if not settings and not named:
        return ""
    return f"it is quantised by {named or 'an unnamed method'}, which attngeo cannot read; {WAY_OUT}."


def _settings(config: Mapping) -> Mapping[str, Any]:
    settings = config.get("quantization_config") or config.get("compression_config")
    return settings if isinstance(settings, Mapping) else {}
