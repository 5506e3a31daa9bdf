"""The symmetry score (Def. 3.1) and the directionality score (Def. 3.2) of a matrix or of a bilinear form."""

import math
from dataclasses import dataclass, fields
from typing import TypeVar

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attngeo.bilinear.conventions import GAMMA, Convention, require_gamma
from attngeo.bilinear.form import Array, BilinearForm, as_tensor, described
from attngeo.bilinear.moments import ROUGH, WIDE, Moments, dense_moments, form_moments, head_moments
from attngeo.errors import MatrixError

Number = TypeVar("Number", float, Tensor)
EXACT = torch.finfo(torch.float64).eps
CLEAR = 32  # units of rounding: ten times the largest error of a norm that we have seen for trained weights
SUM = -1  # value of the column ``head`` of a table for the sum over heads, W_qk of Eq. S20


@dataclass(frozen=True)
class Scores:
    """Both scores of one matrix, as 0-dimensional tensors, or of every head of a layer, as tensors (H,)."""

    symmetry: Float[Tensor, "*heads"]
    directionality: Float[Tensor, "*heads"]
    directionality_released: Float[Tensor, "*heads"]  # the variant of the released code
    directionality_tables: Float[Tensor, "*heads"]  # the variant that reproduces the numbers of Table S3
    n_rows_over: Int[Tensor, "*heads"]  # number of rows whose norm exceeds the threshold
    n_columns_over: Int[Tensor, "*heads"]

    def rows(self) -> list[dict[str, float | int]]:
        """A dictionary for each matrix, whose keys are the columns of the recorded tables."""
        columns = {field.name: getattr(self, field.name).reshape(-1).tolist() for field in fields(self)}
        columns["n_cols_over"] = columns.pop("n_columns_over")
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def symmetry_score(
    m: BilinearForm | Float[Array, "d d"], convention: Convention | str = Convention.DEFINITION
) -> float:
    """``s = (||M_s||^2 - ||M_n||^2) / ||M||^2 = Tr(MM) / ||M||^2`` (Def. 3.1 without its factor 2), in [-1, 1].

    Args:
        m: a square matrix (d, d), or a form, whose heads are summed (Eq. S20).
        convention: the formula; see `~attngeo.bilinear.conventions.Convention`.

    Returns:
        1 for a symmetric matrix, -1 for a skew-symmetric matrix, and 0 for the zero matrix, whose two parts are equal.
        Tables have NaN for the zero matrix, so that it does not enter medians.

    Raises:
        MatrixError: not square, empty or not finite.

    Source: paper, Def. 3.1, Lemma S1.16, Prop. S1.17. Definition 3.1 has a factor 2 that contradicts Prop. S1.17.
    """
    return by_convention(float(_symmetry(_moments(m))), Convention(convention))


def directionality_score(
    m: BilinearForm | Float[Array, "d d"], gamma: float = GAMMA, convention: Convention | str = Convention.DEFINITION
) -> float:
    """``d = (r - c) / (r + c)`` (Def. 3.2).

    r and c are the sums of the row norms and of the column norms that exceed their mean by more than gamma standard
    deviations.

    Args:
        m: a square matrix (d, d), or a form, whose heads are summed (Eq. S20).
        gamma: threshold, in population standard deviations of the norms.
        convention: the formula; see `~attngeo.bilinear.conventions.Convention`.

    Returns:
        A value in [-1, 1] that is negative if columns dominate, and 0 if no row and no column exceeds its threshold.

    Raises:
        MatrixError: not square, empty or not finite.
        ParameterError: gamma is not a finite number >= 0.

    Source: paper, Def. 3.2, Prop. S1.18.
    """
    return float(_directionality(_moments(m), gamma, Convention(convention))[0])


def score(m: BilinearForm | Float[Array, "d d"], gamma: float = GAMMA) -> Scores:
    """Both scores of a matrix or of the summed form, from the same sums.

    For layers of medium width in float32, the sums are computed in float32. If a norm is so close to its threshold that
    rounding could decide on which side it lies, the sums are computed again in float64.
    """
    if isinstance(m, BilinearForm) and ROUGH <= m.d_model < WIDE:
        rough = form_moments(m, rough=True)
        if rough.epsilon == EXACT or _is_clear(rough, gamma):
            return _scores(rough._replace(epsilon=EXACT), gamma)
    return _scores(_moments(m), gamma)


def score_heads(form: BilinearForm, gamma: float = GAMMA) -> Scores:
    """Both scores of ``W_qk,h`` of every head, with the shape (H,)."""
    return _scores(head_moments(form), gamma)


def score_rows(
    form: BilinearForm,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
) -> list[dict[str, float | int]]:
    """Both scores of a layer as rows of a table: first the sum over heads (``head`` is `SUM`), then every head.

    ``symmetry`` and ``directionality`` follow the convention. Scores are NaN if all queries or all keys are zero.
    """
    convention = Convention(convention)
    rows = score(form, gamma).rows() + (score_heads(form, gamma).rows() if per_head else [])
    queries, keys = (factor.any(-1).any(-1) for factor in (form.wq, form.wk))  # whether any weight is nonzero
    scored = queries & keys.repeat_interleave(form.n_heads // form.n_kv_heads)  # (H,)
    for row, is_scored in zip(rows, (scored.any(), *scored), strict=False):
        row["symmetry"] = by_convention(row["symmetry"], convention)
        if convention in (Convention.RELEASED, Convention.TABLES):
            row["directionality"] = row[f"directionality_{convention.value}"]
        if not is_scored:
            row |= dict.fromkeys(row.keys() - {"n_rows_over", "n_cols_over"}, math.nan)
    return [{"head": head, **row} for head, row in enumerate(rows, SUM)]


def score_batch(m: Float[Tensor, "batch d d"], gamma: float = GAMMA) -> Scores:
    """Both scores of every matrix of a batch, with the shape (batch,)."""
    return _scores(dense_moments(m), gamma)


def _is_clear(moments: Moments, gamma: float) -> bool:
    """Whether no rounding error could move a norm across a threshold."""
    norms = _norms(moments)
    near = CLEAR * moments.epsilon * norms.amax(-1, keepdim=True)
    for convention in (Convention.DEFINITION, Convention.RELEASED, Convention.TABLES):
        compared, threshold, _ = _threshold(norms, gamma, moments.epsilon, convention)
        moved = near / norms if convention is Convention.TABLES else near  # of a logarithm
        if ((compared - threshold).abs() <= moved).any():
            return False
    return True


def _moments(m: BilinearForm | Array) -> Moments:
    if isinstance(m, BilinearForm):
        return form_moments(m)
    m = as_tensor(m)
    if not isinstance(m, Tensor) or m.ndim != 2:
        raise MatrixError(f"a score needs a (d, d) tensor or a BilinearForm, not {described(m)}.")
    return dense_moments(m)


def _scores(moments: Moments, gamma: float) -> Scores:
    directionality, over = _directionality(moments, gamma, Convention.DEFINITION)
    released, tables = (_directionality(moments, gamma, c)[0] for c in (Convention.RELEASED, Convention.TABLES))
    return Scores(_symmetry(moments), directionality, released, tables, *over)


def _symmetry(moments: Moments) -> Tensor:
    return torch.where(moments.square > 0, moments.trace / moments.square, 0).clamp(-1, 1)


def by_convention(s: Number, convention: Convention) -> Number:
    """Convert the symmetry ``s`` of the definition to another convention."""
    if convention is Convention.PRINTED:
        return 2 * s
    return (1 + s) / 2 if convention is Convention.RELEASED else s


def _directionality(moments: Moments, gamma: float, convention: Convention) -> tuple[Tensor, Tensor]:
    return directionality_of(_norms(moments), gamma, convention, moments.epsilon)


def _norms(moments: Moments) -> Float[Tensor, "2 *batch d"]:
    return torch.stack((moments.row_norms, moments.column_norms))


def directionality_of(
    norms: Float[Tensor, "2 *batch d"], gamma: float, convention: Convention, epsilon: float = EXACT
) -> tuple[Float[Tensor, "*batch"], Int[Tensor, "2 *batch"]]:  # noqa: F821
    """d of a matrix with these norms of rows and columns, and how many rows and columns exceed the threshold.

    The threshold is the mean plus gamma standard deviations. The definition sums the norms themselves, with the
    population standard deviation. The released code sums their excess over the threshold, with the standard deviation
    over n - 1. The tables sum the excess of the logarithms of the norms, with the population standard deviation.
    """
    norms, threshold, margin = _threshold(norms, gamma, epsilon, convention)
    # a norm that differs from the threshold only by rounding does not exceed it; otherwise noise would rank equal norms
    over = norms > threshold + margin
    amounts = norms if convention in (Convention.DEFINITION, Convention.PRINTED) else norms - threshold
    r, c = torch.where(over, amounts, 0).sum(-1)
    # r and c are not negative, so both are 0 only if no norm exceeds its threshold; d is then 0 by definition
    return torch.where(r + c > 0, (r - c) / (r + c), 0), over.sum(-1)


def _threshold(
    norms: Tensor, gamma: float, epsilon: float, convention: Convention
) -> tuple[Tensor, Tensor, Tensor | float]:
    """The compared values (norms or their logarithms), their threshold, and a bound on the rounding error of both."""
    require_gamma(gamma)
    peak, n = norms.amax(-1, keepdim=True), norms.shape[-1]
    margin = 4 * n**0.5 * epsilon * peak
    if convention is Convention.TABLES:
        # a norm of 0 has no logarithm, so it is replaced by a norm of the size of rounding errors
        norms, margin = norms.clamp_min(epsilon * torch.where(peak > 0, peak, 1)).log(), 4 * n**0.5 * epsilon
    sd = norms.std(-1, correction=int(convention is Convention.RELEASED and n > 1), keepdim=True)
    return norms, norms.mean(-1, keepdim=True) + gamma * sd, margin
