import math

import pytest
from made_training import made_arm, made_run

from attngeo.runs.arms import (
    arms,
    at_end,
    at_start,
    distinct_labels,
    final_loss,
    kind,
    over_seeds,
    pairs,
    text,
)
from attngeo.runs.estimates import Estimate
from attngeo.runs.tables import arm_table, setting_table, shortened

ENCODERS = made_arm(3, loss=2.0)
DECODERS = made_arm(2, objective="clm", loss=1.5)


def test_an_arm_holds_the_seeds_of_one_setting_in_order():
    shuffled = [*ENCODERS[::-1], *DECODERS, made_run(seed=7, lr=1e-4), made_run(seed=1, record_every=7)]
    found = arms(shuffled)
    assert [[r.config["seed"] for r in arm] for arm in found] == [[0, 1, 2], [0, 1], [7]]  # one run per seed


def test_arms_are_paired_on_the_seeds_that_both_have():
    (pair,) = pairs([*ENCODERS, *DECODERS], "objective", "mlm", "clm")
    assert pair.seeds == 2 and pair.label == "wikipedia, characters"
    assert [r.config["seed"] for r in pair.first] == [r.config["seed"] for r in pair.second] == [0, 1]
    difference = pair.difference(final_loss)
    assert difference.value == pytest.approx(0.5, abs=0.05) and not difference.has_interval


def test_arms_of_other_settings_are_no_pair_unless_the_setting_is_free():
    short = made_arm(3, objective="clm", steps=500)
    assert pairs([*ENCODERS, *short], "objective", "mlm", "clm") == []
    (pair,) = pairs([*ENCODERS, *short], "objective", "mlm", "clm", free=("steps",))
    assert pair.seeds == 3
    # each first arm stands once, beside the arm with most seeds in common
    (pair,) = pairs([*ENCODERS, *short, *DECODERS], "objective", "mlm", "clm", free=("steps",))
    assert pair.second[0].config["steps"] == 500


def test_an_arm_stands_in_one_pair_where_asked():
    long = made_arm(2, steps=3000)
    everything = [*ENCODERS, *long, *made_arm(3, objective="clm", steps=900)]
    both = pairs(everything, "objective", "mlm", "clm", free=("steps",))
    assert [pair.first[0].config["steps"] for pair in both] == [1000, 3000]
    (pair,) = pairs(everything, "objective", "mlm", "clm", free=("steps",), once=True)
    assert pair.first[0].config["steps"] == 1000 and pair.seeds == 3


def test_of_arms_with_as_many_seeds_the_one_of_nearest_length_is_taken():
    several = [r for steps in (100, 900, 3000) for r in made_arm(3, objective="clm", steps=steps)]
    (pair,) = pairs([*ENCODERS, *several], "objective", "mlm", "clm", free=("steps",))
    assert pair.second[0].config["steps"] == 900


def test_constraints_of_several_weights_are_pairs_of_their_own():
    constrained = [r for gamma in (0.1, 1.0) for r in made_arm(3, constraint="skew", gamma=gamma)]
    found = pairs([*ENCODERS, *constrained], "constraint", "skew", "none", free=("gamma",))
    assert sorted(pair.first[0].config["gamma"] for pair in found) == [0.1, 1.0]
    assert all(pair.second[0].config["constraint"] == "none" for pair in found)


def test_an_interval_over_seeds_is_students():
    found = over_seeds([1.0, 2.0, 3.0])
    half = 4.302652729911275 / math.sqrt(3)  # of Student's t, two degrees of freedom
    assert (found.value, found.low, found.high) == pytest.approx((2, 2 - half, 2 + half))
    assert isinstance(found, Estimate) and not over_seeds([1.0, 2.0]).has_interval


def test_measures_of_a_run():
    run = made_run(s=(0.2, 0.4, 0.6), d=(0.0, 0.0, 0.0), noise=0.0)
    assert at_end("symmetry")(run) == pytest.approx(0.4) and abs(at_start("symmetry")(run)) < 0.05
    assert final_loss(run) == pytest.approx(2.0)
    assert (kind(run), text(run)) == ("made", "wikipedia, characters")
    assert text(made_run(text="plain", vocab_size=160)) == "wikipedia, 160 pieces"


def test_labels_say_what_tells_runs_of_one_text_apart():
    runs = [made_run(), made_run(lr=1e-4), made_run(corpus="jigsaw")]
    assert distinct_labels(runs) == [
        "wikipedia, characters, learning rate 0.001",
        "wikipedia, characters, learning rate 0.0001",
        "jigsaw, characters",
    ]


def test_tables_have_a_row_per_setting_and_per_arm():
    runs = [*ENCODERS, *DECODERS, made_run(corpus="jigsaw")]
    settings, rows = setting_table(runs), arm_table(runs)
    assert sorted(settings["runs"]) == [1, 5] and settings["hours"].sum() == pytest.approx(0.1)
    assert set(settings["device"]) == {"1 CPU core"}
    assert rows["seeds"].sum() == 6 and len(rows) == 3
    first = rows[(rows["objective"] == "mlm") & (rows["seeds"] == 3)].iloc[0]
    assert first["loss"].startswith(("1.99", "2.00")) and "\u00a0±\u00a00.0" in first["loss"]
    assert "±" not in rows[rows["seeds"] == 1].iloc[0]["s"]


def test_columns_that_are_the_same_in_all_rows_go_into_words():
    frame, words = shortened(setting_table([*ENCODERS, made_run(corpus="jigsaw")]))
    assert "dropout" not in frame and "dropout 0" in words and "rate 0.001" in words
    assert {"text", "runs", "hours"} <= set(frame)
    one, nothing = shortened(setting_table(ENCODERS))
    assert "dropout" in one and nothing == ""


def test_tables_of_no_runs_are_empty():
    assert setting_table([]).empty and arm_table([]).empty
