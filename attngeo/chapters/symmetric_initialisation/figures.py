"""Figures of how a model's start shapes its training: losses, what each change is worth, symmetry (Figure S5)."""

import math
from collections.abc import Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AGAINST_RANDOM,
    ARMS,
    BASELINE,
    CONTRASTS,
    PARTS_OF_THE_SCALE,
    Comparison,
    Setting,
    comparisons,
)
from attngeo.chapters.symmetric_initialisation.recorded_runs import TIED
from attngeo.display.style import NEUTRAL, PALETTE, SEQUENTIAL, CaptionedFigure, house_style, new_figure
from attngeo.runs import estimates as measure
from attngeo.runs.estimates import NEVER, Estimate
from attngeo.runs.wording import as_nats, as_percent, with_interval

# black for the baseline; apart from colour, dashes tell the arms apart
COLOURS = dict(zip(ARMS, ("#000000", *PALETTE[:6], PALETTE[4], PALETTE[3], NEUTRAL), strict=True))
DASHES = dict(zip(ARMS, ("-", "-", "--", ":", "-", "--", ":", "-.", "-.", "-."), strict=True))
OUTCOMES = {measure.HELPS: "o", measure.HURTS: "s", measure.NO_DIFFERENCE: "D", measure.TOO_FEW: "o"}
_LINEAR = 0.1  # nats up to which the axis of differences is linear
_TICKS = (-1, -0.1, -0.05, 0, 0.05, 0.1, 1)
_AT_NEVER = -0.35  # where "never" stands on an axis of speed-ups


