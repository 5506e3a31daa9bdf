"""Appendix S2.1: the recipes of symmetric and skew-symmetric initialisation, and what the released code adds."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor, nn

from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import score_heads, symmetry_score
from attngeo.paper.checks import Comparison, Comparisons, Judgement, check, compare, exact, monte_carlo

STD = 0.02  # of BERT's weights
Heads = Float[Tensor, "heads d d_head"]


class Layer(NamedTuple):
    """What a layer's start is drawn from, apart from its keys."""

    wq: Heads
    other: Heads  # a second draw of queries
    token: Float[Tensor, " d"]  # of length sqrt(d), as a normalised layer input


def layers(d: int = 64, heads: int = 4, draws: int = 40, seed: int = 0) -> list[Layer]:
    """Layers of width ``d`` with normal queries."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for _ in range(draws):
        wq, other = (_queries(heads, d, generator) for _ in range(2))
        token = torch.randn(d, dtype=torch.float64, generator=generator)
        found.append(Layer(wq, other, token * math.sqrt(d) / token.norm()))
    return found


def tied_keys(wq: Heads) -> Heads:
    """``W_k = W_q``: the recipe of a symmetric start."""
    return wq


@check(layers)
def symmetric_recipe(drawn: list[Layer]) -> Comparisons:
    """``W_k = W_q`` makes every head symmetric, and positive semi-definite: the diagonal stands out by ``sqrt(d)``."""
    heads, d, d_head = drawn[0].wq.shape
    keys = [tied_keys(layer.wq) for layer in drawn]
    forms = [BilinearForm(layer.wq, wk) for layer, wk in zip(drawn, keys, strict=True)]
    eigenvalues = [torch.linalg.eigvals(form.dense()).real for form in forms]
    logits = [
        ((layer.token @ layer.wq) * (layer.token @ wk)).sum(-1).mean() / math.sqrt(d_head)
        for layer, wk in zip(drawn, keys, strict=True)
    ]
    untied = [_prominence(BilinearForm(layer.wq, layer.other).dense()) for layer in drawn]
    yield exact("symmetry", min(score_heads(form).symmetry.min() for form in forms), 1)
    yield exact("eigenvalue", min(0.0, *(float(e.min() / e.abs().max()) for e in eigenvalues)))
    yield monte_carlo("diagonal", [_prominence(form.dense()) for form in forms], math.sqrt(d))
    yield monte_carlo("untied", untied, 0)
    yield monte_carlo("logit", logits, self_logit(d, heads))


class Mixed(NamedTuple):
    """Queries and the random matrices that skew-symmetric ones are made of."""

    wq: Heads
    own: Float[Tensor, "heads d_head d_head"]  # A of each head
    shared: Float[Tensor, "d d"]  # one A of the model's width


def mixed_layers(d: int = 64, heads: int = 4, draws: int = 40, seed: int = 0) -> list[Mixed]:
    """Layers of width ``d`` with normal queries, and normal A."""
    generator = torch.Generator().manual_seed(seed)
    d_head = d // heads

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, dtype=torch.float64, generator=generator)

    return [
        Mixed(_queries(heads, d, generator), torch.stack([normal(d_head, d_head) for _ in range(heads)]), normal(d, d))
        for _ in range(draws)
    ]


def mixer(a: Float[Tensor, "*heads n n"]) -> Float[Tensor, "*heads n n"]:
    """``S = A - A^T``."""
    return a - a.mT


@check(mixed_layers)
def skew_recipe(drawn: list[Mixed]) -> Judgement:
    """``W_k = W_q S^T`` with ``S = A - A^T`` is skew head by head only if S is (d_head, d_head), one for each head."""
    heads, _, d_head = drawn[0].wq.shape
    keys = [layer.wq @ mixer(layer.own).mT for layer in drawn]
    own = [score_heads(BilinearForm(layer.wq, wk)).symmetry.max() for layer, wk in zip(drawn, keys, strict=True)]
    whole = [torch.cat(tuple(layer.wq), dim=1) @ mixer(layer.shared).T for layer in drawn]
    one = [BilinearForm(x.wq, torch.stack(wk.chunk(heads, dim=1))) for x, wk in zip(drawn, whole, strict=True)]
    shared = [s for form in one for s in score_heads(form).symmetry.tolist()]
    scale = [wk.square().sum() / layer.wq.square().sum() for layer, wk in zip(drawn, keys, strict=True)]
    return Judgement(
        exact("own", max(own), -1),
        exact("summed", max(symmetry_score(form.dense()) for form in one), -1),
        monte_carlo("shared", shared, -1, ">"),
        monte_carlo("scale", scale, 2 * (d_head - 1)),
        shared=sum(shared) / len(shared),
    )


Projections = dict[int, tuple[nn.Linear, nn.Linear]]  # queries and keys by width


def released_projections(widths: Sequence[int] = (128, 256, 768, 1024), seed: int = 0) -> Projections:
    """Made anew as the released code makes them, at the widths of ours, the paper's 4 and 12 layers, the web's 24."""
    made = {}
    for d in widths:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            made[d] = nn.Linear(d, d), nn.Linear(d, d)
    return made


@check(released_projections)
def scale_of_the_released_recipe(made: Projections) -> Judgement:
    """Projections made anew by ``nn.Linear`` change the scale of ``W_qk`` by ``(1 / (3 d)) / 0.02^2``, and add biases.

    The standard deviation of a sample variance of n uniform values is ``sqrt(4/5 / n)`` of it.
    """
    from transformers import BertConfig

    comparisons = [exact("sd", BertConfig().initializer_range, STD)]
    for d, (query, key) in made.items():
        measured = float(query.weight.detach().double().square().mean()) / STD**2
        error = math.sqrt(0.8) / d * scale_factor(d)
        comparisons += [
            Comparison("scale", measured, "=", scale_factor(d), 4 * error, error, {"d": d}),
            compare("biases", (query.bias - key.bias).detach().abs().max(), "≠", 0, 1e-6, d=d),
        ]
    factors = ", ".join(f"{scale_factor(d):.2f} at width {d}" for d in made)
    return Judgement(*comparisons, factors=factors)


def self_logit(d: int, heads: int, scale: float = 1.0) -> float:
    """``d sqrt(d_head) 0.02^2``, times ``scale``: mean logit of a token with itself; W_k = W_q, norm(x)^2 = d."""
    return d * math.sqrt(d // heads) * STD**2 * scale


def scale_factor(d: int) -> float:
    """``(1 / (3 d)) / 0.02^2``: variance of nn.Linear's weights at width d over that of BERT's."""
    return 1 / (3 * d) / STD**2


def _queries(heads: int, d: int, generator: torch.Generator) -> Heads:
    return STD * torch.randn(heads, d, d // heads, dtype=torch.float64, generator=generator)


def _prominence(form: Float[Tensor, "d d"]) -> float:
    """Mean of the diagonal over the standard deviation of the other entries."""
    off = form[~torch.eye(len(form), dtype=torch.bool)]
    return float(form.diagonal().mean() / off.std())
