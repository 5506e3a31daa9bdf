"""Errors planted in the claims of *Constraints*: the claim, what is replaced, by what, and what alone may fail."""

from notebook_code import notebook

from attngeo.choices import Constraint

POLES = notebook("constraints").POLES


OTHER = {"symmetric": "skew", "skew": "symmetric"}
NOWHERE = dict.fromkeys(Constraint, 0.0)
PLANTED = [
    ("symmetric_constraint", "constraint_loss", lambda right, forms, constraint: right(forms, constraint).sqrt()),
    ("symmetric_constraint", "LEAST_AT", NOWHERE),
    ("skew_constraint", "LEAST_AT", NOWHERE),
    ("skew_constraint", "constraint_loss", lambda right, forms, constraint: right(forms, OTHER[constraint])),
    ("constrained_loss", "trained_loss", lambda right, constraint, weight: right(constraint, 1.0)),
    ("poles_of_the_constraints", "POLES", dict.fromkeys(POLES, 0.0)),
]
