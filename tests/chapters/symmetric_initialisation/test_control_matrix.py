import math
from dataclasses import replace

import pytest
from made_arms import made_arm, made_matrix

from attngeo.chapters.symmetric_initialisation import crossings
from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AT_EQUAL_SCALE,
    PAIRS,
    PARTS_OF_THE_SCALE,
    RELEASED,
    STARTS,
    StartPair,
    between_random_starts,
    experiments,
    main_experiments,
)
from attngeo.chapters.symmetric_initialisation.learning_rates import at_other_rates, best_rate, families, rates_table
from attngeo.chapters.symmetric_initialisation.tables import (
    contrast_table,
    differences,
    matrix_table,
    spread,
    table_1_beside_ours,
    tally,
    what_was_run,
)
from attngeo.runs import estimates as su
from attngeo.runs.numbers_in_words import as_nats, as_percent, as_score, with_interval

SHIFTS = {"random": 0.0, "symmetric": 0.0, "symmetric-indefinite": 0.1, "skew": 0.1, "released": -0.4}


def test_planted_differences_are_found_and_named():
    (experiment,) = experiments(made_matrix(shifts=SHIFTS))
    found = {(pair.start, pair.against): contrast for pair, contrast in experiment.contrasts().items()}
    assert found["released", "random"].difference().value == pytest.approx(-0.4, abs=0.003)
    assert (
        found["released", "random"].outcome() == su.HELPS
        and crossings.speed_up_of(found["released", "random"]).low > 0.4
    )
    assert found["symmetric-indefinite", "random"].outcome() == su.HURTS
    assert crossings.speed_up_of(found["symmetric-indefinite", "random"]).value == su.NEVER
    assert found["symmetric", "symmetric-indefinite"].outcome() == su.HELPS
    assert found["symmetric", "random"].outcome() == su.NO_DIFFERENCE
    assert all(len(c) == 3 and len(crossings.first_crossings(c)) == 3 for c in found.values())
    # arms that were not run are in no comparison
    assert ("released", "default-linear") not in found and ("mimetic", "random") not in found


def test_a_planted_speed_up_is_in_the_table():
    runs = [made_arm(init, s, slowness=f) for init, f in (("random", 1), ("symmetric", 0.5)) for s in range(3)]
    (experiment,) = experiments(runs)
    row = matrix_table(experiment).set_index("start").loc["symmetric"]
    assert row["verdict"] == su.HELPS and row["speed-up"].startswith(("44", "50", "56"))
    assert "[" in row["difference"] and row["seeds"] == 3


@pytest.mark.parametrize("seeds", [1, 2])
def test_with_few_seeds_no_interval_is_printed(seeds):
    (experiment,) = experiments(made_matrix(seeds, SHIFTS))
    rows = matrix_table(experiment)
    assert not rows[["difference", "speed-up"]].apply(lambda c: c.str.contains(r"\[")).any(axis=None)
    assert set(rows["verdict"]) == {"baseline", su.TOO_FEW}


def test_seeds_are_paired():
    runs = [made_arm("random", s) for s in (0, 1, 2, 3)] + [made_arm("symmetric", s) for s in (1, 2, 3, 4)]
    (experiment,) = experiments(runs)
    (found,) = experiment.contrasts().values()
    assert len(found) == 3
    # most of the noise is the seed's, and leaves with the pairing
    assert found.difference().high - found.difference().low < 0.01


def test_missing_arms_and_seeds_are_named():
    runs = [made_arm("random", s) for s in (0, 1, 2)] + [made_arm("symmetric", 0)]
    (experiment,) = experiments(runs)
    expected = [arm for arm in STARTS if arm not in ("random", "symmetric", *PARTS_OF_THE_SCALE)]
    assert experiment.missing == ["symmetric (1 of 3 seeds)", *expected]


def test_only_runs_with_something_to_compare_count():
    alone = made_matrix(shifts={"random": 0.0}, lr=5e-5)
    constrained = made_matrix(shifts={"random": 0.0, "symmetric": 0.0}, constraint="skew")
    full = made_matrix()
    (experiment,) = experiments([*alone, *constrained, *full])
    assert set(experiment.runs) == set(full)
    assert experiments([]) == []


def test_the_main_experiment_is_the_one_with_most_runs():
    small = made_matrix(1, lr=3e-3)
    runs = [*small, *made_matrix(), *made_matrix(2, objective="clm"), *made_matrix(2, text="plain")]
    chosen = main_experiments(experiments(runs))
    assert [s.label for s in chosen] == ["encoder, characters", "encoder, plain text", "decoder, characters"]
    assert chosen[0].config["lr"] == 1e-3 and "1000 steps of 26214400 tokens" in chosen[0].size


