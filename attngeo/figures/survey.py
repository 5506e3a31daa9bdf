"""Figures of the survey of pretrained models."""

from itertools import cycle

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from attngeo.figures.style import (
    DIVERGING,
    NEUTRAL,
    PART_COLOURS,
    CaptionedFigure,
    house_style,
    new_figure,
    plain_panel,
)

MARKERS = "osD^vP*X<>"


@house_style()
def layer_scores(layers: pd.DataFrame) -> CaptionedFigure:
    """Both scores of every layer's summed form against relative depth, one line per model and part.

    Args:
        layers: rows of one layer each (head = -1) with columns model, part, layer, symmetry, directionality.
    """
    figure, panels = new_figure(7.6, 3.8, columns=2)
    handles, words = [], []
    for marker, ((model, part), rows) in zip(cycle(MARKERS), layers.groupby(["model", "part"], sort=False)):
        rows = rows.sort_values("layer")
        depth = (np.arange(len(rows)) + 0.5) / len(rows)
        style = {"color": PART_COLOURS[part], "marker": marker, "markersize": 5, "linewidth": 1.1}
        panels[0].plot(depth, rows["symmetry"], **style)
        panels[1].plot(depth, rows["directionality"], **style)
        handles.append(Line2D([], [], label=f"{model} ({part})", **style))
        s, d = rows["symmetry"].median(), rows["directionality"].median()
        words.append(f"{model} {part}: s {s:.2f}, d {d:.2f}")
    for panel, title, end in zip(
        panels, ("symmetry s", "directionality d"), ("symmetric", "rows dominate"), strict=True
    ):
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
        panel.set(title=f"{title} (+1: {end})", xlabel="relative depth of the layer", ylim=(-1.05, 1.05), xlim=(0, 1))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    parts = layers.groupby("part")["symmetry"].median()
    middle = ", ".join(f"{part} layers {value:.2f}" for part, value in parts.items())
    return CaptionedFigure(
        figure,
        "fig-survey-layers",
        f"Scores of the summed form $W_{{qk}}$ (Eq. S20) of {len(layers)} layers of {layers['model'].nunique()} "
        f"pretrained models against relative depth. Median symmetry: {middle}. "
        "In the right panel, columns dominate where the value is below zero.",
        f"Two line plots over relative depth, one line per model. Medians: {'; '.join(words)}.",
    )


@house_style()
def form_pictures(pictures: dict[str, np.ndarray], name: str = "fig-survey-forms") -> CaptionedFigure:
    """W_qk as an image for each entry of ``pictures`` (title -> (n, n) in [-1, 1]), as in Figure 2 of the paper."""
    figure, panels = new_figure(min(2.9 * len(pictures) + 0.3, 9), 3.1, columns=len(pictures), squeeze=False)
    words = []
    for panel, (title, m) in zip(panels[0], pictures.items(), strict=True):
        plain_panel(panel)
        image = panel.imshow(m, cmap=DIVERGING, vmin=-1, vmax=1)
        panel.set(title=title, xlabel="key coordinate", ylabel="query coordinate")
        s = float((m * m.T).sum() / (m * m).sum())
        columns, rows = (m * m).sum(0), (m * m).sum(1)
        words.append(
            f"{title}: symmetry of the picture {s:.2f}, largest column holds {columns.max() / columns.sum():.1%} and "
            f"largest row {rows.max() / rows.sum():.1%} of the squared entries"
        )
    figure.colorbar(image, ax=panels, shrink=0.75, label="entry / level of saturation")
    return CaptionedFigure(
        figure,
        name,
        f"The matrix $W_{{qk}}$ itself. {'; '.join(words)}. Colours saturate at the 99.5th percentile of the "
        "magnitudes; matrices wider than 256 are pooled, each block shown by its entry of largest magnitude.",
        f"Images of query-key matrices, red positive, blue negative. {'; '.join(words)}.",
    )


@house_style()
def heads_beside_sum(table: pd.DataFrame) -> CaptionedFigure:
    """Symmetry of every head, beside that of the layer's summed form: one column of points per model and part.

    Args:
        table: the long table, heads and layers (head = -1) together.
    """
    groups = list(table.groupby(["model", "part"], sort=False))
    figure, panel = new_figure(7.4, 3.6)
    words = []
    rng = np.random.default_rng(0)
    for x, ((model, part), rows) in enumerate(groups):
        heads, sums = rows[rows["head"] >= 0]["symmetry"], rows[rows["head"] == -1]["symmetry"]
        spread = x + rng.uniform(-0.28, 0.28, len(heads))
        panel.scatter(spread, heads, s=7, color=PART_COLOURS[part], alpha=0.45, linewidths=0, rasterized=True)
        panel.hlines(sums, x - 0.36, x + 0.36, color="black", linewidth=0.7)
        words.append(f"{model} {part}: heads {heads.median():.2f}, sums {sums.median():.2f}")
    panel.axhline(0, color=NEUTRAL, linewidth=0.8)
    panel.set_xticks(range(len(groups)), [f"{m}\n{p}" for (m, p), _ in groups], fontsize=8)
    panel.set(ylabel="symmetry s", ylim=(-1.05, 1.05))
    return CaptionedFigure(
        figure,
        "fig-survey-heads",
        "Symmetry of single heads (points, spread sideways) and of the layer's sum over heads (black lines). Medians: "
        f"{'; '.join(words)}.",
        f"Strip plot of the symmetry of heads with lines for layers. Medians: {'; '.join(words)}.",
    )
