"""Section 4.1 on decoders: near zero in the median, skew in some layers; what is planted otherwise is refused."""

import pytest
from made_training import made_arm

from attngeo.chapters.training_scores import decoders as training_decoders
from attngeo.paper import Flaw, Verdict, published

DECODERS = made_arm(objective="clm", s=(0.0, -0.2, -0.2, 0.0))
AS_STATED = [*made_arm(), *DECODERS]


def planted(monkeypatch, layers, part, **values):
    """Released numbers with other values for the models of one depth and part."""
    curves = published.released_training()
    rows = (curves["layers"] == layers) & (curves["part"] == part)
    for column, value in values.items():
        curves.loc[rows, column] = value
    monkeypatch.setattr(published, "released_training", lambda: curves)


def test_decoders_are_near_zero_with_12_layers_and_not_with_4():
    result = training_decoders.decoders_almost_non_symmetric(runs=AS_STATED)
    assert result.supported and result.verdict is Verdict.ASSUMPTIONS
    assert "4 layers end at $s$ from \N{MINUS SIGN}0.54" in result.corrected and "on 1 of 3 texts" in result.corrected
    assert "wikipedia, characters: +0." in result.corrected
    assert training_decoders.decoders_almost_non_symmetric(runs=[]).supported


@pytest.mark.parametrize(
    "change",
    [
        {"layers": 12, "part": "decoder", "s": -0.6},  # farther from 0 than any encoder
        {"layers": 12, "part": "decoder", "s_q1": 0.01},  # no quarter of the layers below 0
        {"layers": 4, "part": "decoder", "s": 0.01},  # near 0 with 4 layers too
    ],
)
def test_other_released_medians_of_decoders_would_be_noticed(monkeypatch, change):
    planted(monkeypatch, **change)
    assert not training_decoders.decoders_almost_non_symmetric(runs=AS_STATED).supported


def test_some_released_layers_are_skew_and_recorded_ones_agree_or_limit_it():
    result = training_decoders.skew_layers_on_wikipedia(runs=DECODERS)
    assert result.verdict is Verdict.HOLDS and result.supported and "middle" not in result.title
    flat = training_decoders.skew_layers_on_wikipedia(runs=made_arm(objective="clm", s=(0.1, 0.2, 0.2, 0.1)))
    assert flat.verdict is Verdict.ASSUMPTIONS and flat.supported and "In none" in flat.corrected
    other = training_decoders.skew_layers_elsewhere(runs=DECODERS)
    assert len(other.comparisons) == 4 and not any("wikipedia" in c.quantity for c in other.comparisons)


def test_a_least_layer_within_the_spread_of_random_ones_is_not_skew(monkeypatch):
    planted(monkeypatch, 12, "decoder", s_min=-0.005)
    assert not training_decoders.skew_layers_on_wikipedia(runs=[]).supported


def test_how_skew_the_most_skew_layers_are_is_told_and_not_judged():
    assert training_decoders.skew_shares() == "75\N{NO-BREAK SPACE}% to 77\N{NO-BREAK SPACE}%"
    remark = training_decoders.skew_layers_on_wikipedia(runs=[]).remark
    assert "76\N{NO-BREAK SPACE}% is skew-symmetric" in remark


def test_middle_layers_rest_on_recorded_runs_alone():
    assert training_decoders.middle_layers_on_wikipedia(runs=DECODERS).verdict is Verdict.HOLDS
    for s in ((-0.3, 0.2, 0.2, -0.3), (0.1,) * 4):  # small models whose middle is not skew: an assumption is missing
        result = training_decoders.middle_layers_on_wikipedia(runs=made_arm(objective="clm", s=s))
        assert result.verdict is Verdict.CORRECTED and result.supported
        assert "In none of the cases" in result.corrected and result.flaw is Flaw.ASSUMPTION
    nothing = training_decoders.middle_layers_elsewhere(runs=DECODERS)
    assert nothing.verdict is Verdict.UNDECIDED and nothing.supported
