import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from made_families import made_families
from scipy import stats

from attngeo.experiments.survey.families import (
    auc,
    compared,
    distinct,
    exchange_test,
    family_interval,
    least_told,
    of_families,
    score_interval,
    separation,
    with_kinds,
)


@pytest.fixture
def stacks():
    return made_families()


def test_a_family_counts_once_and_cross_attention_not_at_all(stacks):
    families = of_families(stacks)
    means = families.set_index(["family", "attention"])["symmetry"]
    assert means["A", "bidirectional"] == pytest.approx(0.6) and len(families) == 7
    found = compared(families, "symmetry")
    won = [(x > y) for x in (0.6, 0.3, 0.2) for y in (0.4, 0.1, 0.0)]
    assert found.separation.auc == pytest.approx(np.mean(won))
    assert (found.separation.n_first, found.separation.n_second) == (3, 3)
    assert found.n_exchanges == 2 * 6  # one family of both; two of four others are encoders


def test_weights_that_are_there_twice_count_once():
    """A copy goes where its source is; what was trained on from it stays."""
    names = [("Whisper base", "encoder"), ("Whisper base", "decoder"), ("Whisper base encoder", "encoder")]
    rows = pd.DataFrame([*names, ("BERT base radiology", "encoder"), ("mine", "encoder")], columns=["model", "part"])
    assert distinct(rows)["model"].tolist() == ["Whisper base", "Whisper base", "BERT base radiology", "mine"]
    assert distinct(rows[2:])["model"].tolist() == ["Whisper base encoder", "BERT base radiology", "mine"]
    trained = pd.DataFrame({"model": ["BERT base radiology", "bert-base-uncased"], "part": "encoder"})
    assert len(distinct(trained)) == 2


def test_a_model_the_registry_does_not_know_is_its_own_family():
    rows = with_kinds(pd.DataFrame({"model": ["mine", "GPT-2", "mine"], "part": ["encoder", "decoder", "cross"]}))
    assert rows["family"].tolist() == ["mine", "GPT", "mine"]
    assert rows["attention"].tolist() == ["bidirectional", "causal", "cross"]
    assert not rows.isna().any(axis=None)


VALUES = hnp.arrays(float, st.integers(1, 20), elements=st.integers(-5, 5))  # small integers, so that ties occur


@given(VALUES, VALUES)
def test_the_interval_holds_the_estimate_and_solves_its_equation(x, y):
    area, m, n = auc(x, y), len(x), len(y)
    low, high = score_interval(area, m, n)
    assert 0 <= low <= area <= high <= 1
    for end in (low, high):
        if 1e-9 < end < 1 - 1e-9:
            half = (m + n) / 2 - 1
            variance = end * (1 - end) * (1 + half * ((1 - end) / (2 - end) + end / (1 + end))) / (m * n)
            assert abs(end - area) == pytest.approx(1.96 * math.sqrt(variance), rel=1e-3)


def test_families_count_once():
    """Copies of a model narrow the interval over models, not the one over families."""
    x, y = [0.1, 0.5, 0.9, 0.4], [0.2, 0.3, 0.0, 0.6]
    names = list("abcd")
    few = separation(x, y, names, names)
    many = separation(x * 5, y * 5, names * 5, names * 5)
    assert many.auc == few.auc
    assert many.high - many.low < 0.7 * (few.high - few.low)
    assert (many.family_low, many.family_high) == (few.family_low, few.family_high)
    assert math.isnan(separation([1.0, 2.0], [0.0, 1.5], ["a", "a"], ["b", "c"]).family_low)  # one family has none


def test_a_family_of_both_groups_enters_with_both():
    """One family of both, none other: every draw is what was observed."""
    assert family_interval([0.5, 0.9], [0.7], ["a", "a"], ["a"]) == (0.5, 0.5)
    low, high = family_interval([1.0, 3.0], [0.0, 2.0], ["a", "b"], ["a", "b"])  # within a family encoders win
    direct = {(a, b): auc([1.0 + 2 * a, 1.0 + 2 * b], [2.0 * a, 2.0 * b]) for a in (0, 1) for b in (0, 1)}
    assert (low, high) == (min(direct.values()), max(direct.values()))


def named(values, start="f"):
    return {f"{start}{i}": value for i, value in enumerate(values)}


def test_separate_families_are_dealt_anew_in_every_way():
    """All families apart: the exact Mann-Whitney test."""
    rng = np.random.default_rng(2)
    x, y = rng.normal(1, 1, 5), rng.normal(0, 1, 6)
    p, n = exchange_test(named(x, "a"), named(y, "b"))
    assert n == math.comb(11, 5)
    assert p == pytest.approx(stats.mannwhitneyu(x, y, method="exact").pvalue)


def test_families_of_both_groups_are_exchanged_with_themselves():
    p, n = exchange_test(named([1.0, 2.0, 3.0]), named([0.0, 0.0, 0.0]))
    assert (p, n) == (2 / 8, 8)  # as observed, and with all three exchanged


def test_of_many_exchanges_some_are_drawn():
    rng = np.random.default_rng(3)
    x, y = named(rng.normal(0.8, 1, 12), "a"), named(rng.normal(0, 1, 12), "b")
    p, n = exchange_test(x, y, most=4000)
    exact = stats.mannwhitneyu([*x.values()], [*y.values()], method="exact").pvalue
    assert n == 4000 and p == pytest.approx(exact, abs=0.01)
    apart = named(np.arange(20.0), "a"), named(np.arange(-20.0, 0), "b")
    assert exchange_test(*apart, most=500)[0] == 1 / 500  # never 0


def test_the_least_area_that_is_told_from_one_half():
    area = least_told(9, 7)
    assert score_interval(area, 9, 7)[0] == pytest.approx(0.5, abs=1e-9) and 0.7 < area < 0.9
    assert least_told(1, 1) == 1.0
    assert least_told(50, 50) < area
