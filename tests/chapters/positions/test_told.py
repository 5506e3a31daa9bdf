"""What the page says of the plans follows from the runs: sentences for every outcome, and how the runs were made."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from chapters import positions
from chapters.positions import EARLIER, UNDATED, Outcome, compared, judged, told
from livingpaper.claims.results import Verdict
from position_runs import HOLDS, PLAN, runs

from attngeo.files import checkout

LEVELS = {
    Outcome.HOLDS: {},
    Outcome.IN_PART: {"mlm-rotary": 0.305},
    Outcome.FALLS: {"mlm-rotary": 0.8},
}


def of_outcome(outcome):
    if outcome is Outcome.UNDECIDED:
        return judged(PLAN, runs(HOLDS, {"mlm-learned": 2.7}))
    return judged(PLAN, runs(HOLDS | LEVELS[outcome]))


def test_every_outcome_has_a_label_of_its_own_and_a_sentence():
    every = {outcome.name: of_outcome(outcome) for outcome in Outcome}
    assert all(judgement.outcome.name == name for name, judgement in every.items())
    assert len({judgement.outcome.verdict for judgement in every.values()}) == len(Outcome)
    assert every["IN_PART"].outcome.verdict is Verdict.SHORT
    assert (
        len({told.of_plan(judgement).rpartition("second interval above 0. ")[2] for judgement in every.values()}) == 4
    )
    assert "Both conditions are met" in told.of_plan(every["HOLDS"])
    words = told.outcomes(every)
    assert words == (
        "Of four planned experiments, one met the criterion of its plan, one showed a smaller or less certain effect"
        " than its plan required, one could not be judged, because the encoders had hardly learned anything, and one"
        " showed no effect."
    )
    two = told.outcomes({"one": every["HOLDS"], "two": every["HOLDS"]})
    assert two == "Of two planned experiments, two met the criteria of their plans."


def test_the_experiment_in_the_papers_shape_has_a_result_once_all_runs_are_there(monkeypatch):
    whole = of_outcome(Outcome.HOLDS)
    monkeypatch.setitem(told.EARLIER, told.MINI, (400, 401, 402))
    for judgement, done in ((None, 16), (whole, 16)):
        monkeypatch.setattr(told, "recorded", lambda name, judgement=judgement: judgement)
        monkeypatch.setattr(told, "progress", lambda name, done=done: (done, 20))
        words = told.of_the_papers_shape()
        assert "16 of its 20 planned runs" in words and "+0." not in words
    monkeypatch.setattr(told, "progress", lambda name: (20, 20))
    words = told.of_the_papers_shape()
    earlier = whole.of((400, 401, 402))
    assert len(earlier.arms["mlm-learned"]) == 3
    assert (
        f"{earlier.first.value:+.2f} [" in words and "is *holds*" in words and "planned runs are recorded" not in words
    )


def test_how_runs_were_made_is_read_from_their_records():
    judgement = of_outcome(Outcome.HOLDS)
    assert compared.unlike({"a": judgement}).startswith("Within each panel, all runs used")
    arm = judgement.arms["mlm-learned"]
    other = replace(arm.runs[0], about=arm.runs[0].about | {"precision": "fp32"})
    mixed = {"mlm-learned": replace(arm, runs=(other, *arm.runs[1:]))}
    assert "Within every panel except *a*" in compared.unlike({"a": replace(judgement, arms=judgement.arms | mixed)})
    bias = {"mlm-bias": mixed["mlm-learned"]}
    words = compared.unlike({"a": replace(judgement, arms=judgement.arms | bias)})
    assert words.startswith("Within each panel, all runs with") and "In the panel *a*, the runs with a bias" in words
    table = compared.made_table({"a": replace(judgement, arms=judgement.arms | mixed)})
    assert table["number of runs"].sum() == 40 and set(table["precision"]) == {"fp32", "unknown"}


def test_recorded_runs_of_the_first_setting_are_compared_by_plan_and_by_processor():
    first = positions.recorded()
    found = compared.same_setting(first.arms["mlm-learned"])
    assert len(found[positions.FIRST]) == 10 and "positions_mini" not in found
    for same in found.values():
        assert {run.config["positions"] for run in same} == {"learned"}
        assert {run.config["steps"] for run in same} == {first.arms["mlm-learned"].config["steps"]}
    later = compared.first_against_later(found)
    assert len(later.other) == 13 and np.mean(later.one) == pytest.approx(first.arms["mlm-learned"].mean("symmetry"))
    assert compared.apart(found[positions.FIRST], found[positions.FIRST]).p > 0.9


def history(*words):
    done = subprocess.run(["git", "-C", str(checkout.root()), *words], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode == 0 else ""


def added_by(*paths):
    """The first commit that added one of these files."""
    return history("log", "--diff-filter=A", "--format=%H", "--", *paths).split()[-1]


def test_what_is_said_of_the_history_is_in_the_history():
    if history("rev-parse", "--is-shallow-repository").strip() != "false":
        pytest.skip("no history of git here")
    for name in positions.TITLES:
        folder = f"data/runs/{name}"
        with_runs = added_by(f"{folder}/*/run.json", f"{folder}/runs.json")
        assert (added_by(f"{folder}/experiment.yml") == with_runs) == (name in UNDATED), name
    for name, seeds in EARLIER.items():
        plan = f"data/runs/{name}/experiment.yml"
        assert f"primary contrast: {list(seeds)}" in history("show", f"{added_by(plan)}:{plan}")
