"""The law of the symmetry score of matrices with independent normal entries."""

import torch
from jaxtyping import Float
from scipy import stats
from torch import Tensor


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
