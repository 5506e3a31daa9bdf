"""Arms of starts set against each other, plans judged, and the golden table of what the recorded plans give."""

from dataclasses import replace

import pytest
from chapters.symmetric_initialisation import cases, figures, starts, tables, told
from chapters.symmetric_initialisation.speed_ups import speed_up_of
from chapters.symmetric_initialisation.starts import BAND, PAIRS, SHARE, STARTS, Outcome, outcome_by_plan
from livingpaper.claims.seed_intervals import Training
from made_runs import made_matrix, made_start
from notebook_code import notebook

from attngeo.errors import ParameterError
from attngeo.experiments.runs import arms
from attngeo.experiments.runs.estimates import HELPS, HURTS, NEVER, NO_DIFFERENCE, TOO_FEW, Estimate
from attngeo.experiments.runs.experiments import Status, read_experiments
from attngeo.files.checkout import data

SHIFTS = {"random": 0.0, "symmetric": 0.0, "symmetric-indefinite": 0.1, "skew": 0.1, "released": -0.4}
# plan (confirm_...) | comparison | seeds | difference of final losses | steps saved | by the plan, of the primary one
GOLDEN = """
decoder_characters|symmetric minus random|6|+0.002 [−0.001, +0.005]|never [never, 0 %]|no difference
decoder_plain|symmetric minus random|5|+0.004 [−0.009, +0.016]|never [never, 2 %]|undecided
encoder_characters|symmetric minus random|5|−0.046 [−0.269, +0.177]|9 % [never, 27 %]|undecided
encoder_plain|symmetric minus random|5|−0.135 [−0.427, +0.158]|17 % [never, 30 %]|undecided
mini|symmetric minus random|3|−0.056 [−0.102, −0.011]|19 % [12 %, 22 %]|clearly faster
mini|default-linear minus random|3|−0.072 [−0.082, −0.062]|22 % [21 %, 24 %]|
mini_new_seeds|symmetric minus random|5|−0.047 [−0.082, −0.013]|17 % [10 %, 21 %]|clearly faster
short_encoder_characters|symmetric minus random|46|−0.006 [−0.012, −0.001]|0 % [0 %, 4 %]|slightly faster
size_2x128|symmetric minus random|5|−0.001 [−0.008, +0.005]|0 % [never, 0 %]|no difference
size_2x128|released minus random|5|−0.042 [−0.060, −0.023]|18 % [11 %, 21 %]|
size_2x128|default-linear minus random|5|−0.047 [−0.078, −0.017]|18 % [11 %, 25 %]|
size_2x128|released minus default-linear|5|+0.006 [−0.022, +0.034]|never [never, 4 %]|
size_4x256|symmetric minus random|5|+0.154 [−0.219, +0.527]|never [never, 0 %]|undecided
size_4x256|released minus random|5|+0.236 [−0.140, +0.612]|never [never, never]|
size_4x256|default-linear minus random|5|−0.381 [−0.746, −0.016]|64 % [32 %, 79 %]|
size_4x256|released minus default-linear|5|+0.617 [+0.402, +0.831]|never [never, never]|
size_4x64|symmetric minus random|5|−0.051 [−0.162, +0.059]|18 % [never, 29 %]|undecided
size_4x64|released minus random|5|−0.410 [−0.481, −0.339]|57 % [57 %, 61 %]|
size_4x64|default-linear minus random|5|−0.305 [−0.348, −0.261]|43 % [32 %, 50 %]|
size_4x64|released minus default-linear|5|−0.106 [−0.209, −0.002]|32 % [18 %, 39 %]|
size_8x128|symmetric minus random|5|−0.002 [−0.037, +0.033]|0 % [never, 7 %]|undecided
size_8x128|released minus random|5|−0.044 [−0.081, −0.007]|11 % [4 %, 18 %]|
size_8x128|default-linear minus random|5|−0.043 [−0.070, −0.015]|14 % [7 %, 21 %]|
size_8x128|released minus default-linear|5|−0.002 [−0.025, +0.022]|0 % [never, 4 %]|
temperature|hot minus scaled|10|+0.720 [+0.697, +0.743]|never [never, never]|slower
temperature|scaled minus random|10|−0.034 [−0.054, −0.014]|11 % [7 %, 14 %]|
temperature|hot minus random|10|+0.686 [+0.659, +0.712]|never [never, never]|
temperature|warmer minus random|10|−0.030 [−0.058, −0.002]|7 % [0 %, 14 %]|
"""


