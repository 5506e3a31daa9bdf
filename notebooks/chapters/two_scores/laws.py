"""Laws behind both scores of random matrices, and the matrices that the pages on the scores draw."""

import math
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from scipy import stats
from scipy.stats import chi, halfnorm, norm
from torch import Tensor

from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.scores import GAMMA

MEDIANS = 4000  # simulated medians over random layers


def symmetry_law(n: int):
    """``(1 + s) / 2`` is Beta(n (n + 1) / 4, n (n - 1) / 4) for independent normal entries: the law of s, exactly.

    The symmetric part of M has n (n + 1) / 2 independent squares, the skew part n (n - 1) / 2.
    """
    return stats.beta(n * (n + 1) / 4, n * (n - 1) / 4, loc=-1, scale=2)


def negative_symmetry_share(n: int) -> float:
    """``Pr[s < 0]`` for independent normal entries; it tends to ``Phi(-1 / sqrt(2)) = 0.24``, not to 0."""
    return float(symmetry_law(n).cdf(0))


def threshold(d_head: int, gamma: float = GAMMA) -> float:
    """``mu + gamma sigma`` of a chi variable with d_head degrees of freedom."""
    return float(chi.mean(d_head) + gamma * chi.std(d_head))


def outlying_norm(t: float, d_head: int) -> float:
    """``E[x; x > t]`` for a chi variable x with d_head degrees of freedom."""
    return float(chi.mean(d_head) * chi.sf(t, d_head + 1))  # x times its density is a multiple of the next law's


def sum_influence(x: float, d_head: int, gamma: float = GAMMA) -> float:
    """``x 1[x > t] - m - t f(t) l(x)``: what one row of norm x adds to the sum over the threshold.

    Here ``m = E[x; x > t]``, f is the density, and ``l(x) = x - mu + gamma ((x - mu)^2 - sigma^2) / (2 sigma)`` what
    the row does to the threshold t.
    """
    mean, sd, t = chi.mean(d_head), chi.std(d_head), threshold(d_head, gamma)
    shift = x - mean + gamma * ((x - mean) ** 2 - sd**2) / (2 * sd)
    return float(x * (x > t) - outlying_norm(t, d_head) - t * chi.pdf(t, d_head) * shift)


def influence(x: float, d_head: int, gamma: float = GAMMA) -> float:
    """``sum_influence(x) - (m / 2) (x^2 / d_head - 1)``: less the share in the norms' common scale."""
    m = outlying_norm(threshold(d_head, gamma), d_head)
    return sum_influence(x, d_head, gamma) - m / 2 * (x**2 / d_head - 1)


@cache
def mean_square(of: Callable[[float, int, float], float], d_head: int, gamma: float = GAMMA) -> float:
    """Mean square of an influence over chi variables; it jumps at the threshold."""
    t = threshold(d_head, gamma)
    parts = ((0, t), (t, np.inf))
    return sum(chi.expect(lambda x: of(x, d_head, gamma) ** 2, (d_head,), lb=a, ub=b) for a, b in parts)


def head_directionality_sd(n: int, d_head: int, gamma: float = GAMMA) -> float:
    """``sqrt(V / 2) / (m sqrt(n))``: spread of d (Def. 3.2) of a head (n, n) of normal factors, for large n.

    V is the mean square of `influence` and ``m = E[x; x > t]``.
    """
    return math.sqrt(mean_square(influence, d_head, gamma) / 2 / n) / outlying_norm(threshold(d_head, gamma), d_head)


def rows_behind_one_column(gamma: float = GAMMA) -> tuple[float, float]:
    """Many rows of a matrix of which one column outgrows all others: their norms are proportional to |g|, g normal.

    Returns:
        The share of the rows over their threshold t, mean of |g| plus gamma of its standard deviations; and what their
        norms add up to, per row of the matrix: ``a = E[|g|; |g| > t] = 2 phi(t)``.
    """
    t = halfnorm.mean() + gamma * halfnorm.std()
    return float(halfnorm.sf(t)), float(halfnorm.pdf(t))


