"""Lemma S1.11: what a larger variance says of the tails."""

import math
from typing import NamedTuple

from scipy.stats import norm, rv_discrete

from attngeo.paper.checks import Judgement, check, compare, exact


class Laws(NamedTuple):
    """Two pairs of laws of equal means; the first of each has the larger variance."""

    wide: rv_discrete
    far: rv_discrete  # of the longer reach
    mu: float = 10.0  # mean of two Gaussians
    large: float = 2.0  # their standard deviations
    small: float = 1.0


def example_laws() -> Laws:
    """Two points against three, and two Gaussians."""
    return Laws(rv_discrete(values=((-1, 1), (0.5, 0.5))), rv_discrete(values=((-3, 0, 3), (0.05, 0.9, 0.05))))


def printed_threshold(sigma_a: float, sigma_b: float, mu: float) -> float:
    """``sqrt(sigma_a sigma_b) - mu`` (Eq. S93 as printed)."""
    return math.sqrt(sigma_a * sigma_b) - mu


@check(example_laws)
def tail_order(s: Laws) -> Judgement:
    """Lemma S1.11: two moments do not order tails. In a location-scale family they are ordered from the mean on."""
    wide, far = s.wide, s.far
    z, below = 2.0, s.mu - s.large  # where the order fails

    def gaussians(x: float) -> tuple[float, float]:
        return norm.sf(x, s.mu, s.large), norm.sf(x, s.mu, s.small)

    a, b = gaussians(below)
    least = min(left - right for left, right in (gaussians(s.mu + step / 8) for step in range(80)))
    return Judgement(
        exact("means", wide.mean() - far.mean()),
        compare("variances", wide.var(), ">", far.var(), 1e-9),
        compare("threshold", z, ">", printed_threshold(wide.std(), far.std(), wide.mean())),
        compare("tails", wide.sf(z), "<", far.sf(z), 1e-9),
        compare("threshold, Gaussians", below, ">", printed_threshold(s.large, s.small, s.mu)),
        compare("tails, Gaussians", a, "<", b, 1e-9),
        compare("from the mean on", least, ">", -1e-15),
        z=z,
        mu=s.mu,
        below=below,
    )


def solved_threshold(sigma_a: float, sigma_b: float, mu: float) -> float:
    """``mu + sqrt(sigma_a sigma_b)``: from where on Eq. S92 holds, among z > mu."""
    return mu + math.sqrt(sigma_a * sigma_b)


class Bounds(NamedTuple):
    """Where the inequalities of the proof are evaluated."""

    mu: float = 0.0
    sigma: float = 1.0
    z: float = 2.0
    sigma_a: float = 4.0  # for the threshold
    sigma_b: float = 1.0
    shift: float = 0.5  # mean


@check(Bounds)
def tail_bounds(s: Bounds) -> Judgement:
    """Equations S91, S93: the lower bound exceeds 1; solving the printed S92 gives mu + sqrt(sigma_a sigma_b)."""
    squared = (s.mu - s.z) ** 2
    mended = squared / (s.sigma**2 + squared)  # with the right second moment, E (X - z)^2
    thresholds = (s.sigma_a, s.sigma_b, s.shift)
    solved = solved_threshold(*thresholds)
    between = (printed_threshold(*thresholds) + solved) / 2

    def excess(x: float) -> float:  # right minus left side of Eq. S92
        return ((x - s.shift) / s.sigma_a) ** 2 - (s.sigma_b / (x - s.shift)) ** 2

    return Judgement(
        compare("bound", squared / s.sigma**2, ">", 1, 1e-9),
        compare("mended", mended, ">", norm.sf(s.z, s.mu, s.sigma), 1e-9),
        exact("solved", excess(solved)),
        compare("between", excess(between), "<", 0, 1e-9),
    )
