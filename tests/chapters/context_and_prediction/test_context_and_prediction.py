"""Propositions S1.7 and S1.10: supported as checked, refused with a misprint planted."""

import pytest
import torch

from attngeo.chapters.context_and_prediction import contributions as context
from attngeo.chapters.context_and_prediction import counts, counts_in_detail, token_roles
from attngeo.errors import ParameterError
from attngeo.updates.objectives import Counts, expected_counts
from attngeo.updates.rank_one import Role, token_update


def from_zero(marginals):
    """Equations S74, S75 with k from 0, a position before the first one counted like the first."""
    n = len(marginals)
    right = expected_counts("autoregressive", marginals)
    return Counts(right.context + n * marginals[0], right.predicted - marginals[0])


def exchanged(marginals):
    right = expected_counts("autoregressive", marginals)
    return Counts(right.predicted, right.context)


def transposed_prediction(beta, x, position, role):
    """Equation S50 as printed."""
    update = token_update(beta, x, position, role)
    return update.T if role is Role.PREDICTION else update


PLANTED = {
    "S50 transposed, in the sum": (context.token_contributions, {"update": transposed_prediction}),
    "Eq. 11 with another j": (context.column_of_context, {"last": 3}),
    "Eq. 12 as printed, t_i = t*": (context.row_of_context, {"role": Role.PREDICTION}),
    "S43 a column": (context.row_is_a_row, {"transposed": False}),
    "S44 a row": (context.column_is_a_column, {"axis": 0}),
    "S50 transposed": (context.update_of_predicted, {"update": lambda query, keys: torch.outer(keys, query)}),
    "two dimensions": (token_roles.dimension_of_contribution, {"dimension": 2}),
    "terms counted once": (token_roles.every_term_twice, {"share": 1.0}),
    "roles without transpose": (token_roles.roles_exchanged, {"transpose": False}),
    "S68 upside down": (counts.autoregressive_ratio, {"predicted": exchanged}),
    "S74, S75 from k = 0": (counts.autoregressive_ratio, {"predicted": from_zero}),
    "S69 of one half": (counts.bidirectional_ratio, {"share": 0.5}),
    "S79 with N": (counts.masked_ratio, {"predicted": counts.with_leading_n}),
    "S79, S80 with N": (counts.masked_expectation, {"predicted": counts.with_leading_n}),
    "S73 to N - 1": (counts_in_detail.last_position_counts, {"last": 11}),
    "S83, S84 from k = 0": (counts_in_detail.first_position_counts, {"first": 0}),
    "stationarity dropped": (counts_in_detail.correlation_is_irrelevant, {"stationary": False}),
    "S86 to N - 1": (counts_in_detail.marginal_from_the_future, {"limit": 3}),
    "early token": (counts_in_detail.preceding_is_not_enough, {"start": 0.9}),
    "smaller for larger": (counts_in_detail.sign_of_the_ratio, {"relation": "<"}),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_refused(name):
    check, wrong = PLANTED[name]
    assert not check(**wrong).supported


def test_simulated_counts_say_how_sure_they_are():
    simulated = [c for check in (counts.autoregressive_ratio, counts.masked_ratio) for c in check().comparisons]
    assert sum(c.standard_error is not None for c in simulated) >= 8
    assert all(c.standard_error > 0 for c in simulated if c.standard_error is not None)


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 1.5])
def test_mask_rate_outside_the_open_interval_is_refused(as_user, rate):
    with pytest.raises(ParameterError, match="strictly between 0 and 1"):
        counts.masked_ratio(mask_rate=rate)


@pytest.mark.parametrize("check", [context.token_contributions, counts.autoregressive_ratio])
def test_one_token_is_refused(as_user, check):
    with pytest.raises(ParameterError, match="n_tokens must be at least 2"):
        check(n_tokens=1)
