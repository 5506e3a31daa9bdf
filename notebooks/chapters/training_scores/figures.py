"""Figures of the chapter *Scores in training*: the authors' models and ours, over the course of training."""

import textwrap
from collections.abc import Iterable, Sequence

import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from attngeo.bilinear.random_matrices import directionality_sd, symmetry_mean, symmetry_sd
from attngeo.experiments.runs.arms import LOSS, PARTS, Contrast
from attngeo.experiments.runs.numbers_in_words import extent, joined_by_and, number, share_of, spelled
from attngeo.plot.style import LAYERS, NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from chapters.training_scores.released import SCATTER, random_gap_sd, released_ends, released_gaps, released_training

SCORES = {"symmetry": "symmetry s", "directionality": "directionality d"}
LINES = {12: "-", 4: "--"}  # by number of layers


def score_axes(panels: Iterable[Axes]) -> None:
    """The range that both scores have, and their zero."""
    for panel in panels:
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
        panel.set_ylim(-1.05, 1.05)


@house_style()
def released_over_steps() -> CaptionedFigure:
    """Released medians over steps, a column per text: s of both models, and d of the encoder minus d of the decoder."""
    figure, grid = new_figure(8.6, 4.2, rows=2, columns=3, sharex=True, sharey="row")
    for (upper, lower), title in zip(grid.T, ("Wikipedia", "Red Pajama", "Jigsaw"), strict=True):
        curves = released_training().query("text == @title").set_index("step")
        for (layers, part), rows in curves.groupby(["layers", "part"], sort=False):
            look = {"color": PART_COLOURS[part], "linestyle": LINES[layers]}
            upper.plot(rows["s"], label=f"{part}, {layers} layers", marker=".", **look)
            upper.fill_between(rows.index, rows["s_q1"], rows["s_q3"], color=look["color"], alpha=0.1, linewidth=0)
        for layers, of_depth in curves.groupby("layers"):
            gap = of_depth.pivot(columns="part", values="d").eval("encoder - decoder")
            lower.plot(gap, color="black", linestyle=LINES[layers], marker=".", label=f"difference, {layers} layers")
            band = SCATTER * random_gap_sd(layers)
            lower.axhspan(-band, band, color=NEUTRAL, alpha=0.18, linewidth=0)
        upper.set_title(title)
        lower.set(xlabel="step", xscale="log")  # shared
    for panel in grid.flat:
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
    grid[0, 0].set(ylabel=SCORES["symmetry"], ylim=(-1.05, 1.05))
    grid[1, 0].set(ylabel="d of the encoder\nminus d of the decoder", ylim=(-0.75, 1.45))
    handles, labels = (
        above + below for above, below in zip(*(panel.get_legend_handles_labels() for panel in grid[:, 0]), strict=True)
    )
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    s, gaps = released_ends("s"), [gap for layers in LINES for gap in released_gaps(layers)]
    symmetric = f"{share_of((s['encoder'] > s['decoder']).sum(), len(s))} pairs"
    positive = f"{share_of(sum(gap.estimate.value > 0 for gap in gaps), len(gaps))} pairs"
    n_apart = sum(gap.met or gap.reversed for gap in gaps)
    apart = "Only one difference lies" if n_apart == 1 else f"Of these differences, {spelled(n_apart)} lie"
    caption = f"""Symmetry score $s$ of the authors' encoders (blue) and decoders (orange) over the course of training
    (top), and the directionality score $d$ of the encoder minus $d$ of the decoder (bottom). Solid lines show models
    with 12 layers, and dashed lines show models with 4 layers. Every score is the median over layers, and the
    coloured bands extend from the lower to the upper quartile. Each model was trained once. The paper predicts a
    positive difference in $d$. The grey bands show how much $d$ differs between two randomly initialised models
    (±{spelled(SCATTER)} standard deviations), for 12 layers (narrow and dark) and for 4 layers (wide and light). At
    the end of training, the encoder has the higher symmetry score in {symmetric}. The difference in $d$ is positive
    in {positive}. {apart} outside the corresponding grey band."""
    alt = f"""Line plots over training steps, with one column per dataset. At the end, the symmetry score of the
    encoder is higher than that of the decoder in {symmetric}. In the lower row, the difference in directionality is
    positive at the end in {positive}. {apart} outside the grey bands."""
    return CaptionedFigure(figure, "fig-training-released", caption, alt)


