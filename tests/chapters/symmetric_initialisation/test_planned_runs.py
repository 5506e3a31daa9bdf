from dataclasses import replace
from pathlib import Path

import pytest
from made_arms import made_arm
from scipy import stats

from attngeo.chapters.symmetric_initialisation.planned_figure import planned_figure
from attngeo.chapters.symmetric_initialisation.planned_runs import (
    BAND,
    REPEATS,
    SHARE,
    Outcome,
    first_asked,
    others_table,
    outcome_by_plan,
    planned,
    planned_table,
    symmetry_as_planned,
)
from attngeo.chapters.symmetric_initialisation.planned_words import (
    all_differences,
    among,
    asked_again,
    asked_again_shortly,
    by_chance,
    final_losses,
    in_how_many,
    lower_by_chance,
    measures,
    much_faster,
    shown,
    told,
)
from attngeo.paper import Verdict
from attngeo.records.checkout import data
from attngeo.runs.estimates import Estimate
from attngeo.runs.experiments import Experiment, PlannedContrast, PlannedRun, Status, read_experiments

ARMS = {"random": 0.0, "symmetric": -0.2, "released": -0.5}
CONTRASTS = (PlannedContrast("symmetric", "random", "the tie"), PlannedContrast("released", "random", "all"))


def a_plan(seeds=3):
    runs = tuple(PlannedRun(f"{arm}-{seed}", {"init": arm, "seed": seed}) for arm in ARMS for seed in range(seeds))
    return Experiment(Path("confirm"), "does it help?", Status.CONFIRMATORY, "2026-11-22", runs, CONTRASTS)


def made(arms=ARMS, seeds=3, **config):
    """Runs as they are named in the folder of their experiment."""
    runs = [made_arm(arm, seed, shift=shift, **config) for arm, shift in arms.items() for seed in range(seeds)]
    for run in runs:
        object.__setattr__(run, "name", f"confirm/{run.config['init']}-{run.config['seed']}")
    return runs


@pytest.mark.parametrize(
    ("loss", "share", "outcome"),
    [
        ((0.0, -0.009, 0.009), (0.0, -1.0, 1.0), Outcome.SAME),
        ((-0.006, -0.009, -0.003), (0.2, 0.1, 0.3), Outcome.SAME),  # judged first, though it excludes zero
        ((-0.2, -0.3, -0.1), (0.2, 0.06, 0.3), Outcome.MUCH_FASTER),
        ((-0.2, -0.3, -0.1), (0.2, 0.04, 0.3), Outcome.FASTER),
        ((0.2, 0.1, 0.3), (0.2, 0.06, 0.3), Outcome.SLOWER),
        ((-0.2, -0.5, 0.1), (0.2, 0.06, 0.3), Outcome.UNDECIDED),
        ((0.0, -0.009, 0.011), (0.2, 0.06, 0.3), Outcome.UNDECIDED),
    ],
)
def test_what_counts_as_what(loss, share, outcome):
    assert outcome_by_plan(Estimate(*loss), Estimate(*share)) is outcome


def test_every_plan_says_what_is_judged_here():
    for plan in (p for p in read_experiments(data("runs")) if p.status is Status.CONFIRMATORY):
        text = " ".join((plan.folder / "experiment.yml").read_text("utf-8").split())
        assert f"within -{BAND} and {BAND} nats" in text and f"lies above {SHARE}" in text
        assert {arm for c in plan.contrasts for arm in (c.arm, c.against)} <= {run.arm for run in plan.runs}


def test_nothing_is_compared_before_every_seed_of_the_contrast_is_there():
    runs = made()
    assert not planned([(a_plan(), [run for run in runs if run.name != "confirm/symmetric-2"])])
    (found,) = planned([(a_plan(), [run for run in runs if run.name != "confirm/released-2"])])
    assert list(found.contrasts) == [CONTRASTS[0]] and others_table([found]).empty


def test_a_planted_gain_is_seen_by_the_plan_and_in_the_tables():
    (found,) = planned([(a_plan(), made())])
    assert found.outcome is Outcome.MUCH_FASTER and found.contrast.difference().value == pytest.approx(-0.2, abs=0.01)
    assert planned_table([found])["by the plan"].tolist() == [Outcome.MUCH_FASTER.value]
    assert others_table([found])["pair"].tolist() == ["released less random"]
    result = symmetry_as_planned(plans=[(a_plan(), made())])
    assert result.supported and result.verdict is Verdict.HOLDS


@pytest.mark.parametrize(
    ("shift", "width", "verdict"),
    [(0.2, 256, Verdict.CHANGES), (0.0, 256, Verdict.UNDECIDED), (-0.2, 128, Verdict.UNDECIDED)],
)
def test_a_planted_loss_noise_and_small_models(shift, width, verdict):
    runs = made(ARMS | {"symmetric": shift}, d_model=width)
    assert symmetry_as_planned(plans=[(a_plan(), runs)]).verdict is verdict


