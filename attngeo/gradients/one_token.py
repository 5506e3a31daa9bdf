"""What one token adds to W_qk, as context and as prediction (Prop. S1.7); x and beta as in `updates.rank_one`."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import Choice
from attngeo.gradients.objectives import Objective
from attngeo.gradients.toy_transformer import ToyConfig, first_layer


class Role(Choice):
    """The part a token plays in a pair (Prop. S1.7)."""

    CONTEXT = "context"  # t_j = t*: it predicts
    PREDICTION = "prediction"  # t_i = t*: it is predicted


class HeadGradient(NamedTuple):
    """What autograd says of one head, and the coefficients that Prop. S1.7 starts from."""

    beta: Float[Tensor, "n n"]  # exact coefficients
    x: Float[Tensor, "n d"]  # inputs of the layer
    w_qk: Float[Tensor, "d d"]  # dL/dW_qk of the head


def head_gradient(
    d: int = 24,
    n_tokens: int = 8,
    seed: int = 0,
    n_heads: int = 2,
    objective: Objective = Objective.AUTOREGRESSIVE,
) -> HeadGradient:
    """The first head of a two-layer Transformer at random weights, on one random sequence."""
    g = first_layer(ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens), objective, seed)
    return HeadGradient(g.beta[0], g.layer.x, g.w_qk[0])


def token_update(
    beta: Float[Tensor, "n n"], x: Float[Tensor, "n d"], position: int, role: Role | str
) -> Float[Tensor, "d d"]:
    """What one token adds: ``(sum_i beta_it* x_i) x_t*^T`` as context (Eq. S47), ``x_t* (sum_j beta_t*j x_j)^T`` else.

    Equation S50 prints the second one transposed. Both have rank 1.
    """
    left, right = _factors(beta, x, position, role)
    return torch.outer(left, right)


def token_column(
    beta: Float[Tensor, "n n"], x: Float[Tensor, "n d"], position: int, role: Role | str, k: int
) -> Float[Tensor, " d"]:
    """Column k of `token_update`: ``[x_t*]_k sum_i beta_it* x_i`` (S42), or ``(sum_j beta_t*j [x_j]_k) x_t*`` (S44)."""
    left, right = _factors(beta, x, position, role)
    return right[k] * left


def token_row(
    beta: Float[Tensor, "n n"], x: Float[Tensor, "n d"], position: int, role: Role | str, m: int
) -> Float[Tensor, " d"]:
    """Row m of `token_update`: ``(sum_i beta_it* [x_i]_m) x_t*`` (S43), or ``[x_t*]_m sum_j beta_t*j x_j`` (S45)."""
    left, right = _factors(beta, x, position, role)
    return left[m] * right


def _factors(beta: Tensor, x: Tensor, position: int, role: Role | str) -> tuple[Tensor, Tensor]:
    if Role(role) is Role.CONTEXT:
        return beta[:, position] @ x, x[position]
    return x[position], beta[position] @ x
