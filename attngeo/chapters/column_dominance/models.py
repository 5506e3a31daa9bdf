"""Random updates that only this chapter needs: one context token, and independent coefficients on all pairs."""

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import ParameterError
from attngeo.updates.random_updates import draw_embeddings


def context_updates(
    covariance: Float[Tensor, "d d"],
    n_tokens: int,
    n_draws: int,
    generator: torch.Generator,
    form: Float[Tensor, "d d"] | None = None,
    n_contexts: int = 1,
) -> Float[Tensor, "draws d d"]:
    """``Delta W = sum over contexts (sum_i beta_i x_i) y^T``: the model of Prop. S1.8, rows predicted, columns context.

    x_i are N independent tokens of each context with the covariance, y is standard normal and independent of them;
    ``beta_i = x_i^T B y`` with B the form, or without one standard normal and independent of everything. The transpose
    is the model of Cor. S1.9.
    """
    d = covariance.shape[0]
    x = draw_embeddings(covariance, n_draws, n_contexts, n_tokens, generator=generator)
    y = torch.randn(n_draws, n_contexts, d, generator=generator, dtype=torch.float64)
    if form is None:
        beta = torch.randn(n_draws, n_contexts, n_tokens, generator=generator, dtype=torch.float64)
    else:
        beta = torch.einsum("rcia,ab,rcb->rci", x, form, y)
    return torch.einsum("rci,rcia,rcb->rab", beta, x, y)


def rotated(moment: Float[Tensor, "d d"], generator: torch.Generator) -> Float[Tensor, "d d"]:
    """``Q S Q^T`` with Q uniform among the orthogonal matrices: the same spectrum in a generic basis."""
    z = torch.randn(moment.shape, generator=generator, dtype=moment.dtype)
    q, r = torch.linalg.qr(z)
    q = q * r.diagonal().sign()
    return q @ moment @ q.T


def matrix_normal(
    query_moment: Float[Tensor, "d d"], key_moment: Float[Tensor, "d d"], n_draws: int, generator: torch.Generator
) -> Float[Tensor, "draws d d"]:
    """``Delta W = S_Q^(1/2) Z S_K^(1/2)``, Z standard normal: independent coefficients on all pairs.

    For queries X_Q, keys X_K and independent standard normal coefficients, ``X_Q^T B X_K`` given the embeddings has
    this law with ``S_Q = X_Q^T X_Q``, ``S_K = X_K^T X_K``. Positive semidefinite moments are enough.
    """
    z = torch.randn(n_draws, *query_moment.shape, generator=generator, dtype=torch.float64)
    return _root(query_moment) @ z @ _root(key_moment)


def _root(moment: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """The symmetric square root of a positive semidefinite matrix."""
    values, vectors = torch.linalg.eigh(moment)
    if values[0] < -1e-9 * values[-1]:
        raise ParameterError("a second moment of embeddings must be positive semidefinite.")
    return (vectors * values.clamp_min(0).sqrt()) @ vectors.T
