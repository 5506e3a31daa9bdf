"""The law of the symmetry score of random matrices: normal entries, and given singular values."""

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from scipy import stats
from torch import Tensor

from attngeo.forms.random_matrices import symmetry_mean, symmetry_sd
from attngeo.forms.scores import score_batch
from attngeo.paper.checks import Comparisons, check, exact


def symmetry_density(s: Float[Tensor, "..."], n: int) -> Float[Tensor, "..."]:
    """Density of s for independent normal entries: ``(1 + s) / 2`` is Beta(n (n + 1) / 4, n (n - 1) / 4), exactly.

    The symmetric part of M has n (n + 1) / 2 independent squares, the skew part n (n - 1) / 2.
    """
    return torch.from_numpy(_law(n).pdf(s.numpy()))


def negative_symmetry_share(n: int) -> float:
    """``Pr[s < 0]`` for independent normal entries; it tends to ``Phi(-1 / sqrt(2)) = 0.24``, not to 0."""
    return float(_law(n).cdf(0))


def _law(n: int):
    return stats.beta(n * (n + 1) / 4, n * (n - 1) / 4, loc=-1, scale=2)


class Turned(NamedTuple):
    """``U D V^T`` for every node U of a quadrature over rotations; V may be left out, as s sees ``V^T U`` alone."""

    singular_values: Tensor  # (n,)
    matrices: Tensor  # (nodes, n, n)
    weights: Tensor  # (nodes,)


def rotations(n: int) -> tuple[Tensor, Tensor]:
    """Rotations of 2 or 3 dimensions with weights: polynomials of their entries, of degree 4, have the exact mean."""

    def about(axis: int, cosine: Tensor, sine: Tensor) -> Tensor:
        turn = torch.eye(3, dtype=torch.float64).expand(len(cosine), 3, 3).clone()
        i, j = [k for k in range(3) if k != axis]
        turn[:, i, i], turn[:, j, j], turn[:, i, j], turn[:, j, i] = cosine, cosine, -sine, sine
        return turn

    angles = torch.arange(8, dtype=torch.float64) * torch.pi / 4
    plane = about(2, angles.cos(), angles.sin())
    if n == 2:
        mirror = torch.tensor([1.0, -1.0], dtype=torch.float64).diag()
        return torch.cat([plane[:, :2, :2], plane[:, :2, :2] @ mirror]), torch.full((16,), 1 / 16, dtype=torch.float64)
    cosines, weights = (torch.from_numpy(x) for x in np.polynomial.legendre.leggauss(3))
    tilt = about(1, cosines, (1 - cosines**2).sqrt())
    turns = torch.einsum("aij,bjk,ckl->abcil", plane, tilt, plane).reshape(-1, 3, 3)
    return turns, (weights / 2 / 64).view(1, -1, 1).expand(8, 3, 8).reshape(-1)


def turned_spectra(seed: int = 0) -> list[Turned]:
    """Two and three dimensions; uniform singular values, equal ones and a single one."""
    generator, found = torch.Generator().manual_seed(seed), []
    for n in (2, 3):
        turns, weights = rotations(n)
        some = torch.rand(n, generator=generator, dtype=torch.float64)
        for values in (some, torch.ones_like(some), torch.eye(n, dtype=torch.float64)[0]):
            found.append(Turned(values, turns * values, weights))
    return found


@check(turned_spectra)
def spread_of_symmetry(sample: list[Turned]) -> Comparisons:
    """Ours, beside Proposition S1.17 (3): the variance of s given the singular values, and for normal entries."""
    for values, m, weights in sample:
        s, n = score_batch(m).symmetry, len(values)
        mean = weights @ s
        concentration = min(1.0, float((values**4).sum() / (values**2).sum() ** 2))
        spread = (weights @ (s - mean).square()).sqrt()
        yield exact("mean", mean, symmetry_mean(n), n=n)
        yield exact("spread", spread, symmetry_sd(n, concentration), n=n, concentration=concentration)
    normal = (exact("normal", symmetry_sd(n), _law(n).std(), n=n) for n in (2, 3, 64))
    yield from normal
