"""The four sums both scores are made of: ||M||_F^2, Tr(MM), the row norms and the column norms.

They follow from the factors without forming M (d x d) where that is cheaper; the choice is made by operation count:
Gram products for heads and for forms of low rank, tiles of M for forms of full rank.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear import BilinearForm
from attngeo.errors import MatrixError

TILE = 768  # rows and columns of M held at a time: a pair of tiles and what is made of them stay within 16 MiB
WIDE = 4096  # from this width on, rounding errors of single entries average out below what the scores show
NEAR_ONE = 20  # largest power of two in a factor whose squares are safe in float32 as they are
CHUNK_BYTES = 32 << 20  # of the heads' query factors converted at a time


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
    m = m.detach().to(torch.float64)
    m = torch.ldexp(m, -_power(m.abs().amax((-2, -1), keepdim=True), "the matrix"))
    return Moments(
        square=m.square().sum((-2, -1)),
        trace=(m * m.mT).sum((-2, -1)),
        row_norms=m.square().sum(-1).sqrt(),
        column_norms=m.square().sum(-2).sqrt(),
        epsilon=torch.finfo(torch.float64).eps,
    )


def form_moments(form: BilinearForm) -> Moments:
    """Moments of the summed form ``W_qk = sum_h W_qk,h`` (Eq. S20), in arithmetic wider than the factors."""
    rank, d = form.n_kv_heads * form.d_head, form.d_model
    powers = _power(_peak(form.wq), "W_q"), _power(_peak(form.wk), "W_k")
    # of wide bfloat16 factors the tiles are made as they are, unless squares could leave the range of float32
    as_they_are = form.wq.dtype == torch.bfloat16 and form.n_heads == form.n_kv_heads and d >= WIDE
    if 3 * rank >= d and as_they_are and max(abs(int(p)) for p in powers) <= NEAR_ONE:
        return tiled_moments(*form.merged())
    q, k = (_merged(factor, form, -power) for factor, power in zip((form.wq, form.wk), powers, strict=True))
    # d^2 rank multiplications for tiles against about 3 d rank^2 for Gram products
    if 3 * rank < d:
        return gram_moments(q, k)
    return tiled_moments(q.bfloat16(), k.bfloat16()) if as_they_are else tiled_moments(q, k)


def head_moments(form: BilinearForm) -> Moments:
    """Moments of every head's ``W_qk,h``, batch (H,), in arithmetic wider than the factors; a few heads at a time."""
    dtype = _working_dtype(form)
    at_a_time = max(1, CHUNK_BYTES // (form.d_model * form.d_head * dtype.itemsize))
    parts = []
    for wq, wk in _chunks(form, at_a_time):
        q = _near_one(wq, "W_q", dtype)
        parts.append(gram_moments(q, _near_one(wk, "W_k", dtype).expand_as(q)))
    fields = ("square", "trace", "row_norms", "column_norms")
    return Moments(*(torch.cat([getattr(part, name) for part in parts]) for name in fields), parts[0].epsilon)


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
        row_norms=_quadratic_form(q, b),
        column_norms=_quadratic_form(k, a),
        epsilon=torch.finfo(q.dtype).eps,
    )


def _quadratic_form(x: Tensor, gram: Tensor) -> Tensor:
    """``sqrt(x_k^T G x_k)`` for every row x_k of x (..., d, rank), TILE rows at a time."""
    rows = [((part @ gram).mul_(part)).sum(-1) for part in x.split(TILE, dim=-2)]
    return torch.cat(rows, -1).clamp_min_(0).double().sqrt()


def tiled_moments(q: Float[Tensor, "d rank"], k: Float[Tensor, "d rank"], tile: int = TILE) -> Moments:
    """Moments of ``M = q k^T``, a pair of tiles (I, J), (J, I) of M at a time; M is never held whole.

    Of bfloat16 factors the products are exact and summed in float32, but each entry of M is rounded to bfloat16: a
    relative error of about 2^-9 / sqrt(d) in a norm, 2^-9 / d in s.
    """
    d, dtype = q.shape[0], torch.float32 if q.dtype == torch.bfloat16 else q.dtype
    trace = torch.zeros((), dtype=torch.float64, device=q.device)
    rows, columns = torch.zeros(2, d, dtype=torch.float64, device=q.device)
    for i in range(0, d, tile):
        for j in range(i, d, tile):
            here, there = slice(i, i + tile), slice(j, j + tile)
            upper = (q[here] @ k[there].T).to(dtype)  # M[I, J]
            lower = upper.T if i == j else (k[here] @ q[there].T).to(dtype)  # M[J, I]^T
            trace += (1 if i == j else 2) * (upper * lower).sum(dtype=torch.float64)
            for block, r, c in ((upper, here, there), (lower.T, there, here))[: 1 if i == j else 2]:
                squares = block.square_()
                rows[r] += squares.sum(1)
                columns[c] += squares.sum(0)
    return Moments(rows.sum(), trace, rows.sqrt(), columns.sqrt(), torch.finfo(dtype).eps)


def _working_dtype(form: BilinearForm) -> torch.dtype:
    """float64, except for the 16-bit types and for wide float32 factors: there float32, whose errors average out."""
    narrow = form.wq.dtype in (torch.bfloat16, torch.float16)
    wide = form.wq.dtype == torch.float32 and form.d_model >= WIDE
    return torch.float32 if narrow or wide else torch.float64


def _chunks(form: BilinearForm, heads: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Up to ``heads`` query heads (n, d, d_head) and the key heads they read: as many, or one that they share."""
    wq, wk, group = form.wq.detach(), form.wk.detach(), form.n_heads // form.n_kv_heads
    if group == 1:
        yield from zip(wq.split(heads), wk.split(heads), strict=True)
    else:
        for queries, key in zip(wq.split(group), wk.split(1), strict=True):
            yield from ((part, key) for part in queries.split(heads))


def _merged(factor: Tensor, form: BilinearForm, power: Tensor) -> Float[Tensor, "d rank"]:
    """A factor as `BilinearForm.merged` has it, times 2^power, in the working type; one head converted at a time."""
    dtype, width, per_key = _working_dtype(form), form.d_head, len(factor) // form.n_kv_heads
    whole = torch.zeros(form.d_model, form.n_kv_heads * width, dtype=dtype, device=factor.device)
    for h, head in enumerate(factor.detach()):
        key = h // per_key
        whole[:, key * width : (key + 1) * width] += torch.ldexp(head.to(dtype), power)
    return whole


def _near_one(x: Tensor, name: str, dtype: torch.dtype) -> Tensor:
    """Heads (n, d, d_head), each over the power of two above its largest magnitude: an exact division."""
    x = x.to(dtype)
    return torch.ldexp(x, -_power(torch.linalg.vector_norm(x, float("inf"), (1, 2), keepdim=True), name))


def _peak(x: Tensor) -> Tensor:
    """The largest magnitude, head by head: a reduction of all at once would copy a transposed weight."""
    return torch.stack([torch.stack(torch.aminmax(head)).abs().amax() for head in x.detach()]).amax()


def _power(peak: Tensor, name: str) -> Tensor:
    """The power of two above a largest magnitude; refuses NaN and infinity."""
    if not torch.isfinite(peak).all():
        raise MatrixError(f"{name} holds NaN or infinite entries; a score needs finite weights.")
    return torch.frexp(peak.to(torch.float64)).exponent
