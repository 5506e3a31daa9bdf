"""Section S1.4.4 before Lemma S1.11: norms of rows and columns of a random W_qk."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.column_dominance.enumeration import Outcomes, coordinates
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact, monte_carlo
from attngeo.updates.norms import squared_norms


class GaussianEntries(NamedTuple):
    """Matrices of independent Gaussian entries."""

    entries: Tensor  # (draws, n, n)
    mu: float
    sigma: float


def gaussian_entries(
    n: int = 64, mu: float = 0.0, sigma: float = 2.0, n_draws: int = 300, seed: int = 0
) -> GaussianEntries:
    """Square matrices."""
    generator = torch.Generator().manual_seed(seed)
    entries = torch.randn(n_draws, n, n, generator=generator, dtype=torch.float64)
    return GaussianEntries(mu + sigma * entries, mu, sigma)


def entry_mean_variance(n: int, sigma: float) -> float:
    """``sigma^2 / n``: variance of the mean of n independent entries."""
    return sigma**2 / n


def squared_norm_variance(n: int, mu: float, sigma: float, kurtosis: float) -> float:
    """``n ((kappa - 1) sigma^4 + 4 mu^2 sigma^2)``: variance of the squared norm of n independent symmetric entries."""
    return n * ((kurtosis - 1) * sigma**4 + 4 * mu**2 * sigma**2)


class InitialRow(NamedTuple):
    """A row of independent entries of one symmetric law, in every outcome."""

    kurtosis: float
    entries: Outcomes  # (outcomes, n)
    mu: float
    sigma: float


def initial_rows_by_kurtosis(n: int = 4, mu: float = 0.5, sigma: float = 2.0) -> list[InitialRow]:
    """With the fourth moment of a Gaussian, and with a larger one."""
    rows = []
    for kurtosis in (3.0, 5.0):
        z = coordinates(1, n, kurtosis)
        rows.append(InitialRow(kurtosis, Outcomes(mu + sigma * z.values[:, 0], z.probability), mu, sigma))
    return rows


@check(initial_rows_by_kurtosis)
def initial_rows(rows: list[InitialRow]) -> Comparisons:
    """Text before Lemma S1.11: moments of a row of independent entries of mean mu and variance sigma^2."""
    for kurtosis, entries, mu, sigma in rows:
        n, squared = entries.values.shape[-1], entries.values.square().sum(-1)
        expected = n * (sigma**2 + mu**2)
        of_mean = entries.mean((entries.values.mean(-1) - mu).square())
        of_norm = entries.mean((squared - expected).square())
        yield exact("squared norm", entries.mean(squared), expected, kurtosis=kurtosis)
        yield exact(
            "variance of the mean",
            of_mean,
            entry_mean_variance(n, sigma),
            kurtosis=kurtosis,
            printed=sigma**2 / math.sqrt(n),
        )
        yield exact(
            "variance of the squared norm",
            of_norm,
            squared_norm_variance(n, mu, sigma, kurtosis),
            kurtosis=kurtosis,
            printed=n * (2 * sigma**4 + 4 * mu**2),
        )


def chi_moments(n: int, sigma: float) -> tuple[float, float]:
    """Mean ``sigma sqrt(2) Gamma((n+1)/2) / Gamma(n/2)`` and variance of the norm of n centred Gaussian entries."""
    mean = sigma * math.sqrt(2) * math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2))
    return mean, n * sigma**2 - mean**2


@check(gaussian_entries)
def initial_norms(s: GaussianEntries) -> Judgement:
    """Equations S99, S100: the norm of a centred row has mean near sigma sqrt(n), not 0, variance near sigma^2 / 2."""
    mean, variance = chi_moments(s.entries.shape[-1], s.sigma)
    rows, columns = (squared.sqrt() for squared in squared_norms(s.entries))
    row_variance, column_variance = ((side - mean).square().mean(-1) for side in (rows, columns))
    return Judgement(
        monte_carlo("row mean", rows.mean(-1), mean),
        monte_carlo("column mean", columns.mean(-1), mean),
        monte_carlo("row variance", row_variance, variance),
        monte_carlo("column variance", column_variance, variance),
        monte_carlo("mean as printed", rows.mean(-1), s.mu, "≠"),
        monte_carlo("variance as printed", row_variance, s.sigma**2, "≠"),
        mu=s.mu,
    )


class FactoredRows(NamedTuple):
    """One row of ``W_q W_k^T``, factors with the moments of normal ones: every outcome."""

    rows: Outcomes  # (outcomes, d)
    d_head: int


def factored_rows(d: int = 3, d_head: int = 2) -> FactoredRows:
    """One row of W_q, and W_k; small sizes, where every term of the variance shows."""
    factors = coordinates(1 + d, d_head)
    query, key = factors.values[:, :1], factors.values[:, 1:]
    return FactoredRows(Outcomes((query @ key.mT).squeeze(1), factors.probability), d_head)


def factored_norm_variance(d: int, d_head: int) -> float:
    """``2/d + 2/d_head + 4/(d d_head)``: relative variance of a squared row norm of ``W_q W_k^T``, Gaussian factors.

    Row m is Gaussian given W_k, with covariance ``W_k W_k^T``, scaled by entries of W_q: ``q^T A q`` with ``A = W_k^T
    W_k`` has mean ``d d_head`` and second moment ``E[Tr(A)^2 + 2 Tr(A^2)] = d d_head (d d_head + 2) + 2 d d_head (d +
    d_head + 1)``.
    """
    return 2 / d + 2 / d_head + 4 / (d * d_head)


@check(factored_rows)
def factored_initial_norms(s: FactoredRows) -> Judgement:
    """Theorem S1.12 assumes independent entries of W_qk at initialisation; those of W_q W_k^T are only uncorrelated."""
    squares = s.rows.values.square() / s.d_head
    d = squares.shape[1]
    spread = s.rows.mean((squares.mean(-1) - 1).square())
    return Judgement(
        exact("variance", spread, factored_norm_variance(d, s.d_head)),
        compare("variance, independent", spread, "≠", 2 / d, 0.1),
        compare("product", s.rows.mean(squares[:, 0] * squares[:, 1]), "≠", 1, 0.1),
        d=d,
        d_head=s.d_head,
    )
