"""Figures of the page on directionality: the score against its threshold, and one strong column."""

import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.scores import Convention, directionality_of
from attngeo.experiments.runs.numbers_in_words import as_score, joined_by_and
from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from chapters.two_scores.norms import STACK, stacks
from chapters.two_scores.laws import norms_with_strong_column, one_column_limit

THRESHOLDS = [k / 4 for k in range(17)]  # from 0 to 4
COMPARED = (1.0, 2.0, 3.0, 4.0)  # thresholds of the curves in grey
WIDE = 256  # rows of a model that is named: in narrower matrices a few rows decide
GAP = 0.075  # between two names, in units of d
BAND = 768  # width of the random layers in grey
FACTORS = [2 ** (k / 2) for k in range(19)]  # on one column


def shown_thresholds(gamma: float) -> list[float]:
    """The thresholds at which the figure has points, the one of the page among them."""
    return sorted({*THRESHOLDS, gamma})


def spread_out(heights: dict[str, float], gap: float) -> dict[str, float]:
    """Heights for labels in the order of the given ones, at least a gap apart, and moved as little as that takes."""
    placed: list[list] = []  # groups of labels that touch: their names, and the height of the lowest
    for name in sorted(heights, key=heights.__getitem__):
        placed.append([[name], heights[name]])
        while len(placed) > 1 and placed[-2][1] + gap * len(placed[-2][0]) > placed[-1][1]:
            upper, lower = placed.pop()[0], placed.pop()[0]
            names = lower + upper
            middle = sum(heights[n] for n in names) / len(names)
            placed.append([names, middle - gap * (len(names) - 1) / 2])
    return {name: lowest + gap * k for names, lowest in placed for k, name in enumerate(names)}


def which_side(panel: Axes, at: float) -> None:
    """Say in both halves of a panel how the paper reads the score there."""
    for y, words in ((0.98, "rows dominate"), (0.02, "columns dominate")):
        place = {"va": "top" if y > 0.5 else "bottom", "ha": "left", "transform": panel.transAxes}
        panel.text(at, y, words, color=NEUTRAL, fontsize="small", **place)


@house_style()
def by_threshold(gamma: float) -> CaptionedFigure:
    """d of every recorded model against the threshold: encoders on the left, decoders on the right."""
    thresholds = shown_thresholds(gamma)
    scores = {g: stacks(g).set_index(STACK) for g in thresholds}
    kinds = scores[gamma]
    figure, panels = new_figure(9, 4.4, columns=2, sharey=True)
    half_width = [laws_of_shape(BAND, BAND, g)["directionality"].half_width for g in thresholds]
    for panel, (part, colour) in zip(panels, list(PART_COLOURS.items())[:2], strict=True):
        upper = [min(1.0, half) for half in half_width]
        panel.fill_between(thresholds, [-half for half in upper], upper, color=NEUTRAL, alpha=0.15, linewidth=0)
        panel.axhline(0, color=NEUTRAL, linewidth=1)
        panel.axvline(gamma, color=NEUTRAL, linestyle="--", linewidth=1)
        ends = {}
        for place in kinds.index[kinds.index.get_level_values("part") == part]:
            d = [scores[g].loc[place, "directionality"] for g in thresholds]
            named = kinds.loc[place, "width"] >= WIDE
            panel.plot(thresholds, d, color=colour, linewidth=1.6 if named else 0.8, alpha=0.9 if named else 0.35)
            if named:
                panel.plot(gamma, kinds.loc[place, "directionality"], "o", color=colour, markersize=5)
                ends[place[0]] = d[-1]
        for name, height in spread_out(ends, GAP).items():
            panel.annotate(
                name,
                (thresholds[-1], ends[name]),
                (4.25, height),
                color=colour,
                fontsize="x-small",
                va="center",
                annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5},
            )
        panel.set(title=f"{part}s", xlabel="threshold $\\gamma$, in standard deviations", xlim=(0, 4), ylim=(-1, 1))
        which_side(panel, 0.03)
    panels[0].set_ylabel("directionality d, median layer")
    wide = kinds[kinds["width"] >= WIDE].reset_index()
    changed = {part: turning(part) for part in ("encoder", "decoder")}
    counts = joined_by_and([f"{len(changed[part])} of {(wide['part'] == part).sum()} {part}s" for part in changed])
    caption = f"""The directionality score of trained models against its threshold $\\gamma$, by the paper's definition (median over layers).
        The weights of a model are the same at every threshold. Lines with a name are models of width {WIDE} or more;
        the thin lines are narrower models, in which a few rows decide. The dashed line marks $\\gamma = {gamma:g}$, the
        threshold of this page. The grey band holds 95 % of single random layers of width {BAND}. The sign of $d$ at
        $\\gamma = 1$ differs from its sign at $\\gamma = 3$ in {counts} of width {WIDE} or more."""
    alt = f"""Two panels of curves of directionality against the threshold. Many decoders start above zero and end far below
        it; encoders stay closer to zero. At a threshold of {gamma:g}, GPT-2 has
        {as_score(kinds.loc[("GPT-2", "decoder"), "directionality"])}."""
    return CaptionedFigure(figure, "fig-directionality-by-threshold", caption, alt)


