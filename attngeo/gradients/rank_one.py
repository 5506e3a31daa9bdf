"""The gradient of W_qk on one sequence: a sum of rank-1 terms with their exact coefficients.

Throughout, x has the shape (N, d) and holds the input x_i of the attention layer in row i. In a matrix of coefficients,
the row index i is the position of the query, and the column index j is a position to which the query attends. Then
``sum_ij beta_ij x_i x_j^T = X^T B X``.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import Choice

Pairs = Float[Tensor, "n n"]  # beta_ij
Inputs = Float[Tensor, "n d"]  # x_i


class Role(Choice):
    """The role of a token in a pair (Prop. S1.7)."""

    CONTEXT = "context"  # t_j = t*: other tokens are predicted from it
    PREDICTION = "prediction"  # t_i = t*: it is predicted


def exact_coefficients(
    weights: Float[Tensor, "*heads n n"],
    values: Float[Tensor, "*heads n d"],
    errors: Float[Tensor, "n d"],
    scale: float,
) -> Float[Tensor, "*heads n n"]:
    """``beta_ij = scale * alpha_ij * g_i^T (v_j - o_i)``, ``o_i = sum_k alpha_ik v_k``: the gradient through softmax.

    With these coefficients, ``dL/dW_qk = sum_ij beta_ij K_ij`` is exact for each head. Moreover ``sum_j beta_ij = 0``
    for every i, because adding a constant to all scores of a row does not change their softmax.

    Args:
        weights: attention weights alpha after the softmax, 0 if i does not attend to j, (..., N, N).
        values: v_j, what position j adds to the residual stream per unit of attention, ``x_j^T W_v W_o``, (..., N, d).
        errors: ``g_i = dL / d x-hat_i``, the gradient with respect to the output of the attention layer, (N, d).
        scale: factor on the scores inside the softmax, ``1/sqrt(d_head)``.

    Returns:
        beta, (..., N, N).

    Source: derived here. It replaces Eqs. S33 to S36 of the paper, which omit the softmax.
    """
    gain = errors @ values.mT  # (..., N, N): g_i^T v_j
    return scale * weights * (gain - (weights * gain).sum(-1, keepdim=True))


def gradient_sum(beta: Float[Tensor, "*heads n n"], x: Inputs) -> Float[Tensor, "*heads d d"]:
    """``sum_i sum_j beta_ij K_ij = X^T B X``, ``K_ij = x_i x_j^T`` (Eqs. 8, 10), (..., d, d)."""
    return x.T @ beta @ x


def rank_one_terms(beta: Pairs, x: Inputs) -> Float[Tensor, "n n d d"]:
    """``beta_ij K_ij = beta_ij x_i x_j^T`` for every pair (Eq. 10), (N, N, d, d), which needs small N and d.

    Sums over j are the terms of Eq. 8, where each position is a query. Sums over i are the terms of Eq. 9, where each
    position is a key.
    """
    return torch.einsum("ij,ia,jb->ijab", beta, x, x)


def token_update(beta: Pairs, x: Inputs, position: int, role: Role | str) -> Float[Tensor, "d d"]:
    """Terms of one token: ``(sum_i beta_it* x_i) x_t*^T`` as context, ``x_t* (sum_j beta_t*j x_j)^T`` as prediction.

    The first is Eq. S47. Eq. S50 prints the second one transposed. Both matrices have rank 1.
    """
    if Role(role) is Role.CONTEXT:
        return torch.outer(beta[:, position] @ x, x[position])
    return torch.outer(x[position], beta[position] @ x)


def token_column(beta: Pairs, x: Inputs, position: int, role: Role | str, k: int) -> Float[Tensor, " d"]:
    """Column k of `token_update`: ``[x_t*]_k sum_i beta_it* x_i`` (S42), or ``(sum_j beta_t*j [x_j]_k) x_t*`` (S44)."""
    return token_update(beta, x, position, role)[:, k]


def token_row(beta: Pairs, x: Inputs, position: int, role: Role | str, m: int) -> Float[Tensor, " d"]:
    """Row m of `token_update`: ``(sum_i beta_it* [x_i]_m) x_t*`` (S43), or ``[x_t*]_m sum_j beta_t*j x_j`` (S45)."""
    return token_update(beta, x, position, role)[m]


def step_of_factors(
    wq: Float[Tensor, "*heads d d_head"], wk: Float[Tensor, "*heads d d_head"], gradient: Float[Tensor, "*#heads d d"]
) -> Float[Tensor, "*heads d d"]:
    """``W_q W_q^T G + G W_k W_k^T``: minus the first-order change in W_qk by gradient descent, over the learning rate.

    Gradient descent changes W_q and W_k. For each head, ``dL/dW_q = G W_k`` and ``dL/dW_k = G^T W_q`` with
    ``G = dL/dW_qk``.

    Source: paper, Remark S1.6, Eq. S39.
    """
    return wq @ (gradient.mT @ wq).mT + gradient @ wk @ wk.mT


def cosine(a: Float[Tensor, "*shape"], b: Float[Tensor, "*shape"]) -> float:
    """``<A, B> / (||A|| ||B||)``: the cosine of the angle between two tensors, in [-1, 1]; 0 if either is zero."""
    norms = a.norm() * b.norm()
    return float((a * b).sum() / norms) if norms > 0 else 0.0


def relative_error(measured: Float[Tensor, "*shape"], expected: Float[Tensor, "*shape"]) -> float:
    """``||A - B|| / ||B||`` in the Frobenius norm."""
    return float((measured - expected).norm() / expected.norm())
