"""The table of scores of the layers of a checkpoint, and the position spaces by which scores can be split."""

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypedDict, overload

from torch import Tensor, nn

from attngeo.bilinear.conventions import require_gamma
from attngeo.bilinear.positions import position_space
from attngeo.bilinear.rows import ScoreRow, form_rows, with_heads, with_split
from attngeo.bilinear.scores import GAMMA, SUM, Convention
from attngeo.bilinear.summary import dead_layers, no_norm_exceeds
from attngeo.bilinear.tables import ModelRow, ModelTable, ScoreTable, model_rows
from attngeo.checkpoints.architectures.entry import Matrix, Positions
from attngeo.checkpoints.attention_layer import AttentionLayer
from attngeo.checkpoints.checkpoint import Checkpoint
from attngeo.checkpoints.models import open_model
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.checkpoints.reading import Reading
from attngeo.checkpoints.recorded_models import comparisons
from attngeo.errors import CheckpointError, MatrixError, ParameterError

if TYPE_CHECKING:
    from typing_extensions import Unpack  # from Python 3.11 on, typing has it

# a path or an id, an open checkpoint, or anything that `attngeo.open_model` accepts
Source = str | PathLike | nn.Module | Checkpoint | Mapping
SCORED = {"qk": "W_qk", "ov": "W_o W_v^T"}  # the scored matrix, by the value of the option matrix


class Options(TypedDict, total=False):
    """The options that `score_table` has for one model and for several models."""

    per_head: bool
    convention: Convention | str
    matrix: Matrix
    fold_norm: bool
    distance: int | None
    fold_qk_norm: bool


@overload
def score_table(
    source: list[Any] | tuple[Any, ...], gamma: float = GAMMA, **options: "Unpack[Options]"
) -> ModelTable: ...
@overload
def score_table(
    source: Source | Any, gamma: float = GAMMA, *, config: Any = None, **options: "Unpack[Options]"
) -> ScoreTable: ...
def score_table(
    source: Source | Any,
    gamma: float = GAMMA,
    per_head: bool = True,
    convention: Convention | str = Convention.DEFINITION,
    matrix: Matrix = "qk",
    fold_norm: bool = False,
    distance: int | None = None,
    fold_qk_norm: bool = False,
    config: Any = None,
) -> ScoreTable | ModelTable:
    """``s`` (Def. 3.1) and ``d`` (Def. 3.2) of every layer and head, compared with the scores of random weights.

    Args:
        source: anything that `attngeo.open_checkpoint` or `attngeo.open_model` accepts or returns, or a list of several
            such models. If a list is passed, the table has one row per model and part, with medians over layers.
        gamma: threshold of the directionality score, in standard deviations.
        per_head: whether to add one row per head.
        convention: which formulas to use for the scores (see `~attngeo.bilinear.conventions.Convention`).
        matrix: "qk" for W_qk, or "ov" for the value-output map. A checkpoint that is already open is scored with the
            options with which it was opened.
        fold_norm, fold_qk_norm: see `attngeo.open_checkpoint`. If gains are included, z and p are NaN.
        distance: distance m at which ``W_q R_m W_k^T`` is scored (see `attngeo.open_checkpoint`).
        config: configuration of a model in memory, for example of a model that is given as a state dict (see
            `attngeo.open_model`).

    Warns:
        UserWarning: some models in the list could not be read. The table contains the remaining models.

    Raises:
        CheckpointError: a tensor cannot be read or is not finite, or none of the models in the list can be read.
        ParameterError: gamma is negative or not finite, or ``source`` is already open with different options.
    """
    require_gamma(gamma)
    asked = Reading(matrix, fold_norm, distance, fold_qk_norm)
    if config is not None:
        source = open_model(source, config, **vars(asked))
    if isinstance(source, list | tuple):
        opens = partial(_opened, reading=asked)
        table, unread, _ = models_table(source, opens, gamma, convention)
        for sentence in unread:
            warnings.warn(sentence, stacklevel=2)
        return table
    opened = _opened(source, asked)
    rows = [row for layer in table_rows(opened, gamma, per_head, convention) for row in layer]
    said = notes(opened, convention, opened.unread, rows)
    return ScoreTable([ScoreRow(**row) for row in rows], title(opened, gamma, convention), said)


def models_table(
    sources: Sequence[Source],
    opens: Callable[[Source], Checkpoint],
    gamma: float = GAMMA,
    convention: Convention | str = Convention.DEFINITION,
) -> tuple[ModelTable, list[str], list[list[str]]]:
    """A table with one row per part of each model, a sentence for each model that cannot be read, and remarks by row.

    If several models have the same name, they are shown with the given path or id. The sentences below the table begin
    with the names of the models that they describe.

    Raises:
        CheckpointError: none of the models can be read.
        ParameterError: no model is given.
    """
    if not sources:
        raise ParameterError("a table of models needs at least one model; give one.")
    found: dict[int, list[ModelRow]] = {}
    said: dict[int, list[str]] = {}
    unread: list[str] = []
    matrices: set[Matrix] = set()
    for number, source in enumerate(sources):
        try:
            opened = opens(source)
            layers = [row for layer in table_rows(opened, gamma, False, convention) for row in layer]
            found[number] = model_rows(layers)
            about_layers = [*dead_layers(layers), *no_norm_exceeds(layers)]
            said[number] = [*about_layers, *notes(opened, convention, opened.unread, layers)]
            matrices.add(opened.reading.matrix)
        except CheckpointError as error:
            named = f"{source}" if isinstance(source, str | PathLike) else type(source).__name__
            is_named = named in f"{error}" or " cannot be scored" in f"{error}"
            why = f"{error}".removeprefix(f"{PurePath(named).name}: ")
            unread.append(f"{error}" if is_named else f"{named} cannot be scored: {why}")
    if not found:
        raise CheckpointError(" ".join(dict.fromkeys(unread)))
    names = Counter(rows[0].model for rows in found.values())
    rows, remarks = [], []
    about: dict[str, list[str]] = {}  # names of models by the sentences about them
    for number, own in found.items():
        source = sources[number]
        longer = f"{source}" if isinstance(source, str | PathLike) else f"{own[0].model} ({number + 1})"
        own = [replace(row, model=longer) if names[row.model] > 1 else row for row in own]
        rows += own
        remarks += [said[number]] * len(own)
        for sentence in said[number]:
            about.setdefault(sentence, []).append(own[0].model)
    lines = list(about)
    if len(found) > 1:
        lines = [f"{'All models' if len(of) == len(found) else ', '.join(of)}: {line}" for line, of in about.items()]
    models = "1 model" if len(found) == 1 else f"{len(found)} models"
    scored = " and ".join(SCORED[matrix] for matrix in sorted(matrices, reverse=True))
    words = f"{models}: scores of {scored}, gamma = {gamma:g}{_formulas(convention)}"
    return ModelTable(rows, words, [*lines, *unread]), unread, remarks