def turning(part: str, low: float = 1.0, high: float = 3.0, formula: str = "directionality") -> list[str]:
    """Wide encoders or decoders whose directionality has another sign at the higher threshold than at the lower."""
    at_low, at_high = (stacks(g).set_index(STACK) for g in (low, high))
    turns = at_low[formula] * at_high[formula] < 0
    chosen = at_low[turns & (at_low["width"] >= WIDE)].reset_index()
    return chosen.loc[chosen["part"] == part, "model"].tolist()


def one_column_scores(n: int, gamma: float, seed: int, draws: int = 40) -> dict[float, Float[Tensor, "factors draws"]]:
    """d of normal matrices with one column times each of `FACTORS`, by threshold."""
    norms = norms_with_strong_column(n, FACTORS, draws, torch.Generator().manual_seed(seed))
    thresholds = sorted({*COMPARED, gamma})
    return {g: directionality_of(norms, g, Convention.DEFINITION)[0] for g in thresholds}


@house_style()
def one_strong_column(scores: dict[float, Float[Tensor, "factors draws"]], n: int, gamma: float) -> CaptionedFigure:
    """Mean d against the factor on one column: the page's threshold in black, others in grey."""
    figure, panel = new_figure(6.4, 3.4)
    panel.axhline(0, color=NEUTRAL, linewidth=1)
    means = {g: of_threshold.mean(1) for g, of_threshold in scores.items()}
    for g, mean in means.items():
        style = {"color": "black", "linewidth": 2.2} if g == gamma else {"color": NEUTRAL, "linewidth": 1, "alpha": 0.6}
        panel.plot(FACTORS, mean, **style)
    sd = scores[gamma].std(1)
    panel.fill_between(FACTORS, means[gamma] - sd, means[gamma] + sd, color="black", alpha=0.12, linewidth=0)
    for g, height in spread_out({f"{g:g}": float(mean[-1]) for g, mean in means.items()}, 0.13).items():
        weight = "bold" if g == f"{gamma:g}" else "normal"
        panel.text(FACTORS[-1] * 1.12, height, f"$\\gamma$ = {g}", fontsize="small", va="center", fontweight=weight)
    panel.set(xscale="log", xlabel="factor on one column", ylabel="directionality d", ylim=(-1.2, 1.2))
    panel.set_xlim(FACTORS[0], FACTORS[-1])
    which_side(panel, 0.03)
    at_end = float(means[gamma][-1])
    caption = f"""One column of a random matrix with {n} rows is multiplied by a factor, and the directionality score,
        by the paper's definition, should fall towards $-1$. The black line is the mean at the threshold of this page, $\\gamma =
        {gamma:g}$, and the grey lines are other thresholds; the shaded area is one standard deviation to either side. At
        the largest factor, the mean is {as_score(at_end)}, and the limit for large matrices is
        {as_score(one_column_limit(n, gamma))}."""
    others = ", ".join(f"{as_score(float(mean[-1]))} at {g:g}" for g, mean in means.items())
    alt = f"""Curves of directionality against the factor on one column, for several thresholds. All start near zero. Means
        at the largest factor: {others}."""
    return CaptionedFigure(figure, "fig-one-column-by-threshold", caption, alt)
