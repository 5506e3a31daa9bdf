"""Figures of how a model's start shapes its training: what each change is worth, losses, symmetry (Figure S5)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullLocator

from attngeo.chapters.symmetric_initialisation.starts import (
    BAND,
    BASELINE,
    STARTS,
    Setting,
    between_random_starts,
)
from attngeo.display.interactive import Interactive
from attngeo.display.style import (
    CROSS,
    DECODER,
    ENCODER,
    NEUTRAL,
    PALETTE,
    SEQUENTIAL,
    CaptionedFigure,
    house_style,
    new_figure,
)
from attngeo.runs.arms import LOSS, Arm, Contrast
from attngeo.runs.estimates import HELPS, HURTS, NO_DIFFERENCE, Estimate
from attngeo.runs.numbers_in_words import as_nats, as_percent

# black for the baseline; apart from colour, dashes tell the arms apart
COLOURS = dict(zip(STARTS, ("#000000", *PALETTE[:6], PALETTE[4], PALETTE[3], NEUTRAL), strict=True))
DASHES = dict(zip(STARTS, ("-", "-", "--", ":", "-", "--", ":", "-.", "-.", "-."), strict=True))
CHANGES = {"symmetric": "the tie alone", "default-linear": "all but the tie", "released": "all"}
MARKS = {HELPS: ("o", ENCODER, ENCODER), HURTS: ("s", DECODER, DECODER), NO_DIFFERENCE: ("D", NEUTRAL, "white")}
LINEAR = 0.1  # nats up to which the axis of differences is linear
TICKS = (-1, -0.1, 0, 0.1, 1)
AT_NEVER = -0.12  # where "never" stands on an axis of speed-ups
MANY = 12  # seeds, from which on their lines are thinner
NATS = "difference of final loss (nats)"


class Row(NamedTuple):
    """Of a forest plot: a difference, what it says, the seeds that it is the mean of, and words at the right end."""

    estimate: Estimate
    outcome: str
    seeds: Sequence[float] = ()
    words: str = ""

    @classmethod
    def of(cls, contrast: Contrast, words: str = "") -> "Row":
        """The difference of final losses."""
        return cls(contrast.difference(), contrast.outcome(), tuple(contrast.differences()), words)


def forest(panels: Mapping[str, Mapping[str, Row]], xlabel: str, band: float = 0.0) -> Figure:
    """A panel per setting, a line per label: mean, 95 % interval, and each seed as a thin stroke.

    Rows that have words stand below their label, so that the figure is narrow.
    """
    labels = list(dict.fromkeys(label for rows in panels.values() for label in rows))
    worded = any(row.words for rows in panels.values() for row in rows.values())
    columns = min(2, len(panels))
    lines = math.ceil(len(panels) / columns)
    width, height = 5.4 if worded else 7.6, lines * (0.33 * len(labels) + 0.6) + 0.5
    figure, grid = new_figure(width, height, lines, columns, sharex=True, sharey=True, squeeze=False)
    for panel in grid.flat[len(panels) :]:
        panel.remove()
    for panel, (title, rows) in zip(grid.flat, panels.items(), strict=False):
        panel.axvspan(-band, band, color=NEUTRAL, alpha=0.2, linewidth=0)
        panel.axvline(0, color=NEUTRAL, linewidth=1)
        for label, row in rows.items():
            y, (mark, colour, face) = labels.index(label), MARKS[row.outcome]
            panel.plot(row.seeds, [y] * len(row.seeds), "|", color=NEUTRAL, alpha=0.5, markersize=7)
            panel.hlines(y, row.estimate.low, row.estimate.high, color=colour, linewidth=2)
            panel.plot(row.estimate.value, y, mark, color=colour, markerfacecolor=face, markersize=6)
            for x, words, side in ((0.01, label, "left"), (1, row.words, "right")) if worded else ():
                place = {"transform": panel.get_yaxis_transform(), "ha": side, "va": "center", "fontsize": 8}
                panel.text(x, y - 0.4, words, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5}, **place)
        panel.set(title=title, xlabel=xlabel)
        panel.tick_params(labelbottom=True)
    grid[0, 0].set_yticks(range(len(labels)), [""] * len(labels) if worded else labels)
    grid[0, 0].set_ylim(len(labels) - 0.5, -0.7)
    return figure


def in_nats(figure: Figure) -> Figure:
    """With axes that are logarithmic beyond ±`LINEAR`: one wide interval must not flatten the others."""
    for panel in figure.axes:
        panel.set_xscale("symlog", linthresh=LINEAR, linscale=1.5)
        panel.set_xticks(TICKS, [f"{tick:g}".replace("-", "\N{MINUS SIGN}") for tick in TICKS])
        panel.xaxis.set_minor_locator(NullLocator())
    return figure


@house_style()
def plans_figure(plans: Sequence[Setting]) -> CaptionedFigure:
    """Every planned comparison of a symmetric start with a random one: the answer of the chapter."""
    rows = {f"{p.short} ({len(p.primary)})": Row.of(p.primary, p.said) for p in plans}
    figure = in_nats(forest({"": rows}, f"symmetric less random, {NATS}", BAND))
    found = Counter(row.outcome for row in rows.values())
    caption = (
        "Final held-out loss of a symmetric start less that of a random one of equal scale, in all planned comparisons:"
        " mean, 95 % interval, each seed as a stroke. Rows name model, text, layers × width, tokens, in brackets seeds,"
        f" and what the plan says. Grey: ±{BAND} nats, which count for nothing; beyond ±{LINEAR} the axis is"
        " logarithmic. Filled circles lie below zero, filled squares above, open marks within noise."
    )
    alt = (
        f"Forest plot of {len(rows)} differences of final loss. {found[HELPS]} intervals lie below zero, {found[HURTS]}"
        f" above; the other {found[NO_DIFFERENCE]} hold it. The first two rows, models of 4 layers of width 256, lie"
        " clearly left."
    )
    return CaptionedFigure(figure, "fig-init-planned", caption, alt)


@house_style()
def made_of(encoders: Iterable[Setting]) -> CaptionedFigure:
    """Final loss less that of the random start: of the tie, of all the rest, and of both."""
    panels = {
        e.label: {words: Row.of(e.less(start)) for start, words in CHANGES.items() if start in e.arms} for e in encoders
    }
    told = "; ".join(
        f"{label}: {', '.join(f'{words} {as_nats(row.estimate.value)}' for words, row in rows.items())}"
        for label, rows in panels.items()
    )
    caption = (
        "What the released start is made of: the *tie* of keys to queries, and scale, biases and values. Final held-out"
        " loss less that of the random start: mean, 95 % interval, and each seed."
    )
    alt = f"Dot plots with intervals, one row per set of parts. In nats, {told}."
    return CaptionedFigure(forest(panels, "final loss less random's (nats)"), "fig-gain-parts", caption, alt)


@house_style()
def loss_curves(panels: Mapping[str, Mapping[str, Arm]]) -> CaptionedFigure:
    """Held-out loss over steps, a panel per setting, a line per arm: mean over seeds, the seeds thin."""
    lines = math.ceil(len(panels) / 2)
    figure, grid = new_figure(8.2, 2.5 * lines + 0.6, lines, 2, squeeze=False)
    for panel in grid.flat[len(panels) :]:
        panel.remove()
    lowest: Counter[str] = Counter()
    shown: dict[str, Line2D] = {}
    for panel, (title, arms) in zip(grid.flat, panels.items(), strict=False):
        curves = {arm: a.curves(LOSS) for arm, a in arms.items()}
        for arm, losses in curves.items():
            panel.plot(losses, linewidth=0.5, alpha=0.45 if losses.shape[1] <= MANY else 0.25, **line(arm))
            (shown[arm],) = panel.plot(losses.mean(axis=1), **line(arm))
        means = pd.concat([losses.mean(axis=1) for losses in curves.values()], axis=1, keys=curves)
        # the first steps, alike in all arms, would leave the rest no room
        panel.set_ylim(float(means.min().min()) - 0.05, float(means.iloc[len(means) // 12].max()) + 0.05)
        panel.set(title=title, xlabel="step", ylabel="held-out loss (nats)")
        lowest[means.iloc[-1].idxmin()] += 1
    figure.legend(shown.values(), shown, loc="outside lower center", ncols=4)
    told = ", ".join(f"{arm} in {count}" for arm, count in lowest.most_common())
    caption = (
        "Held-out loss by start; thick: mean over seeds, thin: seeds. The first steps, alike in all arms, are cut off."
    )
    alt = "Line plots of the held-out loss over steps, a panel per setting, one line per start."
    return CaptionedFigure(
        figure, "fig-init-shape", caption, f"{alt} Lowest at the end: {told} of {len(panels)} panels."
    )


def line(start: str) -> dict[str, str]:
    """Colour and dashes of a start."""
    return {"color": COLOURS[start], "linestyle": DASHES[start]}


@house_style()
def figure_s5(setting: Setting) -> CaptionedFigure:
    """Figure S5 from recorded runs: loss, median symmetry and layers, of random, symmetric and released starts."""
    arms = {start: setting.arms[start] for start in (BASELINE, "symmetric", "released")}
    figure, ((loss, median, legend), layers) = new_figure(9, 4.6, 2, 3)
    medians = []
    for panel, (start, arm) in zip(layers, arms.items(), strict=True):
        rows = pd.concat([run.layer_scores() for run in arm.runs]).assign(layer=lambda rows: rows["layer"] + 1)
        over_steps = {"data": rows, "x": "step", "y": "symmetry", "estimator": "median"}
        loss.plot(arm.curves(LOSS).mean(axis=1), label=start, **line(start))
        sns.lineplot(**over_steps, errorbar=("pi", 50), ax=median, **line(start))
        sns.lineplot(**over_steps, errorbar=None, hue="layer", palette=SEQUENTIAL, legend=panel is layers[0], ax=panel)
        panel.set(title=f"{start}: s by layer", xlabel="step", ylabel="", ylim=(-0.3, 1.05))
        ends = rows.groupby("step")["symmetry"].median().iloc[[0, -1]]
        medians.append(f"{start}: median s from {ends.iloc[0]:.2f} to {ends.iloc[1]:.2f}")
    loss.set(title="held-out loss (nats)", xlabel="step")
    median.set(title="median symmetry s", xlabel="step", ylabel="", ylim=(-0.3, 1.05))
    legend.axis("off")
    legend.legend(*loss.get_legend_handles_labels(), loc="upper left", title=setting.label)
    layers[0].legend(loc="upper right", ncols=2, fontsize=8, title="layer")
    told = "; ".join(medians)
    caption = (
        f"Figure S5 from recorded runs ({setting.label}): loss, median symmetry over layers and seeds, with quartiles,"
    )
    alt = f"Line plots over steps of loss and symmetry by start, and of symmetry by layer. {told}."
    return CaptionedFigure(
        figure, "fig-init-symmetry", f"{caption} and below it the layers of each start. {told}.", alt
    )


def roulette(main: Sequence[Setting], printed: pd.Series) -> Interactive:
    """Two random starts that differ in their seed alone, by Table 1's measure; ``printed`` are its speed-ups (%)."""
    losses = {e.label: e.arms[BASELINE].curves("loss") for e in main}
    curves = {
        label: {"steps": of.index.tolist(), "losses": {str(seed): of[seed].tolist() for seed in of}}
        for label, of in losses.items()
    }
    return Interactive("roulette", {"never": AT_NEVER, "experiments": curves}, _still(main, printed.dropna() / 100))


