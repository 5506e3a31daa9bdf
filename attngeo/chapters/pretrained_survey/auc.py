"""How well a score separates two groups of models: area under the ROC curve, with intervals.

    AUC = Pr[x > y] + Pr[x = y] / 2,    x a model of the first group, y of the second,

the Mann-Whitney statistic per pair: 1 where every x exceeds every y, 1/2 where the groups do not differ.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.optimize import brentq
from scipy.stats import mannwhitneyu, norm

from attngeo.errors import ParameterError

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
    family_low: float  # if families are (bootstrap); equal to low, high where either group has fewer than 2
    family_high: float


def auc(first: Values, second: Values) -> float:
    """``Pr[x > y] + Pr[x = y] / 2`` over all pairs of x in ``first`` and y in ``second``.

    Raises:
        ParameterError: a group is empty, or a value is not finite.
    """
    x, y = _checked(first), _checked(second)
    return float(mannwhitneyu(x, y, method="asymptotic").statistic / (len(x) * len(y)))


def score_interval(area: float, n_first: int, n_second: int, z: float = Z95) -> tuple[float, float]:
    """Values of AUC that lie within ``z`` standard errors of the observed one, by their own standard error.

    ``V(A) = A (1 - A) (1 + N ((1 - A) / (2 - A) + A / (1 + A))) / (m n)`` with ``N = (m + n) / 2 - 1``; the ends solve
    ``|A - area| = z sqrt(V(A))``. Unlike an interval of the form AUC +- z sd it stays within [0, 1] and does not
    shrink to a point at complete separation. Models count as independent.

    Source: Newcombe, Statistics in Medicine 25 (2006) 559-573, method 5, after Hanley and McNeil's variance.
    """
    if not 0 <= area <= 1 or n_first < 1 or n_second < 1:
        raise ParameterError(f"an AUC of {area} from {n_first} and {n_second} models has no interval.")
    half = (n_first + n_second) / 2 - 1

    def distance(a: float) -> float:
        """Squared standard errors between ``a`` and the observed area, less z squared."""
        variance = a * (1 - a) * (1 + half * ((1 - a) / (2 - a) + a / (1 + a))) / (n_first * n_second)
        return (a - area) ** 2 - z**2 * variance

    inside = min(max(area, 1e-12), 1 - 1e-12)  # at 0 and 1 themselves the distance is 0
    return brentq(distance, 0, inside), brentq(distance, inside, 1)


def family_interval(
    first: Values,
    second: Values,
    first_families: Sequence[str],
    second_families: Sequence[str],
    draws: int = 4000,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentile bootstrap over families: models of one family share data and recipe, and so do their scores.

    In each draw as many families as there are, of each group, are drawn with replacement and enter whole.
    """
    rng = np.random.default_rng(seed)
    x, y = _checked(first), _checked(second)
    wins = (np.sign(x[:, None] - y[None, :]) + 1) / 2  # (models, models)
    rows, columns = _membership(first_families), _membership(second_families)
    sums = rows @ wins @ columns.T  # (families, families): pairs won between two families
    sizes = np.outer(rows.sum(1), columns.sum(1))
    p = rng.multinomial(len(rows), np.full(len(rows), 1 / len(rows)), draws)
    q = rng.multinomial(len(columns), np.full(len(columns), 1 / len(columns)), draws)
    areas = np.einsum("df,fg,dg->d", p, sums, q) / np.einsum("df,fg,dg->d", p, sizes, q)
    low, high = np.quantile(areas, [0.025, 0.975])
    return float(low), float(high)


def separation(
    first: Values, second: Values, first_families: Sequence[str], second_families: Sequence[str]
) -> Separation:
    """AUC of two groups with both intervals."""
    area = auc(first, second)
    low, high = score_interval(area, len(first), len(second))
    several = min(len(set(first_families)), len(set(second_families))) > 1
    wide = family_interval(first, second, first_families, second_families) if several else (low, high)
    return Separation(area, len(first), len(second), low, high, *wide)


def _membership(families: Sequence[str]) -> np.ndarray:
    """(families, models), 1 where the model belongs to the family."""
    names = np.array(list(families))
    return (np.unique(names)[:, None] == names[None, :]).astype(float)


def _checked(values: Values) -> np.ndarray:
    array = np.asarray(values, dtype=float)
    if array.ndim != 1 or not len(array) or not np.isfinite(array).all():
        raise ParameterError("an AUC needs two groups of at least one finite score each.")
    return array
