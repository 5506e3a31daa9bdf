"""What both scores give for random matrices: closed forms where there are any, simulation for every shape.

A score of trained weights means something only beside these: symmetry has mean 1/n and spread sqrt(2)/n at random,
directionality has mean 0 and spread of several n^(-1/2).
"""

import math
from collections.abc import Iterable

import torch

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import GAMMA, Convention, Scores, score, score_batch, score_heads

BATCH = 2**20  # entries of the random matrices that are held at a time


def symmetry_mean(n: int) -> float:
    """``E s = 1 / n`` exactly, for every law of M that row signs and row and column orders do not change.

    Independent symmetric entries have such a law, and so has every product ``W_q W_k^T`` of matrices with such
    entries, summed over heads or not (chapter *Two scores*, against Prop. S1.17 (3)).
    """
    return 1 / n


def symmetry_sd(n: int, concentration: float | None = None) -> float:
    """``Var s = (3 (n + 1) - 6 c) / (n (n - 1) (n + 2)) - 1 / n^2``, close to ``2 / n^2``; returns its root.

    Exact for M turned at random on either side (``U M V^T``, U and V independent and uniform over the orthogonal
    matrices), whatever its singular values.

    Args:
        n: rows of M.
        concentration: ``c = ||M M^T||^2 / ||M||^4`` of the singular values, between 1/n (all equal) and 1 (rank 1);
            ``(2 n + 1) / (n^2 + 2)``, the value for independent normal entries, unless given.
    """
    c = (2 * n + 1) / (n * n + 2) if concentration is None else concentration
    return math.sqrt((3 * (n + 1) - 6 * c) / (n * (n - 1) * (n + 2)) - 1 / n**2)


def directionality_sd(n: int, gamma: float = GAMMA, convention: Convention | str = Convention.DEFINITION) -> float:
    """``sqrt(V / 2) / (m sqrt(n))``: spread of d for large n, where the norms of random rows are close to normal.

    With p and f the normal tail and density at gamma: for Def. 3.2 ``m = p`` and ``V = p (1 - p) - f^2 (1 +
    gamma^2 / 2)``; where the excess over the threshold is summed, as in the released code and in Table S3, ``m = f -
    gamma p`` and ``V = (1 + gamma^2) p - gamma f - m^2 - p^2 + (gamma p)^2 / 2 - gamma p f``. The terms past the
    first come from estimating mean and standard deviation on the same norms.

    Within about a tenth once ``n p`` is 5 or more (n of 256 at gamma = 2); below that, and for heads, simulate: the
    row norms of a head of few dimensions are not normal.
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
    """Scores of ``draws`` matrices (n, n) with independent standard normal entries; each field has shape (draws,)."""
    generator = torch.Generator().manual_seed(seed)
    return _join(
        score_batch(torch.randn(k, n, n, generator=generator, dtype=torch.float64)) for k in batches(draws, n**2)
    )


def sample_forms(n_heads: int, d: int, d_head: int, draws: int, seed: int = 0) -> Scores:
    """Scores of ``draws`` layers of a shape with normal weights, heads summed; each field has shape (draws,).

    One head of a layer has the shape ``n_heads=1``. Neither score depends on the scale of the weights; query heads that
    share a key head count as one.
    """
    generator = torch.Generator().manual_seed(seed)

    def form(heads: int) -> BilinearForm:
        wq, wk = (torch.randn(heads, d, d_head, generator=generator, dtype=torch.float64) for _ in range(2))
        return BilinearForm(wq, wk)

    if n_heads == 1:  # the heads of one form are as many draws
        return _join(score_heads(form(k)) for k in batches(draws, d * d_head))
    layers = (score(form(n_heads)) for _ in batches(draws, BATCH))
    return _join(Scores(*(value[None] for value in vars(layer).values())) for layer in layers)


def batches(draws: int, entries: int, held: int | None = None) -> list[int]:
    """Sizes of batches that hold about ``held`` numbers each (`BATCH` by default) and make up all draws."""
    size = max(1, (held or BATCH) // entries)
    return [size] * (draws // size) + [draws % size] * (draws % size > 0)


def _join(parts: Iterable[Scores]) -> Scores:
    columns = zip(*(vars(part).values() for part in parts), strict=True)
    return Scores(*(torch.cat(column) for column in columns))
