"""Tables of scores for people: one model layer by layer, or several models with one line each."""

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from html import escape
from importlib import import_module
from statistics import median
from typing import Any, ClassVar, Literal, SupportsIndex, TypeVar, overload

import rich.table
from rich.console import Console

from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.rows import ScoreRow
from attngeo.bilinear.scores import SUM
from attngeo.bilinear.summary import NO_LAW, SHOWN, cells, filled, is_dead, outside, short_names, summary, without_law
from attngeo.errors import ParameterError, needs

OUTSIDE = {"symmetry": "layers outside in s", "directionality": "layers outside in d"}  # columns of several models
COMPARISON = ("For comparison", "There is no comparison")  # beginnings of the sentence about other models


@dataclass(frozen=True)
class ModelRow:
    """Median scores of one part of a model, with the range of the scores of 95 % of random layers of the same shape.

    Scores are NaN if no layer could be scored. The columns for random layers are NaN if the distribution of the scores
    of random weights is unknown.
    """

    model: str
    revision: str
    part: str
    positions: str  # type of positional encoding, "" if it is not known
    n_layers: int
    n_scored: int  # number of layers whose queries and keys are not zero
    d_model: int
    symmetry: float
    symmetry_null_low: float
    symmetry_null_high: float
    symmetry_outside: int | None  # number of layers outside the interval
    directionality: float
    directionality_null_low: float
    directionality_null_high: float
    directionality_outside: int | None
    convention: str
    gamma: float


Row = TypeVar("Row")


class Table(list[Row], ABC):
    """A list of rows with a title and explanatory sentences, all of which ``print`` and notebooks show.

    A slice of a table is again a table.
    """

    kind: ClassVar[type]

    def __init__(self, rows: Iterable[Row] = (), title: str = "", notes: Sequence[str] = ()) -> None:
        super().__init__(rows)
        self.title, self.notes = title, tuple(notes)

    @overload
    def __getitem__(self, place: SupportsIndex) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> "Table[Row]": ...
    def __getitem__(self, place: SupportsIndex | slice) -> "Row | Table[Row]":
        """A row, or a table of the rows of a slice."""
        return self.only(super().__getitem__(place)) if isinstance(place, slice) else super().__getitem__(place)

    def only(self, rows: Iterable[Row]) -> "Table[Row]":
        """A table of these rows, with the same title and notes."""
        return type(self)(rows, self.title, self.notes)

    def to_dataframe(self) -> Any:
        """Convert the table to a pandas data frame. This requires pandas."""
        with needs("", "a data frame"):
            pandas = import_module("pandas")  # imported by name, because attngeo score works without pandas
        return pandas.DataFrame([vars(row) for row in self], columns=[column.name for column in fields(self.kind)])

    @abstractmethod
    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Names of columns and rounded cells, for people."""

    def sentences(self) -> list[str]:
        """Sentences that explain the numbers and say what was read."""
        return list(self.notes)

    def __str__(self) -> str:
        """The table as ``attngeo score`` prints it."""
        return drawn(self.title, *self.cells(), self.sentences())

    def _repr_html_(self) -> str:
        """The table in a notebook, without its own colours, so that it can be read on any background."""
        names, lines = self.cells()
        sides = list(map(_side, names))
        head = "".join(map(_html_heading, short_names(names), sides))
        body = "".join(f"<tr>{''.join(map(_html_cell, line, sides))}</tr>" for line in lines)
        notes = "<br>".join(map(escape, self.sentences()))
        return (
            f"<p><b>{escape(self.title)}</b></p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
            f'<p style="max-width: 50em">{notes}</p>'
        )


class ScoreTable(Table[ScoreRow]):
    """Scores of one model, ordered by layer: one row for the sum over heads, followed by one row per head.

    In a notebook, the scores of the layers are displayed as a table, followed by the lines that ``attngeo score``
    prints below its table.
    """

    kind = ScoreRow

    def only(self, rows: Iterable[ScoreRow]) -> "ScoreTable":
        """A table of these rows, without the comparison with other models, which is about all layers of the model."""
        return ScoreTable(rows, self.title, [note for note in self.notes if not note.startswith(COMPARISON)])

    @property
    def layers(self) -> "ScoreTable":
        """The rows of whole layers, which contain the scores of the sum over heads."""
        return ScoreTable([row for row in self if row.head == SUM], self.title, self.notes)

    @property
    def heads(self) -> "ScoreTable":
        """The rows of individual heads."""
        return ScoreTable([row for row in self if row.head != SUM], self.title, self.notes)

    def plot(self) -> Any:
        """Plot both scores by layer, together with the range that contains 95 % of the scores of random weights.

        This requires ``attngeo[plot]``. In a notebook, the plot is displayed automatically. ``.save(path)`` writes it
        to a file, and ``.figure`` is the underlying Matplotlib figure.

        Raises:
            ParameterError: the table has no layer rows (``table.heads``, for example, has none).
        """
        if not self.layers:
            raise ParameterError(
                "This table has no layers to draw, and heads are drawn only together with their layers; plot the"
                " whole table."
            )
        with needs("plot", "a figure"):
            drawing = import_module("attngeo.plot.score_figure")
        return drawing.score_figure([vars(row) for row in self])

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Names of columns and rounded cells of the layers, or of the heads if there are no layers."""
        return cells(self._shown) if self else ([], [])

    def sentences(self) -> list[str]:
        """Sentences about medians, random weights, scores outside their range, and what was read."""
        return [*(summary(self._shown) if self else ()), *self.notes]

    @property
    def _shown(self) -> list[dict]:
        return [vars(row) for row in self.layers or self]

    def __repr__(self) -> str:
        """The name of the model, the numbers of layers and heads, and the medians."""
        if not self:
            return "<ScoreTable>"
        n_layers, n_heads = len(self.layers), len(self.heads)
        said = [f"{n_layers} layer{'' if n_layers == 1 else 's'}", f"{n_heads} head{'' if n_heads == 1 else 's'}"]
        live = [row for row in self.layers if not is_dead(vars(row))]
        if live:
            said += [f"median {score} {median(getattr(row, score) for row in live):.4f}" for score in SHOWN]
        return f"<ScoreTable {self[0].model!r}: {', '.join(said)}>"


