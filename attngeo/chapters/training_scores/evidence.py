"""What the checks of Section 4.1 rest on: the released scores over training, and the runs recorded here."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import pandas as pd

from attngeo.chapters.training_scores import published_scores
from attngeo.paper.checks import Comparison, Relation, compare
from attngeo.paper.seed_intervals import Training
from attngeo.records.checkout import data
from attngeo.runs import arms
from attngeo.runs.arms import Arm, Contrast
from attngeo.runs.experiments import recorded_runs
from attngeo.runs.record import Run

ENCODER, DECODER = "mlm", "clm"  # by objective
WIKIPEDIA = "wikipedia"


class Evidence(NamedTuple):
    """Of all texts, or of some."""

    released: pd.DataFrame  # as `attngeo.chapters.training_scores.published_scores.released_training` has it
    runs: list[Run]


def evidence(runs: Sequence[Run] | None = None, wikipedia: bool | None = None) -> Evidence:
    """Released curves, and runs (of ``data/runs`` unless given) that start at random.

    ``wikipedia`` tells whether the text is that of Figure 3, or another as in Figures S3 and S4; all texts by default.
    """
    released = published_scores.released_training()
    runs = recorded_runs(data("runs"), keep=from_random) if runs is None else [r for r in runs if from_random(r.config)]
    if wikipedia is not None:
        released = released[(released["dataset"] == WIKIPEDIA) == wikipedia]
        runs = [run for run in runs if (run.about["corpus"]["name"] == WIKIPEDIA) == wikipedia]
    return Evidence(released, runs)


def spoken_of() -> Training:
    """Models that Section 4.1 speaks of: it opens with those of 12 layers, and Figures 3, S3 and S4 show no others."""
    return Training.of_paper(12)


def from_random(config: dict[str, Any]) -> bool:
    """Whether a run starts at random, with nothing but the prediction in its loss: those of Figures 3, S3 and S4."""
    return config["init"] == "random" and config["constraint"] == "none"


def arms_of(runs: Sequence[Run], objective: str) -> list[Arm]:
    """Runs of an objective that differ in their seed only, those with most seeds first."""
    return arms.arms(run for run in runs if run.config["objective"] == objective)


def encoders_beside_decoders(runs: Sequence[Run]) -> list[Contrast]:
    """Encoders beside decoders of the same model and text, each arm in one pair; their numbers of steps may differ."""
    return arms.contrasts(runs, "objective", ENCODER, DECODER, free=("steps",), once=True)


def released_last(curves: pd.DataFrame) -> pd.DataFrame:
    """Released numbers at the last step, a model in a row, its text in words."""
    last = curves[curves["step"] == curves["step"].max()]
    return last.assign(text=last["dataset"].str.replace("_", " "))


def released_ends(curves: pd.DataFrame, score: str) -> pd.DataFrame:
    """Released medians at the last step: columns layers, text, encoder, decoder."""
    return released_last(curves).pivot(index=["layers", "text"], columns="part", values=score).reset_index()


def counted(key: str, holds: pd.Series, relation: Relation = "=") -> Comparison:
    """How many models something holds of, beside how many there are, ``<<n>>``."""
    return compare(key, holds.sum(), relation, len(holds), n=len(holds))
