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
        (AROUND, ABOVE, Reason.SELF_ATTRACTION),
        (ABOVE, ABOVE, Reason.SELF_ATTRACTION),
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
        (-0.1, -0.1, "*symmetry helps*.", "suggests that this gain comes from symmetry itself."),
        (-0.1, 0.0, "*self-attraction helps*.", "suggests that this gain comes from the stronger attention"),
        (0.1, 0.1, "*the experiment is inconclusive*.", "did not clarify whether"),
    ],
)
def test_the_sentences_follow_the_planted_differences(symmetric, indefinite, by_plan, in_short):
    setting = made(INDEFINITE, symmetric=symmetric, symmetric_indefinite=indefinite)
    told = reasons.reason_told(setting)
    assert told.endswith(by_plan) and in_short in reasons.reason_in_short(setting)


def test_a_narrow_margin_counts_as_no_conclusion():
    setting = made(INDEFINITE, symmetric=-0.005, symmetric_indefinite=0.0)
    assert reasons.reason(setting) is Reason.SELF_ATTRACTION
    assert "did not clarify whether" in reasons.reason_in_short(setting)
    assert "we do not consider the question settled: the last interval begins only" in reasons.reason_told(setting)


@pytest.mark.parametrize(
    ("earlier", "words"),
    [((0.0, -0.1), "the same."), ((0.0, 0.0), "inconclusive."), ((0.1, 0.0), "different.")],
)
def test_the_earlier_version_of_the_plan_is_judged_by_its_own_runs(earlier, words):
    setting = made(INDEFINITE, symmetric=-0.1, symmetric_indefinite=0.0)
    random, symmetric = earlier
    runs = made_matrix(5, {"random": random, "symmetric": symmetric})
    (named,) = starts.settings(runs)
    assert reasons.earlier_version_told(setting, named).endswith(f"would have been {words}")


@pytest.mark.parametrize(
    ("shift", "by_plan"),
    [
        (0.0, "there is *no difference*, as this explanation predicts."),
        (-0.1, "symmetric initialisation is *faster*, which this explanation does not predict."),
        (0.1, "symmetric initialisation is *slower*, which this explanation does not predict."),
    ],
)
def test_rotary_positions_are_judged_by_the_planted_difference(shift, by_plan):
    rotary = made("symmetric", symmetric=shift)
    assert reasons.rotary_told(rotary).endswith(f"By the criteria of the plan, {by_plan}")
    smaller = reasons.gains_compared(made("symmetric", symmetric=-0.2), rotary)
    assert smaller.low < 0.2 + shift < smaller.high


def test_when_the_gain_appears_and_how_long_the_plateau_lasts():
    setting = made(
        "symmetric", symmetric=-0.1
    )  # from the first step on; 5 / (1 + step / 100) falls below 2.6 at step 92
    assert reasons.course_told(setting) == "The gain is already there at step 1,000."
    assert "The gain appears late in training. At step 1,000" in reasons.course_told(made("symmetric", symmetric=0.0))
    assert reasons.steps_on_plateau(setting) == 100


def test_nothing_is_compared_before_all_runs_are_recorded(monkeypatch):
    whole = reasons.whole_arms
    monkeypatch.setattr(reasons, "whole_arms", lambda plan: {k: v for k, v in whole(plan).items() if k != INDEFINITE})
    with pytest.raises(AttngeoError, match=f"The arm .* of {SELF_ATTENTION} is not complete; make its runs"):
        reasons.experiment.__wrapped__(SELF_ATTENTION)