@house_style()
def _still(main: Sequence[Setting], printed: pd.Series) -> CaptionedFigure:
    figure, panel = new_figure(7.4, 0.45 * (len(main) + 1) + 0.9)
    shares = {e.label: between_random_starts(e)[1] for e in main}
    for y, of_pairs in enumerate(shares.values()):
        panel.plot([max(x, AT_NEVER) for x in of_pairs], [y] * len(of_pairs), "o", color=CROSS, alpha=0.45)
    panel.plot(printed, [len(shares)] * len(printed), "D", color=NEUTRAL)
    panel.set_yticks(range(len(shares) + 1), [*shares, "symmetric start, Table 1"])
    panel.set(ylim=(len(shares) + 0.5, -0.5), xlim=(AT_NEVER - 0.05, 1), xlabel="speed-up by Table 1's measure")
    panel.set_xticks([AT_NEVER, 0, 0.25, 0.5, 0.75, 1], ["never", *(as_percent(x / 4) for x in range(5))])
    pairs = [x for of_pairs in shares.values() for x in of_pairs]
    most, least, largest = (as_percent(x) for x in (max(pairs), printed.min(), printed.max()))
    caption = (
        "Random starts set against random starts by Table 1's measure: the first step at which one run's training"
        " loss is at or below the last of the other's. A round mark is two seeds; of two seeds one nearly always"
        f" looks faster, in these short runs by up to {most}. Diamonds (in print): the symmetric start in Table 1,"
        " after far longer training; how far its own seeds lie apart is not known."
    )
    alt = (
        f"Dot plot of speed-ups, one row per setting. Of {len(pairs)} pairs of random starts"
        f" {sum(x > 0 for x in pairs)} show a speed-up, spread up to {most}; the others show none. A last row has"
        f" Table 1's values, {least} to {largest}."
    )
    return CaptionedFigure(figure, "fig-roulette", caption, alt)
