"""Lemma S1.11: what a larger variance says of the tails."""

import math
from typing import NamedTuple

import numpy as np
from scipy.stats import norm, rv_discrete

from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact


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
    a, b = norm(s.mu, s.large), norm(s.mu, s.small)
    beyond = s.mu + np.arange(80) / 8
    return Judgement(
        exact("means", wide.mean() - far.mean()),
        compare("variances", wide.var(), ">", far.var(), 1e-9),
        compare("threshold", z, ">", printed_threshold(wide.std(), far.std(), wide.mean())),
        compare("tails", wide.sf(z), "<", far.sf(z), 1e-9),
        compare("threshold, Gaussians", below, ">", printed_threshold(s.large, s.small, s.mu)),
        compare("tails, Gaussians", a.sf(below), "<", b.sf(below), 1e-9),
        compare("from the mean on", (a.sf(beyond) - b.sf(beyond)).min(), ">", -1e-15),
        z=z,
        mu=s.mu,
        below=below,
    )


def solved_threshold(sigma_a: float, sigma_b: float, mu: float) -> float:
    """``mu + sqrt(sigma_a sigma_b)``: from where on Eq. S92 holds, among z > mu."""
    return mu + math.sqrt(sigma_a * sigma_b)


class Spreads(NamedTuple):
    """Two standard deviations and the common mean."""

    sigma_a: float = 4.0
    sigma_b: float = 2.0
    mu: float = 0.5


@check(Spreads)
def tail_bounds(s: Spreads) -> Comparisons:
    """Equations S91, S93: the lower bound exceeds 1; solving the printed S92 gives mu + sqrt(sigma_a sigma_b)."""
    z = s.mu + 2 * s.sigma_a
    squared = (s.mu - z) ** 2
    mended = squared / (s.sigma_a**2 + squared)  # with the right second moment, E (X - z)^2
    solved = solved_threshold(*s)
    between = (printed_threshold(*s) + solved) / 2

    def excess(x: float) -> float:  # right minus left side of Eq. S92
        return ((x - s.mu) / s.sigma_a) ** 2 - (s.sigma_b / (x - s.mu)) ** 2

    yield compare("bound", squared / s.sigma_a**2, ">", 1, 1e-9)
    yield compare("mended", mended, ">", norm.sf(z, s.mu, s.sigma_a), 1e-9)
    yield exact("solved", excess(solved))
    yield compare("beyond the mean", solved, ">", s.mu, 1e-9)
    yield compare("between", excess(between), "<", 0, 1e-9)
