"""Figures of how a model's start shapes its training: losses, what each change is worth, symmetry (Figure S5)."""

import math
from collections import Counter
from collections.abc import Collection, Sequence

import matplotlib as mpl
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from attngeo.chapters.symmetric_initialisation import crossings
from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AGAINST_RANDOM,
    BASELINE,
    PAIRS,
    PARTS_OF_THE_SCALE,
    STARTS,
    ControlMatrix,
    StartPair,
)
from attngeo.chapters.symmetric_initialisation.recorded_runs import TIED
from attngeo.display.captions import captioned
from attngeo.display.style import NEUTRAL, PALETTE, SEQUENTIAL, CaptionedFigure, house_style, new_figure
from attngeo.runs import estimates
from attngeo.runs.arms import LOSS, Arm, Contrast
from attngeo.runs.estimates import NEVER, Estimate
from attngeo.runs.numbers_in_words import as_percent

# black for the baseline; apart from colour, dashes tell the arms apart
COLOURS = dict(zip(STARTS, ("#000000", *PALETTE[:6], PALETTE[4], PALETTE[3], NEUTRAL), strict=True))
DASHES = dict(zip(STARTS, ("-", "-", "--", ":", "-", "--", ":", "-.", "-.", "-."), strict=True))
OUTCOMES = {estimates.HELPS: "o", estimates.HURTS: "s", estimates.NO_DIFFERENCE: "D", estimates.TOO_FEW: "o"}
_LINEAR = 0.1  # nats up to which the axis of differences is linear
_TICKS = (-1, -0.1, -0.05, 0, 0.05, 0.1, 1)
_AT_NEVER = -0.35  # where "never" stands on an axis of speed-ups


