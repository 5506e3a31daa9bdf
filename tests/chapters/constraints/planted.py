"""Errors planted in the claims of *Constraints*: the claim, what is replaced, by what, and what alone may fail."""

from notebook_code import notebook

from attngeo.training.choices import Constraint

POLES = notebook("constraints").POLES


def without_squares(right, forms, constraint):
    return right(forms, constraint).sqrt()


def exchanged(right, forms, constraint):
    return right(forms, "skew" if constraint == "symmetric" else "symmetric")


NOWHERE = dict.fromkeys(Constraint, 0.0)
PLANTED = [
    ("symmetric_constraint", "constraint_loss", without_squares),
    ("symmetric_constraint", "constraint_loss", exchanged),
    ("symmetric_constraint", "LEAST_AT", NOWHERE),
    ("skew_constraint", "LEAST_AT", NOWHERE),
    ("skew_constraint", "constraint_loss", exchanged),
    ("constrained_loss", "trained_loss", lambda right, constraint, weight: right(constraint, 1.0)),
    ("poles_of_the_constraints", "POLES", {c: -at for c, at in POLES.items()}),
    ("poles_of_the_constraints", "POLES", dict.fromkeys(POLES, 0.0)),
]
