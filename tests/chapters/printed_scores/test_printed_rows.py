import numpy as np
import pandas as pd
import pytest

from attngeo.chapters.printed_scores.printed_rows import beside_printed, printed_rows, whole_table
from attngeo.survey.score_table import SCORES, layer_medians


def layers(model="GPT-2", part="decoder", **scores):
    """A long table of one model whose layers have the given scores."""
    n = len(next(iter(scores.values())))
    frame = pd.DataFrame({"model": model, "part": part, "layer": range(n), "head": -1})
    return frame.assign(**{name: scores.get(name, [0.0] * n) for name in SCORES})


@pytest.mark.parametrize(("shift", "verdict"), [(0.0, "reproduced"), (0.2, "differs by 0.20")])
def test_a_row_reproduces_only_to_its_printed_digits(shift, verdict):
    """GPT2 is printed as 0.15 [0.02, 0.03]."""
    values = np.array([0.13, 0.13, 0.15, 0.18, 0.18]) + shift
    frame = beside_printed("S2", {"ours": "symmetry"}, layer_medians(layers(symmetry=values)))
    assert frame["printed as"].tolist() == ["GPT2"] and frame["printed"].tolist() == ["0.15 [0.02, 0.03]"]
    assert frame["ours"].item().endswith(verdict)


@pytest.mark.parametrize(("number", "n"), [("S2", 70), ("S3", 68)])
def test_the_whole_table_has_every_row_with_a_verdict(number, n):
    medians = layer_medians(layers(symmetry=[0.13, 0.13, 0.15, 0.18, 0.18]))
    frame = whole_table(number, "symmetry", medians).set_index("row")
    assert len(frame) == n and (frame["verdict"] != "").all()
    assert frame.loc["R15", "verdict"] == "no such model" and frame.loc["R15", "checkpoint"] == "none"
    assert frame.loc["R22", "verdict"] == "random weights were scored"
    assert frame.loc["L1", "verdict"] == "weights not read here"
    assert (frame["recomputed"] != "–").sum() == 1


def test_random_weights_are_never_reproduced():
    """The trained checkpoint is no test of a row that scored an untrained one; its other row can be tested."""
    medians = layer_medians(layers("Meta-Llama-3-8B", symmetry=[0.0, 0.0, 0.01]))
    rows = {r.row: r for r in printed_rows("S2", "symmetry", medians)}
    assert rows["R22"].ours is not None and rows["R22"].verdict == "random weights were scored"
    assert rows["R13"].verdict in ("reproduced", "differs by 0.01")
