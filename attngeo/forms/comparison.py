"""How far two query-key matrices are from one another, by their factors: d x d is never formed."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import MatrixError
from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.moments import working_dtype

Factors = tuple[Tensor, Tensor]  # (..., d, rank) each


@dataclass(frozen=True)
class Comparison:
    """Two matrices beside one another (0-dimensional tensors), or every head of two layers (H,)."""

    cosine: Float[Tensor, "*heads"]
    relative_change: Float[Tensor, "*heads"]


def compare(a: BilinearForm, b: BilinearForm) -> Comparison:
    """``<A, B> / (||A|| ||B||)`` and ``||B - A|| / ||A||`` of the summed forms (Eq. S20), with Frobenius products.

    ``<A, B> = Tr(A^T B) = sum((Q_a^T Q_b) * (K_a^T K_b))`` needs two products of factors. ``B - A`` is taken as
    ``(Q_b - Q_a) K_b^T + Q_a (K_b - K_a)^T`` where the factors have one shape, so that small changes are not lost.

    Returns:
        A cosine of 0 where a matrix is zero. A relative change of 0 where both are, and infinite where A alone is.

    Raises:
        MatrixError: the forms differ in d.
    """
    a, b = _alike(a, b)  # before heads are summed, which would round
    return _compared(a.merged(), b.merged())


def compare_heads(a: BilinearForm, b: BilinearForm) -> Comparison:
    """The same for every pair of heads ``W_qk,h``, shape (H,).

    Raises:
        MatrixError: the forms differ in d or in their number of heads.
    """
    if a.n_heads != b.n_heads:
        raise MatrixError(f"a layer of {a.n_heads} heads and one of {b.n_heads} cannot be compared head by head.")
    a, b = _alike(a, b)
    return _compared(a.per_head(), b.per_head())


def _compared(a: Factors, b: Factors) -> Comparison:
    (qa, ka), (qb, kb) = a, b
    square_a, square_b, product = _inner(a, a), _inner(b, b), _inner(a, b)
    if qa.shape == qb.shape:
        from_queries, from_keys = (qb - qa, kb), (qa, kb - ka)
        change = _inner(from_queries, from_queries) + _inner(from_keys, from_keys) + 2 * _inner(from_queries, from_keys)
    else:
        change = square_a + square_b - 2 * product
    lengths = (square_a * square_b).sqrt()
    relative = (change.clamp_min(0) / square_a).sqrt()
    return Comparison(
        torch.where(lengths > 0, product / lengths, 0).clamp(-1, 1),
        torch.where((square_a == 0) & (square_b == 0), 0, relative),
    )


def _inner(a: Factors, b: Factors) -> Tensor:
    """``<Q_a K_a^T, Q_b K_b^T>``, summed in float64."""
    return ((a[0].mT @ b[0]).double() * (a[1].mT @ b[1]).double()).sum((-2, -1))


def _alike(a: BilinearForm, b: BilinearForm) -> tuple[BilinearForm, BilinearForm]:
    """Both forms in one type, wide enough to compute in."""
    if a.d_model != b.d_model:
        raise MatrixError(f"matrices of width {a.d_model} and {b.d_model} cannot be compared entry by entry.")
    dtype = torch.promote_types(working_dtype(a), working_dtype(b))
    first, second = (BilinearForm(form.wq.detach().to(dtype), form.wk.detach().to(dtype)) for form in (a, b))
    return first, second
