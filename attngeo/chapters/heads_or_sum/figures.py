"""Figures of the chapter on heads and their sum."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from attngeo.chapters.heads_or_sum.evidence import PARTS, Evidence, families, medians, whole
from attngeo.chapters.heads_or_sum.record import LAYER
from attngeo.display.captions import captioned
from attngeo.display.style import (
    DIVERGING,
    NEUTRAL,
    PART_COLOURS,
    CaptionedFigure,
    house_style,
    new_figure,
    plain_panel,
)
from attngeo.survey.families import GROUPS, with_kinds

ORDER = {**{kind: PART_COLOURS[part] for part, kind in GROUPS.items()}, "cross": PART_COLOURS["cross"]}
COSINES = 0.5  # at which the colours of `pair_matrices` saturate
# labels of encoders in `gains` that would lie on one another: points upwards
NUDGED = {"RXN": 3, "BERT": -4, "Whisper": -8, "Sapiens": 3, "DeiT": -4, "T5": -11}


@house_style()
def heads_and_sums(found: Evidence) -> CaptionedFigure:
    """Symmetry of every head, of the heads of a layer together and of their sum, a line for each model and part."""
    stacks = medians(whole(found.layers), ("symmetry", "heads"))
    stacks = pd.concat(stacks[stacks["attention"] == kind].sort_values("symmetry", ascending=False) for kind in ORDER)
    own = found.pairs[found.pairs["g"] == found.pairs["h"]]
    own = own.assign(symmetry=own["trace"] / own["product"])
    figure, panel = new_figure(7.4, 0.24 * len(stacks) + 1)
    rng = np.random.default_rng(0)
    for y, row in enumerate(stacks.itertuples()):
        heads = own[(own["model"] == row.model) & (own["part"] == row.part)]["symmetry"]
        at = heads, y + rng.uniform(-0.3, 0.3, len(heads))
        panel.scatter(*at, s=6, color=ORDER[row.attention], alpha=0.3, linewidths=0, rasterized=True)
        panel.plot([row.heads, row.symmetry], [y, y], color="black", linewidth=1)
        panel.plot(row.heads, y, "o", color="black", markerfacecolor="white", markersize=6)
        panel.plot(row.symmetry, y, "D", color="black", markersize=5)
    panel.axvline(0, color=NEUTRAL, linewidth=0.8)
    panel.set_yticks(range(len(stacks)), [f"{r.model}, {r.part}" for r in stacks.itertuples()], fontsize=8)
    panel.set(xlabel="symmetry s", ylim=(len(stacks) - 0.4, -0.6))
    marks = [_mark("layer: sum over heads", "black", "D"), _mark("its heads together", "black", face="white")]
    marks += [_mark(f"head, {kind}", colour) for kind, colour in ORDER.items()]
    figure.legend(handles=marks, loc="outside upper center", ncols=3)
    more = int((stacks["symmetry"] > stacks["heads"]).sum())
    return captioned(figure, __package__, "fig-heads-and-sums", heads=len(own), stacks=len(stacks), more=more)


def _mark(label: str, colour: str, marker: str = "o", face: str | None = None) -> Line2D:
    """An entry of a legend."""
    return Line2D([], [], marker=marker, linestyle="none", color=colour, markerfacecolor=face or colour, label=label)


@house_style()
def gains(found: Evidence) -> CaptionedFigure:
    """How far the heads' symmetric parts add up against how far their skew parts do: layers and families."""
    rows, told = with_kinds(whole(found.layers)), families(whole(found.layers), PARTS)
    figure, panel = new_figure(7.4, 4.2)
    low, high = 0.45, 4.6
    panel.plot([low, high], [low, high], color=NEUTRAL, linewidth=1, linestyle="--")
    for line in (panel.axhline, panel.axvline):
        line(1, color=NEUTRAL, linewidth=0.8)
    for kind in GROUPS.values():
        layers, own = (t[t["attention"] == kind] for t in (rows, told))
        panel.scatter(layers["skew_gain"], layers["symmetric_gain"], s=10, color=ORDER[kind], alpha=0.3, linewidths=0)
        panel.scatter(own["skew_gain"], own["symmetric_gain"], s=45, color=ORDER[kind], edgecolors="black", label=kind)
        side = {"bidirectional": (-6, "right"), "causal": (6, "left")}[kind]
        for row in own.itertuples():
            up = NUDGED.get(row.family, -2) if kind == "bidirectional" else 3
            where = {"xytext": (side[0], up), "textcoords": "offset points", "ha": side[1]}
            panel.annotate(row.family, (row.skew_gain, row.symmetric_gain), fontsize=8, **where)
    ticks = [0.5, 1, 2, 4]
    for axis in ("x", "y"):
        getattr(panel, f"set_{axis}scale")("log", base=2)
        getattr(panel, f"set_{axis}lim")(low, high)
        getattr(panel, f"set_{axis}ticks")(ticks, [f"{t:g}" for t in ticks])
    panel.set(xlabel="gain of skew parts $G_n$", ylabel="gain of symmetric parts $G_s$")
    panel.legend(loc="lower right", title="mean of a family's medians")
    ends = {k: own["skew_gain"].agg(["min", "max"]) for k, own in told.groupby("attention")}
    words = ", ".join(f"{kind} {a:.2f} to {b:.2f}" for kind, (a, b) in ends.items())
    return captioned(figure, __package__, "fig-head-gains", words=words)


