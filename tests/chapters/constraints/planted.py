"""Errors planted in the claims of *Constraints*: the claim, what is replaced, by what, and what alone may fail."""

from notebook_code import notebook

from attngeo.experiments.training.choices import Constraint

POLES = notebook("constraints_details").POLES


OTHER_MODEL = {"encoder": "decoder", "decoder": "encoder"}
OTHER = {"symmetric": "skew", "skew": "symmetric"}
NOWHERE = dict.fromkeys(Constraint, 0.0)
PLANTED = [
    ("cost_of_forbidding_symmetry", "FORBIDDEN", "symmetry enforced"),
    ("cost_of_forbidding_symmetry", "without_and_with", lambda right, part, seeds: right(OTHER_MODEL[part], seeds)),
    ("symmetric_constraint", "constraint_loss", lambda right, forms, constraint: right(forms, constraint).sqrt()),
    ("symmetric_constraint", "LEAST_AT", NOWHERE),
    ("skew_constraint", "LEAST_AT", NOWHERE),
    ("skew_constraint", "constraint_loss", lambda right, forms, constraint: right(forms, OTHER[constraint])),
    ("constrained_loss", "trained_loss", lambda right, constraint, weight: right(constraint, 1.0)),
    ("poles_of_the_constraints", "POLES", dict.fromkeys(POLES, 0.0)),
]
