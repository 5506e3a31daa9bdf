"""Section 4.1, Figures 3 (c) and S4 (a, c), decoders: median symmetry near zero, and layers that are skew.

The released files have the scores of every layer; this project's copy keeps median, quartiles and extremes over the
layers, and not their order. It tells that some layers are skew, and not whether these are the middle ones.
"""

import pandas as pd

from attngeo.chapters.training_scores.depth import arm_cases
from attngeo.chapters.training_scores.evidence import (
    DECODER,
    Evidence,
    counted,
    encoders_beside_decoders,
    evidence,
    released_ends,
    released_last,
    spoken_of,
)
from attngeo.forms.random_matrices import symmetry_sd
from attngeo.paper.checks import Judgement, check, compare
from attngeo.paper.published import trained_widths
from attngeo.paper.seed_intervals import Case, Training, in_words, joined, judged
from attngeo.runs.numbers_in_words import as_percent, as_score, extent

SPREADS = 4  # of a random matrix, or model, beyond which a score is not random


@check(evidence)
def decoders_almost_non_symmetric(e: Evidence) -> Judgement:
    """Section 4.1: decoders end almost non-symmetric, nearer to s = 0 than encoders; of 12 layers, not of 4."""
    cases = [
        Case(
            c.label,
            "recorded",
            c.difference(lambda run: abs(run.last("symmetry"))),
            seeds=len(c),
            training=Training.of(c.first.config),
        )
        for c in encoders_beside_decoders(e.runs)
    ]
    ends = released_ends(e.released, "s").assign(share=lambda t: (t["decoder"] / t["encoder"]).abs())
    deep, small = (ends[ends["layers"] == layers] for layers in (12, 4))
    nearer = small["share"] < 1
    return Judgement(
        *(compare("share", row.share, "<", 1, text=row.text) for row in deep.itertuples()),
        counted("around 0", decoders_of_12_layers(e.released).eval("s_q1 < 0 < s_q3")),
        counted("nearer", nearer, "<"),
        *joined(cases, spoken_of()),
        deep=extent(deep["decoder"], as_score),
        shares=extent(deep["share"], as_percent),
        small=extent(small["decoder"], as_score),
        nearer=nearer.sum(),
        n=len(small),
        recorded=in_words(cases),
    )


@check(evidence, wikipedia=True)
def skew_layers_on_wikipedia(e: Evidence) -> Judgement:
    """Figure 3 (c), right: some layers of decoders end skew, s < 0."""
    return _skew(e)


@check(evidence, wikipedia=False)
def skew_layers_elsewhere(e: Evidence) -> Judgement:
    """Figure S4 (a, c), right: some layers of decoders end skew, on other texts."""
    return _skew(e)


def skew_shares(curves: pd.DataFrame) -> str:
    """``(1 - s) / 2`` of the most skew layer of the released decoders of 12 layers: from the least to the largest."""
    shares = (1 - decoders_of_12_layers(curves)["s_min"]) / 2
    return " to ".join(dict.fromkeys(map(as_percent, (shares.min(), shares.max()))))


def decoders_of_12_layers(curves: pd.DataFrame) -> pd.DataFrame:
    """Their released numbers at the last step, a text in a row."""
    return released_last(curves).query("layers == 12 and part == 'decoder'")


def _skew(e: Evidence) -> Judgement:
    tolerance = SPREADS * symmetry_sd(trained_widths()[12])
    released = [
        compare("s_min", row.s_min, "<", 0, tolerance, text=row.text)
        for row in decoders_of_12_layers(e.released).itertuples()
    ]
    cases = arm_cases(e.runs, DECODER, lambda run: run.by_layer("symmetry").iloc[-1].min(), "least", -1)
    told = {"told": in_words(cases), "spreads": SPREADS, "shares": skew_shares(e.released)}
    return judged(cases, *released, spoken_of=spoken_of(), **told)
