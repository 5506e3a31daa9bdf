import pandas as pd
import pytest

from attngeo.chapters.positions_theory import judged
from attngeo.chapters.positions_theory.judged import Outcome
from attngeo.runs.estimates import Estimate

READ_OUTS = [((0.9, 0.95), (0.2, 0.4), "HOLD"), ((0.4, 0.95), (0.2, 0.4), "REFUTED")]
READ_OUTS += [((0.9, 0.99), (-0.1, 0.2), "REFUTED"), ((0.7, 0.95), (0.2, 0.4), "UNDECIDED")]
READ_OUTS += [((0.9, 0.99), (-0.3, -0.2), "UNDECIDED")]
ONE_SIDED = [((-0.5, -0.2), "HOLD"), ((-0.5, -0.05), "UNDECIDED"), ((-0.5, 0.1), "REFUTED"), ((0.1, 0.2), "REFUTED")]


def estimate(ends):
    return Estimate(sum(ends) / 2, *ends)


def test_every_outcome_of_the_plans_is_reached():
    for before, last, outcome in READ_OUTS:
        assert judged.read_outs_outcome(estimate(before), estimate(last)) is Outcome[outcome]
    for ends, outcome in ONE_SIDED:
        assert judged.one_sided_outcome(estimate(ends)) is Outcome[outcome]


def test_read_outs_are_taken_at_the_last_checkpoint_before_s_passes_for_good():
    rows = [
        {"run": f"{arm}-{seed}", "step": step, "layer": layer, "symmetry": s, "evenness": even + (arm == "encoder")}
        for arm in ("encoder", "decoder")
        for seed in (420, 421, 422)
        for step, s, even in ((0, 0.0, 0.1), (50, 0.2, 0.2), (100, 0.05, 0.3), (150, 0.4, 0.6))
        for layer in range(3)
    ]
    before, last = judged.read_outs(pd.DataFrame(rows))
    assert before.value == pytest.approx(1.3) and last.value == pytest.approx(1)


def test_windows_are_compared_at_the_end_of_a_stage_by_seed():
    rows = [
        {"window": w, "seed": seed, "stage": stage, "step": step, "layer": layer, "s": seed + stage * (w == "left")}
        for w in ("both", "left")
        for seed in (1, 2, 3)
        for stage in (1, 2)
        for step in (0, 600)
        for layer in range(3)
    ]
    assert judged.one_sided(pd.DataFrame(rows), 2, "s").value == pytest.approx(2)
