from made_training import made_arm

from attngeo.constraint_effects import constrained_pairs, describe, effects_table, outcome, sentence
from attngeo.figures.constraints import constrained_training, constraint_values

FREE = made_arm(3, loss=2.0)
HIGHER = made_arm(3, loss=2.3, constraint="skew", gamma=0.1, s=(-0.9,) * 4)
LOWER = made_arm(3, loss=1.7, constraint="symmetric", gamma=0.1, s=(0.9,) * 4)
SAME = made_arm(3, loss=2.0, constraint="symmetric", gamma=0.01)
DECODERS = [*made_arm(2, objective="clm"), *made_arm(2, objective="clm", constraint="skew", gamma=0.1, loss=2.5)]
RUNS = [*HIGHER, *FREE, *DECODERS, *LOWER, *SAME]


def test_every_constrained_arm_stands_beside_the_free_one():
    found = constrained_pairs(RUNS)
    assert [describe(pair) for pair in found] == [
        "encoder, symmetric, γ 0.01",
        "encoder, symmetric, γ 0.1",
        "encoder, skew, γ 0.1",
        "decoder, skew, γ 0.1",
    ]
    assert all(pair.second[0].config["constraint"] == "none" for pair in found)
    assert all(
        a.config["objective"] == b.config["objective"] for p in found for a, b in zip(p.first, p.second, strict=True)
    )


def test_what_the_interval_says_is_said():
    said = [outcome(pair) for pair in constrained_pairs(RUNS)]
    assert said == [
        "no difference beyond the noise between seeds",
        "a lower loss",
        "a higher loss",
        "too few seeds",
    ]
    parts = sentence(constrained_pairs(RUNS)).split("; ")
    assert [part.split(" (")[0] for part in parts] == [
        "a lower loss: encoder, symmetric, γ 0.1",
        "a higher loss: encoder, skew, γ 0.1",
        "no difference beyond the noise between seeds: encoder, symmetric, γ 0.01",
        "too few seeds: decoder, skew, γ 0.1",
    ]
    assert "(+0.29" in parts[1] or "(+0.30" in parts[1]


def test_the_table_shows_losses_intervals_and_scores():
    rows = effects_table(constrained_pairs(RUNS)).set_index("constraint")
    assert rows.loc["encoder, skew, γ 0.1", "difference"].startswith(("+0.29", "+0.30"))
    assert "[" not in rows.loc["decoder, skew, γ 0.1", "difference"]
    assert rows.loc["encoder, skew, γ 0.1", "s, free → constrained"] == "+0.35 → \N{MINUS SIGN}0.90"


def test_without_runs_there_is_nothing_to_show():
    assert constrained_pairs(FREE) == [] and effects_table([]).empty
    assert sentence([]) == "No run with a constraint is recorded yet"


def test_the_figure_of_training_tells_where_every_arm_ends():
    figure = constrained_training(RUNS, "fig-constrained-made")
    assert len(figure.figure.axes) == 4 and "<svg" in figure.svg()
    assert "encoder, skew constraint, γ = 0.1: held-out loss 2.3" in figure.caption
    assert "decoder, free" in figure.caption and "s -0.9" in figure.alt


def test_the_figure_of_the_constraints_has_both_minima():
    (panel,) = constraint_values().figure.axes
    dots = [
        (float(line.get_xdata()[0]), float(line.get_ydata()[0])) for line in panel.lines if len(line.get_xdata()) == 1
    ]
    assert dots == [(1.0, 1.0), (-1.0, 1.0), (0.0, 2.0)]
