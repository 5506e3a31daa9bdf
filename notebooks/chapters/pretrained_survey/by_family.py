"""The symmetry of every language model, in one row for each family."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from attngeo.experiments.runs.numbers_in_words import joined_by_and, number
from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from chapters.pretrained_survey.chosen import Chosen
from chapters.pretrained_survey.sizes import PARTS, TOYS

SOURCES = {  # of scores: words in the legend, marker and filling
    "released": ("released score", "o", "full"),
    "half": ("released score, half of an encoder-decoder model", "s", "full"),
    "read": ("our own score", "o", "none"),
}


@house_style()
def symmetry_by_family(models: Chosen, unsized: str) -> CaptionedFigure:
    """A point for each model; ``unsized`` is a sentence about the models whose size is not known."""
    rows = models.every
    order = _in_order(rows)
    figure, panel = new_figure(7.4, 1.4 + 0.23 * len(order))
    for (source, part), drawn in rows.groupby(["source", "part"]):
        _, marker, fill = SOURCES[source]
        colour = PART_COLOURS[part]
        panel.scatter(
            drawn["s"],
            drawn["family"].map(order.index),
            s=_areas(drawn["parameters"]),
            marker=marker,
            edgecolors=colour,
            facecolors=colour if fill == "full" else "none",
            alpha=0.7,
        )
    panel.axvline(0, color=NEUTRAL, linewidth=0.8)
    panel.set(xlabel="symmetry score s (median over layers)", ylim=(len(order) - 0.5, -0.5))
    panel.set_yticks(range(len(order)), order)
    handles = [Line2D([], [], marker="o", linestyle="none", color=PART_COLOURS[of], label=of) for of in PARTS.values()]
    handles += [
        Line2D([], [], marker=marker, linestyle="none", color=NEUTRAL, fillstyle=fill, label=words)
        for words, marker, fill in SOURCES.values()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=2)
    count = models.released.groupby("part").size()
    toys = [family for family in order if TOYS in family.lower()]
    toys_told = f"The {joined_by_and(toys)} models are toy models that were trained on short stories." if toys else ""
    medians = {part: number(models.released.query("part == @part")["s"].median(), 2) for part in PARTS.values()}
    caption = f"""Symmetry score $s$ of {len(rows)} language models, with one row for each family. Larger points are
    larger models. Filled circles show the {count["encoder"]} encoders and {count["decoder"]} decoders whose scores
    the authors released. The median score is {medians["encoder"]} for these encoders and {medians["decoder"]} for
    these decoders. Squares show the encoders and the decoders of released encoder-decoder models, and open circles
    show models that we scored ourselves. {toys_told} {unsized}"""
    alt = f"""Dot plot of the symmetry score with a row for each of {len(order)} families. The released encoders have a median
    of {medians["encoder"]}, and the released decoders have a median of {medians["decoder"]}."""
    return CaptionedFigure(figure, "fig-survey-families-of-text", caption, alt)


def _in_order(rows: pd.DataFrame) -> list[str]:
    """Families of encoders, then families with both, then families of decoders, each by their highest median."""
    medians = rows.groupby(["family", "part"])["s"].median().unstack("part").reindex(columns=list(PARTS.values()))
    kind = medians["encoder"].isna().astype(int) - medians["decoder"].isna().astype(int)
    highest = -medians.max(axis=1)
    return list(medians.iloc[np.lexsort([highest, kind])].index)


def _areas(parameters: pd.Series) -> pd.Series:
    """Of points, in square points: 12 at a million parameters, and as much again for every factor of 10."""
    return 12 * (np.log10(parameters) - 5).clip(lower=0.5)
