"""Section 4.1 on decoders: near zero in the median, skew in some layers; what is planted otherwise is refused."""

import pytest
from made_training import made_arm, made_large_arm
from planting import drawn, supported

from attngeo.chapters.training_scores import decoders, published_scores
from attngeo.paper import Verdict

DECODERS = made_arm(objective="clm", s=(0.0, -0.2, -0.2, 0.0))
AS_STATED = [*made_arm(), *DECODERS]


def planted(evidence, layers, **values):
    """Other released numbers of the decoders of one depth."""
    curves = evidence.released.copy()
    rows = (curves["layers"] == layers) & (curves["part"] == "decoder")
    for column, value in values.items():
        curves.loc[rows, column] = value
    return evidence._replace(released=curves)


def test_decoders_are_near_zero_with_12_layers_and_not_with_4():
    result = decoders.decoders_almost_non_symmetric(runs=AS_STATED)
    assert result.supported and result.verdict is Verdict.HOLDS
    around, nearer = result.comparisons[3:5]
    assert (around.measured, nearer.measured, nearer.expected) == (3, 1, 3)
    assert result.comparisons[-1].measured > 0  # of the recorded runs
    assert decoders.decoders_almost_non_symmetric(runs=[]).supported


@pytest.mark.parametrize(
    "change",
    [
        {"layers": 12, "s": -0.6},  # farther from 0 than any encoder
        {"layers": 12, "s_q1": 0.01},  # no quarter of the layers below 0
        {"layers": 4, "s": 0.01},  # near 0 with 4 layers too
    ],
    ids=str,
)
def test_other_released_medians_of_decoders_would_be_noticed(change):
    check = decoders.decoders_almost_non_symmetric
    assert supported(check) and not check.of(planted(drawn(check), **change)).supported


def test_some_released_layers_are_skew_and_recorded_ones_agree_or_limit_it():
    result = decoders.skew_layers_on_wikipedia(runs=DECODERS)
    assert result.verdict is Verdict.HOLDS and result.supported
    for made, verdict in ((made_arm, Verdict.HOLDS), (made_large_arm, Verdict.ASSUMPTION)):
        flat = decoders.skew_layers_on_wikipedia(runs=made(objective="clm", s=(0.1, 0.2, 0.2, 0.1)))
        assert flat.verdict is verdict and flat.supported and flat.comparisons[-1].measured > 0
        assert "wikipedia, characters: " in flat.corrected + flat.remark
    other = decoders.skew_layers_elsewhere(runs=DECODERS)
    assert len(other.comparisons) == 2 and not any("wikipedia" in c.quantity for c in other.comparisons)


@pytest.mark.parametrize("check", [decoders.skew_layers_on_wikipedia, decoders.skew_layers_elsewhere])
def test_a_least_layer_within_the_spread_of_random_ones_is_not_skew(check):
    assert not check.of(planted(drawn(check, runs=()), 12, s_min=-0.005)).supported


def test_how_skew_the_most_skew_layers_are_is_told_and_not_judged():
    curves = published_scores.released_training()
    assert decoders.skew_shares(curves) == "75\N{NO-BREAK SPACE}% to 77\N{NO-BREAK SPACE}%"
    assert decoders.skew_shares(curves[curves["dataset"] == "wikipedia"]) == "76\N{NO-BREAK SPACE}%"
