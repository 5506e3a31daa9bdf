"""How many seeds an interval needs."""

import math

from scipy import stats

from attngeo.errors import ParameterError
from attngeo.runs.estimates import LEAST_SEEDS, LEVEL


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
