"""The initialisations of a BERT that is trained: those of the paper, those of its released code, and controls."""

import math
from typing import Any

import torch
from torch import Tensor, nn

from attngeo.choices import SYMMETRY, Initialisation
from attngeo.experiments.training.choices import Values
from attngeo.initialisations import MIXERS, initialise, reflection, rotation, tie

Attention = Any  # transformers' BertAttention, whose `.self` has the linear maps `query`, `key`, `value`

MIMETIC_QK = (0.7, 0.7)  # weights of noise and identity in W_q W_k^T (Trockman & Kolter 2023)
MIMETIC_VO = (0.4, -0.4)  # in W_v W_o


@torch.no_grad()
def initialise_bert(
    model: nn.Module, layers: list[Attention], initialisation: Initialisation, seed: int, std: float
) -> None:
    """Initialise a BERT whose weights have the standard deviation ``std`` and whose attention modules are ``layers``.

    Weights to which an initialisation does not apply remain unchanged, so runs with the same seed differ in nothing
    else.

    Raises:
        InitialisationError: the result does not have the symmetry of the initialisation.
        ParameterError: heads of width 1 cannot be skew.

    Source: paper, Appendix S2.1; released code (``released``); Trockman and Kolter 2023 (``mimetic``).
    """
    generator = torch.Generator().manual_seed(seed)
    for layer in layers:
        query, key, value = layer.self.query, layer.self.key, layer.self.value
        match initialisation:
            case Initialisation.RELEASED | Initialisation.DEFAULT_LINEAR:
                bound = 1 / math.sqrt(query.in_features)
                for linear in (query, key, value):  # in the released code's order
                    for parameter in (linear.weight, linear.bias):
                        parameter.uniform_(-bound, bound, generator=generator)
            case Initialisation.MIMETIC:
                _mimetic(layer, generator)
            case Initialisation.SCALED | Initialisation.SCALED_SYMMETRIC:
                _scale(query, std)
                _scale(key, std)
            case Initialisation.SCALED_VALUES:
                _scale(value, std)
    if initialisation in SYMMETRY:  # the biases of the released code remain different
        initialise(model, initialisation if initialisation in MIXERS else Initialisation.SYMMETRIC, seed)


@torch.no_grad()
def freeze_values(layers: list[Attention], values: Values, seed: int) -> None:
    """Freeze W_v and W_o, with a symmetric or skew-symmetric product ``W_v,h W_o,h`` if this is requested."""
    if values is Values.TRAINED:
        return
    generator = torch.Generator().manual_seed(seed)
    for layer in layers:
        value, output, width = layer.self.value, layer.output.dense, layer.self.attention_head_size
        wv = value.weight.unflatten(0, (-1, width)).transpose(1, 2)  # views, (heads, d, d_head)
        wo = output.weight.unflatten(1, (-1, width)).transpose(0, 1)
        if values is not Values.FROZEN:
            tie(wv, wo, reflection if values is Values.FROZEN_SYMMETRIC else rotation, generator)
        for linear in (value, output):
            linear.requires_grad_(False)


def _mimetic(layer: Attention, generator: torch.Generator) -> None:
    d, d_head = layer.self.query.in_features, layer.self.attention_head_size
    for h in range(layer.self.num_attention_heads):
        rows = slice(h * d_head, (h + 1) * d_head)
        left, right = _split(*MIMETIC_QK, d, d_head, generator)
        layer.self.query.weight[rows], layer.self.key.weight[rows] = left.T, right.T
    left, right = _split(*MIMETIC_VO, d, d, generator)
    # o = x W_v W_o with W_v = value.weight.T, W_o = dense.weight.T
    layer.self.value.weight.copy_(left.T)
    layer.output.dense.weight.copy_(right)


def _scale(linear: nn.Linear, std: float) -> None:
    """To 1 / sqrt(3 d), the standard deviation of the weights of a new ``torch.nn.Linear``."""
    linear.weight.mul_(1 / math.sqrt(3 * linear.in_features) / std)


def _split(noise: float, identity: float, d: int, rank: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Factors (d, rank) of the best approximation of that rank to ``noise Z + identity I``, Z_ij from N(0, 1/d)."""
    z = torch.randn(d, d, dtype=torch.float64, generator=generator) / math.sqrt(d)
    u, s, vh = torch.linalg.svd(noise * z + identity * torch.eye(d, dtype=torch.float64))
    root = s[:rank].sqrt()
    return u[:, :rank] * root, vh[:rank].T * root
