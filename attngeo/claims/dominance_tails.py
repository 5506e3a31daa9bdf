"""Section S1.4.4 up to Lemma S1.11: norms of random rows and columns, and what a larger variance says of the tails."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from attngeo.claims.result import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.norm_growth import squared_norms

CHAPTER = "column_dominance"


def entry_mean_variance(n: int, sigma: float) -> float:
    """``sigma^2 / n``: variance of the mean of n independent entries."""
    return sigma**2 / n


def squared_norm_variance(n: int, mu: float, sigma: float) -> float:
    """``n (2 sigma^4 + 4 mu^2 sigma^2)``: variance of the squared norm of n independent Gaussian entries."""
    return n * (2 * sigma**4 + 4 * mu**2 * sigma**2)


@claim
def initial_rows(
    n: int = 64,
    mu: float = 0.5,
    sigma: float = 2.0,
    n_draws: int = 20000,
    seed: int = 0,
    predicted_mean_variance: Callable[[int, float], float] = entry_mean_variance,
    predicted_norm_variance: Callable[[int, float, float], float] = squared_norm_variance,
) -> Result:
    """Text before Lemma S1.11: moments of a row of independent entries of mean mu and variance sigma^2."""
    generator = torch.Generator().manual_seed(seed)
    rows = mu + sigma * torch.randn(n_draws, n, generator=generator, dtype=torch.float64)
    squared, expected = rows.square().sum(-1), n * (sigma**2 + mu**2)
    of_mean = predicted_mean_variance(n, sigma)
    of_norm = predicted_norm_variance(n, mu, sigma)
    return Result(
        statement="S1.12",
        part="(text before S1.11)",
        title="moments of a row or column at initialisation",
        verdict=Verdict.CORRECTED,
        comparisons=(
            monte_carlo("mean of the squared norm over n (sigma^2 + mu^2)", squared / expected, 1),
            monte_carlo("variance of the mean entry over its formula", (rows.mean(-1) - mu).square() / of_mean, 1),
            monte_carlo("variance of the squared norm over its formula", (squared - expected).square() / of_norm, 1),
        ),
        printed="variance $\\sigma^2/\\sqrt{n}$ of a row; squared norms of variance $n(2\\sigma^4 + 4\\mu^2)$",
        corrected="The mean of the $n$ entries of a row has variance $\\sigma^2/n$; the squared norm has variance "
        "$n(2\\sigma^4 + 4\\mu^2\\sigma^2)$ for Gaussian entries, $n[(\\kappa-1)\\sigma^4 + 4\\mu^2\\sigma^2]$ for "
        "symmetric entries of kurtosis $\\kappa$.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


def chi_moments(n: int, sigma: float) -> tuple[float, float]:
    """Mean ``sigma sqrt(2) Gamma((n+1)/2) / Gamma(n/2)`` and variance of the norm of n centred Gaussian entries."""
    mean = sigma * math.sqrt(2) * math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2))
    return mean, n * sigma**2 - mean**2


@claim
def initial_norms(
    n: int = 64,
    sigma: float = 2.0,
    n_draws: int = 300,
    seed: int = 0,
    predicted: Callable[[int, float], tuple[float, float]] = chi_moments,
) -> Result:
    """Equations S99, S100: the norm of a centred row has mean near sigma sqrt(n), not 0, variance near sigma^2 / 2."""
    generator = torch.Generator().manual_seed(seed)
    matrices = sigma * torch.randn(n_draws, n, n, generator=generator, dtype=torch.float64)
    rows, columns = (squared.sqrt() for squared in squared_norms(matrices))
    mean, variance = predicted(n, sigma)
    return Result(
        statement="S1.12",
        part="Eqs. S99, S100",
        title="mean and variance of row and column norms at initialisation",
        verdict=Verdict.CORRECTED,
        comparisons=(
            monte_carlo("mean row norm", rows.mean(-1), mean),
            monte_carlo("mean column norm", columns.mean(-1), mean),
            monte_carlo("variance of row norms", (rows - mean).square().mean(-1), variance),
            monte_carlo("variance of column norms", (columns - mean).square().mean(-1), variance),
            monte_carlo("mean row norm against mu = 0", rows.mean(-1), 0, "≠"),
            monte_carlo("variance of row norms against sigma^2", (rows - mean).square().mean(-1), sigma**2, "≠"),
        ),
        printed="$\\mathbb{E}\\|w\\| = \\mu$ and $\\mathrm{Var}\\|w\\| = \\sigma^2$",
        corrected="$\\mathbb{E}\\|w\\| \\approx \\sqrt{n(\\sigma^2+\\mu^2)}$ and $\\mathrm{Var}\\|w\\| \\approx "
        "\\sigma^2(\\sigma^2 + 2\\mu^2) / (2(\\sigma^2+\\mu^2))$ for Gaussian entries, which is $\\sigma^2/2$ for "
        "$\\mu = 0$.",
        remark="What the proof uses, that rows and columns start alike, is true.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


def factored_norm_variance(d: int, d_head: int) -> float:
    """``2/d + 2/d_head + 4/(d d_head)``: relative variance of a squared row norm of ``W_q W_k^T``, Gaussian factors.

    Row m is Gaussian given W_k, with covariance ``W_k W_k^T``, scaled by entries of W_q: ``q^T A q`` with ``A = W_k^T
    W_k`` has mean ``d d_head`` and second moment ``E[Tr(A)^2 + 2 Tr(A^2)] = d d_head (d d_head + 2) + 2 d d_head (d +
    d_head + 1)``.
    """
    return 2 / d + 2 / d_head + 4 / (d * d_head)


@claim
def factored_initial_norms(
    d: int = 64,
    d_head: int = 8,
    n_draws: int = 6000,
    seed: int = 0,
    predicted: Callable[[int, int], float] = factored_norm_variance,
) -> Result:
    """Theorem S1.12 assumes independent entries of W_qk at initialisation; those of W_q W_k^T are only uncorrelated."""
    generator = torch.Generator().manual_seed(seed)
    query = torch.randn(n_draws, 1, d_head, generator=generator, dtype=torch.float64)  # one row of W_q is enough
    key = torch.randn(n_draws, d, d_head, generator=generator, dtype=torch.float64)
    row = (query @ key.mT).squeeze(1)
    spread = (row.square().sum(-1) / (d * d_head) - 1).square()
    squares = row.square() / d_head
    together = (squares.sum(-1).square() - squares.square().sum(-1)) / (d * (d - 1))
    return Result(
        statement="S1.12",
        part="(independent entries)",
        title="the entries of W_qk are independent at initialisation",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            monte_carlo("relative variance of a squared row norm of W_q W_k^T", spread, predicted(d, d_head)),
            monte_carlo("the same against independent entries", spread, 2 / d, "≠"),
            monte_carlo(
                "mean product of two squared entries of a row over the product of their means", together, 1, "≠"
            ),
        ),
        printed="Let each entry of $W_{qk}$ be an i.i.d. random variable.",
        corrected="The entries of $W_q W_k^\\top$ are uncorrelated but dependent: the relative variance of a squared "
        "norm is $2/d + 2/d_h + 4/(d\\,d_h)$ instead of $2/d$. Rows and columns still have equal laws when $W_q$ and "
        "$W_k$ have.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


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