def test_what_the_plans_give_is_what_they_gave():
    shown = ("pair", "seeds", "difference of final losses (nats)", "steps saved", "by the plan")
    rows = [
        "|".join([name.removeprefix("confirm_"), *(str(row[key]).replace("\N{NO-BREAK SPACE}", " ") for key in shown)])
        for name, setting in starts.planned().items()
        for row in tables.planned_rows([setting])
    ]
    assert rows == GOLDEN.split("\n")[1:-1]
    faster, same = (starts.planned()[f"confirm_{name}"].said for name in ("mini", "size_2x128"))
    assert (faster, same) == ("clearly faster", "no difference")


def test_what_counts_as_what():
    far = (0.2, 0.06, 0.3)
    for loss, share, outcome in (
        ((0.0, -0.009, 0.009), (0.0, -1.0, 1.0), Outcome.SAME),
        ((-0.006, -0.009, -0.003), far, Outcome.SAME),  # judged first, though it excludes zero
        ((-0.2, -0.3, -0.1), far, Outcome.MUCH_FASTER),
        ((-0.2, -0.3, -0.1), (0.2, 0.04, 0.3), Outcome.FASTER),
        ((0.2, 0.1, 0.3), far, Outcome.SLOWER),
        ((-0.2, -0.5, 0.1), far, Outcome.UNDECIDED),
        ((0.0, -0.009, 0.011), far, Outcome.UNDECIDED),
    ):
        assert outcome_by_plan(Estimate(*loss), Estimate(*share)) is outcome


def test_every_plan_says_what_is_judged_here():
    for plan in (p for p in read_experiments(data("runs")) if p.name in starts.planned()):
        assert plan.status is Status.CONFIRMATORY
        text = " ".join((plan.folder / "experiment.yml").read_text("utf-8").split())
        assert f"within -{BAND} and {BAND} nats" in text and f"lies above {SHARE}" in text


def test_a_missing_run_of_a_primary_contrast_is_refused_and_another_arm_is_left_out(monkeypatch):
    read = arms.read_runs
    plans = [p for p in starts.read_experiments(data("runs")) if p.name in ("confirm_mini", "positions_start_rotary")]
    monkeypatch.setattr(starts, "read_experiments", lambda folder: plans)

    def lose(missing):
        monkeypatch.setattr(arms, "read_runs", lambda f: [r for r in read(f) if not r.name.endswith(missing)])

    lose("default-linear-2")
    (mini,) = starts.planned.__wrapped__().values()
    assert len(mini.contrasts()) == 1
    lose("symmetric-2")
    with pytest.raises(AssertionError):
        starts.planned.__wrapped__()


def test_runs_as_large_as_the_papers_are_not_called_too_small(monkeypatch):
    monkeypatch.setattr(cases, "PAPERS", Training.of(starts.encoders()[0].config))
    with pytest.raises(AssertionError):
        notebook("symmetric_initialisation_details").symmetry_at_equal_scale()


def test_planted_differences_are_seen_and_named():
    (setting,) = starts.settings(made_matrix(shifts=SHIFTS))
    assert setting.minus("released").difference().value == pytest.approx(-0.4, abs=0.003)
    assert setting.minus("released").outcome() == HELPS and speed_up_of(setting.minus("released")).low > 0.4
    assert setting.minus("symmetric-indefinite").outcome() == HURTS
    assert speed_up_of(setting.minus("symmetric-indefinite")).value == NEVER
    assert setting.minus("symmetric").outcome() == NO_DIFFERENCE
    contrasts = {(pair.arm, pair.against): c for pair, c in setting.contrasts().items()}
    assert all(len(c) == 3 for c in contrasts.values())
    assert ("symmetric", "symmetric-indefinite") in contrasts  # and those that were not run are not
    assert ("released", "default-linear") not in contrasts and ("mimetic", "random") not in contrasts
    assert {p.arm for p in PAIRS} | {p.against for p in PAIRS} == set(STARTS)