def test_two_random_starts_show_speed_ups_over_each_other():
    runs = [made_arm("random", 0), made_arm("random", 1, slowness=0.5), made_arm("released", 0)]
    (experiment,) = experiments(runs)
    for_good, first = between_random_starts(experiment)
    assert for_good[0] == first[0] == su.NEVER  # the slower one over the other
    assert 0.3 < for_good[1] < 0.6 and 0.3 < first[1] < 0.6
    (single,) = experiments([made_arm("random", 0), made_arm("released", 0)])
    assert between_random_starts(single) == ([], [])


def test_a_seed_that_is_not_compared_changes_nothing():
    """Its records, further apart, must not thin those of the others."""
    runs = [made_arm(init, s, slowness=f) for init, f in (("random", 1), ("symmetric", 0.5)) for s in range(3)]
    dense = made_arm("random", 3)
    sparse = replace(dense, history=dense.history.drop(dense.history.index[1:-1:2]))
    ours, theirs = (experiments(some)[0].contrasts()[AT_EQUAL_SCALE[0]] for some in (runs, [*runs, sparse]))
    assert crossings.speed_up_of(ours) == crossings.speed_up_of(theirs) and crossings.speed_up_of(ours).value > 0.3


def test_of_experiments_with_as_many_runs_the_longer_one_counts_then_the_lower_rate():
    short, long = made_matrix(shifts=SHIFTS), made_matrix(shifts=SHIFTS, steps=2000)
    fast = made_matrix(shifts=SHIFTS, steps=2000, lr=2e-3)
    for runs in ([*short, *long, *fast], [*fast, *long, *short]):
        assert [(s.config["steps"], s.config["lr"]) for s in main_experiments(experiments(runs))] == [(2000, 1e-3)]


def test_arms_without_a_common_seed_are_not_compared():
    runs = [made_arm("random", 0), made_arm("released", 0), made_arm("skew", 1)]
    (experiment,) = experiments(runs)
    assert set(experiment.contrasts()) == {RELEASED}


def test_the_parts_of_the_scale_are_missed_only_where_one_was_run():
    (without,) = experiments(made_matrix(shifts=SHIFTS))
    (one,) = experiments(made_matrix(shifts=SHIFTS | {"scaled": -0.3}))
    assert without.missing == one.missing == ["default-linear", "mimetic"]
    (fewer,) = experiments([*made_matrix(shifts=SHIFTS), made_arm("scaled", 1, shift=-0.3)])
    assert fewer.missing == ["default-linear", "mimetic", "scaled (1 of 3 seeds)"]


def test_a_contrast_in_words_names_the_experiments_that_have_it():
    found = main_experiments(
        experiments([*made_matrix(shifts=SHIFTS), *made_matrix(1, {"random": 0.0, "skew": 0.5}, objective="clm")])
    )
    scaled, skew = (StartPair(arm, "random", "x") for arm in ("scaled", "skew"))
    assert differences(found, scaled) == differences([], skew) == "not run"
    assert differences(found[:1], skew).startswith("+0.1")
    texts = main_experiments(experiments([*made_matrix(shifts=SHIFTS), *made_matrix(shifts=SHIFTS, text="plain")]))
    assert [d.split(" +")[0] for d in differences(texts, skew).split("; ")] == ["characters", "plain text"]
    encoder, decoder = differences(found, skew).split("; ")
    assert encoder.startswith("encoder, characters +0.1") and encoder.endswith("]") and "[" not in decoder


def test_contrasts_name_arms_that_exist():
    assert {p.start for p in PAIRS} | {p.against for p in PAIRS} == set(STARTS)
    assert [p.start for p in AT_EQUAL_SCALE] == ["symmetric", "symmetric-indefinite"]


def test_numbers_as_words():
    assert (
        as_percent(0.116) == "12\N{NO-BREAK SPACE}%"
        and as_percent(su.NEVER) == "never"
        and as_nats(-0.0312) == "−0.031"
    )
    assert as_score(-0.001) == "+0.00" and as_score(-0.25) == "−0.25"
    assert (
        with_interval(su.Estimate(0.1, su.NEVER, 0.2), as_percent)
        == "10\N{NO-BREAK SPACE}% [never, 20\N{NO-BREAK SPACE}%]"
    )
    assert with_interval(su.Estimate(0.1, math.nan, math.nan), as_nats) == "+0.100"
    assert spread([0.3, su.NEVER, 0.1, 0.1]) == "never, " + ", ".join(f"{x}\N{NO-BREAK SPACE}%" for x in (10, 10, 30))


