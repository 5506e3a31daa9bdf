"""Intervals over seeds: on what a case rests, and which models decide."""

from dataclasses import replace

import pytest

from attngeo.claims.results import Standing
from attngeo.claims.seed_intervals import Case, Size, Training, in_words, joined, too_small
from attngeo.runs.estimates import Estimate
from attngeo.training.config import DEFAULTS

PAPERS = Training.of_paper(4)
LESS = [Training(Size(*size), PAPERS.tokens) for size in ((4, 128), (3, 256), (2, 64))]
LESS.append(Training(PAPERS.size, PAPERS.tokens - 1))
MET, REVERSED, NOISE, TOO_FEW = (
    Case(label, "gap", Estimate(*numbers), seeds=3, training=PAPERS)
    for label, numbers in {"a": (0.3, 0.2, 0.4), "b": (-0.3, -0.4, -0.2), "c": (0.1, -0.2, 0.4), "d": (0.1,)}.items()
)


@pytest.mark.parametrize("less", LESS, ids=str)
def test_models_smaller_or_trained_on_less_than_those_spoken_of_decide_nothing_and_are_told(less):
    small = replace(MET, training=less)
    assert [c.standing for c in joined([small, MET], PAPERS)] == [Standing.TOLD, Standing.AGREES]
    assert str(less) in too_small([small], PAPERS) and str(PAPERS) in too_small([small], PAPERS)
    for large in (MET, replace(MET, training=Training.of_paper(12))):
        with pytest.raises(AssertionError, match="let them decide"):
            too_small([small, large], PAPERS)


def test_what_the_papers_models_read_is_what_the_defaults_of_a_training_read():
    assert Training.of(DEFAULTS) == PAPERS == Training(Size(4, 256), 26_214_400_000)


def test_a_case_of_unknown_size_decides_nothing():
    assert not joined([Case("a", "gap", MET.estimate)], PAPERS)[0].decides


def test_a_case_rests_on_the_end_that_excludes_zero_or_on_both():
    assert [(c.measured, c.relation) for c in MET.comparisons] == [(0.2, ">")]
    assert [(c.measured, c.relation) for c in REVERSED.comparisons] == [(-0.2, "<")]
    assert [(c.measured, c.relation) for c in NOISE.comparisons] == [(-0.2, "<"), (0.4, ">")]
    assert not TOO_FEW.comparisons and not Case("e", "gap", Estimate(0.1, 0.1, 0.1)).comparisons
    assert all(c.fields["label"] == "c" for c in NOISE.comparisons)


def test_a_sign_of_the_paper_turns_what_is_met():
    fall = Case("a", "gap", Estimate(-0.3, -0.4, -0.2), sign=-1)
    assert fall.met and not fall.reversed and [(c.measured, c.relation) for c in fall.comparisons] == [(-0.2, "<")]


def test_cases_with_an_interval_are_told():
    assert in_words([MET, TOO_FEW]) == in_words([MET]) and "[+0.20, +0.40]" in in_words([MET])
