from pathlib import Path

import pytest
from made_arms import made_arm

from attngeo.chapters.symmetric_initialisation.by_size import (
    SCALE,
    TIE,
    along,
    beyond_noise,
    by_size,
    ends,
    planned_sizes,
    size_figure,
)
from attngeo.chapters.symmetric_initialisation.control_matrix import experiments
from attngeo.chapters.symmetric_initialisation.planned_runs import planned
from attngeo.paper.seed_intervals import Size
from attngeo.runs.experiments import Experiment, PlannedContrast, PlannedRun, Status

CONTRASTS = (
    PlannedContrast("symmetric", "random"),
    PlannedContrast("default-linear", "random"),
    PlannedContrast("released", "default-linear"),
)


def a_plan_and_its_runs(size, arms, seeds=range(100, 103), **config):
    layers, width = size
    plan = Experiment(
        Path(f"confirm_{layers}x{width}"),
        "does it help?",
        Status.CONFIRMATORY,
        "2026-11-22",
        tuple(PlannedRun(f"{arm}-{seed}", {"init": arm, "seed": seed}) for arm in arms for seed in seeds),
        CONTRASTS,
    )
    runs = [
        made_arm(a, s, shift=shift, layers=layers, d_model=width, **config) for a, shift in arms.items() for s in seeds
    ]
    for run in runs:
        object.__setattr__(run, "name", f"{plan.name}/{run.config['init']}-{run.config['seed']}")
    return plan, runs


def arms(tie=0.0, scale=-0.2):
    return {"random": 0.0, "symmetric": tie, "default-linear": scale, "released": scale}


def matrix():
    return experiments([made_arm(a, s, shift=x, d_model=128) for a, x in arms(-0.5, -0.6).items() for s in range(3)])


def test_what_no_plan_has_at_a_size_comes_from_the_matrix_and_is_told_apart():
    plans = [
        a_plan_and_its_runs((4, 128), {"random": 0.0, "symmetric": -0.1}),
        a_plan_and_its_runs((8, 128), arms(-0.3)),
    ]
    found = {(w.size.layers, w.pair): w for w in by_size(planned(plans), matrix())}
    assert found[4, TIE].as_planned and found[4, TIE].difference.value == pytest.approx(-0.1, abs=0.01)
    assert not found[4, SCALE].as_planned and found[4, SCALE].difference.value == pytest.approx(-0.6, abs=0.01)
    assert found[8, SCALE].as_planned and len(found) == 6


def test_other_settings_are_not_put_beside():
    plans = [a_plan_and_its_runs((2, 128), arms()), a_plan_and_its_runs((8, 128), arms())]
    longer = [a_plan_and_its_runs(size, arms(), block_size=64) for size in ((4, 128), (8, 128))]
    plans.insert(1, a_plan_and_its_runs((4, 64), arms()))
    for order in ([*plans, *longer], [*longer, *plans]):
        found = planned(order)
        assert {w.size for w in by_size(found, ())} == {Size(2, 128), Size(4, 64), Size(8, 128)}
        assert planned_sizes(found)[Size(8, 128)].config["block_size"] == plans[-1][1][0].config["block_size"]
    assert by_size((), matrix()) == []


@pytest.mark.parametrize(("shallow", "deep", "grows"), [(0.0, -0.2, True), (-0.2, -0.3, False), (0.0, 0.0, False)])
def test_symmetrys_part_grows_with_depth(shallow, deep, grows):
    plans = [a_plan_and_its_runs((2, 128), arms(shallow)), a_plan_and_its_runs((8, 128), arms(deep))]
    worth, asked = by_size(planned(plans), ()), {Size(2, 128), Size(8, 128)}
    found = ends(worth, "layers", TIE, asked)
    assert found.appears is grows and found.change.value == pytest.approx(deep - shallow, abs=0.01)
    assert found.change.low < deep - shallow < found.change.high
    assert ends(worth, "layers", TIE, asked | {Size(16, 128)}) is ends(worth, "width", SCALE, asked) is None


@pytest.mark.parametrize(
    ("narrow", "wide", "shrinks"), [(-0.4, -0.1, True), (0.4, 0.1, True), (-0.1, -0.4, False), (-0.2, -0.2, False)]
)
def test_the_scales_part_shrinks_with_width(narrow, wide, shrinks):
    plans = [a_plan_and_its_runs((4, 64), arms(0, narrow)), a_plan_and_its_runs((4, 256), arms(0, wide))]
    worth, asked = by_size(planned(plans), ()), {Size(4, 64), Size(4, 256)}
    assert ends(worth, "width", SCALE, asked).shrinks is shrinks
    assert ends(worth, "width", SCALE, asked | {Size(4, 512)}) is None


def test_sizes_where_a_pair_is_told_apart_are_named():
    plans = [a_plan_and_its_runs((2, 128), arms(-0.3)), a_plan_and_its_runs((8, 128), arms())]
    worth = by_size(planned(plans), matrix())
    assert beyond_noise(worth, TIE).startswith("1 of 2 sizes (2 layers of width 128: \N{MINUS SIGN}0.299 [")
    assert beyond_noise(worth, ("released", "default-linear")) == "none of 2 sizes"


def test_the_figure_has_depth_and_width_apart():
    sizes = [(2, 128), (8, 128), (4, 64)]
    worth = by_size(planned([a_plan_and_its_runs(size, arms()) for size in sizes]), matrix())
    assert {w.size for w in along(worth, "layers")} == {Size(2, 128), Size(4, 128), Size(8, 128)}
    figure = size_figure(worth)
    assert len(figure.alt.split()) <= 60 and len(figure.figure.axes) == 2
