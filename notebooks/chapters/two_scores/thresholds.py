"""Figures of the page on directionality: the score against its threshold, and one strong column."""

from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Float
from matplotlib.axes import Axes
from torch import Tensor

from attngeo.bilinear.scores import Convention, directionality_of
from attngeo.experiments.runs.numbers_in_words import as_score, number
from attngeo.plot.style import CROSS, NEUTRAL, PALETTE, PART_COLOURS, CaptionedFigure, house_style, new_figure
from chapters.two_scores.norms import STACK, ranks, recorded_norms, scored, stacks
from chapters.two_scores.laws import median_half_width, norms_with_strong_column, one_column_limit

THRESHOLDS = [k / 4 for k in range(17)]  # from 0 to 4
COMPARED = (1.0, 2.0, 3.0, 4.0)  # thresholds of the curves in grey
WIDE = 256  # rows of a model that is counted: in narrower matrices a few rows decide
SHOWN = {"decoder": "GPT-2", "encoder": "BERT base radiology"}  # both have 12 layers of width 768
NAMES = {"decoder": "GPT-2", "encoder": "BERT"}
SIDES = {  # column of `stacks`: words, colour (none of encoders or decoders) and line
    "n_rows_over": ("long rows", CROSS, "-"),
    "n_columns_over": ("long columns", PALETTE[3], "--"),
}
COUNTS = (3, 10, 30, 100, 300)  # ticks
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


def by_threshold_of(place: tuple[str, str], thresholds: Sequence[float]) -> pd.DataFrame:
    """The row of a model in `stacks` at each threshold, and ``band``: half the band of random models of its shape."""
    norms = recorded_norms().set_index(STACK).loc[[place]].reset_index()
    rows = pd.DataFrame(
        [scored(norms, g).drop(columns=[*STACK, "layer"]).median() for g in thresholds], index=thresholds
    )
    rows = rows.assign(n_layers=len(norms), rank=ranks()[place])
    rows["band"] = [random_median(row, g) for g, row in rows.iterrows()]
    return rows


def random_median(model: pd.Series, gamma: float) -> float:
    """Half the band of 95 % of the median scores of random models with the layers of a row of `stacks`."""
    return median_half_width(int(model["width"]), int(model["rank"]), int(model["n_layers"]), float(gamma))


@house_style()
def by_threshold(gamma: float) -> CaptionedFigure:
    """d of a decoder and of an encoder of the same shape against the threshold, and how many rows and columns count."""
    thresholds = shown_thresholds(gamma)
    found = {part: by_threshold_of((model, part), thresholds) for part, model in SHOWN.items()}
    figure, panels = new_figure(9, 5.4, 2, 2, sharex=True, sharey="row")
    for (above, below), (part, rows) in zip(panels.T, found.items(), strict=True):
        above.fill_between(thresholds, -rows["band"], rows["band"], color=NEUTRAL, alpha=0.2, linewidth=0)
        above.axhline(0, color=NEUTRAL, linewidth=1)
        above.plot(rows["directionality"], color=PART_COLOURS[part], linewidth=2)
        above.set(title=f"{NAMES[part]} ({part})", ylim=(-1, 1))
        which_side(above, 0.03)
        for column, (words, colour, dashes) in SIDES.items():
            below.plot(rows[column], dashes, color=colour, linewidth=2, label=words)
        below.set(yscale="log", xlim=(0, 4), xticks=range(5), xlabel="threshold $\\gamma$, in standard deviations")
        for panel in (above, below):
            panel.axvline(gamma, color=NEUTRAL, linestyle="--", linewidth=1)
    panels[0, 0].set_ylabel("directionality d")
    panels[1, 0].set(ylabel="number in a layer", yticks=COUNTS, yticklabels=COUNTS)
    panels[1, 0].legend(loc="lower left")
    decoder, encoder = found["decoder"], found["encoder"]
    said = " ".join(long_sides(decoder.loc[g], g) for g in (1.0, 3.0))
    others = encoder["directionality"]
    n_layers, width = (int(decoder[column].iloc[0]) for column in ("n_layers", "width"))
    caption = f"""Top: directionality scores (according to the paper's definition) of GPT-2 and of a BERT model that was
        fine-tuned on radiology reports, plotted against the threshold $\\gamma$. Bottom: numbers of rows and columns
        that count as long. All values are medians over the {n_layers} layers of a model. {said} The scores of BERT lie
        between {as_score(others.min())} and {as_score(others.max())}. The grey band contains the scores of 95 % of
        random models. Each of these scores is also a median over {n_layers} layers of width {width}. At the largest
        thresholds, most random layers have neither long rows nor long columns, so most random models score 0. The
        dashed line marks $\\gamma = {gamma:g}$, the threshold used on this page."""
    alt = f"""Two columns of panels, for GPT-2 and BERT. The score of GPT-2 falls from
        {as_score(decoder["directionality"].max())} to {as_score(decoder["directionality"].min())} as the threshold grows, and
        its long rows become fewer than its long columns. The score of BERT stays near zero, and its long rows
        and columns are about equally many."""
    return CaptionedFigure(figure, "fig-directionality-by-threshold", caption, alt)


