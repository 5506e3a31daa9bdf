"""Equations S146 to S148: supported as checked, refused with a misprint planted."""

import pytest
import torch
from planting import drawn, supported, supported_with

from attngeo import symmetry_score
from attngeo.chapters.constraints import constrained_training, losses
from attngeo.paper import Verdict
from attngeo.training.choices import Constraint
from attngeo.training.constraints import constraint_loss

ALL = [
    losses.symmetric_constraint,
    losses.skew_constraint,
    losses.squares_are_squared_norms,
    constrained_training.constrained_loss,
    constrained_training.poles_of_the_constraints,
]


def without_squares(forms, constraint):
    return constraint_loss(forms, constraint).sqrt()


def exchanged(forms, constraint):
    return constraint_loss(forms, "skew" if constraint == "symmetric" else "symmetric")


def both(value):
    return dict.fromkeys(Constraint, value)


def wrong_sign(m, constraint):
    return -correct(m, constraint)


correct = constrained_training.gradient

PLANTED = {
    "S147 without squares": (losses.symmetric_constraint, "constraint_loss", without_squares),
    "S147 with the skew part": (losses.symmetric_constraint, "constraint_loss", exchanged),
    "S147 least at 0": (losses.symmetric_constraint, "LEAST_AT", both(0.0)),
    "S148 least at 0, as printed": (losses.skew_constraint, "LEAST_AT", both(0.0)),
    "S148 with the symmetric part": (losses.skew_constraint, "constraint_loss", exchanged),
    "S147 with slope 1/2 from the start": (losses.symmetric_constraint, "SLOPES", both((-0.5, -0.5))),
    "S147 with slope 2 to the end": (losses.symmetric_constraint, "SLOPES", both((-2.0, -2.0))),
    "S148 with slope 1/2 from the start": (losses.skew_constraint, "SLOPES", both((0.5, 0.5))),
    "S148 with slopes of the wrong sign": (losses.skew_constraint, "SLOPES", both((-2.0, -0.5))),
    "squares that any number would do for": (losses.squares_are_squared_norms, "squared", lambda m: torch.ones(())),
    "gradient without its second term": (
        constrained_training.constrained_loss,
        "gradient",
        lambda m, c: 2 * m / ((m + m.T) / 2).square().sum(),
    ),
    "gradient of the wrong sign": (constrained_training.constrained_loss, "gradient", wrong_sign),
    "poles exchanged": (
        constrained_training.poles_of_the_constraints,
        "POLES",
        {Constraint.SYMMETRIC: 1.0, Constraint.SKEW: -1.0},
    ),
    "poles at the printed 0": (
        constrained_training.poles_of_the_constraints,
        "POLES",
        {Constraint.SYMMETRIC: 0.0, Constraint.SKEW: 0.0},
    ),
}


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_each_check_supports_its_verdict(check):
    assert supported(check)


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_misprint_is_refused(planted):
    assert not supported_with(*PLANTED[planted])


@pytest.mark.parametrize("s", [-1.0, -0.3, 0.0, 0.8, 1.0])
def test_a_form_has_the_symmetry_it_is_made_for(s):
    assert symmetry_score(losses.forms(count=1).of_symmetry(s)) == pytest.approx(s, abs=1e-12)


@pytest.mark.parametrize("planted", [name for name in PLANTED if "slope" in name])
def test_a_wrong_slope_is_refused_by_the_slopes_alone(planted, monkeypatch):
    check, name, wrong = PLANTED[planted]
    monkeypatch.setattr(losses, name, wrong)
    failed = [c.quantity for c in check.judge(drawn(check)).comparisons if not c.holds]
    assert failed and all(quantity.startswith("slope") for quantity in failed)


def test_the_text_tells_the_slope_that_is_measured():
    judgement = losses.skew_constraint.judge(drawn(losses.skew_constraint))
    assert judgement.numbers["slope"] == pytest.approx(2) and judgement.numbers["value"] == pytest.approx(2)


def test_the_printed_minimum_of_s148_is_an_erratum():
    result = losses.skew_constraint.of(drawn(losses.skew_constraint))
    assert result.verdict is Verdict.MISPRINT and "s = 0" in result.printed and "s = -1" in result.corrected
