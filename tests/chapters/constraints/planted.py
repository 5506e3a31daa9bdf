"""Errors planted in the claims of *Constraints*: the claim, what is replaced, by what, and what alone may fail."""

from notebook_code import notebook

from attngeo.training.choices import Constraint

right = notebook("constraints")
loss, trained_loss = right.constraint_loss, right.trained_loss


def without_squares(forms, constraint):
    return loss(forms, constraint).sqrt()


def exchanged(forms, constraint):
    return loss(forms, "skew" if constraint == "symmetric" else "symmetric")


def both(value):
    return dict.fromkeys(Constraint, value)


PLANTED = [
    ("symmetric_constraint", "constraint_loss", without_squares),
    ("symmetric_constraint", "constraint_loss", exchanged),
    ("symmetric_constraint", "LEAST_AT", both(0.0)),
    ("skew_constraint", "LEAST_AT", both(0.0)),
    ("skew_constraint", "constraint_loss", exchanged),
    ("constrained_loss", "trained_loss", lambda c, weight: trained_loss(c, 1.0)),
    ("poles_of_the_constraints", "POLES", {c: -at for c, at in right.POLES.items()}),
    ("poles_of_the_constraints", "POLES", dict.fromkeys(right.POLES, 0.0)),
]
