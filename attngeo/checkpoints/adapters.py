"""LoRA adapters of peft, merged into single weights: ``W' = W + (alpha / r) B A``; the model itself is not loaded."""

import math
import re
from collections.abc import Mapping
from os import PathLike
from typing import Annotated

import msgspec
import torch
from torch import Size, Tensor

from attngeo.checkpoints.architectures import ARCHITECTURES, LayerPlan, places
from attngeo.checkpoints.sources import open_repository
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError
from attngeo.inputs import checked, local_path

CONFIG, WEIGHTS = "adapter_config.json", ("adapter_model.safetensors", "adapter_model.bin")
PREFIX = "base_model.model."  # before the base model's own names
# initialisations of A and B that leave the base weights as they are; the others change them when training begins
INITIALISATIONS = (True, False, None, "gaussian", "eva", "orthogonal")
# what makes an adapter something else than one B A for each weight
OTHERWISE = (
    "alora_invocation_tokens",
    "arrow_config",
    "kasa_config",
    "layer_replication",
    "monteclora_config",
    "use_bdlora",
    "use_qalora",
)


# a name or a regular expression; no repeated group and few repetitions, or matching it could take for ever
_Pattern = Annotated[str, msgspec.Meta(pattern=r"^(?!.*\)[*+?{])([^*+{]*[*+{]){0,2}[^*+{]*$", max_length=1000)]
_Alpha = Annotated[float, msgspec.Meta(gt=-1e30, lt=1e30)]


class _Config(msgspec.Struct):
    """What of an adapter_config.json decides how it is merged; `OTHERWISE` apart."""

    peft_type: str | None = None
    lora_alpha: _Alpha | None = None
    alpha_pattern: dict[_Pattern, _Alpha] | None = None
    use_rslora: bool | None = None
    init_lora_weights: bool | str | None = None


