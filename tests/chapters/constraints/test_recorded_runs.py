"""What *Constraints* reads from recorded runs: pairs of arms, where they end, what is drawn of them."""

from dataclasses import replace

import pandas as pd
import pytest
from made_runs import made_arm
from notebook_code import notebook

PAGE = notebook("constraints")
FREE = made_arm(3, loss=2.0)
HIGHER = made_arm(3, loss=2.3, constraint="skew", gamma=0.1, s=(-0.9,) * 4)
LOWER = made_arm(3, loss=1.7, constraint="symmetric", gamma=0.1, s=(0.9,) * 4)
DECODERS = [*made_arm(2, objective="clm"), *made_arm(2, objective="clm", constraint="skew", gamma=0.1, loss=2.5)]
RUNS = [*HIGHER, *FREE, *DECODERS, *LOWER]
NAMES = ["encoder, held symmetric", "encoder, held skew-symmetric", "decoder, held skew-symmetric"]


def with_heads(run, *values):
    """The run with heads of these symmetry scores at the last step, in every layer, and 0 before."""
    sums = run.layer_scores()
    last = sums["step"] == sums["step"].max()
    heads = [sums.assign(head=head, symmetry=last * value) for head, value in enumerate(values)]
    return replace(run, scores=pd.concat([sums, *heads]))


def test_every_constrained_arm_stands_beside_the_free_one_and_its_interval_is_told():
    pairs = PAGE.constrained_and_free(RUNS)
    assert [PAGE.name_of(pair.first) for pair in pairs] == NAMES
    assert all(PAGE.name_of(pair.second).endswith("free") and pair.first.seeds == pair.second.seeds for pair in pairs)
    assert [pair.outcome() for pair in pairs] == ["lower loss", "higher loss", "too few seeds"]
    assert PAGE.constrained_and_free(FREE) == []


def test_the_table_has_every_arm_once_with_its_layers_beside_its_heads():
    runs = [with_heads(r, *((0.1, 0.2, 0.6) if r.config["constraint"] == "none" else (-0.5, -0.4, 0.9))) for r in RUNS]
    rows = PAGE.ends(PAGE.constrained_and_free(runs))
    assert list(rows.index) == ["encoder, free", *NAMES[:2], "decoder, free", NAMES[2]]
    assert rows.loc[NAMES[1], "loss, more than free"].startswith(("+0.29", "+0.30"))
    assert "[" not in rows.loc[NAMES[2], "loss, more than free"]
    assert list(rows["s, layers"].iloc[:1]) == ["+0.35"] and rows.loc[NAMES[1], "s, layers"] == "\N{MINUS SIGN}0.90"
    assert list(rows["s, heads"].iloc[[0, 2]]) == ["+0.20", "\N{MINUS SIGN}0.40"]


def test_a_loss_that_still_falls_at_the_end_is_told():
    (run,) = made_arm(1, loss=2.0, noise=0.0)  # from 5 to 2 on a straight line
    assert PAGE.last_fall(run) == pytest.approx(0.6)


@pytest.mark.parametrize(("runs", "panels"), [(RUNS, 4), (FREE, 2)])
def test_the_figures_show_every_arm(runs, panels):
    figure = PAGE.training_figure(runs)
    assert len(figure.figure.axes) == panels
    curves = {line.get_color() for panel in figure.figure.axes for line in panel.lines if len(line.get_xdata())}
    assert curves >= {PAGE.COLOURS[PAGE.HELD[run.config["constraint"]]] for run in runs}
