import pytest
from made_arms import made_arm, made_matrix

from attngeo.chapters.symmetric_initialisation import figures as draw
from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AGAINST_RANDOM,
    PAIRS,
    experiments,
    main_experiments,
)

SHIFTS = {"random": 0.0, "symmetric": 0.1, "released": -0.4, "default-linear": -0.4, "mimetic": 0.3}


@pytest.fixture(scope="module")
def main():
    runs = [
        *made_matrix(shifts=SHIFTS),
        *made_matrix(1, SHIFTS, objective="clm"),
        *made_matrix(shifts=SHIFTS, text="plain"),
    ]
    return main_experiments(experiments(runs))


def test_each_experiment_has_a_panel_and_each_seed_a_line(main):
    figure = draw.loss_curves(main)
    assert [a.get_title("left") for a in figure.figure.axes] == [s.label for s in main]
    assert len(figure.figure.axes[0].lines) == len(SHIFTS) * (3 + 1)
    assert "3 panels" in figure.alt and "<svg" in figure.svg()


def test_the_answer_shows_difference_and_interval_of_every_pair_that_was_run(main):
    figure = draw.answer(main)
    words, characters, decoder = (figure.figure.axes[i] for i in (1, 0, 2))
    points = [line for line in characters.lines if line.get_marker() in "osD"]
    assert len(points) == 5 and len(characters.collections) == 5  # an interval each
    rows = {PAIRS[int(p.get_ydata()[0])].start: p.get_xdata()[0] for p in points[:4]}
    assert rows["released"] == pytest.approx(-0.4, abs=0.01) and rows["mimetic"] == pytest.approx(0.3, abs=0.01)
    assert not decoder.collections and len(words.collections) == 5  # one seed has no interval
    assert "Of 15 differences: lower loss 6, higher loss 4, too few seeds 5." in figure.caption
    assert "Of 15 differences: lower loss 6, higher loss 4, too few seeds 5." in figure.alt
    assert ",−0.4" in figure.csv() or ",-0.4" in figure.csv()


def test_never_stands_apart_from_zero(main):
    figure = draw.speed_ups(main)
    points = [line for line in figure.figure.axes[0].lines if line.get_marker() in "osD"]
    where = {AGAINST_RANDOM[int(p.get_ydata()[0])].start: p.get_xdata()[0] for p in points}
    assert where["mimetic"] < 0 < where["released"]
    assert "Of 12 starts 6 never get there" in figure.alt


def test_a_single_setting_fills_the_figure(main):
    for function in (draw.answer, draw.speed_ups, draw.loss_curves):
        assert len(function(main[:1]).figure.axes) == 1


def test_symmetry_and_layers_of_the_three_starts():
    runs = [
        made_arm(init, seed, symmetry=ends, spread=0.1)
        for init, ends in (("random", (0.0, 0.3)), ("symmetric", (1.0, 0.5)), ("released", (1.0, 0.7)))
        for seed in range(3)
    ]
    (experiment,) = experiments(runs)
    figure = draw.figure_s5(experiment)
    assert "symmetric: median s from 1.00 to 0.50" in figure.caption
    assert [len(panel.lines) for panel in figure.figure.axes] == [3, 3, 0, 4, 4, 4]
