"""Figures of training runs: loss and scores over steps, layer by layer, and W_qk before and after."""

import math
from collections.abc import Iterable

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from attngeo.display.captions import captioned
from attngeo.display.mirror_clouds import mirror_clouds
from attngeo.display.style import DECODER, ENCODER, NEUTRAL, SEQUENTIAL, CaptionedFigure, house_style, new_figure
from attngeo.forms.random_matrices import directionality_sd, symmetry_mean, symmetry_sd
from attngeo.runs.labels import PARTS
from attngeo.runs.record import Run

SCORES = {"symmetry": "symmetry s", "directionality": "directionality d"}
COLOURS = {"mlm": ENCODER, "clm": DECODER, "released-decoder": "#CC79A7"}


def score_axes(panels: Iterable[Axes]) -> None:
    """The range that both scores have, and their zero."""
    for panel in panels:
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
        panel.set_ylim(-1.05, 1.05)


def label_score_rows(grid: np.ndarray) -> None:
    """`score_axes` of a grid of panels with symmetry in the upper row and directionality in the lower one."""
    score_axes(grid.flat)
    for panel, label in zip(grid[:, 0], SCORES.values(), strict=True):
        panel.set_ylabel(label)


def random_bands(panels: Iterable[Axes], d: int) -> None:
    """What a random matrix of width d gives, mean and two standard deviations: symmetry, then directionality."""
    bands = ((symmetry_mean(d), symmetry_sd(d)), (0.0, directionality_sd(d)))
    for panel, (mean, sd) in zip(panels, bands, strict=True):
        if math.isfinite(sd):
            low, high = np.clip([mean - 2 * sd, mean + 2 * sd], -1, 1)
            panel.axhspan(low, high, color=NEUTRAL, alpha=0.15, linewidth=0)


def two(value: float) -> str:
    """Two decimals, and no minus before a zero."""
    return f"{round(float(value), 2) + 0.0:.2f}"


def ends(line: pd.Series) -> str:
    """``0.01 to 0.61``: the first and the last value of a curve."""
    return f"{two(line.iloc[0])} to {two(line.iloc[-1])}"


@house_style()
def over_steps(runs: list[Run], name: str = "fig-training-curves") -> CaptionedFigure:
    """Loss, median symmetry and median directionality over steps, one line per objective (Figure 3a, b; Figure S3).

    Shaded are the quartiles over the layers of all runs of an objective, which are pooled, and in grey what a random
    matrix of the models' one width gives, mean and two standard deviations.
    """
    figure, panels = new_figure(9, 3.3, columns=3)
    d = runs[0].config["d_model"]
    random_bands(panels[1:], d)
    words, last = [], []
    for objective, group in _by_objective(runs).items():
        colour, label = COLOURS[objective], PARTS[objective]
        history = pd.concat([run.history for run in group]).groupby("step")[["loss", "held_out_loss"]].mean()
        panels[0].plot(history["loss"].dropna(), color=colour, linewidth=0.8, alpha=0.5)
        held_out = history["held_out_loss"].dropna()
        panels[0].plot(held_out, color=colour, label=label)
        scores = pd.concat([run.layer_scores() for run in group]).groupby("step")
        for panel, score in zip(panels[1:], SCORES, strict=True):
            low, middle, high = (scores[score].quantile(q) for q in (0.25, 0.5, 0.75))
            panel.plot(middle, color=colour, label=label)
            panel.fill_between(middle.index, low, high, color=colour, alpha=0.2, linewidth=0)
        s, directionality = (scores[score].median() for score in SCORES)
        words.append(f"{label}: held-out loss from {ends(held_out)}, s from {ends(s)}, d from {ends(directionality)}")
        last.append(f"{label} s {two(s.iloc[-1])}, d {two(directionality.iloc[-1])}")
    for panel, title in zip(panels, ("loss (nats per token)", *SCORES.values()), strict=True):
        panel.set(title=title, xlabel="step")
    score_axes(panels[1:])
    panels[1].legend(loc="upper left")
    seeds = max(len(group) for group in _by_objective(runs).values())
    pooled = "<<layers_and_seeds>>" if seeds > 1 else "layers"
    told = {"pooled": pooled, "seeds": seeds, "d": d, "last": last, "words": words}
    steps = max(run.history["step"].max() for run in runs)
    return captioned(figure, __package__, "fig-training-curves", name, steps=steps, **told)


@house_style()
def by_layer(runs: list[Run], name: str = "fig-training-layers") -> CaptionedFigure:
    """Scores over steps, medians over runs, a line per layer, a column per objective (Figure 3c, d; Figure S4)."""
    groups = _by_objective(runs)
    figure, panels = new_figure(7.6, 5.0, rows=2, columns=len(groups), sharex=True, sharey="row", squeeze=False)
    colours = mpl.colormaps[SEQUENTIAL]
    spans = []
    for column, (objective, group) in enumerate(groups.items()):
        layers = pd.concat([run.layer_scores() for run in group])
        count = layers["layer"].max() + 1
        for row, score in enumerate(SCORES):
            panel = panels[row, column]
            last = []
            for layer, rows in layers.groupby("layer"):
                line = rows.groupby("step")[score].median()
                shade = colours(0.9 * layer / max(1, count - 1))
                panel.plot(line, color=shade, label=f"layer {layer + 1}")
                last.append(two(line.iloc[-1]))
            spans.append(f"{PARTS[objective]}, {score} {min(last, key=float)} to {max(last, key=float)}")
        panels[0, column].set_title(PARTS[objective])
        panels[1, column].set_xlabel("step")
    label_score_rows(panels)
    panels[0, 0].legend(loc="lower left", ncols=2)
    return captioned(figure, __package__, "fig-training-layers", name, spans=spans)


@house_style()
def before_and_after(runs: list[Run]) -> CaptionedFigure:
    """W_qk of the last layer and its mirror cloud, at the first and the last step of each run."""
    shown: dict[bytes, tuple[list[str], str, np.ndarray]] = {}  # runs that start equal share a picture
    for end in (min, max):
        for run in runs:
            layer = max(layer for layer, _ in run.pictures)
            step = end(step for key, step in run.pictures if key == layer)
            picture, s = run.pictures[layer, step], two(run.by_layer("symmetry").at[step, layer])
            parts, *_ = shown.setdefault(picture.tobytes(), ([], f"step {step}: s = {s}", picture))
            parts.append(PARTS[run.config["objective"]])
    pictures = {f"{' and '.join(parts)}, {words}": picture for parts, words, picture in shown.values()}
    words = "; ".join(pictures)
    return captioned(
        mirror_clouds({title.replace(", ", ",\n"): m for title, m in pictures.items()}),
        __package__,
        "fig-training-forms",
        words=words,
    )


def _by_objective(runs: list[Run]) -> dict[str, list[Run]]:
    found = {objective: [run for run in runs if run.config["objective"] == objective] for objective in PARTS}
    return {objective: group for objective, group in found.items() if group}
