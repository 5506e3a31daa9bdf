"""What a sequence does to W_qk in one step: objectives, rank-1 terms, random updates, norms.

`toy_transformer` is the reference: small enough that autograd gives the derivative that a formula states.
"""

from attngeo.updates.objectives import Objective, attended_matrix, context_matrix
from attngeo.updates.random_updates import Coefficients, Law, UpdateModel
from attngeo.updates.rank_one import exact_coefficients, gradient_sum, rank_one_terms
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

__all__ = [
    "Coefficients",
    "Law",
    "Objective",
    "ToyConfig",
    "ToyTransformer",
    "UpdateModel",
    "attended_matrix",
    "context_matrix",
    "exact_coefficients",
    "gradient_sum",
    "rank_one_terms",
]
