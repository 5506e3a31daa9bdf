"""LoRA adapters of peft, merged into single weights without loading the model: ``W' = W + (alpha / r) B A``."""

import math
import re
from collections.abc import Mapping
from os import PathLike
from typing import Annotated, NamedTuple

import msgspec
import torch
from torch import Size, Tensor

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.stacks import places
from attngeo.checkpoints.repositories import open_repository
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError
from attngeo.inputs import checked, local_path

CONFIG, WEIGHTS = "adapter_config.json", ("adapter_model.safetensors", "adapter_model.bin")
PREFIX = "base_model.model."  # comes before the names of the base model
# initialisations of A and B that do not change the base weights; the others change them when training begins
INITIALISATIONS = (True, False, None, "gaussian", "eva", "orthogonal")
# options with which an adapter is not a single product B A for each weight
OTHERWISE = (
    "alora_invocation_tokens",
    "arrow_config",
    "kasa_config",
    "layer_replication",
    "monteclora_config",
    "use_bdlora",
    "use_qalora",
)
# a name or a regular expression without repeated groups or verbose mode and with few choices and repetitions, because
# others may take forever
_BOUNDED = r"(?s)^(?!.*(\)[*+?{]|\(\?\w*x))(?!([^?|]*[?|]){17})([^*+{]*[*+{]){0,2}[^*+{]*$"
_Pattern = Annotated[str, msgspec.Meta(pattern=_BOUNDED, max_length=1000)]
_Alpha = Annotated[float, msgspec.Meta(gt=-1e30, lt=1e30)]


class _Config(msgspec.Struct):
    """The entries of adapter_config.json that determine how the adapter is merged, apart from those in `OTHERWISE`."""

    peft_type: str | None = None
    r: int | None = None
    rank_pattern: dict[_Pattern, int] | None = None
    lora_alpha: _Alpha | None = None
    alpha_pattern: dict[_Pattern, _Alpha] | None = None
    use_rslora: bool | None = None
    init_lora_weights: bool | str | None = None


class Change(NamedTuple):
    """How one weight is adapted: the names of tensors in the file of the adapter, and the scale of B A."""

    a: str
    b: str
    magnitudes: str | None  # of DoRA
    scale: float
    transposed: bool  # the weight is stored (in, out)


