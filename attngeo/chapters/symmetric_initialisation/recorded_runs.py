"""Section 4.2 and Figure S5 on recorded runs: what symmetry does to the loss when nothing else changes, and to itself.

The verdicts follow from the runs in ``data/runs``: fewer than three seeds of an arm, or models smaller than the paper's
smallest, decide nothing.
"""

from collections.abc import Iterable, Sequence

import pandas as pd

from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AGAINST_RANDOM,
    AT_EQUAL_SCALE,
    BASELINE,
    PAIRS,
    RELEASED,
    ControlMatrix,
    StartPair,
    experiments,
    main_experiments,
)
from attngeo.paper.checks import Judgement, check
from attngeo.paper.seed_intervals import Case, Training, judged
from attngeo.paper.wording import wording
from attngeo.records.checkout import data
from attngeo.runs.arms import LOSS, Contrast
from attngeo.runs.estimates import outcome, over_seeds
from attngeo.runs.experiments import recorded_runs
from attngeo.runs.numbers_in_words import as_nats, with_interval
from attngeo.runs.record import Run
from attngeo.training.config import DEFAULTS

DEFAULT = tuple(p for p in AGAINST_RANDOM if p.start == "default-linear")
TIES_AT_RELEASED_SCALE = tuple(p for p in PAIRS if p.against in ("default-linear", "scaled"))  # the tie
PARTS_OF_THE_GAIN = tuple(p for p in PAIRS if p.start in ("scaled", "scaled-values"))
TIED = ("symmetric", "released")  # the starts of Figure S5
PAIRS_OF_S5 = tuple(p for start in TIED for p in AGAINST_RANDOM if p.start == start)


def recorded() -> list[Run]:
    """The recorded runs that optimise nothing but their predictions."""
    return recorded_runs(data("runs"), keep=lambda config: config["constraint"] == "none")


def encoders(runs: Sequence[Run] | None = None) -> list[ControlMatrix]:
    """The main experiment with encoders on each text, of the runs in ``data/runs`` unless given."""
    return [e for e in main_experiments(experiments(recorded() if runs is None else runs)) if e.part == "encoder"]


@check(encoders)
def symmetry_at_equal_scale(found: list[ControlMatrix]) -> Judgement:
    """Symmetric starts of the random start's scale end lower than it."""
    cases = _losses(found, AT_EQUAL_SCALE)
    return _judged(found, cases)


@check(encoders)
def released_start_on_recorded_runs(found: list[ControlMatrix]) -> Judgement:
    """The start of the released code ends lower than the random one."""
    cases = _losses(found, [RELEASED])
    return _judged(found, cases)


@check(encoders)
def symmetrys_part_of_the_gain(found: list[ControlMatrix]) -> Judgement:
    """What the released start gains over the random one, it gains by the tie: ``released`` less ``default-linear``.

    Whether the tie gains more than scale, biases and values do (`gains`) is told; the paper does not say that it does.
    """
    cases = _losses(found, TIES_AT_RELEASED_SCALE[:1])
    return _judged(
        found, cases, [*gains(found), *_losses(found, (*DEFAULT, *TIES_AT_RELEASED_SCALE[1:], *PARTS_OF_THE_GAIN))]
    )


def gains(found: Iterable[ControlMatrix]) -> list[Case]:
    """`gain_of_the_tie` in every experiment that has the three starts; more than zero: most of the gain is the tie's.

    D, R and r are the final losses of ``default-linear``, ``released`` and ``random`` at one seed: the first step,
    ``r - D``, changes scale, biases and values, the second ties the keys to the queries.
    """
    ends = {e: _final_losses(e, "default-linear", "released", BASELINE) for e in found}
    return [
        Case(
            e.label, "gain", over_seeds(gain_of_the_tie(t)), seeds=len(t), form=as_nats, training=Training.of(e.config)
        )
        for e, t in ends.items()
        if len(t)
    ]


def gain_of_the_tie(ends: pd.DataFrame) -> pd.Series:
    """``(D - R) - (r - D)`` by seed, from final losses by start."""
    return (ends["default-linear"] - ends["released"]) - (ends[BASELINE] - ends["default-linear"])


@check(encoders)
def figure_s5_on_recorded_runs(found: list[ControlMatrix]) -> Judgement:
    """Figure S5 (b, c): a symmetric start loses symmetry, ends with more than the random one, and layers differ less.

    That it loses some is told, and decides nothing: it starts at the most there is.
    """
    compared = [(pair, contrast) for e in found for pair, contrast in e.contrasts(PAIRS_OF_S5).items()]
    cases = [case for pair, contrast in compared for case in _symmetry_cases(pair, contrast)]
    lost = [_lost(pair, contrast) for pair, contrast in compared]
    return _judged(found, cases, lost)


def _judged(found: Iterable[ControlMatrix], cases: Sequence[Case], beside: Sequence[Case] = ()) -> Judgement:
    """By ``cases``, the smallest models of Section 4.2 having 4 layers; what stands ``beside`` is told."""
    share = max((e.config["steps"] for e in found), default=0) / DEFAULTS["steps"]
    return judged(cases, spoken_of=Training.of_paper(4), told=_told([*cases, *beside]), share=100 * share)


def _losses(found: Iterable[ControlMatrix], pairs: Sequence[StartPair]) -> list[Case]:
    """Final held-out losses, start less start; the paper expects less than zero."""
    return [
        Case(e.label, "loss", c.difference(), -1, len(c), as_nats, {"pair": pair.name}, Training.of(e.config))
        for e in found
        for pair, c in e.contrasts(pairs).items()
    ]


def _symmetry_cases(pair: StartPair, contrast: Contrast) -> list[Case]:
    """Symmetry at the end, and the gap between layers, against the random start."""
    about = {"fields": {"pair": pair.name}, "training": Training.of(contrast.first.config)}
    return [
        Case(contrast.label, "kept", contrast.difference("symmetry"), **about),
        Case(contrast.label, "gap", contrast.difference(gap_between_layers), -1, **about),
    ]


def _lost(pair: StartPair, contrast: Contrast) -> Case:
    lost = contrast.first.estimate(lambda run: run.first("symmetry") - run.last("symmetry"))
    return Case(contrast.label, "lost", lost, fields={"start": pair.start})


def gap_between_layers(run: Run) -> float:
    """How far the layers' symmetries lie apart at the last step."""
    last = run.by_layer("symmetry").iloc[-1]
    return float(last.max() - last.min())


def _final_losses(experiment: ControlMatrix, *starts: str) -> pd.DataFrame:
    """Last held-out losses of some starts on the seeds that all of them have; empty if one was not run."""
    if not set(starts) <= set(experiment.arms):
        return pd.DataFrame()
    return pd.DataFrame({start: experiment.arms[start].values(LOSS) for start in starts}).dropna()


def _told(cases: Iterable[Case]) -> str:
    """Every case with an interval, and what it says."""
    words = wording(__package__)["figure_s5_on_recorded_runs"]  # what is measured is shared by all checks here
    return "; ".join(
        f"{words.filled(f'<<what_{case.quantity}>>', case.fields)} ({case.label}):"
        f" {with_interval(case.estimate, case.form)},"
        f" {outcome(case.estimate) if case.quantity == 'loss' else case.outcome}"
        for case in cases
        if case.known
    )
