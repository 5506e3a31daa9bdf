"""Statements S1.8, S1.9, S1.11, S1.12, 2.3: supported as checked, refused with a wrong formula or model planted."""

import pytest
import torch
from planting import drawn, supported, supported_with

from attngeo.chapters.column_dominance import (
    condition,
    initial_norms,
    norm_ratios,
    repeated_tokens,
    shared_mean,
    tails,
    theorem,
)
from attngeo.chapters.column_dominance.expected_norms import (
    fourth_moments,
    fourth_power_difference,
    independent_ratio,
    shared_mean_squared_norms,
)
from attngeo.chapters.column_dominance.measures import axis_alignment
from attngeo.updates.random_updates import Coefficients, Law, UpdateModel, power_profile


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
    diagonal = pairs.diagonal().diag()
    return fourth_power_difference(variances, diagonal, kurtosis, sixth)


def mean_on_the_key_side(covariance, mean, beta):
    return shared_mean_squared_norms(covariance, mean, beta)[::-1]


def without_the_mean(covariance, mean, beta):
    return shared_mean_squared_norms(covariance, 0 * mean, beta)


def mean_times_all_coefficients(covariance, mean, beta):
    """``||B||^2`` for ``||b||^2``: as if the coefficients of a key did not add up."""
    return shared_mean_squared_norms(covariance, mean * beta.norm() / beta.sum(0).norm(), beta)


