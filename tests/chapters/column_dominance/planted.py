"""Errors planted in *Being context more often*: the claim, what is replaced, by what, and what alone may fail."""

import torch
from notebook_code import notebook

from attngeo.gradients.norms import independent_ratio, vocabulary_squared_norms
from attngeo.gradients.random_updates import Coefficients, Law, UpdateModel, power_profile

page, details = notebook("column_dominance"), notebook("column_dominance_details")
chi_moments, pair_counts, every_update = details.chi_moments, details.pair_counts, details.every_update
fourth_power_difference, shared_mean = details.fourth_power_difference, details.shared_mean_squared_norms
context_tokens, fourth_moments, axis_alignment = page.context_tokens, page.fourth_moments, page.axis_alignment
first_tokens, first_gradients = details.first_tokens, details.first_gradients
closed_sequences, correlated_coordinates = details.closed_sequences, details.correlated_coordinates
updates_with_mean, keys_over_queries = details.updates_with_mean, details.keys_over_queries
normal_inputs = page.normal_inputs
uniform_softmax_squared_norms = page.uniform_softmax_squared_norms


def printed_ratio(covariance, form, n_tokens):
    return covariance.diagonal(), covariance.trace() / len(covariance) * torch.ones(len(covariance))


def without_both_orders(covariance, beta):
    norms = covariance.trace() * covariance.diagonal() * beta.square().sum()
    return norms, norms


def without_coincidences(covariance, form, n_tokens):
    """N^2 for N (N + 1): a token meets itself as it meets another."""
    d, spread = len(covariance), form.T @ covariance @ form
    of_rows = n_tokens**2 * (covariance @ form).square().sum(-1)
    of_rows = (d + 2) * (of_rows + n_tokens * covariance.diagonal() * spread.trace())
    inner = n_tokens**2 * covariance @ covariance + n_tokens * covariance.trace() * covariance
    g = form.T @ inner @ form
    return of_rows, g.trace() + 2 * g.diagonal()


def squares_of_context_sizes(covariance, sizes):
    """The same for errors independent of the embeddings: n^2 for n (n + 1)."""
    keys = sum(sizes) * covariance.trace() * covariance + sum(n**2 for n in sizes) * covariance @ covariance
    return covariance.diagonal() * keys.trace() / len(keys), covariance.trace() * keys.diagonal() / len(keys)


def first_powers_of_counts(variances, pairs, kurtosis, sixth):
    """``sum mu_c - sum mu_p``, which is 0: the counts of all tokens balance."""
    return fourth_power_difference(variances, pairs.diagonal().diag(), kurtosis, sixth)


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


def added_up_in_length(covariance, mean, beta):
    """||B||^2 for ||b||^2: as if the coefficients of a key did not add up."""
    return shared_mean(covariance, mean * beta.norm() / beta.sum(0).norm(), beta)


def one_context_token(d, exponent, n_draws, seed):
    return details.context_tokens(d, 8, exponent, 4 * n_draws, 0)[:n_draws]


def as_of_two_tokens(tokens, *law):
    return every_update((0, 1) if tokens == (0, 0) else tokens, *law)


def equal_tokens_among_the_others(covariance, beta):
    return vocabulary_squared_norms(covariance, beta + torch.eye(3))


def gaussian_beside_a_first(*at):
    return (updates := first_tokens(*at)) | {"among uneven": updates[Law.GAUSSIAN]}


def not_centred(x, objective):
    sees = page.attended_matrix(objective, len(x)).double()
    arriving = sees / sees.sum(-1, keepdim=True).square() @ x.square()
    return arriving.sum(-1) @ x.square(), x.square().sum(-1) @ arriving


REPEATED = "counts_and_kurtosis"
FIRST = "first_token_of_a_decoder"
INDEPENDENT = "independent_errors"
DEPENDENT = "context_ratio_of_dependent_coefficients"

