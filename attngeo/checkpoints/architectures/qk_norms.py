"""The gains of norms on queries and keys, which can be folded into the factors of W_qk.

Such a norm divides a query by a positive number that depends on the token and multiplies its coordinates by gains. The
gains are weights, but the division depends on the token. ``qk_norms.yml`` lists the model types whose norms are known.
The tests compare each of them with the attention of the model itself.
"""

from collections.abc import Collection
from functools import cache
from pathlib import Path

import torch
import yaml
from msgspec import Struct, convert
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.checkpoints.architectures.keys import NORMS
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.errors import CheckpointError


class QkNorms(Struct, frozen=True, forbid_unknown_fields=True):
    """The norms of queries and keys of some model types.

    Args:
        model_types: their names, separated by spaces.
        names: names of the norms of queries and of keys, which are next to the weights.
        offset: number that is added to the weight of a norm; 1 if a weight of 0 stands for a gain of 1.
        centred: whether a norm subtracts the mean of the coordinates first.
        after_rotation: whether positions rotate queries and keys before their norms.
    """

    model_types: str
    names: tuple[str, str] = ("q_norm", "k_norm")
    offset: int = 0
    centred: bool = False
    after_rotation: bool = False


@cache
def known_norms() -> dict[str, QkNorms]:
    """What we know about the norms of queries and keys, by model type."""
    stated = yaml.safe_load(Path(__file__).with_name("qk_norms.yml").read_text(encoding="utf-8"))
    return {model_type: norms for norms in convert(stated, list[QkNorms]) for model_type in norms.model_types.split()}


def norms_of(plan: LayerPlan, tensors: Collection[str]) -> tuple[list[str], list[str]]:
    """The tensors with the gains of the queries and of the keys of a layer.

    Raises:
        CheckpointError: they have no gains, or it is not known how the norms of the layer work.
    """
    known = known_norms().get(plan.settings.model_type) if plan.settings else None
    inside = [name.removeprefix(f"{plan.module}.") for name in tensors if name.startswith(f"{plan.module}.")]
    if not any(map(NORMS.fullmatch, inside)):
        raise CheckpointError(f"the norms of queries and keys in {plan.part} layer {plan.layer} have no gains")
    if known is None:
        raise CheckpointError("attngeo does not know how its norms of queries and keys work")
    if known.after_rotation:
        raise CheckpointError(
            "it rotates queries and keys before it normalises them, so with these gains, W_qk does not depend on the"
            " distance alone"
        )
    found = []
    for weight, name in zip((plan.query, plan.key), known.names, strict=True):
        place = weight.removesuffix(".weight").rpartition(".")[0]
        gains = [f"{place}.{name}.weight"]
        if gains[0] not in tensors:  # one for each head
            gains = [f"{place}.{name}.norms.{h}.weight" for h in range(plan.heads)]
        found.append([gain for gain in gains if gain in tensors])
    if not all(found):
        raise CheckpointError(f"the gains of queries or keys are missing in {plan.part} layer {plan.layer}")
    return found[0], found[1]


def with_gains(form: BilinearForm, plan: LayerPlan, gains: list[list[Tensor]]) -> BilinearForm:
    """``sum_h W_q,h C diag(g_q) diag(g_k) C W_k,g(h)^T``, where C subtracts the mean if the norms do.

    The logits of the model are those of this form, divided by positive numbers that depend on the token and the head.

    Args:
        form: W_qk of the layer.
        plan: of the layer.
        gains: the tensors that `norms_of` names.

    Raises:
        CheckpointError: the gains do not fit the heads.
    """
    known = known_norms()[plan.settings.model_type if plan.settings else ""]
    factors = []
    for factor, stored in zip((form.wq, form.wk), gains, strict=True):
        gain = torch.cat([each.flatten() for each in stored]).to(torch.promote_types(factor.dtype, torch.float32))
        if len(gain) not in (form.d_head, len(factor) * form.d_head):
            raise CheckpointError(
                f"the norm of {len(factor)} heads of width {form.d_head} has {len(gain)} gains in {plan.module}, so"
                " the files belong to different models"
            )
        factor = factor.to(gain.dtype)
        if known.centred:  # over one head, or over all heads where the norm has a vector of gains for all of them
            over_all = len(stored) == 1 and stored[0].ndim == 1 and len(gain) > form.d_head
            factor = factor - factor.mean((0, 2) if over_all else 2, keepdim=True)
        factors.append(factor * (gain.view(-1, 1, form.d_head) + known.offset))
    return BilinearForm(*factors)
