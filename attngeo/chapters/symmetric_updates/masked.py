"""Remark S1.15: when only some tokens are predicted."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from attngeo.chapters.symmetric_updates.pair_symmetry import (
    RandomSequence,
    both_to_one_masked,
    correlated_coefficients,
    masked_score,
    random_sequence,
    signs,
)
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact
from attngeo.updates.rank_one import cosine, gradient_sum, relative_error

MASK_RATES = (0.15, 0.3)  # the range that Remark S1.15 names
PRINTED_RATIO = 0.25  # what it says of the range


def rate_of_ratio(ratio: float) -> float:
    """The mask rate p of which ``p / (1 - p)`` is this ratio."""
    return ratio / (1 + ratio)


def counted_terms(n_tokens: int = 20_000) -> dict[float, tuple[int, int]]:
    """By mask rate, the terms of Eq. S116 with i != j: those with both positions masked, and with one."""
    masked = {p: round(p * n_tokens) for p in (*MASK_RATES, rate_of_ratio(PRINTED_RATIO))}
    return {p: (m * (m - 1), m * (n_tokens - m)) for p, m in masked.items()}


@check(counted_terms)
def masked_shares(counts: dict[float, tuple[int, int]]) -> Judgement:
    """Remark S1.15, Eqs. S116, S119: p/(1-p), a quarter at a rate within the range; of all terms it is p."""
    comparisons = []
    for p, (both, one) in counts.items():
        comparisons.append(compare("to one masked", both / one, "=", both_to_one_masked(p), 1e-3, p=p))
        comparisons.append(compare("to all", both / (both + one), "=", p, 1e-3, p=p))
    low, high = (100 * both_to_one_masked(p) for p in MASK_RATES)
    middle = 100 * rate_of_ratio(PRINTED_RATIO)
    both, one = counts[middle / 100]
    printed = compare("as printed", both / one, "=", PRINTED_RATIO, 1e-3, middle=middle)
    return Judgement(*comparisons, printed, low=low, high=high, middle=middle)


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
def masked_update_score(sequence: RandomSequence) -> Comparisons:
    """Remark S1.15: the score of a masked update is rho p for one masking and grows to rho when maskings repeat."""
    beta = sequence.beta - sequence.beta.diagonal().diag()
    rho = symmetry_score(beta)
    for case in CASES:
        measured, where = mean_masked_score(beta, case), "visible" if case.visible else "excluded"
        yield exact("score", measured, masked_score(rho, *case), **case._asdict(), where=where)


def first_layer(x: Tensor, masked: Tensor, mask: Tensor) -> Tensor:
    """The mask's embedding at every masked position, (N, d): what a first layer without positions has there."""
    return torch.where(masked[:, None], mask, x)


@check(random_sequence, n_tokens=12)
def masked_positions_hold_the_mask(sequence: RandomSequence) -> Comparisons:
    """Eq. S116 in a first layer: queries at masked positions are one vector, so that the update has rank 1."""
    masked = torch.arange(len(sequence.x)) % 3 == 1
    x, beta = first_layer(sequence.x, masked, sequence.mask), sequence.beta * masked[:, None]
    update = gradient_sum(beta, x)
    singular = torch.linalg.svdvals(update)
    arriving = beta.sum(0) @ x
    rows, columns = sequence.mask.abs() * arriving.norm(), arriving.abs() * sequence.mask.norm()
    yield exact("rank", singular[1] / singular[0])
    yield exact("score", symmetry_score(update), cosine(sequence.mask, arriving) ** 2)
    yield exact("rows", relative_error(update.norm(dim=1), rows))
    yield exact("columns", relative_error(update.norm(dim=0), columns))
