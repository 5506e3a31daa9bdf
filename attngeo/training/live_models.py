"""Any supported model in memory with queries and keys that start tied."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from attngeo.bilinear.form import BilinearForm
from attngeo.checkpoints.architectures.entry import Part
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.models import Model, open_model
from attngeo.checkpoints.quantised import FLOAT8
from attngeo.errors import ParameterError
from attngeo.training import ties
from attngeo.training.choices import SYMMETRY, Initialisation
from attngeo.training.initialisations import MIXERS, require_symmetry


@torch.no_grad()
def initialise(
    model: nn.Module,
    initialisation: Initialisation | str,
    seed: int = 0,
    part: Part | None = None,
    config: Mapping | Any = None,
) -> None:
    """Start every head's keys as its queries, free to part: ``W_k,h = W_q,h S_h``, so that s = 1, or -1 if skew.

    ``symmetric``: S_h = I. ``symmetric-indefinite``: S_h symmetric and orthogonal. ``skew``: S_h skew-symmetric and
    orthogonal. ``random`` leaves the weights as they are. All else in the model, biases included, stays as it is. Where
    query heads share a key head, all but the first of them are written too; under ``symmetric`` they start equal.

    Args:
        model: any that `attngeo.open_model` takes.
        initialisation: which of the four.
        seed: of the draws of S_h.
        part: "encoder" or "decoder", to leave the others as they are; all self-attention unless given.
        config: as for `attngeo.open_model`.

    Raises:
        CheckpointError: the model cannot be opened.
        ParameterError: another initialisation, cross-attention that no ``part`` leaves out, weights in 8 bits, or skew
            heads of width 1.
        InitialisationError: a head does not have the symmetry that was asked for; queries that are zero have none.

    Source: paper, Appendix S2.1.
    """
    if initialisation not in (Initialisation.RANDOM, *MIXERS):
        asked, known = getattr(initialisation, "value", initialisation), ", ".join(kind.value for kind in MIXERS)
        raise ParameterError(f"initialise knows no {asked!r}; there are random, {known}.")
    opened = open_model(model, config)
    plans = _chosen(opened, part)
    if initialisation == Initialisation.RANDOM:
        return
    kind = Initialisation(initialisation)
    generator = torch.Generator().manual_seed(seed)
    for plan in plans:
        form = opened.read(plan).form
        wq, wk = form.wq.clone(), form.wk.clone()
        ties.tie(wq, wk, MIXERS[kind], generator)
        plan.store(BilinearForm(wq, wk), opened.weights.tensors)
        require_symmetry(opened.read(plan).form, SYMMETRY[kind], plan.module)


def _chosen(opened: Model, part: Part | None) -> list[LayerPlan]:
    """The layers to write, none of them cross-attention."""
    plans = [plan for plan in opened.plans if part in (None, plan.part)]
    if not plans:
        there = ", ".join(dict.fromkeys(plan.part for plan in opened.plans))
        raise ParameterError(f"{opened.name} has no part {part!r}; it has {there}.")
    for plan in plans:
        if plan.part == "cross":
            raise ParameterError(
                f"{plan.module} of {opened.name} is cross-attention, whose queries and keys come from different"
                f" sequences and cannot be tied; name the part to start: part='encoder' or part='decoder'."
            )
        if opened.adapter is not None:
            raise ParameterError(f"{opened.name} has an adapter on its weights; initialise the model, then add it.")
        if opened.weights.tensors[plan.query].dtype in FLOAT8:
            raise ParameterError(f"{plan.query} is stored in 8 bits and cannot be written; load it in a wider type.")
    return plans
