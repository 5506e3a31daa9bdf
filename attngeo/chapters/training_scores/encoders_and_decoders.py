"""Section 4.1, Figures 3, S3 and S4: encoders against decoders, in recorded runs and in the released medians."""

import math
from typing import Any

import pandas as pd

from attngeo.chapters.training_scores.columns import random_gap_sd
from attngeo.chapters.training_scores.evidence import (
    Evidence,
    counted,
    encoders_beside_decoders,
    evidence,
    released_ends,
    spoken_of,
)
from attngeo.paper.checks import Judgement, check, compare, exact
from attngeo.paper.seed_intervals import Case, Training, in_words, judged
from attngeo.runs.arms import Contrast
from attngeo.runs.estimates import Estimate
from attngeo.runs.numbers_in_words import as_score

SCATTER = 2  # spreads of random models within which a difference between two models of one seed says nothing


def at_the_end(pair: Contrast, score: str) -> Case:
    """Encoder less decoder in a score at the end, the paper's sign being plus: s is larger, d less negative."""
    return Case(
        pair.label, "recorded", pair.difference(score), seeds=len(pair), training=Training.of(pair.first.config)
    )


def at_equal_steps(pair: Contrast, score: str) -> Case:
    """`at_the_end`, but where the arm of fewer steps ends: after as many steps, though not of the same schedule."""
    step = min(arm.runs[0].curve(score).index[-1] for arm in (pair.first, pair.second))
    difference = pair.difference(lambda run: run.curve(score).loc[:step].iloc[-1])
    return Case(pair.label, "recorded", difference, seeds=len(pair))


@check(evidence)
def symmetry_in_training(e: Evidence) -> Judgement:
    """Section 4.1: encoders end more symmetric than decoders, in the released medians and in each recorded setting."""
    cases = _recorded(e, "symmetry")
    ends = released_ends(e.released, "s").set_index("layers")
    larger = ends["encoder"] > ends["decoder"]
    released = counted("released", larger[12]), counted("released, 4 layers", larger[4])
    return judged(cases, *released, spoken_of=spoken_of(), told=in_words(cases))


def released_gaps(curves: pd.DataFrame) -> list[Case]:
    """Encoder less decoder in released median d at the end: of one seed, with the scatter of random models about it."""
    ends = released_ends(curves, "d").assign(gap=lambda t: t["encoder"] - t["decoder"])
    return [_scattered(m.text, "released", m.gap, random_gap_sd(m.layers), layers=m.layers) for m in ends.itertuples()]


@check(evidence)
def directionality_in_training(e: Evidence) -> Judgement:
    """Section 4.1: decoders end more column-dominated than encoders, which released pairs of one seed do not decide."""
    gaps = released_gaps(e.released)
    deep, small = ([case for case in gaps if case.fields["layers"] == layers] for layers in (12, 4))
    against = [case for case in deep if case.estimate.value < 0]
    cases = _recorded(e, "directionality")
    recorded = judged(cases, spoken_of=spoken_of(), told=in_words(cases))
    return Judgement(
        *(c for case in deep for c in case.comparisons),
        compare("clear", sum(case.met for case in deep), "<", len(deep), n=len(deep)),
        exact("reversed", sum(case.reversed for case in deep), 0, 0, n=len(deep)),
        exact("within", sum(not (case.met or case.reversed) for case in small), len(small), 0, n=len(small)),
        *recorded.comparisons,
        verdict=recorded.verdict,
        as_stated=len(deep) - len(against),
        n=len(deep),
        against=", ".join(f"{case.label}, by {abs(case.estimate.value):.2f}" for case in against) or "no text",
        n_small=len(small),
        scatter=SCATTER,
        spread=random_gap_sd(12),
        spread_small=random_gap_sd(4),
        **recorded.numbers,
    )


@check(evidence)
def directionality_differs_less_elsewhere(e: Evidence) -> Judgement:
    """Figure S4: models on other texts than Wikipedia differ less in directionality, which one seed does not decide."""
    gap = {case.label: case.estimate.value for case in released_gaps(e.released) if case.fields["layers"] == 12}
    spread = math.sqrt(2) * random_gap_sd(12)  # of one such difference less another
    beyond = [
        _scattered(text, "elsewhere", abs(gap[text]) - abs(gap["wikipedia"]), spread, -1)
        for text in gap
        if text != "wikipedia"
    ]
    return Judgement(
        *(c for case in beyond for c in case.comparisons),
        exact("told apart", sum(case.met or case.reversed for case in beyond), 0, 0, n=len(beyond)),
        gaps=", ".join(f"{text} {as_score(value)}" for text, value in gap.items()),
        added=", ".join(f"{case.label} {as_score(case.estimate.value)}" for case in beyond),
        scatter=SCATTER,
        spread=spread,
    )


def _scattered(text: str, quantity: str, value: float, spread: float, sign: int = 1, **fields: Any) -> Case:
    """A difference of one seed, with the scatter of random models where an interval over seeds would be."""
    within = Estimate(value, value - SCATTER * spread, value + SCATTER * spread)
    return Case(text, quantity, within, sign, fields=fields)


def _recorded(e: Evidence, score: str) -> list[Case]:
    return [at_the_end(pair, score) for pair in encoders_beside_decoders(e.runs)]
