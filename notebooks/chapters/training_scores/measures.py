"""Our recorded runs: the arms and pairs that are compared, and what is measured in them."""

from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd

from attngeo.experiments.runs.arms import PARTS, Arm, Contrast, Measure, arms, contrasts
from attngeo.experiments.runs.estimates import Estimate, over_seeds
from attngeo.experiments.runs.experiments import recorded_runs
from attngeo.experiments.runs.record import Run
from attngeo.files.checkout import data
from chapters.training_scores.planned import DECODER, ENCODER, planned_pairs
from chapters.training_scores.released import LETTERS
from livingpaper.claims.results import Comparison
from livingpaper.claims.seed_intervals import Case, Training, joined, too_small

SETTLED = 0.05  # of symmetry


def recorded(on_wikipedia: bool | None = None) -> list[Run]:
    """Runs of ``data/runs`` that start at random, with nothing but the prediction in their loss, as in Figure 3.

    ``on_wikipedia`` tells whether their text is that of Figure 3, or another as in Figures S3 and S4; by default all.
    """
    runs = recorded_runs(data("runs"), lambda config: (config["init"], config["constraint"]) == ("random", "none"))
    return [run for run in runs if on_wikipedia in (None, run.about["corpus"]["name"] == "wikipedia")]


def pairs_of(runs: Sequence[Run]) -> list[Contrast]:
    """Encoders beside decoders of the same model and text, each arm in one pair; their numbers of steps may differ."""
    return contrasts(runs, "objective", ENCODER, DECODER, free=("steps",), once=True)


def arms_of(runs: Sequence[Run], objective: str) -> list[Arm]:
    """Runs of an objective that differ in their seed only, those with most seeds first."""
    return arms(run for run in runs if run.config["objective"] == objective)


def case(unit: Arm | Contrast, words: str, estimate: Estimate, sign: int = 1) -> Case:
    """An estimate over the seeds of an arm or a pair, with the sign that the paper gives it."""
    config = (unit.first if isinstance(unit, Contrast) else unit).config
    quantity = f"our models, {unit.label}: {words} ({len(unit)} seeds)"
    return Case(unit.label, quantity, estimate, sign, training=Training.of(config))


def in_arms(runs: Sequence[Run], objective: str, measure: Measure, words: str, sign: int = 1) -> list[Case]:
    """A measure in every arm of an objective."""
    return [case(arm, words, arm.estimate(measure), sign) for arm in arms_of(runs, objective)]


def encoder_minus_decoder(measure: Measure, words: str) -> list[Case]:
    """Difference in a final measure in all our pairs, the planned ones last; the paper's sign is plus in s and in d."""
    planned = [pair for _, _, pair in planned_pairs()]
    return [case(pair, words, pair.difference(measure)) for pair in (*pairs_of(recorded()), *planned)]


def at_equal_steps(pair: Contrast, score: str) -> Case:
    """Encoder minus decoder where the arm of fewer steps ends: after as many steps, though not of the same schedule."""
    step = min(arm.runs[0].curve(score).index[-1] for arm in (pair.first, pair.second))
    return case(pair, score, pair.difference(lambda run: run.curve(score).loc[:step].iloc[-1]))


def change(run: Run) -> float:
    """Median d over the layers at the end minus at the start (Definition 3.2): below 0 where columns gain."""
    return run.last("directionality") - run.first("directionality")


def least_layer(run: Run) -> float:
    """Lowest symmetry score of any layer at the last step."""
    return float(run.by_layer("symmetry").iloc[-1].min())


