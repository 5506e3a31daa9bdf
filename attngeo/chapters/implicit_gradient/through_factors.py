"""The update of W_qk when W_q and W_k move (Remark S1.6), and how it lies to the gradient at random factors."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import ParameterError
from attngeo.forms.bilinear import BilinearForm


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

    It follows from ``dL/dW_q = G W_k`` and ``dL/dW_k = G^T W_q`` with ``G_h = dL/dW_qk,h``. Query heads that share a
    key head add their gradients there. A positive eta descends.
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


def alignment_at_random_factors(d: int, d_head: int) -> float:
    """``cos(dW_qk, G) = sqrt(2 d_head / (d + 2 d_head + 1))`` for Gaussian W_q, W_k of equal scale and a fixed G.

    The cosine of the mean moments, exact for every G that does not depend on the factors. For unit variance ``A = W_q
    W_q^T`` has mean ``d_head I`` and mean square ``d_head (d + d_head + 1) I``, and so has ``B = W_k W_k^T``: hence
    ``E <AG + GB, G> = 2 d_head ||G||^2`` and ``E ||AG + GB||^2 = 2 d_head (d + 2 d_head + 1) ||G||^2``.
    """
    _check_widths(d, d_head)
    return (2 * d_head / (d + 2 * d_head + 1)) ** 0.5


def symmetry_at_random_factors(d: int, d_head: int, trace_share: float = 0.0) -> float:
    """``s(dW_qk) = (2 d_head + 1 + t) / (d + 2 d_head + 1)``, ``t = Tr(G)^2 / ||G||^2``, for a symmetric G.

    As in `alignment_at_random_factors`, with ``E[A G A] = d_head^2 G + d_head (G + Tr(G) I)``, whence ``E Tr(dW dW) = 2
    d_head (2 d_head + 1 + t) ||G||^2``. The update of a symmetric gradient is far from symmetric when d_head << d.
    """
    _check_widths(d, d_head)
    return (2 * d_head + 1 + trace_share) / (d + 2 * d_head + 1)


def sample_alignment(
    gradient: Float[Tensor, "d d"], d_head: int, draws: int, seed: int
) -> tuple[Float[Tensor, " draws"], Float[Tensor, " draws"]]:
    """``cos(dW_qk, G)`` and ``s(dW_qk)`` of the first-order update, for draws of Gaussian W_q, W_k (d, d_head)."""
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