class Adapter:
    """A LoRA adapter: ``scale B A`` for some weights, A (r, in), B (out, r), scale alpha / r or alpha / sqrt(r).

    With DoRA, ``W' = m / ||W + scale B A|| (W + scale B A)``, where each output row has its own norm and magnitude m.
    The config is the content of adapter_config.json, and the factors have the names that ``save_pretrained`` gives
    them.

    Raises:
        CheckpointError: the adapter is of an unsupported kind.

    Source: Hu et al. 2022 (LoRA); Kalajdzievski 2023 (the scale with sqrt(r)); Liu et al. 2024 (DoRA); the layout of
    peft's files.
    """

    def __init__(self, name: str, config: Mapping, file: TensorFile) -> None:
        self.name, self._file = name, file
        self._config = checked(config, _Config, self._unreadable)
        if self._config.peft_type != "LORA":
            raise self._unmergeable(f"an adapter of type {self._config.peft_type}")
        for option in OTHERWISE:
            if config.get(option):
                raise self._unmergeable(f"a LoRA adapter with {option}")
        # newer and older versions of peft end names differently
        self._parts = {re.sub(r"(\.default)?(\.weight)?$", "", name): name for name in file.shapes if ".lora_" in name}
        self._modules = [part.removesuffix(".lora_A") for part in self._parts if part.endswith(".lora_A")]
        self._changes: dict[str, Change] = {}  # by the name of the base weight

    def fit(self, config: Mapping, plans: list[LayerPlan], shapes: Mapping[str, Size]) -> None:
        """Find the adapted queries and keys of a base model from its config, its layers and the shapes of its tensors.

        Raises:
            CheckpointError: an adapted weight has a different shape, or the adapter replaces it.
        """
        names = {f"{module.removeprefix(PREFIX)}.weight": module for module in self._modules}
        adapted = places(ARCHITECTURES, config, names)
        whole = places(ARCHITECTURES, config, (name for name in self._file.shapes if ".lora_" not in name))
        weights = {name: plan.layout.transposed for plan in plans for name in (plan.query, plan.key)}
        for place, weight in places(ARCHITECTURES, config, weights).items():
            if place in whole:
                raise self._unmergeable(f"an adapter that replaces {weight} by its own weight (modules_to_save)")
            if place in adapted:
                self._changes[weight] = self._change(names[adapted[place]], shapes[weight], weights[weight])

    def _change(self, module: str, shape: Size, transposed: bool) -> Change:
        a, b, magnitudes = (self._parts.get(f"{module}.lora_{part}") for part in ("A", "B", "magnitude_vector"))
        outputs, inputs = reversed(shape) if transposed else shape
        shapes = self._file.shapes
        rank = shapes[a][0] if a and shapes[a] else 0
        fits = a and b and rank and (shapes[a], shapes[b]) == ((rank, inputs), (outputs, rank))
        if not (a and b and fits) or (magnitudes and shapes[magnitudes].numel() != outputs):
            raise CheckpointError(
                f"the factors of {module} in the adapter {self.name} do not fit a weight of shape {(outputs, inputs)};"
                " the adapter belongs to another base model, or was not saved completely."
            )
        return Change(a, b, magnitudes, self._scale(module, rank), transposed)

    def merged(self, weight: str, base: Tensor, rows: tuple[int, int] | None) -> Tensor:
        """A base weight, or its rows [start, stop), with the adapter, rounded to the type of the weight as in peft."""
        if weight not in self._changes:
            return base
        change, part = self._changes[weight], slice(*(rows or (None,)))
        wide = torch.promote_types(base.dtype, torch.float32)
        a, b = (self._file.read(name).to(wide) for name in (change.a, change.b))
        outputs = (base.T if change.transposed else base) + (change.scale * b[part] @ a).to(base.dtype)  # (out, in)
        if change.magnitudes:
            magnitudes = self._file.read(change.magnitudes).flatten()[part].to(wide)
            norms = torch.linalg.norm(outputs.to(wide), dim=1)
            outputs = ((magnitudes / norms)[:, None] * outputs).to(base.dtype)
        return outputs.T if change.transposed else outputs

    def require_use(self) -> None:
        """Refuse an adapter that does not change W_qk, or that was trained with different base weights."""
        start = self._config.init_lora_weights
        if start not in INITIALISATIONS:
            raise self._unmergeable(f"a LoRA adapter with init_lora_weights = {start}")
        if not self._changes:
            ends = ", ".join(sorted({module.rpartition(".")[2] for module in self._modules})) or "nothing"
            raise CheckpointError(
                f"{self.name} adapts no query or key weights of this model (it adapts {ends}), so W_qk is the same as"
                " without the adapter; leave the adapter out."
            )

    def _scale(self, module: str, rank: int) -> float:
        alpha, r = (self._of(module, name) for name in (("lora_alpha", "alpha_pattern"), ("r", "rank_pattern")))
        if alpha is None:
            raise self._unreadable("it contains no number lora_alpha")
        if r not in (None, rank):
            raise self._unreadable(f"it says r = {r}, but the factors of {module} have rank {rank}")
        return alpha / (math.sqrt(rank) if self._config.use_rslora else rank)

    def _of(self, module: str, names: tuple[str, str]) -> int | float | None:
        """The value of a setting for a module, from the first pattern that matches, as in peft."""
        otherwise, patterns = (getattr(self._config, name) for name in names)
        inner = module.removeprefix(PREFIX)
        try:
            values = [value for pattern, value in (patterns or {}).items() if re.match(rf"(.*\.)?({pattern})$", inner)]
        except re.error as error:
            raise self._unreadable(f"{error} in {names[1]}") from error
        return values[0] if values else otherwise

    def _unmergeable(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"{self.name} is {what}, but attngeo can only add the product B A of two LoRA factors to a weight; call"
            " merge_and_unload() of peft and score the merged model."
        )

    def _unreadable(self, why: str) -> CheckpointError:
        return CheckpointError(f"{CONFIG} of {self.name} cannot be used ({why}); save the adapter again.")


def open_adapter(path_or_id: str | PathLike) -> Adapter:
    """Open a LoRA adapter that ``save_pretrained`` of peft wrote, from a local folder or a Hub id."""
    path = local_path(path_or_id, CheckpointError)
    repository = open_repository(path.parent if path.is_file() else path_or_id, first=CONFIG)
    config, files = repository.json(CONFIG), (repository.open(name) for name in WEIGHTS)
    file = next((file for file in files if file is not None), None)
    if config is None or file is None:
        raise CheckpointError(
            f"{repository.name} does not contain {CONFIG} and {WEIGHTS[0]}, the files that peft writes for an adapter."
        )
    return Adapter(repository.name, config, file)
