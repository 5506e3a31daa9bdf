"""How queries and keys start: the paper's initialisations, what its released code did, and controls.

Notation: ``W_q,h``, ``W_k,h`` are (d, d_head); ``torch.nn.Linear`` holds the transposes of all heads, one below the
other.
"""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import score_heads
from attngeo.errors import AttngeoError
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
        _MAKE[initialisation](layer, generator, std)
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


def _tied(mixer: ties.Mixer) -> Callable[[Attention, torch.Generator, float], None]:
    def make(layer: Attention, generator: torch.Generator, std: float) -> None:
        form = _form(layer)  # views of the weights
        ties.tie(form.wq, form.wk, mixer, generator)

    return make


def _default_linear(layer: Attention, generator: torch.Generator, std: float) -> None:
    """U(-1/sqrt(d), 1/sqrt(d)) for weights and biases of q, k and v, in the released code's order."""
    for linear in (layer.self.query, layer.self.key, layer.self.value):
        bound = 1 / math.sqrt(linear.in_features)
        for parameter in (linear.weight, linear.bias):
            parameter.uniform_(-bound, bound, generator=generator)


def _released(layer: Attention, generator: torch.Generator, std: float) -> None:
    _default_linear(layer, generator, std)
    layer.self.key.weight.copy_(layer.self.query.weight)  # biases stay apart, as in the released code


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


def _scaled(layer: Attention, generator: torch.Generator, std: float) -> None:
    for linear in (layer.self.query, layer.self.key):
        linear.weight.mul_(_linear_std(linear) / std)


def _scaled_symmetric(layer: Attention, generator: torch.Generator, std: float) -> None:
    _scaled(layer, generator, std)
    _tied(ties.identity)(layer, generator, std)


def _scaled_values(layer: Attention, generator: torch.Generator, std: float) -> None:
    layer.self.value.weight.mul_(_linear_std(layer.self.value) / std)


_MAKE = {
    Initialisation.RANDOM: lambda layer, generator, std: None,
    **{initialisation: _tied(mixer) for initialisation, mixer in MIXERS.items()},
    Initialisation.RELEASED: _released,
    Initialisation.DEFAULT_LINEAR: _default_linear,
    Initialisation.MIMETIC: _mimetic,
    Initialisation.SCALED: _scaled,
    Initialisation.SCALED_SYMMETRIC: _scaled_symmetric,
    Initialisation.SCALED_VALUES: _scaled_values,
}


def _split(noise: float, identity: float, d: int, rank: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Factors (d, rank) of the best approximation of that rank to ``noise Z + identity I``, Z_ij from N(0, 1/d)."""
    z = torch.randn(d, d, dtype=torch.float64, generator=generator) / math.sqrt(d)
    u, s, vh = torch.linalg.svd(noise * z + identity * torch.eye(d, dtype=torch.float64))
    root = s[:rank].sqrt()
    return u[:, :rank] * root, vh[:rank].T * root


def _linear_std(linear: nn.Linear) -> float:
    """``1 / sqrt(3 d)``: standard deviation of the weights of a new ``torch.nn.Linear``."""
    return 1 / math.sqrt(3 * linear.in_features)


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
