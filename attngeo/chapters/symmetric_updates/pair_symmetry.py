"""How symmetric an update is, given how beta_ij and beta_ji agree: one pair, one sequence, a partly masked sequence."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attngeo.errors import ParameterError
from attngeo.updates.objectives import check_rate


def agreement(a: float, b: float) -> float:
    """``rho = 2ab / (a^2 + b^2)``: 1 for equal coefficients, -1 for opposite ones, 0 if one of them is 0."""
    if a == b == 0:
        raise ParameterError("two coefficients of 0 make no update, so that their agreement is undefined.")
    return 2 * a * b / (a**2 + b**2)


def pair_score(rho: float, cosine: float) -> float:
    """``s = (rho + c^2) / (1 + rho c^2)`` of ``a x_i x_j^T + b x_j x_i^T``, rho = 2ab/(a^2+b^2), c = cos(x_i, x_j).

    Equal to ``(2ab + (a^2 + b^2) c^2) / (a^2 + b^2 + 2ab c^2)``, and ``1 - s = (1 - rho)(1 - c^2) / (1 + rho c^2)``.
    It is -1 at every cosine for rho = -1, and undefined (the update is 0) for rho = -1 and c = 1.

    Raises:
        ParameterError: rho or the cosine outside [-1, 1], or an update of 0.

    Source: derived here from Eq. S108 and Def. 3.1.
    """
    if not (-1 <= rho <= 1 and -1 <= cosine <= 1):
        raise ParameterError(f"the agreement {rho} and the cosine {cosine} must both lie in [-1, 1].")
    if 1 + rho * cosine**2 == 0:
        raise ParameterError("opposite coefficients on parallel embeddings cancel; the update is 0 and has no score.")
    return (rho + cosine**2) / (1 + rho * cosine**2)


def isotropic_score(rho: float, d: int) -> float:
    """``s(Delta W) = (rho + 1/d) / (1 + rho/d)`` for independent isotropic embeddings, rho = Tr(BB)/||B||^2.

    A ratio of expectations: ``E Tr(dW dW) = Tr(BB) + ||B||^2 / d`` and ``E ||dW||^2 = ||B||^2 + Tr(BB) / d`` for a
    fixed B without diagonal and embeddings of mean 0 and covariance I/d. It is `pair_score` at the mean squared cosine
    1/d. For orthonormal embeddings s(Delta W) = rho exactly, since ``X^T B X`` and B then have equal trace forms.

    Source: derived here.
    """
    return pair_score(rho, d**-0.5)


def correlated_coefficients(
    rho: float, n_draws: int, n_tokens: int, generator: torch.Generator
) -> Float[Tensor, "draws n n"]:
    """Standard normal beta_ij, beta_ji with correlation rho, independent between pairs, 0 on the diagonal.

    Raises:
        ParameterError: rho outside [-1, 1].
    """
    if not -1 <= rho <= 1:
        raise ParameterError(f"the correlation is {rho}; it must lie in [-1, 1].")
    z = torch.randn(2, n_draws, n_tokens, n_tokens, generator=generator, dtype=torch.float64)
    upper, other = z.triu(1)
    return upper + (rho * upper + (1 - rho**2) ** 0.5 * other).mT


def frozen_score(start: Float[Tensor, "d d"], now: Float[Tensor, "d d"]) -> Float[Tensor, ""]:
    """``s(t) = 1 - 2 ||N_0||^2 / ||M(t)||^2``: of a matrix M to which symmetric matrices were added, N_0 its skew part.

    Source: derived here.
    """
    return 1 - (start - start.T).square().sum() / 2 / now.square().sum()


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


def both_to_one_masked(mask_rate: float) -> float:
    """``p / (1 - p)`` (Eq. S119): terms of Eq. S116 with both positions masked to those with one, in a long sequence.

    Raises:
        ParameterError: p outside (0, 1).
    """
    check_rate(mask_rate)
    return mask_rate / (1 - mask_rate)


def masked_score(rho: float, mask_rate: float, rounds: int = 1, masked_visible: bool = True) -> float:
    """``s = rho R p / (1 - p + R p)``: one sequence masked R times at random, orthonormal embeddings, beta_ij kept.

    How often pair (i, j) counts is binomial, ``n_ij = n_i`` with R draws of rate p, so that ``s = rho E[n_i n_j] / E
    [n_i^2]``: rho p for one masking, rho after many. Where masked positions are not in any context (Def. S1.3, unlike
    Remark S1.15), pair (i, j) has the rate q = p (1 - p), the two orders exclude one another, and ``s = rho (R - 1) q /
    (1 - q + R q)``. rho is Tr(BB)/||B||^2 of the unmasked coefficients.

    Raises:
        ParameterError: p outside (0, 1) or R < 1.

    Source: derived here.
    """
    check_rate(mask_rate)
    if rounds < 1:
        raise ParameterError(f"{rounds} maskings make no update; rounds must be at least 1.")
    p = mask_rate
    if masked_visible:
        return rho * rounds * p / (1 - p + rounds * p)
    q = p * (1 - p)
    return rho * (rounds - 1) * q / (1 - q + rounds * q)
