"""Figures that set encoders beside decoders: the released scores over training, and recorded runs on several texts."""

import textwrap
from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes

from attngeo.chapters.training_scores.evidence import released_ends
from attngeo.chapters.training_scores.figures import COLOURS, SCORES, label_score_rows, random_bands, score_axes
from attngeo.display.captions import captioned
from attngeo.display.style import PART_COLOURS, CaptionedFigure, house_style, new_figure
from attngeo.runs.arms import Arm, Contrast
from attngeo.runs.labels import PARTS

STYLES = {12: "-", 4: "--"}  # layers of the released models


@house_style()
def released_over_steps(curves: pd.DataFrame) -> CaptionedFigure:
    """Released medians of both scores over steps, a column per text (Figures 3a, b and S3, with the 4-layer models)."""
    texts = ("wikipedia", "red_pajama", "jigsaw")
    figure, panels = new_figure(8.6, 4.8, rows=2, columns=3, sharex=True, sharey="row")
    for column, text in zip(panels.T, texts, strict=True):
        for (layers, part), rows in curves[curves["dataset"] == text].groupby(["layers", "part"], sort=False):
            rows = rows.set_index("step")
            colour, style = PART_COLOURS[part], STYLES[layers]
            for panel, score in zip(column, ("s", "d"), strict=True):
                panel.plot(rows[score], style, color=colour, label=f"{part}, {layers} layers", marker=".")
                panel.fill_between(
                    rows.index, rows[f"{score}_q1"], rows[f"{score}_q3"], color=colour, alpha=0.1, linewidth=0
                )
        column[0].set_title(text.replace("_", " "))
        column[1].set(xlabel="step", xscale="log")  # shared
    label_score_rows(panels)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    s, d = (released_ends(curves, score) for score in "sd")
    more_symmetric = f"{(s['encoder'] > s['decoder']).sum()} of {len(s)} pairs"
    more_columns = f"{(d['decoder'] < d['encoder']).sum()} of {len(d)}"
    columns = f"{(d[['encoder', 'decoder']] < 0).to_numpy().sum()} of {2 * len(d)} models"
    return captioned(
        figure,
        __package__,
        "fig-training-released",
        more_symmetric=more_symmetric,
        columns=columns,
        more_columns=more_columns,
    )


@house_style()
def texts_over_steps(found: Sequence[Contrast], name: str = "fig-training-texts") -> CaptionedFigure:
    """Loss and both scores over steps of encoders and decoders, a row per setting (Figures 3a, b and S3).

    Lines are means over seeds of the median over layers; shaded, where there are several seeds, from the least to the
    greatest. In grey what random matrices of the width give, mean and two standard deviations.
    """
    figure, grid = new_figure(8.6, 2.5 * len(found) + 0.3, rows=len(found), columns=3, squeeze=False)
    more_symmetric = columns = 0
    for panels, pair in zip(grid, found, strict=True):
        random_bands(panels[1:], pair.first.config["d_model"])
        last = []
        for arm in (pair.first, pair.second):
            objective = arm.config["objective"]
            _, s, d = (
                _band(panel, arm, what, COLOURS[objective], PARTS[objective])
                for panel, what in zip(panels, ("held_out_loss", *SCORES), strict=True)
            )
            last.append((s, d))
        (s_first, d_first), (s_second, d_second) = last
        more_symmetric, columns = more_symmetric + (s_first > s_second), columns + (d_second < d_first)
        panels[0].set_title(textwrap.fill(f"{pair.label}: loss (nats)", 30))
        for panel, label in zip(panels[1:], SCORES.values(), strict=True):
            panel.set_title(label)
    score_axes(grid[:, 1:].flat)
    for panel in grid[-1]:
        panel.set_xlabel("step")
    first, second = (PARTS[arm.config["objective"]] for arm in (found[0].first, found[0].second))
    seeds = sorted({len(pair.first) for pair in found})
    several = " to ".join(dict.fromkeys(map(str, (seeds[0], seeds[-1]))))
    grid[0, 1].legend(loc="upper left")
    return captioned(
        figure,
        __package__,
        "fig-training-texts",
        name,
        several=several,
        first=first,
        more_symmetric=more_symmetric,
        rows=len(found),
        second=second,
        columns=columns,
    )


@house_style()
def scores_by_depth(settings: Sequence[Contrast], most: int = 4) -> CaptionedFigure:
    """Both scores of every layer at the end of training (the ends of Figures 3c, d and S4).

    A column per setting, of the first ``most``.
    """
    found = settings[:most]
    figure, grid = new_figure(
        max(3.4, 2.2 * len(found) + 0.6), 4.8, rows=2, columns=len(found), sharey="row", squeeze=False
    )
    means: dict[str, list[pd.Series]] = {score: [] for score in SCORES}
    for column, pair in zip(grid.T, found, strict=True):
        for arm in (pair.first, pair.second):
            objective = arm.config["objective"]
            for panel, score in zip(column, SCORES, strict=True):
                values = pd.DataFrame({run.config["seed"]: run.by_layer(score).iloc[-1] for run in arm.runs})
                panel.plot(values.index + 1, values, ".", color=COLOURS[objective], alpha=0.6)
                means[score].append(values.mean(axis=1))
                panel.plot(values.index + 1, means[score][-1], color=COLOURS[objective], label=PARTS[objective])
        column[0].set_title(pair.label.replace(", ", ",\n"))
        column[1].set_xlabel("layer")
        for panel in column:
            panel.set_xticks(values.index + 1 if len(values) <= 6 else values.index[::2] + 1)
    label_score_rows(grid)
    first, second = (PARTS[arm.config["objective"]] for arm in (found[0].first, found[0].second))
    grid[0, 0].legend(loc="lower left")
    return captioned(
        figure,
        __package__,
        "fig-training-depth",
        shown=len(found),
        settings=len(settings),
        first=first,
        second=second,
        by_symmetry=_above(means["symmetry"]),
        by_directionality=_above(means["directionality"]),
    )


def _above(lines: Sequence[pd.Series]) -> str:
    """``7 of 12``: where the first of each two lines is above the second."""
    higher = [value for first, second in zip(lines[::2], lines[1::2], strict=True) for value in first > second]
    return f"{sum(higher)} of {len(higher)}"


def _band(panel: Axes, arm: Arm, what: str, colour: str, label: str) -> float:
    """Draw one arm; returns where its mean ends."""
    curves = arm.curves(what)
    mean = curves.mean(axis=1)
    panel.plot(mean, color=colour, label=label)
    if len(arm) > 1:
        panel.fill_between(mean.index, curves.min(axis=1), curves.max(axis=1), color=colour, alpha=0.2, linewidth=0)
    return float(mean.iloc[-1])
