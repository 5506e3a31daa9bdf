"""The distribution of both scores for random weights of a given shape, and how unusual a score is.

Null hypothesis: all entries of the query factors are independent and normal with equal variance, and so are the entries
of the key factors. The sum of query heads that share a key head has such entries, too. A layer is therefore a product
(d, rank) x (rank, d) with rank = H_kv d_head, and a head is such a product with rank = d_head.
"""

import math
import sys
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch

from attngeo.bilinear.random_matrices import batches, symmetry_mean, symmetry_sd
from attngeo.bilinear.scores import GAMMA, Convention, by_convention, directionality_of

Z95 = 1.959963984540054  # half-width of the central 95 % of a normal distribution, in standard deviations
LEVEL = 0.05  # a score lies outside the band if its p is below this level
WIDEST = 1024  # largest simulated width; for wider forms, the standard deviation of d decreases as width^(-1/2)
NORMS = 2**21  # random norms per law: 1024 layers of the largest width, which give the standard deviation to 2 %
DRAWS = 2**14  # largest number of simulated layers
BATCH = 2**19  # norms in memory at a time


class NullLaw(NamedTuple):
    """Mean and standard deviation of a score for random weights, and the sorted simulated distances from the mean."""

    mean: float
    sd: float
    distances: np.ndarray = np.zeros(0)  # (draws,); only for d, whose distribution is not normal for small widths
    bounds: tuple[float, float] = (-1.0, 1.0)  # the smallest and the largest possible score

    def z(self, value: float) -> float:
        """``(value - mean) / sd``; infinite if every random score equals the mean and this value does not."""
        away = value - self.mean
        if self.sd:
            return away / self.sd
        return math.copysign(math.inf, away) if away else 0.0

    def p(self, value: float) -> float:
        """The two-sided p: the larger of its normal approximation and the share of simulated distances as large.

        The score itself counts as one of the draws, so p is never below `least`.
        """
        draws = len(self.distances)
        beyond = draws - np.searchsorted(self.distances, abs(value - self.mean) * (1 - 1e-12))
        return max(math.erfc(abs(self.z(value)) / math.sqrt(2)), self.least * float(beyond + 1))

    @property
    def least(self) -> float:
        """The smallest possible p: one draw out of all draws, or the smallest positive float64."""
        return 1 / (len(self.distances) + 1) if len(self.distances) else sys.float_info.min

    @property
    def half_width(self) -> float:
        """Half the width of the band around the mean with 95 % of random scores; outside it, p is below `LEVEL`."""
        draws = len(self.distances)
        simulated = float(self.distances[draws + 1 - math.ceil(LEVEL * (draws + 1))]) if draws else 0.0
        return max(Z95 * self.sd, simulated)

    @property
    def band(self) -> tuple[float, float]:
        """The smallest and largest score within `half_width` of the mean that a matrix can have."""
        low, high = self.bounds
        return max(low, self.mean - self.half_width), min(high, self.mean + self.half_width)


@lru_cache(maxsize=256)
def symmetry_null(d: int, rank: int, convention: Convention = Convention.DEFINITION) -> NullLaw:
    """The mean ``1 / d`` and the standard deviation of `symmetry_sd`; approximately normal for ranks of 8 or more.

    The rank is the rank of the product: ``H_kv d_head`` for a layer and ``d_head`` for a head.
    """
    square, _ = _spectrum(d, rank)
    # ||M M^T||^2 / ||M||^4 with M = Q K^T, by the second moments of two Wishart matrices
    concentration = ((d + 1) * square + 1) / (d + 2 * square)
    mean = symmetry_mean(d)
    sd = symmetry_sd(d, min(1.0, concentration)) if d > 1 else 0.0
    centre = by_convention(mean, convention)
    bounds = by_convention(-1.0, convention), by_convention(1.0, convention)
    return NullLaw(centre, by_convention(mean + sd, convention) - centre, bounds=bounds)


@lru_cache(maxsize=256)
def directionality_null(
    d: int, rank: int, gamma: float = GAMMA, convention: Convention = Convention.DEFINITION
) -> NullLaw:
    """The mean 0, since M and M^T have the same distribution, and a simulation of the norms of rows and columns.

    A squared norm is a weighted sum of squares, ``sum_k l_k z_k^2`` with the eigenvalues l of K^T K (or of Q^T Q for
    columns). It is drawn as a shifted gamma variable with the same first three cumulants. Rows and columns are
    independent except for their common total ``||M||^2``. For widths of 32 and more, the standard deviation agrees with
    the standard deviation of sampled forms within about 3 %.
    """
    square, cube = _spectrum(d, rank)
    # the gamma distribution with the cumulants 2 square and 8 cube
    shape, scale = square**3 / cube**2 / 2, 2 * cube / square
    n = min(d, WIDEST)
    generator = np.random.default_rng(0)
    scores = []
    for draws in batches(min(DRAWS, NORMS // (2 * n)), 2 * n, BATCH):
        squares = (1 - shape * scale + scale * generator.standard_gamma(shape, (draws, 2, n))).clip(0)
        norms = torch.from_numpy(squares / squares.mean(-1, keepdims=True)).sqrt()
        scores.append(directionality_of(torch.stack(norms.unbind(1)), gamma, convention)[0])
    distances = torch.cat(scores).abs() * math.sqrt(n / d)
    return NullLaw(0.0, float(distances.square().mean().sqrt()), distances.sort().values.numpy())


def laws_of_shape(
    d: int, rank: int, gamma: float = GAMMA, convention: Convention | str = Convention.DEFINITION
) -> dict[str, NullLaw]:
    """The laws of ``symmetry`` and ``directionality`` for random weights of width d whose product has this rank."""
    convention = Convention(convention)
    return {
        "symmetry": symmetry_null(d, rank, convention),
        "directionality": directionality_null(d, rank, float(gamma), convention),
    }


def _spectrum(d: int, rank: int) -> tuple[float, float]:
    """``E Tr B^2 / E (Tr B)^2`` and ``E Tr B^3 / E (Tr B)^3`` of ``B = K^T K``, a Wishart matrix; 1 at rank 1."""
    n = d * rank
    square = (d + rank + 1) / (n + 2)
    return square, (d * d + rank * rank + 3 * n + 3 * d + 3 * rank + 4) / ((n + 2) * (n + 4))
