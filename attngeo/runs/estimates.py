"""How much sooner, and how much lower: one arm of an experiment against its baseline, with the noise between seeds.

An arm is an array of losses, one row per seed, one column per measurement; the rows of two arms belong together, seed
by seed. A crossing that never comes is `NEVER`, minus infinity: it sorts below every speed-up, and no mean hides it.
"""

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from attngeo.errors import ParameterError

NEVER = -math.inf
WINDOW = 5  # measurements in a mean
LEVEL = 0.95
LEAST_SEEDS = 3  # fewer give no interval
_EXHAUSTIVE = 5  # seeds up to which all n^n resamples are taken
_DRAWS = 5000

HELPS, HURTS = "lower loss", "higher loss"
NO_DIFFERENCE, TOO_FEW = "no difference beyond the noise between seeds", "too few seeds"


@dataclass(frozen=True)
class Estimate:
    """A number with its interval; the ends are NaN where there are too few seeds for one."""

    value: float
    low: float = math.nan
    high: float = math.nan

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known; `NEVER` counts as known."""
        return not (math.isnan(self.low) or math.isnan(self.high))


def trailing_mean(loss: Float[np.ndarray, "*seeds steps"], window: int = WINDOW) -> Float[np.ndarray, "*seeds steps"]:
    """Mean of each measurement and those before it, ``window`` in all; of as many as there are at the start."""
    if window < 1:
        raise ParameterError(f"A window of {window} measurements holds none; take 1 or more.")
    # each window by itself: sums carried along would carry an infinite loss to the end
    window = min(window, loss.shape[-1])
    first = [loss[..., :last].mean(axis=-1) for last in range(1, window)]
    full = np.lib.stride_tricks.sliding_window_view(loss, window, axis=-1).mean(axis=-1)
    return np.concatenate([np.stack(first, axis=-1), full], axis=-1) if first else full


def speed_up(
    steps: Int[np.ndarray, " steps"],
    arm: Float[np.ndarray, "seeds steps"],
    baseline: Float[np.ndarray, "seeds steps"],
    window: int = WINDOW,
) -> float:
    """``1 - t / T`` (Table 1), with t the first step from which on the arm stays at or below the baseline's end.

    Losses are means over seeds, smoothed by `trailing_mean`; the steps are smoothed with them, so that t and T lie in
    the middle of their windows. The baseline's end is its last smoothed loss. `NEVER` where the arm ends above that.
    t lies on the grid of measurements.

    Raises:
        ParameterError: the arms have different shapes.
    """
    _same_shape(steps, arm, baseline)
    arm, baseline = (trailing_mean(x.mean(axis=0), window) for x in (arm, baseline))
    above = np.flatnonzero(~(arm <= baseline[-1] + _rounding(baseline[-1])))  # also where a loss is NaN
    first = above[-1] + 1 if len(above) else 0
    middle = trailing_mean(steps.astype(float), window)
    return float(1 - middle[first] / middle[-1]) if first < len(steps) else NEVER


def first_crossing(
    steps: Int[np.ndarray, " steps"], arm: Float[np.ndarray, " steps"], baseline: Float[np.ndarray, " steps"]
) -> float:
    """``1 - t / T`` as the paper's released notebook takes it: t is the first step with a loss at or below the last.

    One seed, nothing smoothed, and a single lucky measurement is enough.
    """
    _same_shape(steps, arm[None], baseline[None])
    below = np.flatnonzero(arm <= baseline[-1])
    return float(1 - steps[below[0]] / steps[-1]) if len(below) else NEVER


def speed_up_estimate(
    steps: Int[np.ndarray, " steps"],
    arm: Float[np.ndarray, "seeds steps"],
    baseline: Float[np.ndarray, "seeds steps"],
    window: int = WINDOW,
    level: float = LEVEL,
    seed: int = 0,
) -> Estimate:
    """`speed_up` with an interval from resampled seeds: both arms of a seed are drawn together.

    Up to five seeds all ``n^n`` resamples are taken, beyond that a seeded draw of them. The ends are quantiles of the
    resampled values and are among these. So few seeds hold the truth less often than ``level`` says: see `coverage`.
    """
    n = len(arm)
    value = speed_up(steps, arm, baseline, window)
    if n < LEAST_SEEDS:
        return Estimate(value)

    @cache
    def resampled(seeds: tuple[int, ...]) -> float:
        return speed_up(steps, arm[list(seeds)], baseline[list(seeds)], window)

    values = sorted(resampled(tuple(sorted(draw))) for draw in resamples(n, seed))
    left = tail(len(values), level)
    return Estimate(value, values[left], values[-1 - left])


def over_seeds(values: Iterable[float], level: float = LEVEL) -> Estimate:
    """``mean(e) ± t sd(e) / sqrt(n)`` of one number per seed, such as the last loss of an arm less its baseline's.

    ``t`` is Student's quantile for n - 1 degrees of freedom: the e_i are taken as normal.
    """
    e = np.array(list(values), dtype=float)
    mean, n = float(e.mean()), len(e)
    if n < LEAST_SEEDS:
        return Estimate(mean)
    half = stats.t.ppf((1 + level) / 2, n - 1) * stats.sem(e)
    return Estimate(mean, mean - half, mean + half)


def verdict(difference: Estimate) -> str:
    """What the interval of a difference of losses says: `HELPS`, `HURTS`, `NO_DIFFERENCE` or `TOO_FEW`."""
    if not difference.has_interval:
        return TOO_FEW
    if difference.high < 0:
        return HELPS
    return HURTS if difference.low > 0 else NO_DIFFERENCE


def resamples(n: int, seed: int) -> list[tuple[int, ...]]:
    """Seeds drawn with replacement: all ``n^n`` draws if they are few."""
    if n <= _EXHAUSTIVE:
        return list(itertools.product(range(n), repeat=n))
    return list(map(tuple, np.random.default_rng(seed).integers(n, size=(_DRAWS, n)).tolist()))


def tail(count: int, level: float) -> int:
    """Resamples left out at either end."""
    return int((1 - level) / 2 * count)


def _rounding(value: float) -> float:
    """Sums taken in another order differ by this much: an arm must not miss its own end by it."""
    return 1e-12 * abs(value)


def _same_shape(steps: np.ndarray, arm: np.ndarray, baseline: np.ndarray) -> None:
    if not arm.shape == baseline.shape == (len(arm), len(steps)) or not len(steps):
        raise ParameterError(
            f"Losses of shapes {arm.shape} and {baseline.shape} do not belong to {len(steps)} steps; pair runs of equal"
            " length and equal seeds."
        )
