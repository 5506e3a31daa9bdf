"""Section 4.1 on early, middle and late layers, on made runs: what was planted the other way round is told."""

import pytest
from made_training import made_arm, made_large_arm, made_run

from attngeo.chapters.training_scores import depth
from attngeo.paper import Verdict

ENCODERS = made_large_arm()
DECODERS = made_large_arm(objective="clm", s=(0.0, -0.2, -0.2, 0.0), d=(-0.2, -0.4, -0.7, -0.8))
AS_STATED = [*ENCODERS, *DECODERS]


@pytest.mark.parametrize("check", [depth.middle_layers_on_wikipedia, depth.directionality_of_layers_on_wikipedia])
def test_runs_that_do_as_the_paper_says_support_it(check):
    result = check(runs=AS_STATED)
    assert result.verdict is Verdict.HOLDS and result.supported, result
    assert any("wikipedia, characters" in c.quantity for c in result.comparisons)


def test_late_layers_may_be_more_symmetric_and_yet_settle_later():
    result = depth.encoder_layers_on_wikipedia(runs=AS_STATED)
    # on straight lines the layer that goes further is longer away from its end
    assert result.supported and result.verdict is Verdict.ASSUMPTION
    assert [c.relation for c in result.comparisons] == [">", ">"]


def test_settling_is_timed_from_the_last_step_away_from_the_end():
    run = made_run(s=(0.48, 0.48), d=(0.0, 0.0), noise=0.0)
    late = run.scores["layer"] == 1
    run.scores.loc[late & (run.scores["step"] >= 200), "symmetry"] = 0.48  # last away at step 100
    # on its straight line the other layer is within 0.05 of 0.48 from nine tenths of the way on: last away at step 800
    assert depth.settles_late_less_early(run) == pytest.approx((100 - 800) / 1000)


@pytest.mark.parametrize(
    ("check", "reversed_layers"),
    [
        (depth.encoder_layers_on_wikipedia, {"s": (0.1, 0.1, -0.3, -0.3)}),
        (depth.encoder_layers_elsewhere, {"s": (0.1, 0.1, -0.3, -0.3)}),
        (depth.directionality_of_layers_on_wikipedia, {"d": (-0.4, -0.4, 0.0, 0.0)}),
        (depth.directionality_of_layers_elsewhere, {"d": (-0.4, -0.4, 0.0, 0.0)}),
    ],
)
def test_layers_the_other_way_round_are_noticed(check, reversed_layers):
    corpora = ("wikipedia", "jigsaw") if "wikipedia" in check.__name__ else ("jigsaw", "wikipedia")
    verdicts = []
    for corpus in corpora:
        result = check(runs=made_large_arm(corpus=corpus, **reversed_layers))
        assert result.supported
        verdicts.append(result.verdict)
    assert verdicts == [Verdict.CHANGES, Verdict.UNDECIDED]  # runs on the other texts say nothing


@pytest.mark.parametrize("s", [(-0.3, 0.2, 0.2, -0.3), (0.1,) * 4])
def test_middle_layers_that_are_not_skew_name_a_missing_assumption(s):
    result = depth.middle_layers_on_wikipedia(runs=made_large_arm(objective="clm", s=s))
    assert result.verdict is Verdict.CHANGES and result.supported


def test_middle_layers_rest_on_recorded_runs_alone():
    nothing = depth.middle_layers_elsewhere(runs=DECODERS)  # on Wikipedia
    assert nothing.verdict is Verdict.UNDECIDED and nothing.supported
    flat = depth.middle_layers_elsewhere(runs=made_large_arm(objective="clm", s=(0.1,) * 4, corpus="jigsaw"))
    assert flat.verdict is Verdict.CHANGES and flat.supported


def test_intervals_that_all_hold_zero_leave_it_undecided_and_are_told():
    result = depth.encoder_layers_on_wikipedia(runs=made_large_arm(noise=3.0))
    assert result.verdict is Verdict.UNDECIDED and result.supported
    assert "wikipedia, characters: " in result.remark


@pytest.mark.parametrize("s", [(0.2, 0.3, 0.4, 0.5), (0.5, 0.4, 0.3, 0.2)], ids=["as stated", "the reverse"])
def test_models_of_four_layers_decide_nothing_of_those_of_twelve_and_are_told(s):
    result = depth.encoder_layers_on_wikipedia(runs=made_arm(s=s))
    assert result.verdict is Verdict.UNDECIDED and result.supported
    assert "4 layers of width 128" in result.remark and "12 layers of width 768" in result.remark
    assert "wikipedia, characters: " in result.remark and len(result.comparisons) > 1


def test_directionality_of_layers_must_be_stronger_in_decoders():
    weak = made_large_arm(objective="clm", d=(-0.2, -0.2, -0.25, -0.25))
    result = depth.directionality_of_layers_on_wikipedia(runs=[*ENCODERS, *weak])
    assert result.verdict is Verdict.ASSUMPTION and result.comparisons[-1].relation == ">"