def test_seeds_are_paired_and_few_of_them_give_no_interval():
    runs = [made_start("random", s) for s in (0, 1, 2, 3)] + [made_start("symmetric", s) for s in (1, 2, 3, 4)]
    (setting,) = starts.settings([*runs, made_start("skew", 9)])
    ((pair, contrast),) = setting.contrasts().items()  # no seed of skew has a partner
    assert (pair.arm, len(contrast)) == ("symmetric", 3)
    # most of the noise is the seed's, and leaves with the pairing
    assert contrast.difference().high - contrast.difference().low < 0.01
    (few,) = starts.settings(made_matrix(2, SHIFTS))
    assert {c.outcome() for c in few.contrasts().values()} == {TOO_FEW}
    assert not tables.speed_ups_table([few])[few.label].str.contains(r"\[").any()


def test_the_main_setting_has_most_runs_then_steps_then_the_lower_rate():
    runs = [*made_matrix(1, lr=3e-3), *made_matrix(), *made_matrix(2, objective="clm"), *made_matrix(2, text="plain")]
    chosen = starts.main_settings(starts.settings([*runs, *made_matrix(9, {"random": 0.0}, lr=5e-5)]))
    assert [s.label for s in chosen] == ["encoder, characters", "encoder, plain text", "decoder, characters"]
    assert chosen[0].config["lr"] == 1e-3
    kinds = ({}, {"steps": 2000}, {"steps": 2000, "lr": 2e-3})
    (chosen,) = starts.main_settings(starts.settings([r for kind in kinds for r in made_matrix(shifts=SHIFTS, **kind)]))
    assert (chosen.config["steps"], chosen.config["lr"]) == (2000, 1e-3)


def test_settings_of_several_rates_stand_together():
    low = made_matrix(shifts={"random": 0.5, "symmetric": 0.1}, lr=5e-5)
    high = made_matrix(shifts={"random": 0.0, "symmetric": 0.4, "skew": 0.3}, lr=1e-3)
    (family,) = starts.by_learning_rate([*low, *high, *made_matrix(steps=7)])
    losses = tables.rates_table(family).set_index("initialisation")["loss by rate"]
    assert list(losses.index) == ["random", "symmetric", "skew"] and losses["random"].startswith("0.00005: ")
    assert losses["skew"].startswith("0.001: ") and losses["skew"].endswith(" (3)")


PLANS = ("confirm_size_2x128", "confirm_size_8x128", "confirm_decoder_plain")  # none of them finds a gain


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([starts.FOUND], "In our planned comparison of small encoders, symmetric initialisation clearly helped: it"),
        ([starts.FOUND, PLANS[0]], "In one of our two planned comparisons of small encoders with learned position"),
        ([starts.FOUND, PLANS[0]], "In the other comparison, symmetric initialisation saved few or no training steps"),
        ([starts.FOUND, *PLANS], "steps. In the other two comparisons, symmetric initialisation saved"),
        ([starts.FOUND, starts.AGAIN], "When we repeated this comparison with five new seeds, symmetric"),
        (PLANS, "In none of our two planned comparisons of small encoders with learned"),
        (PLANS, "help. In no comparison did symmetric initialisation clearly raise the final loss."),
        ([PLANS[0]], "did not clearly help. Symmetric initialisation did not clearly raise the final loss."),
        ([starts.AGAIN, PLANS[2]], "The chosen experiments include no first comparison of encoders, so"),
    ],
)
def test_the_answer_is_about_the_chosen_comparisons(names, words):
    answer = told.answer([starts.planned()[name] for name in names])
    assert words in answer and ("new seeds" in answer) == (starts.AGAIN in names and starts.FOUND in names)


