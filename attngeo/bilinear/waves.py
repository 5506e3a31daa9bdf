"""The symmetry of a query-key matrix on the waves that make up a table of position embeddings, by octave."""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.moments import square_and_trace
from attngeo.errors import MatrixError


def waves(n: int, low: int, high: int) -> Float[Tensor, "n k"]:
    """Orthonormal columns: ``cos(2 pi f i / n)`` and ``sin(2 pi f i / n)`` for every integer f from low to high.

    Args:
        n: number of positions.
        low: the smallest number of periods within the n positions, at least 1.
        high: the largest number of periods, at most n / 2. For n / 2, the sine vanishes and only the cosine is kept.

    Raises:
        MatrixError: no such wave exists on n positions.
    """
    if not 1 <= low <= high <= n // 2:
        raise MatrixError(f"{n} positions have waves with 1 to {n // 2} periods, but none with {low} to {high}.")
    angles = 2 * math.pi * torch.arange(n, dtype=torch.float64)[:, None] * torch.arange(low, high + 1) / n
    cosines, sines = angles.cos(), angles.sin()
    if 2 * high == n:
        sines = sines[:, :-1]
    columns = torch.cat([cosines, sines], 1)
    return columns / columns.norm(dim=0)


def octaves(n: int) -> dict[int, tuple[int, int]]:
    """The octaves of the waves on n positions: each period p, in positions, with the range of f in its octave.

    The octave of p contains the waves with periods from p to below 2 p. A wave with f periods within n positions has
    the period n / f, which lies between 2 and n.
    """
    found: dict[int, tuple[int, int]] = {}
    for f in range(n // 2, 0, -1):
        period = 2 ** int(math.log2(n / f) + 1e-12)
        low, high = found.get(period, (f, f))
        found[period] = (min(low, f), max(high, f))
    return found


def octave_scores(
    form: BilinearForm, rows: Float[Tensor, "n d"], per_head: bool = False
) -> dict[int, tuple[Float[Tensor, "*heads"], Float[Tensor, "*heads"]]]:
    """For each octave, s of ``B^T P W_qk P^T B``, and its squared norm as a share of that of ``P W_qk P^T``.

    P are the position rows minus their mean, and B are the waves of the octave (`waves`). The key 0 stands for all
    waves together, that is, for ``P W_qk P^T`` itself.

    Args:
        form: a layer, whose heads are summed (Eq. S20) unless ``per_head``.
        rows: what is added to the embedding at each position in use, in the coordinates of the input of the layer.
        per_head: whether to score every head, (H,).

    Raises:
        MatrixError: there are fewer than two rows.
    """
    n = len(rows)
    if n < 2:
        raise MatrixError(f"{n} position has no waves; give the rows of at least two positions.")
    q, k = position_factors(form, rows, per_head)
    square, trace = square_and_trace(q, k)
    scores = {0: (_ratio(trace, square), torch.ones_like(square))}
    for period, (low, high) in octaves(n).items():
        part, part_trace = square_and_trace(_in_waves(q, low, high), _in_waves(k, low, high))
        scores[period] = (_ratio(part_trace, part), _ratio(part, square))
    return scores


def position_factors(
    form: BilinearForm, rows: Float[Tensor, "n d"], per_head: bool = False
) -> tuple[Float[Tensor, "*heads n r"], Float[Tensor, "*heads n r"]]:
    """``P W_q`` and ``P W_k`` in float64, where P are the position rows minus their mean."""
    rows = rows.detach().double()
    centred = rows - rows.mean(0)
    wq, wk = form.per_head() if per_head else form.merged()
    return centred @ wq.detach().double(), centred @ wk.detach().double()


def _in_waves(x: Float[Tensor, "*heads n r"], low: int, high: int) -> Float[Tensor, "*heads k r"]:
    """``B^T x`` for the waves B from low to high, up to the signs of the sines, by a fast Fourier transform."""
    n = x.shape[-2]
    transformed = torch.fft.rfft(x, dim=-2)[..., low : high + 1, :] * (2 / n) ** 0.5
    cosines, sines = transformed.real, transformed.imag
    if 2 * high == n:  # the wave of period 2 has only a cosine, whose norm is sqrt(n) rather than sqrt(n / 2)
        cosines = torch.cat([cosines[..., :-1, :], cosines[..., -1:, :] / 2**0.5], -2)
        sines = sines[..., :-1, :]
    return torch.cat([cosines, sines], -2)


def _ratio(a: Tensor, b: Tensor) -> Tensor:
    return torch.where(b > 0, a / b, 0)
