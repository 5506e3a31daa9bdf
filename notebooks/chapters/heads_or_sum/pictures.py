"""Figures of the symmetry of heads and of their sum: by family, by head, and the gains of the parts of the heads."""

import numpy as np
import pandas as pd
import seaborn as sns
from matplotlib.axes import Axes

from attngeo.experiments.survey.families import GROUPS, with_kinds
from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from chapters.heads_or_sum.evidence import PARTS, Evidence, beside_survey, families, medians, whole

COLOURS = {**{kind: PART_COLOURS[part] for part, kind in GROUPS.items()}, "cross": PART_COLOURS["cross"]}
PART_OF = {kind: part for part, kind in GROUPS.items()} | {"cross": "cross-attention"}


@house_style()
def symmetry_of_families(of_families: pd.DataFrame) -> CaptionedFigure:
    """For each family, the symmetry of its heads and of their sum (`families`), encoders above decoders."""
    rows = of_families.sort_values(["attention", "symmetry"], ascending=[True, False]).reset_index(drop=True)
    figure, panel = new_figure(7.4, 0.27 * len(rows) + 1.2)
    colours = rows["attention"].map(COLOURS)
    panel.hlines(rows.index, rows["heads"], rows["symmetry"], colors=colours, linewidth=1.6)
    panel.scatter(rows["heads"], rows.index, s=42, facecolors="white", edgecolors=colours, linewidths=1.6, zorder=3)
    panel.scatter(rows["symmetry"], rows.index, s=46, c=colours, marker="D", zorder=3)
    for marker, face, words in (("o", "white", "heads of a layer, weighted mean"), ("D", NEUTRAL, "sum over heads")):
        style = {"markeredgecolor": NEUTRAL, "markerfacecolor": face, "linestyle": "none"}
        panel.plot([], [], marker, label=words, **style)
    panel.axvline(0, color=NEUTRAL, linewidth=0.8)
    panel.set_yticks(rows.index, [f"{row.family} {PART_OF[row.attention]}" for row in rows.itertuples()])
    for label, colour in zip(panel.get_yticklabels(), colours, strict=True):
        label.set_color(colour)
    panel.set(xlabel="symmetry score s, median over layers", ylim=(len(rows) - 0.4, -0.6))
    figure.legend(loc="outside lower center", ncols=2)
    caption = """Symmetry score of the individual heads of a layer (open circles) and of the sum over these heads (diamonds),
    for each family of models whose layers have several heads. Encoders are blue and decoders are orange. Each circle shows the
    mean of the symmetry scores of the heads, weighted by the squared norms of their matrices."""
    alt = f"""Dot plot with a row for each of {len(rows)} families. A line leads from the score of the heads to the score of
    their sum. The lines of encoders are long and lead to the right, and the lines of decoders are short and lie near
    zero."""
    return CaptionedFigure(figure, "fig-heads-or-sum", " ".join(caption.split()), alt)


@house_style()
def heads_and_sums(of: Evidence) -> CaptionedFigure:
    """Symmetry of every head, of the heads of a layer together and of their sum, a line for each model and part."""
    stacks = medians(whole(of.layers), ("symmetry", "heads"))
    stacks = pd.concat(stacks[stacks["attention"] == kind].sort_values("symmetry", ascending=False) for kind in COLOURS)
    heads = with_kinds(beside_survey(of).query("head >= 0"))
    figure, panel = new_figure(7.4, 0.36 * len(stacks) + 1)  # room for names of two lines on a phone
    lines = {"y": "line", "order": list(_named(stacks)["line"]), "ax": panel}
    points = {"hue": "attention", "palette": COLOURS, "size": 2.5, "alpha": 0.3, "jitter": 0.3, "rasterized": True}
    sns.stripplot(_named(heads), x="symmetry", **points, **lines)
    panel.hlines(range(len(stacks)), stacks["heads"], stacks["symmetry"], color="black", linewidth=1)
    marks = {"heads": ("o", "white", "heads of a layer, weighted mean"), "symmetry": ("D", "black", "sum over heads")}
    for column, (marker, face, label) in marks.items():
        panel.plot(stacks[column], range(len(stacks)), marker, color="black", markerfacecolor=face, label=label)
    panel.axvline(0, color=NEUTRAL, linewidth=0.8)
    panel.set(xlabel="symmetry score s", ylabel="", ylim=(len(stacks) - 0.4, -0.6))
    handles, words = panel.get_legend_handles_labels()
    words = [f"individual head, {PART_OF[word]}" if word in PART_OF else word for word in words]
    for handle in handles[: len(COLOURS)]:  # of heads
        handle.set(alpha=1, markersize=6)
    panel.get_legend().remove()
    figure.legend(handles, words, loc="outside upper center", ncols=2)
    caption = f"""Symmetry scores of {len(heads)} individual heads (points), with a row for each model whose layers have several
        heads. The encoder, the decoder and the cross-attention of a model have separate rows. The black marks are medians over
        the layers of a model. Circles show the mean score of the heads, weighted by their squared norms, and diamonds show the
        score of the sum over heads."""
    further = int((stacks["symmetry"] > stacks["heads"]).sum())
    alt = f"""Strip plot of symmetry with {len(stacks)} rows, one per model and part. Pale points are heads, a circle is the
        mean of the heads, and a diamond is their sum. The diamond lies right of the circle in {further} rows, and far right
        in most encoders."""
    return CaptionedFigure(figure, "fig-heads-and-sums", " ".join(caption.split()), alt)


