"""Arms are compared at the step at which one has first reached the last held-out loss of the other."""

import pandas as pd
import pytest
from chapters.why import Planned

from attngeo.experiments.runs.record import Run


def made_run(losses: list[float], symmetries: list[float]) -> Run:
    """A run of one layer with a held-out loss and a score for each of the steps 0, 50, 100."""
    steps = [0, 50, 100]
    history = pd.DataFrame({"step": steps, "held_out_loss": losses})
    scores = pd.DataFrame({"step": steps, "layer": 0, "head": -1, "symmetry": symmetries})
    return Run("made", {"config": {"steps": 100}}, history, scores, {})


def test_the_other_arm_is_taken_where_it_has_first_reached_the_loss():
    slow = {1: made_run([3.0, 2.8, 2.5], [0.0, 0.1, 0.5]), 2: made_run([3.0, 2.8, 2.5], [0.0, 0.1, 0.7])}
    fast = {1: made_run([3.0, 2.4, 1.9], [0.0, 0.2, 0.9]), 2: made_run([3.0, 2.6, 1.9], [0.0, 0.2, 0.6])}
    experiment = Planned("made", {"slow": slow, "fast": fast})
    estimate = experiment.difference_at_equal_loss("slow", "fast", "symmetry")
    assert estimate.value == pytest.approx(((0.5 - 0.2) + (0.7 - 0.6)) / 2)
