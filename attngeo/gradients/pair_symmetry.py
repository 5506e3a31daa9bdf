"""How symmetric an update is, given how beta_ij and beta_ji agree; sequences and coefficients to see it by."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor


def agreement(a: float, b: float) -> float:
    """``rho = 2ab / (a^2 + b^2)``: 1 for equal coefficients, -1 for opposite ones, 0 if one of them is 0."""
    return 2 * a * b / (a**2 + b**2)


def pair_score(rho: float, cosine: float) -> float:
    """``s = (rho + c^2) / (1 + rho c^2)`` of ``a x_i x_j^T + b x_j x_i^T``, rho = 2ab/(a^2+b^2), c = cos(x_i, x_j).

    Source: derived here from Eq. S108 and Def. 3.1.
    """
    return (rho + cosine**2) / (1 + rho * cosine**2)


def correlated_coefficients(
    rho: float, n_draws: int, n_tokens: int, generator: torch.Generator
) -> Float[Tensor, "draws n n"]:
    """Standard normal beta_ij, beta_ji with correlation rho, independent between pairs, 0 on the diagonal."""
    z = torch.randn(2, n_draws, n_tokens, n_tokens, generator=generator, dtype=torch.float64)
    upper, other = z.triu(1)
    return upper + (rho * upper + (1 - rho**2) ** 0.5 * other).mT


class RandomSequence(NamedTuple):
    """Normal embeddings and coefficients of one sequence."""

    x: Float[Tensor, "n d"]
    beta: Float[Tensor, "n n"]
    mask: Float[Tensor, " d"]  # embedding of a mask token


def random_sequence(d: int = 16, n_tokens: int = 9, seed: int = 0) -> RandomSequence:
    """All entries independent standard normal, float64."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (n_tokens, d), (n_tokens, n_tokens), (d,)
    return RandomSequence(*(torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes))


def signs(*shape: int) -> Int[Tensor, "outcomes *shape"]:
    """Every array of signs of a shape, equally likely: what a mean over signs is exactly taken over."""
    return torch.cartesian_prod(*[torch.tensor([-1, 1])] * torch.Size(shape).numel()).view(-1, *shape)
