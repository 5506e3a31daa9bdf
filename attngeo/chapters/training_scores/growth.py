"""Section 4.1, Figures 3 (a) and S3 (a): the symmetry of encoders before the first step, and over training."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from attngeo.chapters.training_scores.evidence import ENCODER, Evidence, arms_of, evidence, spoken_of
from attngeo.forms.random_matrices import symmetry_mean, symmetry_sd
from attngeo.paper.checks import Comparison, Judgement, check, compare, exact
from attngeo.paper.seed_intervals import Case, Training, in_words, judged
from attngeo.runs.arms import Arm
from attngeo.runs.estimates import Estimate, over_seeds
from attngeo.runs.record import Run


class Climb(NamedTuple):
    """How median symmetry moves in an arm."""

    arm: Arm
    mean: pd.Series  # over seeds, by step
    growth: Estimate  # the end less the start
    fall: Estimate  # `fall_from_peak`

    @property
    def peak_step(self) -> int:
        """Where the mean over seeds is largest."""
        return int(self.mean.idxmax())


def climbs(runs: Sequence[Run], objective: str = ENCODER) -> list[Climb]:
    """Of every arm of an objective, those with most seeds first."""
    found = []
    for arm in arms_of(runs, objective):
        curves = arm.curves("symmetry")
        growth = over_seeds(curves.iloc[-1] - curves.iloc[0])
        found.append(Climb(arm, curves.mean(axis=1), growth, over_seeds(fall_from_peak(curves))))
    return found


def fall_from_peak(curves: pd.DataFrame) -> list[float]:
    """Of every seed (column): its value where the mean of the *other* seeds peaks, less its value at the end.

    A peak chosen on the curve that it is then measured on lies above the end by chance alone.
    """
    falls = []
    for seed in curves:
        others = curves.drop(columns=seed) if curves.shape[1] > 1 else curves
        falls.append(float(curves.at[others.mean(axis=1).idxmax(), seed] - curves[seed].iloc[-1]))
    return falls


@check(evidence, wikipedia=True)
def growth_on_wikipedia(e: Evidence) -> Judgement:
    """Figure 3 (a): the symmetry of encoders grows in training on Wikipedia; whether it falls again is told."""
    return _growth(e)


@check(evidence, wikipedia=False)
def growth_on_other_texts(e: Evidence) -> Judgement:
    """Figure S3 (a): the same on other texts."""
    return _growth(e)


@check(evidence)
def recorded_starts(e: Evidence) -> Judgement:
    """Section 4.1: before the first step the layers of the recorded models have scores of random matrices, not zero."""
    # runs of one seed and size start alike, and count once
    width = {s: run.config["d_model"] for run in e.runs for s in run.by_layer("symmetry").iloc[0]}
    s, n = np.array(list(width)), len(width)
    mean, sd = (np.array([f(d) for d in width.values()]) for f in (symmetry_mean, symmetry_sd))
    z = (s - mean) / sd
    if n < 2:
        return Judgement()
    return Judgement(
        Comparison("mean", z.mean(), "=", 0.0, 4 / n**0.5, n**-0.5),
        Comparison("spread", z.std(ddof=1), "=", 1.0, 4 / (2 * n) ** 0.5, (2 * n) ** -0.5),
        exact("zero", (s == 0).sum(), 0, 0),
        n=n,
    )


def _growth(e: Evidence) -> Judgement:
    """Falls from a peak beyond the noise count as cases against it."""
    grown, fallen = [], []
    for c in climbs(e.runs):
        about = {"seeds": len(c.arm), "training": Training.of(c.arm.config)}
        grown.append(Case(c.arm.label, "grown", c.growth, **about))
        fallen.append(Case(c.arm.label, "fallen", c.fall, -1, fields={"peak_step": c.peak_step}, **about))
    fallen = [case for case in fallen if case.reversed]
    told = {"told": in_words(grown), "fallen": in_words(fallen) if fallen else "none"}
    return judged([*grown, *fallen], *_released_growth(e.released), spoken_of=spoken_of(), **told)


def _released_growth(curves: pd.DataFrame) -> list[Comparison]:
    compared = []
    for (layers, dataset), rows in curves[curves["part"] == "encoder"].groupby(["layers", "dataset"]):
        s = rows.set_index("step")["s"]
        told = {"layers": layers, "text": dataset.replace("_", " "), "first": s.index[0], "last": s.index[-1]}
        compared.append(compare("released", s.iloc[-1] - s.iloc[0], ">", **told))
    return compared
