"""Statements S1.8, S1.9, S1.11, S1.12, 2.3: supported as checked, refused with a wrong formula or model planted."""

import pytest
import torch

from attngeo.claims import Verdict
from attngeo.claims import dominance as growth
from attngeo.claims import dominance_condition as condition
from attngeo.claims import dominance_tails as tails
from attngeo.claims import dominance_theorem as theorem

ALL = [
    growth.context_ratio,
    growth.context_ratio_of_dependent_coefficients,
    growth.non_isotropic_covariance,
    growth.independence_of_vectors,
    growth.prediction_ratio,
    growth.prediction_row_norm,
    tails.initial_rows,
    tails.initial_norms,
    tails.factored_initial_norms,
    tails.tail_order,
    tails.tail_bounds,
    theorem.net_growth,
    theorem.variance_of_norms,
    theorem.equal_expected_norms,
    theorem.autoregressive_directionality,
    theorem.directionality_during_training,
    condition.directionality_condition,
    condition.constant_context_token,
    condition.independent_errors,
    condition.common_mean,
    condition.exact_gradients,
]


def printed_ratio(covariance, form, n_tokens):
    return covariance.diagonal(), covariance.trace() / len(covariance) * torch.ones(len(covariance))


def without_both_orders(covariance, beta):
    norms = covariance.trace() * covariance.diagonal() * beta.square().sum()
    return norms, norms


def without_square(covariance, sizes):
    return covariance.diagonal(), covariance.diagonal()


OUTLYING = torch.ones(32, dtype=torch.float64)
OUTLYING[:2] = 30

PLANTED = {
    "S62 without d": (growth.context_ratio, {"predicted": lambda s, m: float(s.trace() / s[m, m])}),
    "S62 turned round": (growth.context_ratio, {"predicted": growth.prediction_ratio_formula}),
    "S62 for dependent coefficients": (growth.context_ratio_of_dependent_coefficients, {"predicted": printed_ratio}),
    "S63 without correlation": (growth.non_isotropic_covariance, {"correlation": 0.0}),
    "S57 with cross terms": (
        growth.independence_of_vectors,
        {"predicted": lambda s, beta: float(s.trace() * beta.sum() ** 2)},
    ),
    "S67 taken for S62": (growth.prediction_ratio, {"predicted": growth.independent_ratio}),
    "S66 without beta": (growth.prediction_row_norm, {"predicted": lambda beta: 1.0}),
    "sigma^2 / sqrt(n)": (tails.initial_rows, {"predicted_mean_variance": lambda n, s: s**2 / n**0.5}),
    "n (2 s^4 + 4 mu^2)": (
        tails.initial_rows,
        {"predicted_norm_variance": lambda n, mu, s: n * (2 * s**4 + 4 * mu**2)},
    ),
    "S99, S100": (tails.initial_norms, {"predicted": lambda n, s: (0.0, s**2)}),
    "S100 alone": (tails.initial_norms, {"predicted": lambda n, s: (tails.chi_moments(n, s)[0], s**2)}),
    "independent entries of W_qk": (tails.factored_initial_norms, {"predicted": lambda d, d_head: 2 / d}),
    "the lemma with its laws exchanged": (tails.tail_order, {"wide": tails.FAR, "far": tails.WIDE}),
    "S93 as printed": (tails.tail_bounds, {"threshold": tails.printed_threshold}),
    "columns gain more": (theorem.net_growth, {"claimed": 0.01}),
    "S102 from S101": (theorem.variance_of_norms, {"sign": -1.0}),
    "norms of one order": (theorem.equal_expected_norms, {"predicted": without_both_orders}),
    "an outlying first token": (theorem.autoregressive_directionality, {"first_token": OUTLYING}),
    "an outlying first token, 2.3": (theorem.directionality_during_training, {"first_token": OUTLYING}),
    "errors of the keys": (theorem.directionality_during_training, {"coefficients": "error"}),
    "rows and columns exchanged": (
        condition.directionality_condition,
        {"predicted": lambda q, k: condition.fourth_moments(k, q)},
    ),
    "no first token": (condition.constant_context_token, {"strength": 0.0}),
    "Sigma on both sides": (condition.independent_errors, {"predicted": without_square}),
    "mean zero": (condition.common_mean, {"size": 0.0}),
    "equal variances": (condition.exact_gradients, {"exponent": 0.0}),
}


@pytest.mark.parametrize("check", ALL, ids=lambda f: f.__name__)
def test_supported(check):
    result = check()
    assert result.supported, [c for c in result.comparisons if not c.holds]
    assert (result.flaw is None) == (result.verdict is Verdict.HOLDS)
    assert result.verdict is Verdict.HOLDS or (result.printed and result.corrected)


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_refused(name):
    check, wrong = PLANTED[name]
    assert not check(**wrong).supported


def test_every_random_check_states_its_standard_error():
    for check in (growth.context_ratio, theorem.autoregressive_directionality, condition.independent_errors):
        assert all(c.standard_error for c in check().comparisons)


@pytest.mark.parametrize("check", [theorem.autoregressive_directionality, condition.directionality_condition])
@pytest.mark.parametrize("seed", [11, 12])
def test_other_seeds(check, seed):
    result = check(seed=seed)
    assert result.supported, [c for c in result.comparisons if not c.holds]