def one_column_limit(n: int, gamma: float = GAMMA) -> float:
    """``(a sqrt(n) - 1) / (a sqrt(n) + 1)``, d of a matrix of which one column outgrows all others, for large n."""
    a = rows_behind_one_column(gamma)[1]
    return (a * math.sqrt(n) - 1) / (a * math.sqrt(n) + 1)


def first_positive_limit(gamma: float = GAMMA) -> int:
    """The number of rows from which `one_column_limit` is positive, past ``1 / a^2``: d of half the matrices is not."""
    return math.floor(rows_behind_one_column(gamma)[1] ** -2) + 1


def positive_share(n: int, gamma: float = GAMMA) -> float:
    """``Pr[d > 0] = Phi((a sqrt(n) - 1) / sqrt(V))`` to first order in 1/n, M with one column that outgrows all others.

    The rows over their threshold add up to ``a n`` with variance ``V n``, V the mean square of `sum_influence` at one
    degree of freedom: their norms are those of a head of width 1. The column's norm is ``sqrt(n)``.
    """
    a, variance = rows_behind_one_column(gamma)[1], mean_square(sum_influence, 1, gamma)
    return float(norm.cdf((a * math.sqrt(n) - 1) / math.sqrt(variance)))


@cache
def median_half_width(width: int, rank: int, n_layers: int, gamma: float = GAMMA) -> float:
    """Half the width of the band around 0 with 95 % of the medians of d over n_layers independent random layers.

    M and its transpose have the same law, so the sign of d is drawn independently of its size.
    """
    sizes = laws_of_shape(width, rank, gamma)["directionality"].distances
    generator, shape = np.random.default_rng(0), (MEDIANS, n_layers)
    d = generator.choice(sizes, shape) * generator.choice((-1, 1), shape)
    return float(np.quantile(np.abs(np.median(d, axis=1)), 0.95))


def norms_with_strong_column(
    n: int, factors: Sequence[float], draws: int, generator: torch.Generator
) -> Float[Tensor, "2 factors draws n"]:
    """Row norms and column norms of normal matrices whose first column is multiplied by each of some factors.

    The matrices are drawn one at a time, since all of them together need gigabytes where they are wide.
    """
    norms = torch.empty(2, len(factors), draws, n, dtype=torch.float64)
    square = torch.tensor(factors, dtype=torch.float64).square()[:, None]  # of the factors
    for draw in range(draws):
        squares = torch.randn(n, n, generator=generator, dtype=torch.float64).square()
        norms[0, :, draw] = (squares[:, 1:].sum(1) + square * squares[:, 0]).sqrt()
        norms[1, :, draw] = squares.sum(0).sqrt()
    norms[1, :, :, 0] *= square.sqrt()
    return norms


def norms_of_one_column(n: int, draws: int, generator: torch.Generator) -> Float[Tensor, "2 draws n"]:
    """Row norms and column norms of matrices of n rows with one normal column, all others being 0."""
    rows = torch.randn(draws, n, generator=generator, dtype=torch.float64).abs()
    columns = torch.zeros_like(rows)
    columns[:, 0] = rows.norm(dim=1)
    return torch.stack((rows, columns))


def uneven_matrices(n: int = 32, draws: int = 300, seed: int = 0) -> list[Tensor]:
    """Normal matrices with rows or columns, or both, scaled at random, so that d takes all values in [-1, 1]."""
    generator = torch.Generator().manual_seed(seed)
    matrices = []
    for draw in range(draws):
        m = torch.randn(n, n, generator=generator, dtype=torch.float64)
        rows, columns = torch.randn(2, n, generator=generator, dtype=torch.float64).exp()
        matrices.append((rows[:, None] if draw % 3 else 1) * m * (columns if draw % 3 != 1 else 1))
    return matrices
