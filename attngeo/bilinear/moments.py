"""The four sums from which both scores are computed: ||M||_F^2, Tr(MM), the row norms and the column norms.

Where this is cheaper, the sums are computed from the factors without forming M (d x d). The method is chosen by the
number of operations: Gram products for heads and for forms of low rank, and tiles of M for other forms.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm, described
from attngeo.errors import MatrixError

PANELS = (256, 512)  # rows and columns of a tile; at rank 8192, a tile and two panels of factors fit into 16 MiB
VIEWS = (512, 1024)  # the same if factors are used without a copy, so that panels take no memory
SMALL = 16 << 20  # bytes; if both factors together are smaller, they are converted at once and not by panels
WIDE = 4096  # from this width on, rounding errors of single entries average out and do not affect the scores
ROUGH = 512  # from this width on, float32 factors are multiplied in float32 first (`attngeo.bilinear.scores.score`)
NEAR_ONE = 20  # a factor whose largest power of two is at most this can be squared in float32 without scaling
UNEVEN = 30  # kurtosis of a tile (3 for normal entries) above which the rounding of a few entries would matter
COLUMNS = 512  # number of columns of a factor that are converted or multiplied at a time
CHUNK_BYTES = 4 << 20  # bytes of query factors converted at a time, few enough to stay in the cache


class Moments(NamedTuple):
    """Sums over M, or over each matrix of a batch (...), up to one positive scale factor per matrix.

    The scale factor prevents the overflow of squares. It cancels in both scores, which are ratios.
    """

    square: Float[Tensor, "*batch"]  # ||M||_F^2 = Tr(M M^T)
    trace: Float[Tensor, "*batch"]  # Tr(M M)
    row_norms: Float[Tensor, "*batch d"]  # ||m_k,.||_2
    column_norms: Float[Tensor, "*batch d"]  # ||m_.,k||_2
    epsilon: float  # unit roundoff of the arithmetic in which the sums were computed


def dense_moments(m: Float[Tensor, "*batch d d"]) -> Moments:
    """Moments of explicit square matrices, in float64.

    Raises:
        MatrixError: a matrix is not square, is empty, or has complex or non-finite entries.
    """
    if m.ndim < 2 or m.shape[-1] != m.shape[-2] or not m.numel() or m.is_complex():
        raise MatrixError(f"a score needs a square matrix of real entries; this matrix is {described(m)}.")
    m = m.detach().to(torch.float64)
    powers = _power(m.abs().amax((-2, -1), keepdim=True), "the matrix")
    if powers.abs().max() > NEAR_ONE:
        m = torch.ldexp(m, -powers)
    return Moments(
        square=m.square().sum((-2, -1)),
        trace=(m * m.mT).sum((-2, -1)),
        row_norms=m.square().sum(-1).sqrt(),
        column_norms=m.square().sum(-2).sqrt(),
        epsilon=torch.finfo(torch.float64).eps,
    )


def form_moments(form: BilinearForm, rough: bool = False) -> Moments:
    """Moments of the summed form ``W_qk = sum_h W_qk,h`` (Eq. S20), in higher precision than the factors have.

    With ``rough``, float32 factors of at least the width `ROUGH` are multiplied in float32. The error of a norm is then
    a few units of rounding, and the error of s is about 1e-8.
    """
    form = near_one(form)
    dtype, rank = working_dtype(form), form.n_kv_heads * form.d_head
    # Tiles need d^2 rank multiplications, in larger pieces. Gram products need 5 d rank^2. Both take equally long if
    # rank = d / 4.
    if 4 * rank < form.d_model:
        return gram_moments(_merged(form.wq, form, dtype), _merged(form.wk, form, dtype))
    if form.n_heads != form.n_kv_heads:  # sums of heads need the higher precision
        return tiled_moments(_merged(form.wq, form, dtype), _merged(form.wk, form, dtype))
    if rough and form.wq.dtype == torch.float32 and form.d_model >= ROUGH:
        dtype = torch.float32
    as_they_are = form.wq.dtype == torch.bfloat16 and form.d_model >= WIDE
    return tiled_moments(*form.merged(), torch.bfloat16 if as_they_are else dtype)


def head_moments(form: BilinearForm) -> Moments:
    """Moments of ``W_qk,h`` of every head, with the batch shape (H,), in higher precision than the factors have.

    A few heads are processed at a time. The sum over heads needs other products, between different heads, so it can
    only share the conversion of the factors, which is one hundredth of the work.
    """
    parts = [gram_moments(*chunk) for chunk in _chunks(form)]
    return Moments(
        square=torch.cat([part.square for part in parts]),
        trace=torch.cat([part.trace for part in parts]),
        row_norms=torch.cat([part.row_norms for part in parts]),
        column_norms=torch.cat([part.column_norms for part in parts]),
        epsilon=parts[0].epsilon,
    )


def gram_moments(
    q: Float[Tensor, "*batch d rank"],
    k: Float[Tensor, "*keys d rank"],
    b: Float[Tensor, "*keys rank rank"] | None = None,
) -> Moments:
    """Moments of ``M = q k^T`` from three rank x rank products, with one k for each q or one k for all q.

    With A = q^T q, B = k^T k and C = k^T q, the moments are ||M||^2 = sum(A * B), Tr(MM) = sum(C * C^T), ||m_k,.||^2 =
    (q B q^T)_kk and ||m_.,k||^2 = (k A k^T)_kk. Their relative error is about ``epsilon ||q||^2 ||k||^2 / ||M||^2``, so
    factors whose products cancel almost entirely need tiles instead. ``b`` is B, if it is already known.
    """
    a, b, c = q.mT @ q, k.mT @ k if b is None else b, k.mT @ q
    return Moments(
        square=(a.double() * b.double()).sum((-2, -1)),
        trace=(c.double() * c.double().mT).sum((-2, -1)),
        row_norms=_quadratic_form(q, b),
        column_norms=_quadratic_form(k, a),
        epsilon=torch.finfo(q.dtype).eps,
    )


def _quadratic_form(x: Tensor, gram: Tensor) -> Tensor:
    """``sqrt(x_k^T G x_k)`` for every row x_k of x (..., d, rank), in blocks of rows and in the memory layout of x."""
    rows = []
    for part in x.split(COLUMNS, dim=-2):
        product = part @ gram if _by_rows(x) else (gram @ part.mT).mT  # G is symmetric
        rows.append((product * part).sum(-1))
    return torch.cat(rows, -1).clamp_min_(0).double().sqrt()


def square_and_trace(
    q: Float[Tensor, "*batch d rank"], k: Float[Tensor, "*batch d rank"]
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """``||M||^2 = sum((q^T q) * (k^T k))`` and ``Tr(MM) = sum(C * C^T)`` of ``M = q k^T``, with ``C = k^T q``."""
    crossed = k.mT @ q
    return ((q.mT @ q) * (k.mT @ k)).sum((-2, -1)), (crossed * crossed.mT).sum((-2, -1))


def tiled_moments(q: Float[Tensor, "d rank"], k: Float[Tensor, "d rank"], dtype: torch.dtype | None = None) -> Moments:
    """Moments of ``M = q k^T``, for which a pair of tiles (I, J) and (J, I) of M is held in memory at a time.

    Products are computed in ``dtype``, by default the type of the factors. In bfloat16, the products are exact and are
    summed in float32, but each entry of M is rounded to bfloat16. This gives a relative error of about 2^-9 / sqrt(d)
    in a norm and of 2^-9 / d in s. Tiles in which a few entries outweigh the others are therefore computed in float32.
    """
    d, dtype = q.shape[0], dtype or q.dtype
    if 2 * q.numel() * dtype.itemsize <= SMALL:
        q, k = q.to(dtype), k.to(dtype)
    tile = VIEWS if dtype == q.dtype != torch.bfloat16 else PANELS
    trace = torch.zeros((), dtype=torch.float64, device=q.device)
    rows, columns = torch.zeros(2, d, dtype=torch.float64, device=q.device)
    for start in range(0, d, tile[0]):
        here = slice(start, start + tile[0])
        q_here, k_here = _panel(q[here], dtype), _panel(k[here], dtype)
        for there in (here, *(slice(j, j + tile[1]) for j in range(here.stop, d, tile[1]))):
            upper = _tile(q_here, k[there].T)  # M[I, J]
            if there == here:
                trace += (upper * upper.T).sum(1).sum(dtype=torch.float64)
            else:
                lower = _tile(k_here, q[there].T)  # M[J, I]^T
                trace += 2 * (upper * lower).sum(1).sum(dtype=torch.float64)
                squares = lower.square_()
                rows[there] += squares.sum(0)
                columns[here] += squares.sum(1)
            squares = upper.square_()
            rows[here] += squares.sum(1)
            columns[there] += squares.sum(0)
        del q_here, k_here  # frees their memory before the next panels are made
    return Moments(rows.sum(), trace, rows.sqrt(), columns.sqrt(), torch.finfo(upper.dtype).eps)


def _tile(panel: Tensor, factor: Tensor) -> Tensor:
    """``panel @ factor`` in the type of the panel; for bfloat16 in float32, with rounding where errors average out."""
    tile = panel @ factor.to(panel.dtype)
    if panel.dtype != torch.bfloat16:
        return tile
    tile = tile.float()
    squares = tile.square()
    if squares.square().mean() <= UNEVEN * squares.mean().square():
        return tile
    return sum(a.float() @ b.float() for a, b in zip(panel.split(COLUMNS, 1), factor.split(COLUMNS, 0), strict=True))


def _panel(x: Tensor, dtype: torch.dtype) -> Tensor:
    """A few rows of a factor. Converted factors and all bfloat16 factors are stored by rows, which makes products fast.

    The factor is first copied in its stored order, which makes the transposition fast.
    """
    if _by_rows(x) or x.dtype == dtype != torch.bfloat16:
        return x.to(dtype)
    return x.T.contiguous().T.to(dtype).contiguous()


def _by_rows(x: Tensor) -> bool:
    """Whether rows are contiguous in memory; the weights of `torch.nn.Linear` store factors by columns."""
    return x.stride(-1) == 1


def working_dtype(form: BilinearForm) -> torch.dtype:
    """float64, or float32 for 16-bit factors and for wide float32 factors, where the errors average out."""
    narrow = form.wq.dtype in (torch.bfloat16, torch.float16)
    wide = form.wq.dtype == torch.float32 and form.d_model >= WIDE
    return torch.float32 if narrow or wide else torch.float64


def _chunks(form: BilinearForm) -> Iterator[tuple[Tensor, Tensor, Tensor | None]]:
    """A few query heads (n, d, d_head) with their key heads: one for each, or a shared one together with its B."""
    form = near_one(form, each_head=True)
    wq, wk = form.wq, form.wk
    dtype, group = working_dtype(form), form.n_heads // form.n_kv_heads
    at_a_time = max(1, CHUNK_BYTES // (form.d_model * form.d_head * dtype.itemsize))
    if group == 1:
        for q, k in zip(wq.split(at_a_time), wk.split(at_a_time), strict=True):
            yield (q.to(dtype), k.to(dtype), None)
    else:
        for queries, key in zip(wq.split(group), wk, strict=True):
            k = key.to(dtype)
            b = k.mT @ k
            yield from ((q.to(dtype), k, b) for q in queries.split(at_a_time))


def _merged(factor: Tensor, form: BilinearForm, dtype: torch.dtype) -> Float[Tensor, "d rank"]:
    """A factor as in `BilinearForm.merged`, in the working type; one head is converted at a time."""
    per_key = len(factor) // form.n_kv_heads
    whole = torch.zeros(form.n_kv_heads, form.d_head, form.d_model, dtype=dtype, device=factor.device)
    for h, head in enumerate(factor):
        whole[h // per_key] += head.mT
    return whole.flatten(0, 1).T


def near_one(form: BilinearForm, each_head: bool = False) -> BilinearForm:
    """The form over powers of two, of each head or of all, where squares could leave the range of float32."""
    return BilinearForm(_near_one(form.wq, "W_q", each_head), _near_one(form.wk, "W_k", each_head))


def _near_one(factor: Tensor, name: str, each_head: bool = False) -> Tensor:
    """A factor (heads, d, d_head) whose largest magnitude, over all or in each head, is near 1, or 0.

    The factor itself, or where squares could leave the range of float32, the factor over powers of two.
    """
    factor = factor.detach()
    peaks = extremes(factor).abs().amax(0)
    powers = _power(peaks if each_head else peaks.amax(), name)
    if powers.abs().max() <= NEAR_ONE:
        return factor
    return torch.ldexp(factor, -powers.view(-1, 1, 1))


def extremes(factor: Float[Tensor, "heads d d_head"]) -> Float[Tensor, "2 heads"]:
    """The least and the greatest entry of every head, NaN if there is one."""
    as_stored = factor if _by_rows(factor) else factor.mT
    if on_gpu(factor):
        return torch.stack(torch.aminmax(as_stored.detach().flatten(1), dim=1))
    return torch.stack([torch.stack(torch.aminmax(head)) for head in as_stored.detach()], 1)


def on_gpu(x: Tensor) -> bool:
    """Whether a tensor is on a GPU with float64."""
    return x.is_cuda


def _power(peak: Tensor, name: str) -> Tensor:
    """The power of two above a largest magnitude, which must be finite."""
    if not torch.isfinite(peak).all():
        raise MatrixError(f"{name} contains NaN or infinite entries; a score needs finite weights.")
    return torch.frexp(peak.to(torch.float64)).exponent
