"""The offsets to which a head attends by positions alone, and the symmetry on each wave that follows from them.

Let P be the rows of a position table minus their mean. Then ``g(m) = mean over i of (P W_qk P^T)[i, i + m]`` is the
mean score of a query for the key m places to its right. On a wave of frequency w, g acts as the complex number ``G(w) =
sum_m g(m) e^{iwm}``, that is, as a rotation by arg G(w) and a multiplication by |G(w)|. Its symmetry is ``cos(2 arg
G(w))``.
"""

import math
from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.waves import octaves, position_factors
from attngeo.errors import MatrixError

RANGE = 4  # a peak is searched at offsets of up to n / RANGE places; larger offsets are means over few pairs
NARROW = 16  # a hill of more than n / NARROW offsets does not count as a single offset


@dataclass(frozen=True)
class Peak:
    """The offset with the largest g, and whether it dominates."""

    offset: int  # m of the largest g(m); positive where keys lie to the right of their query
    width: int  # number of offsets around it with g above half of the peak, without a gap
    rest: float  # largest g outside this hill, divided by the peak; NaN if no offset is outside
    dominates: bool  # whether the peak is positive, its hill is narrow and within the range, and rest is at most 1/2


def kernel(form: BilinearForm, rows: Float[Tensor, "n d"], per_head: bool = False) -> Float[Tensor, "*heads 2*n-1"]:
    """``g(m) = mean over i of (P W_qk P^T)[i, i + m]`` for m from -(n - 1) to n - 1.

    Args:
        form: a layer, whose heads are summed (Eq. S20) unless ``per_head``.
        rows: what is added to the embedding at each position in use; P are these rows minus their mean.
        per_head: one kernel for each head.
    """
    n = len(rows)
    # the sums over diagonals are a cross-correlation, so no n x n matrix has to be formed
    q, k = (torch.fft.rfft(factor, 2 * n, dim=-2) for factor in position_factors(form, rows, per_head))
    sums = torch.fft.irfft((q.conj() * k).sum(-1), 2 * n, dim=-1)  # negative offsets are at the end
    offsets = torch.arange(-(n - 1), n, device=sums.device)
    return sums[..., offsets] / (n - offsets.abs())


def transfer(form: BilinearForm, rows: Float[Tensor, "n d"], per_head: bool = False) -> Complex[Tensor, "*heads f"]:
    """``G(w) = (1 / n) sum_{ij} (P W_qk P^T)_ij e^{iw(j - i)}`` for ``w = 2 pi f / n``, f from 0 to n / 2.

    This is ``sum_m (1 - |m| / n) g(m) e^{iwm}``, the Fourier transform of the kernel on n positions.

    Args:
        form: as for `kernel`.
        rows: as for `kernel`.
        per_head: one transform for each head.
    """
    q, k = (torch.fft.rfft(factor, dim=-2) for factor in position_factors(form, rows, per_head))
    return (q * k.conj()).sum(-1) / len(rows)


def symmetry_from_kernel(
    transferred: Complex[Tensor, "*heads f"], n: int, offset: int | None = None
) -> dict[int, Float[Tensor, "*heads"]]:
    """For each octave, ``sum_w |G(w)|^2 cos(2 arg G(w)) / sum_w |G(w)|^2``, from the `transfer` on n positions.

    With an ``offset`` m, ``cos(2wm)`` replaces ``cos(2 arg G(w))``, which gives the symmetry of a head that attends
    only to the offset m. The keys are the shortest periods of the octaves (`attngeo.bilinear.waves.octaves`), and 0 for
    all waves together.
    """
    power = transferred.abs().square()
    if n % 2 == 0:
        power[..., n // 2] /= 2  # the wave of period 2 has only a cosine, every other wave has a sine as well
    places = torch.arange(transferred.shape[-1], dtype=power.dtype, device=power.device)
    frequencies = 2 * math.pi * places / n
    cosines = (2 * transferred.angle()).cos() if offset is None else (2 * frequencies * offset).cos()
    scores = {}
    for period, (low, high) in {0: (1, n // 2), **octaves(n)}.items():
        here = slice(low, high + 1)
        total = power[..., here].sum(-1)
        scores[period] = torch.where(total > 0, (power * cosines)[..., here].sum(-1) / total, 0)
    return scores


def peak(g: Float[Tensor, " offsets"]) -> Peak:
    """The peak of a kernel on n positions within n / 4 places, and whether it dominates.

    The hill of a peak consists of the offsets around it at which g exceeds half of the peak. A peak dominates if g does
    not exceed half of the peak anywhere outside its hill, and if the hill ends within the range and has at most n / 16
    offsets.

    Args:
        g: the `kernel` of one head, with offset 0 in the middle.

    Raises:
        MatrixError: there are fewer than four positions.
    """
    n = (len(g) + 1) // 2
    reach = n // RANGE
    if reach < 1:
        raise MatrixError(
            f"{n} positions are too few, because offsets of up to a quarter of them are searched; give four or more"
            " positions."
        )
    values = g[n - 1 - reach : n + reach].tolist()
    at = values.index(max(values))
    highest = values[at]
    first = last = at
    while first > 0 and values[first - 1] > highest / 2:
        first -= 1
    while last < len(values) - 1 and values[last + 1] > highest / 2:
        last += 1
    outside = values[:first] + values[last + 1 :]
    rest = max(outside) / highest if outside and highest > 0 else math.nan
    width = last - first + 1
    is_hill = highest > 0 and first > 0 and last < len(values) - 1
    return Peak(at - reach, width, rest, is_hill and width <= n / NARROW and rest <= 0.5)
