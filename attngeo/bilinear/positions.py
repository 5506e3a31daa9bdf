"""The position space of a model, and how much of a query-key matrix and of its symmetry lies in this space.

Let P be the projection onto the position space, and Q = 1 - P. Then ``M = PMP + QMQ + (PMQ + QMP)`` is a sum of three
matrices. Each of them is orthogonal to the other two and to their transposes, so squared norms and Tr(MM) add up.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.moments import square_and_trace
from attngeo.errors import MatrixError

VARIANCE = 0.9  # share of the variance of the centred position rows that lies in the position space
ROUNDING = 1e-12  # a part with a smaller share of ||M||^2 counts as zero


@dataclass(frozen=True)
class PositionSplit:
    """Shares of ``||M||^2`` and scores s of the three parts of a matrix, as 0-dimensional tensors or by head (H,).

    ``symmetry = share * inside + share_outside * outside + share_mixed * mixed``. A part that is zero has s = 0.
    """

    symmetry: Float[Tensor, "*heads"]  # of M itself
    share: Float[Tensor, "*heads"]  # of PMP: queries and keys both read positions
    share_at_random: Float[Tensor, "*heads"]  # its expectation for a random space: `share_at_random`
    inside: Float[Tensor, "*heads"]  # s of PMP
    share_outside: Float[Tensor, "*heads"]  # of QMQ
    outside: Float[Tensor, "*heads"]  # s of QMQ
    share_mixed: Float[Tensor, "*heads"]  # of PMQ + QMP: only queries or only keys read positions
    mixed: Float[Tensor, "*heads"]  # s of PMQ + QMP


def position_space(rows: Float[Tensor, "positions d"], variance: float = VARIANCE) -> Float[Tensor, "d k"]:
    """The smallest number of leading directions that contain the given share of the variance of the position rows.

    Let ``X = rows - mean`` have the singular values s_i and the right singular vectors v_i. The result is v_1, ..., v_k
    for the smallest k with ``sum_{i <= k} s_i^2 >= variance * ||X||^2``. The mean row is subtracted because it does not
    distinguish positions.

    Args:
        rows: what is added to the embedding at each position (Def. S1.1), in the coordinates of the input of the layer.
        variance: share of the variance, above 0 and at most 1.

    Returns:
        Orthonormal columns in float64.

    Raises:
        MatrixError: all rows are equal, or some entries are not finite.
    """
    rows = rows.detach().double()
    centred = rows - rows.mean(0)
    if not centred.norm() > torch.finfo(rows.dtype).eps * rows.norm():  # NaN, too
        raise MatrixError("the position rows are all equal or not finite, so they do not distinguish positions.")
    _, values, directions = torch.linalg.svd(centred, full_matrices=False)
    held = values.square().cumsum(0) / values.square().sum()
    k = int((held < variance - 1e-12).sum()) + 1
    return directions[:k].T.contiguous()


def split_score(form: BilinearForm, basis: Float[Tensor, "d k"], per_head: bool = False) -> PositionSplit:
    """Shares and scores of PMP, QMQ and PMQ + QMP of the summed form (Eq. S20), ``P = basis basis^T``, ``Q = 1 - P``.

    With ``per_head``, the result is for every head, (H,). The basis must have orthonormal columns. ``M = q k^T`` is not
    formed, because ``P M P`` has the factors P q and P k (`attngeo.bilinear.moments.square_and_trace`).
    """
    d, dimension = basis.shape
    basis = basis.double()
    q, k = (factor.detach().double() for factor in (form.per_head() if per_head else form.merged()))
    of_q, of_k = basis.T @ q, basis.T @ k  # (..., k, rank): equivalent to P q and P k, since the basis is orthonormal
    square, trace = square_and_trace(q, k)
    square_inside, trace_inside = square_and_trace(of_q, of_k)
    square_outside, trace_outside = square_and_trace(q - basis @ of_q, k - basis @ of_k)
    square_mixed = square - square_inside - square_outside
    trace_mixed = trace - trace_inside - trace_outside
    symmetry = _ratio(trace, square)
    return PositionSplit(
        symmetry=symmetry,
        share=_ratio(square_inside, square),
        share_at_random=share_at_random(square, symmetry, (q * k).sum((-2, -1)), d, dimension),
        inside=_ratio(trace_inside, square_inside, square),
        share_outside=_ratio(square_outside, square),
        outside=_ratio(trace_outside, square_outside, square),
        share_mixed=_ratio(square_mixed, square),
        mixed=_ratio(trace_mixed, square_mixed, square),
    )


def share_at_random(
    square: Float[Tensor, "*heads"], symmetry: Float[Tensor, "*heads"], trace: Float[Tensor, "*heads"], d: int, k: int
) -> Float[Tensor, "*heads"]:
    """``E ||PMP||^2 / ||M||^2 = a + b (s + Tr(M)^2 / ||M||^2)`` over random k-dimensional subspaces of d dimensions.

    ``a = k (k (d + 1) - 2) / (d (d - 1) (d + 2))``, close to (k / d)^2, and ``b = k (d - k) / (d (d - 1) (d + 2))``,
    from ``E P_ij P_kl = a [ij][kl] + b ([ik][jl] + [il][jk])``, where [ij] is 1 if i = j. ``square`` is ||M||^2.
    """
    if k == d:
        return torch.ones_like(square)
    a = k * (k * (d + 1) - 2) / (d * (d - 1) * (d + 2))
    b = k * (d - k) / (d * (d - 1) * (d + 2))
    return a + b * (symmetry + _ratio(trace.square(), square))


def _ratio(a: Tensor, b: Tensor, whole: Tensor | float = 0) -> Tensor:
    """a / b, or 0 if b is 0 or only a rounding error compared with the whole."""
    return torch.where(b > ROUNDING * whole, a / b, 0)


def sinusoids(positions: int, d: int) -> Float[Tensor, "positions d"]:
    """The position table of Whisper's encoder: ``sin(i f_c)`` in the first half of the columns, then ``cos(i f_c)``.

    The frequencies f_c decrease from 1 to 1e-4, evenly spaced in their logarithm.

    Source: Radford et al. 2022, arXiv 2212.04356; ``sinusoids`` in transformers' Whisper.
    """
    frequencies = torch.logspace(0, -4, d // 2, dtype=torch.float64)
    angles = torch.arange(positions, dtype=torch.float64)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], 1)
