"""Theorem S1.12 and its informal twin 2.3: what their assumptions give."""

from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.column_dominance.expected_norms import vocabulary_squared_norms
from attngeo.chapters.column_dominance.measures import TAIL, directionalities, log_unevenness, tail_gap
from attngeo.chapters.column_dominance.norm_ratios import ContextUpdates, context_tokens
from attngeo.paper.checks import Comparison, Judgement, check, exact, monte_carlo
from attngeo.updates.norms import squared_norms
from attngeo.updates.objectives import Objective
from attngeo.updates.random_updates import Coefficients, Law, UpdateModel, draw_embeddings, power_profile

PERCENT = 100 * TAIL


def updates_by_objective(d: int = 24, n_draws: int = 20, seed: int = 0) -> dict[Objective, Tensor]:
    """Random updates (draws, d, d) under every objective."""
    covariance, generator = torch.diag(power_profile(d, 1.0)), torch.Generator().manual_seed(seed)
    return {o: UpdateModel(covariance, o, n_tokens=24, mask_rate=0.3).draw(n_draws, generator) for o in Objective}


@check(updates_by_objective)
def net_growth(updates: dict[Objective, Tensor]) -> Judgement:
    """Proof of S1.12 after Eq. S98: columns cannot gain more squared norm than rows; both sums are ||W||_F^2."""
    comparisons = []
    for objective, batch in updates.items():
        rows, columns = squared_norms(batch)
        comparisons.append(exact("excess", (columns.sum(-1) / rows.sum(-1) - 1).abs().max(), objective=objective))
    return Judgement(*comparisons)


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
    """Updates ``E^T B E`` of independent embeddings, the rows of E."""

    covariance: Tensor  # (d, d)
    beta: Tensor  # B_ab: token a predicted from token b, (V, V)
    updates: dict[Law, Tensor]  # (draws, d, d)


def vocabulary_updates(
    d: int = 12, n_vocab: int = 10, exponent: float = 1.0, n_draws: int = 12000, seed: int = 0
) -> VocabularyUpdates:
    """B_ba is correlated with B_ab, and token 0 is context more than anything else."""
    covariance, generator = torch.diag(power_profile(d, exponent)), torch.Generator().manual_seed(seed)
    beta = torch.randn(n_vocab, n_vocab, generator=generator, dtype=torch.float64).fill_diagonal_(0)
    beta = beta + 0.8 * beta.T
    beta[:, 0] *= 2
    updates = {}
    for law in (Law.GAUSSIAN, Law.LAPLACE):
        e = draw_embeddings(covariance, n_draws, n_vocab, generator=generator, law=law)
        updates[law] = e.mT @ beta @ e
    return VocabularyUpdates(covariance, beta, updates)


@check(vocabulary_updates)
def equal_expected_norms(s: VocabularyUpdates) -> Judgement:
    """S1.12: with i.i.d. embeddings, row k and column k grow alike in expectation, whatever the pairs and counts."""
    expected = vocabulary_squared_norms(s.covariance, s.beta)
    comparisons = []
    for law, updates in s.updates.items():
        for side, norms, values in zip(("row", "column"), squared_norms(updates), expected, strict=True):
            comparisons += [
                monte_carlo(side, norms[:, k] / values[k], 1, law=law.value, k=k + 1) for k in (0, len(values) - 1)
            ]
    return Judgement(*comparisons)


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
