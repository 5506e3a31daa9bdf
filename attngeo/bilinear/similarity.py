"""How similar two query-key matrices are, computed from their factors without forming a whole d x d matrix."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.moments import working_dtype
from attngeo.errors import MatrixError

Factors = tuple[Tensor, Tensor]  # (..., d, rank) each
ENTRIES = 2**20  # number of entries of a matrix that are computed at a time


class Similarity(NamedTuple):
    """Comparison of two matrices, as 0-dimensional tensors, or of every head of two layers, as tensors (H,)."""

    cosine: Float[Tensor, "*heads"]
    relative_change: Float[Tensor, "*heads"]


def similarity(a: BilinearForm, b: BilinearForm, per_head: bool = False) -> Similarity:
    """``<A, B> / (||A|| ||B||)`` and ``||B - A|| / ||A||`` of the summed forms (Eq. S20), with Frobenius products.

    With ``per_head``, each head ``W_qk,h`` of A is compared with the same head of B, and the result has the shape (H,).

    For narrow factors, ``<A, B> = Tr(A^T B) = sum((Q_a^T Q_b) * (K_a^T K_b))``. For wide factors, it is summed over the
    rows of A and B. If the factors have the same shape, ``B - A`` is computed as ``(Q_b - Q_a) K_b^T + Q_a (K_b -
    K_a)^T``, so that small changes are not lost.

    Returns:
        The cosine is NaN if a matrix is zero. The relative change is NaN if both matrices are zero, and infinite if
        only A is zero.

    Raises:
        MatrixError: the forms differ in d.
    """
    if a.d_model != b.d_model:
        raise MatrixError(f"matrices of width {a.d_model} and {b.d_model} cannot be compared entry by entry.")
    dtype = torch.promote_types(working_dtype(a), working_dtype(b))
    forms = a.to(dtype), b.to(dtype)  # before heads are summed, because sums in the original type would be rounded
    (qa, ka), (qb, kb) = factors = [form.per_head() if per_head else form.merged() for form in forms]
    # six products of factors, or else three products of d x d matrices
    if qa.shape == qb.shape and 2 * qa.shape[-1] < qa.shape[-2]:
        (aq, gq, dq), (ak, gk, dk) = _grams(qa, qb - qa), _grams(ka, kb - ka)
        bk = ak + gk + gk.mT + dk  # K_b^T K_b
        square_a, square_b, product = _sum(aq, ak), _sum(aq + gq + gq.mT + dq, bk), _sum(aq + gq, ak + gk)
        change = _sum(dq, bk) + _sum(aq, dk) + 2 * _sum(gq.mT, gk + dk)
    else:
        square_a, with_change, change = _by_rows(*factors)
        product, square_b = square_a + with_change, square_a + 2 * with_change + change
    lengths = (square_a * square_b).sqrt()
    return Similarity((product / lengths).clamp(-1, 1), (change.clamp_min(0) / square_a).sqrt())


def _by_rows(a: Factors, b: Factors) -> tuple[Tensor, Tensor, Tensor]:
    """``||A||^2``, ``<A, B - A>`` and ``||B - A||^2``, computed from some rows of A and B - A at a time."""
    (qa, ka), (qb, kb) = a, b
    of_q, of_k = ((qb - qa, qa), (kb, kb - ka)) if qa.shape == qb.shape else ((qb, -qa), (kb, ka))
    left, right = torch.cat(of_q, -1), torch.cat(of_k, -1)
    sums, rows = [], max(1, ENTRIES // ka[..., 0].numel())
    for start in range(0, qa.shape[-2], rows):
        m, change = (q[..., start : start + rows, :] @ k.mT for q, k in ((qa, ka), (left, right)))
        sums.append([_sum(m, m), _sum(m, change), _sum(change, change)])
    square, product, of_change = (torch.stack(values).sum(0) for values in zip(*sums, strict=True))
    return square, product, of_change


def _grams(a: Tensor, change: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``A^T A``, ``A^T D`` and ``D^T D``, which give all inner products of two forms of the same shape."""
    return (a.mT @ a).double(), (a.mT @ change).double(), (change.mT @ change).double()


def _sum(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum((-2, -1), dtype=torch.float64)
