"""Section 4.2 and Figure S5 on recorded runs: what symmetry does to the loss when nothing else changes, and to itself.

The verdicts follow from the runs in ``data/runs``: with fewer than three seeds of an arm nothing is decided.
"""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.symmetric_initialisation.cases import Case, judged
from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AGAINST_RANDOM,
    AT_EQUAL_SCALE,
    BASELINE,
    PAIRS,
    Experiment,
    StartPair,
    experiments,
    main_experiments,
)
from attngeo.paper.checks import Result, claim
from attngeo.records.checkout import data
from attngeo.runs.arms import LOSS, Contrast
from attngeo.runs.estimates import over_seeds, verdict
from attngeo.runs.numbers_in_words import as_nats, with_interval
from attngeo.runs.record import Run, read_runs

CHAPTER = "symmetric_initialisation"
RELEASED, DEFAULT = (
    tuple(p for p in PAIRS if (p.start, p.against) == (start, BASELINE)) for start in ("released", "default-linear")
)
TIES_AT_RELEASED_SCALE = tuple(p for p in PAIRS if p.against in ("default-linear", "scaled"))  # the tie
PARTS_OF_THE_GAIN = tuple(p for p in PAIRS if p.start in ("scaled", "scaled-values"))
TIED = ("symmetric", "released")  # the starts of Figure S5
PAIRS_OF_S5 = tuple(p for start in TIED for p in AGAINST_RANDOM if p.start == start)
PRINTED = "Enforcing symmetry at initialization lowers the final loss of most models, and reaches it sooner."
SMALL = (
    "These are small models and short runs; held-out loss. Intervals are of 95 % over seeds, and a little too narrow: "
    "settings and seeds were not all fixed in advance, as the chapter tells."
)


def recorded() -> list[Run]:
    """The recorded runs that optimise nothing but their predictions."""
    return read_runs(data("runs"), keep=lambda config: config["constraint"] == "none")


@claim
def symmetry_at_equal_scale(runs: Sequence[Run] | None = None) -> Result:
    """Symmetric starts of the random start's scale end lower than it, in the main setting of encoders on each text.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    cases = _losses(_encoders(runs), AT_EQUAL_SCALE)
    return _judged(cases, "(recorded runs, equal scale)", "symmetry alone helps encoders to learn")


@claim
def released_start_on_recorded_runs(runs: Sequence[Run] | None = None) -> Result:
    """The start of the released code ends lower than the random one, in the main setting of encoders on each text.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    cases = _losses(_encoders(runs), RELEASED)
    return _judged(cases, "(recorded runs, as released)", "the released start helps encoders to learn")


@claim
def symmetrys_part_of_the_gain(runs: Sequence[Run] | None = None) -> Result:
    """Of what the released start gains over the random one, most is gained by the tie: ``(D - R) - (r - D) > 0``.

    D, R and r are the final losses of ``default-linear``, ``released`` and ``random`` at one seed: the first step,
    ``r - D``, changes scale, biases and values, the second ties the keys to the queries.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    encoders = _encoders(runs)
    cases = [
        Case(
            setting.label,
            "gain of the tie less gain of scale, biases and values",
            over_seeds(2 * ends["default-linear"] - ends["released"] - ends[BASELINE]),
            seeds=len(ends),
            form=as_nats,
        )
        for setting in encoders
        if len(ends := _final_losses(setting, "default-linear", "released", BASELINE))
    ]
    beside = _losses(encoders, (*DEFAULT, *TIES_AT_RELEASED_SCALE, *PARTS_OF_THE_GAIN))
    return _judged(cases, "(recorded runs, parts of the gain)", "the gain of the released start is symmetry's", beside)


@claim
def figure_s5_on_recorded_runs(runs: Sequence[Run] | None = None) -> Result:
    """Figure S5 (b, c): a symmetric start loses symmetry, ends with more than the random one, and layers differ less.

    That it loses some is told, and decides nothing: it starts at the most there is.

    Args:
        runs: recorded runs; those in ``data/runs`` by default.
    """
    cases, lost = [], []
    for setting in _encoders(runs):
        for pair, contrast in setting.contrasts(PAIRS_OF_S5).items():
            of_arm = _symmetry_cases(setting.label, pair.start, contrast)
            lost.append(of_arm[0])
            cases += of_arm[1:]
    shared = {
        "statement": "Figure S5",
        "part": "(b, c), recorded runs",
        "title": "symmetric starts lose symmetry, keep more than random ones, and layers differ less",
        "remark": SMALL,
        "chapter": CHAPTER,
    }
    printed = "Symmetric starts lose symmetry but end above random ones, and the gap between layers decreases."
    return judged(shared, cases, printed, told=_sentence([*cases, *lost]))


def _encoders(runs: Sequence[Run] | None) -> list[Experiment]:
    found = main_experiments(experiments(recorded() if runs is None else runs))
    return [experiment for experiment in found if experiment.part == "encoder"]


def _losses(found: Sequence[Experiment], pairs: Sequence[StartPair]) -> list[Case]:
    """Final held-out losses, arm less arm; the paper expects less than zero."""
    return [
        Case(e.label, f"loss of {pair.start} less {pair.against}", c.difference(), -1, len(c), as_nats)
        for e in found
        for pair, c in e.contrasts(pairs).items()
    ]


def _symmetry_cases(label: str, start: str, contrast: Contrast) -> list[Case]:
    """Loss of symmetry, symmetry at the end and gap between layers, the latter two against the random start."""
    lost = contrast.first.estimate(lambda run: run.first("symmetry") - run.last("symmetry"))
    return [
        Case(label, f"{start}: $s$ at the start less at the end", lost),
        Case(label, f"$s$ at the end of {start} less {BASELINE}", contrast.difference("symmetry")),
        Case(label, f"gap between layers of {start} less {BASELINE}", contrast.difference(_gap), -1),
    ]


def _gap(run: Run) -> float:
    """How far the layers' symmetries lie apart at the last step."""
    last = run.by_layer("symmetry").iloc[-1]
    return float(last.max() - last.min())


def _final_losses(experiment: Experiment, *starts: str) -> pd.DataFrame:
    """Last held-out losses of some starts on the seeds that all of them have; empty if one was not run."""
    if not set(starts) <= set(experiment.arms):
        return pd.DataFrame()
    return pd.DataFrame({start: experiment.arms[start].values(LOSS) for start in starts}).dropna()


def _judged(cases: Sequence[Case], part: str, title: str, beside: Sequence[Case] = ()) -> Result:
    """Judge Section 4.2 by recorded runs; ``beside`` are cases that are told but do not count."""
    shared = {"statement": "Section 4.2", "part": part, "title": title, "remark": SMALL, "chapter": CHAPTER}
    return judged(shared, cases, PRINTED, told=_sentence([*cases, *beside]))


def _sentence(cases: Sequence[Case]) -> str:
    """Every case with an interval, and what it says."""
    known = [
        f"{case.quantity} ({case.label}): {with_interval(case.estimate, case.form)}, {_outcome(case)}"
        for case in cases
        if case.known
    ]
    return f"{'; '.join(known)}." if known else ""


def _outcome(case: Case) -> str:
    return verdict(case.estimate) if case.quantity.startswith("loss") else case.outcome
