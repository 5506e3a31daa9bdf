"""Section 4.1 on made runs: what holds is found to hold, and what was planted the other way round is told."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_training import made_arm

from attngeo.chapters.training_scores import (
    decoders as training_decoders,
)
from attngeo.chapters.training_scores import (
    encoders_and_decoders as training_runs,
)
from attngeo.chapters.training_scores import (
    layers as training_layers,
)
from attngeo.paper import Flaw, Verdict
from attngeo.runs.estimates import over_seeds

ENCODERS = made_arm()
DECODERS = made_arm(objective="clm", s=(0.0, -0.2, -0.2, 0.0), d=(-0.2, -0.4, -0.7, -0.8))
AS_STATED = [*ENCODERS, *DECODERS]


def with_words(result, *words):
    return result.supported and all(word in result.corrected for word in words)


def elsewhere(seeds=3, **change):
    """Encoders and decoders on another text, alike in both scores unless changed."""
    flat = {"s": (0.1,) * 4, "d": (-0.2,) * 4, "corpus": "jigsaw", "noise": 0.05} | change
    return [*made_arm(seeds, **flat), *made_arm(seeds, objective="clm", **(flat | {"s": (0.1,) * 4}))]


def test_runs_that_do_as_the_paper_says_support_it():
    for check in (
        training_runs.symmetry_in_training,
        training_runs.growth_on_wikipedia,
        training_decoders.middle_layers_on_wikipedia,
        training_layers.directionality_of_layers_on_wikipedia,
    ):
        result = check(runs=AS_STATED)
        assert result.verdict is Verdict.HOLDS and result.supported, result
        assert any("wikipedia, characters" in c.quantity for c in result.comparisons)


def test_late_layers_may_be_more_symmetric_and_yet_settle_later():
    result = training_layers.encoder_layers_on_wikipedia(runs=AS_STATED)
    # on straight lines the layer that goes further is longer away from its end
    assert result.supported and result.verdict is Verdict.ASSUMPTIONS
    above, later = (c for c in result.comparisons)
    assert above.relation == ">" and later.relation == ">" and "until $s$ is within 0.05" in later.quantity


def test_settling_is_timed_from_the_last_step_away_from_the_end():
    run = made_arm(1, s=(0.48, 0.48), d=(0.0, 0.0), noise=0.0)[0]
    late = run.scores["layer"] == 1
    run.scores.loc[late & (run.scores["step"] >= 200), "symmetry"] = 0.48  # last away at step 100
    # on its straight line the other layer is within 0.05 of 0.48 from nine tenths of the way on: last away at step 800
    assert training_layers.settles_late_less_early(run) == pytest.approx((100 - 800) / 1000)


def test_a_text_without_a_difference_is_an_assumption_and_the_noise_is_told():
    result = training_runs.symmetry_in_training(runs=[*AS_STATED, *elsewhere()])
    assert result.verdict is Verdict.ASSUMPTIONS and result.flaw is Flaw.ASSUMPTION
    assert with_words(result, "Not in all", "jigsaw, characters", "wikipedia, characters")
    assert sum("on the other side of 0" in c.quantity for c in result.comparisons) == 2


def test_a_difference_of_the_other_sign_everywhere_limits_what_the_released_medians_show():
    swapped = [*made_arm(objective="clm"), *made_arm(s=(0.0, -0.2, -0.2, 0.0))]
    result = training_runs.symmetry_in_training(runs=swapped)
    assert result.verdict is Verdict.ASSUMPTIONS and result.flaw is Flaw.ASSUMPTION and with_words(result, "In none")


def test_two_seeds_give_no_interval_and_decide_nothing():
    swapped = [*made_arm(2, objective="clm"), *made_arm(2, s=(0.0, -0.2, -0.2, 0.0))]
    result = training_runs.symmetry_in_training(runs=swapped)
    assert result.verdict is Verdict.HOLDS and len(result.comparisons) == 1  # of the released medians


def test_intervals_that_all_hold_zero_decide_nothing():
    wide = [*made_arm(noise=3.0), *made_arm(objective="clm", noise=3.0)]
    result = training_runs.symmetry_in_training(runs=wide)
    assert result.verdict is Verdict.HOLDS and len(result.comparisons) == 1
    assert "do not decide" in result.remark and "wikipedia, characters" in result.remark
    layers = training_layers.encoder_layers_on_wikipedia(runs=wide)
    assert layers.verdict is Verdict.UNDECIDED and layers.supported and "do not decide" in layers.remark


def test_directionality_fails_on_the_released_medians_whatever_our_runs_do():
    for runs in ([], AS_STATED):
        result = training_runs.directionality_in_training(runs=runs)
        assert result.supported and result.verdict is Verdict.CORRECTED and "2 of 6" in result.corrected
    assert "wikipedia, characters: +0." in result.corrected


def test_directionality_in_all_released_pairs_would_be_noticed(monkeypatch):
    ends = training_runs.released_ends("d").assign(decoder=-1.0)
    monkeypatch.setattr(training_runs, "released_ends", lambda score: ends)
    assert not training_runs.directionality_in_training(runs=AS_STATED).supported


def test_symmetry_missing_in_one_released_pair_would_be_noticed(monkeypatch):
    ends = training_runs.released_ends("s")
    ends.loc[0, "encoder"] = -1.0
    monkeypatch.setattr(training_runs, "released_ends", lambda score: ends)
    assert not training_runs.symmetry_in_training(runs=AS_STATED).supported


def test_a_rise_and_a_fall_are_told():
    result = training_runs.growth_on_wikipedia(runs=made_arm(peak=0.4))
    assert result.verdict is Verdict.ASSUMPTIONS
    assert with_words(result, "falls again after its peak", "wikipedia, characters: +0.")
    assert any("at its peak, step 500, less at the end" in c.quantity for c in result.comparisons)
    flat = training_runs.growth_on_wikipedia(runs=made_arm(s=(0.008,) * 4, peak=0.4))
    assert flat.verdict is Verdict.ASSUMPTIONS and with_words(flat, "falls again") and "do not decide" in flat.remark
    sinking = training_runs.growth_on_wikipedia(runs=made_arm(s=(-0.3,) * 4, peak=0.6))
    assert sinking.verdict is Verdict.ASSUMPTIONS and with_words(sinking, "In none", "falls again")


def test_noise_falls_from_its_peak_no_more_often_than_an_interval_says():
    """At the peak of the curve itself the interval would lie above 0 in one draw of seven."""
    draw = np.random.default_rng(0)
    curves = [pd.DataFrame(draw.standard_normal((31, 3))) for _ in range(1000)]
    falls = [over_seeds(training_runs.fall_from_peak(c)).low > 0 for c in curves]
    peaks = [over_seeds((c.loc[c.mean(axis=1).idxmax()] - c.iloc[-1]).tolist()).low > 0 for c in curves]
    assert np.mean(falls) < 0.04 < 0.1 < np.mean(peaks)


def test_other_texts_have_their_own_figure():
    runs = [*AS_STATED, *elsewhere(s=(0.3,) * 4)]
    wikipedia, other = training_runs.growth_on_wikipedia(runs=runs), training_runs.growth_on_other_texts(runs=runs)
    assert (wikipedia.statement, other.statement) == ("Figure 3", "Figure S3")
    assert not any("jigsaw, characters" in c.quantity for c in wikipedia.comparisons)
    assert any("jigsaw, characters" in c.quantity for c in other.comparisons)


@pytest.mark.parametrize(
    ("check", "planted"),
    [
        (training_layers.encoder_layers_on_wikipedia, made_arm(s=(0.5, 0.4, 0.3, 0.2))),
        (training_layers.directionality_of_layers_on_wikipedia, made_arm(d=(-0.4, -0.4, 0.0, 0.0))),
    ],
)
def test_layers_the_other_way_round_are_noticed(check, planted):
    result = check(runs=planted)
    assert result.verdict is Verdict.CORRECTED and result.supported and "In none" in result.corrected


def test_what_is_undecided_of_layers_is_told_quantity_by_quantity():
    remark = training_layers.encoder_layers_on_wikipedia(runs=made_arm(noise=3.0)).remark
    assert "Encoders, $s$ of late less early layers: wikipedia, characters: " in remark
    assert "Encoders, share of training until" in remark


def test_directionality_of_layers_must_be_stronger_in_decoders():
    weak = made_arm(objective="clm", d=(-0.2, -0.2, -0.25, -0.25))
    result = training_layers.directionality_of_layers_on_wikipedia(runs=[*ENCODERS, *weak])
    assert result.verdict is Verdict.ASSUMPTIONS
    assert any("decoders less that of encoders" in c.quantity for c in result.comparisons)


def test_arms_of_unequal_length_are_compared_where_the_shorter_one_ends():
    whole = made_arm(objective="clm", s=(0.1,) * 4)
    short = [replace(run, scores=run.scores[run.scores["step"] <= 500]) for run in whole]
    for run in short:
        run.config["steps"] = 500
    runs = [*made_arm(s=(0.5,) * 4, noise=0.001), *short]
    (end,), (equal,) = training_runs.contrasts(runs, "symmetry"), training_runs.at_equal_steps(runs, "symmetry")
    assert equal.quantity.endswith("at step 500")
    # halfway on a straight line from 1/128, the encoder has half of the way to 0.5
    assert end.estimate.value - equal.estimate.value == pytest.approx((0.5 - 1 / 128) / 2, abs=0.01)


def test_runs_of_another_start_or_with_a_constraint_do_not_count():
    others = [*made_arm(init="symmetric"), *made_arm(constraint="skew", gamma=1.0)]
    assert training_runs.contrasts([*AS_STATED, *others], "symmetry") == training_runs.contrasts(AS_STATED, "symmetry")
    assert len(training_runs.climbs([*AS_STATED, *others])) == 1


def test_the_starts_of_recorded_runs_are_random_and_not_zero():
    assert training_runs.recorded_starts(runs=AS_STATED).supported
    zero, biased = made_arm(), made_arm()
    for run, value in [(run, 0.0) for run in zero] + [(run, 0.1) for run in biased]:
        run.scores.loc[run.scores["step"] == 0, "symmetry"] += value - run.scores["symmetry"] * (value == 0)
    assert not training_runs.recorded_starts(runs=zero).supported
    assert not training_runs.recorded_starts(runs=biased).supported
