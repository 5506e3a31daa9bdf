"""The sets of assumptions side by side, and the figures of them."""

import pytest
import torch

from attngeo.chapters.column_dominance import figures
from attngeo.chapters.column_dominance.assumptions import alignment_sweep, dominance_table, updates_by_assumption
from attngeo.chapters.column_dominance.measures import directionalities, log_unevenness, tail_gap
from attngeo.chapters.column_dominance.models import context_updates
from attngeo.chapters.column_dominance.tails import example_laws
from attngeo.errors import ParameterError
from attngeo.updates.random_updates import power_profile


def test_updates_by_assumption_and_their_table():
    generator = torch.Generator().manual_seed(0)
    kinds = updates_by_assumption(16, 8, 4, 1.0, 60, generator)
    frame = dominance_table(kinds).set_index("setting")
    assert list(frame.index) == list(kinds)
    assert frame.loc["isotropic context tokens", "d"] > 4 * frame.loc["isotropic context tokens", "d_error"]
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
    with pytest.raises(ParameterError):
        alignment_sweep(8, (0.0,), 1, torch.Generator())


def test_figures_speak_of_their_data():
    generator = torch.Generator().manual_seed(0)
    covariance = torch.diag(power_profile(8, 1.0))
    form = torch.randn(8, 8, generator=generator, dtype=torch.float64)
    plain = context_updates(covariance, 6, 200, generator)
    ratios = figures.growth_ratios(covariance, plain, context_updates(covariance, 6, 200, generator, form), form, 6)
    assert "6 tokens" in ratios.caption and "row 8" in ratios.alt
    histograms = figures.norm_histograms({"one\nkind": plain, "turned": plain.mT})
    assert "one kind" in histograms.alt and "turned" in histograms.alt
    assert "0.05" in figures.tails(example_laws()).caption
    sweep = alignment_sweep(8, (0.0, 1.0), 16, generator)
    assert "generic basis" in figures.directionality_by_alignment(sweep).alt
