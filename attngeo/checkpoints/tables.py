"""Tables of scores: of one model layer by layer, or of several models with one row for each part."""

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypedDict, overload

from torch import nn

from attngeo.bilinear.conventions import require_gamma
from attngeo.bilinear.rows import ScoreRow
from attngeo.bilinear.scores import GAMMA, Convention
from attngeo.bilinear.summary import dead_layers, no_norm_exceeds
from attngeo.bilinear.tables import ModelRow, ModelTable, ScoreTable, model_rows
from attngeo.checkpoints.architectures.entry import Matrix
from attngeo.checkpoints.checkpoint import Checkpoint
from attngeo.checkpoints.models import open_model
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.checkpoints.reading import Reading
from attngeo.checkpoints.rows import SCORED, in_formulas, notes, table_rows, title
from attngeo.errors import CheckpointError, ParameterError

if TYPE_CHECKING:
    from typing_extensions import Unpack  # from Python 3.11 on, typing has it

# a path or an id, an open checkpoint, or anything that `attngeo.open_model` accepts
Source = str | PathLike | nn.Module | Checkpoint | Mapping


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
    models: list[_Model] = []
    unread: list[str] = []
    for number, source in enumerate(sources, start=1):
        try:
            models.append(_scored(opens(source), source, number, gamma, convention))
        except CheckpointError as error:
            unread.append(_why_unread(source, error))
    if not models:
        raise CheckpointError(" ".join(dict.fromkeys(unread)))
    models = _with_different_names(models)
    rows = [row for model in models for row in model.rows]
    remarks = [model.remarks for model in models for _ in model.rows]
    count = "1 model" if len(models) == 1 else f"{len(models)} models"
    matrices = [SCORED[matrix] for matrix in ("qk", "ov") if any(model.matrix == matrix for model in models)]
    title = f"{count}: scores of {' and '.join(matrices)}, gamma = {gamma:g}{in_formulas(convention)}"
    return ModelTable(rows, title, [*_about(models), *unread]), unread, remarks


@dataclass(frozen=True)
class _Model:
    """One of several models in a table: its rows, the sentences about it, and the names by which it can be shown."""

    name: str
    asked: str  # the given path or id, or the name with the number of the model
    rows: list[ModelRow]
    remarks: list[str]
    matrix: Matrix


def _scored(opened: Checkpoint, source: Source, number: int, gamma: float, convention: Convention | str) -> _Model:
    """The row of each part of a model, and the sentences about the model."""
    layers = [row for layer in table_rows(opened, gamma, False, convention) for row in layer]
    rows = model_rows(layers)
    about_layers = [*dead_layers(layers), *no_norm_exceeds(layers)]
    return _Model(
        name=opened.name,
        asked=f"{source}" if isinstance(source, str | PathLike) else f"{opened.name} ({number})",
        rows=rows,
        remarks=[*about_layers, *notes(opened, convention, opened.unread, layers)],
        matrix=opened.reading.matrix,
    )


def _why_unread(source: Source, error: CheckpointError) -> str:
    """The sentence about a model that cannot be read, which contains its name."""
    why, name = f"{error}", f"{source}" if isinstance(source, str | PathLike) else type(source).__name__
    if name in why or " cannot be scored" in why:
        return why
    return f"{name} cannot be scored: {why.removeprefix(f'{PurePath(name).name}: ')}"


def _with_different_names(models: list[_Model]) -> list[_Model]:
    """The models, of which those that have the same name are shown with the given path or id."""
    names = Counter(model.name for model in models)
    return [
        replace(model, name=model.asked, rows=[replace(row, model=model.asked) for row in model.rows])
        if names[model.name] > 1
        else model
        for model in models
    ]


def _about(models: list[_Model]) -> list[str]:
    """Each sentence about any of the models once, after the names of the models if there are several."""
    about: dict[str, list[str]] = {}  # names of models by the sentences about them
    for model in models:
        for sentence in model.remarks:
            about.setdefault(sentence, []).append(model.name)
    if len(models) == 1:
        return list(about)
    return [f"{'All models' if len(of) == len(models) else ', '.join(of)}: {line}" for line, of in about.items()]


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
