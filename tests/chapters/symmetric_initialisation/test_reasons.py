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
    ("symmetric", "indefinite", "words"),
    [
        (-0.1, -0.1, "Symmetry helps in these encoders even if"),
        (-0.1, 0.0, "Symmetry alone does not help in these encoders."),
        (0.1, 0.1, "The experiment does not show which"),
    ],
)
def test_the_sentence_follows_the_planted_differences(symmetric, indefinite, words):
    told = reasons.reason_told(made(INDEFINITE, symmetric=symmetric, symmetric_indefinite=indefinite))
    assert told.startswith(words) and "mean over five seeds" in told


@pytest.mark.parametrize(
    ("shift", "words", "expected"),
    [
        (0.0, "makes no difference", "This is what our explanation predicts."),
        (-0.1, "helps as well", "Our explanation does not account for this difference."),
        (0.1, "raises the final loss", "Our explanation does not account for this difference."),
    ],
)
def test_rotary_positions_are_judged_by_the_planted_difference(shift, words, expected):
    setting = made("symmetric", symmetric=shift)
    assert f"symmetric initialisation {words}: " in reasons.rotary_told(setting)
    assert reasons.rotary_expected(setting) == expected


def test_nothing_is_compared_before_all_runs_are_recorded(monkeypatch):
    whole = reasons.whole_arms
    monkeypatch.setattr(reasons, "whole_arms", lambda plan: {k: v for k, v in whole(plan).items() if k != INDEFINITE})
    with pytest.raises(AttngeoError, match=f"The arm .* of {SELF_ATTENTION} is not complete; make its runs"):
        reasons.experiment.__wrapped__(SELF_ATTENTION)
