"""How much sooner one arm of an experiment is where its baseline ends, with the noise between seeds.

An arm is an array of losses, one row per seed, one column per measurement; the rows of two arms belong together, seed
by seed. A crossing that never comes is `NEVER`: it sorts below every speed-up.
"""

import itertools
import math
from functools import cache

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from attngeo.experiments.runs.arms import LOSS, Contrast
from attngeo.experiments.runs.estimates import LEAST_SEEDS, LEVEL, NEVER, Estimate

WINDOW = 5  # measurements in a mean
ROUNDING = 1e-12  # of sums in another order: an arm must not miss its own end by it
EXHAUSTIVE = 5  # seeds up to which all n^n resamples are taken
DRAWS = 5000

Curve = Float[np.ndarray, " steps"]
Curves = Float[np.ndarray, "seeds steps"]
Steps = Int[np.ndarray, " steps"]


def speed_up_of(contrast: Contrast, window: int = WINDOW) -> Estimate:
    """Of the first arm over the second, on held-out losses; see `speed_up`."""
    return speed_up(*contrast.curves(LOSS), window)


def grid_of(contrast: Contrast, window: int = WINDOW) -> float:
    """The largest share by which `speed_up_of` is rounded down: from one measurement to the next."""
    middle = trailing_mean(contrast.curves(LOSS)[0].astype(float), window)
    return float(np.diff(middle).max() / middle[-1])


def trailing_mean(loss: Float[np.ndarray, "*seeds steps"], window: int = WINDOW) -> Float[np.ndarray, "*seeds steps"]:
    """Mean of each measurement and those before it, ``window`` in all; of as many as there are at the start."""
    # each window by itself: sums carried along would carry an infinite loss to the end
    window = min(window, loss.shape[-1])
    first = [loss[..., :last].mean(axis=-1) for last in range(1, window)]
    full = np.lib.stride_tricks.sliding_window_view(loss, window, axis=-1).mean(axis=-1)
    return np.concatenate([np.stack(first, axis=-1), full], axis=-1) if first else full


def first_crossing(steps: Steps, arm: Curve, baseline: Curve) -> float:
    """``1 - t / T`` as the paper's released notebook takes it: t is the first step with a loss at or below the last.

    One seed, nothing smoothed, and a single lucky measurement is enough.
    """
    below = np.flatnonzero(arm <= baseline[-1])
    return float(1 - steps[below[0]] / steps[-1]) if len(below) else NEVER


def speed_up(steps: Steps, arm: Curves, baseline: Curves, window: int = WINDOW) -> Estimate:
    """``1 - t / T`` (Table 1), with t the first step from which on the arm stays at or below the baseline's end.

    Losses are means over seeds, smoothed by `trailing_mean`; the steps are smoothed with them, so that t and T lie in
    the middle of their windows. The baseline's end is its last smoothed loss. `NEVER` where the arm ends above that.
    t lies on the grid of measurements.

    The interval is of resampled seeds: both arms of a seed are drawn together. Up to five seeds all ``n^n`` resamples
    are taken, beyond that a seeded draw of them. The ends are quantiles of the resampled values and are among these. So
    few seeds hold the truth less often than the level says: three give the range of their values, which holds the
    median ``1 - 2^(1 - 3)`` = 75 % of the time.
    """
    middle, arm, baseline = (trailing_mean(x, window) for x in (steps.astype(float), arm, baseline))

    @cache
    def of(seeds: tuple[int, ...]) -> float:
        losses, end = arm[list(seeds)].mean(axis=0), baseline[list(seeds)].mean(axis=0)[-1]
        above = np.flatnonzero(~(losses <= end + ROUNDING * abs(end)))  # also where a loss is NaN
        first = above[-1] + 1 if len(above) else 0
        return NEVER if first == len(middle) else float(1 - middle[first] / middle[-1])

    n = len(arm)
    value = of(tuple(range(n)))
    if n < LEAST_SEEDS:
        return Estimate(value)
    if n <= EXHAUSTIVE:
        draws = itertools.product(range(n), repeat=n)
    else:
        draws = map(tuple, np.random.default_rng(0).integers(n, size=(DRAWS, n)).tolist())
    values = sorted(of(tuple(sorted(draw))) for draw in draws)
    left = int((1 - LEVEL) / 2 * len(values))
    return Estimate(value, values[left], values[-1 - left])


def seeds_needed(sd: float, half_width: float) -> int:
    """Smallest n with ``t sd / sqrt(n) <= half_width``: an interval that short, of differences that scatter by sd."""
    at_least = (stats.norm.ppf((1 + LEVEL) / 2) * sd / half_width) ** 2  # t is larger than the normal quantile
    n = max(LEAST_SEEDS, math.ceil(at_least))
    while stats.t.ppf((1 + LEVEL) / 2, n - 1) * sd > half_width * math.sqrt(n):
        n += 1
    return n
