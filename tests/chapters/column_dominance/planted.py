"""Errors planted in *Being context more often*: the claim, what is replaced, by what, and what alone may fail."""

import torch
from notebook_code import notebook

from attngeo.gradients.random_updates import Coefficients, UpdateModel, power_profile

details = notebook("column_dominance_details")


def exchanged(right, *args, **named):
    """Both sides, the one in place of the other."""
    return right(*args, **named)[::-1]


def transposed(right, *args, **named):
    return right(*args, **named).mT


def without_coincidences(right, covariance, form, n_tokens):
    """N^2 for N (N + 1): a token meets itself as it meets another."""
    rows, columns = right(covariance, form, n_tokens)
    met = covariance @ form
    of_columns = n_tokens * (met.square().sum() + 2 * met.square().sum(0))
    return rows - (len(covariance) + 2) * n_tokens * met.square().sum(-1), columns - of_columns


def squares_of_context_sizes(covariance, sizes):
    """The same for errors independent of the embeddings: n^2 for n (n + 1)."""
    keys = sum(sizes) * covariance.trace() * covariance + sum(n**2 for n in sizes) * covariance @ covariance
    return covariance.diagonal() * keys.trace() / len(keys), covariance.trace() * keys.diagonal() / len(keys)


def updates(**changed):
    """Updates under the theorem's assumptions but for what is changed."""
    model = UpdateModel(power_profile(32, 1.0), n_tokens=16, n_sequences=4, **changed)
    return lambda *args, **named: model.draw(300, torch.Generator().manual_seed(0))


opened_by_outlying = updates(first_token=torch.where(torch.arange(32) < 2, 30.0, 1.0).double())


def not_centred(x, objective):
    sees = details.attended_matrix(objective, len(x)).double()
    arriving = sees / sees.sum(-1, keepdim=True).square() @ x.square()
    return arriving.sum(-1) @ x.square(), x.square().sum(-1) @ arriving


UNEVEN, CONDITION = "uniform_softmax_squared_norms", "directionality_condition"
PLANTED = [
    ("uneven_keys", UNEVEN, not_centred),
    ("uneven_keys", UNEVEN, exchanged),
    ("uneven_keys", "attended_matrix", lambda objective, n: torch.ones(n, n).bool()),
    ("uneven_keys", "normal_inputs", lambda right, first: right(1.0), "an outlying"),
    ("common_mean", "shared_mean_squared_norms", exchanged),
    ("context_ratio", "independent_ratio", details.predicted_token_ratio),
    ("context_ratio_of_dependent_coefficients", "bilinear_squared_norms", without_coincidences),
    ("independence_of_vectors", "squared_norm_of_sum", lambda s, beta: s.trace() * beta.sum() ** 2),
    ("prediction_ratio", "predicted_token_ratio", details.independent_ratio),
    ("ratio_when_all_tokens_have_one_law", "ratio_of_one_law", lambda s, k, m: details.independent_ratio(s, m)),
    ("initial_rows", "initial_moments", lambda right, n, s: (s**2 / n**0.5, *right(n, s)[1:])),
    ("initial_rows", "squared_norm_variance", lambda n, mu, s: n * (2 * s**4 + 4 * mu**2)),
    ("initial_rows", "initial_moments", lambda n, s: (s**2 / n, 0.0, s**2)),
    ("tail_order", "DISCRETE", details.DISCRETE[::-1]),
    ("net_growth", "spread_between_sides", lambda rows, columns, d: (rows**2 - columns**2) / d**2, "largest distance"),
    ("net_growth", "context_tokens", transposed, "one context token"),
    ("net_growth", "one_sequence", lambda d, *at: details.context_tokens(d, 8, *at), "tokens of the same distribution"),
    ("tail_bounds", "solved_threshold", details.printed_threshold),
    ("tail_bounds", "solved_threshold", lambda a, b, mu: mu - (a * b) ** 0.5),
    ("variance_of_norms", "context_tokens", transposed),
    (
        "equal_expected_norms",
        "vocabulary_squared_norms",
        lambda s, b: [s.trace() * s.diagonal() * b.square().sum()] * 2,
    ),
    ("autoregressive_directionality", "autoregressive", opened_by_outlying),
    ("directionality_during_training", "autoregressive", updates(coefficients=Coefficients.ERROR)),  # of the keys
    ("counts_and_kurtosis", "fourth_power_difference", lambda right, s, pairs, kurtosis: right(s, pairs, kurtosis + 2)),
    ("repeated_tokens", "closed_sequences", lambda right, *at: {law: u.mT for law, u in right(*at).items()}),
    (CONDITION, "fourth_moments", lambda right, queries, keys: right(keys, queries), "sum of fourth"),
    (CONDITION, "axis_alignment", lambda right, s: right(s) / (len(s) + 2) * len(s), "axis alignment"),
    ("independent_errors", "error_squared_norms", squares_of_context_sizes),
    ("independent_errors", "correlated_coordinates", lambda right: right().diagonal().diag(), "unevenness of the exp"),
    ("exact_gradients", "first_gradients", lambda right, of, d, n, exponent, *at: right(of, d, n, 0.0, *at)),
    ("constant_context_token", "first_tokens", lambda right, d, n, strength, *at: right(d, n, 0.0, *at)),
    (
        "first_token_of_a_decoder",
        "keys_over_queries",
        lambda right, of: right(of)[..., [1, 1]],
        "SmolLM2, inputs minus",
    ),
]
