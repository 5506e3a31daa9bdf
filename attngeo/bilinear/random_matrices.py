"""Both scores of random matrices: closed forms where they are known, and simulation for every shape.

Scores of trained weights have to be compared with these. For random matrices, the symmetry score has the mean 1/n and a
standard deviation of about sqrt(2)/n. The directionality score has the mean 0 and a standard deviation of several
n^(-1/2).
"""

import math
from collections.abc import Iterable

import torch

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import GAMMA, Convention, Scores, score, score_batch, score_heads

BATCH = 2**20  # entries of random matrices in memory at a time


def symmetry_mean(n: int) -> float:
    """``E s = 1 / n``, exactly, if changing signs of rows or permuting rows or columns does not change the law of M.

    This includes matrices with independent, identically and symmetrically distributed entries, and every product
    ``W_q W_k^T`` of such matrices, summed over heads or not (chapter *Two scores*; Prop. S1.17 (3) differs).
    """
    return 1 / n


def symmetry_sd(n: int, concentration: float | None = None) -> float:
    """The standard deviation of s: ``Var s = (3 (n + 1) - 6 c) / (n (n - 1) (n + 2)) - 1 / n^2``, close to ``2 / n^2``.

    The formula is exact for ``U M V^T``, where U and V are independent and uniformly distributed over the orthogonal
    matrices, for any singular values of M.

    Args:
        n: number of rows of M.
        concentration: ``c = ||M M^T||^2 / ||M||^4``, between 1/n (all singular values equal) and 1 (rank 1). Default:
            ``(2 n + 1) / (n^2 + 2)``, the value for independent normal entries.
    """
    c = (2 * n + 1) / (n * n + 2) if concentration is None else concentration
    return math.sqrt((3 * (n + 1) - 6 * c) / (n * (n - 1) * (n + 2)) - 1 / n**2)


def directionality_sd(n: int, gamma: float = GAMMA, convention: Convention | str = Convention.DEFINITION) -> float:
    """``sqrt(V / 2) / (m sqrt(n))``: the standard deviation of d for large n, where row norms are close to normal.

    Let p be the tail probability and f the density of the normal distribution at gamma. For Def. 3.2, ``m = p`` and ``V
    = p (1 - p) - f^2 (1 + gamma^2 / 2)``. The released code and Table S3 sum the excess over the threshold, which gives
    ``m = f - gamma p`` and ``V = (1 + gamma^2) p - gamma f - m^2 - p^2 + (gamma p)^2 / 2 - gamma p f``. The terms after
    the first arise because mean and standard deviation are estimated from the same norms.

    The formula is correct within about 10 % if ``n p`` is at least 5 (n = 256 for gamma = 2). Use simulations for
    smaller n and for heads, because the row norms of a head with few dimensions are not normally distributed.
    """
    p = math.erfc(gamma / math.sqrt(2)) / 2
    f = math.exp(-(gamma**2) / 2) / math.sqrt(2 * math.pi)
    if Convention(convention) in (Convention.DEFINITION, Convention.PRINTED):
        m, v = p, p * (1 - p) - f**2 * (1 + gamma**2 / 2)
    else:
        m = f - gamma * p
        v = (1 + gamma**2) * p - gamma * f - m**2 - p**2 + (gamma * p) ** 2 / 2 - gamma * p * f
    return math.sqrt(v / 2 / n) / m


def sample_dense(n: int, draws: int, seed: int = 0) -> Scores:
    """Scores of ``draws`` matrices (n, n) with independent standard normal entries, with the shape (draws,)."""
    generator = torch.Generator().manual_seed(seed)
    return _join(
        score_batch(torch.randn(k, n, n, generator=generator, dtype=torch.float64)) for k in batches(draws, n**2)
    )


def sample_forms(n_heads: int, d: int, d_head: int, draws: int, seed: int = 0) -> Scores:
    """Scores of ``draws`` layers with normal weights, whose heads are summed, with the shape (draws,).

    For single heads, use ``n_heads=1``. The scores do not depend on the scale of the weights. Query heads that share a
    key head count as one head.
    """
    generator = torch.Generator().manual_seed(seed)

    def form(heads: int) -> BilinearForm:
        wq, wk = (torch.randn(heads, d, d_head, generator=generator, dtype=torch.float64) for _ in range(2))
        return BilinearForm(wq, wk)

    if n_heads == 1:  # every head of one form is a draw
        return _join(score_heads(form(k)) for k in batches(draws, d * d_head))
    layers = (score(form(n_heads)) for _ in range(draws))
    return _join(Scores(*(value[None] for value in vars(layer).values())) for layer in layers)


def batches(draws: int, entries: int, held: int | None = None) -> list[int]:
    """Sizes of batches with about ``held`` numbers each (by default `BATCH`) that together contain all draws."""
    size = max(1, (held or BATCH) // entries)
    full, rest = divmod(draws, size)
    return [size] * full + ([rest] if rest else [])


def _join(parts: Iterable[Scores]) -> Scores:
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Scores(*(torch.cat(column) for column in columns))