def _opened(source: Source | Any, reading: Reading) -> Checkpoint:
    """A checkpoint with the requested reading, which is opened unless it is already open."""
    asked, usual = vars(reading), vars(Reading())
    if isinstance(source, str | PathLike):
        source = open_checkpoint(source, **asked)
    elif not isinstance(source, Checkpoint):
        source = open_model(source, **asked)
    opened = vars(source.reading)
    if any(asked[name] not in (usual[name], opened[name]) for name in asked):
        named = [name for name in asked if name in ("matrix", "fold_norm") or asked[name] != opened[name]]
        ways = [", ".join(f"{name}={way[name]!r}" for name in named) for way in (opened, asked)]
        raise ParameterError(f"{source.name} was opened with {ways[0]}; open it again with {ways[1]}.")
    return source


def formulas(opened: Checkpoint, convention: Convention | str) -> list[str]:
    """Sentences that say how the scores differ from those of W_qk by the definitions, if they do."""
    lines = []
    if convention != Convention.DEFINITION:
        lines.append("These scores do not follow the definitions. Compare them only with scores of the same formula.")
    if opened.reading.fold_norm:
        inputs = "queries and keys" if opened.reading.matrix == "qk" else "values"
        lines.append(
            f"The scores are those of {SCORED[opened.reading.matrix]} with the gains of the layer normalisation before"
            f" {inputs}."
        )
        parts = dict.fromkeys(plan.part for plan in opened.plans if not plan.norm)
        if "cross" in parts:
            lines.append("No gains are folded into the cross layers, whose queries and keys come from two sequences.")
        if without := " and ".join(part for part in parts if part != "cross"):
            lines.append(f"No gains are folded into {without} layers before which no layer normalisation is known.")
    lines += opened.included
    if opened.reading.matrix == "ov":
        lines.append(
            "The scores are those of the value-output map W_o W_v^T: heads write its rows and read its columns."
        )
    return lines


def title(opened: Checkpoint, gamma: float, convention: Convention | str) -> str:
    """The title of the table of a model."""
    name = f"{opened.name} {opened.revision[:12]}".strip()
    return f"{name}: scores of {SCORED[opened.reading.matrix]}, gamma = {gamma:g}{_formulas(convention)}"


def _formulas(convention: Convention | str) -> str:
    return "" if convention == Convention.DEFINITION else f", formulas of {Convention(convention).value}"


def notes(
    opened: Checkpoint, convention: Convention | str, unread: Sequence[str], rows: Sequence[dict] = ()
) -> list[str]:
    """Sentences below the table of a model, about comparable models, what was read, and what the scores leave out.

    Args:
        opened: the model.
        convention: formulas of the scores.
        unread: weights that have the name of query weights but belong to no layer.
        rows: the scores of all layers, to compare the model with others.
    """
    lines = formulas(opened, convention)
    if not lines:
        lines += comparisons(opened.model_type, rows)
    if parts := "; ".join(opened.left_out):
        lines.append(f"These parts of the attention are outside of W_qk, so no score includes them: {parts}.")
    if unread:
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        lines.append(f"No layer was found for weights whose names are those of queries: {unread[0]}{more}.")
    lines += opened.remarks
    if opened.taken_for:
        lines.append(
            f"The installed package gguf does not know the architecture {opened.model_type}. Its queries and keys were"
            f" found by the usual names, and its layers are labelled as those of {opened.taken_for}s."
        )
    return lines


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
    gains = (layer.norm, *layer.qk_norms) if layer.norm else layer.qk_norms
    source = f"{layer.file}:{layer.module}" + "".join(f" * {name}" for name in gains)
    source += f" at distance {layer.distance}" if layer.distance is not None else ""
    source += (f" ({layer.matrix})" if layer.matrix != "qk" else "") + (f" as {layer.read_as}" if layer.read_as else "")
    about: dict[str, str | int] = {"model": model.name, "revision": model.revision, "source": source}
    about |= {"part": layer.part, "layer": layer.layer}
    rows = form_rows(layer.form, about, gamma, per_head, convention, layer.reweighted)
    if layer.head_numbers:
        for row in rows:
            row["head"] = SUM if row["head"] == SUM else layer.head_numbers[row["head"]]
    return rows


def position_spaces(checkpoint: Checkpoint) -> tuple[dict[tuple[str, Positions | None], Tensor], list[str]]:
    """Orthonormal bases (d, k) of position spaces, by part and positions of a plan, and why other plans have none.

    Raises:
        CheckpointError: no layer has position embeddings that can be read.
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
