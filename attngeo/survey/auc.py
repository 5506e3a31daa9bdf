"""How well a score separates two groups of models: area under the ROC curve, with intervals and an exact test.

    AUC = Pr[x > y] + Pr[x = y] / 2,    x a model of the first group, y of the second,

the Mann-Whitney statistic per pair: 1 where every x exceeds every y, 1/2 where the groups do not differ.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.stats import mannwhitneyu, norm, rankdata

Values = Sequence[float] | Float[np.ndarray, "_"]
Z95 = float(norm.ppf(0.975))  # of a two-sided interval of 95 %


@dataclass(frozen=True)
class Separation:
    """An AUC with two intervals of 95 %."""

    auc: float
    n_first: int
    n_second: int
    low: float  # if models were independent (Newcombe)
    high: float
    family_low: float  # if families are (bootstrap); NaN where either group has fewer than 2
    family_high: float


def auc(first: Values, second: Values) -> float:
    """``Pr[x > y] + Pr[x = y] / 2`` over all pairs of x in ``first`` and y in ``second``."""
    return float(mannwhitneyu(first, second, method="asymptotic").statistic / (len(first) * len(second)))


def score_interval(area: float, n_first: int, n_second: int) -> tuple[float, float]:
    """Values of AUC that lie within 1.96 standard errors of the observed one, by their own standard error.

    ``V(A) = A (1 - A) (1 + N ((1 - A) / (2 - A) + A / (1 + A))) / (m n)`` with ``N = (m + n) / 2 - 1``; the ends solve
    ``|A - area| = z sqrt(V(A))``. Unlike an interval of the form AUC +- z sd it stays within [0, 1] and does not
    shrink to a point at complete separation. Models count as independent.

    Source: Newcombe, Statistics in Medicine 25 (2006) 559-573, method 5, after Hanley and McNeil's variance.
    """
    half = (n_first + n_second) / 2 - 1

    def distance(a: float) -> float:
        variance = a * (1 - a) * (1 + half * ((1 - a) / (2 - a) + a / (1 + a))) / (n_first * n_second)
        return (a - area) ** 2 - Z95**2 * variance

    inside = min(max(area, 1e-12), 1 - 1e-12)  # at 0 and 1 themselves the distance is 0
    return brentq(distance, 0, inside), brentq(distance, inside, 1)


def family_interval(
    first: Values, second: Values, first_families: Sequence[str], second_families: Sequence[str], draws: int = 4000
) -> tuple[float, float]:
    """Percentile bootstrap over families: models of one family share data and recipe, and so do their scores.

    In each draw as many families as there are, of the first group alone, of the second alone, and of both, are drawn
    with replacement and enter whole: a family of both groups with its models of both.
    """
    rng = np.random.default_rng(0)
    wins = (np.sign(np.subtract.outer(first, second)) + 1) / 2  # (models, models)
    names = np.unique([*first_families, *second_families])
    rows, columns = (np.equal.outer(names, np.array(of)).astype(float) for of in (first_families, second_families))
    sums = rows @ wins @ columns.T  # (families, families): pairs won between two families
    sizes = np.outer(rows.sum(1), columns.sum(1))
    times = np.zeros((draws, len(names)), dtype=np.int64)  # how often each family is drawn
    in_first, in_second = rows.any(1), columns.any(1)
    for alike in (in_first & ~in_second, in_second & ~in_first, in_first & in_second):
        if n := int(alike.sum()):
            times[:, alike] = rng.multinomial(n, np.full(n, 1 / n), draws)
    areas = np.einsum("df,fg,dg->d", times, sums, times) / np.einsum("df,fg,dg->d", times, sizes, times)
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)


def exchange_test(first: Mapping[str, float], second: Mapping[str, float], most: int = 20_000) -> tuple[float, int]:
    """Exact two-sided test that the groups do not differ: ``Pr[|A - 1/2| >= |observed A - 1/2|]`` over all exchanges.

    Where a family has a value in both groups, the two are exchanged or not; the other families are dealt anew to
    groups of the same sizes. If the groups do not differ, every exchange is as likely as what was observed. Of more
    than ``most`` exchanges as many are drawn.

    Returns:
        p, and the number of exchanges behind it, the observed one among them.
    """
    both = sorted(first.keys() & second.keys())
    alone = [[of[name] for name in sorted(of) if name not in both] for of in (first, second)]
    ranks = rankdata([*(of[name] for of in (first, second) for name in both), *alone[0], *alone[1]])
    chosen = np.array(list(_exchanges(len(both), *map(len, alone), most)))  # (exchanges, values), the observed first
    n = len(first)
    areas = (chosen @ ranks - n * (n + 1) / 2) / (n * len(second))
    return float((abs(areas - 0.5) >= abs(areas[0] - 0.5) - 1e-12).mean()), len(chosen)


def _exchanges(n_pairs: int, n_first: int, n_second: int, most: int) -> Iterator[np.ndarray]:
    """Which values are in the first group: those of pairs, the others of their pairs, those without."""
    n_alone, rng = n_first + n_second, np.random.default_rng(0)
    every: Iterable[tuple]
    if 2**n_pairs * math.comb(n_alone, n_first) <= most:
        every = product(product((False, True), repeat=n_pairs), combinations(range(n_alone), n_first))
    else:
        drawn = ((rng.integers(0, 2, n_pairs), rng.permutation(n_alone)[:n_first]) for _ in range(most - 1))
        every = iter([((False,) * n_pairs, range(n_first)), *drawn])
    for exchanged, dealt in every:
        of_pairs = np.array(exchanged, dtype=bool)
        yield np.concatenate([~of_pairs, of_pairs, np.isin(np.arange(n_alone), list(dealt))])


def least_told(n_first: int, n_second: int) -> float:
    """The least AUC of groups of these sizes whose interval (`score_interval`) leaves out 1/2."""
    if score_interval(1.0, n_first, n_second)[0] <= 0.5:
        return 1.0
    return float(brentq(lambda area: score_interval(area, n_first, n_second)[0] - 0.5, 0.5 + 1e-9, 1))


def separation(
    first: Values, second: Values, first_families: Sequence[str], second_families: Sequence[str]
) -> Separation:
    """AUC of two groups with both intervals."""
    area, sizes = auc(first, second), (len(first), len(second))
    several = min(len(set(first_families)), len(set(second_families))) > 1
    wide = family_interval(first, second, first_families, second_families) if several else (math.nan, math.nan)
    return Separation(area, *sizes, *score_interval(area, *sizes), *wide)
