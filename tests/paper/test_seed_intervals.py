"""Verdicts from intervals over seeds: which one follows, and on what it rests."""

import pytest

from attngeo.paper import Verdict
from attngeo.paper.checks import compare
from attngeo.paper.seed_intervals import Case, in_words, judged
from attngeo.runs.estimates import Estimate

MET, REVERSED = Case("a", "gap", Estimate(0.3, 0.2, 0.4)), Case("b", "gap", Estimate(-0.3, -0.4, -0.2))
NOISE, TOO_FEW = Case("c", "gap", Estimate(0.1, -0.2, 0.4), seeds=3), Case("d", "gap", Estimate(0.1))
SUPPORT = compare("released", 1, ">")


@pytest.mark.parametrize(
    ("cases", "alone", "supported"),
    [
        ([MET], Verdict.HOLDS, Verdict.HOLDS),
        ([MET, TOO_FEW], Verdict.ASSUMPTIONS, Verdict.HOLDS),
        ([MET, NOISE], Verdict.ASSUMPTIONS, Verdict.ASSUMPTIONS),
        ([MET, REVERSED], Verdict.ASSUMPTIONS, Verdict.ASSUMPTIONS),
        ([REVERSED, NOISE], Verdict.CORRECTED, Verdict.ASSUMPTIONS),
        ([NOISE, TOO_FEW], Verdict.UNDECIDED, Verdict.HOLDS),
        ([TOO_FEW], Verdict.UNDECIDED, Verdict.HOLDS),
        ([], Verdict.UNDECIDED, Verdict.HOLDS),
    ],
)
def test_the_verdict_follows_from_the_intervals_and_from_what_supports_it(cases, alone, supported):
    for judgement, verdict in ((judged(cases), alone), (judged(cases, SUPPORT), supported)):
        assert judgement.verdict is verdict and all(c.holds for c in judgement.comparisons) and judgement.comparisons
        limited = verdict in (Verdict.ASSUMPTIONS, Verdict.CORRECTED)
        assert bool(judgement.numbers["limits"]) == limited
        assert not (judgement.numbers["limits"] and judgement.numbers["doubt"])


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
    assert judged([MET, TOO_FEW], SUPPORT, n=4).numbers["n"] == 4
    assert in_words([MET, TOO_FEW]) == in_words([MET]) and "[+0.20, +0.40]" in in_words([MET])
