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
from matplotlib.patches import Patch, Rectangle

COLUMNS = ("panel", "x axis", "y axis", "series", "drawn as", "x", "y", "value")


def as_csv(figure: Figure) -> str:
    """What a figure shows, one row of ``COLUMNS`` per point, in the units of its axes; empty if nothing is drawn.

    An interval is two rows, its ends; a bar is one, its centre and its height; an image has one per row of pixels,
    y its number, with their values at the end, in numbered columns; a line or band across the whole panel
    (`Axes.axhline`) has no x, or no y. Numbers have six digits, pixels three.
    """
    rows: list[list] = []
    for number, axes in enumerate(figure.axes, 1):
        if not axes.axison or hasattr(axes, "_colorbar"):
            continue
        place = (axes.get_title("left") or axes.get_title() or str(number), axes.get_xlabel(), axes.get_ylabel())
        legends = filter(None, (axes.get_legend(), *figure.legends, *(other.get_legend() for other in figure.axes)))
        names: dict[tuple, str] = {}
        for legend in legends:
            for handle, words in zip(legend.legend_handles, legend.get_texts(), strict=True):
                names.setdefault(_look(handle), words.get_text())
        for artist in (a for a in axes.get_children() if a.get_visible() and a is not axes.patch):
            label = str(artist.get_label())
            name = names.get(_look(artist), "") if label.startswith("_") or not label else label
            for kind, point, pixels in _shown(artist, axes):
                rows.append([*place, name, kind, *(_cell(v, 6) for v in point), *(_cell(v, 3) for v in pixels)])
    if not rows:
        return ""
    width, text = max(map(len, rows)), io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*COLUMNS, *range(width - len(COLUMNS))])
    writer.writerows(row + [""] * (width - len(row)) for row in rows)
    return text.getvalue()


def _cell(value: float | int | None, digits: int) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.{digits}g}"


def _shown(artist: Artist, axes: Axes) -> Iterator[tuple[str, tuple, tuple | np.ndarray]]:
    """Kind of mark, its point (x, y, value), and of an image the values of a row of its pixels."""
    if isinstance(artist, AxesImage | QuadMesh):
        values: np.ndarray = np.ma.filled(np.ma.asarray(artist.get_array(), dtype=float), np.nan)
        for number, row in enumerate(values if values.ndim == 2 else ()):  # three dimensions: colours, no numbers
            yield "row of pixels", (None, number, None), row
        return
    if isinstance(artist, PathCollection) or (isinstance(artist, PolyCollection) and artist.get_array() is not None):
        kind = "points" if isinstance(artist, PathCollection) else "hexagon"
        values = artist.get_array() if kind == "hexagon" else [None] * len(artist.get_offsets())
        for (x, y), value in zip(np.ma.filled(artist.get_offsets(), np.nan), values, strict=True):
            yield kind, (x, y, value), ()
        return
    if isinstance(artist, Line2D):
        kind, paths = "line" if artist.get_linestyle() != "None" else "points", [artist.get_xydata()]
    elif isinstance(artist, LineCollection | PolyCollection):
        kind = "interval" if isinstance(artist, LineCollection) else "area"
        paths = [path.vertices for path in artist.get_paths()]
    elif isinstance(artist, Rectangle):
        kind, paths = "bar", [[(artist.get_x() + artist.get_width() / 2, artist.get_y() + artist.get_height())]]
    else:
        return
    # what spans the panel is not in its units, along it
    in_x, in_y = artist.get_transform().contains_branch_seperately(axes.transData)
    for x, y in (point for path in paths for point in path):
        yield kind, (x if in_x else None, y if in_y else None, None), ()


def _look(artist: Artist) -> tuple:
    """How a series looks, by which a legend names it."""
    if isinstance(artist, Line2D):
        return mpl.colors.to_hex(artist.get_color()), artist.get_linestyle()
    if isinstance(artist, Collection):
        colours = artist.get_facecolor() if len(artist.get_facecolor()) else artist.get_edgecolor()
        return (mpl.colors.to_hex(colours[0]) if len(colours) else "",)
    return (mpl.colors.to_hex(artist.get_facecolor()),) if isinstance(artist, Patch) else ()
