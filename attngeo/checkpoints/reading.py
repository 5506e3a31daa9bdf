"""What is read from every attention layer: the matrix, and the gains and rotations that multiply its factors."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import get_args

import torch
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.rotations import Rotation, at_distance
from attngeo.checkpoints.architectures.entry import Matrix
from attngeo.checkpoints.architectures.locate import layer_around
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.qk_norms import norms_of, with_gains
from attngeo.checkpoints.architectures.rotary import NoRotation, rotation_of
from attngeo.checkpoints.gguf_files import GgufFile
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError, ParameterError

NORMALISATION = re.compile(r"norm|[._]ln", re.IGNORECASE)  # in the names of tensors


@dataclass(frozen=True)
class Reading:
    """The form that is asked for, by default ``W_qk`` without any gains or rotations.

    Args:
        matrix: which matrix to read, "qk" or "ov".
        fold_norm: multiply both factors of every form by the gains of the preceding layer normalisation. For the matrix
            "ov", only the value factor is multiplied.
        distance: distance m at which ``W_q R_m W_k^T`` is read (see `attngeo.open_checkpoint`).
        fold_qk_norm: multiply both factors by the gains of the query and key norms.

    Raises:
        ParameterError: ``matrix`` is neither "qk" nor "ov", the distance is not a whole number, or a distance or the
            query and key norms were requested for a matrix other than "qk".
    """

    matrix: Matrix = "qk"
    fold_norm: bool = False
    distance: int | None = None
    fold_qk_norm: bool = False

    def __post_init__(self) -> None:
        if self.matrix not in get_args(Matrix):
            raise ParameterError(f"matrix is {self.matrix!r}; it must be 'qk' or 'ov'.")
        if self.distance is not None and not isinstance(self.distance, int):
            raise ParameterError(f"distance is {self.distance!r}; it must be a whole number of tokens, or None.")
        if self.matrix != "qk" and (self.distance is not None or self.fold_qk_norm):
            raise ParameterError(
                "A distance and the norms of queries and keys apply only to W_qk; score the matrix 'qk'."
            )


class Folding:
    """The gains and rotations of the layers of a model, as far as a `Reading` asks for them.

    Raises:
        CheckpointError: the gains, the norms or the rotations do not exist or are not known.
    """

    def __init__(self, name: str, reading: Reading, plans: list[LayerPlan], files: Mapping[str, TensorFile]) -> None:
        self.reading, self.plans = reading, plans  # the plans of the layers to which this applies
        self.rotations: dict[LayerPlan, Rotation | None] = {}  # None for layers without a rotation
        self.without_rotation: dict[LayerPlan, NoRotation] = {}  # the reasons for leaving out layers
        self.qk_norms: dict[LayerPlan, tuple[list[str], list[str]]] = {}  # tensors of the gains of queries and of keys
        if reading.fold_norm:
            _require_gains(name, plans, files)
        needs_order = reading.distance is not None or reading.fold_qk_norm  # of the coordinates within a head
        if needs_order and any(isinstance(file, GgufFile) for file in files.values()):
            raise CheckpointError(
                f"{name}: a GGUF file stores the coordinates of queries and keys in a different order, so rotations"
                " and norms of queries and keys cannot be included; score the original weights."
            )
        what = f"at distance {reading.distance}"
        try:
            if reading.distance is not None:
                self._find_rotations(reading.distance)
            what = "with the gains of norms of queries and keys"
            if reading.fold_qk_norm:
                self._find_qk_norms(files)
        except CheckpointError as error:
            raise CheckpointError(f"{name} cannot be scored {what}: {f'{error}'.removesuffix('.')}.") from error

    def _find_rotations(self, m: int) -> None:
        """Find the rotation of every layer at the distance m, and leave out parts without rotary positions."""
        for plan in self.plans:
            try:
                self.rotations[plan] = rotation_of(plan, m)
            except NoRotation as error:
                self.without_rotation[plan] = error
        self.plans = list(self.rotations)
        if not self.plans:
            raise next(iter(self.without_rotation.values()))

    def _find_qk_norms(self, files: Mapping[str, TensorFile]) -> None:
        """Find the tensors with the gains of query and key norms in every layer that has such norms."""
        self.qk_norms = {plan: norms_of(plan, files) for plan in self.plans if "norms" in plan.beside}
        if not self.qk_norms:
            raise CheckpointError("attngeo does not know any such norms in it")

    def norm(self, plan: LayerPlan) -> str:
        """The tensor with the gains of the preceding layer normalisation if they are folded in, otherwise ""."""
        return plan.norm if self.reading.fold_norm else ""

    def qk_gains(self, plan: LayerPlan) -> tuple[str, ...]:
        """The tensors with the gains of the query and key norms if they are folded in, otherwise ()."""
        of_queries, of_keys = self.qk_norms.get(plan, ([], []))
        return (*of_queries, *of_keys)

    def gains(self, plan: LayerPlan) -> tuple[str, ...]:
        """All tensors of a layer that are read in addition to the factors of its form."""
        of_inputs = [name for name in (plan.norm, plan.key_norm) if name] if self.norm(plan) else []
        return (*of_inputs, *self.qk_gains(plan))

    def folded(self, form: BilinearForm, plan: LayerPlan, weights: Mapping[str, Tensor]) -> BilinearForm:
        """The form of a layer, multiplied by its gains (which are among the weights) and rotated to the distance."""
        if norm := self.norm(plan):
            gain, of_keys = (
                weights[name].to(torch.promote_types(form.wq.dtype, torch.float32))[:, None] + plan.norm_offset
                for name in (norm, plan.key_norm or norm)
            )
            form = BilinearForm(form.wq * (gain if self.reading.matrix == "qk" else 1), form.wk * of_keys)
        if plan in self.qk_norms:
            form = with_gains(form, plan, [[weights[name] for name in names] for names in self.qk_norms[plan]])
        rotation = self.rotations.get(plan)
        if rotation is not None and self.reading.distance is not None:
            form = at_distance(form, self.reading.distance, rotation)
        return form

    def reweights(self, plan: LayerPlan, d_head: int) -> bool:
        """Whether coordinates of a layer are multiplied by unequal numbers."""
        rotation = self.rotations.get(plan)
        return bool(self.norm(plan) or plan in self.qk_norms or (rotation and rotation.reweights(d_head)))


def _require_gains(name: str, plans: list[LayerPlan], names: Collection[str]) -> None:
    """Refuse to fold in gains of the layer normalisation if a layer that should have them has none."""
    folded = {plan.part for plan in plans if plan.norm}  # parts with gains
    for plan in plans:
        # in some architectures, such as ModernBERT, the first layer has none
        if not plan.norm and ((plan.layer and plan.part in folded) or not folded):
            layer = layer_around(plan.module)
            others = [each for each in names if each.startswith(f"{layer}.") and NORMALISATION.search(each)]
            why = "not in these files"
            if others and plan.part not in folded:
                why = "not known, because attngeo does not know any normalisation before the attention of such models"
            raise CheckpointError(
                f"{name}: the gains of the layer normalisation before queries and keys of {plan.part} layer"
                f" {plan.layer} are {why}; score without these gains (leave --fold-norm out)."
            )
