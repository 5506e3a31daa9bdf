"""Section S1.4.4 before Lemma S1.11: norms of rows and columns of a random W_qk."""

import math
from collections.abc import Callable

import torch

from attngeo.paper.checks import Flaw, Result, Verdict, claim, monte_carlo
from attngeo.updates.norms import squared_norms

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
