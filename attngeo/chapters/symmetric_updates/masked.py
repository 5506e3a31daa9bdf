"""Remark S1.15: when only some tokens are predicted."""

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from attngeo.chapters.symmetric_updates.pair_symmetry import (
    RandomSequence,
    correlated_coefficients,
    masked_ratio,
    masked_score,
    random_sequence,
    signs,
)
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Judgement, check, compare, exact
from attngeo.updates.rank_one import cosine, gradient_sum

MASK_RATES = (0.15, 0.3)  # the range that Remark S1.15 names
CITED_RATES = {"BERT": 0.15, "RoBERTa": 0.15, "ALBERT": 0.15, "ModernBERT": 0.3}  # in the papers that it cites there


def counted_terms(n_tokens: int = 20_000) -> dict[float, tuple[int, int]]:
    """By mask rate, the terms of Eq. S116 with i != j: those with both positions masked, and with one."""
    masked = {p: round(p * n_tokens) for p in MASK_RATES}
    return {p: (m * (m - 1), m * (n_tokens - m)) for p, m in masked.items()}


@check(counted_terms)
def masked_shares(counts: dict[float, tuple[int, int]]) -> Judgement:
    """Remark S1.15, Eqs. S116, S119: p/(1-p), a quarter on average over the models cited; of all terms it is p."""
    comparisons = []
    for p, (both, one) in counts.items():
        comparisons.append(compare("to one masked", both / one, "=", masked_ratio(p), 1e-3, p=p))
        comparisons.append(compare("to all", both / (both + one), "=", p, 1e-3, p=p))
    low, high = (100 * masked_ratio(p) for p in MASK_RATES)
    average = 100 * fmean(map(masked_ratio, CITED_RATES.values()))
    return Judgement(*comparisons, compare("average", average, "=", 25, 2.5), low=low, high=high, average=average)


class MaskedCase(NamedTuple):
    """How a sequence is masked."""

    mask_rate: float
    rounds: int  # random maskings that are added up
    visible: bool  # whether masked positions stand in the contexts


CASES = tuple(MaskedCase(p, rounds, visible) for p in MASK_RATES for rounds in (1, 3) for visible in (True, False))


def times_counted(masked: Tensor, visible: bool) -> Tensor:
    """``n_ij``: in how many maskings (draws, R, N) position i is predicted with j in its context, (draws, N, N)."""
    context = torch.ones_like(masked) if visible else ~masked
    return torch.einsum("dri,drj->dij", masked.double(), context.double())


def masked_updates(
    n_tokens: int = 24, rho: float = 0.8, n_draws: int = 1500, cases: Sequence[MaskedCase] = CASES, seed: int = 0
) -> dict[MaskedCase, tuple[Tensor, Tensor]]:
    """Tr(BB) and ||B||^2 of coefficients of one correlation, added up over random maskings, (draws,) each."""
    generator = torch.Generator().manual_seed(seed)
    sums = {}
    for case in cases:
        beta = correlated_coefficients(rho, n_draws, n_tokens, generator)
        shape = n_draws, case.rounds, n_tokens
        masked = torch.rand(*shape, generator=generator, dtype=torch.float64) < case.mask_rate
        b = beta * times_counted(masked, case.visible)
        sums[case] = (b * b.mT).sum((1, 2)), b.square().sum((1, 2))
    return sums


def masked_scores(sums: dict[MaskedCase, tuple[Tensor, Tensor]]) -> pd.DataFrame:
    """Tr(BB)/||B||^2, means over draws: columns mask_rate, rounds, visible, symmetry."""
    rows = [(*case, float(trace.mean() / square.mean())) for case, (trace, square) in sums.items()]
    return pd.DataFrame(rows, columns=[*MaskedCase._fields, "symmetry"])


def mean_masked_score(beta: Tensor, case: MaskedCase) -> float:
    """``E Tr(BB) / E ||B||^2`` over all ways to mask, B the coefficients times the number of their maskings."""
    masked = signs(case.rounds, len(beta)) > 0
    probability = torch.where(masked, *beta.new_tensor([case.mask_rate, 1 - case.mask_rate])).flatten(1).prod(1)
    b = beta * times_counted(masked, case.visible)
    return float((probability @ (b * b.mT).sum((1, 2))) / (probability @ b.square().sum((1, 2))))


@check(random_sequence, n_tokens=3)
def masked_update_score(sequence: RandomSequence) -> Judgement:
    """Remark S1.15: the score of a masked update is rho p for one masking and grows to rho when maskings repeat."""
    beta = sequence.beta - sequence.beta.diagonal().diag()
    rho, comparisons = symmetry_score(beta), []
    for case in CASES:
        measured, where = mean_masked_score(beta, case), "visible" if case.visible else "excluded"
        comparisons.append(exact("score", measured, masked_score(rho, *case), **case._asdict(), where=where))
    return Judgement(*comparisons)


def first_layer(x: Tensor, masked: Tensor, mask: Tensor) -> Tensor:
    """The mask's embedding at every masked position, (N, d): what a first layer without positions has there."""
    return torch.where(masked[:, None], mask, x)


@check(random_sequence, n_tokens=12)
def masked_positions_hold_the_mask(sequence: RandomSequence) -> Judgement:
    """Eq. S116 in a first layer: queries at masked positions are one vector, so that the update has rank 1."""
    masked = torch.arange(len(sequence.x)) % 3 == 1
    x, beta = first_layer(sequence.x, masked, sequence.mask), sequence.beta * masked[:, None]
    update = gradient_sum(beta, x)
    singular = torch.linalg.svdvals(update)
    squared = cosine(sequence.mask, beta.sum(0) @ x) ** 2
    return Judgement(exact("rank", singular[1] / singular[0]), exact("score", symmetry_score(update), squared))
