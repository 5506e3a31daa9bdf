"""The gradient that one sequence gives W_qk: rank-1 terms and their exact coefficients.

Throughout, x is (N, d) with x_i in row i, the input of the attention layer; row index i of a coefficient matrix is the
query position, column index j the position it attends to. Then ``sum_ij beta_ij x_i x_j^T = X^T B X``.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import Choice

Pairs = Float[Tensor, "n n"]  # beta_ij
Inputs = Float[Tensor, "n d"]  # x_i


class Role(Choice):
    """The part a token plays in a pair (Prop. S1.7)."""

    CONTEXT = "context"  # t_j = t*: it predicts
    PREDICTION = "prediction"  # t_i = t*: it is predicted


def exact_coefficients(
    weights: Float[Tensor, "*heads n n"],
    values: Float[Tensor, "*heads n d"],
    errors: Float[Tensor, "n d"],
    scale: float,
) -> Float[Tensor, "*heads n n"]:
    """``beta_ij = scale * alpha_ij * g_i^T (v_j - o_i)``, ``o_i = sum_k alpha_ik v_k``: the gradient through softmax.

    With these, ``dL/dW_qk = sum_ij beta_ij K_ij`` exactly, head by head; and ``sum_j beta_ij = 0`` for every i,
    because a softmax does not see a constant added to all scores of a row.

    Args:
        weights: attention weights alpha after the softmax; 0 where j is not attended, (..., N, N).
        values: v_j, what position j adds to the residual stream per unit of attention: ``x_j^T W_v W_o``, (..., N, d).
        errors: ``g_i = dL / d x-hat_i``, the loss differentiated by the output of the attention layer, (N, d).
        scale: factor on the scores inside the softmax, ``1/sqrt(d_head)``.

    Returns:
        beta, (..., N, N).

    Source: derived here; it replaces the paper's Eqs. S33-S36, which leave the softmax out.
    """
    gain = errors @ values.mT  # (..., N, N): g_i^T v_j
    return scale * weights * (gain - (weights * gain).sum(-1, keepdim=True))


def gradient_sum(beta: Float[Tensor, "*heads n n"], x: Inputs) -> Float[Tensor, "*heads d d"]:
    """``sum_i sum_j beta_ij K_ij = X^T B X``, ``K_ij = x_i x_j^T`` (Eqs. 8, 10), (..., d, d)."""
    return x.T @ beta @ x


def rank_one_terms(beta: Pairs, x: Inputs) -> Float[Tensor, "n n d d"]:
    """``beta_ij K_ij = beta_ij x_i x_j^T`` for every pair (Eq. 10), (N, N, d, d): small N and d only.

    Summed over j they are the terms of Eq. 8, each position as the query; over i those of Eq. 9, each as the key.
    """
    return torch.einsum("ij,ia,jb->ijab", beta, x, x)


def token_update(beta: Pairs, x: Inputs, position: int, role: Role | str) -> Float[Tensor, "d d"]:
    """What one token adds: ``(sum_i beta_it* x_i) x_t*^T`` as context (Eq. S47), ``x_t* (sum_j beta_t*j x_j)^T`` else.

    Equation S50 prints the second one transposed. Both have rank 1.
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
    """``W_q W_q^T G + G W_k W_k^T``: what descent on W_q and W_k takes from W_qk, to first order, over its rate.

    Since ``dL/dW_q = G W_k`` and ``dL/dW_k = G^T W_q`` with ``G = dL/dW_qk``, head by head.

    Source: paper, Remark S1.6, Eq. S39.
    """
    return wq @ (gradient.mT @ wq).mT + gradient @ wk @ wk.mT


def cosine(a: Float[Tensor, "*shape"], b: Float[Tensor, "*shape"]) -> float:
    """``<A, B> / (||A|| ||B||)``: the angle between two tensors, in [-1, 1]; 0 where either is 0."""
    norms = a.norm() * b.norm()
    return float((a * b).sum() / norms) if norms > 0 else 0.0


def relative_error(measured: Float[Tensor, "*shape"], expected: Float[Tensor, "*shape"]) -> float:
    """``||A - B|| / ||B||`` in the Frobenius norm."""
    return float((measured - expected).norm() / expected.norm())
