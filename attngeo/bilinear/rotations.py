"""Rotary positions: the query-key matrix between a query and a key at a given distance.

At position i, queries and keys are rotated by R_i, which turns each pair of coordinates by i times the frequency of the
pair. The logit of a query at i and a key at j depends on positions by ``R_i^T R_j = R_{j-i}`` alone.
"""

from dataclasses import dataclass

import torch

from attngeo.bilinear.form import BilinearForm
from attngeo.errors import MatrixError


@dataclass(frozen=True)
class Rotation:
    """How the positions of a layer rotate its queries and keys.

    Args:
        frequencies: the angle in radians by which each pair of coordinates turns from one position to the next.
        neighbours: whether pairs are the coordinates (2c, 2c + 1), or (c, c + n) with n the number of pairs. The
            coordinates of a head behind the last pair are not rotated.
        factor: by which the rotated coordinates of queries and of keys are multiplied.
    """

    frequencies: tuple[float, ...]
    neighbours: bool = False
    factor: float = 1.0

    def reweights(self, d_head: int) -> bool:
        """Whether the rotated coordinates of heads of this width are multiplied by another number than the others."""
        return self.factor != 1 and 2 * len(self.frequencies) < d_head


def at_distance(form: BilinearForm, m: int, rotation: Rotation) -> BilinearForm:
    """``sum_h W_q,h R_m W_k,g(h)^T`` for m = position of the key minus position of the query.

    R_m turns the pair c of coordinates by ``m * frequencies[c]``: ``(a, b) -> (a cos - b sin, a sin + b cos)``. The
    rotated factor has at least the precision of float32.

    Args:
        form: a layer, whose W_qk is that of distance 0.
        m: the distance in tokens; negative for keys before the query.
        rotation: of the layer.

    Raises:
        MatrixError: heads have fewer coordinates than the rotation.

    Source: Su et al. 2021, arXiv 2104.09864, Eq. 16.
    """
    n = len(rotation.frequencies)
    if 2 * n > form.d_head:
        raise MatrixError(f"a rotation of {n} pairs of coordinates does not fit heads of width {form.d_head}.")
    dtype = torch.promote_types(form.wk.dtype, torch.float32)
    # angles of distant positions are large, so they are computed in float64 whatever the type of the weights
    angles = m * torch.tensor(rotation.frequencies, dtype=torch.float64)
    cosines, sines = ((rotation.factor**2 * f(angles)).to(form.wk.device, dtype) for f in (torch.cos, torch.sin))
    keys = form.wk.to(dtype)
    places = torch.arange(2 * n, device=keys.device).view(*((n, 2) if rotation.neighbours else (2, n)))
    first, second = places.unbind(1 if rotation.neighbours else 0)
    a, b = keys[..., first], keys[..., second]
    rotated = keys.clone()
    rotated[..., first], rotated[..., second] = a * cosines - b * sines, a * sines + b * cosines
    return BilinearForm(form.wq.to(dtype), rotated)
