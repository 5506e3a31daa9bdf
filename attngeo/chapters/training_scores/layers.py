"""Figures 3 (c, d) and S4: how the scores at the end of training differ between early and late layers.

The released files have the scores of every layer; this project's copy keeps no order of the layers, so that these
checks rest on recorded runs alone.
"""

from collections.abc import Sequence

import numpy as np

from attngeo.chapters.training_scores.encoders_and_decoders import (
    CHAPTER,
    DECODER,
    ENCODER,
    WIKIPEDIA,
    encoders_and_decoders,
    from_random,
    recorded,
)
from attngeo.paper.checks import Result, claim
from attngeo.paper.seed_intervals import Case, in_words, judged
from attngeo.runs.arms import Measure, arms
from attngeo.runs.record import Run

SETTLED = 0.05  # of symmetry
INTERVALS = "Intervals of 95 % over seeds; the models are far smaller than the paper's."
OBJECTIVES = {ENCODER: "encoders", DECODER: "decoders"}


def late_less_early(score: str) -> Measure:
    """Mean score of the second half of the layers less that of the first half, at the last step."""

    def measure(run: Run) -> float:
        values = last_scores(run, score)
        half = len(values) // 2
        return float(values[-half:].mean() - values[:half].mean()) if half else 0.0

    return measure


def middle(score: str) -> Measure:
    """Mean score of the middle half of the layers at the last step: layers 2 and 3 of 4, 4 to 9 of 12."""

    def measure(run: Run) -> float:
        values = last_scores(run, score)
        quarter = len(values) // 4
        return float(values[quarter : len(values) - quarter].mean())

    return measure


def settles_late_less_early(run: Run) -> float:
    """Share of training until a layer's symmetry stays within `SETTLED` of its end: late half less early half."""
    s = run.by_layer("symmetry")
    away = (s - s.iloc[-1]).abs() > SETTLED
    last_away = away.mul(s.index.to_numpy(), axis=0).max()  # the last step at which each layer is still away
    half = len(last_away) // 2
    return float(last_away.iloc[-half:].mean() - last_away.iloc[:half].mean()) / s.index[-1] if half else 0.0


def layer_cases(runs: Sequence[Run], objective: str, measure: Measure, quantity: str, sign: int) -> list[Case]:
    """A number of the layers per run, over the seeds of every arm of an objective.

    Args:
        runs: recorded runs; those that start at random count.
        objective: of the arms.
        measure: number of a run.
        quantity: its name.
        sign: that the paper gives it.
    """
    found = arms([r for r in runs if from_random(r.config) and r.config["objective"] == objective])
    return [
        Case(arm.label, f"{OBJECTIVES[objective]}, {quantity}", arm.estimate(measure), sign, len(arm)) for arm in found
    ]


@claim
def encoder_layers_on_wikipedia(runs: Sequence[Run] | None = None) -> Result:
    """Figure 3 (c), left: late layers of encoders end more symmetric than early ones."""
    return _encoders("Figure 3", "(c), encoders", on_wikipedia(runs))


@claim
def directionality_of_layers_on_wikipedia(runs: Sequence[Run] | None = None) -> Result:
    """Figure 3 (d): late layers end more column-dominated than early ones, in decoders more strongly so."""
    return _directionality("Figure 3", "(d)", on_wikipedia(runs))


@claim
def encoder_layers_elsewhere(runs: Sequence[Run] | None = None) -> Result:
    """Figure S4 (a, c), left: late layers of encoders end more symmetric than early ones, on other texts."""
    return _encoders("Figure S4", "(a), (c), encoders", elsewhere(runs))


@claim
def directionality_of_layers_elsewhere(runs: Sequence[Run] | None = None) -> Result:
    """Figure S4 (b, d): late layers end more column-dominated than early ones, on other texts."""
    return _directionality("Figure S4", "(b), (d)", elsewhere(runs))


def encoder_cases(runs: Sequence[Run]) -> list[Case]:
    """Late less early layers of encoders in symmetry, and in the time until it has settled."""
    words = f"share of training until $s$ is within {SETTLED:g} of its end, late less early layers"
    return [
        *layer_cases(runs, ENCODER, late_less_early("symmetry"), "$s$ of late less early layers", 1),
        *layer_cases(runs, ENCODER, settles_late_less_early, words, -1),
    ]


def decoder_cases(runs: Sequence[Run]) -> list[Case]:
    """Middle layers of decoders in symmetry."""
    return layer_cases(runs, DECODER, middle("symmetry"), "$s$ of the middle layers", -1)


def directionality_cases(runs: Sequence[Run]) -> list[Case]:
    """Late less early layers in directionality: encoders, decoders, and the latter less the former."""
    measure, quantity = late_less_early("directionality"), "$d$ of late less early layers"
    cases = [case for objective in OBJECTIVES for case in layer_cases(runs, objective, measure, quantity, -1)]
    stronger = [
        Case(p.label, "that of decoders less that of encoders", p.difference(lambda run: -measure(run)), -1, len(p))
        for p in encoders_and_decoders(runs)
    ]
    return [*cases, *stronger]


def _encoders(statement: str, part: str, runs: Sequence[Run]) -> Result:
    printed = "Late layers of encoder-only models are more symmetric and converge faster than early layers."
    title = "late layers of encoders end more symmetric than early ones, and sooner"
    return _judged(statement, part, title, encoder_cases(runs), printed)


def _directionality(statement: str, part: str, runs: Sequence[Run]) -> Result:
    printed = "Encoders and decoders show a higher directionality in late layers, remarkably stronger in decoders."
    title = "late layers end more directional than early ones, those of decoders most"
    return _judged(statement, part, title, directionality_cases(runs), printed)


def _judged(statement: str, part: str, title: str, cases: Sequence[Case], printed: str) -> Result:
    quantities = dict.fromkeys(case.quantity for case in cases)
    told = " ".join(f"{_capital(q)}: {in_words([case for case in cases if case.quantity == q])}." for q in quantities)
    shared = {"statement": statement, "part": part, "title": title, "remark": INTERVALS, "chapter": CHAPTER}
    return judged(shared, cases, printed, told=told)


def on_wikipedia(runs: Sequence[Run] | None) -> list[Run]:
    """Of these runs, or of all recorded ones, those on the text of Figure 3."""
    return [r for r in (recorded() if runs is None else runs) if r.about["corpus"]["name"] == WIKIPEDIA]


def elsewhere(runs: Sequence[Run] | None) -> list[Run]:
    """Those on other texts, as in Figure S4."""
    return [r for r in (recorded() if runs is None else runs) if r.about["corpus"]["name"] != WIKIPEDIA]


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def last_scores(run: Run, score: str) -> np.ndarray:
    """Scores of the layers' summed forms at the last step, first layer first."""
    return run.by_layer(score).iloc[-1].to_numpy()
