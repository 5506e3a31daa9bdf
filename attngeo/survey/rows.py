"""The scores of layers as rows of one table: one row per layer, and one per head."""

import math
from dataclasses import dataclass, replace
from importlib import import_module
from os import PathLike
from typing import Any, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor, nn

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.null_laws import null_laws, rank
from attngeo.bilinear.positions import position_space, split_heads, split_score
from attngeo.bilinear.scores import GAMMA, SUM, Convention, score_rows
from attngeo.checkpoints.architectures import LayerPlan, Positions
from attngeo.checkpoints.layers import AttentionLayer, Checkpoint, open_checkpoint
from attngeo.checkpoints.models import open_model
from attngeo.errors import CheckpointError, needs
from attngeo.survey.quantisation import SCHEMES, quantised

SCORES = ("symmetry", "directionality", "directionality_released", "directionality_tables")
_LAYER = ("model", "revision", "part", "layer", "head", "d_model", "d_head", "rank")
# beside each score: mean and spread for random weights of the same shape, and how far out the score lies
NULL = tuple(f"{score}_{of}" for score in SCORES[:2] for of in ("null_mean", "null_sd", "z", "p"))
_MADE_BY = ("convention", "gamma", "n_rows_over", "n_cols_over", "dtype", "source")
COLUMNS = (*_LAYER, *SCORES[:2], *NULL, *SCORES[2:], *_MADE_BY)
TEXT = ("model", "revision", "part", "convention", "dtype", "source")
# of a score split by position space: `attngeo.bilinear.positions.PositionSplit`, by its fields
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
WHOLE = ("layer", "head", "d_model", "d_head", "rank", "n_rows_over", "n_cols_over")


@dataclass(frozen=True)
class ScoreRow:
    """Both scores of a layer's W_qk, or of a head's, beside what random weights of that shape give; z and p are NaN
    where the weights are zero.
    """

    model: str
    revision: str
    part: str
    layer: int
    head: int  # -1: the sum over heads
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


class ScoreTable(list[ScoreRow]):
    """Rows of scores, those of one layer together."""

    def to_dataframe(self) -> Any:
        """The same as a pandas data frame, which the extra train brings."""
        with needs("train", "a data frame"):
            pandas = import_module("pandas")  # by name: attngeo score does without
        return pandas.DataFrame([vars(row) for row in self], columns=list(COLUMNS))


def score_table(
    source: str | PathLike | nn.Module | Checkpoint,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
) -> ScoreTable:
    """``s`` (Def. 3.1) and ``d`` (Def. 3.2) of every layer and head, with null mean, sd, z and p: the table of the CLI.

    Args:
        source: what `attngeo.open_checkpoint` or `attngeo.open_model` takes, or what they give.
        gamma: threshold of directionality, in standard deviations.
        per_head: also a row for each head.
        convention: formulas of the scores.

    Raises:
        CheckpointError: a tensor cannot be read or is not finite.
        ParameterError: gamma is not a finite number >= 0.
    """
    if isinstance(source, nn.Module):
        source = open_model(source)
    opened = source if isinstance(source, Checkpoint) else open_checkpoint(source)
    found = (row for layer in opened for row in layer_rows(opened, layer, gamma, per_head, convention))
    return ScoreTable(ScoreRow(**row) for row in found)


@runtime_checkable
class Named(Protocol):
    """Whatever the layers are of, such as an `attngeo.checkpoints.layers.Checkpoint`."""

    name: str
    revision: str


def layer_rows(
    model: Named,
    layer: AttentionLayer,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
) -> list[dict]:
    """The rows of one layer: the sum over heads, then each head; beside each score what random weights give.

    ``symmetry`` and ``directionality`` follow the convention; the columns of the other conventions stay. Where weights
    are zero nothing can be compared with random ones: z and p are NaN. With a gain folded in no law is known: the mean
    and the sd of random weights are NaN, too.
    """
    convention = Convention(convention)
    common = {
        "model": model.name,
        "revision": model.revision,
        "part": layer.part,
        "layer": layer.layer,
        "d_model": layer.form.d_model,
        "d_head": layer.form.d_head,
        "convention": convention.value,
        "gamma": float(gamma),
        "dtype": str(layer.form.wq.dtype).removeprefix("torch."),
        "source": f"{layer.file}:{layer.module}" + (f" * {layer.norm}" if layer.norm else ""),
    }
    dead = _dead(layer.form)
    rows = []
    for scores in score_rows(layer.form, gamma, per_head, convention):
        head = int(scores["head"])
        row = common | scores | {"rank": rank(layer.form, head)}
        for score, law in null_laws(layer.form, head, gamma, convention).items():
            value = math.nan if dead[head] else scores[score]
            numbers = {"null_mean": law.mean, "null_sd": law.sd, "z": law.z(value), "p": law.p(value)}
            if layer.norm:  # the law is that of weights without gains
                numbers = dict.fromkeys(numbers, math.nan)
            row |= {f"{score}_{name}": number for name, number in numbers.items()}
        rows.append({name: row[name] for name in COLUMNS})
    return rows


def _dead(form: BilinearForm) -> dict[int, bool]:
    """Whether a head's queries or its keys are zero, and (SUM) whether those of all heads are: nothing to score."""
    group = form.n_heads // form.n_kv_heads
    heads = {h: not (form.wq[h].any() and form.wk[h // group].any()) for h in range(form.n_heads)}
    return heads | {SUM: all(heads.values())}


def quantised_rows(model: Named, layer: AttentionLayer, gamma: float = GAMMA) -> list[dict]:
    """The sum over heads of one layer with its weights rounded: a row, with ``scheme``, for each in `quantisation`."""
    return [
        {"scheme": scheme} | row
        for scheme in SCHEMES
        for row in layer_rows(model, replace(layer, form=quantised(layer.form, scheme)), gamma, per_head=False)
    ]


class PositionSpaces:
    """The position space of every layer of a checkpoint, each table read once; ``missing`` says of others why not.

    Raises:
        CheckpointError: no layer's positions are rows that can be read.
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.missing: list[str] = []
        self._spaces: dict[tuple[str, Positions | None], Tensor | None] = {}
        for plan in checkpoint.plans:
            key = plan.part, plan.positions
            if key in self._spaces:
                continue
            try:
                self._spaces[key] = position_space(checkpoint.position_rows(plan))
            except CheckpointError as error:
                self._spaces[key] = None
                self.missing.append(str(error))
        if not any(space is not None for space in self._spaces.values()):
            raise CheckpointError(self.missing[0])

    def of(self, plan: LayerPlan) -> Tensor | None:
        """Its orthonormal basis (d, k), None where it has none."""
        return self._spaces[plan.part, plan.positions]


def with_split(rows: list[dict], form: BilinearForm, basis: Float[Tensor, "d k"] | None) -> list[dict]:
    """Rows of `layer_rows` with s of the definition split by a position space: DIMENSION, the columns of SPLIT.

    Without a basis they are 0 and NaN.
    """
    if basis is None:
        return [row | {DIMENSION: 0} | dict.fromkeys(SPLIT.values(), math.nan) for row in rows]
    splits = [split_score(form, basis)] + ([split_heads(form, basis)] if len(rows) > 1 else [])
    columns = {to: [x for own in splits for x in getattr(own, name).reshape(-1).tolist()] for name, to in SPLIT.items()}
    return [
        row | {DIMENSION: basis.shape[1]} | {name: values[place] for name, values in columns.items()}
        for place, row in enumerate(rows)
    ]