@house_style()
def loss_curves(settings: Sequence[Setting], name: str = "fig-init-curves") -> CaptionedFigure:
    """Held-out loss over steps, a panel per setting, a line per arm of the matrix: mean over seeds, the seeds thin."""
    rows = math.ceil(len(settings) / 2)
    figure, grid = new_figure(8.2, 3.0 * rows + 0.6, rows=rows, columns=min(2, len(settings)), squeeze=False)
    panels = list(grid.flat)
    words = []
    for panel, setting in zip(panels, settings, strict=False):
        ends = []
        arms = [arm for arm in setting.arms if arm not in PARTS_OF_THE_SCALE]
        for arm in arms:
            losses = setting.held_out(arm)
            style = {"color": COLOURS[arm], "linestyle": DASHES[arm]}
            panel.plot(losses, linewidth=0.5, alpha=0.45, **style)
            panel.plot(losses.mean(axis=1), **style)
            ends.append(f"{arm} {losses.iloc[-1].mean():.3f}")
        shown = pd.concat([setting.held_out(arm).mean(axis=1) for arm in arms], axis=1)
        # the first steps, alike in all arms, would leave the rest no room
        panel.set(title=setting.label, xlabel="step", ylabel="held-out loss (nats)")
        panel.set_ylim(float(shown.min().min()) - 0.05, float(shown.iloc[len(shown) // 12].max()) + 0.05)
        words.append(f"{setting.label}: {', '.join(ends)}")
    for panel in panels[len(settings) :]:
        panel.remove()
    figure.legend(handles=_arm_handles(settings), loc="outside lower center", ncols=4)
    return CaptionedFigure(
        figure,
        name,
        "Held-out loss by start; thick: mean over seeds, thin: seeds. The first steps, alike in all arms, are cut off.",
        f"Line plots of the held-out loss over steps, one line per start. At the end, {'; '.join(words)}.",
    )


@house_style()
def answer(settings: Sequence[Setting], name: str = "fig-init-answer") -> CaptionedFigure:
    """What each change of the start is worth: differences of the final held-out loss, a panel per setting.

    Left of zero is better. Above the line each start stands against the random one; below it, two starts that differ in
    one thing.
    """
    figure, panels = _contrast_panels(settings)
    words, outcomes = [], []
    for panel, setting in zip(panels, settings, strict=True):
        found = comparisons(setting)
        panel.axvline(0, color=NEUTRAL, linewidth=1)
        for c in found:
            _mark(panel, c, c.difference)
        panel.set(title=setting.label, xlabel="difference of final loss (nats)")
        panel.set_xscale("symlog", linthresh=_LINEAR, linscale=1.5)  # one wide interval must not flatten the others
        panel.set_xticks(_TICKS, [f"{tick:g}".replace("-", "\u2212") for tick in _TICKS])
        panel.xaxis.set_minor_locator(NullLocator())
        words.append(f"{setting.label}: {_all_words(found)}")
        outcomes.append(f"{setting.label}: {_by_outcome(found)}")
    figure.legend(handles=_outcome_handles(), loc="outside lower center", ncols=2)
    return CaptionedFigure(
        figure,
        name,
        "What each change of the start is worth: final held-out loss of one start less that of another, paired by "
        "seed; mean and 95 % interval over seeds (none with fewer than three). Left of zero the first start is "
        f"better. The axis is logarithmic beyond ±{_LINEAR}. How many of the pairs say what: {'; '.join(outcomes)}.",
        f"Dot plots of differences of final loss with intervals, one row per pair of starts. {'; '.join(words)}.",
    )


@house_style()
def speed_ups(settings: Sequence[Setting], name: str = "fig-init-speed") -> CaptionedFigure:
    """Speed-ups of each start against the random one with their intervals; "never" stands left of zero."""
    figure, panels = _contrast_panels(settings, AGAINST_RANDOM)
    words = []
    for panel, setting in zip(panels, settings, strict=True):
        found = comparisons(setting, AGAINST_RANDOM)
        panel.axvline(0, color=NEUTRAL, linewidth=1)
        for c in found:
            e = c.speed_up
            _mark(
                panel, c, Estimate(*(_AT_NEVER if x == NEVER else x for x in (e.value, e.low, e.high))), AGAINST_RANDOM
            )
        panel.set(title=setting.label, xlabel="speed-up", xlim=(_AT_NEVER - 0.1, 1.02))
        panel.set_xticks([_AT_NEVER, 0, 0.5, 1], ["never", "0", "50 %", "100 %"])
        words.append(
            f"{setting.label}: " + ", ".join(f"{c.contrast.arm} {with_interval(c.speed_up, as_percent)}" for c in found)
        )
    figure.legend(handles=_outcome_handles(), loc="outside lower center", ncols=2)
    return CaptionedFigure(
        figure,
        name,
        "Share of the run that a start saves: how much earlier its smoothed held-out loss reaches, for good, the end "
        "of the random start's, with the range that resampled seeds give. Filled marks: its final loss differs from "
        "the random start's by more than the noise between seeds.",
        f"Dot plots of speed-ups with intervals, one row per start. {'; '.join(words)}.",
    )


@house_style()
def figure_s5(setting: Setting, name: str = "fig-init-symmetry") -> CaptionedFigure:
    """Figure S5 from recorded runs: loss, median symmetry and layers, of random, symmetric and released starts."""
    arms = [arm for arm in (BASELINE, *TIED) if arm in setting.arms]
    figure, grid = new_figure(9, 5.4, rows=2, columns=3)
    words = []
    for arm in arms:
        runs = setting.arms[arm].values()
        losses, rows = setting.held_out(arm), pd.concat([run.layer_scores() for run in runs])
        scores = rows.groupby("step")["symmetry"]
        low, middle, high = (scores.quantile(q) for q in (0.25, 0.5, 0.75))
        grid[0, 0].plot(losses.mean(axis=1), color=COLOURS[arm], linestyle=DASHES[arm], label=arm)
        grid[0, 1].plot(middle, color=COLOURS[arm], linestyle=DASHES[arm], label=arm)
        grid[0, 1].fill_between(middle.index, low, high, color=COLOURS[arm], alpha=0.2, linewidth=0)
        last = rows[rows["step"] == rows["step"].max()].groupby("layer")["symmetry"].median()
        words.append(
            f"{arm}: median s from {middle.iloc[0]:.2f} to {middle.iloc[-1]:.2f}, layers at the end "
            f"{', '.join(f'{s:.2f}' for s in last)}"
        )
    for panel, arm in zip(grid[1], arms, strict=False):
        _layers(panel, setting, arm)
    for panel in (grid[0, 2], *grid[1][len(arms) :]):
        panel.axis("off")
    grid[0, 0].set(title="held-out loss", xlabel="step")
    grid[0, 1].set(title="median symmetry s", xlabel="step", ylim=(-0.3, 1.05))
    grid[0, 2].legend(*grid[0, 0].get_legend_handles_labels(), loc="upper left", title=setting.label)
    grid[1, 0].legend(loc="upper right", ncols=2, fontsize=8)
    return CaptionedFigure(
        figure,
        name,
        f"Figure S5 from recorded runs ({setting.label}): loss, median symmetry over layers and seeds with quartiles, "
        f"and below it the layers of each start. {'; '.join(words)}.",
        f"Line plots over steps of loss and symmetry by start, and of symmetry by layer. {'; '.join(words)}.",
    )


def _layers(panel: Axes, setting: Setting, arm: str) -> None:
    """Median symmetry over seeds of each layer."""
    rows = pd.concat([run.layer_scores() for run in setting.arms[arm].values()])
    count = rows["layer"].max() + 1
    for layer, of_layer in rows.groupby("layer"):
        shade = mpl.colormaps[SEQUENTIAL](0.9 * layer / max(1, count - 1))
        panel.plot(of_layer.groupby("step")["symmetry"].median(), color=shade, label=f"layer {layer + 1}")
    panel.set(title=f"{arm}: s by layer", xlabel="step", ylim=(-0.3, 1.05))


def _contrast_panels(settings: Sequence[Setting], contrasts=CONTRASTS):
    """A panel per setting, side by side, with the contrasts as rows."""
    columns = min(2, len(settings))
    rows = math.ceil(len(settings) / columns)
    height = rows * (0.36 * len(contrasts) + 0.8) + 0.5
    figure, panels = new_figure(7.6, height, rows=rows, columns=columns, sharex=True, sharey=True, squeeze=False)
    labels = [c.arm if c.against == BASELINE else f"{c.arm}\nless {c.against}" for c in contrasts]
    line = sum(c.against == BASELINE for c in contrasts) - 0.5
    panels = list(panels.flat)
    for panel in panels[len(settings) :]:
        panel.remove()
    for panel in panels[: len(settings)]:
        panel.tick_params(labelbottom=True)
        panel.set_ylim(len(contrasts) - 0.5, -0.5)
        panel.locator_params(axis="x", nbins=4)
        if line < len(contrasts) - 1:
            panel.axhline(line, color=NEUTRAL, linewidth=0.8, linestyle=":")
    panels[0].set_yticks(range(len(contrasts)), labels)
    return figure, panels[: len(settings)]


def _mark(panel: Axes, c: Comparison, estimate: Estimate, contrasts=CONTRASTS) -> None:
    y = contrasts.index(c.contrast)
    colour = COLOURS[c.contrast.arm]
    if estimate.has_interval:
        panel.hlines(y, estimate.low, estimate.high, color=colour, linewidth=2)
    filled = colour if c.verdict in (measure.HELPS, measure.HURTS) else "white"
    panel.plot(estimate.value, y, OUTCOMES[c.verdict], color=colour, markerfacecolor=filled, markersize=6)


def _all_words(found: Sequence[Comparison]) -> str:
    return ", ".join(
        f"{c.contrast.arm} less {c.contrast.against} {with_interval(c.difference, as_nats)}" for c in found
    )


def _by_outcome(found: Sequence[Comparison]) -> str:
    """``lower loss 2, higher loss 1, too few seeds 6``, the outcomes that occur."""
    counts = {words: sum(c.verdict == words for c in found) for words in OUTCOMES}
    return ", ".join(f"{words} {count}" for words, count in counts.items() if count)


def _outcome_handles() -> list[Line2D]:
    marks = (
        (measure.HELPS, "black"),
        (measure.HURTS, "black"),
        (measure.NO_DIFFERENCE, "white"),
        (measure.TOO_FEW, "white"),
    )
    return [
        Line2D([], [], marker=OUTCOMES[words], color="black", markerfacecolor=fill, linestyle="", label=words)
        for words, fill in marks
    ]


def _arm_handles(settings: Sequence[Setting]) -> list[Line2D]:
    shown = [arm for arm in ARMS if any(arm in s.arms for s in settings) and arm not in PARTS_OF_THE_SCALE]
    return [Line2D([], [], color=COLOURS[arm], linestyle=DASHES[arm], label=arm) for arm in shown]