@house_style()
def loss_curves(experiments: Sequence[ControlMatrix]) -> CaptionedFigure:
    """Held-out loss over steps, a panel per experiment, a line per arm: mean over seeds, the seeds thin."""
    rows = math.ceil(len(experiments) / 2)
    figure, grid = new_figure(8.2, 3.0 * rows + 0.6, rows=rows, columns=min(2, len(experiments)), squeeze=False)
    panels = list(grid.flat)
    lowest: Counter[str] = Counter()
    for panel, experiment in zip(panels, experiments, strict=False):
        ends = {}
        curves = {start: arm.curves(LOSS) for start, arm in experiment.arms.items() if start not in PARTS_OF_THE_SCALE}
        for start, losses in curves.items():
            style = {"color": COLOURS[start], "linestyle": DASHES[start]}
            panel.plot(losses, linewidth=0.5, alpha=0.45, **style)
            panel.plot(losses.mean(axis=1), **style)
            ends[start] = losses.iloc[-1].mean()
        shown = pd.concat([losses.mean(axis=1) for losses in curves.values()], axis=1)
        # the first steps, alike in all arms, would leave the rest no room
        panel.set(title=experiment.label, xlabel="step", ylabel="held-out loss (nats)")
        panel.set_ylim(float(shown.min().min()) - 0.05, float(shown.iloc[len(shown) // 12].max()) + 0.05)
        lowest[min(ends, key=ends.__getitem__)] += 1
    for panel in panels[len(experiments) :]:
        panel.remove()
    figure.legend(handles=_arm_handles(experiments), loc="outside lower center", ncols=4)
    return captioned(
        figure,
        __package__,
        "fig-init-curves",
        lowest=[f"{start} in {count}" for start, count in lowest.most_common()],
        panels=len(experiments),
    )


@house_style()
def answer(experiments: Sequence[ControlMatrix], name: str = "fig-init-answer") -> CaptionedFigure:
    """What each change of the start is worth: differences of the final held-out loss, a panel per experiment.

    Left of zero is better. Above the line each start stands against the random one; below it, two starts that differ in
    one thing.
    """
    figure, panels = _contrast_panels(experiments)
    everything = []
    for panel, experiment in zip(panels, experiments, strict=True):
        found = experiment.contrasts()
        panel.axvline(0, color=NEUTRAL, linewidth=1)
        for pair, contrast in found.items():
            _mark(panel, PAIRS.index(pair), contrast, contrast.difference())
        panel.set(title=experiment.label, xlabel="difference of final loss (nats)")
        panel.set_xscale("symlog", linthresh=_LINEAR, linscale=1.5)  # one wide interval must not flatten the others
        panel.set_xticks(_TICKS, [f"{tick:g}".replace("-", "\u2212") for tick in _TICKS])
        panel.xaxis.set_minor_locator(NullLocator())
        everything += found.values()
    figure.legend(handles=_outcome_handles(), loc="outside lower center", ncols=2)
    return captioned(
        figure,
        __package__,
        "fig-init-answer",
        name,
        linear=_LINEAR,
        n=len(everything),
        outcomes=_by_outcome(everything),
    )


@house_style()
def speed_ups(experiments: Sequence[ControlMatrix]) -> CaptionedFigure:
    """Speed-ups of each start against the random one with their intervals; "never" stands left of zero."""
    figure, panels = _contrast_panels(experiments, AGAINST_RANDOM)
    values = []
    for panel, experiment in zip(panels, experiments, strict=True):
        found = {pair: (c, crossings.speed_up_of(c)) for pair, c in experiment.contrasts(AGAINST_RANDOM).items()}
        panel.axvline(0, color=NEUTRAL, linewidth=1)
        for pair, (contrast, e) in found.items():
            shown = Estimate(*(_AT_NEVER if x == NEVER else x for x in (e.value, e.low, e.high)))
            _mark(panel, AGAINST_RANDOM.index(pair), contrast, shown)
        panel.set(title=experiment.label, xlabel="speed-up", xlim=(_AT_NEVER - 0.1, 1.02))
        panel.set_xticks([_AT_NEVER, 0, 0.5, 1], ["never", "0", "50 %", "100 %"])
        values += [e.value for _, e in found.values()]
    figure.legend(handles=_outcome_handles(), loc="outside lower center", ncols=2)
    return captioned(
        figure,
        __package__,
        "fig-init-speed",
        starts=len(values),
        never=sum(v == NEVER for v in values),
        largest=as_percent(max(values)),
    )


@house_style()
def figure_s5(experiment: ControlMatrix) -> CaptionedFigure:
    """Figure S5 from recorded runs: loss, median symmetry and layers, of random, symmetric and released starts."""
    arms = {start: experiment.arms[start] for start in (BASELINE, *TIED) if start in experiment.arms}
    figure, grid = new_figure(9, 5.4, rows=2, columns=3)
    medians = []
    for start, arm in arms.items():
        losses, rows = arm.curves(LOSS), pd.concat([run.layer_scores() for run in arm.runs])
        scores = rows.groupby("step")["symmetry"]
        low, middle, high = (scores.quantile(q) for q in (0.25, 0.5, 0.75))
        grid[0, 0].plot(losses.mean(axis=1), color=COLOURS[start], linestyle=DASHES[start], label=start)
        grid[0, 1].plot(middle, color=COLOURS[start], linestyle=DASHES[start], label=start)
        grid[0, 1].fill_between(middle.index, low, high, color=COLOURS[start], alpha=0.2, linewidth=0)
        medians.append(f"{start}: median s from {middle.iloc[0]:.2f} to {middle.iloc[-1]:.2f}")
    for panel, (start, arm) in zip(grid[1], arms.items(), strict=False):
        _layers(panel, start, arm)
    for panel in (grid[0, 2], *grid[1][len(arms) :]):
        panel.axis("off")
    grid[0, 0].set(title="held-out loss (nats)", xlabel="step")
    grid[0, 1].set(title="median symmetry s", xlabel="step", ylim=(-0.3, 1.05))
    grid[0, 2].legend(*grid[0, 0].get_legend_handles_labels(), loc="upper left", title=experiment.label)
    grid[1, 0].legend(loc="upper right", ncols=2, fontsize=8)
    return captioned(figure, __package__, "fig-init-symmetry", label=experiment.label, medians=medians)


def _layers(panel: Axes, start: str, arm: Arm) -> None:
    """Median symmetry over seeds of each layer."""
    rows = pd.concat([run.layer_scores() for run in arm.runs])
    count = rows["layer"].max() + 1
    for layer, of_layer in rows.groupby("layer"):
        shade = mpl.colormaps[SEQUENTIAL](0.9 * layer / max(1, count - 1))
        panel.plot(of_layer.groupby("step")["symmetry"].median(), color=shade, label=f"layer {layer + 1}")
    panel.set(title=f"{start}: s by layer", xlabel="step", ylim=(-0.3, 1.05))


def _contrast_panels(experiments: Sequence[ControlMatrix], pairs: Sequence[StartPair] = PAIRS):
    """A panel per experiment, side by side, with the pairs of starts as rows."""
    columns = min(2, len(experiments))
    rows = math.ceil(len(experiments) / columns)
    height = rows * (0.36 * len(pairs) + 0.8) + 0.5
    figure, panels = new_figure(7.6, height, rows=rows, columns=columns, sharex=True, sharey=True, squeeze=False)
    labels = [p.start if p.against == BASELINE else f"{p.start}\nless {p.against}" for p in pairs]
    line = sum(p.against == BASELINE for p in pairs) - 0.5
    panels = list(panels.flat)
    for panel in panels[len(experiments) :]:
        panel.remove()
    for panel in panels[: len(experiments)]:
        panel.tick_params(labelbottom=True)
        panel.set_ylim(len(pairs) - 0.5, -0.5)
        panel.locator_params(axis="x", nbins=4)
        if line < len(pairs) - 1:
            panel.axhline(line, color=NEUTRAL, linewidth=0.8, linestyle=":")
    panels[0].set_yticks(range(len(pairs)), labels)
    return figure, panels[: len(experiments)]


def _mark(panel: Axes, y: int, contrast: Contrast, estimate: Estimate) -> None:
    colour, outcome = COLOURS[contrast.first.config["init"]], contrast.outcome()
    if estimate.has_interval:
        panel.hlines(y, estimate.low, estimate.high, color=colour, linewidth=2)
    filled = colour if outcome in (estimates.HELPS, estimates.HURTS) else "white"
    panel.plot(estimate.value, y, OUTCOMES[outcome], color=colour, markerfacecolor=filled, markersize=6)


def _by_outcome(found: Collection[Contrast]) -> str:
    """``lower loss 2, higher loss 1, too few seeds 6``, the outcomes that occur."""
    counts = {words: sum(c.outcome() == words for c in found) for words in OUTCOMES}
    return ", ".join(f"{words} {count}" for words, count in counts.items() if count)


def _outcome_handles() -> list[Line2D]:
    marks = (
        (estimates.HELPS, "black"),
        (estimates.HURTS, "black"),
        (estimates.NO_DIFFERENCE, "white"),
        (estimates.TOO_FEW, "white"),
    )
    return [
        Line2D([], [], marker=OUTCOMES[words], color="black", markerfacecolor=fill, linestyle="", label=words)
        for words, fill in marks
    ]


def _arm_handles(experiments: Sequence[ControlMatrix]) -> list[Line2D]:
    shown = [start for start in STARTS if any(start in e.arms for e in experiments) and start not in PARTS_OF_THE_SCALE]
    return [Line2D([], [], color=COLOURS[start], linestyle=DASHES[start], label=start) for start in shown]
