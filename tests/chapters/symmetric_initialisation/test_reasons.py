"""The two planned experiments on why a symmetric start may help, judged by the rules of their plans."""

import pytest
from chapters.symmetric_initialisation import reasons, starts
from chapters.symmetric_initialisation.reasons import INDEFINITE, ROTARY, SELF_ATTENTION, Reason
from made_runs import made_matrix

from attngeo.errors import AttngeoError
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.experiments import PlannedContrast
from attngeo.files.checkout import data

BELOW, AROUND, ABOVE = Estimate(-0.05, -0.08, -0.02), Estimate(0.0, -0.03, 0.03), Estimate(0.05, 0.02, 0.08)


@pytest.mark.parametrize(
    ("minus_random", "minus_symmetric", "conclusion"),
    [
        (BELOW, AROUND, Reason.SYMMETRY),
        (BELOW, ABOVE, Reason.SYMMETRY),  # judged first
        (AROUND, ABOVE, Reason.DIAGONAL),
        (ABOVE, ABOVE, Reason.DIAGONAL),
        (AROUND, AROUND, Reason.UNDECIDED),
        (ABOVE, BELOW, Reason.UNDECIDED),
        (Estimate(-0.05, -0.08, 0.0), Estimate(0.05, 0.0, 0.08), Reason.UNDECIDED),  # both intervals touch zero
    ],
)
def test_the_rules_of_the_plan(minus_random, minus_symmetric, conclusion):
    assert reasons.reason_by_plan(minus_random, minus_symmetric) is conclusion


def test_the_plans_contain_these_rules():
    plans = (data("runs", name, "experiment.yml").read_text("utf-8") for name in (SELF_ATTENTION, ROTARY))
    indefinite, rotary = (" ".join(plan.split()) for plan in plans)
    for conclusion in Reason:
        assert f"{conclusion.value}: >-" in indefinite
    assert "the interval of symmetric-indefinite less random lies below zero" in indefinite
    assert "otherwise, the interval of symmetric-indefinite less symmetric lies above zero" in indefinite
    assert f"within -{starts.BAND} and {starts.BAND} nats, judged first; this is what the lead predicts" in rotary


def made(first, **shifts):
    """A planned experiment with five seeds, the given primary arm and planted differences of final losses."""
    (setting,) = starts.settings(made_matrix(5, {"random": 0.0, **{k.replace("_", "-"): v for k, v in shifts.items()}}))
    return starts.Setting(setting.arms, [PlannedContrast(first, "random")])


@pytest.mark.parametrize(
    ("symmetric", "indefinite", "by_plan", "in_short"),
    [
        (-0.1, -0.1, "*symmetry helps*.", "comes from symmetry and not"),
        (
            -0.1,
            0.0,
            "*it is self-attraction that helps*.",
            "experiment suggests that the gain does not come from symmetry",
        ),
        (0.1, 0.1, "*the result is inconclusive*.", "does not show whether"),
    ],
)
def test_the_sentences_follow_the_planted_differences(symmetric, indefinite, by_plan, in_short):
    setting = made(INDEFINITE, symmetric=symmetric, symmetric_indefinite=indefinite)
    told = reasons.reason_told(setting)
    assert by_plan in told and in_short in reasons.reason_in_short(setting)
    assert told.startswith("As in" if symmetric < 0 else "Unlike in")
    assert "easily" not in told


def test_a_narrow_margin_is_told():
    setting = made(INDEFINITE, symmetric=-0.005, symmetric_indefinite=0.0)
    assert "weakly suggests" in reasons.reason_in_short(setting)
    assert "so the result could easily have been inconclusive" in reasons.reason_told(setting)


@pytest.mark.parametrize(
    ("shift", "by_plan", "excluded"),
    [
        (0.0, "there is *no difference*, as this explanation predicts.", True),
        (-0.1, "symmetric initialisation is *faster*, which this explanation does not", False),
        (0.1, "symmetric initialisation is *slower*, which this explanation does not", True),
    ],
)
def test_rotary_positions_are_judged_by_the_planted_difference(shift, by_plan, excluded):
    learned, rotary = made("symmetric", symmetric=-0.1), made("symmetric", symmetric=shift)
    told = reasons.rotary_told(learned, rotary)
    assert f"Under the criteria of the plan, {by_plan}" in told
    assert ("The interval excludes a gain as large as" in told) is excluded


def test_nothing_is_compared_before_all_runs_are_recorded(monkeypatch):
    whole = reasons.whole_arms
    monkeypatch.setattr(reasons, "whole_arms", lambda plan: {k: v for k, v in whole(plan).items() if k != INDEFINITE})
    with pytest.raises(AttngeoError, match=f"The arm .* of {SELF_ATTENTION} is not complete; make its runs"):
        reasons.experiment.__wrapped__(SELF_ATTENTION)