def long_sides(model: pd.Series, gamma: float) -> str:
    """How many rows and columns of GPT-2 count as long at a threshold, and its score."""
    rows, columns = (number(model[column], 0) for column in SIDES)
    return f"""With $\\gamma = {gamma:g}$, GPT-2 has {rows} long rows, {columns} long columns and a score of
        {as_score(model["directionality"])}."""


def turning(part: str, low: float = 1.0, high: float = 3.0, formula: str = "directionality") -> list[str]:
    """Wide encoders or decoders whose directionality has another sign at the higher threshold than at the lower."""
    at_low, at_high = (stacks(g).set_index(STACK) for g in (low, high))
    turns = at_low[formula] * at_high[formula] < 0
    chosen = at_low[turns & (at_low["width"] >= WIDE)].reset_index()
    return chosen.loc[chosen["part"] == part, "model"].tolist()


def turning_beyond_chance(part: str, low: float = 1.0, high: float = 3.0) -> list[str]:
    """Those of `turning` whose scores lie outside the band of random models of their shape at both thresholds."""
    found = [(g, stacks(g).set_index(STACK)) for g in (low, high)]

    def clear(model: str) -> bool:
        return all(
            abs(rows.loc[(model, part), "directionality"]) > random_median(rows.loc[(model, part)], g)
            for g, rows in found
        )

    return [model for model in turning(part, low, high) if clear(model)]


def one_column_scores(n: int, gamma: float, seed: int, draws: int = 40) -> dict[float, Float[Tensor, "factors draws"]]:
    """d of normal matrices with one column times each of `FACTORS`, by threshold."""
    norms = norms_with_strong_column(n, FACTORS, draws, torch.Generator().manual_seed(seed))
    thresholds = sorted({*COMPARED, gamma})
    return {g: directionality_of(norms, g, Convention.DEFINITION)[0] for g in thresholds}


@house_style()
def one_column_by_threshold(
    scores: dict[float, Float[Tensor, "factors draws"]], n: int, gamma: float
) -> CaptionedFigure:
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
    caption = f"""Mean directionality score (according to the paper's definition) of random matrices with {n} rows in
        which one column is multiplied by a factor. The score should decrease towards $-1$ as the factor grows. The
        black line shows $\\gamma = {gamma:g}$, the threshold used on this page, and the grey lines show other
        thresholds. The shaded area extends one standard deviation to either side of the mean. At the largest factor,
        the mean is {as_score(at_end)}, and the limit for large matrices is {as_score(one_column_limit(n, gamma))}."""
    others = ", ".join(f"{as_score(float(mean[-1]))} at {g:g}" for g, mean in means.items())
    alt = f"""Curves of directionality against the factor on one column, for several thresholds. All start near zero. Means
        at the largest factor: {others}."""
    return CaptionedFigure(figure, "fig-one-column-by-threshold", caption, alt)