class Adapter:
    """A LoRA adapter: ``scale B A`` for some weights, A (r, in), B (out, r), scale alpha / r or alpha / sqrt(r).

    With DoRA, ``W' = m / ||W + scale B A|| (W + scale B A)``, norms and magnitudes m by output row. The config is that
    of adapter_config.json; factors are named as by ``save_pretrained``.

    Raises:
        CheckpointError: another kind of adapter.

    Source: Hu et al. 2022 (LoRA); Kalajdzievski 2023 (the scale with sqrt(r)); Liu et al. 2024 (DoRA); the layout of
    peft's files.
    """

    def __init__(self, name: str, config: Mapping, file: TensorFile) -> None:
        self.name, self._file = name, file
        self._config = checked(config, _Config, self._unreadable)
        kind, others = self._config.peft_type, [option for option in OTHERWISE if config.get(option)]
        if kind != "LORA":
            raise CheckpointError(
                f"{name} is an adapter of type {kind}, and LoRA alone is merged here; merge_and_unload() it and score"
                f" that model."
            )
        if others:
            raise self._unmergeable(others[0])
        self._modules: dict[str, str] = {}  # name of the adapted module, by that of the base's weight
        self._transposed: dict[str, bool] = {}  # by that of the base's weight

    def fit(self, config: Mapping, plans: list[LayerPlan], shapes: Mapping[str, Size]) -> None:
        """Find the queries and keys of a base model that are adapted, by its config, layers and shapes of tensors.

        Raises:
            CheckpointError: an adapted weight has another shape, or is replaced by one of the adapter's own.
        """
        names = {f"{module.removeprefix(PREFIX)}.weight": module for module in self._adapted()}
        theirs = places(ARCHITECTURES, config, names)
        whole = places(ARCHITECTURES, config, (name for name in self._file.shapes if ".lora_" not in name))
        weights = {name: plan.layout.transposed for plan in plans for name in (plan.query, plan.key)}
        for place, weight in places(ARCHITECTURES, config, weights).items():
            if place in whole:
                raise CheckpointError(
                    f"{self.name} replaces {weight} by one of its own (modules_to_save); merge_and_unload() it and save"
                    f" the model."
                )
            if place in theirs:
                self._modules[weight], self._transposed[weight] = names[theirs[place]], weights[weight]
                self._require_shape(weight, shapes[weight])

    def merged(self, weight: str, base: Tensor, rows: tuple[int, int] | None) -> Tensor:
        """A weight of the base, or its rows [start, stop), with the adapter; rounded to the base's type, as by peft."""
        if weight not in self._modules:
            return base
        module = self._modules[weight]
        wide = torch.promote_types(base.dtype, torch.float32)
        a, b = (self._file.read(name).to(wide) for name in self._factors(module))
        change = self._scale(module, len(a)) * b[slice(*(rows or (None,)))] @ a  # (out, in)
        whole = base + (change.T if self._transposed[weight] else change).to(base.dtype)
        magnitude = self._magnitude(module)
        if magnitude is None:
            return whole
        outputs = whole.T if self._transposed[weight] else whole
        norms = torch.linalg.norm(outputs.to(a.dtype), dim=1)
        outputs = ((magnitude[slice(*(rows or (None,)))].to(a.dtype) / norms)[:, None] * outputs).to(base.dtype)
        return outputs.T if self._transposed[weight] else outputs

    def require_use(self) -> None:
        """Refuse an adapter that changes no W_qk, or that was trained beside other base weights."""
        start = self._config.init_lora_weights
        if start not in INITIALISATIONS:
            raise self._unmergeable(f"init_lora_weights = {start}")
        if not self._modules:
            ends = ", ".join(sorted({module.rpartition(".")[2] for module in self._adapted()})) or "nothing"
            raise CheckpointError(
                f"{self.name} adapts no query or key weights of this model (it adapts {ends}); W_qk is that of the"
                f" base: leave the adapter out."
            )

    def _unmergeable(self, option: str) -> CheckpointError:
        return CheckpointError(
            f"{self.name} is a LoRA adapter with {option}, which does not merely add B A to the base's weights;"
            f" merge_and_unload() it and score that model."
        )

    def _adapted(self) -> list[str]:
        """Names of the adapted modules, as the file has them."""
        found = [re.fullmatch(r"(.+)\.lora_A(?:\.[^.]+)?\.weight", name) for name in self._file.shapes]
        return [match[1] for match in found if match]

    def _find(self, module: str, part: str) -> str | None:
        """Name of a tensor; newer and older versions of peft name them differently."""
        names = (f"{module}.{part}", f"{module}.{part}.weight", f"{module}.{part}.default.weight")
        return next((name for name in names if name in self._file.shapes), None)

    def _factors(self, module: str) -> list[str]:
        """Names of A and B."""
        found = [name for part in "AB" if (name := self._find(module, f"lora_{part}"))]
        if len(found) < 2:
            raise CheckpointError(f"{self.name} has one factor of {module} alone; save the adapter again.")
        return found

    def _magnitude(self, module: str) -> Tensor | None:
        name = self._find(module, "lora_magnitude_vector")
        return None if name is None else self._file.read(name).flatten()

    def _require_shape(self, weight: str, shape: Size) -> None:
        module = self._modules[weight]
        a, b = (self._file.shapes[name] for name in self._factors(module))
        outputs, inputs = reversed(shape) if self._transposed[weight] else shape
        name = self._find(module, "lora_magnitude_vector")
        magnitudes = None if name is None else self._file.shapes[name].numel()
        if (*b[:1], *a[1:]) != (outputs, inputs) or b[1:] != a[:1] or not all(a) or magnitudes not in (None, outputs):
            raise CheckpointError(
                f"{self.name} adapts {module} with factors {tuple(b)} and {tuple(a)}, and {weight} is"
                f" {(outputs, inputs)}; the adapter belongs to another base model."
            )

    def _scale(self, module: str, rank: int) -> float:
        patterns, inner = self._config.alpha_pattern or {}, module.removeprefix(PREFIX)
        try:
            found = [alpha for pattern, alpha in patterns.items() if re.match(rf"(.*\.)?({pattern})$", inner)]
        except re.error as error:
            raise self._unreadable(f"{error} in alpha_pattern") from error
        alpha = found[0] if found else self._config.lora_alpha
        if alpha is None:
            raise self._unreadable("no number lora_alpha")
        return alpha / (math.sqrt(rank) if self._config.use_rslora else rank)

    def _unreadable(self, why: str) -> CheckpointError:
        return CheckpointError(f"{CONFIG} of {self.name} cannot be used ({why}); save the adapter again.")


def open_adapter(path_or_id: str | PathLike) -> Adapter:
    """A LoRA adapter as ``save_pretrained`` of peft writes it: a local folder, or a Hub id."""
    path = local_path(path_or_id, CheckpointError)
    repository = open_repository(path.parent if path.is_file() else path_or_id, first=CONFIG)
    config = repository.json(CONFIG)
    if config is None:
        raise CheckpointError(f"{repository.name} has no {CONFIG}; an adapter is a folder that peft has written.")
    files = (repository.open(name) for name in WEIGHTS)
    found = next((file for file in files if file is not None), None)
    if found is None:
        raise CheckpointError(f"{repository.name} has {CONFIG} and no {' or '.join(WEIGHTS)}; save the adapter again.")
    return Adapter(repository.name, config, found)
