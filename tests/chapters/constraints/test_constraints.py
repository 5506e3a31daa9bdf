"""Equations S146 to S148: supported as checked, refused with a misprint planted."""

import pytest
import torch

from attngeo import symmetry_score
from attngeo.chapters.constraints import constrained_training
from attngeo.chapters.constraints import losses as constraints
from attngeo.paper import Verdict
from attngeo.training.constraints import constraint_loss

ALL = [
    constraints.symmetric_constraint,
    constraints.skew_constraint,
    constraints.squares_are_squared_norms,
    constrained_training.constrained_loss,
    constrained_training.poles_of_the_constraints,
]


def without_squares(forms, constraint):
    return constraint_loss(forms, constraint).sqrt()


def exchanged(forms, constraint):
    return constraint_loss(forms, "skew" if constraint == "symmetric" else "symmetric")


PLANTED = {
    "S147 without squares": (constraints.symmetric_constraint, {"loss": without_squares}),
    "S147 with the skew part": (constraints.symmetric_constraint, {"loss": exchanged}),
    "S147 least at 0": (constraints.symmetric_constraint, {"best": 0.0}),
    "S148 least at 0, as printed": (constraints.skew_constraint, {"best": 0.0}),
    "S148 with the symmetric part": (constraints.skew_constraint, {"loss": exchanged}),
    "S147 with slope 1/2 from the start": (constraints.symmetric_constraint, {"slopes": (-0.5, -0.5)}),
    "S147 with slope 2 to the end": (constraints.symmetric_constraint, {"slopes": (-2.0, -2.0)}),
    "S148 with slope 1/2 from the start": (constraints.skew_constraint, {"slopes": (0.5, 0.5)}),
    "S148 with slopes of the wrong sign": (constraints.skew_constraint, {"slopes": (-2.0, -0.5)}),
    "squares that any number would do for": (
        constraints.squares_are_squared_norms,
        {"scalar": lambda m: torch.ones(())},
    ),
    "gradient without its second term": (
        constrained_training.constrained_loss,
        {"derivative": lambda m, c: 2 * m / ((m + m.T) / 2).square().sum()},
    ),
    "gradient of the wrong sign": (
        constrained_training.constrained_loss,
        {"derivative": lambda m, c: -constrained_training.gradient(m, c)},
    ),
    "poles exchanged": (constrained_training.poles_of_the_constraints, {"pole": 1.0}),
    "poles at the printed 0": (constrained_training.poles_of_the_constraints, {"pole": 0.0}),
}


@pytest.mark.parametrize("check", ALL, ids=lambda check: check.__name__)
def test_each_check_supports_its_verdict(check):
    result = check()
    assert result.supported, [c for c in result.comparisons if not c.holds]
    assert result.chapter == "constraints"


@pytest.mark.parametrize("planted", PLANTED)
def test_a_planted_misprint_is_refused(planted):
    check, change = PLANTED[planted]
    assert not check(**change).supported


@pytest.mark.parametrize("s", [-1.0, -0.3, 0.0, 0.8, 1.0])
def test_a_form_has_the_symmetry_it_is_made_for(s):
    assert symmetry_score(constraints.form_of_symmetry(s)) == pytest.approx(s, abs=1e-12)


@pytest.mark.parametrize("planted", [name for name in PLANTED if "slope" in name])
def test_a_wrong_slope_is_refused_by_the_slopes_alone(planted):
    check, change = PLANTED[planted]
    failed = [c.quantity for c in check(**change).comparisons if not c.holds]
    assert failed and all(quantity.startswith("slope") for quantity in failed)


def test_the_text_tells_the_slope_that_is_measured():
    result = constraints.skew_constraint()
    (start,) = [c.measured for c in result.comparisons if c.quantity.startswith("slope") and "s = 0" in c.quantity]
    assert result.corrected.endswith(f"slope {start:.0f}.")


def test_the_printed_minimum_of_s148_is_an_erratum():
    result = constraints.skew_constraint()
    assert result.verdict is Verdict.CORRECTED and "s = 0" in result.printed and "s = -1" in result.corrected
