"""What the page says of the plans follows from the recorded runs, and other runs would fail it."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from chapters import positions
from chapters.positions import CHARACTERS, EARLIER, TITLES, UNDATED, Outcome, compared, told
from position_runs import judged, of_outcome

from attngeo.files import checkout


def test_plans_are_told_by_their_outcomes():
    words = told.of_plan(of_outcome(Outcome.HOLDS))
    assert "the second interval above 0. Both conditions are met." in words
    assert "so only the second condition is met." in told.of_plan(of_outcome(Outcome.IN_PART))
    assert "result is then inconclusive." in told.of_plan(of_outcome(Outcome.UNDECIDED))
    for other in (of_outcome(Outcome.FALLS), judged({"clm-learned": 0.5, "clm-rotary": 0.05})):
        with pytest.raises(AssertionError):
            told.of_plan(other)


@pytest.fixture(scope="module")
def experiments():
    return positions.all_recorded()


def with_arms(judgement, **sources):
    """An experiment in which some arms have the runs of others."""
    arms = {arm.replace("_", "-"): judgement.arms[source] for arm, source in sources.items()}
    return replace(judgement, arms=judgement.arms | arms)


@pytest.mark.parametrize("name", [*CHARACTERS, "positions_mini", "positions_pieces_longer"])
def test_other_scores_would_fail_the_sentences(experiments, name):
    exchanged = with_arms(experiments[TITLES[name]], mlm_learned="mlm-rotary", mlm_rotary="mlm-learned")
    for sentences in (told.headline, told.outcomes):
        with pytest.raises(AssertionError):
            sentences(experiments | {TITLES[name]: exchanged})


def test_runs_that_were_made_otherwise_would_fail_the_sentences(experiments, monkeypatch):
    mini, first = (experiments[TITLES[name]] for name in ("positions_mini", positions.FIRST))
    assert "commit b1482be5 and 4 runs used commit dbd8cea8, all in bf16 on" in told.of_the_papers_shape()
    learned = mini.arms["mlm-learned"]
    one_version = replace(mini, arms=dict.fromkeys(mini.arms, learned))
    elsewhere = replace(learned.runs[0], about=learned.runs[0].about | {"precision": "fp32"})
    two_machines = replace(
        mini, arms=mini.arms | {"mlm-learned": replace(learned, runs=(elsewhere, *learned.runs[1:]))}
    )
    for other in (one_version, two_machines):
        monkeypatch.setattr(told, "recorded", lambda name, other=other: other)
        with pytest.raises((AssertionError, ValueError)):
            told.of_the_papers_shape()
    few_later = with_arms(first, mlm_none="mlm-learned", clm_none="mlm-learned", clm_bias="mlm-learned")
    none_later = with_arms(few_later, mlm_bias="mlm-learned")
    for title, other in (
        (TITLES["positions_mini"], one_version),
        ("characters", few_later),
        ("characters", none_later),
    ):
        with pytest.raises((AssertionError, ValueError)):
            compared.unlike(experiments | {title: other})


def test_how_runs_were_made_is_read_from_their_records():
    judgement = of_outcome(Outcome.HOLDS)
    arm = judgement.arms["mlm-learned"]
    other = replace(arm.runs[0], about=arm.runs[0].about | {"precision": "fp32"})
    mixed = {"mlm-learned": replace(arm, runs=(other, *arm.runs[1:]))}
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
