"""Errors planted in the claims of *Constraints*: the claim, what is replaced, by what, and what alone may fail."""

import torch
from notebook_code import notebook

from attngeo.training.choices import Constraint

right = notebook("constraints")
loss, gradient = right.constraint_loss, right.gradient


def without_squares(forms, constraint):
    return loss(forms, constraint).sqrt()


def exchanged(forms, constraint):
    return loss(forms, "skew" if constraint == "symmetric" else "symmetric")


def both(value):
    return dict.fromkeys(Constraint, value)


def first_term(m, constraint):
    return 2 * m / ((m + m.T) / 2).square().sum()


PLANTED = {
    "S147 without squares": ("symmetric_constraint", "constraint_loss", without_squares),
    "S147 with the skew part": ("symmetric_constraint", "constraint_loss", exchanged),
    "S147 least at 0": ("symmetric_constraint", "LEAST_AT", both(0.0)),
    "S148 least at 0, as printed": ("skew_constraint", "LEAST_AT", both(0.0)),
    "S148 with the symmetric part": ("skew_constraint", "constraint_loss", exchanged),
    "S147 with slope 1/2 from the start": ("symmetric_constraint", "SLOPES", both((-0.5, -0.5)), "slope"),
    "S147 with slope 2 to the end": ("symmetric_constraint", "SLOPES", both((-2.0, -2.0)), "slope"),
    "S148 with slope 1/2 from the start": ("skew_constraint", "SLOPES", both((0.5, 0.5)), "slope"),
    "S148 with slopes of the wrong sign": ("skew_constraint", "SLOPES", both((-2.0, -0.5)), "slope"),
    "squares that any number would do for": ("squares_are_squared_norms", "squared", lambda m: torch.ones(())),
    "gradient without its second term": ("constrained_loss", "gradient", first_term),
    "gradient of the wrong sign": ("constrained_loss", "gradient", lambda m, c: -gradient(m, c)),
    "poles exchanged": ("poles_of_the_constraints", "POLES", {c: -at for c, at in right.POLES.items()}),
    "poles at the printed 0": ("poles_of_the_constraints", "POLES", dict.fromkeys(right.POLES, 0.0)),
}
