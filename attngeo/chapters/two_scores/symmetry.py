"""Definition 3.1, Lemma S1.16, Proposition S1.17 (1) and (2): the symmetry score, its range and its extremes."""

from collections.abc import Callable

import torch
from torch import Tensor

from attngeo.forms.scores import Convention, symmetry_score
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact

CHAPTER = "two_scores"


def random_matrices(n: int, draws: int, seed: int) -> Tensor:
    """Standard normal matrices, (draws, n, n)."""
    return torch.randn(draws, n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parts(m: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric and skew-symmetric part of (..., n, n) (Eq. 16)."""
    return (m + m.mT) / 2, (m - m.mT) / 2


def trace_ratio(m: Tensor) -> float:
    """``Tr(MM) / ||M||^2``."""
    return float(torch.trace(m @ m) / m.square().sum())


@claim
def factor_of_the_symmetry_score(
    n: int = 16, seed: int = 0, predicted: Callable[[Tensor], float] = trace_ratio
) -> Result:
    """Definition 3.1 against Eq. S132: the printed factor 2 gives a symmetric matrix the score 2, not 1."""
    m = random_matrices(n, 1, seed)[0]
    symmetric, skew = parts(m)
    printed = [symmetry_score(x, Convention.PRINTED) for x in (symmetric, skew)]
    return Result(
        statement="3.1",
        part="",
        title="the factor of the symmetry score",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("score of a symmetric matrix, as printed", printed[0], 2),
            Comparison("the same, against the 1 of Eq. S132", printed[0], "≠", 1.0, 1e-6),
            Comparison(
                "score of a skew-symmetric matrix, as printed, against the -1 of S132", printed[1], "≠", -1.0, 1e-6
            ),
            exact("score of a symmetric matrix, corrected", predicted(symmetric), 1),
            exact("score of a skew-symmetric matrix, corrected", predicted(skew), -1),
            exact("corrected score of a random matrix less `symmetry_score`", predicted(m) - symmetry_score(m), 0),
        ),
        printed="$s = 2\\,(\\|M_s\\|^2 - \\|M_n\\|^2) / \\|M\\|^2$.",
        corrected="$s = (\\|M_s\\|^2 - \\|M_n\\|^2) / \\|M\\|^2 = \\operatorname{Tr}(MM) / \\|M\\|^2$.",
        remark="Proposition S1.17 (1) and (2) and the printed tables need the score without the 2.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def squared_norm_splits(
    n: int = 16, draws: int = 50, seed: int = 0, split: Callable[[Tensor], tuple[Tensor, Tensor]] = parts
) -> Result:
    """Lemma S1.16: ``||M||^2 = ||M_s||^2 + ||M_n||^2``, since the two parts are orthogonal (Eq. S122)."""
    m = random_matrices(n, draws, seed)
    s, k = split(m)
    square = m.square().sum((1, 2))
    gap = (s.square() + k.square()).sum((1, 2)) / square - 1
    mixed = (s * k).sum((1, 2)) / square  # Tr(M_s M_n^T)
    return Result(
        statement="S1.16",
        part="",
        title="the squared norm splits into two shares",
        verdict=Verdict.HOLDS,
        comparisons=(
            exact("largest relative gap between the two sides", gap.abs().max(), 0),
            exact("largest $|\\operatorname{Tr}(M_s M_n^\\top)| / \\|M\\|^2$", mixed.abs().max(), 0),
        ),
        chapter=CHAPTER,
    )


@claim
def symmetry_lies_between_minus_one_and_one(
    n: int = 8, draws: int = 200, seed: int = 0, predicted: Callable[[Tensor], float] = symmetry_score
) -> Result:
    """Proposition S1.17 (1): s is in [-1, 1], and takes both ends, once Definition 3.1 has lost its factor."""
    m = random_matrices(n, draws, seed)
    s, k = parts(m)
    mixed = s + torch.linspace(0, 1, draws, dtype=m.dtype)[:, None, None] * k  # from symmetric to balanced
    values = [predicted(x) for x in (*m, *mixed, *s, *k)]
    printed = [symmetry_score(x, Convention.PRINTED) for x in (s[0], k[0])]
    return Result(
        statement="S1.17",
        part="(1)",
        title="the range of the symmetry score",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            exact("largest score", max(values), 1),
            exact("smallest score", min(values), -1),
            exact("largest less smallest score, with the factor 2 of Def. 3.1", printed[0] - printed[1], 4),
        ),
        printed="The score of Definition 3.1 lies in $[-1, 1]$.",
        corrected="It does without the factor 2 of that definition; with it the range is $[-2, 2]$.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def extremes_of_the_symmetry_score(
    n: int = 8,
    draws: int = 50,
    seed: int = 0,
    defect: Callable[[Tensor, Tensor], Tensor] = lambda part, m: 2 * part.square().sum() / m.square().sum(),
) -> Result:
    """Proposition S1.17 (2): ``1 - s = 2 ||M_n||^2 / ||M||^2`` and ``1 + s = 2 ||M_s||^2 / ||M||^2``, so iff."""
    m = random_matrices(n, draws, seed)
    pairs = [(x, *parts(x), symmetry_score(x)) for x in m]
    below = max(abs(1 - s - float(defect(skew, x))) for x, _, skew, s in pairs)
    above = max(abs(1 + s - float(defect(symmetric, x))) for x, symmetric, _, s in pairs)
    return Result(
        statement="S1.17",
        part="(2)",
        title="which matrices have score 1 and -1",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            exact("largest $|1 - s - 2 \\|M_n\\|^2 / \\|M\\|^2|$", below, 0),
            exact("largest $|1 + s - 2 \\|M_s\\|^2 / \\|M\\|^2|$", above, 0),
        ),
        printed="$s = \\pm 1$ indicates a symmetric or a skew-symmetric matrix, for the score of Definition 3.1.",
        corrected="Without the factor 2: $s = 1$ if and only if $M_n = 0$, $s = -1$ if and only if $M_s = 0$ "
        "($M \\ne 0$).",
        remark="The proof shows one direction; the two identities give both.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def bounds_on_the_trace(n: int = 8, draws: int = 200, seed: int = 0, bound: float = 1.0) -> Result:
    """Equations S127, S129: ``|Tr(MM)| <= bound ||M||^2`` holds for bound 1, not for the printed 1/2."""
    m = random_matrices(n, draws, seed)
    symmetric, skew = parts(m[0])
    ratios = [trace_ratio(x) for x in (*m, symmetric, skew)]
    return Result(
        statement="S1.17",
        part="Eqs. S127, S129",
        title="bounds on the trace of the square",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("largest $\\operatorname{Tr}(MM) / \\|M\\|^2$", max(ratios), bound),
            exact("smallest $\\operatorname{Tr}(MM) / \\|M\\|^2$", min(ratios), -bound),
            Comparison("the largest, against the printed 1/2", max(ratios), ">", 0.5, 1e-6),
        ),
        printed="$-\\tfrac12 \\|M\\|^2 \\le \\operatorname{Tr}(MM) \\le \\tfrac12 \\|M\\|^2$.",
        corrected="$-\\|M\\|^2 \\le \\operatorname{Tr}(MM) \\le \\|M\\|^2$, with equality for skew-symmetric and "
        "symmetric matrices.",
        remark="Eq. S131 comes out right because this 1/2 meets the 2 of Definition 3.1. The term that is bounded "
        "stands on the right-hand side of Eq. S126, not on the left.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def parts_without_their_halves(n: int = 16, seed: int = 0, factor: float = 4.0) -> Result:
    """Equation S133: the sums printed for ||M_s||^2 and ||M_n||^2 are 4 times those norms."""
    m = random_matrices(n, 1, seed)[0]
    symmetric, skew = parts(m)
    off = 1 - torch.eye(n, dtype=m.dtype)
    printed_s = ((m + m.T).square() * off).sum() + (2 * m.diagonal()).square().sum()
    printed_n = ((m - m.T).square() * off).sum()
    return Result(
        statement="S1.17",
        part="Eq. S133",
        title="norms of the two parts, entry by entry",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("printed sum over $\\|M_s\\|^2$", printed_s / symmetric.square().sum(), factor),
            exact("printed sum over $\\|M_n\\|^2$", printed_n / skew.square().sum(), factor),
        ),
        printed="$\\|M_s\\|^2 = \\sum_{i \\ne j} (M_{ij} + M_{ji})^2 + \\sum_i (2 M_{ii})^2$, $\\|M_n\\|^2 = "
        "\\sum_{i \\ne j} (M_{ij} - M_{ji})^2$.",
        corrected="Both right-hand sides carry a factor $\\tfrac14$.",
        remark="The halves of Eq. 16 are lost here; this is where the $8/n$ of Eq. S137 comes from.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )
