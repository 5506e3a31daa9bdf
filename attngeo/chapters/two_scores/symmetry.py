"""Definition 3.1, Lemma S1.16, Proposition S1.17 (1) and (2): the symmetry score, its range and its extremes."""

import torch
from torch import Tensor

from attngeo.forms.scores import Convention, symmetry_score
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact


def normal_matrices(n: int = 8, draws: int = 200, seed: int = 0) -> Tensor:
    """Standard normal matrices, (draws, n, n)."""
    return torch.randn(draws, n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parts(m: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric and skew-symmetric part of (..., n, n) (Eq. 16)."""
    return (m + m.mT) / 2, (m - m.mT) / 2


def trace_ratio(m: Tensor) -> float:
    """``Tr(MM) / ||M||^2``."""
    return float(torch.trace(m @ m) / m.square().sum())


@check(normal_matrices, n=16, draws=1)
def factor_of_the_symmetry_score(matrices: Tensor) -> Comparisons:
    """Definition 3.1 against Eq. S132: the printed factor 2 gives a symmetric matrix the score 2, not 1."""
    m = matrices[0]
    symmetric, skew = parts(m)
    printed = [symmetry_score(x, Convention.PRINTED) for x in (symmetric, skew)]
    yield exact("symmetric as printed", printed[0], 2)
    yield compare("symmetric against 1", printed[0], "≠", 1, 1e-6)
    yield compare("skew as printed", printed[1], "≠", -1, 1e-6)
    yield exact("symmetric", trace_ratio(symmetric), 1)
    yield exact("skew", trace_ratio(skew), -1)
    yield exact("library", trace_ratio(m) - symmetry_score(m))


@check(normal_matrices, n=16, draws=50)
def squared_norm_splits(m: Tensor) -> Judgement:
    """Lemma S1.16: ``||M||^2 = ||M_s||^2 + ||M_n||^2``, since the two parts are orthogonal (Eq. S122)."""
    s, k = parts(m)
    square = m.square().sum((1, 2))
    gap = (s.square() + k.square()).sum((1, 2)) / square - 1
    mixed = (s * k).sum((1, 2)) / square  # Tr(M_s M_n^T)
    return Judgement(exact("gap", gap.abs().max()), exact("mixed", mixed.abs().max()))


@check(normal_matrices)
def symmetry_lies_between_minus_one_and_one(m: Tensor) -> Comparisons:
    """Proposition S1.17 (1): s is in [-1, 1], and takes both ends, without the factor of Definition 3.1."""
    s, k = parts(m)
    mixed = s + torch.linspace(0, 1, len(m), dtype=m.dtype)[:, None, None] * k  # from symmetric to balanced
    values = [symmetry_score(x) for x in (*m, *mixed, *s, *k)]
    printed = [symmetry_score(x, Convention.PRINTED) for x in (s[0], k[0])]
    yield exact("largest", max(values), 1)
    yield exact("smallest", min(values), -1)
    yield exact("largest as printed", printed[0], 2)
    yield exact("smallest as printed", printed[1], -2)


def distance_from_the_end(part: Tensor, m: Tensor) -> Tensor:
    """``2 ||M_n||^2 / ||M||^2 = 1 - s``, and with M_s ``1 + s``."""
    return 2 * part.square().sum() / m.square().sum()


@check(normal_matrices, draws=50)
def extremes_of_the_symmetry_score(m: Tensor) -> Comparisons:
    """Proposition S1.17 (2): ``1 - s = 2 ||M_n||^2 / ||M||^2`` and ``1 + s = 2 ||M_s||^2 / ||M||^2``, so iff."""
    pairs = [(x, *parts(x), symmetry_score(x)) for x in m]
    below = max(abs(1 - s - distance_from_the_end(skew, x)) for x, _, skew, s in pairs)
    above = max(abs(1 + s - distance_from_the_end(symmetric, x)) for x, symmetric, _, s in pairs)
    _, symmetric, skew, _ = pairs[0]
    mixed = 3**0.5 * symmetric / symmetric.norm() + skew / skew.norm()
    yield exact("below 1", below)
    yield exact("above -1", above)
    yield exact("as printed", symmetry_score(mixed, Convention.PRINTED), 1)
    yield compare("skew share", parts(mixed)[1].square().sum() / mixed.square().sum(), ">", 0, 0.1)


BOUND = 1.0  # of |Tr(MM)| over ||M||^2


@check(normal_matrices)
def bounds_on_the_trace(m: Tensor) -> Comparisons:
    """Equations S127, S129: ``|Tr(MM)| <= ||M||^2`` is the bound that is reached, not the printed half of it."""
    ratios = [trace_ratio(x) for x in (*m, *parts(m[0]))]
    yield exact("largest", max(ratios), BOUND)
    yield exact("smallest", min(ratios), -BOUND)
    yield compare("as printed", max(ratios), ">", 0.5, 1e-6)


LOST_HALVES = 4.0  # the sums of Eq. S133 over the norms that they are printed for


@check(normal_matrices, n=16, draws=1)
def parts_without_their_halves(matrices: Tensor) -> Comparisons:
    """Equation S133: the sums printed for ||M_s||^2 and ||M_n||^2 are 4 times those norms."""
    m = matrices[0]
    symmetric, skew = parts(m)
    off = 1 - torch.eye(len(m), dtype=m.dtype)
    printed_s = ((m + m.T).square() * off).sum() + (2 * m.diagonal()).square().sum()
    printed_n = ((m - m.T).square() * off).sum()
    yield exact("symmetric", printed_s / symmetric.square().sum(), LOST_HALVES)
    yield exact("skew", printed_n / skew.square().sum(), LOST_HALVES)
