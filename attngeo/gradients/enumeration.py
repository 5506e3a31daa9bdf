"""Expectations without error: every outcome of a few independent coordinates, with its probability."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor


class Outcomes(NamedTuple):
    """All values of a random quantity; equal ones may stand in several places."""

    values: Float[Tensor, "outcomes ..."]
    probability: Float[Tensor, " outcomes"]

    def mean(self, values: Float[Tensor, "outcomes ..."]) -> Float[Tensor, "..."]:
        """Expectation of a function of the quantity, from its value in every outcome."""
        return torch.tensordot(self.probability, values, dims=1)


def coordinates(n_vectors: int, d: int, kurtosis: float = 3.0) -> Outcomes:
    """Vectors of independent coordinates: 0 with probability ``1 - 1/kappa``, otherwise ``± sqrt(kappa)``.

    Mean 0, variance 1, fourth moment kappa, sixth kappa^2. For kappa = 3 every polynomial of degree at most 5 in each
    coordinate has the expectation that normal coordinates give it (Gauss-Hermite quadrature at three points).
    """
    points = torch.tensor([0.0, kurtosis**0.5, -(kurtosis**0.5)], dtype=torch.float64)
    weights = torch.tensor([1 - 1 / kurtosis, 0.5 / kurtosis, 0.5 / kurtosis], dtype=torch.float64)
    chosen = torch.cartesian_prod(*[torch.arange(3)] * (n_vectors * d)).view(-1, n_vectors * d)
    return Outcomes(points[chosen].view(-1, n_vectors, d), weights[chosen].prod(-1))
