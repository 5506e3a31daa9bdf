"""Both scores of layers and heads, compared with the scores of random weights of the same shape."""

from collections.abc import Mapping, Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.pictures import LEVELS, block_side, picture, sample
from attngeo.bilinear.scores import SUM
from attngeo.bilinear.summary import SHOWN, is_dead, outside, without_law
from attngeo.plot.mirror_clouds import mirror_clouds
from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure


@house_style()
def score_figure(rows: Sequence[dict]) -> CaptionedFigure:
    """A panel for each score and part of one model, from the `layer_rows` of all its layers.

    Layers are joined by a line, heads are dots, and the range of 95 % of random weights is grey. Filled markers are
    outside this range.
    """
    parts = list(dict.fromkeys(row["part"] for row in rows))
    lawless = any(map(without_law, rows))
    figure, grid = new_figure(
        min(12.0, 2.4 + 3.8 * len(parts)), 6.0, rows=2, columns=len(parts), sharex="col", sharey="row", squeeze=False
    )
    for number, part in enumerate(parts):
        of_part = [row for row in rows if row["part"] == part]
        for panel, score in zip(grid[:, number], SHOWN, strict=True):
            _draw(panel, of_part, score, PART_COLOURS[part], lawless)
        grid[0, number].set_title(part if part != "cross" else "cross-attention")
        grid[1, number].set_xlabel("layer")
        grid[1, number].set_xlim(-0.75, max(row["layer"] for row in of_part) + 0.75)
        grid[1, number].xaxis.set_major_locator(MaxNLocator(integer=True))
    for panel, score in zip(grid[:, 0], SHOWN, strict=True):
        panel.set_ylabel(score)
    figure.suptitle(rows[0]["model"])
    figure.legend(handles=_legend(rows), loc="outside lower center", ncols=4, frameon=False)
    layers = [row for row in rows if row["head"] == SUM and not is_dead(row)]
    counts = [f"{sum(outside(row, score) for row in layers)} of {len(layers)} by {score}" for score in SHOWN]
    said = f"layers outside the grey band of 95 % of random weights: {', '.join(counts)}"
    if lawless:
        said = (
            "both scores, with the gains of the layer normalisation included; the scores of random weights are then"
            " unknown"
        )
    return CaptionedFigure(
        figure,
        "fig-scores",
        f"{rows[0]['model']}: {said}.",
        f"Symmetry and directionality against layer, for {', '.join(parts)}: {said}.",
    )


@house_style()
def matrix_figure(
    model: str, forms: Mapping[str, BilinearForm], layer: int, head: int | None, matrix: str = "qk"
) -> CaptionedFigure:
    """W_qk (or W_o W_v^T for the matrix "ov") of one layer of every part, or of one head, with mirror clouds below.

    ``forms`` contains the forms of the layer, or of the head with the given number.
    """
    which = f"layer {layer}" if head is None else f"layer {layer}, head {head}"
    pictures = {f"{part} {which}": picture(form)[0] / LEVELS for part, form in forms.items()}
    pooled = {f"{part} {which}": (block_side(form), sample(form)) for part, form in forms.items()}
    symbol, name, sides = "$\\Wqk$", "W_qk", ("query coordinate", "key coordinate")
    if matrix == "ov":
        symbol, name, sides = "$W_o W_v^\\top$", "W_o W_v^T", ("written coordinate", "read coordinate")
    figure = mirror_clouds(pictures, max(4.6, 3.7 * len(pictures)), pooled, sides)
    figure.suptitle(model)
    words = f"{', '.join(forms)} {which} of {model}"
    return CaptionedFigure(
        figure,
        "fig-matrix",
        f"{symbol} of {words}: entries of largest magnitude of blocks; below it entries against their mirror images.",
        f"Heat map of {name} of {words}, a row for each {sides[0]} and a column for each {sides[1]}, and below it a"
        " sample of entries, each against the one across the diagonal.",
    )


def _draw(panel: Axes, rows: Sequence[dict], score: str, colour: str, lawless: bool) -> None:
    layers = sorted((row for row in rows if row["head"] == SUM), key=lambda row: row["layer"])
    heads = [row for row in rows if row["head"] != SUM]
    at = [row["layer"] for row in layers]
    if not lawless:
        shapes = (laws_of_shape(row["d_model"], row["rank"], row["gamma"], row["convention"]) for row in layers)
        laws = [of_shape[score] for of_shape in shapes]
        low, high = zip(*(law.band for law in laws), strict=True)
        edges = [at[0] - 0.5, *at, at[-1] + 0.5]  # so that a single layer also has a band
        band = {"color": NEUTRAL, "alpha": 0.25, "linewidth": 0}
        panel.fill_between(edges, [low[0], *low, low[-1]], [high[0], *high, high[-1]], **band)
        panel.axhline(laws[0].mean, color=NEUTRAL, linewidth=0.8)
    panel.scatter([row["layer"] for row in heads], [row[score] for row in heads], s=7, color=colour, alpha=0.6)
    panel.plot(at, [row[score] for row in layers], color=colour)
    for is_outside, face in ((True, colour), (False, "white")):
        chosen = [row for row in layers if (not lawless and outside(row, score)) is is_outside]
        marks = {"s": 30, "facecolor": face, "edgecolor": colour, "zorder": 3}
        panel.scatter([row["layer"] for row in chosen], [row[score] for row in chosen], **marks)


def _legend(rows: Sequence[dict]) -> list[Line2D]:
    dot = {"marker": "o", "color": "#333333", "linewidth": 0}
    if any(map(without_law, rows)):
        handles = [Line2D([], [], **dot, markersize=6, markerfacecolor="white", label="layer, gain included")]
    else:
        handles = [
            Line2D([], [], color=NEUTRAL, alpha=0.25, linewidth=8, label="95 % of random layers"),
            Line2D([], [], **dot, markersize=6, label="layer outside"),
            Line2D([], [], **dot, markersize=6, markerfacecolor="white", label="layer inside"),
        ]
    heads = [Line2D([], [], **dot, markersize=3, alpha=0.6, label="head")]
    return handles + (heads if any(row["head"] != SUM for row in rows) else [])
