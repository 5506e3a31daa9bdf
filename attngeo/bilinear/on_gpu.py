"""The sums of `attngeo.bilinear.moments` on a GPU, where it takes longer to start an operation than to do its work.

The matrix of a layer is formed at once instead of by tiles, all heads are multiplied together, and rows and columns are
treated as one tensor. Nothing here waits for the GPU.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.moments import Moments

STRIPE = 2048  # number of rows of a matrix that are multiplied by its columns at a time
BYTES = 256 << 20  # bytes of query factors that are multiplied at a time: all heads of a layer of width 8192 in float32


def summed_on_gpu(form: BilinearForm, dtype: torch.dtype) -> Moments:
    """Moments of the summed form, with products in the given type."""
    q, k = _side_by_side(form, dtype)
    epsilon = torch.finfo(dtype).eps
    if 4 * q.shape[1] < form.d_model:  # as on a CPU
        squares, traces, norms = _by_products(q[None], k[None])
        return Moments(squares[0], traces[0], norms[0, 0], norms[1, 0], epsilon)
    square, trace, norms = _whole(q, k)
    return Moments(square, trace, norms[0], norms[1], epsilon)


def heads_on_gpu(form: BilinearForm, dtype: torch.dtype) -> Moments:
    """Moments of every head, with the batch shape (H,) and products in the given type."""
    q, k = (factor.detach() for factor in form.per_head())
    at_a_time = max(1, BYTES // (form.d_model * form.d_head * dtype.itemsize))
    pairs = zip(q.split(at_a_time), k.split(at_a_time), strict=True)
    squares, traces, norms = zip(*(_by_products(a.to(dtype), b.to(dtype)) for a, b in pairs), strict=True)
    rows, columns = _joined(norms, dim=1)
    return Moments(_joined(squares), _joined(traces), rows, columns, torch.finfo(dtype).eps)


def _joined(parts: Sequence[Tensor], dim: int = 0) -> Tensor:
    """The parts as one tensor, without an operation if there is only one part."""
    return torch.cat(list(parts), dim) if len(parts) > 1 else parts[0]


def _by_products(q: Float[Tensor, "heads d r"], k: Float[Tensor, "heads d r"]) -> tuple[Tensor, Tensor, Tensor]:
    """``||M||^2``, ``Tr(MM)`` and the norms of rows and columns, (2, heads, d), as `gram_moments` computes them."""
    factors = torch.stack((q, k))
    with full_float32():
        grams, crossed = factors.mT @ factors, k.mT @ q
        squares = ((factors @ grams.flip(0)) * factors).sum(-1).double()  # (2, heads, d)
    crossed = crossed.double()
    return squares[0].sum(-1), (crossed * crossed.mT).sum((-2, -1)), squares.clamp_min_(0).sqrt_()


def _whole(q: Float[Tensor, "d r"], k: Float[Tensor, "d r"]) -> tuple[Tensor, Tensor, Tensor]:
    """``||M||^2``, ``Tr(MM)`` and the norms of rows and columns, (2, d), of ``M = q k^T``, which is held in memory."""
    with full_float32():
        m = q @ k.T
    norms = torch.stack([torch.linalg.vector_norm(m, dim=axis) for axis in (1, 0)]).double()
    stripes = [slice(start, start + STRIPE) for start in range(0, len(m), STRIPE)]
    traces = [(m[here] * m[:, here].T).sum(1) for here in stripes]  # summed in float32 along a row alone
    return norms[0].square().sum(), torch.cat(traces).sum(dtype=torch.float64), norms


def _side_by_side(form: BilinearForm, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """The factors of `BilinearForm.merged` in a type, converted before query heads are added up."""
    if form.n_heads != form.n_kv_heads:
        return form.to(dtype).merged()
    sides = (factor.detach().transpose(0, 1) for factor in (form.wq, form.wk))
    q, k = (x if x.dtype == dtype else x.to(dtype, memory_format=torch.contiguous_format) for x in sides)
    return q.flatten(1), k.flatten(1)


def to_cpu(*parts: Tensor) -> list[Tensor]:
    """Tensors on the CPU in float64, for which it waits once."""
    one = torch.cat([part.detach().reshape(-1) for part in parts]).cpu().double()
    pieces = one.split([part.numel() for part in parts])
    return [piece.view(part.shape) for piece, part in zip(pieces, parts, strict=True)]


@contextmanager
def full_float32() -> Iterator[None]:
    """Products in float32 with all 24 bits of the mantissa; with TF32, a GPU uses 11 bits, too few for a score."""
    matmul = torch.backends.cuda.matmul
    name, full = ("fp32_precision", "ieee") if hasattr(matmul, "fp32_precision") else ("allow_tf32", False)
    before = getattr(matmul, name)
    setattr(matmul, name, full)
    try:
        yield
    finally:
        setattr(matmul, name, before)
