"""Definition S1.3, Propositions S1.7 and S1.10: supported as checked, refused with a misprint planted."""

from functools import reduce

import pytest
import torch
from planting import drawn, supported, supported_with

from attngeo.chapters.context_and_prediction import (
    contributions,
    counts,
    counts_in_detail,
    objectives,
    token_roles,
)
from attngeo.chapters.context_and_prediction.one_token import Role, token_column, token_row, token_update
from attngeo.chapters.context_and_prediction.token_counts import Counts, expected_counts
from attngeo.errors import ParameterError
from attngeo.updates.markov_chain import MarkovChain


def from_zero(objective, marginals):
    """Equations S74, S75 with k from 0, a position before the first one counted like the first."""
    right = expected_counts(objective, marginals)
    return Counts(right.context + len(marginals) * marginals[0], right.predicted - marginals[0])


def upside_down(objective, marginals):
    right = expected_counts(objective, marginals)
    return Counts(right.predicted, right.context)


def one_half(objective, marginals):
    right = expected_counts(objective, marginals)
    return Counts(right.context / 2, right.predicted)


def with_leading_n(objective, marginals, mask_rate):
    """Equations S79, S80 as printed: ``N rho (N - 1) (1 - rho) sum_k Pr[t_k = t]``."""
    right = expected_counts(objective, marginals, mask_rate)
    return Counts(right.context * len(marginals), right.predicted * len(marginals))


def with_n_partners(objective, marginals, mask_rate):
    right = expected_counts(objective, marginals, mask_rate)
    n = len(marginals)
    return Counts(right.context * n / (n - 1), right.predicted * n / (n - 1))


def transposed_prediction(beta, x, position, role):
    """Equation S50 as printed."""
    update = token_update(beta, x, position, role)
    return update.T if role is Role.PREDICTION else update


PLANTED = {
    "S8 taken for S6": (objectives.objectives_definition, "chain_rule", objectives.both_sides),
    "S9 is least at other conditionals": (
        objectives.bidirectional_factorisation,
        "two_sided",
        lambda joint, right=objectives.two_sided: right(joint**2),
    ),
    "S8 has mass 1": (objectives.bidirectional_factorisation, "mass_of_two_bits", lambda q: 1.0),
    "a query attends to C_i": (
        objectives.attended_is_not_conditioned,
        "attended_matrix",
        lambda objective, n: torch.ones(n, n).tril(-1).bool(),
    ),
    "S50 transposed, in the sum": (contributions.token_contributions, "token_update", transposed_prediction),
    "rows taken for columns": (contributions.token_contributions, "token_column", token_row),
    "Eq. 11 with another j": (
        contributions.column_of_context,
        "token_column",
        lambda beta, x, position, role, k: token_column(beta.roll(-1, 1), x, position, role, k),
    ),
    "Eq. 12 as printed, t_i = t*": (
        contributions.row_of_context,
        "token_row",
        lambda beta, x, position, role, m: token_row(beta, x, position, Role.PREDICTION, m),
    ),
    "S43 a column": (contributions.row_is_a_row, "row_update", lambda weight, x: weight * x.unsqueeze(1)),
    "S44 a row": (contributions.column_is_a_column, "token_column", token_row),
    "S50 transposed": (contributions.update_of_predicted, "token_update", transposed_prediction),
    "two dimensions": (token_roles.dimension_of_contribution, "added_dimension", lambda n_predicted: 2),
    "a dimension for each": (token_roles.dimension_of_contribution, "added_dimension", lambda n_predicted: n_predicted),
    "terms counted once": (token_roles.every_term_twice, "by_prediction", lambda beta, x: torch.zeros(1, 1, 1)),
    "roles without transpose": (token_roles.roles_exchanged, "exchanged", lambda update: update),
    "S68 upside down": (counts.autoregressive_ratio, "expected_counts", upside_down),
    "S74, S75 from k = 0": (counts.autoregressive_ratio, "expected_counts", from_zero),
    "S69 of one half": (counts.bidirectional_ratio, "expected_counts", one_half),
    "S79 with N": (counts.masked_ratio, "expected_counts", with_leading_n),
    "S79, S80 with N": (counts.masked_expectation, "expected_counts", with_leading_n),
    "S79, S80 with N for N - 1": (counts.masked_expectation, "expected_counts", with_n_partners),
    "S73 to N - 1": (counts_in_detail.last_position_counts, "last_predicted", lambda n: n - 1),
    "S83, S84 from k = 0": (counts_in_detail.first_position_counts, "positions", lambda n: range(n + 1)),
    "S86 to N - 1": (
        counts_in_detail.marginal_from_the_future,
        "joint_of",
        lambda conditionals: reduce(torch.mul, conditionals[:-1]),
    ),
    "smaller for larger": (
        counts_in_detail.sign_of_the_ratio,
        "surplus",
        lambda counts, token: counts.predicted[:, token] - counts.context[:, token],
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_refused(name):
    check, formula, wrong = PLANTED[name]
    assert supported(check)
    assert not supported_with(check, formula, wrong)


def test_a_process_that_drifts_is_not_taken_for_a_stationary_one():
    check = counts_in_detail.correlation_is_irrelevant
    assert supported(check)
    drifting = drawn(counts_in_detail.sign_of_the_ratio)
    assert not check.of(drawn(check)._replace(stationary=drifting)).supported


def test_a_cycle_that_starts_early_is_not_taken_for_one_cut_anywhere():
    check = counts_in_detail.preceding_is_not_enough
    sample = drawn(check)
    start = torch.full_like(sample.cycle.start, 0.1 / (len(sample.cycle.start) - 1))
    start[0] = 0.9
    assert supported(check)
    assert not check.of(sample._replace(cycle=MarkovChain(start, sample.cycle.transition))).supported


def test_simulated_counts_say_how_sure_they_are():
    simulated = [c for check in (counts.autoregressive_ratio, counts.masked_ratio) for c in check().comparisons]
    assert sum(c.standard_error is not None for c in simulated) >= 8
    assert all(c.standard_error > 0 for c in simulated if c.standard_error is not None)


@pytest.mark.parametrize("rate", [0.0, 1.0, -0.1, 1.5])
def test_mask_rate_outside_the_open_interval_is_refused(as_user, rate):
    with pytest.raises(ParameterError):
        counts.masked_ratio(mask_rate=rate)


@pytest.mark.parametrize("check", [contributions.token_contributions, counts.autoregressive_ratio])
def test_one_token_is_refused(as_user, check):
    with pytest.raises(ParameterError):
        check(n_tokens=1)