@house_style()
def over_steps(pairs: Sequence[Contrast], name: str) -> CaptionedFigure:
    """Loss and both scores over steps of encoders and decoders, a row per setting (Figures 3a, b and S3)."""
    figure, grid = new_figure(8.6, 2.5 * len(pairs) + 0.3, rows=len(pairs), columns=3, squeeze=False)
    style = {"x": "step", "y": "value", "errorbar": ("pi", 100)}
    for panels, pair in zip(grid, pairs, strict=True):
        score_axes(panels[1:])
        d = pair.first.config["d_model"]
        at_random = (symmetry_mean(d), symmetry_sd(d)), (0.0, directionality_sd(d))
        for panel, (mean, sd) in zip(panels[1:], at_random, strict=True):
            panel.axhspan(mean - 2 * sd, mean + 2 * sd, color=NEUTRAL, alpha=0.15, linewidth=0)
        titles = {LOSS: textwrap.fill(f"{pair.label}: loss (nats)", 30)} | SCORES
        for panel, (measure, title) in zip(panels, titles.items(), strict=True):
            for arm in (pair.first, pair.second):
                curves = arm.curves(measure).melt(ignore_index=False).reset_index()  # a row per step and seed
                part = PARTS[arm.config["objective"]]
                sns.lineplot(curves, ax=panel, label=part, color=PART_COLOURS[part], legend=False, **style)
            panel.set(title=title, ylabel="", xlabel="step" if pair is pairs[-1] else "")
    grid[0, 1].legend(loc="upper left")
    seeds = sorted(map(len, pairs))
    several = " to ".join(map(str, sorted({seeds[0], seeds[-1]})))
    symmetric = sum(pair.first.mean("symmetry") > pair.second.mean("symmetry") for pair in pairs)
    columns = sum(pair.first.mean("directionality") > pair.second.mean("directionality") for pair in pairs)
    lines = f"""Each line is the median over layers, averaged over {several} seeds, and the coloured band extends from
    the lowest to the highest value over seeds."""
    if several == "1":
        lines = "Each line is the median over layers in a single training run."
    caption = f"""Loss on held-out text and scores of the sum over heads during training. {lines} The grey band extends
    two standard deviations to either side of the mean score of random matrices."""
    alt = f"""Line plots over training steps with loss, symmetry and directionality in columns and one row per setting. At
    the end, the encoder has the higher symmetry score in {symmetric} of {len(pairs)} rows, and the decoder has the lower
    directionality score in {columns} of {len(pairs)} rows."""
    return CaptionedFigure(figure, name, caption, alt)


@house_style()
def by_layer(pair: Contrast) -> CaptionedFigure:
    """Scores over steps, medians over seeds, a line per layer, encoder beside decoder (Figure 3c, d; Figure S4)."""
    figure, grid = new_figure(7.6, 5.0, rows=2, columns=2, sharex=True, sharey="row")
    spans: dict[str, list[str]] = {score: [] for score in SCORES}
    for column, arm in zip(grid.T, (pair.first, pair.second), strict=True):
        layers = pd.concat(run.layer_scores() for run in arm.runs).assign(layer=lambda rows: rows["layer"] + 1)
        part, style = PARTS[arm.config["objective"]], {"palette": LAYERS, "estimator": "median", "errorbar": None}
        for panel, score in zip(column, SCORES, strict=True):
            sns.lineplot(layers, x="step", y=score, hue="layer", legend=panel is grid[0, 0], ax=panel, **style)
            last = layers[layers["step"] == layers["step"].max()].groupby("layer")[score].median()
            spans[score].append(f"from {extent(last, lambda s: number(s, 2))} in the {part}")
        column[0].set_title(part)
    score_axes(grid.flat)
    ranges = [f"the {score} scores range {joined_by_and(found)}" for score, found in spans.items()]
    told = f"At the end of training, {', and '.join(ranges)}."
    caption = f"Scores of each layer (sum over heads) during training. Lines show medians over seeds. {told}"
    alt = f"Line plots over training steps, with one line per layer. {told}"
    return CaptionedFigure(figure, "fig-training-layers", caption, alt)