PLANTED = {
    "a shared mean shows in columns": (shared_mean.common_mean, "shared_mean_squared_norms", mean_on_the_key_side),
    "a shared mean shows nowhere": (shared_mean.common_mean, "shared_mean_squared_norms", without_the_mean),
    "a shared mean with all coefficients": (
        shared_mean.common_mean,
        "shared_mean_squared_norms",
        mean_times_all_coefficients,
    ),
    "S62 without d": (norm_ratios.context_ratio, "independent_ratio", lambda s, m: s.trace() / s[m, m]),
    "S62 turned round": (norm_ratios.context_ratio, "independent_ratio", norm_ratios.predicted_token_ratio),
    "S62 for dependent coefficients": (
        norm_ratios.context_ratio_of_dependent_coefficients,
        "bilinear_squared_norms",
        printed_ratio,
    ),
    "N^2 for N (N + 1)": (
        norm_ratios.context_ratio_of_dependent_coefficients,
        "bilinear_squared_norms",
        without_coincidences,
    ),
    "S57 with cross terms": (
        norm_ratios.independence_of_vectors,
        "squared_norm_of_sum",
        lambda s, beta: s.trace() * beta.sum() ** 2,
    ),
    "S67 taken for S62": (norm_ratios.prediction_ratio, "predicted_token_ratio", independent_ratio),
    "S66 without beta": (
        norm_ratios.prediction_row_norm,
        "squared_norm_of_sum",
        lambda s, beta: s.trace() * len(beta),
    ),
    "sigma^2 / sqrt(n)": (initial_norms.initial_rows, "entry_mean_variance", lambda n, s: s**2 / n**0.5),
    "n (2 s^4 + 4 mu^2)": (
        initial_norms.initial_rows,
        "squared_norm_variance",
        lambda n, mu, s, kurtosis: n * ((kurtosis - 1) * s**4 + 4 * mu**2),
    ),
    "S99, S100": (initial_norms.initial_norms, "chi_moments", lambda n, s: (0.0, s**2)),
    "S100 alone": (
        initial_norms.initial_norms,
        "chi_moments",
        lambda n, s, right=initial_norms.chi_moments: (right(n, s)[0], s**2),
    ),
    "independent entries of W_qk": (
        initial_norms.factored_initial_norms,
        "factored_norm_variance",
        lambda d, d_head: 2 / d,
    ),
    "factors without their product": (
        initial_norms.factored_initial_norms,
        "factored_norm_variance",
        lambda d, d_head: 2 / d + 2 / d_head,
    ),
    "S93 as printed": (tails.tail_bounds, "solved_threshold", tails.printed_threshold),
    "sums of norms like sums of squares": (theorem.net_growth, "norm_sum_ratio", lambda covariance: 1.0),
    "the larger sum has the larger spread": (
        theorem.net_growth,
        "spread_between_sides",
        lambda row_sum, column_sum, d: (row_sum.square() - column_sum.square()) / d**2,
    ),
    "S62 for tokens of one law": (
        norm_ratios.ratio_when_all_tokens_have_one_law,
        "ratio_of_one_law",
        lambda s, k, m: independent_ratio(s, m),
    ),
    "counts without the kurtosis": (
        repeated_tokens.counts_and_kurtosis,
        "fourth_power_difference",
        lambda variances, pairs, kurtosis, sixth: fourth_power_difference(variances, pairs, kurtosis + 2, sixth),
    ),
    "mu_c and mu_p exchanged": (
        repeated_tokens.counts_and_kurtosis,
        "fourth_power_difference",
        lambda variances, pairs, kurtosis, sixth: fourth_power_difference(variances, pairs.T, kurtosis, sixth),
    ),
    "counts not squared": (repeated_tokens.counts_and_kurtosis, "fourth_power_difference", first_powers_of_counts),
    "no pairs of equal tokens": (
        repeated_tokens.counts_and_kurtosis,
        "pair_counts",
        lambda tokens, right=repeated_tokens.pair_counts: right(tokens).fill_diagonal_(0),
    ),
    "sixth moment of a Gaussian": (
        repeated_tokens.counts_and_kurtosis,
        "fourth_power_difference",
        lambda variances, pairs, kurtosis, sixth: fourth_power_difference(variances, pairs, kurtosis, 15.0),
    ),
    "S92 solved below the mean": (
        tails.tail_bounds,
        "solved_threshold",
        lambda sigma_a, sigma_b, mu: mu - (sigma_a * sigma_b) ** 0.5,
    ),
    "norms of one order": (theorem.equal_expected_norms, "vocabulary_squared_norms", without_both_orders),
    "rows and columns exchanged": (
        condition.directionality_condition,
        "fourth_moments",
        lambda queries, keys: fourth_moments(keys, queries),
    ),
    "Gaussian rows without their spread": (
        condition.directionality_condition,
        "fourth_moments",
        lambda queries, keys: (
            float(queries.diagonal().square().sum() * keys.trace() ** 2),
            float(keys.diagonal().square().sum() * queries.trace() ** 2),
        ),
    ),
    "D without its normalisation": (
        condition.directionality_condition,
        "axis_alignment",
        lambda moment: axis_alignment(moment) / (len(moment) + 2) * len(moment),
    ),
    "Sigma on both sides": (
        condition.independent_errors,
        "error_squared_norms",
        lambda s, sizes: (s.diagonal(), s.diagonal()),
    ),
    "n^2 for n (n + 1)": (condition.independent_errors, "error_squared_norms", squares_of_context_sizes),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_refused(name):
    check, formula, wrong = PLANTED[name]
    assert supported(check)
    assert not supported_with(check, formula, wrong)


def test_dependent_coefficients_follow_the_first_row_below_the_mean_variance():
    s = drawn(norm_ratios.context_ratio_of_dependent_coefficients)
    below = s.covariance.diagonal() < s.covariance.diagonal().mean()
    assert s.row == below.nonzero()[0] > 0


OUTLYING = torch.ones(32, dtype=torch.float64)
OUTLYING[:2] = 30


def autoregressive_updates_with(start=0.0, **model):
    """What `theorem.autoregressive_updates` draws, under other assumptions."""
    generator = torch.Generator().manual_seed(0)
    covariance = torch.diag(power_profile(32, 1.0))
    updates = UpdateModel(covariance, n_tokens=16, n_sequences=4, **model).draw(300, generator)
    return {Coefficients.INDEPENDENT: theorem.started(updates, start, generator)}


WRONG_SAMPLES = {
    "S63 without correlation": (norm_ratios.non_isotropic_covariance, lambda s: torch.eye(len(s)).double()),
    "the lemma with its laws exchanged": (tails.tail_order, lambda s: s._replace(wide=s.far, far=s.wide)),
    "S102 from S101": (theorem.variance_of_norms, lambda s: s._replace(updates=s.updates.mT)),
    "an outlying first token": (
        theorem.autoregressive_directionality,
        lambda s: autoregressive_updates_with(first_token=OUTLYING),
    ),
    "an outlying first token, 2.3": (
        theorem.directionality_during_training,
        lambda s: autoregressive_updates_with(0.5, first_token=OUTLYING),
    ),
    "errors of the keys": (
        theorem.directionality_during_training,
        lambda s: autoregressive_updates_with(0.5, coefficients=Coefficients.ERROR),
    ),
    "a token that opens every sequence": (
        repeated_tokens.repeated_tokens,
        lambda s: s._replace(updates={law: batch.mT for law, batch in s.updates.items()}),
    ),
    "one context token for a whole sequence": (
        theorem.net_growth,
        lambda s: s._replace(autoregressive=s.context.updates[:500]),
    ),
    "isotropic embeddings beside a first token": (
        condition.constant_context_token,
        lambda s: s._replace(among_uneven=s.by_law[Law.GAUSSIAN]),
    ),
    "independent coordinates": (
        condition.independent_errors,
        lambda s: s._replace(correlated=s.correlated.diagonal().diag()),
    ),
    "no first token": (condition.constant_context_token, lambda s: condition.constant_token(strength=0.0)),
    "mean zero": (shared_mean.common_mean, lambda s: shared_mean.updates_with_common_mean(size=0.0)),
    "equal variances": (condition.exact_gradients, lambda s: s._replace(unequal=dict.fromkeys(s.unequal, s.equal))),
}


@pytest.mark.parametrize("name", WRONG_SAMPLES)
def test_a_sample_of_the_wrong_model_is_refused(name):
    check, wrong = WRONG_SAMPLES[name]
    assert supported(check)
    assert not check.of(wrong(drawn(check))).supported


def test_every_random_check_states_its_standard_error():
    for check in (norm_ratios.context_ratio, theorem.autoregressive_directionality):
        assert all(c.standard_error for c in check.of(drawn(check)).comparisons)


@pytest.mark.parametrize("check", [theorem.autoregressive_directionality, condition.directionality_condition])
@pytest.mark.parametrize("seed", [11, 12])
def test_other_seeds(check, seed):
    result = check(seed=seed)
    assert result.supported, [c for c in result.comparisons if not c.holds]