def _named(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows with the line that they stand in: model and part."""
    return rows.assign(line=rows["model"] + ", " + rows["part"])


@house_style()
def gains(of: Evidence) -> CaptionedFigure:
    """Gain of the symmetric parts of the heads against the gain of the skew-symmetric parts: layers and families."""
    rows, of_families = with_kinds(whole(of.layers)).query("attention != 'cross'"), families(whole(of.layers), PARTS)
    figure, panel = new_figure(7.4, 4.2)
    left, right, low, high, ticks = 0.32, 7.5, 0.8, 4.6, [0.5, 1, 2, 4]
    panel.plot([low, high], [low, high], color=NEUTRAL, linewidth=1, linestyle="--")
    for line in (panel.axhline, panel.axvline):
        line(1, color=NEUTRAL, linewidth=0.8)
    style = {"x": "skew_gain", "y": "symmetric_gain", "hue": "attention", "palette": COLOURS, "ax": panel}
    style["hue_order"] = list(GROUPS.values())
    sns.scatterplot(rows, s=10, alpha=0.3, linewidth=0, legend=False, **style)
    sns.scatterplot(of_families, s=45, edgecolor="black", legend=False, **style)
    panel.set(xscale="log", yscale="log", xlim=(left, right), ylim=(low, high))
    for kind, x, side in (("bidirectional", left * 1.05, "left"), ("causal", right / 1.05, "right")):
        _names_at_the_edge(panel, of_families[of_families["attention"] == kind], x, side, COLOURS[kind])
    panel.set_xticks(ticks, [f"{t:g}" for t in ticks])
    panel.set_yticks(ticks[1:], [f"{t:g}" for t in ticks[1:]])
    panel.minorticks_off()
    panel.set(xlabel="gain of skew-symmetric parts $G_n$", ylabel="gain of symmetric parts $G_s$")
    caption = """Gain of the symmetric parts of the heads (vertical axis) and of the skew-symmetric parts (horizontal axis). The gain
        is the squared norm of the sum over heads divided by the sum of the squared norms of the heads. Both gains would be 1 on
        average if the signs of the heads were random. Large points show families, with the names of encoders on the left (blue)
        and the names of decoders on the right (orange). Small points show layers. On the dashed line, the sum is exactly as
        symmetric as the individual heads."""
    alt = """Scatter plot on logarithmic axes, with the gain of the symmetric parts against the gain of the skew-symmetric
        parts. Decoders lie along the diagonal. Encoders lie above the diagonal, near a skew-symmetric gain of one."""
    return CaptionedFigure(figure, "fig-head-gains", " ".join(caption.split()), alt)


def _names_at_the_edge(panel: Axes, of_families: pd.DataFrame, x: float, side: str, colour: str) -> None:
    """The name of each family at one edge of the panel, at even distances, with a thin line to its point."""
    ordered = of_families.sort_values("symmetric_gain")
    heights = np.geomspace(1.02, 4.0, len(ordered))
    for row, height in zip(ordered.itertuples(), heights, strict=True):
        line = {"arrowstyle": "-", "color": colour, "linewidth": 0.6, "alpha": 0.6}
        where = {"xytext": (x, height), "ha": side, "va": "center", "fontsize": 8.5, "color": colour}
        panel.annotate(row.family, (row.skew_gain, row.symmetric_gain), arrowprops=line, **where)
