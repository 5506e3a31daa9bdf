"""Propositions S1.17 (3) and S1.18 (3), section 4.1: both scores of random matrices."""

import math
from collections.abc import Callable

import torch

from attngeo.forms.random_matrices import directionality_sd, negative_symmetry_share, sample_dense, sample_forms
from attngeo.forms.scores import directionality_score
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo

CHAPTER = "two_scores"


@claim
def symmetry_of_random_matrices(n: int = 32, draws: int = 1000, seed: int = 0, rate: float = 1.0) -> Result:
    """Proposition S1.17 (3), Eq. S137: ``E s = rate / n`` holds for rate 1, not for the printed 8."""
    dense = n * sample_dense(n, draws, seed).symmetry
    head = n * sample_forms(1, n, max(1, n // 8), draws, seed + 1).symmetry
    generator = torch.Generator().manual_seed(seed + 2)
    uniform = 2 * torch.rand(draws, n, n, generator=generator, dtype=torch.float64) - 1
    flat = n * (uniform * uniform.mT).sum((1, 2)) / uniform.square().sum((1, 2))
    return Result(
        statement="S1.17",
        part="(3), Eq. S137",
        title="the symmetry of random matrices",
        verdict=Verdict.CORRECTED,
        comparisons=(
            monte_carlo("mean of $n s$, normal entries", dense, rate),
            monte_carlo("mean of $n s$, uniform entries", flat, rate),
            monte_carlo(f"mean of $n s$, $W_q W_k^\\top$ of rank {max(1, n // 8)}", head, rate),
            monte_carlo("mean of $n s$, normal entries, against the printed rate", dense, 8, "≠"),
            monte_carlo("the same with the factor 2 of Def. 3.1", 2 * dense, 8, "≠"),
        ),
        printed="$s \\approx 8 / n$ for entries of mean zero and finite variance.",
        corrected="$\\mathbb{E}\\, s = 1 / n$, exactly for independent symmetric entries and for products of such "
        "matrices; $2 / n$ with the factor of Definition 3.1.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def side_from_which_symmetry_vanishes(
    n: int = 32,
    draws: int = 1000,
    seed: int = 0,
    predicted: Callable[[int], float] = negative_symmetry_share,
) -> Result:
    """Eq. S137, last clause: the mean of s is positive, yet one random matrix in four has s < 0."""
    s = sample_dense(n, draws, seed).symmetry
    limit = math.erfc(0.5) / 2  # Phi(-1 / sqrt 2)
    return Result(
        statement="S1.17",
        part="(3), side of convergence",
        title="symmetry vanishes from the positive side",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            monte_carlo("mean of $s$", s, 0, ">"),
            monte_carlo(f"share of matrices with $s < 0$, n = {n}", (s < 0).double(), predicted(n)),
            Comparison("the exact share at n = 4096", predicted(4096), "=", limit, 1e-4),
        ),
        printed="$s$ tends to zero from the positive side.",
        corrected="Its mean does, as $1/n$. The spread $\\sqrt{2}/n$ is larger, so that $\\Pr[s < 0] \\to "
        "\\Phi(-1/\\sqrt{2}) \\approx 0.24$.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def scores_at_initialisation(
    d: int = 256, n_heads: int = 4, draws: int = 150, seed: int = 0, rate: float = 1.0
) -> Result:
    """Section 4.1: at initialisation symmetry is 1/d +- sqrt(2)/d, directionality 0 +- 3 to 4 / sqrt(d)."""
    sample = sample_forms(n_heads, d, d // n_heads, draws, seed)
    s, direction = sample.symmetry, sample.directionality
    return Result(
        statement="Section 4.1",
        part="(initialisation)",
        title="both scores start at zero",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            monte_carlo("mean symmetry of a layer, times d", d * s, rate),
            monte_carlo("its squared spread, times $d^2$", (d * s - rate).square(), 2),
            monte_carlo("mean directionality of a layer", direction, 0),
            monte_carlo("mean magnitude of directionality, against $1/\\sqrt{d}$", direction.abs(), 1 / d**0.5, ">"),
        ),
        printed="At initialisation both scores of every layer are zero.",
        corrected="They are zero in the mean, up to $1/d$. One layer scatters by $\\sqrt{2}/d$ in symmetry, and by "
        "three to four $d^{-1/2}$ in directionality.",
        remark="Directionality below this scatter says nothing about training; at width 256 that is about 0.2.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def directionality_of_random_matrices(
    n: int = 256, draws: int = 200, seed: int = 0, spread: Callable[[int], float] = directionality_sd
) -> Result:
    """Proposition S1.18 (3): d has mean 0 at every size, and a spread that falls as n^(-1/2)."""
    small, large = (sample_dense(size, draws, seed + size).directionality for size in (n // 4, n))
    signs = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).sign()
    return Result(
        statement="S1.18",
        part="(3)",
        title="the directionality of random matrices",
        verdict=Verdict.HOLDS,
        comparisons=(
            monte_carlo(f"mean of $d$, n = {n // 4}", small, 0),
            monte_carlo(f"mean of $d$, n = {n}", large, 0),
            monte_carlo(f"mean of $d^2$ over its limit form, n = {n}", (large / spread(n)).square(), 1),
            monte_carlo(
                f"mean of $d^2$, n = {n}, against half that at {n // 4}",
                large.square(),
                float(small.square().mean()) / 2,
                "<",
            ),
            exact("$d$ of random signs, whose rows and columns are equally long", directionality_score(signs), 0),
        ),
        remark="$d$ tends to 0 slowly: its spread is $3.6\\, n^{-1/2}$ for $\\gamma = 2$, that is 0.23 at 256 rows and "
        "0.13 at 768. Our proof asks for a finite fourth moment of the entries.",
        chapter=CHAPTER,
    )


@claim
def one_random_matrix_has_a_direction(
    n: int = 128, draws: int = 300, seed: int = 0, predicted: Callable[[int], float] = directionality_sd
) -> Result:
    """Equations S144, S145: the means of r and c agree, which leaves the score of one random matrix free."""
    d = sample_dense(n, draws, seed).directionality
    typical = math.sqrt(2 / math.pi) * predicted(n)  # mean magnitude of a normal variable
    return Result(
        statement="S1.18",
        part="Eqs. S144, S145",
        title="from the means of both sums to their ratio",
        verdict=Verdict.CORRECTED,
        comparisons=(
            monte_carlo("mean of $d$", d, 0),
            monte_carlo("mean of $\\lvert d \\rvert$, against 0", d.abs(), 0, "≠"),
            monte_carlo("mean of $\\lvert d \\rvert$, against half its limit form", d.abs(), typical / 2, ">"),
            monte_carlo("mean of $\\lvert d \\rvert$, against twice its limit form", d.abs(), typical * 2, "<"),
        ),
        printed="$\\mathbb{E}[\\bar r - \\bar c] = 0$ and $\\mathbb{E}[\\bar r + \\bar c] > 0$; thus their ratio, "
        "the score of a random matrix, is zero.",
        corrected="$\\mathbb{E}\\, d = 0$, because $d(M^\\top) = -d(M)$ and $M^\\top$ has the law of $M$. That "
        "$d \\to 0$ follows from the law of large numbers for the rows and for the columns.",
        remark="A ratio of means is no mean of ratios, and neither is the score of one matrix. The mean value theorem, "
        "which the proof names, does not enter.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )
