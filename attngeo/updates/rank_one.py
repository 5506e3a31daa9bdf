"""What one sequence does to W_qk: rank-1 terms, their exact coefficients, and the update through W_q and W_k.

Throughout, x is (N, d) with x_i in row i, the input of the attention layer; row index i of a coefficient matrix is the
query position, column index j the position it attends to. Then ``sum_ij beta_ij x_i x_j^T = X^T B X``.
"""

from dataclasses import dataclass
from enum import Enum

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import ParameterError
from attngeo.forms.bilinear import BilinearForm


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


def linear_coefficients(
    values: Float[Tensor, "*heads n d"], errors: Float[Tensor, "n d"], scale: float = 1.0
) -> Float[Tensor, "*heads n n"]:
    """``beta_ij = delta_i^T x_j = g_i^T v_j`` (Eqs. S31, S35): the gradient when attention has no softmax (Eq. S33).

    Sum only over attended pairs. The paper's scale is 1; attention weights ``scale * x_i^T W_qk x_j`` carry their own.

    Args:
        values: v_j, as in `exact_coefficients`, (..., N, d).
        errors: g_i, (N, d).
        scale: factor on the scores.
    """
    return scale * (errors @ values.mT)


def gradient_sum(beta: Float[Tensor, "*heads n n"], x: Float[Tensor, "n d"]) -> Float[Tensor, "*heads d d"]:
    """``sum_i sum_j beta_ij K_ij = X^T B X``, ``K_ij = x_i x_j^T`` (Eqs. 8, 10), (..., d, d)."""
    return x.T @ beta @ x


def rank_one_terms(beta: Float[Tensor, "n n"], x: Float[Tensor, "n d"]) -> Float[Tensor, "n n d d"]:
    """``beta_ij K_ij = beta_ij x_i x_j^T`` for every pair (Eq. 10), (N, N, d, d): small N and d only."""
    return torch.einsum("ij,ia,jb->ijab", beta, x, x)


def by_prediction(beta: Float[Tensor, "n n"], x: Float[Tensor, "n d"]) -> Float[Tensor, "n d d"]:
    """``x_i (sum_{j in C_i} beta_ij x_j)^T`` for every i (Eq. 8, right of Eq. S46): each position as the query."""
    return torch.einsum("ia,ib->iab", x, beta @ x)


def by_context(beta: Float[Tensor, "n n"], x: Float[Tensor, "n d"]) -> Float[Tensor, "n d d"]:
    """``(sum_{i in P_j} beta_ij x_i) x_j^T`` for every j (Eq. 9, middle of Eq. S46): each position as the key."""
    return torch.einsum("ja,jb->jab", beta.T @ x, x)


class Role(str, Enum):
    """The part a token plays in a pair (Prop. S1.7)."""

    CONTEXT = "context"  # t_j = t*: it predicts
    PREDICTION = "prediction"  # t_i = t*: it is predicted

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ParameterError(f"the role {value!r} is unknown; use one of {', '.join(r.value for r in cls)}.")


def token_update(
    beta: Float[Tensor, "n n"], x: Float[Tensor, "n d"], position: int, role: Role | str
) -> Float[Tensor, "d d"]:
    """What one token adds: ``(sum_i beta_it* x_i) x_t*^T`` as context (Eq. S47), ``x_t* (sum_j beta_t*j x_j)^T`` else.

    Equation S50 prints the second one transposed. Both have rank 1.

    Raises:
        ParameterError: unknown role, or a position that is not in the sequence.
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
    if not 0 <= position < len(x):
        raise ParameterError(f"position {position} does not exist; the sequence has positions 0 to {len(x) - 1}.")
    if Role(role) is Role.CONTEXT:
        return beta[:, position] @ x, x[position]
    return x[position], beta[position] @ x


@dataclass(frozen=True)
class ImplicitUpdate:
    """What one step of gradient descent on W_q and W_k does to each head's W_qk; the two orders add up exactly."""

    first_order: Float[Tensor, "heads d d"]  # -eta (W_q (dL/dW_k)^T + dL/dW_q W_k^T)
    second_order: Float[Tensor, "heads d d"]  # eta^2 dL/dW_q (dL/dW_k)^T
    after: BilinearForm  # the form with both factors moved

    @property
    def total(self) -> Float[Tensor, "heads d d"]:
        """The whole change of every head's W_qk."""
        return self.first_order + self.second_order


