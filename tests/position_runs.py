"""Runs of the first plan on positions with planted scores and losses."""

from dataclasses import replace
from functools import cache

import pandas as pd
from chapters import positions
from chapters.positions import Outcome
from made_runs import made_run

from attngeo.experiments.runs.arms import whole_arms
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.files.checkout import data

PLAN = read_experiment(data("runs", positions.FIRST))
HOLDS = {"mlm-learned": 0.5, "mlm-rotary": 0.05, "clm-learned": 0.04, "clm-rotary": 0.2}


@cache
def a_run(planned, s, loss):
    """Layers of s but one, which is far below; heads of s = 0.1 whatever the layer has."""
    layers = (s, s, s, s - (0.9 if planned.arm == "mlm-learned" else 0))
    run = made_run(layers, loss=loss, **planned.settings)
    run.scores.loc[run.scores["head"] == 0, "symmetry"] = 0.1
    return replace(run, name=f"{positions.FIRST}/{planned.name}", about=run.about | {"config": planned.settings})


def runs(levels, losses=None):
    return [a_run(p, levels[p.arm], (losses or {}).get(p.arm, 2.0)) for p in PLAN.runs if p.arm in levels]


def judged(levels, losses=None):
    """The planted runs, without their split."""
    return positions.Judged(PLAN, whole_arms(PLAN, runs(HOLDS | levels, losses)), pd.DataFrame())


LEVELS = {
    Outcome.HOLDS: {},
    Outcome.IN_PART: {"mlm-rotary": 0.305},  # the interval is not above 0.2
    Outcome.FALLS: {"mlm-rotary": 0.8},
}


def of_outcome(outcome):
    if outcome is Outcome.UNDECIDED:
        return judged({}, {"mlm-learned": 2.7})  # all on a plateau
    return judged(LEVELS[outcome])
