"""Lemma S1.11: what a larger variance says of the tails."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact

CHAPTER = "column_dominance"


@dataclass(frozen=True)
class Discrete:
    """A law on finitely many points."""

    points: tuple[float, ...]
    weights: tuple[float, ...]

    @property
    def mean(self) -> float:
        """``E X``."""
        return math.fsum(w * x for x, w in zip(self.points, self.weights, strict=True))

    @property
    def variance(self) -> float:
        """``E (X - E X)^2``."""
        return math.fsum(w * (x - self.mean) ** 2 for x, w in zip(self.points, self.weights, strict=True))

    def tail(self, z: float) -> float:
        """``Pr[X > z]``."""
        return math.fsum(w for x, w in zip(self.points, self.weights, strict=True) if x > z)


# equal means; the first has the larger variance, the second the longer reach
WIDE = Discrete((-1.0, 1.0), (0.5, 0.5))
FAR = Discrete((-3.0, 0.0, 3.0), (0.05, 0.9, 0.05))


def gaussian_tail(z: float, mu: float, sigma: float) -> float:
    """``Pr[X > z]`` of a Gaussian."""
    return math.erfc((z - mu) / (sigma * math.sqrt(2))) / 2


def printed_threshold(sigma_a: float, sigma_b: float, mu: float) -> float:
    """``sqrt(sigma_a sigma_b) - mu`` (Eq. S93 as printed)."""
    return math.sqrt(sigma_a * sigma_b) - mu


@claim
def tail_order(wide: Discrete = WIDE, far: Discrete = FAR, z: float = 2.0) -> Result:
    """Lemma S1.11: two moments do not order tails. In a location-scale family they are ordered from the mean on."""
    sigma_a, sigma_b = math.sqrt(wide.variance), math.sqrt(far.variance)
    mu, small, large, below = 10.0, 1.0, 2.0, 8.0
    grid = [mu + step / 8 for step in range(80)]
    least = min(gaussian_tail(x, mu, large) - gaussian_tail(x, mu, small) for x in grid)
    return Result(
        statement="S1.11",
        part="",
        title="a larger variance gives the heavier upper tail",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("difference of the means, discrete laws a and b", wide.mean - far.mean, 0),
            Comparison("variance of a against that of b", wide.variance, ">", far.variance, 1e-9),
            Comparison(
                "z against the threshold of Eq. S88", z, ">", printed_threshold(sigma_a, sigma_b, wide.mean), 0.0
            ),
            Comparison(f"Pr[X_a > {z:g}] against Pr[X_b > {z:g}]", wide.tail(z), "<", far.tail(z), 1e-9),
            Comparison(
                "Gaussians of mean 10: z = 8 against the threshold",
                below,
                ">",
                printed_threshold(large, small, mu),
                0.0,
            ),
            Comparison(
                "Gaussians: Pr[X_a > 8] against Pr[X_b > 8]",
                gaussian_tail(below, mu, large),
                "<",
                gaussian_tail(below, mu, small),
                1e-9,
            ),
            Comparison("Gaussians: least tail difference over z >= mu", least, ">", -1e-15, 0.0),
        ),
        printed="$\\Pr[X_a > z] \\geq \\Pr[X_b > z]$ for all $z > \\sqrt{\\sigma_a\\sigma_b} - \\mu$ whenever the "
        "means are equal and $\\sigma_a^2 > \\sigma_b^2$",
        corrected="If $X_a$ and $X_b$ are $\\mu + \\sigma_a Z$ and $\\mu + \\sigma_b Z$ with the same $Z$, the order "
        "holds for all $z \\geq \\mu$. For two arbitrary laws nothing follows: the law of smaller variance may have "
        "the longer tail.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


def solved_threshold(sigma_a: float, sigma_b: float, mu: float) -> float:
    """``mu + sqrt(sigma_a sigma_b)``: from where on Eq. S92 holds, among z > mu."""
    return mu + math.sqrt(sigma_a * sigma_b)


@claim
def tail_bounds(
    mu: float = 0.0,
    sigma: float = 1.0,
    z: float = 2.0,
    threshold: Callable[[float, float, float], float] = solved_threshold,
) -> Result:
    """Equations S91, S93: the lower bound exceeds 1; solving the printed S92 gives mu + sqrt(sigma_a sigma_b)."""
    bound = ((mu - z) / sigma) ** 2
    mended = (mu - z) ** 2 / (sigma**2 + (mu - z) ** 2)  # with the right second moment, E (X - z)^2
    tail = gaussian_tail(z, mu, sigma)
    sigma_a, sigma_b, shift = 4.0, 1.0, 0.5
    printed, solved = printed_threshold(sigma_a, sigma_b, shift), threshold(sigma_a, sigma_b, shift)

    def excess(x: float) -> float:  # right minus left side of Eq. S92
        return ((x - shift) / sigma_a) ** 2 - (sigma_b / (x - shift)) ** 2

    between = (printed + solved) / 2
    return Result(
        statement="S1.11",
        part="Eqs. S91, S93",
        title="the lower bound on a tail, and the threshold it gives",
        verdict=Verdict.FAILS,
        comparisons=(
            Comparison("lower bound of Eq. S91 on a probability", bound, ">", 1.0, 1e-9),
            Comparison("that bound with the right second moment, against the probability", mended, ">", tail, 1e-9),
            exact("right minus left of Eq. S92 at mu + sqrt(sigma_a sigma_b)", excess(solved), 0),
            Comparison("the same between there and the printed threshold", excess(between), "<", 0.0, 1e-9),
        ),
        printed="$\\Pr[X_a > z] \\geq (\\mu - z)^2/\\sigma_a^2$; hence $z > \\sqrt{\\sigma_a\\sigma_b} - \\mu$",
        corrected="The second-moment inequality bounds $\\Pr[Y > 0]$ from below only if $\\mathbb{E}Y \\geq 0$, here "
        "for $z \\leq \\mu$, and its denominator is $\\sigma_a^2 + (\\mu - z)^2$. Eq. S92 as printed would give $z > "
        "\\mu + \\sqrt{\\sigma_a\\sigma_b}$.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )
