"""The symmetry score (Def. 3.1) and the directionality score (Def. 3.2) of a matrix or of a bilinear form."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attngeo.bilinear.conventions import GAMMA, Convention, require_gamma
from attngeo.bilinear.form import Array, BilinearForm, as_tensor, described
from attngeo.bilinear.moments import (
    NEAR_ONE,
    ROUGH,
    WIDE,
    Moments,
    dense_moments,
    extremes,
    form_moments,
    head_moments,
    near_one,
    on_gpu,
    working_dtype,
)
from attngeo.bilinear.on_gpu import heads_on_gpu, summed_on_gpu, to_cpu
from attngeo.errors import MatrixError

Number = TypeVar("Number", float, Tensor)
EXACT = torch.finfo(torch.float64).eps
VARIANTS = (Convention.DEFINITION, Convention.RELEASED, Convention.TABLES)  # of d, in the order of `Scores`
WHOLE_NORMS = (Convention.DEFINITION, Convention.PRINTED)  # which sum norms and not their excess over the threshold
CLEAR = 32  # units of rounding: ten times the largest error of a norm that we have seen for trained weights
FEW = 1024  # up to this width, the CPU computes d from the norms of a GPU, which starts operations slowly
SUM = -1  # value of the column ``head`` of a table for the sum over heads, W_qk of Eq. S20


@dataclass(frozen=True)
class Scores:
    """Both scores of one matrix (0-dimensional tensors) or of every head of a layer (tensors of shape (H,))."""

    symmetry: Float[Tensor, "*heads"]
    directionality: Float[Tensor, "*heads"]
    directionality_released: Float[Tensor, "*heads"]  # the variant of the released code
    directionality_tables: Float[Tensor, "*heads"]  # the variant that reproduces the numbers of Table S3
    n_rows_over: Int[Tensor, "*heads"]  # number of rows whose norm exceeds the threshold
    n_columns_over: Int[Tensor, "*heads"]

    def rows(self) -> list[dict[str, float | int]]:
        """Convert the scores to one dictionary per matrix, with the column names of the recorded tables as keys."""
        columns = {field.name: getattr(self, field.name).reshape(-1).tolist() for field in fields(self)}
        columns["n_cols_over"] = columns.pop("n_columns_over")
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


class _Compared(NamedTuple):
    """Norms of rows and columns, compared with the thresholds of several conventions."""

    values: Float[Tensor, "variants 2 *batch d"]  # norms, or their logarithms
    above: Float[Tensor, "variants 2 *batch d"]  # by how much they exceed their threshold


def symmetry_score(
    m: BilinearForm | Float[Array, "d d"], convention: Convention | str = Convention.DEFINITION
) -> float:
    """``s = (||M_s||^2 - ||M_n||^2) / ||M||^2 = Tr(MM) / ||M||^2`` (Def. 3.1 without its factor 2), in [-1, 1].

    Args:
        m: a square matrix of shape (d, d), or a form, whose heads are summed (Eq. S20).
        convention: which formula to use (see `~attngeo.bilinear.conventions.Convention`).

    Returns:
        1 for a symmetric matrix, -1 for a skew-symmetric matrix, and 0 for the zero matrix. Tables contain NaN for the
        zero matrix, so that it does not affect medians.

    Raises:
        MatrixError: the matrix is not square, is empty or is not finite.

    Source: paper, Def. 3.1, Lemma S1.16, Prop. S1.17. Definition 3.1 has a factor of 2 that contradicts Prop. S1.17.
    """
    return by_convention(float(_symmetry(_moments(m))), Convention(convention))


def directionality_score(
    m: BilinearForm | Float[Array, "d d"], gamma: float = GAMMA, convention: Convention | str = Convention.DEFINITION
) -> float:
    """``d = (r - c) / (r + c)`` (Def. 3.2).

    Here r is the sum of all row norms that exceed the mean row norm by more than gamma standard deviations, and c is
    the same sum for column norms.

    Args:
        m: a square matrix of shape (d, d), or a form, whose heads are summed (Eq. S20).
        gamma: threshold, in population standard deviations of the norms.
        convention: which formula to use (see `~attngeo.bilinear.conventions.Convention`).

    Returns:
        A value in [-1, 1]. The score is negative if columns dominate, positive if rows dominate, and 0 if no norm
        exceeds its threshold.

    Raises:
        MatrixError: the matrix is not square, is empty or is not finite.
        ParameterError: gamma is negative or not finite.

    Source: paper, Def. 3.2, Prop. S1.18.
    """
    moments = _moments(m)
    return float(directionality_of(_norms(moments), gamma, Convention(convention), moments.epsilon)[0])


def score(m: BilinearForm | Float[Array, "d d"], gamma: float = GAMMA) -> Scores:
    """Both scores of a matrix or of a form, whose heads are summed.

    The scores of float32 layers of medium width are first computed in float32. If a norm is so close to its threshold
    that rounding could change the result, the computation is repeated in float64. The result is always on the CPU, even
    if the form is on a GPU. Both scores of the zero matrix are 0, but tables contain NaN instead.
    """
    if isinstance(m, BilinearForm) and on_gpu(m.wq):
        return _score_on_gpu(m, gamma, per_head=False)
    if isinstance(m, BilinearForm) and ROUGH <= m.d_model < WIDE:
        rough = form_moments(m, rough=True)
        scores, doubtful = _scores_and_doubt(rough, gamma)
        if rough.epsilon == EXACT or not doubtful:
            return scores
    return _scores(_moments(m), gamma)


def score_heads(form: BilinearForm, gamma: float = GAMMA) -> Scores:
    """Both scores of ``W_qk,h`` for every head, as tensors of shape (H,) on the CPU.

    Both scores of a zero head are 0, so remove such heads before averaging. Tables contain NaN instead.
    """
    if on_gpu(form.wq):
        return _score_on_gpu(form, gamma, per_head=True)
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


def _score_on_gpu(form: BilinearForm, gamma: float, per_head: bool) -> Scores:
    """Both scores of a form or of its heads.

    The GPU is given all of its work first, and the CPU waits once, for the results together with what they depend on:
    whether weights are finite and far from the limits of their type, and whether rounding could move a norm.
    """
    dtype, d = working_dtype(form), form.d_model
    rough = form.wq.dtype == torch.float32 and ROUGH <= d < WIDE and not per_head
    peaks = torch.cat([extremes(factor) for factor in (form.wq, form.wk)], 1)
    moments = heads_on_gpu(form, dtype) if per_head else summed_on_gpu(form, torch.float32 if rough else dtype)
    if not per_head and len(moments.row_norms) <= FEW:
        square, trace, rows, columns, peaks = to_cpu(*moments[:4], peaks)
        moments = Moments(square, trace, rows, columns, moments.epsilon)
    if rough:
        scores, doubtful = _scores_and_doubt(moments, gamma)
    else:
        scores, doubtful = _scores(moments, gamma), torch.zeros(1, device=peaks.device)
    *found, doubtful, peaks = to_cpu(*vars(scores).values(), doubtful, peaks)
    largest = peaks.abs().amax(0).tolist()
    is_finite = all(map(math.isfinite, largest))
    if not per_head:
        largest = [max(largest[: form.n_heads]), max(largest[form.n_heads :])]
    if not is_finite or any(abs(math.frexp(peak)[1]) > NEAR_ONE for peak in largest):
        return _score_on_gpu(near_one(form, per_head), gamma, per_head)
    if doubtful:
        return _score_on_gpu(form.to(torch.float64), gamma, per_head)
    return Scores(*found[:4], *(each.long() for each in found[4:]))


def _scores_and_doubt(moments: Moments, gamma: float) -> tuple[Scores, Bool[Tensor, ""]]:
    """Both scores as if the sums were exact, and whether their rounding could move a norm across a threshold."""
    norms = _norms(moments)
    compared = _above_threshold(norms, gamma, EXACT, VARIANTS)
    near = CLEAR * moments.epsilon * norms.amax(-1, keepdim=True)
    moved = torch.stack([near / norms if v is Convention.TABLES else near.expand_as(norms) for v in VARIANTS])
    return _scores(moments._replace(epsilon=EXACT), gamma, compared), (compared.above.abs() <= moved).any()


def _moments(m: BilinearForm | Array) -> Moments:
    if isinstance(m, BilinearForm):
        return summed_on_gpu(near_one(m), working_dtype(m)) if on_gpu(m.wq) else form_moments(m)
    m = as_tensor(m)
    if not isinstance(m, Tensor) or m.ndim != 2:
        raise MatrixError(f"a score needs a (d, d) tensor or a BilinearForm, not {described(m)}.")
    return dense_moments(m)


def _scores(moments: Moments, gamma: float, compared: _Compared | None = None) -> Scores:
    norms = _norms(moments)
    compared = compared or _above_threshold(norms, gamma, moments.epsilon, VARIANTS)
    scores, over = _directionalities(norms, compared, moments.epsilon, VARIANTS)
    return Scores(_symmetry(moments), *scores, *over[0])


def _symmetry(moments: Moments) -> Tensor:
    return (moments.trace / moments.square).nan_to_num(0).clamp(-1, 1)  # 0 / 0 for the zero matrix


def by_convention(s: Number, convention: Convention) -> Number:
    """Convert the symmetry ``s`` of the definition to another convention."""
    if convention is Convention.PRINTED:
        return 2 * s
    return (1 + s) / 2 if convention is Convention.RELEASED else s


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
    compared = _above_threshold(norms, gamma, epsilon, (convention,))
    scores, over = _directionalities(norms, compared, epsilon, (convention,))
    return scores[0], over[0]


def _directionalities(
    norms: Float[Tensor, "2 *batch d"],
    compared: _Compared,
    epsilon: float,
    variants: Sequence[Convention],
) -> tuple[Float[Tensor, "variants *batch"], Int[Tensor, "variants 2 *batch"]]:  # noqa: F821
    """`directionality_of` by several conventions at once, with few operations, because a GPU starts them slowly.

    ``compared`` is what `_above_threshold` gives for these norms and conventions.
    """
    # a norm that differs from the threshold only by rounding does not exceed it; otherwise noise would rank equal norms
    margin = 4 * norms.shape[-1] ** 0.5 * epsilon
    of_norms = norms.amax(-1, keepdim=True) * margin
    of_logarithms = torch.full_like(of_norms, margin)
    over = compared.above > torch.stack([of_logarithms if v is Convention.TABLES else of_norms for v in variants])
    amounts = [
        values if variant in WHOLE_NORMS else above
        for variant, values, above in zip(variants, compared.values, compared.above, strict=True)
    ]
    r, c = torch.where(over, torch.stack(amounts), 0).sum(-1).unbind(1)
    # r and c are not negative, so both are 0 only if no norm exceeds its threshold; d is then 0 by definition
    return ((r - c) / (r + c)).nan_to_num(0), over.sum(-1)


def _above_threshold(
    norms: Float[Tensor, "2 *batch d"], gamma: float, epsilon: float, variants: Sequence[Convention]
) -> _Compared:
    """The norms, compared with the thresholds of several conventions."""
    require_gamma(gamma)
    n = norms.shape[-1]
    compared = []
    for variant in variants:
        if variant is Convention.TABLES:
            # a norm of 0 has no logarithm, so it is replaced by a norm of the size of rounding errors
            peak = norms.amax(-1, keepdim=True)
            compared.append(norms.clamp_min(epsilon * torch.where(peak > 0, peak, 1)).log())
        else:
            compared.append(norms)
    values = torch.stack(compared)
    sd, mean = torch.std_mean(values, -1, correction=0, keepdim=True)
    if Convention.RELEASED in variants and n > 1:
        sd[variants.index(Convention.RELEASED)].mul_((n / (n - 1)) ** 0.5)
    return _Compared(values, values - torch.add(mean, sd, alpha=gamma))