def test_each_arm_is_judged_at_its_own_best_rate():
    low = made_matrix(shifts={"random": 0.5, "symmetric": 0.1}, lr=5e-5)
    high = made_matrix(shifts={"random": 0.0, "symmetric": 0.4, "skew": 0.3}, lr=1e-3)
    other = made_matrix(steps=7)
    (family,) = families([*low, *high, *other])
    assert [s.config["lr"] for s in family] == [5e-5, 1e-3]
    assert best_rate(family, "random").config["lr"] == 1e-3 and best_rate(family, "symmetric").config["lr"] == 5e-5
    assert best_rate(family, "mimetic") is None
    rows = rates_table(family).set_index("start")
    assert rows.loc["symmetric", "difference, each at its best"].startswith("+0.1")
    assert rows.loc["symmetric", "best of these"] == "0.00005" and rows.loc["skew", "loss at 0.00005"] == "–"
    assert rows.loc["skew", "loss at 0.001"].endswith(" (3)")
    assert rows.loc["random", "difference, each at its best"] == "0"


def test_rates_are_ranked_on_the_seeds_that_all_of_them_have():
    """The third seed is bad at any rate, and was run at one rate only."""
    shifts = {0: 0.0, 1: 0.0, 2: 0.6}
    runs = [made_arm(init, s, shift=shift, lr=1e-3) for init in ("random", "released") for s, shift in shifts.items()]
    runs += [made_arm(init, 0, shift=0.1, lr=2e-3) for init in ("random", "released")]
    (family,) = families(runs)
    assert best_rate(family, "random").config["lr"] == best_rate(family, "released").config["lr"] == 1e-3
    assert "[" in rates_table(family).set_index("start").loc["released", "difference, each at its best"]


def test_runs_at_other_rates_are_those_of_the_main_experiments_families():
    main, slow = made_matrix(shifts=SHIFTS), made_matrix(2, shifts=SHIFTS, lr=5e-5)
    elsewhere = [r for lr in (1e-3, 3e-3) for r in made_matrix(1, shifts=SHIFTS, lr=lr, steps=7)]
    runs = [*main, *slow, *elsewhere]
    assert at_other_rates(families(runs), main_experiments(experiments(runs))) == slow


def test_a_rate_at_which_only_the_random_start_was_run_counts():
    runs = [*made_matrix(lr=1e-3, shifts=SHIFTS), *made_matrix(lr=3e-3, shifts={"random": -0.5})]
    (family,) = families(runs)
    assert best_rate(family, "random").config["lr"] == 3e-3 and best_rate(family, "released").config["lr"] == 1e-3


def test_every_pair_has_a_row_and_every_experiment_a_column():
    found = main_experiments(experiments([*made_matrix(shifts=SHIFTS), *made_matrix(1, SHIFTS, objective="clm")]))
    rows = contrast_table(found).set_index("pair")
    assert len(rows) == len(PAIRS)
    assert rows.loc["released less random", "encoder, characters"].endswith("**lower**")
    assert rows.loc["symmetric less random", "encoder, characters"].endswith("within noise")
    assert rows.loc["released less random", "decoder, characters"].endswith("too few seeds")
    assert rows.loc["mimetic less random", "encoder, characters"] == "–"


def test_outcomes_are_counted():
    found = experiments(made_matrix(shifts=SHIFTS))
    assert "lower in 1, higher in 2 and within the noise between seeds in 1 of 4" in tally(found, PAIRS[:6])
    assert "not decided" in tally(experiments(made_matrix(1, SHIFTS)), PAIRS)


def test_table_1_stands_beside_the_runs_on_such_text():
    found = main_experiments(experiments(made_matrix(shifts=SHIFTS)))
    rows = table_1_beside_ours(found).set_index("row")
    assert len(rows) == 6 and set(rows["verdict"]) == {"not run with as much text"}
    own = with_interval(crossings.speed_up_of(found[0].contrasts()[RELEASED]), as_percent)
    assert rows.loc["4 layers, Wikipedia", "speed-up there"] == own
    assert rows.loc["12 layers, Jigsaw", "for good"] == "never"
    assert rows.loc["12 layers, Jigsaw", "speed-up there"] == "not run"  # on plain text, of which there is none here
    assert rows.loc["4 layers, Wikipedia", "loss, symmetric"] == "0.812"


def test_what_was_run_says_how_long_and_what_is_missing():
    (row,) = what_was_run(experiments(made_matrix(2, SHIFTS))).to_dict("records")
    assert row["runs"] == 10 and row["hours"] == pytest.approx(10 * 90 / 3600)
    assert "random (2 of 3 seeds)" in row["missing"] and "mimetic" in row["missing"] and row["machine"] == "a processor"
