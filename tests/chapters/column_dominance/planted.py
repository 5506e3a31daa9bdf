"""Errors planted in *Being context more often*: the claim, what is replaced, by what, and what alone may fail."""

import torch
from notebook_code import notebook

from attngeo.gradients.random_updates import (
    Coefficients,
    UpdateModel,
    independent_ratio,
    power_profile,
    vocabulary_squared_norms,
)

page, details = notebook("column_dominance"), notebook("column_dominance_details")
initial_moments, every_update = details.initial_moments, details.every_update
fourth_power_difference, shared_mean = details.fourth_power_difference, details.shared_mean_squared_norms
context_tokens, fourth_moments, axis_alignment = page.context_tokens, page.fourth_moments, page.axis_alignment
first_tokens, first_gradients = details.first_tokens, details.first_gradients
closed_sequences, correlated_coordinates = details.closed_sequences, details.correlated_coordinates
keys_over_queries, bilinear_squared_norms = details.keys_over_queries, details.bilinear_squared_norms
normal_inputs = page.normal_inputs
uniform_softmax_squared_norms = page.uniform_softmax_squared_norms


def without_both_orders(covariance, beta):
    norms = covariance.trace() * covariance.diagonal() * beta.square().sum()
    return norms, norms


def without_coincidences(covariance, form, n_tokens):
    """N^2 for N (N + 1): a token meets itself as it meets another."""
    rows, columns = bilinear_squared_norms(covariance, form, n_tokens)
    met = covariance @ form
    of_columns = n_tokens * (met.square().sum() + 2 * met.square().sum(0))
    return rows - (len(covariance) + 2) * n_tokens * met.square().sum(-1), columns - of_columns


def squares_of_context_sizes(covariance, sizes):
    """The same for errors independent of the embeddings: n^2 for n (n + 1)."""
    keys = sum(sizes) * covariance.trace() * covariance + sum(n**2 for n in sizes) * covariance @ covariance
    return covariance.diagonal() * keys.trace() / len(keys), covariance.trace() * keys.diagonal() / len(keys)


def first_powers_of_counts(variances, pairs, kurtosis):
    """``sum mu_c - sum mu_p``, which is 0: the counts of all tokens balance."""
    return 0.0


def rows_without_their_spread(queries, keys):
    squares = (s.diagonal().square().sum() for s in (queries, keys))
    return tuple(float(own * other.trace() ** 2) for own, other in zip(squares, (keys, queries), strict=True))


def opened_by(kind=Coefficients.INDEPENDENT, d=32, exponent=1.0, n_draws=300, seed=0, start=0.0):
    """Updates under the theorem's assumptions but for a first token with outlying coordinates."""
    first = torch.where(torch.arange(d) < 2, 30.0, 1.0).double()
    return of_model(UpdateModel(torch.diag(power_profile(d, exponent)), n_tokens=16, n_sequences=4, first_token=first))


def of_model(model, n_draws=300):
    return model.draw(n_draws, torch.Generator().manual_seed(0))


ERRORS = UpdateModel(
    torch.diag(power_profile(32, 1.0)), n_tokens=16, n_sequences=4, coefficients=Coefficients.ERROR
)  # of the keys


def not_centred(x, objective):
    sees = page.attended_matrix(objective, len(x)).double()
    arriving = sees / sees.sum(-1, keepdim=True).square() @ x.square()
    return arriving.sum(-1) @ x.square(), x.square().sum(-1) @ arriving


