"""The symmetry of every language model against its number of parameters, with the name of each model."""

import pandas as pd

from attngeo.experiments.runs.numbers_in_words import number
from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from chapters.pretrained_survey.chosen import Chosen
from chapters.pretrained_survey.sizes import PARTS, rank_correlation
from livingpaper.display.interactive import Interactive

GROUPS = {  # of points: words in the legend, and how matplotlib draws them
    "released": ("filled point: released score", {"s": 30}),
    "half": ("pale point: released score of half of an encoder-decoder model", {"s": 30, "alpha": 0.45}),
    "read": ("ring: our own score", {"s": 70, "facecolors": "none", "linewidths": 1.4}),
}


def symmetry_by_size(models: Chosen, unsized: str) -> Interactive:
    """A point for each model; ``unsized`` is a sentence about the models whose size is not known."""
    groups = {"released": models.released, "half": models.halves, "read": models.read}
    points = [
        {"group": group, "model": row.model, "part": row.part, "parameters": row.parameters, "s": round(row.s, 3)}
        for group, rows in groups.items()
        for row in rows.sort_values("parameters").itertuples()
    ]
    words = [
        [group, words] for group, (words, _) in GROUPS.items()
    ]  # a list, because notebooks sort the keys of objects
    return Interactive("symmetry_by_size", {"points": points, "groups": words}, _still(groups, unsized))


@house_style()
def _still(groups: dict[str, pd.DataFrame], unsized: str) -> CaptionedFigure:
    figure, panel = new_figure(8, 4.2)
    for group, rows in groups.items():
        words, style = GROUPS[group]
        for part in PARTS.values():
            colour = PART_COLOURS[part]
            colours = {"edgecolors": colour} | ({} if "facecolors" in style else {"facecolors": colour})
            drawn = rows[rows["part"] == part]
            panel.scatter(
                drawn["parameters"], drawn["s"], label=f"{part}, {words.partition(': ')[2]}", **style, **colours
            )
    panel.axhline(0, color=NEUTRAL, linewidth=0.8)
    released = groups["released"]
    for row in _named(released).itertuples():
        place = {"xytext": (7, 5), "textcoords": "offset points", "fontsize": 8}
        panel.annotate(row.model, (row.parameters, row.s), **place)
    panel.set(xscale="log", xlabel="number of parameters", ylabel="symmetry score s (median over layers)")
    figure.legend(loc="outside lower center", ncols=2)
    rho = {part: number(rank_correlation(released, part), 2, "+") for part in PARTS.values()}
    count = released.groupby("part").size()
    caption = f"""Symmetry score $s$ of language models against their number of parameters. Encoders are blue and decoders
    are orange. Filled points are {count["encoder"]} encoders and {count["decoder"]} decoders whose scores the authors
    released. Pale points are the encoders and decoders inside released encoder-decoder models, and rings are models that
    we scored ourselves. Among the filled points, the rank correlation (Spearman) of $s$ with the number of parameters is
    {rho["encoder"]} for encoders and {rho["decoder"]} for decoders. {unsized}"""
    alt = f"""Scatter plot of the symmetry score against the number of parameters on a logarithmic axis. At every size,
    encoders lie above decoders, and decoders lie near zero. The rank correlation of the score with the number of parameters
    is {rho["encoder"]} for encoders and {rho["decoder"]} for decoders."""
    return CaptionedFigure(figure, "fig-survey-sizes", " ".join(caption.split()), alt)


def _named(released: pd.DataFrame) -> pd.DataFrame:
    """The models with the highest and the lowest score of each group, and the largest of each group."""
    places = [
        place
        for _, rows in released.groupby("part")
        for place in (rows["s"].idxmax(), rows["s"].idxmin(), rows["parameters"].idxmax())
    ]
    return released.loc[sorted(set(places))]
