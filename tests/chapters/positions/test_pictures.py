import base64

import numpy as np
import pytest
from chapters.positions.pictures import EXPERIMENT, LAYER, RUNS, SIDE, pictured

from attngeo.experiments.runs.record import read_run
from attngeo.files.checkout import data


def test_the_page_carries_the_recorded_entries_and_scores():
    shown = pictured().data
    assert shown["steps"] == list(range(0, 1501, 50)) and shown["side"] == SIDE
    starts = []
    for kind, names in RUNS.items():
        for model, name in zip(("encoder", "decoder"), names, strict=True):
            run, entries = read_run(data("runs", EXPERIMENT, name)), shown["kinds"][kind][model]
            pictures = np.frombuffer(base64.b64decode(entries["levels"]), dtype=np.int8).reshape(31, SIDE, SIDE)
            np.testing.assert_array_equal(pictures[-1], np.rint(run.pictures[LAYER, 1500][:SIDE, :SIDE] * 127))
            scores = run.layer_scores().query("layer == @LAYER and step == 1500")
            assert entries["s"][-1] == pytest.approx(scores["symmetry"].item(), abs=5e-5)
            assert entries["d"][-1] == pytest.approx(scores["directionality"].item(), abs=5e-5)
            starts.append(pictures[0])
    assert all(np.array_equal(start, starts[0]) for start in starts)  # all four begin with the same W_qk
