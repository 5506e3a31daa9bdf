"""Sentences of the page on directionality that depend on its threshold, each chosen by what was computed for it."""

from collections.abc import Sequence

import pandas as pd

from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.numbers_in_words import as_percent, as_score, joined_by_and, with_interval
from attngeo.experiments.survey.families import GROUPS, auc, score_interval
from chapters.two_scores.thresholds import FACTORS, THRESHOLDS, random_median
from chapters.two_scores.norms import FORMULAS, STACK, families, stacks
from chapters.two_scores.laws import first_positive_limit

NARROW, BROAD = 768, 4096  # rows of W_qk in BERT base and GPT-2, and in Llama 3 8B


def at_the_threshold(gamma: float) -> str:
    """What the score says of GPT-2 at the threshold of the page, beside random models of its shape."""
    model = stacks(gamma).set_index(STACK).loc[("GPT-2", "decoder")]
    d, half = model["directionality"], random_median(model, gamma)
    assert d != 0
    begin = f"""At the threshold used on this page, $\\gamma = {gamma:g}$, GPT-2 scores {as_score(d)}, which the paper
        would interpret as dominance of the {"rows" if d > 0 else "columns"}."""
    if half == 0:
        return f"{begin} At this threshold, almost all random models of the same shape score 0."
    side = "outside" if abs(d) > half else "inside"
    return f"""{begin} This score lies {side} the range in which 95 % of random models score ({as_score(-half)} to
        {as_score(half)})."""


def one_column(means: Sequence[float], n: int, gamma: float) -> str:
    """Where the mean score of a matrix with one strong column is positive, by the factors on this column."""
    grown = [(factor, d) for factor, d in zip(FACTORS, means, strict=True) if factor > 1]
    above = [factor for factor, d in grown if d > 0]
    begin = f"At the threshold $\\gamma = {gamma:g}$, the mean score of matrices with {n} rows"
    if not above:
        return f"{begin} is negative for every factor that we tried, as it should be."
    if len(above) == len(grown):
        return f"""{begin} is positive for every factor above 1 that we tried. When the column is multiplied by {FACTORS[-1]:g}, the
            mean score is {as_score(means[-1])}."""
    if above == [factor for factor, _ in grown if above[0] <= factor <= above[-1]] and above[-1] < FACTORS[-1]:
        return f"""{begin} is positive if the column is multiplied by a factor between {above[0]:.2g} and {above[-1]:.2g}. For
            larger factors, the mean score is negative, as it should be."""
    return f"{begin} is positive for {len(above)} of the {len(grown)} factors above 1 that we tried."


def from_which_size(gamma: float) -> str:
    """From how many rows on a column that outgrows all others gives a positive score, beside known models."""
    first = first_positive_limit(gamma)
    begin = f"""With $\\gamma = {gamma:g}$, a single very long column gives the score the wrong sign (positive) if the matrix
        has {first:,} rows or more"""
    if first <= NARROW:
        return f"{begin}. The matrices of BERT base and GPT-2 have {NARROW} rows."
    if first <= BROAD:
        return f"""{begin}. The matrices of Llama 3 8B, which have {BROAD:,} rows, are large enough for the wrong sign. The matrices of
            BERT base and GPT-2, which have {NARROW} rows, are too small."""
    return f"{begin}. The matrices of Llama 3 8B are much smaller, with {BROAD:,} rows."


def share(gamma: float, formula: str = "directionality", modality: str = "") -> Estimate:
    """Share of the pairs of an encoder family and a decoder family in which the encoder has the higher score.

    Of one modality if it is named. In the interval of 95 %, families count as independent.
    """
    scores = families(gamma, modality).set_index("attention")[formula]
    encoders, decoders = (scores.loc[[kind]] for kind in GROUPS.values())
    area = auc(encoders, decoders)
    return Estimate(area, *score_interval(area, len(encoders), len(decoders)))


def separation_table(gamma: float) -> pd.DataFrame:
    """`share` by formula, of all families and of those of text."""
    return pd.DataFrame(
        {
            "formula": words,
            "all families": with_interval(share(gamma, formula), as_percent),
            "families of text": with_interval(share(gamma, formula, "text"), as_percent),
        }
        for formula, words in FORMULAS.items()
    )


def separated(gamma: float) -> str:
    """How encoders and decoders differ by the paper's definition on the weights that we read."""
    found = share(gamma)
    assert found.low < 0.5  # encoders do not score significantly higher at any threshold
    difference = "encoders and decoders do not differ significantly in directionality"
    if found.high < 0.5:
        difference = "decoders have higher scores than encoders, which is the opposite of what the paper states"
    return f"""We also downloaded weights and scored them ourselves, using the paper's definition with $\\gamma = {gamma:g}$. Among
        these models, {difference}. When we pair every encoder family with every decoder family, the encoder family has
        the higher score in {as_percent(found.value)} of the pairs (95 % confidence interval: {as_percent(found.low)} to
        {as_percent(found.high)})."""


def separated_at_other_thresholds() -> str:
    """At which of the thresholds from 0 to 4 the groups differ by the paper's definition, and in which direction."""
    found = {gamma: share(gamma) for gamma in THRESHOLDS}
    decoders_higher = [f"{gamma:g}" for gamma, one in found.items() if one.high < 0.5]
    assert decoders_higher and all(one.low < 0.5 for one in found.values())
    return f"""We compared encoders with decoders at {len(found)} thresholds from 0 to 4. According to the paper's
        definition, decoders have significantly higher scores than encoders at γ = {joined_by_and(decoders_higher)}, and
        there is no threshold at which encoders have significantly higher scores than decoders. With so many thresholds,
        a few significant differences are expected by chance."""
