"""Figures of how a model's start shapes its training: what each change is worth, losses, symmetry (Figure S5)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from chapters.symmetric_initialisation.starts import BAND, BASELINE, STARTS, Setting, between_random_starts
from attngeo.plot.style import (
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
from attngeo.experiments.runs.arms import LOSS, Arm, Contrast
from attngeo.experiments.runs.estimates import HELPS, HURTS, NO_DIFFERENCE
from attngeo.experiments.runs.numbers_in_words import as_nats, as_percent

# black for the baseline; apart from colour, dashes tell the arms apart
COLOURS = dict(zip(STARTS, ("#000000", *PALETTE[:6], PALETTE[4], PALETTE[3], NEUTRAL), strict=True))
DASHES = dict(zip(STARTS, ("-", "-", "--", ":", "-", "--", ":", "-.", "-.", "-."), strict=True))
CHANGES = {"symmetric": "the tie alone", "default-linear": "all but the tie", "released": "all"}
MARKS = {HELPS: ("o", ENCODER, ENCODER), HURTS: ("s", DECODER, DECODER), NO_DIFFERENCE: ("D", NEUTRAL, "white")}
LINEAR = 0.1  # nats up to which the axis of differences is linear
TICKS = (-1, -0.1, 0, 0.1, 1)
AT_NEVER = -0.12  # where "never" stands on an axis of speed-ups


def forest(rows: Mapping[str, Contrast], xlabel: str, words: Sequence[str] = (), band: float = 0.0) -> Figure:
    """A line per label, the difference of final losses: mean, 95 % interval, and each seed as a thin stroke.

    Where there are ``words`` for the right end, they stand at the height of their line, and its label above it, so that
    the figure is narrow. Beyond ±`LINEAR` the axis is logarithmic: one wide interval must not flatten the others.
    """
    figure, panel = new_figure(5.4 if words else 7.4, 0.33 * len(rows) + 1.1)
    panel.axvspan(-band, band, color=NEUTRAL, alpha=0.2, linewidth=0)
    panel.axvline(0, color=NEUTRAL, linewidth=1)
    for y, contrast in enumerate(rows.values()):
        estimate, (mark, colour, face) = contrast.difference(), MARKS[contrast.outcome()]
        panel.plot(contrast.differences(), [y] * len(contrast), "|", color=NEUTRAL, alpha=0.5, markersize=7)
        panel.hlines(y, estimate.low, estimate.high, color=colour, linewidth=2)
        panel.plot(estimate.value, y, mark, color=colour, markerfacecolor=face, markersize=6)
    style = {"transform": panel.get_yaxis_transform(), "va": "center", "fontsize": 8}
    style |= {"bbox": {"facecolor": "white", "edgecolor": "none", "pad": 0.5}}
    for y, (label, at_right) in enumerate(zip(rows, words, strict=False)):
        panel.text(0.01, y - 0.42, label, ha="left", **style)
        panel.text(1.01, y, at_right, ha="left", **style)
    panel.set_yticks(range(len(rows)), [""] * len(rows) if words else list(rows))
    panel.set(xlabel=xlabel, ylim=(len(rows) - 0.5, -0.7))
    panel.set_xscale("symlog", linthresh=LINEAR, linscale=1.5)
    panel.set_xticks(TICKS, [f"{tick:g}".replace("-", "\N{MINUS SIGN}") for tick in TICKS])
    panel.xaxis.set_minor_locator(NullLocator())
    return figure


@house_style()
def plans_figure(plans: Sequence[Setting]) -> CaptionedFigure:
    """Every planned comparison of a symmetric start with a random one: the answer of the chapter."""
    rows = {f"{p.short} ({len(p.primary)})": p.primary for p in plans}
    figure = forest(rows, "loss, symmetric less random (nats)", [p.said for p in plans], BAND)
    outcomes = Counter(contrast.outcome() for contrast in rows.values())
    caption = (
        "Final held-out loss of a symmetric start less that of a random one of equal scale, in all planned comparisons:"
        " mean, 95 % interval, each seed as a stroke. Rows: model, text, layers × width, tokens, in brackets seeds;"
        f" at the right what the plan says. Grey: ±{BAND} nats, which count for nothing; beyond ±{LINEAR} the axis is"
        " logarithmic. Marks are open where the interval holds 0."
    )
    alt = f"""Forest plot of {len(rows)} differences of final loss. {outcomes[HELPS]} intervals lie below zero,
    {outcomes[HURTS]} above; the other {outcomes[NO_DIFFERENCE]} hold it. The first two rows, models of 4 layers of
    width 256, lie clearly left."""
    return CaptionedFigure(figure, "fig-init-planned", caption, alt)


@house_style()
def made_of(encoders: Iterable[Setting]) -> CaptionedFigure:
    """Final loss less that of the random start: of the tie, of all the rest, and of both."""
    rows = {
        f"{e.text}: {words}": e.less(start) for e in encoders for start, words in CHANGES.items() if start in e.arms
    }
    told = "; ".join(f"{label} {as_nats(contrast.difference().value)}" for label, contrast in rows.items())
    caption = (
        "What the released start is made of: the *tie* of keys to queries, and scale, biases and values. Final held-out"
        " loss of encoders less that of the random start: mean, 95 % interval, and each seed."
    )
    alt = f"Dot plot with intervals, one row per text and set of parts. In nats, {told}."
    return CaptionedFigure(forest(rows, "loss less random (nats)"), "fig-gain-parts", caption, alt)


@house_style()
def loss_curves(panels: Mapping[str, Mapping[str, Arm]]) -> CaptionedFigure:
    """Held-out loss over steps, a panel per setting, a line per arm: mean over seeds, and their range."""
    lines = math.ceil(len(panels) / 2)
    figure, grid = new_figure(8.2, 2.5 * lines + 0.6, lines, 2, squeeze=False)
    lowest = Counter(min(arms, key=lambda arm, of=arms: of[arm].mean(LOSS)) for arms in panels.values())
    style = {"x": "step", "y": "held-out loss (nats)", "hue": "start", "style": "start", "errorbar": ("pi", 100)}
    for panel, (title, arms) in zip(grid.flat, panels.items(), strict=True):
        curves = pd.concat({start: arm.curves(LOSS).stack() for start, arm in arms.items()}, names=["start"])
        curves = curves.rename_axis(["start", "step", "seed"]).rename(style["y"]).reset_index()
        means = curves.groupby(["start", "step"])[style["y"]].mean().unstack("start")
        sns.lineplot(curves, palette=COLOURS, ax=panel, **style)
        panel.set(title=title, ylim=(means.min().min() - 0.05, means.iloc[len(means) // 12].max() + 0.05))
    told = ", ".join(f"{arm} in {count}" for arm, count in lowest.most_common())
    caption = """Held-out loss by start: mean over seeds, shaded from the least to the largest. The first steps, alike
    in all arms, are cut off."""
    alt = f"""Line plots of the held-out loss over steps, a panel per setting, one line per start. Lowest at the end:
    {told} of {len(panels)} panels."""
    return CaptionedFigure(figure, "fig-init-shape", caption, alt)


@house_style()
def figure_s5(setting: Setting) -> CaptionedFigure:
    """Figure S5 from recorded runs: loss, median symmetry and layers, of random, symmetric and released starts."""
    arms = {start: setting.arms[start] for start in (BASELINE, "symmetric", "released")}
    figure, ((loss, median, legend), layers) = new_figure(9, 4.6, 2, 3)
    medians = []
    for panel, (start, arm) in zip(layers, arms.items(), strict=True):
        rows = pd.concat([run.layer_scores() for run in arm.runs]).assign(layer=lambda rows: rows["layer"] + 1)
        over_steps = {"data": rows, "x": "step", "y": "symmetry", "estimator": "median"}
        look = {"color": COLOURS[start], "linestyle": DASHES[start]}
        loss.plot(arm.curves(LOSS).mean(axis=1), label=start, **look)
        sns.lineplot(**over_steps, errorbar=("pi", 50), ax=median, **look)
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
    caption = f"""Figure S5 from recorded runs ({setting.label}): loss, median symmetry over layers and seeds, with
    quartiles, and below it the layers of each start. {told}."""
    alt = f"Line plots over steps of loss and symmetry by start, and of symmetry by layer. {told}."
    return CaptionedFigure(figure, "fig-init-symmetry", caption, alt)


@house_style()
def roulette(main: Sequence[Setting], printed: pd.Series) -> CaptionedFigure:
    """Two random starts that differ in their seed alone, by Table 1's measure; ``printed`` are its speed-ups (%)."""
    printed = printed.dropna() / 100
    figure, panel = new_figure(7.4, 0.45 * len(main) + 0.9)
    shares = {e.label: between_random_starts(e)[1] for e in main}
    for y, of_pairs in enumerate(shares.values()):
        panel.plot([max(x, AT_NEVER) for x in of_pairs], [y] * len(of_pairs), "o", color=CROSS, alpha=0.45)
    panel.set_yticks(range(len(shares)), list(shares))
    panel.set(ylim=(len(shares) - 0.5, -0.5), xlim=(AT_NEVER - 0.05, 1), xlabel="speed-up by Table 1's measure")
    panel.set_xticks([AT_NEVER, 0, 0.25, 0.5, 0.75, 1], ["never", *(as_percent(x / 4) for x in range(5))])
    pairs = [x for of_pairs in shares.values() for x in of_pairs]
    most, least, largest = (as_percent(x) for x in (max(pairs), printed.min(), printed.max()))
    caption = (
        "Random starts set against random starts by Table 1's measure: the first step at which one run's training"
        " loss is at or below the last of the other's. A round mark is two seeds; of two seeds one nearly always"
        f" looks faster, in these short runs by up to {most}. Table 1 prints {least} to {largest} for the symmetric"
        " start, after far longer training; how far its own seeds lie apart is not known."
    )
    alt = (
        f"Dot plot of speed-ups, one row per setting. Of {len(pairs)} pairs of random starts"
        f" {sum(x > 0 for x in pairs)} show a speed-up, spread up to {most}; the others show none."
    )
    return CaptionedFigure(figure, "fig-roulette", caption, alt)
