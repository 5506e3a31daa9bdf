"""Figures 3 (c, d) and S4: how the scores at the end of training differ between early, middle and late layers.

The released files have the scores of every layer; this project's copy keeps no order of the layers, so that these
checks rest on recorded runs alone.
"""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.training_scores.evidence import (
    DECODER,
    ENCODER,
    Evidence,
    arms_of,
    encoders_beside_decoders,
    evidence,
    spoken_of,
)
from attngeo.paper.checks import Judgement, check
from attngeo.paper.seed_intervals import Case, Training, in_words, judged
from attngeo.runs.arms import Measure
from attngeo.runs.record import Run

SETTLED = 0.05  # of symmetry


def late_less_early(score: str) -> Measure:
    """Mean score of the second half of the layers less that of the first half, at the last step."""
    return lambda run: _late_less_early(run.by_layer(score).iloc[-1])


def middle(score: str) -> Measure:
    """Mean score of the middle half of the layers at the last step: layers 2 and 3 of 4, 4 to 9 of 12."""

    def measure(run: Run) -> float:
        values = run.by_layer(score).iloc[-1]
        quarter = len(values) // 4
        return float(values.iloc[quarter : len(values) - quarter].mean())

    return measure


def settles_late_less_early(run: Run) -> float:
    """Share of training until a layer's symmetry stays within `SETTLED` of its end: late half less early half."""
    s = run.by_layer("symmetry")
    away = (s - s.iloc[-1]).abs() > SETTLED
    last_away = away.mul(s.index.to_numpy(), axis=0).max()  # the last step at which each layer is still away
    return _late_less_early(last_away) / s.index[-1]


def _late_less_early(by_layer: pd.Series) -> float:
    half = len(by_layer) // 2
    return float(by_layer.iloc[-half:].mean() - by_layer.iloc[:half].mean()) if half else 0.0


def arm_cases(runs: Sequence[Run], objective: str, measure: Measure, quantity: str, sign: int) -> list[Case]:
    """A measure over the seeds of every arm of an objective, with the sign that the paper gives it."""
    return [
        Case(a.label, quantity, a.estimate(measure), sign, len(a), training=Training.of(a.config))
        for a in arms_of(runs, objective)
    ]


def encoder_cases(runs: Sequence[Run]) -> list[Case]:
    """Late less early layers of encoders in symmetry, and in the time until it has settled."""
    return [
        *arm_cases(runs, ENCODER, late_less_early("symmetry"), "late_s", 1),
        *arm_cases(runs, ENCODER, settles_late_less_early, "settled", -1),
    ]


def decoder_cases(runs: Sequence[Run]) -> list[Case]:
    """Middle layers of decoders in symmetry."""
    return arm_cases(runs, DECODER, middle("symmetry"), "middle_s", -1)


def directionality_cases(runs: Sequence[Run]) -> list[Case]:
    """Late less early layers in directionality: encoders, decoders, and the latter less the former."""
    measure = late_less_early("directionality")
    pairs = encoders_beside_decoders(runs)
    return [
        *arm_cases(runs, ENCODER, measure, "late_d_encoders", -1),
        *arm_cases(runs, DECODER, measure, "late_d_decoders", -1),
        *(
            Case(
                p.label,
                "late_d_gap",
                p.difference(lambda r: -measure(r)),
                -1,
                len(p),
                training=Training.of(p.first.config),
            )
            for p in pairs
        ),
    ]


@check(evidence, wikipedia=True)
def encoder_layers_on_wikipedia(e: Evidence) -> Judgement:
    """Figure 3 (c), left: late layers of encoders end more symmetric than early ones."""
    return _by_quantity(encoder_cases(e.runs), "late_s", "settled", within=SETTLED)


@check(evidence, wikipedia=False)
def encoder_layers_elsewhere(e: Evidence) -> Judgement:
    """Figure S4 (a, c), left: late layers of encoders end more symmetric than early ones, on other texts."""
    return _by_quantity(encoder_cases(e.runs), "late_s", "settled", within=SETTLED)


@check(evidence, wikipedia=True)
def middle_layers_on_wikipedia(e: Evidence) -> Judgement:
    """Figure 3 (c), right: the middle layers of decoders end skew."""
    return _middle(e)


@check(evidence, wikipedia=False)
def middle_layers_elsewhere(e: Evidence) -> Judgement:
    """Figure S4 (a, c), right: the middle layers of decoders end skew, on other texts."""
    return _middle(e)


@check(evidence, wikipedia=True)
def directionality_of_layers_on_wikipedia(e: Evidence) -> Judgement:
    """Figure 3 (d): late layers end more column-dominated than early ones, in decoders more strongly so."""
    return _by_quantity(directionality_cases(e.runs), "late_d_encoders", "late_d_decoders", "late_d_gap")


@check(evidence, wikipedia=False)
def directionality_of_layers_elsewhere(e: Evidence) -> Judgement:
    """Figure S4 (b, d): late layers end more column-dominated than early ones, on other texts."""
    return _by_quantity(directionality_cases(e.runs), "late_d_encoders", "late_d_decoders", "late_d_gap")


def _middle(e: Evidence) -> Judgement:
    cases = decoder_cases(e.runs)
    return judged(cases, spoken_of=spoken_of(), told=in_words(cases))


def _by_quantity(cases: Sequence[Case], *quantities: str, **numbers: float) -> Judgement:
    """Judged together, told quantity by quantity."""
    told = {name: in_words([case for case in cases if case.quantity == name]) for name in quantities}
    return judged(cases, spoken_of=spoken_of(), **told, **numbers)
