"""Figures of the survey of pretrained models."""

import numpy as np
import pandas as pd

from attngeo.display.style import (
    DIVERGING,
    NEUTRAL,
    PART_COLOURS,
    CaptionedFigure,
    house_style,
    new_figure,
    plain_panel,
)


@house_style()
def layer_scores(layers: pd.DataFrame, bands: pd.DataFrame) -> CaptionedFigure:
    """Both scores of every layer's summed form, a column of two panels per model and part, over what chance gives.

    Args:
        layers: rows of one layer each (head = -1) with columns model, part, layer, symmetry, directionality.
        bands: from `attngeo.chapters.pretrained_survey.null_bands.null_bands`.
    """
    groups = list(layers.groupby(["model", "part"], sort=False))
    chance = bands.set_index(["model", "part"])
    figure, grid = new_figure(9, 4.4, rows=2, columns=len(groups), sharey=True, squeeze=False)
    words, outside = [], 0
    for (s_panel, d_panel), (key, rows) in zip(grid.T, groups, strict=True):
        rows, band = rows.sort_values("layer"), chance.loc[key]
        for panel, score, mean, half in (
            (s_panel, "symmetry", band.s_mean, band.s_layer),
            (d_panel, "directionality", 0.0, band.d_layer),
        ):
            panel.axhspan(mean - half, mean + half, color=NEUTRAL, alpha=0.25, linewidth=0)
            panel.axhline(0, color=NEUTRAL, linewidth=0.6)
            panel.plot(rows["layer"], rows[score], "o-", color=PART_COLOURS[key[1]], markersize=3.5, linewidth=1)
            panel.set(ylim=(-1.05, 1.05), xlim=(-0.7, rows["layer"].max() + 0.7))
            panel.set_xticks(sorted({0, int(rows["layer"].max())}))
            outside += int(((rows[score] - mean).abs() > half).sum())
        s_panel.set_title(f"{key[0]}\n{key[1]}", fontsize=8)
        words.append(f"{key[0]} {key[1]}: s {rows['symmetry'].median():.2f}, d {rows['directionality'].median():.2f}")
    grid[0, 0].set_ylabel("symmetry s")
    grid[1, 0].set_ylabel("directionality d")
    figure.supxlabel("layer", fontsize=10)
    return CaptionedFigure(
        figure,
        "fig-survey-layers",
        f"Scores of the summed form $W_{{qk}}$ (Eq. S20) of {len(layers)} layers, and in grey the band that holds 95 % "
        f"of layers with random weights of the same shape: {outside} of {2 * len(layers)} scores lie outside it. Below "
        "zero in the lower row, columns dominate.",
        f"Line plots over layers, one column of panels per model. Medians: {'; '.join(words)}.",
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