def implicit_update(form: BilinearForm, gradients: Float[Tensor, "heads d d"], learning_rate: float) -> ImplicitUpdate:
    """``dW_qk = -eta (W_q W_q^T G + G W_k W_k^T) + eta^2 G W_k W_q^T G`` per head (Remark S1.6, Eq. S39).

    It follows from ``dL/dW_q = G W_k`` and ``dL/dW_k = G^T W_q``. Query heads that share a key head add their
    gradients there.

    Args:
        form: the factors before the step.
        gradients: ``G_h = dL/dW_qk,h`` of every query head, (H, d, d), such as `gradient_sum` gives.
        learning_rate: eta; a positive one descends.
    """
    wq, wk = form.per_head()
    grad_q = gradients @ wk  # (H, d, d_head)
    grad_k = (gradients.mT @ wq).unflatten(0, (form.n_kv_heads, -1)).sum(1)  # (H_kv, d, d_head)
    after = BilinearForm(form.wq - learning_rate * grad_q, form.wk - learning_rate * grad_k)
    shared = grad_k.repeat_interleave(form.n_heads // form.n_kv_heads, dim=0)
    return ImplicitUpdate(
        first_order=-learning_rate * (wq @ shared.mT + grad_q @ wk.mT),
        second_order=learning_rate**2 * grad_q @ shared.mT,
        after=after,
    )


def cosine(a: Float[Tensor, "*shape"], b: Float[Tensor, "*shape"]) -> float:
    """``<A, B> / (||A|| ||B||)``: the angle between two tensors, in [-1, 1]; 0 where either is 0."""
    norms = a.norm() * b.norm()
    return float((a * b).sum() / norms) if norms > 0 else 0.0


def relative_error(measured: Float[Tensor, "*shape"], expected: Float[Tensor, "*shape"]) -> float:
    """``||A - B|| / ||B||`` in the Frobenius norm."""
    return float((measured - expected).norm() / expected.norm())


def alignment_at_random_factors(d: int, d_head: int) -> float:
    """``cos(dW_qk, G) = sqrt(2 d_head / (d + 2 d_head + 1))`` for Gaussian W_q, W_k of equal scale and a fixed G.

    The cosine of the mean moments, exact for every G that does not depend on the factors. For unit variance ``A = W_q
    W_q^T`` has mean ``d_head I`` and mean square ``d_head (d + d_head + 1) I``, and so has ``B = W_k W_k^T``: hence
    ``E <AG + GB, G> = 2 d_head ||G||^2`` and ``E ||AG + GB||^2 = 2 d_head (d + 2 d_head + 1) ||G||^2``.

    Raises:
        ParameterError: d or d_head below 1.
    """
    _check_widths(d, d_head)
    return (2 * d_head / (d + 2 * d_head + 1)) ** 0.5


def symmetry_at_random_factors(d: int, d_head: int, trace_share: float = 0.0) -> float:
    """``s(dW_qk) = (2 d_head + 1 + t) / (d + 2 d_head + 1)``, ``t = Tr(G)^2 / ||G||^2``, for a symmetric G.

    As in `alignment_at_random_factors`, with ``E[A G A] = d_head^2 G + d_head (G + Tr(G) I)``, whence ``E Tr(dW dW) = 2
    d_head (2 d_head + 1 + t) ||G||^2``. The update of a symmetric gradient is far from symmetric when d_head << d.

    Raises:
        ParameterError: d or d_head below 1.
    """
    _check_widths(d, d_head)
    return (2 * d_head + 1 + trace_share) / (d + 2 * d_head + 1)


def sample_alignment(
    gradient: Float[Tensor, "d d"], d_head: int, draws: int, seed: int
) -> tuple[Float[Tensor, " draws"], Float[Tensor, " draws"]]:
    """``cos(dW_qk, G)`` and ``s(dW_qk)`` of the first-order update, for draws of Gaussian W_q, W_k (d, d_head).

    Raises:
        ParameterError: d_head below 1.
    """
    d = gradient.shape[0]
    _check_widths(d, d_head)
    generator = torch.Generator().manual_seed(seed)
    wq, wk = torch.randn(2, draws, d, d_head, generator=generator, dtype=gradient.dtype)
    moved = implicit_update(BilinearForm(wq, wk), gradient.expand(draws, d, d), -1.0).first_order
    square = moved.square().sum((1, 2))
    inner = (moved * gradient).sum((1, 2))
    return inner / (square.sqrt() * gradient.norm()), (moved * moved.mT).sum((1, 2)) / square


def _check_widths(d: int, d_head: int) -> None:
    if d < 1 or d_head < 1:
        raise ParameterError(f"d is {d} and d_head is {d_head}; both must be at least 1.")