def middle_s(run: Run) -> float:
    """Mean symmetry of the middle half of the layers at the last step: layers 2 and 3 of 4, 4 to 9 of 12."""
    s = run.by_layer("symmetry").iloc[-1]
    return float(s.iloc[len(s) // 4 : len(s) - len(s) // 4].mean())


def settles_late_less_early(run: Run) -> float:
    """Share of training until a layer's symmetry stays within `SETTLED` of its end: late half minus early half."""
    s = run.by_layer("symmetry")
    away = (s - s.iloc[-1]).abs() > SETTLED
    last_away = away.mul(s.index.to_numpy(), axis=0).max()  # the last step at which each layer is still away
    return late_less_early(last_away) / s.index[-1]


def late_less_early(by_layer: pd.Series) -> float:
    """Mean of the second half of the layers minus that of the first half."""
    half = len(by_layer) // 2
    return float(by_layer.iloc[-half:].mean() - by_layer.iloc[:half].mean()) if half else 0.0


def cases_of_layers(runs: Sequence[Run]) -> dict[str, dict[str, list[Case]]]:
    """What Section 4.1 states about early, middle and late layers, measured: by statement and words, a case per arm."""

    def late_less_early_of(score: str) -> Measure:
        return lambda run: late_less_early(run.by_layer(score).iloc[-1])

    late_s, late_d = (f"${letter}$ of late layers minus ${letter}$ of early layers" for letter in LETTERS)
    settling = (
        f"share of the steps until $s$ stays within {SETTLED:g} of its final value, late layers minus early layers"
    )
    measures: dict[str, list[tuple[str, Measure, str, int]]] = {
        "encoders": [
            (ENCODER, late_less_early_of("symmetry"), late_s, 1),
            (ENCODER, settles_late_less_early, settling, -1),
        ],
        "middle": [(DECODER, middle_s, "$s$ of the middle layers", -1)],
        "directionality": [
            (ENCODER, late_less_early_of("directionality"), late_d, -1),
            (DECODER, late_less_early_of("directionality"), late_d, -1),
        ],
    }
    found: dict[str, dict[str, list[Case]]] = {}
    for statement, rows in measures.items():
        found[statement] = {}
        for objective, measure, quantity, sign in rows:
            words = f"{PARTS[objective]}s, {quantity}"
            found[statement][words] = in_arms(runs, objective, measure, words, sign)
    of_run = late_less_early_of("directionality")
    gap = "this difference in decoders minus this difference in encoders"
    gaps = [case(pair, gap, pair.difference(lambda run: -of_run(run)), -1) for pair in pairs_of(runs)]
    found["directionality"][gap] = gaps
    return found


class Climb(NamedTuple):
    """How median symmetry moves in an arm."""

    arm: Arm
    mean: pd.Series  # over seeds, by step
    growth: Estimate  # the end minus the start
    fall: Estimate  # `fall_from_peak`


def climb_of(arm: Arm) -> Climb:
    """Of one arm of encoders."""
    curves = arm.curves("symmetry")
    growth = over_seeds(curves.iloc[-1] - curves.iloc[0])
    return Climb(arm, curves.mean(axis=1), growth, over_seeds(fall_from_peak(curves)))


def climbs(runs: Sequence[Run]) -> list[Climb]:
    """Of every arm of encoders, those with most seeds first."""
    return [climb_of(arm) for arm in arms_of(runs, ENCODER)]


def fall_from_peak(curves: pd.DataFrame) -> list[float]:
    """Of every seed (column): its value where the mean of the *other* seeds peaks, minus its value at the end.

    A peak chosen on the curve that it is then measured on lies above the end by chance alone.
    """
    values = curves.to_numpy()
    others = values.sum(axis=1, keepdims=True) - values if values.shape[1] > 1 else values  # sum over the other seeds
    peaks = others.argmax(axis=0)
    return (values[peaks, range(values.shape[1])] - values[-1]).tolist()


def beside(cases: Sequence[Case]) -> tuple[Comparison, ...]:
    """What our runs show: they are smaller than the models of Section 4.1, so they are shown and decide nothing."""
    too_small(cases, spoken_of())  # asserted
    return joined(cases, spoken_of())


def spoken_of() -> Training:
    """The smallest models that Section 4.1 considers.

    It opens with those of 12 layers, and Figures 3, S3 and S4 show no others.
    """
    return Training.of_paper(12)


def doubt(cases: Sequence[Case]) -> str:
    """Says that our models are too small to affect the verdict; nothing if none of them has an interval."""
    known = [case for case in cases if case.known]
    return too_small(known, spoken_of()) if known else ""
