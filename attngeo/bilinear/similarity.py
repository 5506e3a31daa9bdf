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
    (qa, ka), (qb, kb) = (form.per_head() if per_head else form.merged() for form in forms)
    # six products of factors, or else three products of d x d matrices
    if qa.shape == qb.shape and 2 * qa.shape[-1] < qa.shape[-2]:
        aq, gq, dq = _grams(qa, qb - qa)
        ak, gk, dk = _grams(ka, kb - ka)
        bq = aq + gq + gq.mT + dq  # Q_b^T Q_b
        bk = ak + gk + gk.mT + dk  # K_b^T K_b
        square_a, square_b = _sum(aq, ak), _sum(bq, bk)
        product = _sum(aq + gq, ak + gk)
        change = _sum(dq, bk) + _sum(aq, dk) + 2 * _sum(gq.mT, gk + dk)
    else:
        square_a, with_change, change = _by_rows((qa, ka), (qb, kb))
        square_b = square_a + 2 * with_change + change
        product = square_a + with_change
    lengths = (square_a * square_b).sqrt()
    return Similarity((product / lengths).clamp(-1, 1), (change.clamp_min(0) / square_a).sqrt())


def _by_rows(a: Factors, b: Factors) -> tuple[Tensor, Tensor, Tensor]:
    """``||A||^2``, ``<A, B - A>`` and ``||B - A||^2``, computed from some rows of A and B - A at a time."""
    (qa, ka), (qb, kb) = a, b
    if qa.shape == qb.shape:
        left, right = torch.cat((qb - qa, qa), -1), torch.cat((kb, kb - ka), -1)  # factors of B - A
    else:
        left, right = torch.cat((qb, -qa), -1), torch.cat((kb, ka), -1)
    rows = max(1, ENTRIES // ka[..., 0].numel())
    sums = []
    for start in range(0, qa.shape[-2], rows):
        here = slice(start, start + rows)
        m = qa[..., here, :] @ ka.mT
        change = left[..., here, :] @ right.mT
        sums.append([_sum(m, m), _sum(m, change), _sum(change, change)])
    square, product, of_change = (torch.stack(values).sum(0) for values in zip(*sums, strict=True))
    return square, product, of_change


def _grams(a: Tensor, change: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """``A^T A``, ``A^T D`` and ``D^T D``, which give all inner products of two forms of the same shape."""
    return (a.mT @ a).double(), (a.mT @ change).double(), (change.mT @ change).double()


def _sum(a: Tensor, b: Tensor) -> Tensor:
    return (a * b).sum((-2, -1), dtype=torch.float64)
