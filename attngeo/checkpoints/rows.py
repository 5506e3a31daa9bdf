"""The table of scores of a checkpoint's layers, and the position spaces that its scores are split by."""

from collections.abc import Iterator, Mapping
from contextlib import closing
from os import PathLike
from typing import Any

from torch import Tensor, nn

from attngeo.bilinear.positions import position_space
from attngeo.bilinear.rows import ScoreRow, ScoreTable, form_rows, with_heads, with_split
from attngeo.bilinear.scores import GAMMA, SUM, Convention
from attngeo.checkpoints.architectures.entry import Matrix, Positions
from attngeo.checkpoints.layers import AttentionLayer, Checkpoint, open_checkpoint
from attngeo.checkpoints.models import open_model
from attngeo.errors import CheckpointError, MatrixError, ParameterError


def score_table(
    source: str | PathLike | nn.Module | Checkpoint | Any,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
    matrix: Matrix = "qk",
    fold_norm: bool = False,
) -> ScoreTable:
    """``s`` (Def. 3.1) and ``d`` (Def. 3.2) of every layer and head, with null mean, sd, z and p: the table of the CLI.

    Args:
        source: what `attngeo.open_checkpoint` or `attngeo.open_model` takes, or what they give.
        gamma: threshold of directionality, in standard deviations.
        per_head: also a row for each head.
        convention: formulas of the scores.
        matrix: "ov" for the value-output maps in the place of W_qk; what is opened is scored as it was opened.
        fold_norm: as for `attngeo.open_checkpoint`; z and p are then NaN.

    Raises:
        CheckpointError: a tensor cannot be read or is not finite.
        ParameterError: gamma is not a finite number >= 0, or ``source`` is opened in another way.
    """
    if isinstance(source, str | PathLike):
        source = open_checkpoint(source, matrix=matrix, fold_norm=fold_norm)
    elif not isinstance(source, Checkpoint):
        source = open_model(source, matrix=matrix, fold_norm=fold_norm)
    if matrix not in ("qk", source.matrix) or fold_norm > source.fold_norm:
        ways = [f"matrix={m!r}, fold_norm={f}" for m, f in ((source.matrix, source.fold_norm), (matrix, fold_norm))]
        raise ParameterError(f"{source.name} is opened with {ways[0]}; open it with {ways[1]}.")
    rows = (row for layer in table_rows(source, gamma, per_head, convention) for row in layer)
    return ScoreTable(ScoreRow(**row) for row in rows)


def table_rows(
    model: Checkpoint,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
    spaces: Mapping[tuple[str, Positions | None], Tensor] | None = None,
) -> Iterator[list[dict]]:
    """The rows of each layer of a model, with the columns about its heads.

    With the ``spaces`` of `position_spaces`, s is also split by them.
    """
    with closing(iter(model)) as layers:
        for plan, layer in zip(model.plans, layers, strict=True):
            rows = layer_rows(model, layer, gamma, per_head, convention)
            rows = with_heads(rows, layer.form, plan.positions.kind if plan.positions else "")
            yield rows if spaces is None else with_split(rows, layer.form, spaces.get((plan.part, plan.positions)))


def layer_rows(
    model: Checkpoint,
    layer: AttentionLayer,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
) -> list[dict]:
    """The rows of one layer of a model (`attngeo.bilinear.rows.form_rows`)."""
    source = f"{layer.file}:{layer.module}" + (f" * {layer.norm}" if layer.norm else "")
    source += (f" ({layer.matrix})" if layer.matrix != "qk" else "") + (f" as {layer.read_as}" if layer.read_as else "")
    about: dict[str, str | int] = {"model": model.name, "revision": model.revision, "source": source}
    about |= {"part": layer.part, "layer": layer.layer}
    rows = form_rows(layer.form, about, gamma, per_head, convention, bool(layer.norm))
    if layer.head_numbers:
        for row in rows:
            row["head"] = SUM if row["head"] == SUM else layer.head_numbers[row["head"]]
    return rows


def position_spaces(checkpoint: Checkpoint) -> tuple[dict[tuple[str, Positions | None], Tensor], list[str]]:
    """Orthonormal bases (d, k) of position spaces, by part and positions of a plan; and why others have none.

    Raises:
        CheckpointError: no layer's positions are rows that can be read.
    """
    spaces: dict[tuple[str, Positions | None], Tensor] = {}
    missing: dict[tuple[str, Positions | None], str] = {}
    for plan in checkpoint.plans:
        place = plan.part, plan.positions
        if place in spaces or place in missing:
            continue
        try:
            spaces[place] = position_space(checkpoint.position_rows(plan))
        except CheckpointError as error:
            missing[place] = str(error)
        except MatrixError as error:
            missing[place] = f"{checkpoint.name}: {str(error)[:-1]}; score it without splitting by positions."
    if not spaces:
        raise CheckpointError(next(iter(missing.values())))
    return spaces, list(missing.values())
