"""How much sooner one arm of an experiment reaches the final loss of its baseline, with the variation between seeds.

An arm is an array of losses with one row per seed and one column per measurement. The rows of two arms belong together,
seed by seed. If the arm does not reach the final loss, the speed-up is `NEVER`, which is smaller than every speed-up.
"""

import itertools
import math
from functools import cache

import numpy as np
from jaxtyping import Float, Int
from scipy import stats

from attngeo.experiments.runs.arms import LOSS, Contrast
from attngeo.experiments.runs.estimates import LEAST_SEEDS, LEVEL, NEVER, Estimate

WINDOW = 5  # measurements in a trailing mean
ROUNDING = 1e-12  # by which sums in another order differ; an arm has to reach its own final loss
EXHAUSTIVE = 5  # number of seeds up to which all n^n resamples are taken
DRAWS = 5000

Curve = Float[np.ndarray, " steps"]
Curves = Float[np.ndarray, "seeds steps"]
Steps = Int[np.ndarray, " steps"]


def speed_up_of(contrast: Contrast, window: int = WINDOW) -> Estimate:
    """Speed-up of the first arm over the second, for held-out losses; see `speed_up`."""
    return speed_up(*contrast.curves(LOSS), window)


def grid_of(contrast: Contrast, window: int = WINDOW) -> float:
    """The largest share by which `speed_up_of` is rounded down, which is the distance between two measurements."""
    middle = trailing_mean(contrast.curves(LOSS)[0].astype(float), window)
    return float(np.diff(middle).max() / middle[-1])


def trailing_mean(loss: Float[np.ndarray, "*seeds steps"], window: int = WINDOW) -> Float[np.ndarray, "*seeds steps"]:
    """Mean of each measurement and the ``window - 1`` before it, or of as many as there are at the start."""
    # every window is summed separately, because a running sum would keep an infinite loss until the end
    window = min(window, loss.shape[-1])
    first = [loss[..., :last].mean(axis=-1) for last in range(1, window)]
    full = np.lib.stride_tricks.sliding_window_view(loss, window, axis=-1).mean(axis=-1)
    return np.concatenate([np.stack(first, axis=-1), full], axis=-1) if first else full


def first_crossing(steps: Steps, arm: Curve, baseline: Curve) -> float:
    """``1 - t / T`` as in the paper's released notebook: t is the first step with a loss at or below the baseline's last.

    The losses are those of one seed and are not smoothed, so a single low measurement is enough.
    """
    below = np.flatnonzero(arm <= baseline[-1])
    return float(1 - steps[below[0]] / steps[-1]) if len(below) else NEVER


def speed_up(steps: Steps, arm: Curves, baseline: Curves, window: int = WINDOW) -> Estimate:
    """``1 - t / T`` (Table 1), where from step t on the arm stays at or below the final loss of the baseline.

    Losses are means over seeds, smoothed by `trailing_mean`. The steps are smoothed, too, so that t and T lie in the
    middle of their windows. The final loss of the baseline is its last smoothed loss. The speed-up is `NEVER` if the arm
    ends above this loss. t is one of the measured steps.

    The interval comes from resampled seeds, where both arms of a seed are drawn together. With up to five seeds, all
    ``n^n`` resamples are taken, and with more seeds a random sample of them with a fixed seed. The ends are quantiles of
    the resampled values. With so few seeds, the interval contains the true value less often than its level: three seeds
    give the range of their values, which contains the median in ``1 - 2^(1 - 3)`` = 75 % of cases.
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
    """Smallest n with ``t sd / sqrt(n) <= half_width``, for differences with standard deviation sd."""
    at_least = (stats.norm.ppf((1 + LEVEL) / 2) * sd / half_width) ** 2  # t is larger than the normal quantile
    n = max(LEAST_SEEDS, math.ceil(at_least))
    while stats.t.ppf((1 + LEVEL) / 2, n - 1) * sd > half_width * math.sqrt(n):
        n += 1
    return n
