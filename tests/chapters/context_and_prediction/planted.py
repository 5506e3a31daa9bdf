"""Errors planted in the claims of *Context and prediction*: the claim, what is replaced, by what, and what may fail."""

import torch
from notebook_code import notebook

from attngeo.gradients.rank_one import Role, token_row
from attngeo.gradients.token_counts import Counts, MarkovChain, simulation

details = notebook("context_and_prediction_details")


def from_zero(right, objective, marginals):
    """Equations S74, S75 with k from 0, a position before the first one counted like the first."""
    counts = right(objective, marginals)
    return Counts(counts.context + len(marginals) * marginals[0], counts.predicted - marginals[0])


def upside_down(right, *at):
    return Counts(*right(*at)[::-1])


def with_leading_n(right, objective, marginals, mask_rate):
    """Equations S79, S80 as printed: ``N rho (N - 1) (1 - rho) sum_k Pr[t_k = t]``."""
    return Counts(*(len(marginals) * counts for counts in right(objective, marginals, mask_rate)))


def transposed_prediction(right, beta, x, position, role):
    """Equation S50 as printed."""
    update = right(beta, x, position, role)
    return update.T if role is Role.PREDICTION else update


def early_cycle():
    start = torch.full((details.N_VOCAB,), 0.1 / (details.N_VOCAB - 1), dtype=torch.float64)
    start[0] = 0.9
    return MarkovChain(start, torch.eye(details.N_VOCAB, dtype=torch.float64).roll(1, dims=1))


IRRELEVANT = "correlation_is_irrelevant"
PLANTED = [
    ("objectives_definition", "chain_rule", details.both_sides),
    ("bidirectional_factorisation", "two_sided", lambda right, joint: right(joint**2)),
    ("bidirectional_factorisation", "both_sides", lambda joint: joint),
    ("attended_is_not_conditioned", "attended_matrix", lambda objective, n: torch.ones(n, n).tril(-1).bool()),
    ("token_contributions", "token_update", transposed_prediction, "relative error"),
    ("token_contributions", "token_column", token_row, "largest difference in a column"),
    ("column_of_context", "token_column", lambda right, beta, *at: right(beta.roll(-1, 1), *at)),
    ("row_of_context", "token_row", lambda right, beta, x, i, role, m: right(beta, x, i, Role.PREDICTION, m)),
    ("rows_and_columns_exchanged", "token_column", token_row),
    ("rows_and_columns_exchanged", "token_update", transposed_prediction),
    ("dimension_of_contribution", "token_update", lambda right, *at: right(*at) + right(*at).T),
    ("roles_exchanged", "token_update", transposed_prediction),
    ("autoregressive_ratio", "expected_counts", upside_down),
    ("autoregressive_ratio", "expected_counts", from_zero),
    ("bidirectional_ratio", "expected_counts", lambda right, *at: right(*at)._replace(context=right(*at).context / 2)),
    ("masked_ratio", "expected_counts", with_leading_n),
    ("masked_expectation", "expected_counts", with_leading_n),
    ("limits_of_sums", "positions", lambda n: range(1, n)),
    ("limits_of_sums", "positions", lambda n: range(n + 1)),
    (IRRELEVANT, "simulation", lambda *at, stationary=False: simulation(*at), r"$\mu_c - \mu_p$, correlated"),
    (IRRELEVANT, "expected_counts", upside_down, r"$\mu_c - \mu_p$, ind"),
    ("preceding_is_not_enough", "cycle", early_cycle, "largest |ratio"),
    ("sign_of_the_ratio", "surplus", lambda right, counts, token: -right(counts, token)),
]
