"""Errors planted in the planned experiments on why W_qk is symmetric: the claim, what is replaced, by what."""

import numpy as np
from chapters.why import Planned

from attngeo.experiments.runs.estimates import Estimate


def at_the_start(right, score):
    """The same measure, of the scores before the first step."""

    def of_start(run):
        first = run.scores[run.scores["step"] == 0].assign(step=run.config["steps"])
        return right(score)(type(run)(run.name, run.about, run.history, first, run.pictures))

    return of_start


def turned(self, arm, against, measure):
    """The second arm minus the first."""
    return difference(self, against, arm, measure)


def by_coins(part):
    """The record with the ranks of one part as coins would give them."""

    def of_record(right):
        layers = right()
        return layers.assign(coin_rank=layers["coin_rank"].where(layers["part"] != part, 0.5))

    return of_record


difference = Planned.difference
CLOSE = np.array([-1e-3, -1e-3, 0.0, 1e-3, 1e-3])
DIFFERENCE, MEAN = "chapters.why.Planned.difference", "chapters.why.Planned.mean"
VALUES = "chapters.why.findings.Agreement.values"
PLANTED = [
    ("heads_among_coins", "recorded_coherence", by_coins("decoder")),
    ("heads_among_coins", "recorded_coherence", by_coins("encoder")),
    ("waves_turn", DIFFERENCE, turned),
    ("waves_turn", "lowest_of_layers", at_the_start),
    ("slow_and_fast_tables", MEAN, lambda self, arm, measure: 1.9),
    ("slow_and_fast_tables", DIFFERENCE, lambda self, *of: Estimate(1.5, 1.0, 2.0)),
    ("slow_and_fast_tables", DIFFERENCE, lambda self, *of: Estimate(-1.5, -2.0, -1.0)),
    ("decoders_with_a_window", MEAN, lambda self, arm, measure: -1.0),
    ("decoders_with_a_window", DIFFERENCE, lambda self, *of: Estimate(1.5, 1.0, 2.0)),
    ("tokens_that_ask", DIFFERENCE, turned),
    ("two_sides", DIFFERENCE, turned),
    ("two_sides", MEAN, lambda self, arm, measure: 9.0),
    ("coefficients_of_pairs", VALUES, lambda self, arm, step: 0.9 + CLOSE),
]
