"""What is left of a layer's symmetry when the same part is taken away from every head."""

import math

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.moments import form_moments
from chapters.heads_or_sum.overlaps import Overlaps, overlaps

NOTHING = "nothing"
COORDINATES = 0.01  # share of the coordinates that are taken away
LEADING = {"leading pair": 0.0, "leading 2 %": 0.02, "leading 10 %": 0.1}  # share of d, at least 1 pair


def without_directions(form: BilinearForm, basis: Float[Tensor, "d n"]) -> BilinearForm:
    """``P M_h P`` for every head, P the projection off the span of orthonormal columns."""
    return BilinearForm(*(w - basis @ (basis.T @ w) for w in (form.wq, form.wk)))


def without_coordinates(form: BilinearForm, indices: Int[Tensor, " n"]) -> BilinearForm:
    """Every ``M_h`` with these rows and columns set to 0."""
    return BilinearForm(*(w.index_fill(1, indices, 0) for w in (form.wq, form.wk)))


def without_diagonal(form: BilinearForm) -> Overlaps:
    """Overlaps of ``M_h`` less its diagonal: ``<diag M_g, diag M_h>`` is taken from either inner product."""
    q, k = form.per_head()
    diagonals = (q * k).sum(2).double()  # (H, d)
    whole, taken = overlaps(form), diagonals @ diagonals.T
    return Overlaps(whole.traces - taken, whole.products - taken)


def leading_directions(form: BilinearForm, n: int) -> Float[Tensor, "d size"]:
    """Orthonormal basis of the n leading left and the n leading right singular vectors of the summed form."""
    (z_q, r_q), (z_k, r_k) = (torch.linalg.qr(factor) for factor in form.merged())
    left, _, right = torch.linalg.svd(r_q @ r_k.T)
    return _orthonormal(torch.cat([z_q @ left[:, :n], z_k @ right.mT[:, :n]], 1))


def _orthonormal(columns: Float[Tensor, "d n"]) -> Float[Tensor, "d size"]:
    """An orthonormal basis of the columns' span; of columns that depend on others, none is kept."""
    left, singular, _ = torch.linalg.svd(columns, full_matrices=False)
    return left[:, singular > 1e-10 * singular[0]]


def removals(form: BilinearForm, seed: int = 0) -> dict[tuple[str, bool], Overlaps]:
    """Overlaps of the layer as it is and without each part: (what is taken, whether at random) -> `Overlaps`.

    The same part is taken from every head, on the side of the queries and on that of the keys. The mean direction is
    (1, ..., 1): without it rows and columns have mean 0. The largest coordinates are those of the largest norms of row
    and column together. A diagonal has no counterpart at random; by chance it holds a d-th of the squared norm.
    """
    form = form.to(torch.float64)
    d, generator = form.d_model, torch.Generator().manual_seed(seed)

    def drawn(n: int) -> Tensor:
        return _orthonormal(torch.randn(d, n, generator=generator, dtype=torch.float64))

    moments, n = form_moments(form), math.ceil(COORDINATES * d)
    largest = (moments.row_norms.square() + moments.column_norms.square()).topk(n).indices
    mean = torch.full((d, 1), d**-0.5, dtype=torch.float64)
    left = {
        (NOTHING, False): overlaps(form),
        ("mean direction", False): overlaps(without_directions(form, mean)),
        ("mean direction", True): overlaps(without_directions(form, drawn(1))),
        ("largest coordinates", False): overlaps(without_coordinates(form, largest)),
        ("largest coordinates", True): overlaps(without_coordinates(form, torch.randperm(d, generator=generator)[:n])),
        ("diagonal", False): without_diagonal(form),
    }
    for name, share in LEADING.items():
        basis = leading_directions(form, max(1, math.ceil(share * d)))
        left[name, False] = overlaps(without_directions(form, basis))
        left[name, True] = overlaps(without_directions(form, drawn(basis.shape[1])))
    return left
