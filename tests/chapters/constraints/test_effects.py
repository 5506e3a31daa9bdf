from dataclasses import replace

import pandas as pd
import pytest
from made_training import made_arm

from attngeo.chapters.constraints.effects import (
    constrained_and_free,
    describe,
    effects_table,
    heads_table,
    last_fall,
    reached,
    symmetry_of_heads,
)
from attngeo.chapters.constraints.figures import constrained_training, constraint_values
from attngeo.runs.numbers_in_words import as_score, extent

FREE = made_arm(3, loss=2.0)
HIGHER = made_arm(3, loss=2.3, constraint="skew", gamma=0.1, s=(-0.9,) * 4)
LOWER = made_arm(3, loss=1.7, constraint="symmetric", gamma=0.1, s=(0.9,) * 4)
SAME = made_arm(3, loss=2.0, constraint="symmetric", gamma=0.01)
DECODERS = [*made_arm(2, objective="clm"), *made_arm(2, objective="clm", constraint="skew", gamma=0.1, loss=2.5)]
RUNS = [*HIGHER, *FREE, *DECODERS, *LOWER, *SAME]


def with_heads(run, *values):
    """The run with heads of these symmetry scores at the last step, in every layer, and 0 before."""
    sums = run.layer_scores()
    last = sums["step"] == sums["step"].max()
    heads = [sums.assign(head=head, symmetry=last * value) for head, value in enumerate(values)]
    return replace(run, scores=pd.concat([sums, *heads]))


def test_every_constrained_arm_stands_beside_the_free_one():
    found = constrained_and_free(RUNS)
    assert [describe(pair) for pair in found] == [
        "encoder, symmetric, γ 0.01",
        "encoder, symmetric, γ 0.1",
        "encoder, skew, γ 0.1",
        "decoder, skew, γ 0.1",
    ]
    assert all(pair.second.config["constraint"] == "none" for pair in found)
    assert all(
        pair.first.config["objective"] == pair.second.config["objective"] and pair.first.seeds == pair.second.seeds
        for pair in found
    )


def test_what_the_interval_says_is_said():
    said = [pair.outcome() for pair in constrained_and_free(RUNS)]
    assert said == [
        "no difference beyond the noise between seeds",
        "lower loss",
        "higher loss",
        "too few seeds",
    ]


def test_the_table_shows_losses_and_intervals():
    rows = effects_table(constrained_and_free(RUNS)).set_index("constraint")
    assert rows.loc["encoder, skew, γ 0.1", "difference"].startswith(("+0.29", "+0.30"))
    assert "[" not in rows.loc["decoder, skew, γ 0.1", "difference"]


def test_single_heads_stand_beside_their_sum():
    runs = [with_heads(r, *((0.1, 0.2, 0.6) if r.config["constraint"] == "none" else (-0.5, -0.4, 0.9))) for r in RUNS]
    found = [pair for pair in constrained_and_free(runs) if describe(pair) == "encoder, skew, γ 0.1"]
    rows = heads_table(found).set_index("runs")
    assert list(rows.index) == ["encoder, free", "encoder, skew, γ 0.1"]
    assert list(rows["s, sum over heads"]) == ["+0.35", "\N{MINUS SIGN}0.90"]
    assert list(rows["s, single heads"]) == ["+0.20", "\N{MINUS SIGN}0.40"]
    assert list(rows["d, sum over heads"]) == [
        as_score(arm.mean("directionality")) for arm in (found[0].second, found[0].first)
    ]
    assert reached(found, symmetry_of_heads) == [pytest.approx(0.4)] and reached(found, "symmetry")[0] == pytest.approx(
        0.9, abs=0.02
    )
    assert extent([0.4, 0.9], "{:.2f}".format) == "0.40 to 0.90" and extent([], str) == "–"


def test_a_free_arm_stands_once_however_many_constraints_it_serves():
    assert list(heads_table(constrained_and_free(RUNS))["runs"]) == [
        "encoder, free",
        "encoder, symmetric, γ 0.01",
        "encoder, symmetric, γ 0.1",
        "encoder, skew, γ 0.1",
        "decoder, free",
        "decoder, skew, γ 0.1",
    ]


def test_a_loss_that_still_falls_at_the_end_is_told():
    (run,) = made_arm(1, loss=2.0, noise=0.0)  # from 5 to 2 on a straight line
    assert last_fall(run) == pytest.approx(0.6)
    said = [pair.outcome(last_fall) for pair in constrained_and_free(RUNS)]
    assert said == ["no difference beyond the noise between seeds", "higher loss", "lower loss", "too few seeds"]
    exceeding = heads_table(constrained_and_free(RUNS)).set_index("runs")["beyond the free run's"]
    assert exceeding["encoder, free"] == "–" and exceeding["encoder, symmetric, γ 0.1"].startswith(("+0.05", "+0.06"))


def test_without_runs_there_is_nothing_to_show():
    assert constrained_and_free(FREE) == [] and effects_table([]).empty and heads_table([]).empty


def test_the_figure_of_training_tells_where_every_arm_ends():
    figure = constrained_training(RUNS, "fig-constrained-made")
    assert len(figure.figure.axes) == 4 and "<svg" in figure.svg()
    for text in (figure.caption, figure.alt):
        assert "the least symmetric is encoder, skew constraint, γ = 0.1 (s -0.9" in text
    assert "lowest loss has encoder, " in figure.caption and "; decoder, " in figure.caption


def test_the_figure_of_the_constraints_has_both_minima():
    (panel,) = constraint_values().figure.axes
    dots = [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in panel.lines if len(line.get_xdata()) == 1
    ]
    assert dots == [(1.0, 1.0), (-1.0, 1.0), (0.0, 2.0)]
