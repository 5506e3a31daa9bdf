import math
from dataclasses import replace

import numpy as np
import pytest
from made_runs import made_arm, made_run
from scipy import stats

from attngeo.experiments.runs.arms import Contrast, all_arms, arms, contrasts, distinct_labels, matched, text
from attngeo.experiments.runs.estimates import difference_of_means, over_seeds
from attngeo.experiments.runs.experiments import read_experiment
from attngeo.experiments.runs.record import RunError, read_runs
from attngeo.files.checkout import data

ENCODERS = made_arm(3, loss=2.0)
DECODERS = made_arm(2, objective="clm", loss=1.5)


def test_an_arm_holds_the_seeds_of_one_setting_in_order():
    shuffled = [*ENCODERS[::-1], *DECODERS, made_run(seed=7, lr=1e-4), made_run(seed=1, record_every=7)]
    found = arms(shuffled)
    assert [arm.seeds for arm in found] == [(0, 1, 2), (0, 1), (7,)]  # one run per seed


def test_arms_are_paired_on_the_seeds_that_both_have():
    (pair,) = contrasts([*ENCODERS, *DECODERS], "objective", "mlm", "clm")
    assert len(pair) == 2 and pair.label == "Wikipedia, characters"
    assert pair.first.seeds == pair.second.seeds == (0, 1)
    difference = pair.difference()
    assert difference.value == pytest.approx(0.5, abs=0.05) and not difference.has_interval


def test_arms_of_other_settings_are_no_pair_unless_the_setting_is_free():
    short, middle, long = (made_arm(3, objective="clm", steps=steps) for steps in (500, 900, 3000))

    def pairs(*runs, **options):
        of_steps = contrasts([*ENCODERS, *runs], "objective", "mlm", "clm", **options)
        return [(pair.first.config["steps"], pair.second.config["steps"], len(pair)) for pair in of_steps]

    assert pairs(*short) == []
    free = {"free": ("steps",)}
    assert pairs(*short, **free) == [(1000, 500, 3)]
    # each first arm stands once, beside the arm with most seeds in common, then that of nearest length
    assert pairs(*short, *DECODERS, **free) == [(1000, 500, 3)]
    assert pairs(*short, *middle, *long, **free) == [(1000, 900, 3)]
    # a second arm stands in one pair where asked
    both = (*made_arm(2, steps=3000), *middle)
    assert pairs(*both, **free) == [(1000, 900, 3), (3000, 900, 2)]
    assert pairs(*both, **free, once=True) == [(1000, 900, 3)]


def test_constraints_of_several_weights_are_pairs_of_their_own():
    constrained = [r for gamma in (0.1, 1.0) for r in made_arm(3, constraint="skew", gamma=gamma)]
    found = contrasts([*ENCODERS, *constrained], "constraint", "skew", "none", free=("gamma",))
    assert sorted(pair.first.config["gamma"] for pair in found) == [0.1, 1.0]
    assert all(pair.second.config["constraint"] == "none" for pair in found)


def test_intervals_are_student_s_over_seeds_and_welch_s_where_nothing_is_paired():
    first, second = [1.0, 2.0, 4.0], [0.0, 0.1, 0.3, 0.2]
    a, b = np.var(first, ddof=1) / 3, np.var(second, ddof=1) / 4
    degrees = (a + b) ** 2 / (a**2 / 2 + b**2 / 3)
    paired, unpaired = np.mean(first), np.mean(first) - np.mean(second)
    for found, mean, half in (
        (over_seeds(first), paired, 4.302652729911275 * a**0.5),  # of Student's t, two degrees of freedom
        (difference_of_means(first, second), unpaired, stats.t.ppf(0.975, degrees) * (a + b) ** 0.5),
    ):
        assert (found.value, found.low, found.high) == pytest.approx((mean, mean - half, mean + half))
    assert not over_seeds(first[:2]).has_interval and not difference_of_means(first, second[:2]).has_interval


def test_measures_of_a_run():
    run = made_run(s=(0.2, 0.4, 0.6), d=(0.0, 0.0, 0.0), noise=0.0)
    assert run.last("symmetry") == pytest.approx(0.4) and abs(run.first("symmetry")) < 0.05
    assert run.last("held_out_loss") == pytest.approx(2.0) and run.first("held_out_loss") == pytest.approx(5.0)
    assert run.by_layer("symmetry").iloc[-1].tolist() == pytest.approx([0.2, 0.4, 0.6])
    assert text(run) == "Wikipedia, characters"
    assert text(made_run(text="plain", vocab_size=160)) == "Wikipedia, subword tokens (vocabulary of 160)"


def test_an_arm_is_measured_seed_by_seed():
    (arm,) = arms(ENCODERS)
    ends = arm.values("symmetry")
    assert list(ends.index) == [0, 1, 2] and list(ends) == list(arm.curves("symmetry").iloc[-1])
    assert arm.mean("symmetry") == arm.estimate("symmetry").value == pytest.approx(ends.mean())
    assert arm.mean(lambda run: run.config["seed"]) == 1 and arm.of([2, 0]).seeds == (0, 2)


def test_arms_without_a_common_seed_or_step_and_runs_without_a_loss_are_refused():
    run = replace(ENCODERS[0], history=ENCODERS[0].history.assign(held_out_loss=math.nan))
    with pytest.raises(RunError, match=run.name):
        run.last("held_out_loss")
    with pytest.raises(RunError, match="mlm-random-5"):
        Contrast(arms(ENCODERS)[0], arms([made_run(seed=5)])[0])
    shifted = [replace(r, history=r.history.assign(step=r.history["step"] + 7)) for r in ENCODERS]
    with pytest.raises(RunError, match="held_out_loss"):
        Contrast(arms(ENCODERS)[0], arms(shifted)[0]).curves("held_out_loss")


def test_runs_are_matched_in_all_but_the_named_settings_whatever_their_order():
    groups = matched([*ENCODERS, *DECODERS, made_run(lr=1e-4)], differ=("objective", "seed"))
    assert [len(group) for group in groups] == [5, 1]
    reordered = replace(ENCODERS[0], about=ENCODERS[0].about | {"config": dict(reversed(ENCODERS[0].config.items()))})
    assert len(matched([reordered, *ENCODERS], differ=("seed",))) == 1


def test_labels_say_what_tells_runs_of_one_text_apart():
    runs = [made_run(), made_run(lr=1e-4), made_run(corpus="jigsaw")]
    assert distinct_labels(runs) == [
        "Wikipedia, characters, learning rate 0.001",
        "Wikipedia, characters, learning rate 0.0001",
        "Jigsaw, characters",
    ]


def test_all_arms_of_a_plan_are_whole(monkeypatch):
    plan = read_experiment(data("runs", "positions_start_rotary"))
    assert {name: len(arm) for name, arm in all_arms(plan).items()} == {"random": 5, "symmetric": 5}
    monkeypatch.setattr("attngeo.experiments.runs.arms.read_runs", lambda folder: read_runs(folder)[:-1])
    with pytest.raises(RunError, match=r"^Runs of the arm symmetric of positions_start_rotary are missing; make them"):
        all_arms(plan)