class ModelTable(Table[ModelRow]):
    """Scores of several models, with one row per model and part. In a notebook, the rows are displayed as a table."""

    kind = ModelRow

    def cells(self) -> tuple[list[str], list[list[str]]]:
        """Names of columns and rounded cells, for people."""
        names = ["model", "part", "symmetry", OUTSIDE["symmetry"], "directionality", OUTSIDE["directionality"]]
        names += ["size", "positions", "random symmetry", "random directionality"]
        lines = []
        for row in self:
            s, s_outside, random_s = _score_cells(row, "symmetry")
            d, d_outside, random_d = _score_cells(row, "directionality")
            size = f"{row.n_layers} x {row.d_model}"
            lines.append([row.model, row.part, s, s_outside, d, d_outside, size, row.positions, random_s, random_d])
        return filled(names, lines)

    def sentences(self) -> list[str]:
        """Sentences that explain the table and say what could not be read."""
        lines = ["Each score is the median over the layers. The size is the number of layers times their width."]
        scored = [row for row in self if row.n_scored]
        lawless = [row for row in scored if row.symmetry_outside is None]
        if len(lawless) < len(scored):
            lines.append(
                f'The columns "{OUTSIDE["symmetry"]}" and "{OUTSIDE["directionality"]}" have the number of layers whose'
                " symmetry s or directionality d is outside the range of 95 % of random layers of the same shape. This"
                ' range is in the columns "random symmetry" and "random directionality".'
            )
        if lawless:
            some = " in some rows" if len(lawless) < len(scored) else ""
            lines.append(f"There is no comparison with random layers{some}, {NO_LAW}")
        return [*lines, *self.notes]

    def __repr__(self) -> str:
        """The models and their median symmetry."""
        return f"<ModelTable: {', '.join(f'{row.model} {row.part} s = {row.symmetry:.4f}' for row in self)}>"


def model_rows(rows: Sequence[dict]) -> list[ModelRow]:
    """One row for each part of a model, from the rows of its layers."""
    found = []
    for part in dict.fromkeys(row["part"] for row in rows):
        layers = [row for row in rows if row["part"] == part and row["head"] == SUM]
        live = [row for row in layers if not is_dead(row)]
        known = bool(live) and not any(map(without_law, live))
        shapes = {(row["d_model"], row["rank"], row["gamma"], row["convention"]) for row in live if known}
        columns: dict[str, Any] = {}
        for score in SHOWN:
            bands = [laws_of_shape(*shape)[score].band for shape in shapes]
            columns |= {
                score: median(row[score] for row in live) if live else math.nan,
                f"{score}_null_low": min((low for low, _ in bands), default=math.nan),
                f"{score}_null_high": max((high for _, high in bands), default=math.nan),
                f"{score}_outside": sum(outside(row, score) for row in live) if known else None,
            }
        names = ("model", "revision", "positions", "d_model", "convention", "gamma")  # equal in all layers
        same = {name: layers[0][name] for name in names}
        found.append(ModelRow(**same, part=part, n_layers=len(layers), n_scored=len(live), **columns))
    return found


def _score_cells(row: ModelRow, score: str) -> tuple[str, str, str]:
    """The cells of a score: its median, the number of layers outside, and the range of random layers."""
    value, n_outside = getattr(row, score), getattr(row, f"{score}_outside")
    if math.isnan(value):
        return "zero", "", ""
    if n_outside is None:
        return f"{value:.4f}", "", ""
    low, high = getattr(row, f"{score}_null_low"), getattr(row, f"{score}_null_high")
    return f"{value:.4f}", f"{n_outside} of {row.n_scored}", f"{low:.3f} to {high:.3f}"


def drawn(title: str, names: Sequence[str], cells: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    """A table as text. Every cell is on one line, however wide that is, because a terminal breaks lines by itself."""
    table = rich.table.Table(box=None, padding=(0, 1, 0, 0))
    for name, short in zip(names, short_names(names), strict=True):
        heading = short.replace("directionality", "direction- ality").replace(" ", "\n")
        table.add_column(heading, justify=_side(name))
    for line in cells:
        table.add_row(*line)
    console = Console(width=10_000, force_terminal=False, markup=False, highlight=False)
    with console.capture() as capture:
        console.print(f"{title}\n", table, "", *notes, sep="\n")
    without_trailing_spaces = re.sub(" +$", "", capture.get(), flags=re.MULTILINE)
    return re.sub("\n{3,}", "\n\n", without_trailing_spaces).rstrip("\n")


def _side(name: str) -> Literal["left", "right"]:
    """The side to which the cells of a column are aligned: text to the left, and numbers to the right."""
    return "left" if name in ("", "model", "part", "positions") else "right"


def _html_heading(name: str, side: str) -> str:
    return f'<th style="text-align: {side}">{escape(name)}</th>'


def _html_cell(cell: str, side: str) -> str:
    text = escape(cell.strip())
    if text.endswith("*"):
        text = f"<b>{text}</b>"
    return f'<td style="text-align: {side}; white-space: nowrap">{text}</td>'
