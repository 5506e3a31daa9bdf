"""The four sums both scores are made of: ||M||_F^2, Tr(MM), the row norms and the column norms.

They follow from the factors without forming M (d x d) where that is cheaper; the choice is made by operation count:
Gram products for heads and for forms of low rank, tiles of M for forms of full rank.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear import BilinearForm
from attngeo.errors import MatrixError

TILE = 1024  # rows and columns of M held at a time by `tiled_moments`
WIDE = 4096  # from this width on, entries of M rounded to bfloat16 move the scores less than float32 sums do


@dataclass(frozen=True)
class Moments:
    """Sums over M, or over each matrix of a batch (...), up to one positive scale factor per matrix.

    The scale keeps squares from overflowing; both scores are ratios, so it cancels.
    """

    square: Float[Tensor, "*batch"]  # ||M||_F^2 = Tr(M M^T)
    trace: Float[Tensor, "*batch"]  # Tr(M M)
    row_norms: Float[Tensor, "*batch d"]  # ||m_k,.||_2
    column_norms: Float[Tensor, "*batch d"]  # ||m_.,k||_2
    epsilon: float  # unit roundoff of the arithmetic that made the sums


def dense_moments(m: Float[Tensor, "*batch d d"]) -> Moments:
    """Moments of explicit square matrices, in float64.

    Raises:
        MatrixError: not square, empty, not real numbers, or not finite.
    """
    if m.ndim < 2 or m.shape[-1] != m.shape[-2]:
        raise MatrixError(f"a score needs a square matrix, this one has shape {tuple(m.shape)}.")
    if m.numel() == 0:
        raise MatrixError(f"a score needs at least one entry, this matrix has shape {tuple(m.shape)}.")
    if m.is_complex():
        raise MatrixError("a score needs real entries, this matrix is complex.")
    m = _unit_scale(m.detach().to(torch.float64), "the matrix", (-2, -1))
    return Moments(
        square=m.square().sum((-2, -1)),
        trace=(m * m.mT).sum((-2, -1)),
        row_norms=m.square().sum(-1).sqrt(),
        column_norms=m.square().sum(-2).sqrt(),
        epsilon=torch.finfo(torch.float64).eps,
    )


def form_moments(form: BilinearForm) -> Moments:
    """Moments of the summed form ``W_qk = sum_h W_qk,h`` (Eq. S20), in arithmetic one step wider than the factors."""
    dtype = _working_dtype(form)
    wq = _unit_scale(form.wq.detach().to(dtype), "W_q", (0, 1, 2))
    wk = _unit_scale(form.wk.detach().to(dtype), "W_k", (0, 1, 2))
    q, k = BilinearForm(wq, wk).merged()
    # d^2 r flops for tiles against about 3 d r^2 for Gram products, which also are the less parallel of the two
    if 3 * q.shape[-1] < q.shape[-2]:
        return gram_moments(q, k)
    if form.wq.dtype == torch.bfloat16 and form.n_heads == form.n_kv_heads and form.d_model >= WIDE:
        q, k = q.bfloat16(), k.bfloat16()  # exact: the scale is a power of two
    return tiled_moments(q, k)


def head_moments(form: BilinearForm) -> Moments:
    """Moments of every head's ``W_qk,h``, batch (H,), in arithmetic one step wider than the factors."""
    dtype = _working_dtype(form)
    wq, wk = form.per_head()
    wq = _unit_scale(wq.detach().to(dtype), "W_q", (1, 2))
    wk = _unit_scale(wk.detach().to(dtype), "W_k", (1, 2))
    return gram_moments(wq, wk)


def gram_moments(q: Float[Tensor, "*batch d rank"], k: Float[Tensor, "*batch d rank"]) -> Moments:
    """Moments of ``M = q k^T`` from three rank x rank products.

    With A = q^T q, B = k^T k, C = k^T q: ||M||^2 = sum(A * B), Tr(MM) = sum(C * C^T), ||m_k,.||^2 = (q B q^T)_kk,
    ||m_.,k||^2 = (k A k^T)_kk. Their relative error is about ``epsilon ||q||^2 ||k||^2 / ||M||^2``: factors whose
    products cancel almost entirely need tiles instead.
    """
    a, b, c = q.mT @ q, k.mT @ k, k.mT @ q
    return Moments(
        square=(a.double() * b.double()).sum((-2, -1)),
        trace=(c.double() * c.double().mT).sum((-2, -1)),
        row_norms=((q @ b) * q).sum(-1).clamp_min(0).double().sqrt(),
        column_norms=((k @ a) * k).sum(-1).clamp_min(0).double().sqrt(),
        epsilon=torch.finfo(q.dtype).eps,
    )


def tiled_moments(q: Float[Tensor, "d rank"], k: Float[Tensor, "d rank"], tile: int = TILE) -> Moments:
    """Moments of ``M = q k^T``, a pair of tiles (I, J), (J, I) of M at a time; M is never held whole.

    Of bfloat16 factors the products are exact and summed in float32, but each entry of M is rounded to bfloat16: a
    relative error of about 2^-9 / sqrt(d) in a norm, 2^-9 / d in s.
    """
    d, dtype = q.shape[0], torch.float32 if q.dtype == torch.bfloat16 else q.dtype
    square = trace = torch.zeros((), dtype=torch.float64, device=q.device)
    rows, columns = torch.zeros(2, d, dtype=torch.float64, device=q.device)
    for i in range(0, d, tile):
        for j in range(i, d, tile):
            here, there = slice(i, i + tile), slice(j, j + tile)
            upper = (q[here] @ k[there].T).to(dtype)  # M[I, J]
            lower = upper if i == j else (q[there] @ k[here].T).to(dtype)  # M[J, I]
            trace = trace + (1 if i == j else 2) * (upper * lower.T).sum(dtype=torch.float64)
            for block, r, c in ((upper, here, there), (lower, there, here))[: 1 if i == j else 2]:
                squares = block.square()
                rows[r] += squares.sum(1, dtype=torch.float64)
                columns[c] += squares.sum(0, dtype=torch.float64)
                square = square + squares.sum(dtype=torch.float64)
    return Moments(square, trace, rows.sqrt(), columns.sqrt(), torch.finfo(dtype).eps)


def _working_dtype(form: BilinearForm) -> torch.dtype:
    """float64 for float64 and float32 factors, float32 for the 16-bit types: products of two entries are then exact."""
    return torch.float64 if form.wq.dtype in (torch.float64, torch.float32) else torch.float32


def _unit_scale(x: Tensor, name: str, dims: tuple[int, ...]) -> Tensor:
    """``x`` over the power of two below its largest magnitude, an exact division; refuses NaN and infinity."""
    peak = x.abs().amax(dims, keepdim=True)
    if not torch.isfinite(peak).all():
        raise MatrixError(f"{name} holds NaN or infinite entries; a score needs finite weights.")
    return torch.ldexp(x, -torch.frexp(peak).exponent)