@house_style()
def pair_matrices(found: Evidence, shown: dict[tuple[str, str], str]) -> CaptionedFigure:
    """Cosines of every pair of heads in one layer each: of symmetric parts above the diagonal, of skew ones below.

    Of each model and part, by its title, the layer is drawn whose s is next to the median.
    """
    figure, panels = new_figure(8.2, 3.6, columns=len(shown), squeeze=False)
    words = []
    for panel, ((model, part), title) in zip(panels[0], shown.items(), strict=True):
        layer, cosines = pair_cosines(found, model, part)
        n = len(cosines)
        plain_panel(panel)
        image = panel.imshow(cosines, cmap=DIVERGING, vmin=-COSINES, vmax=COSINES)
        panel.set(title=f"{title}, layer {layer}", xlabel="head", ylabel="head")
        above, below = (np.mean(cosines[triangle]) for triangle in (np.triu_indices(n, 1), np.tril_indices(n, -1)))
        words.append(f"{title} {above:.2f} above and {below:.2f} below the diagonal")
    figure.colorbar(image, ax=panels, shrink=0.85, extend="both", label="cosine; symmetry s on the diagonal")
    return captioned(figure, __package__, "fig-head-pairs", words=words)


def pair_cosines(found: Evidence, model: str, part: str) -> tuple[int, np.ndarray]:
    """The layer of a stack whose s is next to the median, and the matrix that `pair_matrices` draws."""
    layers = whole(found.layers)
    layers = layers[(layers["model"] == model) & (layers["part"] == part)]
    layer = int(layers.loc[(layers["symmetry"] - layers["symmetry"].median()).abs().idxmin(), "layer"])
    pairs = found.pairs.set_index(LAYER).sort_index().loc[(model, part, layer)]
    kinds = []
    for sign in (1, -1):
        m = np.zeros((int(pairs["h"].max()) + 1,) * 2)
        m[pairs["g"], pairs["h"]] = m[pairs["h"], pairs["g"]] = pairs["product"] + sign * pairs["trace"]
        kinds.append(m)
    above, below = (m / np.sqrt(np.outer(m.diagonal(), m.diagonal())) for m in kinds)
    own = kinds[0].diagonal(), kinds[1].diagonal()
    return layer, np.triu(above, 1) + np.tril(below, -1) + np.diag((own[0] - own[1]) / (own[0] + own[1]))


@house_style()
def without_parts(layers: pd.DataFrame) -> CaptionedFigure:
    """Symmetry of the sum and the factor of the sum, family by family, once a part of the forms is taken away."""
    names = list(dict.fromkeys(layers["removed"]))
    figure, panels = new_figure(9, 0.42 * len(names) + 1.1, columns=2, sharey=True)
    measures = {"symmetry": "symmetry s of the sum", "factor": "factor $G_s / G_n$ of the sum"}
    for (name, drawn), rows in layers.groupby(["removed", "at_random"], sort=False):
        told, y = families(rows, PARTS), names.index(name)
        for panel, measure in zip(panels, measures, strict=True):
            for shift, (kind, own) in zip((-0.16, 0.16), told.groupby("attention"), strict=True):
                at = y + shift + 0.1 * drawn
                face = "none" if drawn else ORDER[kind]
                panel.scatter(
                    own[measure], [at] * len(own), s=16, facecolors=face, edgecolors=ORDER[kind], linewidths=0.8
                )
    for panel, (measure, label) in zip(panels, measures.items(), strict=True):
        panel.axvline(float(measure == "factor"), color=NEUTRAL, linewidth=0.8)
        panel.set(xlabel=label, ylim=(len(names) - 0.5, -0.5))
    kept = layers[~layers["at_random"]].groupby("removed", sort=False)["square"].median()
    panels[0].set_yticks(range(len(names)), [f"{n} ({kept[n]:.0%} left)" if n != names[0] else n for n in names])
    marks = [_mark(kind, ORDER[kind]) for kind in GROUPS.values()] + [_mark("at random", NEUTRAL, face="none")]
    figure.legend(handles=marks, loc="outside upper right", ncols=3)
    middle = {
        name: families(layers[(layers["removed"] == name) & ~layers["at_random"]], PARTS)
        .query("attention == 'bidirectional'")["symmetry"]
        .median()
        for name in (names[0], names[-1])
    }
    return captioned(figure, __package__, "fig-without-parts", whole=middle[names[0]], without=middle[names[-1]])
