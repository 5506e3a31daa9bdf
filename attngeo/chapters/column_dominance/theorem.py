"""Theorem S1.12 and its informal twin 2.3: what their assumptions give."""

import math
from typing import NamedTuple

import numpy as np
import torch
from scipy.integrate import quad
from torch import Tensor

from attngeo.chapters.column_dominance.enumeration import Outcomes, coordinates
from attngeo.chapters.column_dominance.expected_norms import vocabulary_squared_norms
from attngeo.chapters.column_dominance.initial_norms import chi_moments
from attngeo.chapters.column_dominance.measures import TAIL, directionalities, log_unevenness, tail_gap
from attngeo.chapters.column_dominance.norm_ratios import ContextUpdates, context_tokens
from attngeo.paper.checks import Comparison, Comparisons, Judgement, check, compare, exact, monte_carlo
from attngeo.updates.norms import ratio_samples, squared_norms
from attngeo.updates.random_updates import Coefficients, UpdateModel, power_profile

PERCENT = 100 * TAIL


class SumsOfNorms(NamedTuple):
    """Updates whose norms, not squared, are added up over rows and over columns."""

    context: ContextUpdates  # of Prop. S1.8
    autoregressive: Tensor  # of Theorem S1.12 without repeated tokens, (draws, d, d)


