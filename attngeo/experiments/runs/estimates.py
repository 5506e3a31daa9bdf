"""Numbers over seeds with their confidence intervals, and the outcome that follows from the interval of a difference.

An event that does not happen, such as a crossing of two curves, is `NEVER`, minus infinity, which no mean can hide.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

NEVER = -math.inf
LEVEL = 0.95  # of every confidence interval
LEAST_SEEDS = 3  # with fewer seeds, there is no interval

HELPS, HURTS = "lower loss", "higher loss"
NO_DIFFERENCE, TOO_FEW = "no difference larger than the variation between seeds", "too few seeds"


@dataclass(frozen=True)
class Estimate:
    """A number with its interval, whose ends are NaN if there are too few seeds."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known; `NEVER` counts as known."""
        return not (math.isnan(self.low) or math.isnan(self.high))


def over_seeds(values: Iterable[float]) -> Estimate:
    """``mean(e) ± t sd(e) / sqrt(n)`` of one number per seed, such as the difference of an arm and its baseline.

    ``t`` is Student's quantile for n - 1 degrees of freedom, which assumes that the e_i are normal.
    """
    e = np.array(list(values), dtype=float)
    mean, n = float(e.mean()), len(e)
    if n < LEAST_SEEDS:
        return Estimate(mean)
    from scipy import stats  # slow to import, and every page imports this module

    half = float(stats.t.ppf((1 + LEVEL) / 2, n - 1) * stats.sem(e))
    return Estimate(mean, mean - half, mean + half)


def difference_of_means(first: Iterable[float], second: Iterable[float]) -> Estimate:
    """Mean of the first minus the mean of the second, which are not paired, with Welch's interval."""
    a, b = (np.array(list(values), dtype=float) for values in (first, second))
    value = float(a.mean() - b.mean())
    if min(len(a), len(b)) < LEAST_SEEDS:
        return Estimate(value)
    from scipy import stats

    interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval(LEVEL)
    return Estimate(value, float(interval.low), float(interval.high))


def outcome(difference: Estimate) -> str:
    """The outcome of a difference of losses, by its interval: `HELPS`, `HURTS`, `NO_DIFFERENCE` or `TOO_FEW`."""
    if not difference.has_interval:
        return TOO_FEW
    if difference.high < 0:
        return HELPS
    return HURTS if difference.low > 0 else NO_DIFFERENCE
