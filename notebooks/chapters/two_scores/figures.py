"""One strong column, scored by three formulas."""

import pandas as pd
import seaborn as sns
import torch

from attngeo.bilinear.scores import Convention, directionality_of
from attngeo.experiments.runs.numbers_in_words import as_score
from attngeo.plot.style import NEUTRAL, CaptionedFigure, house_style, new_figure
from chapters.two_scores.laws import norms_with_strong_column, one_column_limit

FORMULAS = {
    "sum of the norms (the paper's definition)": Convention.DEFINITION,
    "excess of the norms (the authors' code)": Convention.RELEASED,
    "excess of the logarithms (Table S3)": Convention.TABLES,
}
COLOURS = dict(zip(FORMULAS, ("black", "#CC79A7", "#E69F00"), strict=True))  # none of encoders or decoders
FACTORS = [2.0**k for k in range(10)]


def scores_by_factor(n: int, gamma: float, seed: int, draws: int = 40) -> pd.DataFrame:
    """d of normal matrices with one column times each of `FACTORS`: a row per matrix, factor and formula."""
    norms = norms_with_strong_column(n, FACTORS, draws, torch.Generator().manual_seed(seed))
    parts = []
    for words, convention in FORMULAS.items():
        d = directionality_of(norms, gamma, convention)[0]  # (factors, draws)
        by_factor = pd.DataFrame(d.numpy(), index=pd.Index(FACTORS, name="factor"))
        parts.append(by_factor.stack().rename("directionality d").reset_index().assign(formula=words))
    return pd.concat(parts, ignore_index=True)


@house_style()
def one_strong_column(frame: pd.DataFrame, n: int, gamma: float) -> CaptionedFigure:
    """Directionality against the factor on one column, by each formula, and the limit of Definition 3.2."""
    figure, panel = new_figure(8, 3.0)
    style = {"palette": COLOURS, "style": "formula", "dashes": False, "markers": ["o", "s", "^"], "errorbar": "sd"}
    sns.lineplot(frame, x="factor", y="directionality d", hue="formula", ax=panel, **style)
    limit = one_column_limit(n, gamma)
    panel.axhline(
        limit, color=NEUTRAL, linestyle=":", linewidth=1, label=f"limit by the paper's definition, {limit:+.2f}"
    )
    panel.axhline(0, color=NEUTRAL, linewidth=1)
    panel.set(xscale="log", xlabel="factor on one column", ylim=(-1.3, 1.3))
    for y, side in ((1.15, "rows dominate"), (-1.15, "columns dominate")):
        panel.text(1, y, side, color=NEUTRAL, fontsize="small", va="center")
    panel.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    mean = frame.groupby(["factor", "formula"])["directionality d"].mean()
    shown = 1.0, 2.0, frame["factor"].max()
    at_one, at_two, at_end = (", ".join(as_score(mean[f, words]) for words in FORMULAS) for f in shown)
    caption = f"""Directionality score of random matrices with {n} rows in which one column is multiplied by a factor, according to
    three formulas with the threshold $\\gamma = {gamma:g}$. The shaded areas extend one standard deviation to either side of the mean."""
    alt = f"""Three curves of directionality against the factor on one column: {"; ".join(FORMULAS)}. Means in this order: at
    a factor of 1, {at_one}; of 2, {at_two}; at the end, {at_end}."""
    return CaptionedFigure(figure, "fig-one-strong-column", caption, alt)