PLANTED = [
    ("uneven_keys", "uniform_softmax_squared_norms", not_centred),
    ("uneven_keys", "uniform_softmax_squared_norms", lambda *at: uniform_softmax_squared_norms(*at)[::-1]),
    ("uneven_keys", "attended_matrix", lambda objective, n: torch.ones(n, n).bool()),
    ("uneven_keys", "normal_inputs", lambda first: normal_inputs(1.0), "an outlying"),
    ("common_mean", "shared_mean_squared_norms", lambda *at: shared_mean(*at)[::-1]),
    ("common_mean", "shared_mean_squared_norms", lambda s, mean, beta: shared_mean(s, 0 * mean, beta)),
    ("common_mean", "shared_mean_squared_norms", added_up_in_length),
    ("common_mean", "updates_with_mean", lambda d, n, size, *at: updates_with_mean(d, n, 0.0, *at), r"$\sum_j"),
    ("context_ratio", "independent_ratio", lambda s, m: s.trace() / s[m, m]),
    ("context_ratio", "independent_ratio", details.predicted_token_ratio),
    (DEPENDENT, "bilinear_squared_norms", printed_ratio),
    (DEPENDENT, "bilinear_squared_norms", without_coincidences),
    ("independence_of_vectors", "squared_norm_of_sum", lambda s, beta: s.trace() * beta.sum() ** 2),
    ("non_isotropic_covariance", "equal_variances", lambda d: torch.eye(d).double()),
    ("prediction_ratio", "predicted_token_ratio", independent_ratio),
    ("prediction_row_norm", "squared_norm_of_sum", lambda s, beta: s.trace() * len(beta)),
    ("ratio_when_all_tokens_have_one_law", "ratio_of_one_law", lambda s, k, m: independent_ratio(s, m)),
    ("initial_rows", "entry_mean_variance", lambda n, s: s**2 / n**0.5),
    ("initial_rows", "squared_norm_variance", lambda n, mu, s, kurtosis: n * ((kurtosis - 1) * s**4 + 4 * mu**2)),
    ("initial_norms", "chi_moments", lambda n, s: (0.0, s**2)),
    ("initial_norms", "chi_moments", lambda n, s: (chi_moments(n, s)[0], s**2), "variance"),
    ("factored_initial_norms", "factored_norm_variance", lambda d, d_head: 2 / d),
    ("factored_initial_norms", "factored_norm_variance", lambda d, d_head: 2 / d + 2 / d_head),
    ("tail_order", "DISCRETE", details.DISCRETE[::-1]),
    ("tail_bounds", "solved_threshold", details.printed_threshold),
    ("tail_bounds", "solved_threshold", lambda a, b, mu: mu - (a * b) ** 0.5),
    ("net_growth", "norm_sum_ratio", lambda covariance: 1.0),
    ("net_growth", "spread_between_sides", lambda r, c, d: (r**2 - c**2) / d**2, "largest distance"),
    ("net_growth", "one_sequence", one_context_token, "tokens of one law"),
    ("variance_of_norms", "context_tokens", lambda *at, **more: context_tokens(*at, **more).mT),
    ("equal_expected_norms", "vocabulary_squared_norms", without_both_orders),
    ("equal_expected_norms", "vocabulary_squared_norms", equal_tokens_among_the_others),
    ("autoregressive_directionality", "autoregressive", opened_by),
    ("directionality_during_training", "autoregressive", opened_by),
    ("directionality_during_training", "autoregressive", lambda *at, **more: of_model(ERRORS)),
    (REPEATED, "fourth_power_difference", lambda v, p, kurtosis, m6: fourth_power_difference(v, p, kurtosis + 2, m6)),
    (REPEATED, "fourth_power_difference", lambda v, pairs, *m: fourth_power_difference(v, pairs.T, *m)),
    (REPEATED, "fourth_power_difference", first_powers_of_counts),
    (REPEATED, "pair_counts", lambda tokens: pair_counts(tokens).fill_diagonal_(0)),
    (REPEATED, "fourth_power_difference", lambda *at: fourth_power_difference(*at[:-1], 15.0)),
    (REPEATED, "every_update", as_of_two_tokens, "tokens aa"),
    ("repeated_tokens", "closed_sequences", lambda *at: {law: u.mT for law, u in closed_sequences(*at).items()}),
    ("directionality_condition", "fourth_moments", lambda *at: fourth_moments(*at[::-1]), "sum of fourth"),
    ("directionality_condition", "fourth_moments", rows_without_their_spread),
    ("directionality_condition", "axis_alignment", lambda m: axis_alignment(m) * len(m) / (len(m) + 2), "axis al"),
    (INDEPENDENT, "error_squared_norms", lambda s, sizes: (s.diagonal(), s.diagonal())),
    (INDEPENDENT, "error_squared_norms", squares_of_context_sizes),
    (INDEPENDENT, "correlated_coordinates", lambda: correlated_coordinates().diagonal().diag(), "unevenness of the ex"),
    ("exact_gradients", "first_gradients", lambda o, d, n, exponent, *at: first_gradients(o, d, n, 0.0, *at)),
    ("constant_context_token", "first_tokens", lambda d, n, strength, *at: first_tokens(d, n, 0.0, *at)),
    ("constant_context_token", "first_tokens", gaussian_beside_a_first, "gaussian embedding of"),
    (FIRST, "keys_over_queries", lambda model: 1 / keys_over_queries(model)),
    (FIRST, "keys_over_queries", lambda model: keys_over_queries(model)[..., [1, 1]], "SmolLM2, inputs less"),
]
