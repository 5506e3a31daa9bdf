"""What *Constraints* reads from recorded runs: pairs of arms, where they end, what is drawn of them."""

from dataclasses import replace

import pandas as pd
import pytest
from chapters import constraints
from made_runs import made_arm

from attngeo.errors import ParameterError
from attngeo.experiments.runs.arms import Arm
from attngeo.experiments.runs.circumstances import in_words, made_alike
from attngeo.experiments.runs.estimates import HELPS, HURTS, NO_DIFFERENCE, TOO_FEW, Estimate
from attngeo.plot.style import NEUTRAL, PART_COLOURS

FREE = made_arm(3, loss=2.0)
HIGHER = made_arm(3, loss=2.3, constraint="skew", gamma=0.1, s=(-0.9,) * 4)
LOWER = made_arm(3, loss=1.7, constraint="symmetric", gamma=0.1, s=(0.9,) * 4)
DECODERS = [*made_arm(2, objective="clm"), *made_arm(2, objective="clm", constraint="skew", gamma=0.1, loss=2.5)]
RUNS = [*HIGHER, *FREE, *DECODERS, *LOWER]
NAMES = ["encoder, symmetry forbidden", "encoder, symmetry enforced", "decoder, symmetry forbidden"]


def with_heads(run, *values):
    """The run with heads of these symmetry scores at the last step, in every layer, and 0 before."""
    sums = run.layer_scores()
    last = sums["step"] == sums["step"].max()
    heads = [sums.assign(head=head, symmetry=last * value) for head, value in enumerate(values)]
    return replace(run, scores=pd.concat([sums, *heads]))


def named(arm):
    return f"{constraints.part_of(arm)}, {constraints.condition_of(arm)}"


def test_every_constrained_arm_stands_beside_the_free_one_and_its_interval_is_told():
    pairs = constraints.constrained_and_free(RUNS)
    assert [named(pair.first) for pair in pairs] == NAMES
    assert all(named(pair.second).endswith("no constraint") and pair.first.seeds == pair.second.seeds for pair in pairs)
    assert [pair.outcome() for pair in pairs] == ["higher loss", "lower loss", "too few seeds"]
    assert constraints.constrained_and_free(FREE) == []


def test_the_table_has_every_arm_once_with_its_layers_beside_its_heads():
    runs = [with_heads(r, *((0.1, 0.2, 0.6) if r.config["constraint"] == "none" else (-0.5, -0.4, 0.9))) for r in RUNS]
    rows = constraints.ends(constraints.constrained_and_free(runs), 1000)
    assert list(rows.index) == ["encoder, no constraint", *NAMES[:2], "decoder, no constraint", NAMES[2]]
    assert rows.loc[NAMES[0], "loss minus loss without constraint"].startswith(("+0.29", "+0.30"))
    assert "[" not in rows.loc[NAMES[2], "loss minus loss without constraint"]
    assert (
        list(rows["s of a layer"].iloc[:1]) == ["+0.35"] and rows.loc[NAMES[0], "s of a layer"] == "\N{MINUS SIGN}0.90"
    )
    assert list(rows["s of a head"].iloc[[0, 1]]) == ["+0.20", "\N{MINUS SIGN}0.40"]


def test_a_loss_that_still_falls_at_the_end_is_told():
    (run,) = made_arm(1, loss=2.0, noise=0.0)  # from 5 to 2 on a straight line
    assert constraints.last_fall(1000)(run) == pytest.approx(0.6)
    assert constraints.at(550)(run) == pytest.approx(3.5) and constraints.last_fall(500)(run) == pytest.approx(0.3)


@pytest.mark.parametrize(("runs", "panels"), [(RUNS, 4), (RUNS[:6], 2)])
def test_the_figure_has_a_column_for_every_model(runs, panels):
    pairs = constraints.constrained_and_free(runs)
    figure = constraints.training_figure(pairs, 1000)
    assert len(figure.figure.axes) == panels
    for panel in figure.figure.axes[: panels // 2]:
        colours = {line.get_color() for line in panel.lines if len(line.get_xdata())}
        assert colours == {NEUTRAL, PART_COLOURS[panel.get_title(loc="left")]}


def estimate(outcome):
    return {HELPS: Estimate(-0.3, -0.4, -0.2), HURTS: Estimate(0.3, 0.2, 0.4), TOO_FEW: Estimate(0.3)}.get(
        outcome, Estimate(0.01, -0.1, 0.12)
    )


@pytest.mark.parametrize(
    ("outcome", "words"),
    [
        (HURTS, "Forbidding symmetry raises the loss of a small encoder by 0.30 nats."),
        (HELPS, "Forbidding symmetry lowers the loss of a small encoder by 0.30 nats."),
        (TOO_FEW, "Forbidding symmetry changes the loss of a small encoder by +0.30 nats (too few seeds"),
        (NO_DIFFERENCE, "Forbidding symmetry changes the loss of a small encoder by +0.01 nats, which is within the"),
    ],
)
def test_the_answer_follows_the_interval(outcome, words):
    both = {"encoder": estimate(outcome), "decoder": estimate(NO_DIFFERENCE)}
    one, two = (constraints.effects(constraints.FORBIDDEN, costs) for costs in ({"encoder": estimate(outcome)}, both))
    assert one.startswith(words)
    if outcome == NO_DIFFERENCE:
        assert two.startswith("Forbidding symmetry changes neither of the two losses by more than")
    else:
        assert two.startswith(one) and "The same constraint changes the loss of a small decoder by +0.01 nats" in two
    assert bool(constraints.probability(estimate(outcome))) is (outcome == HURTS)


@pytest.mark.parametrize(
    ("models", "seeds", "message"),
    [
        (["BERT"], [0], "Parameter models names 'BERT', which was not recorded; choose from encoder, decoder."),
        (["encoder"], [7], "Parameter seeds names 7, which was not recorded; choose from 0, 1, 2."),
        (["encoder"], [], "Parameter seeds is empty; choose from 0, 1, 2."),
    ],
)
def test_a_model_or_seed_that_was_not_recorded_is_refused_in_a_sentence(models, seeds, message):
    with pytest.raises(ParameterError) as error:
        constraints.chosen(constraints.constrained_and_free([*HIGHER, *FREE]), models, seeds)
    assert str(error.value) == message


@pytest.mark.parametrize("step", [-5, 0, 1001])
def test_a_step_without_a_record_is_refused_in_a_sentence(step):
    pairs = constraints.constrained_and_free([*HIGHER, *FREE])
    with pytest.raises(
        ParameterError, match=rf"^Parameter last_step is {step}; choose a training step from 100 to 1000\.$"
    ):
        constraints.require_step(pairs, step)
    constraints.require_step(pairs, 100)


def test_what_the_settings_of_an_arm_do_not_fix_is_told_once_for_each_combination():
    def made_with(run, precision, commit):
        return replace(run, about=run.about | {"precision": precision, "versions": {"commit": commit}})

    same = Arm(tuple(made_with(run, "fp32", "abc") for run in FREE))
    mixed = Arm((*(made_with(run, "fp32", "abc") for run in FREE[:2]), made_with(FREE[2], "bf16", "abc")))
    assert in_words(same.runs) == {"precision": "fp32", "processor": "a processor", "commit": "abc"}
    assert in_words(mixed.runs)["precision"] == "fp32, bf16"
    assert made_alike([same]) and not made_alike([same, mixed])
