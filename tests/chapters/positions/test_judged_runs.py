import numpy as np
import pandas as pd
import pytest
from chapters import positions
from chapters.positions import ARMS, Outcome, judged, second_measures
from position_runs import HOLDS, PLAN, runs
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
        assert judged(PLAN, runs(HOLDS | levels)).outcome is outcome
    assert judged(PLAN, runs(HOLDS, {"mlm-learned": 2.7})).outcome is Outcome.UNDECIDED  # all on a plateau


def test_intervals_are_students_over_pairs_of_seeds():
    judgement = judged(PLAN, runs(HOLDS))
    s = {arm: judgement.arms[arm].values("symmetry") for arm in ARMS}
    assert s["mlm-learned"].mean() == pytest.approx(0.5, abs=0.01)  # a mean over layers would be 0.275
    low, high = stats.ttest_rel(s["mlm-learned"], s["mlm-rotary"]).confidence_interval()
    assert (judgement.first.low, judgement.first.high) == pytest.approx((low, high))
    assert judgement.interaction.value == pytest.approx(0.5 - 0.04 - (0.05 - 0.2), abs=0.02)


def test_nothing_is_compared_before_every_seed_of_the_four_arms_is_there():
    for arm in ARMS:
        assert judged(PLAN, [run for run in runs(HOLDS) if not run.name.endswith(f"{arm}-407")]) is None


def test_s_outside_position_space_is_beside_that_of_the_layer():
    judgement = judged(PLAN, runs(HOLDS))
    assert judgement.outside is None
    split = [
        {"run": run.name.rpartition("/")[2], "dimension": 6, "share": 0.5, "inside": 0.9, "outside": 0.1}
        | {"layer": layer, "symmetry": s}
        for arm in ("mlm-learned", "clm-learned")
        for run in judgement.arms[arm].runs
        for layer, s in run.by_layer("symmetry").iloc[-1].items()
    ]
    with_split = judged(PLAN, runs(HOLDS), pd.DataFrame(split))
    assert with_split.outside == pytest.approx((0.1, 0.5), abs=0.01)
    outside = second_measures(with_split).set_index(["model", "positions"])["s outside"]
    assert outside["encoder", "learned"] == pytest.approx(0.1) and np.isnan(outside["encoder", "rotary"])


def test_the_recorded_split_is_that_of_the_recorded_runs():
    judgement = positions.recorded()
    for run in judgement.arms["mlm-learned"].runs:
        rows = judgement.split[judgement.split["run"] == run.name.rpartition("/")[2]].set_index("layer")
        assert (rows["symmetry"] - run.by_layer("symmetry").iloc[-1]).abs().max() < 1e-3


def test_figures_show_every_seed_and_say_the_means():
    judgement = judged(PLAN, runs(HOLDS | {"clm-bias": 0.3}))
    arms = positions.symmetry_by_arm({"characters": judgement})
    assert "*characters*: 0.50 with learned position embeddings and 0.05 with rotary positions." in arms.caption
    assert sum(len(c.get_offsets()) for c in arms.figure.axes[0].collections) == 50 and arms.svg()
    five = positions.symmetry_by_arm({f"text {n}": judgement for n in range(5)})
    assert [panel.get_title(loc="left") for panel in one_column(five.figure).axes] == [f"text {n}" for n in range(5)]


def test_trained_models_count_once():
    rows = positions.splits()
    assert "Whisper base encoder" not in set(rows["model"]) and positions.splits_table(rows)["model"].is_unique


def test_the_plan_says_what_is_judged_here():
    text = " ".join((PLAN.folder / "experiment.yml").read_text("utf-8").split())
    assert f"the first measure lies above {positions.ENOUGH}, and that of the interaction above 0" in text
    assert all(f"{outcome.value}: >-" in text for outcome in (Outcome.HOLDS, Outcome.IN_PART, Outcome.FALLS))
