"""The scores of forms as rows of a table: one row for the sum over heads, and one row for each head."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.coherence import head_coherence
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.positions import split_score
from attngeo.bilinear.scores import GAMMA, SUM, Convention, by_convention, score_rows

SCORES = ("symmetry", "directionality", "directionality_released", "directionality_tables")
# columns of a score that is split by the position space: the fields of `attngeo.bilinear.positions.PositionSplit`
SPLIT = {
    "share": "positions_share",
    "share_at_random": "positions_share_at_random",
    "inside": "symmetry_inside",
    "share_outside": "share_outside",
    "outside": "symmetry_outside",
    "share_mixed": "share_mixed",
    "mixed": "symmetry_mixed",
}
DIMENSION = "positions_dimension"


@dataclass(frozen=True)
class ScoreRow:
    """Both scores of a layer or of a head, together with the scores of random weights of the same shape.

    Scores, z and p are NaN if all queries or all keys are zero. The last six columns describe how the heads of a layer
    combine (see ``attngeo.bilinear.coherence``), so they are NaN in the rows of single heads.
    """

    model: str
    revision: str
    part: str
    layer: int
    head: int  # -1 for the sum over heads
    d_model: int
    d_head: int
    rank: int
    symmetry: float
    directionality: float
    symmetry_null_mean: float
    symmetry_null_sd: float
    symmetry_z: float
    symmetry_p: float
    directionality_null_mean: float
    directionality_null_sd: float
    directionality_z: float
    directionality_p: float
    directionality_released: float
    directionality_tables: float
    convention: str
    gamma: float
    n_rows_over: int
    n_cols_over: int
    dtype: str
    source: str
    positions: str = ""  # type of positional encoding, "" if it is not known
    n_heads: int = 1
    coherence_symmetric: float = math.nan  # c_S; its mean is 1 for random signs of the heads, with this sd and p
    coherence_symmetric_null_sd: float = math.nan
    coherence_symmetric_p: float = math.nan
    coherence_skew: float = math.nan  # c_N, likewise; its p is the p of the rank
    coherence_skew_null_sd: float = math.nan
    coin_rank: float = math.nan  # share of the ways to transpose heads that give no higher symmetry
    coin_rank_p: float = math.nan


_REQUIRED = [column for column in fields(ScoreRow) if column.default is MISSING]
COLUMNS = tuple(column.name for column in _REQUIRED)  # of every table of scores
TEXT = tuple(column.name for column in _REQUIRED if column.type is str)
WHOLE = tuple(column.name for column in _REQUIRED if column.type is int)
_OF_ONE_HEAD = {column.name: column.default for column in fields(ScoreRow) if column.default is not MISSING}
OF_HEADS = tuple(_OF_ONE_HEAD)  # additional columns in tables of checkpoints


def form_rows(
    form: BilinearForm,
    about: Mapping[str, str | int],
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
    gains: bool = False,
) -> list[dict]:
    """The rows of one layer, first for the sum over heads and then for each head, with the scores of random weights.

    ``symmetry`` and ``directionality`` follow the convention, and the columns of the other conventions are unchanged.
    If all queries or all keys are zero, scores, z and p are NaN. If the gains of a layer normalisation are folded into
    the form, the distribution for random weights is unknown, and its mean and standard deviation are NaN as well.

    Args:
        form: W_qk of the layer.
        about: the values of the columns model, revision, part, layer and source.
        gamma: threshold of the directionality score, in standard deviations.
        per_head: whether to add a row for each head.
        convention: the formulas of the scores.
        gains: whether the gains of a layer normalisation are folded into the form.
    """
    convention = Convention(convention)
    common = {
        **about,
        "d_model": form.d_model,
        "d_head": form.d_head,
        "convention": convention.value,
        "gamma": float(gamma),
        "dtype": str(form.wq.dtype).removeprefix("torch."),
    }
    rows = []
    for scores in score_rows(form, gamma, per_head, convention):
        head = int(scores["head"])
        rank = form.d_head * (form.n_kv_heads if head == SUM else 1)  # of the product of the factors
        row = common | scores | {"rank": rank}
        for score, law in laws_of_shape(form.d_model, rank, gamma, convention).items():
            value = scores[score]
            numbers = {"null_mean": law.mean, "null_sd": law.sd, "z": law.z(value), "p": law.p(value)}
            if gains:  # the law is only known for weights without gains
                numbers = dict.fromkeys(numbers, math.nan)
            row |= {f"{score}_{name}": number for name, number in numbers.items()}
        rows.append({name: row[name] for name in COLUMNS})
    return rows


def with_heads(rows: list[dict], form: BilinearForm, positions: str) -> list[dict]:
    """Rows of `form_rows` with the columns OF_HEADS, in which the coherences are NaN in the rows of heads.

    They are also NaN if the heads have no skew-symmetric part, as with tied queries and keys.
    """
    c = head_coherence(form)
    of_sum = {
        "n_heads": form.n_heads,
        "coherence_symmetric": c.symmetric,
        "coherence_symmetric_null_sd": c.symmetric_sd,
        "coherence_symmetric_p": math.nan if math.isnan(c.symmetric) else c.symmetric_p,
        "coherence_skew": c.skew,
        "coherence_skew_null_sd": c.skew_sd,
        "coin_rank": math.nan if math.isnan(c.skew) else c.rank,
        "coin_rank_p": math.nan if math.isnan(c.skew) else c.rank_p,
    }
    of_head = _OF_ONE_HEAD | {"positions": positions}
    return [row | of_head | (of_sum if row["head"] == SUM else {}) for row in rows]


def with_split(rows: list[dict], form: BilinearForm, basis: Float[Tensor, "d k"] | None) -> list[dict]:
    """Rows of `form_rows` with s split by a position space, by their convention: the columns DIMENSION and SPLIT.

    Without a basis, the columns are 0 and NaN. They are also NaN in rows without scores.
    """
    missing = dict.fromkeys(SPLIT.values(), math.nan)
    if basis is None:
        return [row | {DIMENSION: 0} | missing for row in rows]
    splits = [split_score(form, basis)]
    if len(rows) > 1:
        splits.append(split_score(form, basis, per_head=True))
    convention = Convention(rows[0]["convention"])
    columns = {}
    for name, column in SPLIT.items():
        values = torch.cat([getattr(split, name).reshape(-1) for split in splits]).tolist()
        is_score = name in ("inside", "outside", "mixed")
        columns[column] = [by_convention(s, convention) for s in values] if is_score else values
    found = []
    for place, row in enumerate(rows):
        of_row = {column: values[place] for column, values in columns.items()}
        found.append(row | {DIMENSION: basis.shape[1]} | (missing if math.isnan(row["symmetry"]) else of_row))
    return found