def sums_of_norms(d: int = 48, exponent: float = 1.0, n_draws: int = 2000, seed: int = 0) -> SumsOfNorms:
    """Variances fall like ``k^-exponent``."""
    context = context_tokens(d=d, exponent=exponent, n_draws=n_draws, seed=seed)
    generator = torch.Generator().manual_seed(seed + 1)
    model = UpdateModel(context.covariance, n_tokens=16, n_sequences=1)
    return SumsOfNorms(context, model.draw(n_draws // 4, generator))


def mean_norm(variances: np.ndarray) -> float:
    """``E ||g|| = pi^(-1/2) int_0^inf (1 - prod_k (1 + 2 u^2 lambda_k)^(-1/2)) u^-2 du``, g Gaussian.

    lambda are the variances of its coordinates. From ``sqrt(Q) = pi^(-1/2) int_0^inf (1 - exp(-u^2 Q)) u^-2 du`` with
    ``Q = ||g||^2``.
    """

    def integrand(u: float) -> float:
        return -math.expm1(-np.log1p(2 * u**2 * variances).sum() / 2) / u**2

    return (quad(integrand, 0, 1)[0] + quad(integrand, 1, math.inf)[0]) / math.sqrt(math.pi)


def norm_sum_ratio(covariance: Tensor) -> float:
    """``d E||g|| / (E||y|| sum_m sqrt(Sigma_mm))``: ``E sum_k ||column_k|| / E sum_m ||row_m||`` in Prop. S1.8's model.

    The update is ``g y^T`` times an independent factor, g Gaussian of covariance Sigma and y of I; the mean of a
    coordinate's size is ``sqrt(2 / pi)`` times its standard deviation on either side.
    """
    d = len(covariance)
    of_y, _ = chi_moments(d, 1.0)
    of_g = mean_norm(torch.linalg.eigvalsh(covariance).numpy())
    return d * of_g / (of_y * float(covariance.diagonal().sqrt().sum()))


def spread_between_sides(row_sum: Tensor, column_sum: Tensor, d: int) -> Tensor:
    """Variance of the row norms less that of the column norms, since both have one sum of squares."""
    return (column_sum.square() - row_sum.square()) / d**2


@check(sums_of_norms)
def net_growth(s: SumsOfNorms) -> Judgement:
    """Proof of S1.12 after Eq. S98: sums of norms; the larger sum belongs to the side of the smaller spread."""
    rows, columns = (squared.sqrt() for squared in squared_norms(s.context.updates))
    of_rows, of_columns = rows.sum(-1), columns.sum(-1)
    spread = rows.var(-1, correction=0) - columns.var(-1, correction=0)
    both_roles = [squared.sqrt().sum(-1) for squared in squared_norms(s.autoregressive)]
    ratio = norm_sum_ratio(s.context.covariance)
    return Judgement(
        monte_carlo("context", ratio_samples(of_columns, of_rows), ratio),
        compare("context, above 1", ratio, ">", 1, 1e-6),
        monte_carlo("both roles", (both_roles[1] / both_roles[0]).log(), 0),
        exact("spread", (spread - spread_between_sides(of_rows, of_columns, rows.shape[-1])).abs().max(), 0, 1e-9),
        ratio=ratio,
        d=rows.shape[-1],
    )


@check(context_tokens, d=48, n_draws=40, n_contexts=150)
def variance_of_norms(s: ContextUpdates) -> Judgement:
    """Equations S101, S102: Prop. S1.8's assumptions give the first, and the contrary of the second."""
    rows, columns = (squared.sqrt().var(-1) for squared in squared_norms(s.updates))
    return Judgement(
        monte_carlo("spread", (rows / columns).log(), 0, ">"),
        monte_carlo("tails", tail_gap(s.updates), 0, "<"),
        monte_carlo("directionality", directionalities(s.updates), 0, ">"),
        percent=PERCENT,
    )


class VocabularyUpdates(NamedTuple):
    """Updates ``E^T B E`` of independent embeddings, the rows of E, in every outcome."""

    covariance: Tensor  # (d, d)
    beta: Tensor  # B_ab: token a predicted from token b, none from itself, (V, V)
    updates: Outcomes  # (outcomes, d, d)
    with_equal_tokens: Outcomes  # the same with coefficients for pairs of equal tokens


def vocabulary_updates() -> VocabularyUpdates:
    """Correlated coordinates of kurtosis 5 before they are mixed; token 0 is context more than anything else."""
    root = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    beta = torch.tensor([[0.0, 1.0, -0.5], [2.0, 0.0, 0.5], [3.0, 1.0, 0.0]], dtype=torch.float64)
    z = coordinates(3, 2, kurtosis=5.0)
    e = z.values @ root.T
    of_equal = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64).diag()
    updates = (z._replace(values=e.mT @ b @ e) for b in (beta, beta + of_equal))
    return VocabularyUpdates(root @ root.T, beta, *updates)


@check(vocabulary_updates)
def equal_expected_norms(s: VocabularyUpdates) -> Comparisons:
    """S1.12: with i.i.d. embeddings, row k and column k grow alike in expectation, whatever the pairs and counts."""
    expected = vocabulary_squared_norms(s.covariance, s.beta)
    for side, norms, values in zip(("row", "column"), squared_norms(s.updates.values), expected, strict=True):
        yield from (exact(side, s.updates.mean(norms)[k], values[k], k=k + 1) for k in range(len(values)))
    rows, columns = map(s.with_equal_tokens.mean, squared_norms(s.with_equal_tokens.values))
    yield from (exact("equal tokens", columns[k] - rows[k], k=k + 1) for k in range(len(rows)))


def started(updates: Tensor, start: float, generator: torch.Generator) -> Tensor:
    """``W_0 + Delta W``: independent Gaussian entries, of ``start`` times the root mean square of the updates."""
    size = start * float(updates.square().mean().sqrt())
    return updates + size * torch.randn(updates.shape, generator=generator, dtype=torch.float64)


def autoregressive_updates(
    d: int = 32,
    exponent: float = 1.0,
    n_draws: int = 300,
    seed: int = 0,
    kinds: tuple[Coefficients, ...] = (Coefficients.INDEPENDENT, Coefficients.BILINEAR),
    start: float = 0.0,
) -> dict[Coefficients, Tensor]:
    """Updates (draws, d, d) under the assumptions of the theorem, on top of an initial matrix."""
    covariance, updates = torch.diag(power_profile(d, exponent)), {}
    for kind in kinds:
        generator = torch.Generator().manual_seed(seed)
        model = UpdateModel(covariance, n_tokens=16, n_sequences=4, coefficients=kind)
        updates[kind] = started(model.draw(n_draws, generator), start, generator)
    return updates


def signs_of_dominance(updates: dict[Coefficients, Tensor]) -> list[Comparison]:
    """Three signs of dominance, each 0 on average if the update and its transpose have the same law."""
    measures = {"tails": tail_gap, "unevenness": log_unevenness, "directionality": directionalities}
    return [
        monte_carlo(name, measure(batch), 0, coefficients=kind.value, percent=PERCENT)
        for kind, batch in updates.items()
        for name, measure in measures.items()
    ]


@check(autoregressive_updates)
def autoregressive_directionality(updates: dict[Coefficients, Tensor]) -> Judgement:
    """Theorem S1.12 fails: under its assumptions the autoregressive update has the same law as its transpose."""
    return Judgement(*signs_of_dominance(updates))


@check(autoregressive_updates, kinds=(Coefficients.INDEPENDENT,), start=0.5, seed=1)
def directionality_during_training(updates: dict[Coefficients, Tensor]) -> Judgement:
    """Theorem 2.3: the same for W_qk itself, an initial matrix of independent entries plus the update."""
    return Judgement(*signs_of_dominance(updates))
