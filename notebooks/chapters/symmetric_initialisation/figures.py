"""Figures of how a model's start affects its training: what each change is worth, losses, symmetry (Figure S5)."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from chapters.symmetric_initialisation.speed_ups import first_crossing
from chapters.symmetric_initialisation.starts import AGAIN, BAND, BASELINE, STARTS, Setting, between_random_starts
from attngeo.plot.style import (
    DECODER,
    ENCODER,
    LAYERS,
    NEUTRAL,
    PALETTE,
    CaptionedFigure,
    house_style,
    new_figure,
)
from attngeo.experiments.runs.arms import LOSS, Arm, Contrast
from attngeo.experiments.runs.estimates import NEVER
from attngeo.experiments.runs.numbers_in_words import as_nats, as_percent, joined_by_and

# black for the baseline; apart from colour, dashes tell the arms apart
COLOURS = dict(zip(STARTS, ("#000000", *PALETTE[:6], PALETTE[4], PALETTE[3], NEUTRAL), strict=True))
DASHES = dict(zip(STARTS, ("-", "-", "--", ":", "-", "--", ":", "-.", "-.", "-."), strict=True))
CHANGES = {  # what a start changes
    "symmetric": "equal queries and keys",
    "default-linear": "scale, biases and values",
    "released": "all of these",
}
CLIP = 0.3  # nats at which the axis of differences ends
AT_NEVER = -0.4  # where "never" stands on an axis of speed-ups


class Row(NamedTuple):
    """A line of a `forest`."""

    label: str
    contrast: Contrast
    colour: str


def forest(rows: Sequence[Row], xlabel: str, band: float = 0.0) -> Figure:
    """A line per row, the difference of final losses: mean, 95 % interval, and each seed as a thin stroke.

    The label stands above its line, so that the figure is narrow. An interval that ends beyond ±`CLIP` is cut off there,
    and an arrow says so: one wide interval must not flatten the others.
    """
    figure, panel = new_figure(6.4, 0.47 * len(rows) + 0.9)
    panel.axvspan(-band, band, color=NEUTRAL, alpha=0.25, linewidth=0)
    panel.axvline(0, color=NEUTRAL, linewidth=1)
    for y, (label, contrast, colour) in enumerate(rows):
        estimate = contrast.difference()
        excludes_zero = estimate.low > 0 or estimate.high < 0
        seeds = contrast.differences()
        panel.plot(seeds[seeds.abs() < CLIP], [y] * int((seeds.abs() < CLIP).sum()), "|", color=colour, alpha=0.4)
        panel.hlines(y, max(estimate.low, -CLIP), min(estimate.high, CLIP), color=colour, linewidth=2)
        for end, mark in ((-CLIP, "<"), (CLIP, ">")):
            if estimate.low < end < estimate.high or (abs(estimate.value) > CLIP and estimate.value * end > 0):
                panel.plot(end, y, mark, color=colour, markersize=6, clip_on=False)
        if abs(estimate.value) <= CLIP:
            face = colour if excludes_zero else "white"
            panel.plot(estimate.value, y, "o", color=colour, markerfacecolor=face, markersize=6)
        panel.text(-CLIP, y - 0.45, label, ha="left", va="center", fontsize=8).set_in_layout(False)
    panel.set(xlabel=xlabel, xlim=(-CLIP, CLIP), ylim=(len(rows) - 0.4, -0.8), yticks=[])
    panel.grid(axis="y", visible=False)
    panel.spines["left"].set_visible(False)
    return figure


@house_style()
def plans_figure(plans: Sequence[Setting]) -> CaptionedFigure:
    """Every planned comparison of symmetric with random initialisation: the answer of the chapter."""
    rows = [Row(_label(p), p.primary, ENCODER if p.encoder else DECODER) for p in plans]
    figure = forest(rows, "final loss, symmetric minus random (nats)", BAND)
    kinds = {"encoder": ENCODER, "decoder": DECODER}
    handles = [Line2D([], [], color=colour, marker="o", label=name) for name, colour in kinds.items()]
    shown = [handle for handle in handles if handle.get_color() in {row.colour for row in rows}]
    figure.legend(handles=shown, loc="outside upper right", ncols=2)
    outcomes = Counter(p.said for p in plans)
    caption = (
        "Difference in final held-out loss between symmetric and random initialisation of equal scale in our planned"
        " comparisons. Circles show means over seeds, horizontal lines show 95 % confidence intervals, and thin"
        " strokes show single seeds. Negative values favour symmetric initialisation. The label of each row gives the"
        " size of the model (layers × width), the number of training tokens in millions (M), the training text and, in"
        " parentheses, the number of seeds. The text after the colon states the outcome according to the criteria of"
        f" our plan. The grey band marks differences of less than {BAND} nats, which we had declared negligible in"
        " advance. A circle is filled if the interval excludes 0, and an arrow marks an interval that extends beyond"
        f" ±{CLIP} nats."
    )
    told = ", ".join(f"{said} ({count})" for said, count in outcomes.most_common())
    alt = (
        f"Dot plot with confidence intervals. Each of the {len(rows)} rows shows the difference in final loss for one planned"
        f" comparison, with 0 in the middle. The outcomes are: {told}."
    )
    return CaptionedFigure(figure, "fig-init-planned", caption, alt)


def _label(plan: Setting) -> str:
    """``4 × 256, 20.1 M, characters (3): clearly faster``."""
    layers, width, tokens = plan.training
    seeds = f"{len(plan.primary)} new seeds" if plan.plan == AGAIN else f"{len(plan.primary)}"
    return f"{layers} × {width}, {tokens / 1e6:.1f} M, {plan.text} ({seeds}): {plan.said}"


@house_style()
def reasons_figure(compared: Mapping[str, Contrast]) -> CaptionedFigure:
    """Differences of final losses in the two experiments on why a symmetric start may help."""
    rows = [Row(f"{label} ({len(contrast)})", contrast, ENCODER) for label, contrast in compared.items()]
    caption = (
        "Differences in final held-out loss between encoders with different initial query and key weights. The encoders"
        " have learned position embeddings unless the label says otherwise. Circles show means over seeds, horizontal lines show 95 %"
        " confidence intervals, thin strokes show single seeds, and parentheses contain the number of seeds. A circle is"
        f" filled if the interval excludes 0. The grey band marks differences of less than {BAND} nats."
    )
    told = "; ".join(f"{row.label} {as_nats(row.contrast.difference().value)}" for row in rows)
    alt = f"Dot plot with confidence intervals and one row for each comparison. Mean differences in nats: {told}."
    return CaptionedFigure(forest(rows, "difference in final loss (nats)", BAND), "fig-init-reasons", caption, alt)


@house_style()
def made_of(encoders: Iterable[Setting]) -> CaptionedFigure:
    """Final loss minus that of the random start: of equal queries and keys, of everything else, and of both."""
    rows = [
        Row(f"{e.text}: {words}", e.minus(start), ENCODER)
        for e in encoders
        for start, words in CHANGES.items()
        if start in e.arms
    ]
    told = "; ".join(f"{row.label} {as_nats(row.contrast.difference().value)}" for row in rows)
    caption = (
        "Effect of three changes on the final loss of encoders: equal queries and keys; the new scale, biases and"
        " values; and all of these together. The horizontal axis shows the final held-out loss minus the final"
        " held-out loss with random initialisation. Circles show means over seeds, horizontal lines show 95 %"
        " confidence intervals, and thin strokes show single seeds. A circle is filled if the interval excludes 0,"
        f" and an arrow marks an interval that extends beyond ±{CLIP} nats."
    )
    alt = (
        "Dot plot with confidence intervals, with one row for each text and part of the initialisation. Differences in nats:"
        f" {told}."
    )
    figure = forest(rows, "final loss, this initialisation minus random (nats)")
    return CaptionedFigure(figure, "fig-gain-parts", caption, alt)


@house_style()
def loss_curves(panels: Mapping[str, Mapping[str, Arm]]) -> CaptionedFigure:
    """Held-out loss over steps, a panel per setting, a line per arm: mean over seeds, and their range."""
    lines = math.ceil(len(panels) / 2)
    figure, grid = new_figure(8.2, 2.5 * lines + 0.6, lines, 2, squeeze=False)
    lowest = Counter(min(arms, key=lambda arm, of=arms: of[arm].mean(LOSS)) for arms in panels.values())
    style = {
        "x": "step",
        "y": "held-out loss (nats)",
        "hue": "initialisation",
        "style": "initialisation",
        "errorbar": ("pi", 100),
    }
    for panel, (title, arms) in zip(grid.flat, panels.items(), strict=True):
        curves = pd.concat({start: arm.curves(LOSS).stack() for start, arm in arms.items()}, names=["initialisation"])
        curves = curves.rename_axis(["initialisation", "step", "seed"]).rename(style["y"]).reset_index()
        means = curves.groupby(["initialisation", "step"])[style["y"]].mean().unstack("initialisation")
        sns.lineplot(curves, palette=COLOURS, ax=panel, **style)
        panel.set(title=title, ylim=(means.min().min() - 0.05, means.iloc[len(means) // 12].max() + 0.05))
    told = ", ".join(f"{arm} in {count}" for arm, count in lowest.most_common())
    caption = """Held-out loss with each initialisation. Lines show the mean over seeds, and shaded bands extend from
    the lowest to the highest value over seeds. The first few steps, which are similar for all initialisations, are
    not shown."""
    alt = f"""Line plots of the held-out loss over training steps, with one panel for each setting and one line for each
    initialisation. The initialisation with the lowest final loss is {told} of {len(panels)} panels."""
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
        sns.lineplot(**over_steps, errorbar=None, hue="layer", palette=LAYERS, legend=panel is layers[0], ax=panel)
        panel.set(title=f"{start}: s by layer", xlabel="step", ylabel="", ylim=(-0.3, 1.05))
        ends = rows.groupby("step")["symmetry"].median().iloc[[0, -1]]
        medians.append(f"from {ends.iloc[0]:.2f} to {ends.iloc[1]:.2f} for the {start} initialisation")
    loss.set(title="held-out loss (nats)", xlabel="step")
    median.set(title="median symmetry s", xlabel="step", ylabel="", ylim=(-0.3, 1.05))
    legend.axis("off")
    legend.legend(*loss.get_legend_handles_labels(), loc="upper left", title=setting.label)
    layers[0].legend(loc="lower right", ncols=2, fontsize=8, title="layer")
    told = f"During training, the median symmetry score changes {joined_by_and(medians)}."
    caption = f"""The quantities shown in Figure S5 of the paper, for our models ({setting.label}). The upper panels
    show the held-out loss and the median symmetry score over layers and seeds, with quartiles. The lower panels show
    the symmetry score of each layer for each initialisation. {told}"""
    alt = f"Line plots of the loss, the symmetry and the symmetry of each layer over training steps. {told}"
    return CaptionedFigure(figure, "fig-init-symmetry", caption, alt)


@house_style()
def second_seed(main: Sequence[Setting], shown: Setting, seeds: tuple[int, int], printed: pd.Series) -> CaptionedFigure:
    """Random initialisations with different seeds, by Table 1's measure; ``printed`` are its speed-ups (%)."""
    figure, (curves, strip) = new_figure(9, 3.6, columns=2)
    colour = ENCODER if shown.encoder else DECODER
    losses = shown.arms[BASELINE].curves("loss")
    fast, slow = (losses[seed] for seed in seeds)
    share, last = first_crossing(losses.index.to_numpy(), fast.to_numpy(), slow.to_numpy()), losses.index[-1]
    curves.plot(slow, color=NEUTRAL, linewidth=1.2, label=f"seed {seeds[1]}")
    curves.plot(fast, color=colour, linewidth=1.2, label=f"seed {seeds[0]}")
    curves.axhline(slow.iloc[-1], color=NEUTRAL, linewidth=1, linestyle=":")
    if share != NEVER:
        curves.plot((1 - share) * last, fast[fast <= slow.iloc[-1]].iloc[0], "o", color=colour)
    top = max(curve.iloc[len(curve) // 12] for curve in (fast, slow)) + 0.05
    curves.set(xlabel="training step", ylabel="training loss (nats)", ylim=(losses.min().min() - 0.05, top))
    curves.set_title("Two random seeds")
    curves.legend()

    table = {e.label: between_random_starts(e)[1] for e in main}
    for y, (setting, shares) in enumerate(zip(main, table.values(), strict=True)):
        of_model = ENCODER if setting.encoder else DECODER
        strip.plot([max(x, AT_NEVER) for x in shares], [y] * len(shares), "o", color=of_model, alpha=0.4)
    in_table = printed.dropna() / 100
    strip.plot(in_table, [len(table)] * len(in_table), "D", color="black")
    most = in_table.max()
    strip.text(most + 0.05, len(table), as_percent(most), va="center", fontsize=9)
    strip.axhline(len(table) - 0.5, color=NEUTRAL, linewidth=0.8)
    strip.set_yticks(range(len(table) + 1), [*table, "Table 1 of the paper"])
    strip.set(ylim=(len(table) + 0.5, -0.5), xlim=(AT_NEVER - 0.05, 1), xlabel="speed-up (measure of Table 1)")
    strip.set_xticks([AT_NEVER, 0, 0.5, 1], ["never", *(as_percent(x) for x in (0, 0.5, 1))])
    strip.set_ylabel(" ")  # else its form for narrow screens takes the label of the panel beside it
    strip.set_title("All pairs of seeds")

    pairs = [x for shares in table.values() for x in shares]
    caption = (
        "Speed-ups between randomly initialised models that differ only in their seed. The left panel shows the"
        f" training losses of two models ({shown.label}, seeds {seeds[0]} and {seeds[1]}), and the dotted line marks"
        f" the final loss of the model with seed {seeds[1]}. In the right panel, each circle represents one pair of"
        " seeds. The label *never* means that the model with the first seed fails to reach the final loss of the model"
        f" with the second seed. The diamonds show the speed-ups of {as_percent(in_table.min())} to {as_percent(most)}"
        " that the authors report for symmetric initialisation in their Table 1. Each of these speed-ups was measured"
        " with a single seed after much longer training than ours, so we do not know how much such speed-ups vary"
        " between seeds."
    )
    alt = (
        "Left: two training-loss curves. Right: dot plot of speed-ups, with one row for each type of model."
        f" {sum(x > 0 for x in pairs)} of {len(pairs)} pairs of randomly initialised models show a speed-up, and the largest of"
        f" these speed-ups is {as_percent(max(pairs))}. The largest speed-up in the paper is {as_percent(most)}."
    )
    return CaptionedFigure(figure, "fig-roulette", caption, alt)


def crossing(setting: Setting, seeds: tuple[int, int], share: float) -> str:
    """When one randomly initialised model reaches the final training loss of another, in one or two sentences."""
    fast, slow = (f"the model with seed {seed}" for seed in seeds)
    if share == NEVER:
        return f"For example, {fast} never reaches the final loss of {slow}, so there is no speed-up by this measure."
    step = f"step {round((1 - share) * setting.config['steps']):,} of {setting.config['steps']:,}"
    return (
        f"For example, at {step}, {fast} first reaches the final loss of {slow}. By the measure used in Table 1, this"
        f" would count as a speed-up of {as_percent(share)}, although both models were initialised at random."
    )