def test_a_difference_that_counts_for_nothing_is_told_with_its_sign():
    (lower,), (none,) = (planned([(a_plan(8), made(ARMS | {"symmetric": shift}, 8))]) for shift in (-0.005, 0.0))
    assert lower.by_plan == "no difference that counts (lower)" and none.by_plan == "no difference that counts"


def test_outcomes_are_counted_in_words():
    found = [planned([(a_plan(), made(ARMS | {"symmetric": shift}))])[0] for shift in (-0.2, 0.2, 0.2, 0.0)]
    assert in_how_many(found) == "ends lower in 1, ends higher in 2 and differs by no more than 0.01 nats in 1"
    assert in_how_many(found[:1]) == "ends lower in 1" and in_how_many([]) == "is not judged yet"


def test_every_outcome_has_its_words():
    numbers = {"difference": "0.1", "saved": "20 %", "seeds": 5, "p": "0.001"}
    for subject in ("in a plan", "logits alone", "hot", "again", "again, shortly"):
        assert all(told(subject, outcome.value, **numbers) for outcome in Outcome)
    assert told("hot", None) == "It is not decided yet." and told("logits alone", None) == "open"
    assert [shown(found) for found in (True, False, None)] == ["so it is", "that is not shown", "not complete yet"]


def test_comparisons_that_save_a_share_of_steps_that_matters_are_told_with_their_chance():
    large, none = (planned([(a_plan(), made(ARMS | {"symmetric": shift}))])[0] for shift in (-0.5, 0.0))
    assert large.outcome is Outcome.MUCH_FASTER and none.outcome is not Outcome.MUCH_FASTER
    faster = "By 5\N{NO-BREAK SPACE}% of the steps or more it is faster in"
    assert much_faster([none]) == f"{faster} none of them."
    words, p = much_faster([none, large, large, none]), by_chance(large)
    assert words.startswith(f"{faster} 2 of them: ") and words.count(large.label) == 2
    assert f"{p:.3f}; {among(p, 4):.2f} by Bonferroni's bound for 4 comparisons" in words


def test_as_many_intervals_below_zero_have_their_chance():
    lower, none = (planned([(a_plan(), made(ARMS | {"symmetric": shift}))])[0] for shift in (-0.5, 0.0))
    assert lower_by_chance([lower, none]) == (1, pytest.approx(1 - 0.975**2))
    assert lower_by_chance([none]) == (0, 1)


def test_a_plan_that_asks_again_is_told_as_such_and_counts_for_no_new_question():
    first = a_plan()
    (repeated,) = (replace(first, folder=Path(name)) for name in REPEATS)
    one, again = planned([(first, made()), (repeated, made())])
    assert first_asked([one, again]) == [one] and again.label == f"{one.label}, new seeds"
    assert {p.name for p in read_experiments(data("runs"))} >= REPEATS
    found = measures(again)
    assert f"find it again: by 3 seeds, {found['difference']} nats (p = {found['p']})" in asked_again(again)
    assert asked_again_shortly(again) == f", and by {found['difference']} with 3 new ones: there it helps"
    assert "not run to the end yet" in asked_again(None) and asked_again_shortly(None) == ""


def test_final_losses_are_told_by_start():
    (found,) = planned([(a_plan(), made())])
    ends = found.arms["random"].values("held_out_loss")
    told = final_losses(found)
    assert told.startswith(f"{ends.min():.2f} to {ends.max():.2f} (random), ") and told.count(" to ") == len(ARMS)


def test_every_complete_comparison_is_told_the_primary_one_first():
    (found,) = planned([(a_plan(), made())])
    primary, *others = (c.name for c in found.contrasts)
    told = all_differences(found)
    first = f"{found.contrast.difference().value:+.3f}".replace("-", "\N{MINUS SIGN}")
    assert found.less_random("released") is found.contrasts[CONTRASTS[1]] and found.less_random("scaled") is None
    assert told.startswith(f"{first} [") and told.index(f"({primary})") < min(told.index(f"({o})") for o in others)


def test_chance_is_student_s_and_counts_for_more_among_many():
    (found,) = planned([(a_plan(), made())])
    e = found.contrast.differences()
    t = e.mean() / (e.std() / len(e) ** 0.5)
    assert by_chance(found) == pytest.approx(2 * stats.t.sf(abs(t), len(e) - 1))
    assert (among(0.03, 4), among(0.5, 4)) == (pytest.approx(0.12), 1)


def test_decoders_decide_nothing_about_encoders():
    result = symmetry_as_planned(plans=[(a_plan(), made(objective="clm"))])
    assert result.supported and result.verdict is Verdict.UNDECIDED and result.comparisons[0].expected == 1


def test_the_figure_tells_the_difference_and_the_scatter():
    (found,) = planned([(a_plan(), made(ARMS | {"symmetric": 0.0}))])
    figure = planned_figure([found])
    left, right = figure.figure.axes
    assert len(left.lines) == 6 + 2 and right.lines[1].get_xdata().tolist() == found.contrast.differences().tolist()
    assert found.label in figure.caption and len(figure.alt.split()) <= 60
