"""Statements S1.8, S1.9, S1.11, S1.12, 2.3: supported as checked, refused with a wrong formula or model planted."""

import pytest
import torch

from attngeo.chapters.column_dominance import condition, figures, tails, theorem
from attngeo.chapters.column_dominance import initial_norms as norms
from attngeo.chapters.column_dominance import norm_ratios as growth
from attngeo.chapters.column_dominance.settings import (
    alignment_sweep,
    directionalities,
    log_unevenness,
    settings,
    summary,
    tail_gap,
)
from attngeo.errors import ParameterError
from attngeo.updates.random_updates import context_updates, power_profile


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
    "sigma^2 / sqrt(n)": (norms.initial_rows, {"predicted_mean_variance": lambda n, s: s**2 / n**0.5}),
    "n (2 s^4 + 4 mu^2)": (
        norms.initial_rows,
        {"predicted_norm_variance": lambda n, mu, s: n * (2 * s**4 + 4 * mu**2)},
    ),
    "S99, S100": (norms.initial_norms, {"predicted": lambda n, s: (0.0, s**2)}),
    "S100 alone": (norms.initial_norms, {"predicted": lambda n, s: (norms.chi_moments(n, s)[0], s**2)}),
    "independent entries of W_qk": (norms.factored_initial_norms, {"predicted": lambda d, d_head: 2 / d}),
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
    "equal variances": (condition.exact_gradients, {"exponent": 0.0, "n_draws": 10}),
}


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


def test_settings_and_their_summary():
    generator = torch.Generator().manual_seed(0)
    kinds = settings(16, 8, 4, 1.0, 60, generator)
    frame = summary(kinds).set_index("setting")
    assert list(frame.index) == list(kinds)
    assert frame.loc["one context token", "d"] > 4 * frame.loc["one context token", "d_error"]
    assert frame.loc["masked", "log_unevenness"] > 4 * frame.loc["masked", "log_unevenness_error"]
    assert abs(frame.loc["bidirectional", "log_unevenness"]) < 4 * frame.loc["bidirectional", "log_unevenness_error"]
    for batch in kinds.values():
        assert batch.shape == (60, 16, 16)


def test_transposing_turns_the_measures_round():
    updates = torch.randn(5, 12, 12, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    torch.testing.assert_close(log_unevenness(updates.mT), -log_unevenness(updates))
    torch.testing.assert_close(tail_gap(updates.mT), -tail_gap(updates))
    assert directionalities(updates.mT) == [-d for d in directionalities(updates)]


def test_sweep_follows_the_alignment():
    sweep = alignment_sweep(20, (0.0, 1.0), 160, torch.Generator().manual_seed(0))
    assert (sweep["log_alignment"] - sweep["log_moments"]).abs().max() < 0.15
    assert sweep.query("family == 'uneven keys' and exponent == 1")["d"].item() < -0.2
    assert sweep.query("family == 'uneven queries' and exponent == 1")["d"].item() > 0.2


def test_a_sweep_needs_draws(as_user):
    with pytest.raises(ParameterError, match="at least 2"):
        alignment_sweep(8, (0.0,), 1, torch.Generator())


def test_figures_speak_of_their_data():
    generator = torch.Generator().manual_seed(0)
    covariance = torch.diag(power_profile(8, 1.0))
    form = torch.randn(8, 8, generator=generator, dtype=torch.float64)
    plain = context_updates(covariance, 6, 200, generator)
    ratios = figures.growth_ratios(covariance, plain, context_updates(covariance, 6, 200, generator, form), form, 6)
    assert "6 tokens" in ratios.caption and "row 8" in ratios.alt
    histograms = figures.norm_histograms({"one\nkind": plain, "turned": plain.mT})
    assert "one kind" in histograms.caption and "turned" in histograms.alt
    assert "0.05" in figures.tails(tails.WIDE, tails.FAR).caption
    sweep = alignment_sweep(8, (0.0, 1.0), 16, generator)
    assert "generic basis" in figures.directionality_by_alignment(sweep).alt
