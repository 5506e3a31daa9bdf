"""The house style: sizes, colours, and figures with a caption and alternative text."""

import io
import pickle
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.gridspec import GridSpec

from attngeo.errors import ParameterError
from attngeo.files.atomic import atomic_path
from attngeo.plot import METADATA_KEY, NARROW_SVG
from attngeo.plot.typeset import typeset

# The colours of Okabe and Ito, which can be distinguished with every common colour vision, without their yellow, which
# is too light on white. book/_static/interactive.css has the colours of encoders and decoders for the interactives, in
# both themes.
ENCODER = "#0072B2"  # blue
DECODER = "#D55E00"  # vermilion
CROSS = "#009E73"  # green: cross-attention, or a third kind
NEUTRAL = "#595959"  # reference lines, chance levels; contrast 7:1 on white
PALETTE = (ENCODER, DECODER, CROSS, "#CC79A7", "#56B4E9", "#E69F00", "#000000")
PART_COLOURS = {"encoder": ENCODER, "decoder": DECODER, "cross": CROSS}
DIVERGING = "RdBu_r"  # for signed values, white at zero if vmin = -vmax
ALT_WORDS = 60
NARROW = 3.4  # inches; the width of a figure on a phone at its original size
LETTERS = 38  # of a line of its labels
LINE = 0.19  # inches, its height with the gap below
TICK_LETTERS = 15  # of a line of words beside its panel
SMALL_LETTERS = 30  # of one line there in small letters, at most
NUMBER_LETTERS = 6  # of a number there, at most
SEQUENTIAL = "cividis"  # for values of one sign
LAYERS = "blend:#7b3294,#c08a00"  # for ordered lines, from seaborn; all of them are visible on white and on black

_STYLE = mpl.rc_params_from_file(Path(__file__).with_name("house.mplstyle"), use_default_template=False)


@contextmanager
def house_style() -> Iterator[None]:
    """The settings of matplotlib for the book, within a ``with`` block or, as a decorator, within a function."""
    state = np.random.get_state()
    np.random.seed(0)  # seaborn draws the jitter of points from this seed
    with mpl.rc_context():
        mpl.rcParams.update(mpl.rcParamsDefault | {"backend": mpl.rcParams["backend"]} | _STYLE)
        mpl.rcParams.update({"axes.prop_cycle": cycler(color=PALETTE), "image.cmap": SEQUENTIAL})
        try:
            yield
        finally:
            np.random.set_state(state)


def new_figure(
    width: int | float = 6.4, height: int | float = 3.6, rows: int = 1, columns: int = 1, **options
) -> tuple[Figure, Axes | np.ndarray]:
    """A figure in the house style and its panels, created without pyplot, which keeps figures in global state.

    A width of 6.4 inches fills the text column of the book, and the maximum is 9 inches. Options are those of
    `matplotlib.figure.Figure.subplots`, such as ``sharey=True`` or ``squeeze=False``.
    """
    with house_style():
        figure = Figure(figsize=(width, height))
        return figure, figure.subplots(rows, columns, **options)


def one_column(figure: Figure) -> Figure:
    """A copy for narrow screens, with the panels below one another and with their original height."""
    copy = pickle.loads(pickle.dumps(figure))  # otherwise it cannot be copied
    panels = [axes for axes in copy.axes if axes.get_subplotspec() is not None]
    _stack(copy, panels)
    for axes in panels:
        _break_labels(axes, alone=len(panels) == 1)
    _legends_below(copy, panels)
    return copy


def _stack(figure: Figure, panels: list[Axes]) -> None:
    """Put the panels below one another, with the labels that shared axes and titles have on one of them alone."""
    specs = [axes.get_subplotspec() for axes in panels]
    places = {axes: (spec.rowspan.start, spec.colspan.start) for axes, spec in zip(panels, specs, strict=True)}
    grid = specs[0].get_gridspec()
    heights = grid.get_height_ratios()
    stacked = [heights[row] for row, _ in places.values()]
    figure.set_size_inches(NARROW, figure.get_figheight() / sum(heights) * sum(stacked))
    if grid.ncols == 1:
        return
    below = GridSpec(len(panels), 1, figure=figure, height_ratios=stacked)
    for spec, (axes, (row, column)) in zip(below, places.items(), strict=True):
        beside = next(other for other, (r, _) in places.items() if r == row)
        above = [other for other, (_, c) in places.items() if c == column]
        axes.set_subplotspec(spec)
        axes.tick_params(labelleft=True, labelbottom=True)
        axes.set_ylabel(axes.get_ylabel() or beside.get_ylabel())
        axes.set_xlabel(axes.get_xlabel() or above[-1].get_xlabel())
        axes.set_title(axes.get_title(loc="left") or above[0].get_title(loc="left"), loc="left")


