"""How queries and keys start: the paper's initialisations, what its released code did, and controls.

Notation: ``W_q,h``, ``W_k,h`` are (d, d_head); ``torch.nn.Linear`` holds the transposes of all heads, one below the
other.
"""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import score_heads
from attngeo.checkpoints.architectures.entry import Part
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.models import Model, open_model
from attngeo.checkpoints.quantised import FLOAT8
from attngeo.errors import AttngeoError, ParameterError
from attngeo.training import ties
from attngeo.training.choices import SYMMETRY, Initialisation, Values

Attention = Any  # transformers' BertAttention, whose `.self` has the linear maps `query`, `key`, `value`

MIXERS = {
    Initialisation.SYMMETRIC: ties.identity,
    Initialisation.SYMMETRIC_INDEFINITE: ties.reflection,
    Initialisation.SKEW: ties.rotation,
}
MIMETIC_QK = (0.7, 0.7)  # weights of noise and identity in W_q W_k^T (Trockman & Kolter 2023)
MIMETIC_VO = (0.4, 0.4)  # in W_v W_o, the identity with a minus sign


class InitialisationError(AttngeoError):
    """A model's weights are not what its initialisation promises."""


@torch.no_grad()
def initialise_bert(layers: list[Attention], initialisation: Initialisation, seed: int, std: float) -> None:
    """Give the attention modules of a BERT of standard deviation ``std`` their initialisation, and check its symmetry.

    Weights that an initialisation does not name stay as they are: so runs of one seed differ in nothing else.

    Raises:
        InitialisationError: the result does not have the promised symmetry.
        ParameterError: heads of width 1 cannot be skew.

    Source: paper, Appendix S2.1; released code (``released``); Trockman and Kolter 2023 (``mimetic``).
    """
    generator = torch.Generator().manual_seed(seed)
    for number, layer in enumerate(layers):
        for step in _STEPS[initialisation]:
            step(layer, generator, std)
        if initialisation in SYMMETRY:
            require_symmetry(_form(layer), SYMMETRY[initialisation], f"layer {number}")


@torch.no_grad()
def freeze_values(layers: list[Attention], values: Values, seed: int) -> None:
    """Exempt W_v and W_o from training, their product ``W_v,h W_o,h`` made symmetric or skew-symmetric if asked for."""
    if values is Values.TRAINED:
        return
    generator = torch.Generator().manual_seed(seed)
    for layer in layers:
        value, output, width = layer.self.value, layer.output.dense, _d_head(layer)
        wv = value.weight.unflatten(0, (-1, width)).transpose(1, 2)  # views, (heads, d, d_head)
        wo = output.weight.unflatten(1, (-1, width)).transpose(0, 1)
        if values is not Values.FROZEN:
            ties.tie(wv, wo, ties.reflection if values is Values.FROZEN_SYMMETRIC else ties.rotation, generator)
        for linear in (value, output):
            linear.requires_grad_(False)


def _tie(mixer: ties.Mixer, layer: Attention, generator: torch.Generator, std: float) -> None:
    form = _form(layer)  # views of the weights
    ties.tie(form.wq, form.wk, mixer, generator)


def _default_linear(layer: Attention, generator: torch.Generator, std: float) -> None:
    """U(-1/sqrt(d), 1/sqrt(d)) for weights and biases of q, k and v, in the released code's order."""
    for linear in (layer.self.query, layer.self.key, layer.self.value):
        bound = 1 / math.sqrt(linear.in_features)
        for parameter in (linear.weight, linear.bias):
            parameter.uniform_(-bound, bound, generator=generator)


def _mimetic(layer: Attention, generator: torch.Generator, std: float) -> None:
    d, d_head = layer.self.query.in_features, _d_head(layer)
    for h in range(layer.self.num_attention_heads):
        rows = slice(h * d_head, (h + 1) * d_head)
        left, right = _split(*MIMETIC_QK, d, d_head, generator)
        layer.self.query.weight[rows], layer.self.key.weight[rows] = left.T, right.T
    left, right = _split(MIMETIC_VO[0], -MIMETIC_VO[1], d, d, generator)
    # o = x W_v W_o with W_v = value.weight.T, W_o = dense.weight.T
    layer.self.value.weight.copy_(left.T)
    layer.output.dense.weight.copy_(right)


def _scale(names: tuple[str, ...], layer: Attention, generator: torch.Generator, std: float) -> None:
    """To 1 / sqrt(3 d), the standard deviation of the weights of a new ``torch.nn.Linear``."""
    for linear in (getattr(layer.self, name) for name in names):
        linear.weight.mul_(1 / math.sqrt(3 * linear.in_features) / std)


_SCALED, _SYMMETRIC = partial(_scale, ("query", "key")), partial(_tie, ties.identity)
_STEPS: dict[Initialisation, tuple[Callable[[Attention, torch.Generator, float], None], ...]] = {
    Initialisation.RANDOM: (),
    **{initialisation: (partial(_tie, mixer),) for initialisation, mixer in MIXERS.items()},
    Initialisation.RELEASED: (_default_linear, _SYMMETRIC),  # biases stay apart, as in the released code
    Initialisation.DEFAULT_LINEAR: (_default_linear,),
    Initialisation.MIMETIC: (_mimetic,),
    Initialisation.SCALED: (_SCALED,),
    Initialisation.SCALED_SYMMETRIC: (_SCALED, _SYMMETRIC),
    Initialisation.SCALED_VALUES: (partial(_scale, ("value",)),),
}


def _split(noise: float, identity: float, d: int, rank: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Factors (d, rank) of the best approximation of that rank to ``noise Z + identity I``, Z_ij from N(0, 1/d)."""
    z = torch.randn(d, d, dtype=torch.float64, generator=generator) / math.sqrt(d)
    u, s, vh = torch.linalg.svd(noise * z + identity * torch.eye(d, dtype=torch.float64))
    root = s[:rank].sqrt()
    return u[:, :rank] * root, vh[:rank].T * root


def _d_head(layer: Attention) -> int:
    return layer.self.query.out_features // layer.self.num_attention_heads


def _form(layer: Attention) -> BilinearForm:
    return BilinearForm.from_linear(layer.self.query.weight, layer.self.key.weight, _d_head(layer))


def require_symmetry(form: BilinearForm, expected: float, where: str) -> None:
    """Refuse a layer with a head that does not have the symmetry which it was to start with.

    Raises:
        InitialisationError: there is one; queries that are zero have none.
    """
    # entries rounded to a type of unit roundoff u change s by less than 16 u^2; 1e-5 where that is nothing
    slack = max(1e-5, 16 * torch.finfo(form.wq.dtype).eps ** 2)
    for h, s in enumerate(score_heads(form).symmetry.tolist()):
        if not abs(s - expected) <= slack:
            raise InitialisationError(
                f"head {h} of {where} has symmetry {s:.4g} after initialisation and should have {expected:.4g}; give"
                f" its queries random weights first."
            )


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
