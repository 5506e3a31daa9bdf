from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from chapters import positions
from chapters.positions import ARMS, Outcome, second_measures
from position_runs import PLAN, judged, of_outcome
from scipy import stats

from attngeo.plot.style import one_column


def test_each_outcome_of_the_plan_is_reached():
    for levels, outcome in (
        ({}, Outcome.HOLDS),
        ({"mlm-rotary": 0.305}, Outcome.IN_PART),  # the interval is not above 0.2
        ({"clm-learned": 0.5, "clm-rotary": 0.05}, Outcome.IN_PART),  # decoders lose as much
        ({"clm-learned": 0.9, "clm-rotary": 0.05}, Outcome.IN_PART),
        ({"mlm-rotary": 0.5}, Outcome.FALLS),
        ({"mlm-rotary": 0.8}, Outcome.FALLS),
    ):
        assert judged(levels).outcome is outcome
    assert all(of_outcome(outcome).outcome is outcome for outcome in Outcome)


def test_intervals_are_students_over_pairs_of_seeds():
    judgement = judged({})
    s = {arm: judgement.arms[arm].values("symmetry") for arm in ARMS}
    assert s["mlm-learned"].mean() == pytest.approx(0.5, abs=0.01)  # a mean over layers would be 0.275
    low, high = stats.ttest_rel(s["mlm-learned"], s["mlm-rotary"]).confidence_interval()
    assert (judgement.first.low, judgement.first.high) == pytest.approx((low, high))
    assert judgement.interaction.value == pytest.approx(0.5 - 0.04 - (0.05 - 0.2), abs=0.02)


def test_s_outside_position_space_is_beside_that_of_the_layer():
    judgement = judged({})
    split = [
        {"run": run.name.rpartition("/")[2], "dimension": 6, "share": 0.5, "inside": 0.9, "outside": 0.1}
        | {"layer": layer, "symmetry": s}
        for arm in ("mlm-learned", "clm-learned")
        for run in judgement.arms[arm].runs
        for layer, s in run.by_layer("symmetry").iloc[-1].items()
    ]
    with_split = replace(judgement, split=pd.DataFrame(split))
    assert with_split.outside == pytest.approx((0.1, 0.5), abs=0.01)
    outside = second_measures(with_split).set_index(["model", "positions"])["s outside"]
    assert outside["encoder", "learned"] == pytest.approx(0.1) and np.isnan(outside["encoder", "rotary"])


def test_the_recorded_split_is_that_of_the_recorded_runs():
    judgement = positions.recorded()
    for run in judgement.arms["mlm-learned"].runs:
        rows = judgement.split[judgement.split["run"] == run.name.rpartition("/")[2]].set_index("layer")
        assert (rows["symmetry"] - run.by_layer("symmetry").iloc[-1]).abs().max() < 1e-3


def test_figures_show_every_seed_and_say_the_means():
    judgement = judged({"clm-bias": 0.3})
    experiments = {"characters": judgement, "short": of_outcome(Outcome.UNDECIDED)}
    experiments |= {f"text {n}": judgement for n in range(4)}
    arms = positions.symmetry_by_arm(experiments, "Made alike.")
    assert "The experiment in the panel *short* is inconclusive" in arms.caption
    assert arms.caption.endswith(
        "*characters*: 0.50 with learned position embeddings and 0.05 with rotary positions. Made alike."
    )
    assert sum(len(c.get_offsets()) for c in arms.figure.axes[0].collections) == 50 and arms.svg()
    titles = [panel.get_title(loc="left") for panel in one_column(arms.figure).axes]
    assert titles == ["characters", "short\n(inconclusive)", *list(experiments)[2:]]


def test_trained_models_count_once():
    rows = positions.splits()
    assert "Whisper base encoder" not in set(rows["model"]) and positions.splits_table(rows)["model"].is_unique


def test_the_plan_says_what_is_judged_here():
    text = " ".join((PLAN.folder / "experiment.yml").read_text("utf-8").split())
    assert f"the first measure lies above {positions.ENOUGH}, and that of the interaction above 0" in text
    assert all(f"{outcome.value}: >-" in text for outcome in (Outcome.HOLDS, Outcome.IN_PART, Outcome.FALLS))
