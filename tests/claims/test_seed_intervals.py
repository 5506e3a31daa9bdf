"""Intervals over seeds: on what a case rests, and which models decide."""

from dataclasses import replace

import pytest
from livingpaper.claims.results import Standing
from livingpaper.claims.seed_intervals import Case, Training, joined, too_small

from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.training.config import DEFAULTS

PAPERS = Training.of_paper(4)
LESS = [PAPERS._replace(**less) for less in ({"width": 128}, {"layers": 3}, {"tokens": PAPERS.tokens - 1})]
MET, REVERSED, NOISE, TOO_FEW = (
    Case(label, "gap", Estimate(*numbers), training=PAPERS)
    for label, numbers in {"a": (0.3, 0.2, 0.4), "b": (-0.3, -0.4, -0.2), "c": (0.1, -0.2, 0.4), "d": (0.1,)}.items()
)


def test_models_smaller_or_trained_on_less_than_those_spoken_of_decide_nothing_and_are_told():
    for less in LESS:
        small = replace(MET, training=less)
        assert [c.standing for c in joined([small, MET], PAPERS)] == [Standing.TOLD, Standing.AGREES]
        told = too_small([small], PAPERS)
        assert f"{less.layers} layers and a hidden size of {less.width}," in told and str(PAPERS) in told
        for large in (MET, replace(MET, training=Training.of_paper(12))):
            with pytest.raises(AssertionError, match="have to decide"):
                too_small([small, large], PAPERS)
    assert not joined([Case("a", "gap", MET.estimate)], PAPERS)[0].decides  # of unknown size


def test_what_the_papers_models_read_is_what_the_defaults_of_a_training_read():
    assert Training.of(DEFAULTS) == PAPERS == Training(4, 256, 26_214_400_000)


def test_a_case_rests_on_the_end_that_excludes_zero_or_on_both():
    assert [(c.measured, c.relation) for c in MET.comparisons] == [(0.2, ">")]
    assert [(c.measured, c.relation) for c in REVERSED.comparisons] == [(-0.2, "<")]
    assert [(c.measured, c.relation) for c in NOISE.comparisons] == [(-0.2, "<"), (0.4, ">")]
    assert not TOO_FEW.comparisons and not Case("e", "gap", Estimate(0.1, 0.1, 0.1)).comparisons


def test_a_sign_of_the_paper_turns_what_is_met():
    fall = Case("a", "gap", Estimate(-0.3, -0.4, -0.2), sign=-1)
    assert fall.met and not fall.reversed and [(c.measured, c.relation) for c in fall.comparisons] == [(-0.2, "<")]