@pytest.mark.parametrize(
    ("plan", "runs"),
    [
        (starts.FOUND, PLANS[0]),  # no gain where one is told
        (PLANS[0], starts.FOUND),  # a gain that is not told
        (told.SHORT, starts.FOUND),  # a larger gain than is told
        (starts.AGAIN, PLANS[0]),
    ],
)
def test_other_outcomes_would_fail_the_sentences(plan, runs):
    by_name = starts.planned()
    other = replace(by_name[runs], plan=plan)
    with pytest.raises(AssertionError):
        told.answer([by_name[starts.FOUND], other] if plan == starts.AGAIN else [other])


def test_a_loss_or_a_significant_gain_would_fail_the_sentences():
    by_name = starts.planned()
    found, other, larger = (by_name[name] for name in (starts.FOUND, PLANS[0], "confirm_size_4x64"))
    exchanged = {"symmetric": found.arms["random"], "random": found.arms["symmetric"]}
    with pytest.raises(AssertionError):
        told.answer([replace(found, plan=PLANS[0], arms=exchanged)])
    released = [pair for pair in larger.pairs if (pair.arm, pair.against) == ("released", "random")]
    significant = [replace(larger, plan=starts.FOUND, pairs=released), other]
    assert told.answer(significant)
    with pytest.raises(AssertionError):
        told.by_chance(significant)


def test_intervals_below_zero_are_counted_in_whole_sentences():
    by_name = starts.planned()
    found, same, again = (by_name[name] for name in (starts.FOUND, "confirm_size_2x128", starts.AGAIN))
    assert told.below_zero([same]).startswith("In no comparison of encoders does")
    assert told.below_zero([found]).startswith("In the comparison of encoders, the confidence")
    assert (
        "In one of the two comparisons of encoders, the confidence interval lies entirely below zero. In"
        in told.below_zero([found, same, again])
    )
    assert told.by_chance([same]).startswith("None of the comparisons of encoders has")
    assert "the probability of such an interval would be 0.025" in told.by_chance([found])
    both = told.by_chance([found, same, again])
    assert both.startswith("Of the two comparisons of encoders, one has a confidence interval")
    assert "the probability of at least one such interval would be" in both
    assert both.endswith("none of the comparisons is significant.")
    assert told.by_chance([again]) == "The chosen experiments include no first comparison of encoders."


@pytest.mark.parametrize(
    ("factor", "words"),
    [
        (6.5, "increases the scale of"),
        (1.09, "changes the scale of $W_{qk}$ by a factor of only"),
        (0.2, "reduces the scale of"),
    ],
)
def test_what_a_start_does_to_the_scale_follows_the_factor(factor, words):
    assert words in told.scale_at(2048, factor) and "2,048" in told.scale_at(2048, factor)


def test_two_seeds_are_two_different_recorded_ones():
    setting = starts.encoders()[0]
    assert len(set(starts.pair_of_seeds(setting, []))) == 2 and starts.pair_of_seeds(setting, [1, 0]) == (1, 0)
    for seeds in ([0, 0], [0], [0, 99], [0, 1, 2]):
        with pytest.raises(ParameterError, match=r"^Parameter seed_pair is .*; give two different seeds out of 0, 1, "):
            starts.pair_of_seeds(setting, seeds)


def test_plans_are_chosen_by_name_and_an_unknown_one_is_refused():
    every = starts.about_symmetry(starts.planned())
    assert [p.plan for p in starts.chosen(every, [])][:2] == [starts.FOUND, starts.AGAIN]
    assert [p.plan for p in starts.chosen(every, ["confirm_size_2x128"])] == ["confirm_size_2x128"]
    with pytest.raises(ParameterError, match=r"^Parameter plans names 'confirm_mine'; choose from confirm_"):
        starts.chosen(every, ["confirm_mine"])


def test_the_figure_has_a_row_for_every_comparison_though_labels_are_equal():
    plans = starts.chosen(starts.about_symmetry(starts.planned()), [])
    figure = figures.plans_figure(plans).figure
    (panel,), (legend,) = figure.axes, figure.legends
    assert len(panel.texts) == len(plans)
    assert [text.get_text() for text in legend.get_texts()] == ["encoder", "decoder"]
