"""Weights that are stored under another name or in parts, under the names that they have in the architecture.

``torch.compile``, FSDP and activation checkpointing add a component to the name of every module that they wrap.
Parametrisations and pruning masks of ``torch.nn.utils`` store a weight as the tensors that it is computed from.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Size, Tensor, nn
from torch.nn.utils import parametrize

from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError

# components of names that torch adds around a module it wraps
WRAPPERS = ("_orig_mod", "_fsdp_wrapped_module", "_checkpoint_wrapped_module")
BY_PARAMETRISATION = re.compile(r"(?P<module>(?:.*\.)?)parametrizations\.(?P<weight>\w*weight)\.original[01]?")
BY_HEAD = re.compile(r"(?:.*\.)?rel_attn\.[qkv]")  # of XLNet, (d, heads, d_head)
# beginnings of the names of tensors next to a weight that do not change the weight
NO_PARTS = ("bias", "input_", "output_")
WITHOUT_A_SAY = (*NO_PARTS, "weight", "parametrizations.")
MERGE_FIRST = (
    "is stored below a LoRA adapter that is not merged (base_layer), and the files do not tell the scale of the"
    " adapter; call merge_and_unload() of peft on the model, save the merged model, and score it"
)
REMOVE_FIRST = (
    "is stored as the original of a parametrisation that the file does not name; call"
    " torch.nn.utils.parametrize.remove_parametrizations(module, 'weight') before saving, or pass the model to"
    " open_model"
)


class Renamed(TensorFile):
    """One tensor of a file under another name."""

    def __init__(self, name: str, file: TensorFile, stored: str) -> None:
        self.name, self._file, self._stored = file.name, file, stored
        self.shapes = {name: file.shapes[stored]}

    def sources(self, tensor: str) -> list[tuple[TensorFile, str]]:
        """The file and the stored name of what is read."""
        return self._file.sources(self._stored)

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Bytes of what `read` gives."""
        return self._file.size(self._stored, rows)

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop)."""
        return self._file.read(self._stored, rows)


class Computed(TensorFile):
    """One weight that is computed from tensors in files."""

    def __init__(
        self, name: str, formula: Callable[..., Tensor], parts: list[tuple[TensorFile, str]], shape: Size
    ) -> None:
        self.name, self._formula, self._parts = parts[0][0].name, formula, parts
        self.shapes = {name: shape}

    def sources(self, tensor: str) -> list[tuple[TensorFile, str]]:
        """The files and the stored names of the parts."""
        return [source for file, part in self._parts for source in file.sources(part)]

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Bytes of all parts."""
        return sum(file.size(part) for file, part in self._parts)

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The weight, or its rows [start, stop)."""
        weight = self._formula(*(file.read(part) for file, part in self._parts))
        return weight if rows is None else weight[slice(*rows)]


class Live(TensorFile):
    """A weight of a model in memory, such as a parametrised one, that ``compute`` computes whenever it is read."""

    def __init__(self, name: str, compute: Callable[[], Tensor]) -> None:
        self.name, self._compute = name, compute
        with torch.no_grad():
            weight = compute()
        if weight.is_meta:
            raise CheckpointError(
                f"{name} contains no numbers, because it is on the meta device; load the model without offloading."
            )
        self.shapes = {name: weight.shape}

    def sources(self, tensor: str) -> list[tuple[TensorFile, str]]:
        """An empty list, because the weight is not stored."""
        return []

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Bytes of what `read` gives."""
        return self.read(tensor, rows).nbytes

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The weight, or its rows [start, stop)."""
        with torch.no_grad():
            weight = self._compute()
        return weight if rows is None else weight[slice(*rows)]


class Unreadable(TensorFile):
    """A weight that cannot be computed from what is stored in a file, and the reason."""

    def __init__(self, name: str, file: TensorFile, stored: str, why: str) -> None:
        self.name, self.shapes, self.why = file.name, {name: file.shapes[stored]}, why

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """Refuse to read the weight."""
        raise CheckpointError(f"{tensor} {self.why}.")


def normalised(directions: Tensor, gains: Tensor) -> Tensor:
    """``W = g v / ||v||`` (weight normalisation), with norms over the dimensions along which g has only one entry."""
    shared = [place for place in range(directions.ndim) if gains.ndim == 0 or gains.shape[place] == 1]
    return directions * (gains / torch.linalg.vector_norm(directions, dim=shared, keepdim=True))


def over_spectral_norm(original: Tensor, left: Tensor, right: Tensor) -> Tensor:
    """``W / (u^T W v)`` with the stored estimates u and v of its first singular vectors (spectral normalisation)."""
    return original / (left @ original @ right)


def by_rows(weight: Tensor) -> Tensor:
    """A weight of shape (d, heads, d_head) in the layout of ``torch.nn.Linear``, (heads * d_head, d)."""
    return weight.flatten(1).T


def masked(original: Tensor, mask: Tensor) -> Tensor:
    """``W * mask``, as ``torch.nn.utils.prune`` multiplies them."""
    return original * mask.to(original.dtype)


@dataclass(frozen=True)
class Formula:
    """How a weight is computed from its parts, a description of this, and the endings of the names of the parts."""

    words: str
    compute: Callable[..., Tensor]
    endings: tuple[str, ...]  # the first one is that of a tensor with the shape of the weight


# {} stands for the name of the weight, without its module
FORMULAS = (
    Formula(
        "weight normalisation",
        normalised,
        ("parametrizations.{}.original1", "parametrizations.{}.original0"),
    ),
    Formula(
        "spectral normalisation",
        over_spectral_norm,
        ("parametrizations.{}.original", "parametrizations.{}.0._u", "parametrizations.{}.0._v"),
    ),
    Formula("applying the mask of the pruned entries", masked, ("{}_orig", "{}_mask")),
    Formula("spectral normalisation", over_spectral_norm, ("{}_orig", "{}_u", "{}_v")),
    Formula("weight normalisation", normalised, ("{}_v", "{}_g")),
)


def by_plain_names(files: Mapping[str, TensorFile]) -> tuple[dict[str, TensorFile], dict[str, str]]:
    """The tensors by their names in the architecture, and a description of how each computed tensor is computed."""
    plain: dict[str, TensorFile] = {}
    for stored, file in files.items():
        name = _without_wrappers(stored)
        if name == stored:
            plain[name] = file
        elif name not in files:
            plain[name] = Renamed(name, file, stored)
    words: dict[str, str] = {}
    for name in list(filter(BY_HEAD.fullmatch, plain)):
        shape = plain[name].shapes[name]
        if len(shape) == 3:
            width, heads, d_head = shape
            shape = Size((heads * d_head, width))
            plain[f"{name}.weight"] = Computed(f"{name}.weight", by_rows, [(plain.pop(name), name)], shape)
            words[f"{name}.weight"] = "stacking its heads"
    for name, formula, parts in _in_parts(plain):
        used = [(plain[part], part) for part in parts]
        plain[name] = Computed(name, formula.compute, used, plain[parts[0]].shapes[parts[0]])
        words[name] = formula.words
    return plain | _unreadable(plain), words


def _without_wrappers(name: str) -> str:
    """The name of a tensor without the components that torch adds for modules it wraps."""
    return ".".join(part for part in name.split(".") if part not in WRAPPERS)


def _unreadable(files: Mapping[str, TensorFile]) -> dict[str, TensorFile]:
    """The weights that cannot be computed from what is stored, by the names that they have in the architecture."""
    found: dict[str, TensorFile] = {}
    for stored, file in files.items():
        if original := BY_PARAMETRISATION.fullmatch(stored):
            name = original["module"] + original["weight"]
            found.setdefault(name, Unreadable(name, file, stored, REMOVE_FIRST))
        if ".base_layer." in stored:
            name = stored.replace(".base_layer.", ".")
            found.setdefault(name, Unreadable(name, file, stored, MERGE_FIRST))
    return {name: file for name, file in found.items() if name not in files}


def _in_parts(files: Mapping[str, TensorFile]) -> Iterator[tuple[str, Formula, list[str]]]:
    """Each weight that is stored only in parts, with its name, its formula, and the names of its parts."""
    made = set(files)
    for formula in FORMULAS:
        first = re.compile(
            r"(?P<module>(?:.*\.)?)" + re.escape(formula.endings[0]).replace(r"\{\}", r"(?P<weight>\w*weight)")
        )
        for match in filter(None, map(first.fullmatch, list(files))):
            name = match["module"] + match["weight"]
            parts = [match["module"] + ending.format(match["weight"]) for ending in formula.endings]
            if name not in made and all(part in files for part in parts) and _fit(formula, files, parts):
                made.add(name)
                yield name, formula, parts


def _fit(formula: Formula, files: Mapping[str, TensorFile], parts: list[str]) -> bool:
    """Whether the shapes of the parts fit a formula."""
    whole, *others = (files[part].shapes[part] for part in parts)
    if formula.compute is masked:
        return others == [whole]
    if formula.compute is over_spectral_norm:
        return others == [whole[:1], whole[1:]]
    (gains,) = others
    return not gains or (
        len(gains) == len(whole) and all(size in (1, of) for size, of in zip(gains, whole, strict=True))
    )


def live_weights(model: nn.Module) -> dict[str, TensorFile]:
    """The parametrised weights of a model in memory, by their names."""
    weights: dict[str, TensorFile] = {}
    for place, module in model.named_modules():
        if parametrize.is_parametrized(module):
            for attribute in module.parametrizations:
                name = _without_wrappers(f"{place}.{attribute}".lstrip("."))
                weights[name] = Live(name, partial(getattr, module, attribute))
    return weights


def companions(weight: str, files: Mapping[str, TensorFile]) -> list[str]:
    """The tensors in the module of a weight that are neither its bias nor parts from which the weight is computed."""
    if not weight.endswith(".weight"):
        return []
    module = weight.removesuffix("weight")
    known = {weight, f"{module}bias", *(name for _, name in files[weight].sources(weight))}
    beside = [name for name in files if name.startswith(module) and name not in known]
    return [name for name in beside if not name.removeprefix(module).startswith(WITHOUT_A_SAY)]


def require_readable(weight: str, files: Mapping[str, TensorFile]) -> None:
    """Refuse a weight whose numbers are not in the files, or which the model rounds while it runs.

    Raises:
        CheckpointError: the reason, and a solution.
    """
    file, module = files[weight], weight.rpartition(".")[0]
    if isinstance(file, Unreadable):
        raise CheckpointError(f"{weight} {file.why}.")
    if adapter := next((name for name in companions(weight, files) if ".lora_" in name.lower()), ""):
        raise CheckpointError(
            f"the files contain an adapter of {weight} ({adapter}), and they do not say whether it is already merged;"
            " merge it, and save the weights without the tensors of the adapter."
        )
    if f"{module}.weight_fake_quant.scale" in files:
        raise CheckpointError(
            f"{weight} is rounded while the model runs (quantisation-aware training: {module}.weight_fake_quant), but"
            " the files contain the numbers before rounding; convert the model, and score its dequantised weights."
        )