PLANTED = [
    ("uneven_keys", "uniform_softmax_squared_norms", not_centred),
    ("uneven_keys", "uniform_softmax_squared_norms", lambda *at: uniform_softmax_squared_norms(*at)[::-1]),
    ("uneven_keys", "attended_matrix", lambda objective, n: torch.ones(n, n).bool()),
    ("uneven_keys", "normal_inputs", lambda first: normal_inputs(1.0), "an outlying"),
    ("common_mean", "shared_mean_squared_norms", lambda *at: shared_mean(*at)[::-1]),
    (
        "common_mean",
        "shared_mean_squared_norms",
        lambda covariance, mean, beta: shared_mean(covariance, 0 * mean, beta),
    ),
    (  # ||B||^2 for ||b||^2: as if the coefficients of a key did not add up
        "common_mean",
        "shared_mean_squared_norms",
        lambda covariance, mean, beta: shared_mean(covariance, mean * beta.norm() / beta.sum(0).norm(), beta),
    ),
    ("context_ratio", "independent_ratio", lambda s, m: s.trace() / s[m, m]),
    ("context_ratio", "independent_ratio", details.predicted_token_ratio),
    (
        "context_ratio_of_dependent_coefficients",
        "bilinear_squared_norms",
        lambda s, form, n: (s.diagonal(), s.trace() / len(s) * torch.ones(len(s))),  # as Eq. S62
    ),
    ("context_ratio_of_dependent_coefficients", "bilinear_squared_norms", without_coincidences),
    ("independence_of_vectors", "squared_norm_of_sum", lambda s, beta: s.trace() * beta.sum() ** 2),
    ("prediction_ratio", "predicted_token_ratio", independent_ratio),
    ("ratio_when_all_tokens_have_one_law", "ratio_of_one_law", lambda s, k, m: independent_ratio(s, m)),
    ("initial_rows", "initial_moments", lambda n, s: (s**2 / n**0.5, *initial_moments(n, s)[1:])),
    ("initial_rows", "squared_norm_variance", lambda n, mu, s: n * (2 * s**4 + 4 * mu**2)),
    ("initial_rows", "initial_moments", lambda n, s: (s**2 / n, 0.0, s**2)),
    ("tail_order", "DISCRETE", details.DISCRETE[::-1]),
    (
        "net_growth",
        "spread_between_sides",
        lambda row_sum, column_sum, d: (row_sum.square() - column_sum.square()) / d**2,
        "largest distance",
    ),
    ("net_growth", "context_tokens", lambda *at, **more: context_tokens(*at, **more).mT, "one context token"),
    ("net_growth", "one_sequence", lambda d, *at: details.context_tokens(d, 8, *at), "tokens of one law"),
    ("tail_bounds", "solved_threshold", details.printed_threshold),
    ("tail_bounds", "solved_threshold", lambda a, b, mu: mu - (a * b) ** 0.5),
    ("variance_of_norms", "context_tokens", lambda *at, **more: context_tokens(*at, **more).mT),
    ("equal_expected_norms", "vocabulary_squared_norms", without_both_orders),
    (
        "equal_expected_norms",
        "vocabulary_squared_norms",
        lambda covariance, beta: vocabulary_squared_norms(covariance, beta + torch.eye(3)),
    ),
    ("autoregressive_directionality", "autoregressive", opened_by),
    ("directionality_during_training", "autoregressive", opened_by),
    ("directionality_during_training", "autoregressive", lambda *at, **more: of_model(ERRORS)),
    (
        "counts_and_kurtosis",
        "fourth_power_difference",
        lambda variances, pairs, kurtosis: fourth_power_difference(variances, pairs, kurtosis + 2),
    ),
    (
        "counts_and_kurtosis",
        "fourth_power_difference",
        lambda variances, pairs, kurtosis: fourth_power_difference(variances, pairs.T, kurtosis),
    ),
    ("counts_and_kurtosis", "fourth_power_difference", first_powers_of_counts),
    (
        "repeated_tokens",
        "closed_sequences",
        lambda *at: {law: updates.mT for law, updates in closed_sequences(*at).items()},
    ),
    (
        "directionality_condition",
        "fourth_moments",
        lambda queries, keys: fourth_moments(keys, queries),
        "sum of fourth",
    ),
    ("directionality_condition", "fourth_moments", rows_without_their_spread),
    (
        "directionality_condition",
        "axis_alignment",
        lambda moment: axis_alignment(moment) / (len(moment) + 2) * len(moment),
        "axis alignment",
    ),
    ("independent_errors", "error_squared_norms", lambda s, sizes: (s.diagonal(), s.diagonal())),
    ("independent_errors", "error_squared_norms", squares_of_context_sizes),
    (
        "independent_errors",
        "correlated_coordinates",
        lambda: correlated_coordinates().diagonal().diag(),
        "unevenness of the expected",
    ),
    (
        "exact_gradients",
        "first_gradients",
        lambda objective, d, n, exponent, *at: first_gradients(objective, d, n, 0.0, *at),
    ),
    ("constant_context_token", "first_tokens", lambda d, n, strength, *at: first_tokens(d, n, 0.0, *at)),
    ("first_token_of_a_decoder", "keys_over_queries", lambda model: 1 / keys_over_queries(model)),
    (
        "first_token_of_a_decoder",
        "keys_over_queries",
        lambda model: keys_over_queries(model)[..., [1, 1]],
        "SmolLM2, inputs less",
    ),
]
