"""Quantised weights of a checkpoint, found by the names of their tensors and converted to numbers."""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from torch import Size, Tensor

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.locate import places
from attngeo.checkpoints.derived import Computed
from attngeo.checkpoints.quantised_formats import MARKS, STATE, method, ternary
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError

NO_PARTS = ("bias", "input_", "output_")  # tensors next to a weight that do not change the weight
MASTER_WEIGHTS = ("store_master_weights", "keep_master_weights")  # of FP-Quant, and of Four Over Six
WAY_OUT = (
    "score the checkpoint from which it was made, or load it with transformers and use open_model(model.dequantize())"
)


class Quantised(TensorFile):
    """One weight, computed from the tensors into which it was quantised, by the endings of their names.

    ``mark`` is the key of `MARKS` that identifies the format. ``turned`` means that checkpoints without quantisation
    store this weight as (in, out).

    Raises:
        CheckpointError: parts are missing, or do not fit together.
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
        if self._mark == "weight_packed":  # without a stored shape, one byte contains two codes
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
                f"{self._weight} cannot be computed from its {method(self._config) or 'quantised'} parts ({error});"
                f" {WAY_OUT}."
            ) from error


def quantised(config: Mapping, files: Mapping[str, TensorFile]) -> dict[str, TensorFile]:
    """The queries and keys that are quantised in a supported format, by the names of their weights.

    Raises:
        CheckpointError: the architecture is unknown, or parts are missing.
    """
    marks = [
        (f"{name.removesuffix(mark)}weight", mark) for mark in MARKS for name in files if name.endswith(f".{mark}")
    ]
    marked = dict(reversed(marks))  # the first entry of MARKS takes precedence
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
