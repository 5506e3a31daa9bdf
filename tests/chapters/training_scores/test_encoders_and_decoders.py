"""Section 4.1, encoders against decoders: what was planted the other way round is told."""

from dataclasses import replace
from functools import partial

import pytest
from made_training import made_arm, made_large_arm
from planting import drawn, supported, supported_with

from attngeo.chapters.training_scores import encoders_and_decoders
from attngeo.chapters.training_scores.encoders_and_decoders import at_equal_steps, at_the_end
from attngeo.chapters.training_scores.evidence import encoders_beside_decoders, evidence
from attngeo.paper import Verdict
from attngeo.paper.checks import Standing

SKEW = (0.0, -0.2, -0.2, 0.0)
AS_STATED = [*made_large_arm(), *made_large_arm(objective="clm", s=SKEW, d=(-0.2, -0.4, -0.7, -0.8))]
ALIKE = [
    *made_large_arm(s=(0.1,) * 4, d=(-0.2,) * 4, corpus="jigsaw", noise=0.05),
    *made_large_arm(s=(0.1,) * 4, d=(-0.2,) * 4, corpus="jigsaw", noise=0.05, objective="clm"),
]
symmetry, directionality = encoders_and_decoders.symmetry_in_training, encoders_and_decoders.directionality_in_training


def with_released(evidence, score, **medians):
    """Other released medians at the last step, by part."""
    curves = evidence.released.copy()
    for part, value in medians.items():
        curves.loc[(curves["part"] == part) & (curves["step"] == curves["step"].max()), score] = value
    return evidence._replace(released=curves)


def test_runs_that_do_as_the_paper_says_support_it():
    result = symmetry(runs=AS_STATED)
    assert result.verdict is Verdict.HOLDS and result.supported
    assert any("wikipedia, characters" in c.quantity for c in result.comparisons)


def test_a_text_without_a_difference_is_an_assumption_and_the_noise_is_told():
    result = symmetry(runs=[*AS_STATED, *ALIKE])
    assert result.verdict is Verdict.ASSUMPTION and result.supported
    assert "jigsaw, characters" in result.corrected and "wikipedia, characters" in result.corrected
    low, high = (c for c in result.comparisons if "jigsaw, characters" in c.quantity)
    assert low.measured < 0 < high.measured


def test_a_difference_of_the_other_sign_everywhere_limits_what_the_released_medians_show():
    result = symmetry(runs=[*made_large_arm(objective="clm"), *made_large_arm(s=SKEW)])
    assert result.verdict is Verdict.ASSUMPTION and result.supported
    small = symmetry(runs=[*made_arm(objective="clm"), *made_arm(s=SKEW)])
    assert small.verdict is Verdict.HOLDS and small.supported and "wikipedia, characters" in small.remark


def test_two_seeds_give_no_interval_and_decide_nothing():
    result = symmetry(runs=[*made_arm(2, objective="clm"), *made_arm(2, s=SKEW)])
    assert result.verdict is Verdict.HOLDS and len(result.comparisons) == 2  # of the released medians


def test_intervals_that_all_hold_zero_decide_nothing():
    result = symmetry(runs=[*made_large_arm(noise=3.0), *made_large_arm(objective="clm", noise=3.0)])
    assert result.verdict is Verdict.HOLDS and len(result.comparisons) == 4
    assert "wikipedia, characters" in result.remark


SMALL = [*made_arm(), *made_arm(objective="clm", d=(-0.9,) * 4)]
REVERSED = [*made_large_arm(d=(-0.9,) * 4), *made_large_arm(objective="clm")]


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [([], Verdict.UNDECIDED), (SMALL, Verdict.UNDECIDED), (AS_STATED, Verdict.HOLDS), (REVERSED, Verdict.CHANGES)],
    ids=["none", "small", "as stated", "reversed"],
)
def test_released_pairs_of_one_seed_do_not_decide_on_directionality_and_large_runs_do(runs, verdict):
    result = directionality(runs=runs)
    assert result.supported and result.verdict is verdict
    assert "2 of their 3 pairs end as stated" in result.remark and "jigsaw, by 0.06" in result.remark
    rows = {c.quantity.partition(":")[0]: c.standing for c in result.comparisons if c.key == "released"}
    assert [str(standing.value) for standing in rows.values()] == ["undecided", "agrees", "undecided"]
    recorded = {c.standing for c in result.comparisons if c.key == "recorded"}
    assert (recorded == {Standing.TOLD}) == (runs is SMALL)


@pytest.mark.parametrize("medians", [{"decoder": -1.0}, {"encoder": -1.0}, {"decoder": 0.5}], ids=str)
def test_directionality_clear_in_all_released_pairs_either_way_would_be_noticed(medians):
    assert supported(directionality)
    assert not directionality.of(with_released(drawn(directionality), "d", **medians)).supported


def test_symmetry_missing_in_released_pairs_would_be_noticed():
    assert supported(symmetry) and not symmetry.of(with_released(drawn(symmetry), "s", encoder=-1.0)).supported


def test_arms_of_unequal_length_are_compared_where_the_shorter_one_ends():
    whole = made_arm(objective="clm", s=(0.1,) * 4, steps=500)
    short = [replace(run, scores=run.scores[run.scores["step"] <= 500]) for run in whole]
    (pair,) = encoders_beside_decoders([*made_arm(s=(0.5,) * 4, noise=0.001), *short])
    end, equal = at_the_end(pair, "symmetry"), at_equal_steps(pair, "symmetry")
    # halfway on a straight line from 1/128, the encoder has half of the way to 0.5
    assert end.estimate.value - equal.estimate.value == pytest.approx((0.5 - 1 / 128) / 2, abs=0.01)


def test_one_seed_does_not_tell_how_much_directionality_differs_on_other_texts():
    result = encoders_and_decoders.directionality_differs_less_elsewhere()
    assert result.supported and result.verdict is Verdict.UNDECIDED
    assert "jigsaw \N{MINUS SIGN}0.11, red pajama +0.07" in result.remark
    assert [c.standing for c in result.comparisons[:-1]] == [Standing.UNDECIDED] * 4


@pytest.mark.parametrize("gap", [0.9, -0.9])
@pytest.mark.parametrize("dataset", ["red_pajama", "jigsaw", "wikipedia"])
def test_another_difference_would_be_noticed(dataset, gap):
    check = encoders_and_decoders.directionality_differs_less_elsewhere
    curves = drawn(check).released.set_index(["layers", "dataset", "step", "part"]).sort_index()
    curves.loc[(12, dataset, 200000, "encoder"), "d"] = curves.loc[(12, dataset, 200000, "decoder"), "d"] + gap
    assert not check.of(drawn(check)._replace(released=curves.reset_index())).supported


def test_an_error_in_the_scatter_of_random_models_would_be_noticed():
    for check in (directionality, encoders_and_decoders.directionality_differs_less_elsewhere):
        assert not supported_with(check, "random_gap_sd", lambda layers: 0.01)
    assert not supported_with(directionality, "_scattered", partial(encoders_and_decoders._scattered, sign=-1))


def test_runs_of_another_start_or_with_a_constraint_do_not_count():
    others = [*made_arm(init="symmetric"), *made_arm(constraint="skew", gamma=1.0)]
    assert evidence([*AS_STATED, *others]).runs == AS_STATED
