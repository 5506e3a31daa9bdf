"""Errors planted in the claims of *Context and prediction*: the claim, what is replaced, by what, and what may fail."""

from functools import reduce

import torch
from notebook_code import notebook

from attngeo.gradients.markov_chain import MarkovChain
from attngeo.gradients.one_token import Role, token_column, token_row, token_update
from attngeo.gradients.token_counts import Counts, expected_counts, simulation, surplus

details = notebook("context_and_prediction_details")
both_sides, two_sided = details.both_sides, details.two_sided


def counted(change):
    """Expected counts of contexts c and predictions p of a token made others, from both and the marginals m."""
    return lambda *at, **more: Counts(*change(*vars(expected_counts(*at, **more)).values(), at[1]))


# k from 0, a position before the first one counted like the first
from_zero = counted(lambda c, p, m: (c + len(m) * m[0], p - m[0]))
upside_down = counted(lambda c, p, m: (p, c))
one_half = counted(lambda c, p, m: (c / 2, p))
# Equations S79, S80 as printed: ``N rho (N - 1) (1 - rho) sum_k Pr[t_k = t]``
with_leading_n = counted(lambda c, p, m: (c * len(m), p * len(m)))
with_n_partners = counted(lambda c, p, m: (c * len(m) / (len(m) - 1), p * len(m) / (len(m) - 1)))


def transposed_prediction(beta, x, position, role):
    """Equation S50 as printed."""
    update = token_update(beta, x, position, role)
    return update.T if role is Role.PREDICTION else update


def drifting(*sizes, stationary=False):
    return simulation(*sizes)


def early_cycle():
    start = torch.full((details.N_VOCAB,), 0.1 / (details.N_VOCAB - 1), dtype=torch.float64)
    start[0] = 0.9
    return MarkovChain(start, torch.eye(details.N_VOCAB, dtype=torch.float64).roll(1, dims=1))


PLANTED = [
    ("objectives_definition", "chain_rule", both_sides),
    ("bidirectional_factorisation", "two_sided", lambda joint: two_sided(joint**2)),
    ("bidirectional_factorisation", "mass_of_two_bits", lambda q: 1.0),
    ("attended_is_not_conditioned", "attended_matrix", lambda objective, n: torch.ones(n, n).tril(-1).bool()),
    ("token_contributions", "token_update", transposed_prediction, "relative error"),
    ("token_contributions", "token_column", token_row, "largest difference in a column"),
    ("column_of_context", "token_column", lambda beta, *at: token_column(beta.roll(-1, 1), *at)),
    ("row_of_context", "token_row", lambda beta, x, at, role, m: token_row(beta, x, at, Role.PREDICTION, m)),
    ("row_is_a_row", "row_update", lambda weight, x: weight * x.unsqueeze(1)),
    ("column_is_a_column", "token_column", token_row),
    ("update_of_predicted", "token_update", transposed_prediction),
    ("dimension_of_contribution", "added_dimension", lambda n_predicted: 2),
    ("dimension_of_contribution", "added_dimension", lambda n_predicted: n_predicted),
    ("every_term_twice", "by_prediction", lambda beta, x: torch.zeros(1, 1, 1)),
    ("roles_exchanged", "exchanged", lambda update: update),
    ("autoregressive_ratio", "expected_counts", upside_down),
    ("autoregressive_ratio", "expected_counts", from_zero),
    ("bidirectional_ratio", "expected_counts", one_half),
    ("masked_ratio", "expected_counts", with_leading_n),
    ("masked_expectation", "expected_counts", with_leading_n),
    ("masked_expectation", "expected_counts", with_n_partners),
    ("last_position_counts", "last_predicted", lambda n: n - 1),
    ("first_position_counts", "positions", lambda n: range(n + 1)),
    ("correlation_is_irrelevant", "simulation", drifting, r"$\mu_c - \mu_p$, correlated"),
    ("correlation_is_irrelevant", "expected_counts", upside_down, r"$\mu_c - \mu_p$, ind"),
    ("marginal_from_the_future", "joint_of", lambda conditionals: reduce(torch.mul, conditionals[:-1])),
    ("preceding_is_not_enough", "cycle", early_cycle, "largest |ratio"),
    ("sign_of_the_ratio", "surplus", lambda counts, token: -surplus(counts, token)),
]
