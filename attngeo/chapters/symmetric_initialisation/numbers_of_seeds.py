"""How many seeds an interval needs, and how often one from few seeds holds the truth."""

import math
from functools import cache

import numpy as np
from scipy import stats

from attngeo.errors import ParameterError
from attngeo.runs.estimates import LEAST_SEEDS, LEVEL, resamples, tail


def seeds_needed(sd: float, half_width: float, level: float = LEVEL) -> int:
    """Smallest n with ``t sd / sqrt(n) <= half_width``: seeds for an interval that short, differences scattering by sd.

    Raises:
        ParameterError: the half-width is not above 0, or sd is negative or no number.
    """
    if not (half_width > 0 and 0 <= sd < math.inf):
        raise ParameterError(f"An interval of ±{half_width} around differences of sd {sd} needs numbers above 0.")
    at_least = (stats.norm.ppf((1 + level) / 2) * sd / half_width) ** 2  # t is larger than the normal quantile
    n = max(LEAST_SEEDS, math.ceil(at_least))
    while stats.t.ppf((1 + level) / 2, n - 1) * sd > half_width * math.sqrt(n):
        n += 1
    return n


@cache
def coverage(seeds: int, level: float = LEVEL, draws: int = 2000) -> float:
    """How often an interval from resampled seeds holds the truth: the mean of normal values, simulated.

    Three seeds give the range of their values, which holds the median ``1 - 2^(1 - 3)`` = 75 % of the time.
    """
    values = np.random.default_rng(0).standard_normal((seeds, draws))
    picks = np.array(resamples(seeds, 0))  # (resamples, seeds)
    share = (picks[:, :, None] == np.arange(seeds)).mean(axis=1)  # of each seed in each resample
    means = np.sort(share @ values, axis=0)
    left = tail(len(means), level)
    return float(np.mean((means[left] <= 0) & (means[-1 - left] >= 0)))
