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


PLANTED = [
    ("symmetric_constraint", "constraint_loss", without_squares),
    ("symmetric_constraint", "constraint_loss", exchanged),
    ("symmetric_constraint", "LEAST_AT", both(0.0)),
    ("skew_constraint", "LEAST_AT", both(0.0)),
    ("skew_constraint", "constraint_loss", exchanged),
    ("symmetric_constraint", "SLOPES", both((-0.5, -0.5)), "slope"),
    ("symmetric_constraint", "SLOPES", both((-2.0, -2.0)), "slope"),
    ("skew_constraint", "SLOPES", both((0.5, 0.5)), "slope"),
    ("skew_constraint", "SLOPES", both((-2.0, -0.5)), "slope"),
    ("squares_are_squared_norms", "squared", lambda m: torch.ones(())),
    ("constrained_loss", "gradient", first_term),
    ("constrained_loss", "gradient", lambda m, c: -gradient(m, c)),
    ("poles_of_the_constraints", "POLES", {c: -at for c, at in right.POLES.items()}),
    ("poles_of_the_constraints", "POLES", dict.fromkeys(right.POLES, 0.0)),
]
