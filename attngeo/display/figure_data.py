"""The numbers that a figure shows, read back from what is drawn, as one table for every kind of plot."""

import csv
import io
from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import Collection, LineCollection, PathCollection, PolyCollection, QuadMesh
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon, Rectangle

COLUMNS = ("panel", "x axis", "y axis", "series", "drawn as", "x", "y", "value")
_Rows = Iterator[tuple]  # kind of mark, x, y, value; of an image also the values of a row of its pixels


def drawn_data(figure: Figure) -> list[tuple]:
    """What a figure shows, one row of ``COLUMNS`` per point, in the units of its axes.

    An interval is two rows, its ends; a bar is one, its centre and its height; an image has one per row of pixels,
    y its number, with their values at the end; a line or band across the whole panel (`Axes.axhline`) has no x, or
    no y.
    """
    rows = []
    for number, axes in enumerate(figure.axes, 1):
        if not axes.axison or hasattr(axes, "_colorbar"):
            continue
        place = (axes.get_title("left") or axes.get_title() or str(number), axes.get_xlabel(), axes.get_ylabel())
        names = _legend(figure, axes)
        for artist in axes.get_children():
            rows += [(*place, _name(artist, names), *row) for row in _rows(artist, axes)]
    return rows


def as_csv(figure: Figure) -> str:
    """`drawn_data` as CSV, six digits each, three of a pixel, whose columns are numbered; empty if nothing is drawn."""
    if not (rows := drawn_data(figure)):
        return ""
    names, width = len(COLUMNS), max(map(len, rows))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *range(width - names)])
    for row in rows:
        cells = [*row[:5], *(_cell(v, 6) for v in row[5:names]), *(_cell(v, 3) for v in row[names:])]
        writer.writerow(cells + [""] * (width - len(row)))
    return text.getvalue()


def _cell(value: float | int | None, digits: int) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.{digits}g}"


def _rows(artist: Artist, axes: Axes) -> _Rows:
    if not artist.get_visible() or artist is axes.patch or isinstance(artist, mpl.text.Text):
        return
    if isinstance(artist, AxesImage | QuadMesh):
        values: np.ndarray = np.ma.filled(np.ma.asarray(artist.get_array(), dtype=float), np.nan)
        for number, row in enumerate(values if values.ndim == 2 else ()):
            yield "row of pixels", None, number, None, *row
        return
    if isinstance(artist, PolyCollection) and (counts := artist.get_array()) is not None:
        for (x, y), count in zip(np.asarray(artist.get_offsets()), counts, strict=True):
            yield "hexagon", x, y, count
        return
    for kind, points in _marks(artist):
        # a scatter's offsets are in data coordinates; of the rest, what spans the panel is not, along it
        in_x, in_y = (
            (True, True)
            if isinstance(artist, PathCollection)
            else artist.get_transform().contains_branch_seperately(axes.transData)
        )
        for x, y in points:
            yield kind, x if in_x else None, y if in_y else None, None


def _marks(artist: Artist) -> Iterator[tuple[str, np.ndarray]]:
    """Kind of mark and its points, (points, 2)."""
    if isinstance(artist, Line2D):
        yield "line" if artist.get_linestyle() != "None" else "points", artist.get_xydata()
    elif isinstance(artist, PathCollection):
        yield "points", np.ma.filled(artist.get_offsets(), np.nan)
    elif isinstance(artist, LineCollection | PolyCollection):
        kind = "interval" if isinstance(artist, LineCollection) else "area"
        yield from ((kind, path.vertices) for path in artist.get_paths())
    elif isinstance(artist, Polygon):
        yield "outline", artist.get_xy()
    elif isinstance(artist, Rectangle):
        yield "bar", np.array([[artist.get_x() + artist.get_width() / 2, artist.get_y() + artist.get_height()]])


def _legend(figure: Figure, axes: Axes) -> dict[tuple, str]:
    """Names in the legends of a panel, of its figure and of other panels, by how the series looks."""
    names: dict[tuple, str] = {}
    for legend in filter(None, (axes.get_legend(), *figure.legends, *(other.get_legend() for other in figure.axes))):
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            names.setdefault(_look(handle), text.get_text())
    return names


def _name(artist: Artist, names: dict[tuple, str]) -> str:
    label = str(artist.get_label())
    return names.get(_look(artist), "") if label.startswith("_") or not label else label


def _look(artist: Artist) -> tuple:
    if isinstance(artist, Line2D):
        return mpl.colors.to_hex(artist.get_color()), artist.get_linestyle()
    if isinstance(artist, Collection):
        colours = artist.get_facecolor() if len(artist.get_facecolor()) else artist.get_edgecolor()
        return (mpl.colors.to_hex(colours[0]) if len(colours) else "",)
    return (mpl.colors.to_hex(artist.get_facecolor()),) if isinstance(artist, Rectangle | Polygon) else ()
