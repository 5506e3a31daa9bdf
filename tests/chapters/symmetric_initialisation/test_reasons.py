"""The two planned experiments on why a symmetric start may help, judged by the rules of their plans."""

import pytest
from chapters.symmetric_initialisation import reasons, starts
from chapters.symmetric_initialisation.reasons import INDEFINITE, ROTARY, SELF_ATTENTION, Reason
from made_runs import made_matrix

from attngeo.experiments.runs.estimates import NEVER, Estimate
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


def test_planted_differences_are_measured():
    setting = made(INDEFINITE, symmetric=-0.1, symmetric_indefinite=0.0)
    assert reasons.reason(setting) is Reason.SELF_ATTRACTION
    (named,) = starts.settings(made_matrix(5, {"random": 0.1, "symmetric": 0.2}))
    for found, planted in zip(reasons.earlier_version(setting, named), (-0.1, -0.2), strict=True):
        assert found.low < planted < found.high
    rotary = made("symmetric", random=-0.5, symmetric=-0.55)
    smaller = reasons.gains_compared(setting, rotary)
    assert smaller.low < 0.05 < smaller.high < 0.1
    early = reasons.at_step(setting.minus("symmetric"), 500)
    assert early.low < -0.1 < early.high < 0
    assert reasons.steps_on_plateau(setting) == 100  # 5 / (1 + step / 100) falls below 2.6 at step 92
    assert reasons.steps_saved_by_rotary(setting, rotary) > 0.4
    assert reasons.steps_saved_by_rotary(rotary, setting) == NEVER