def _break_labels(axes: Axes, alone: bool) -> None:
    """Break long labels into lines. A panel that is alone may become taller; otherwise, its words become smaller."""
    axes.set_xlabel(textwrap.fill(axes.get_xlabel(), LETTERS))
    ticks = [text.get_text() for text in axes.get_yticklabels()]
    longest = max(map(len, ticks), default=0)
    if longest > NUMBER_LETTERS:  # words, which leave less room for the panel and its label
        axes.set_xlabel(axes.get_xlabel(), loc="right")
    if not any(len(words) > TICK_LETTERS and "$" not in words for words in ticks):
        return
    broken = [textwrap.fill(words, TICK_LETTERS) for words in ticks]
    needed = LINE * len(ticks) * max(words.count("\n") + 1 for words in broken)
    room = axes.get_position().height * axes.figure.get_figheight()
    taller = alone and longest > SMALL_LETTERS
    if taller and needed > room:
        axes.figure.set_figheight(axes.figure.get_figheight() + needed - room)
    if taller or needed <= room:
        axes.set_yticks(axes.get_yticks(), broken)
    else:
        axes.tick_params(axis="y", labelsize="x-small")


def _legends_below(figure: Figure, panels: list[Axes]) -> None:
    """Replace the legends by one below the panels, except those that may be about one of several panels alone."""
    legends = [legend for legend in map(Axes.get_legend, panels) if legend]
    if len(panels) > 1:
        legends = [legend for legend in legends if not legend.get_bbox_to_anchor().width]
    handles = {}  # by the words that explain them
    for legend in (*figure.legends, *legends):
        words = [textwrap.fill(text.get_text(), LETTERS) for text in legend.get_texts()]
        handles |= dict(zip(words, legend.legend_handles, strict=True))
        legend.remove()
    if handles:
        figure.legend(handles.values(), handles, loc="outside lower left", ncols=1)


def plain_panel(axes: Axes) -> None:
    """Prepare a panel for an image: no grid, full frame."""
    axes.grid(False)
    axes.spines[:].set_visible(True)


def signed_image(axes: Axes, matrix: np.ndarray) -> None:
    """Draw a matrix on its own scale, with positive entries red, negative entries blue, and nothing for NaN."""
    limit = np.nanmax(np.abs(matrix)) or 1.0
    plain_panel(axes)
    axes.imshow(matrix, cmap=DIVERGING, vmin=-limit, vmax=limit)


@dataclass(frozen=True)
class CaptionedFigure:
    """A figure with its label, caption and alternative text, which are all computed from the data in the figure.

    If it is the last expression of a cell, it is displayed as SVG. The book numbers it, and ``{numref}`` refers to it
    by its label.

    Raises:
        ParameterError: the caption or the alternative text is empty, or the alternative text has more than 60 words.
    """

    figure: Figure
    name: str  # "fig-...", unique in the book
    caption: str  # MyST: a description of the figure, with its most important numbers
    alt: str  # plain text for readers who do not see the figure: kind of plot, axes and pattern

    def __post_init__(self) -> None:
        words = len(self.alt.split())
        if not (self.caption.strip() and 0 < words <= ALT_WORDS):
            raise ParameterError(
                f"Figure {self.name} needs a caption, and alternative text of 1 to {ALT_WORDS} words, not {words}: say "
                "the pattern."
            )

    def svg(self, narrow: bool = False) -> str:
        """The figure, or its copy `one_column`, as SVG. Equal figures give equal text."""
        buffer = io.StringIO()
        with house_style():
            figure = one_column(self.figure) if narrow else self.figure
            figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
        return buffer.getvalue()

    def save(self, path: str | Path) -> None:
        """Write the figure to a file, in the format of its suffix.

        Raises:
            ParameterError: the suffix is missing or does not belong to an image format.
        """
        if Path(path).suffix[1:].lower() not in self.figure.canvas.get_supported_filetypes():
            raise ParameterError(
                f"the name {path} does not end with the suffix of an image format; use .svg, .png or .pdf."
            )
        with house_style(), atomic_path(path) as temporary:
            self.figure.savefig(temporary)

    savefig = save  # its name in matplotlib

    def _repr_mimebundle_(self, include=None, exclude=None) -> tuple[dict[str, str], dict]:
        caption, alt = (typeset(" ".join(text.split())) for text in (self.caption, self.alt))
        words = {"name": self.name, "caption": caption, "alt": alt}
        text = f"{self.name}: {alt}"
        data = {"image/svg+xml": self.svg(), "text/plain": text, NARROW_SVG: self.svg(narrow=True)}
        return data, {METADATA_KEY: {"figure": words}}
