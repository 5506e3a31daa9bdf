"""The figures show the numbers of the record."""

import numpy as np
import pytest

from attngeo.chapters.heads_or_sum import figures
from attngeo.chapters.heads_or_sum.evidence import evidence, families, medians, spectra_table, whole

FOUND = evidence()


def test_a_diamond_for_each_stack_lies_at_its_median():
    panel = figures.heads_and_sums(FOUND).figure.axes[0]
    diamonds = [line.get_xdata()[0] for line in panel.lines if line.get_marker() == "D"]
    stacks = medians(whole(FOUND.layers), ("symmetry",))
    assert len(diamonds) == len(stacks) and sorted(diamonds) == pytest.approx(sorted(stacks["symmetry"]))
    points = sum(len(c.get_offsets()) for c in panel.collections)
    assert points == (FOUND.spectra["head"] >= 0).sum() > 1500


def test_families_stand_at_their_gains():
    panel = figures.gains(FOUND).figure.axes[0]
    drawn = np.concatenate([c.get_offsets() for c in panel.collections if c.get_label() in ("bidirectional", "causal")])
    told = families(whole(FOUND.layers), ("symmetric_gain", "skew_gain"))
    assert sorted(drawn[:, 0]) == pytest.approx(sorted(told["skew_gain"]))
    assert {text.get_text() for text in panel.texts} == set(told["family"])


def test_cosines_are_those_of_the_parts():
    layer, m = figures.pair_cosines(FOUND, "GPT-2", "decoder")
    own = FOUND.pairs[(FOUND.pairs["model"] == "GPT-2") & (FOUND.pairs["layer"] == layer)]
    assert m.shape == (12, 12) and np.abs(m).max() <= 1
    t, n = (own.set_index(["g", "h"])[name].to_dict() for name in ("trace", "product"))
    assert m[3, 3] == pytest.approx(t[3, 3] / n[3, 3])
    for place, sign in (((2, 5), 1), ((5, 2), -1)):
        lengths = (n[2, 2] + sign * t[2, 2]) * (n[5, 5] + sign * t[5, 5])
        assert m[place] == pytest.approx((n[2, 5] + sign * t[2, 5]) / lengths**0.5)


def test_removals_at_random_are_open():
    panel = figures.without_parts(FOUND.layers).figure.axes[0]
    filled = [len(marks.get_facecolor()) > 0 for marks in panel.collections]
    assert filled.count(False) == 2 * 5 and len(filled) == 2 * 12


def test_the_table_of_spectra_has_heads_and_sums_of_both_kinds():
    rows = spectra_table(FOUND)
    assert rows["matrices"].nunique() == 4
    assert rows["in eigenvalues"].between(0, 1).all()
