"""Measures of runs for which arms have no name, on a run of two layers with two heads each."""

import math

import pandas as pd
import pytest

from attngeo.experiments.runs.measures import lowest_of_layers, median_of_heads, of_layer, score_at_loss
from attngeo.experiments.runs.record import Run
from attngeo.experiments.tables import with_former_runs

SCORES = [  # step, layer, head, s
    *((0, 0, -1, 0.0), (0, 0, 0, 0.1), (0, 0, 1, 0.2), (0, 1, -1, 0.0), (0, 1, 0, 0.3), (0, 1, 1, 0.8)),
    *((50, 0, -1, 0.4), (50, 0, 0, 0.0), (50, 0, 1, 0.2), (50, 1, -1, 0.8), (50, 1, 0, 0.4), (50, 1, 1, 0.9)),
]
HISTORY = pd.DataFrame({"step": [0, 25, 50], "held_out_loss": [3.0, 2.0, 1.5]})
RUN = Run(
    "made", {"config": {"seed": 0}}, HISTORY, pd.DataFrame(SCORES, columns=["step", "layer", "head", "symmetry"]), {}
)


def test_measures_are_taken_after_the_last_step_or_at_the_last_record_before_one():
    assert median_of_heads("symmetry")(RUN) == pytest.approx(0.3)
    assert median_of_heads("symmetry", 49)(RUN) == pytest.approx(0.25)
    assert lowest_of_layers("symmetry")(RUN) == 0.4 and of_layer("symmetry", 1)(RUN) == 0.8


@pytest.mark.parametrize(("loss", "s"), [(3.0, 0.0), (2.0, 0.6), (1.5, 0.6), (1.4, math.nan)])
def test_a_score_at_a_loss_is_that_of_the_first_step_with_scores_that_reached_it(loss, s):
    assert score_at_loss(RUN, loss) == pytest.approx(s, nan_ok=True)


def test_rows_of_runs_that_are_not_measured_again_are_kept(tmp_path):
    file, table = tmp_path / "table.csv", pd.DataFrame({"run": ["b"], "s": [0.5]})
    assert with_former_runs(file, table) is table
    pd.DataFrame({"run": ["a", "b"], "s": [0.1, 0.2]}).to_csv(file, index=False)
    assert with_former_runs(file, table).to_numpy().tolist() == [["a", 0.1], ["b", 0.5]]
