"""Verdicts from intervals over seeds: which one follows, and on what it rests."""

from dataclasses import replace

import pytest

from attngeo.paper import Verdict
from attngeo.paper.checks import Standing, compare
from attngeo.paper.seed_intervals import Case, Size, Training, in_words, judged
from attngeo.runs.estimates import Estimate
from attngeo.training.config import DEFAULTS

PAPERS = Training.of_paper(4)
LESS = [Training(Size(*size), PAPERS.tokens) for size in ((4, 128), (3, 256), (2, 64))]
LESS.append(Training(PAPERS.size, PAPERS.tokens - 1))
MET, REVERSED, NOISE, TOO_FEW = (
    Case(label, "gap", Estimate(*numbers), seeds=3, training=PAPERS)
    for label, numbers in {"a": (0.3, 0.2, 0.4), "b": (-0.3, -0.4, -0.2), "c": (0.1, -0.2, 0.4), "d": (0.1,)}.items()
)
SUPPORT = compare("released", 1, ">")


@pytest.mark.parametrize(
    ("cases", "alone", "supported"),
    [
        ([MET], Verdict.HOLDS, Verdict.HOLDS),
        ([MET, TOO_FEW], Verdict.ASSUMPTION, Verdict.HOLDS),
        ([MET, NOISE], Verdict.ASSUMPTION, Verdict.ASSUMPTION),
        ([MET, REVERSED], Verdict.ASSUMPTION, Verdict.ASSUMPTION),
        ([REVERSED, NOISE], Verdict.CHANGES, Verdict.ASSUMPTION),
        ([NOISE, TOO_FEW], Verdict.UNDECIDED, Verdict.HOLDS),
        ([TOO_FEW], Verdict.UNDECIDED, Verdict.HOLDS),
        ([], Verdict.UNDECIDED, Verdict.HOLDS),
    ],
)
def test_the_verdict_follows_from_the_intervals_and_from_what_supports_it(cases, alone, supported):
    for judgement, verdict in (
        (judged(cases, spoken_of=PAPERS), alone),
        (judged(cases, SUPPORT, spoken_of=PAPERS), supported),
    ):
        assert judgement.verdict is verdict and all(c.holds for c in judgement.comparisons) and judgement.comparisons
        limited = verdict in (Verdict.ASSUMPTION, Verdict.CHANGES)
        assert bool(judgement.numbers["limits"]) == limited
        assert not (judgement.numbers["limits"] and judgement.numbers["doubt"])


@pytest.mark.parametrize("less", LESS, ids=str)
@pytest.mark.parametrize("case", [MET, REVERSED, NOISE], ids=lambda case: case.label)
def test_models_smaller_or_trained_on_less_than_those_spoken_of_decide_nothing_and_are_told(case, less):
    small = replace(case, training=less)
    alone, supported = judged([small], spoken_of=PAPERS), judged([small], SUPPORT, spoken_of=PAPERS)
    assert (alone.verdict, supported.verdict) == (Verdict.UNDECIDED, Verdict.HOLDS)
    for judgement in (alone, supported):
        assert judgement.comparisons[-1].measured == small.comparisons[-1].measured
        assert judgement.comparisons[-1].standing is Standing.TOLD
        assert judgement.numbers["smaller"] == str(less) and not judgement.numbers["limits"]
    beside = judged([MET, small], spoken_of=PAPERS)
    assert [c.decides for c in beside.comparisons[:2]] == [True, False]
    assert beside.verdict is Verdict.HOLDS and beside.numbers["smaller"] == str(less)
    assert judged([REVERSED, small], spoken_of=PAPERS).verdict is Verdict.CHANGES


def test_larger_models_than_those_spoken_of_decide():
    assert judged([replace(MET, training=Training.of_paper(12))], spoken_of=PAPERS).verdict is Verdict.HOLDS


def test_what_the_papers_models_read_is_what_the_defaults_of_a_training_read():
    assert Training.of(DEFAULTS) == PAPERS == Training(Size(4, 256), 26_214_400_000)


def test_a_case_of_unknown_size_decides_nothing():
    assert judged([Case("a", "gap", MET.estimate)], spoken_of=PAPERS).verdict is Verdict.UNDECIDED


def test_a_case_rests_on_the_end_that_excludes_zero_or_on_both():
    assert [(c.measured, c.relation) for c in MET.comparisons] == [(0.2, ">")]
    assert [(c.measured, c.relation) for c in REVERSED.comparisons] == [(-0.2, "<")]
    assert [(c.measured, c.relation) for c in NOISE.comparisons] == [(-0.2, "<"), (0.4, ">")]
    assert not TOO_FEW.comparisons and not Case("e", "gap", Estimate(0.1, 0.1, 0.1)).comparisons
    assert all(c.fields["label"] == "c" for c in NOISE.comparisons)


def test_a_sign_of_the_paper_turns_what_is_met():
    fall = Case("a", "gap", Estimate(-0.3, -0.4, -0.2), sign=-1)
    assert fall.met and not fall.reversed and [(c.measured, c.relation) for c in fall.comparisons] == [(-0.2, "<")]


def test_numbers_of_the_judgement_are_kept_and_cases_with_an_interval_are_told():
    assert judged([MET, TOO_FEW], SUPPORT, spoken_of=PAPERS, n=4).numbers["n"] == 4
    assert in_words([MET, TOO_FEW]) == in_words([MET]) and "[+0.20, +0.40]" in in_words([MET])
