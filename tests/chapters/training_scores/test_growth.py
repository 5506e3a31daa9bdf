"""Section 4.1 on symmetry over training, on made runs: a rise, a fall, and the start."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from made_training import made_arm, made_large_arm

from attngeo.chapters.training_scores import growth
from attngeo.chapters.training_scores.evidence import evidence
from attngeo.paper import Verdict
from attngeo.paper.checks import Standing
from attngeo.runs.estimates import over_seeds

AS_STATED = [*made_arm(), *made_arm(objective="clm", s=(0.0, -0.2, -0.2, 0.0))]


def test_runs_that_do_as_the_paper_says_support_it():
    result = growth.growth_on_wikipedia(runs=AS_STATED)
    assert result.verdict is Verdict.HOLDS and result.supported
    assert any("wikipedia, characters" in c.quantity for c in result.comparisons)


def test_a_rise_and_a_fall_are_told():
    result = growth.growth_on_wikipedia(runs=made_large_arm(peak=0.4))
    assert result.verdict is Verdict.ASSUMPTION and result.supported
    small = growth.growth_on_wikipedia(runs=made_arm(peak=0.4))
    assert small.verdict is Verdict.HOLDS and small.supported and "step 500" in small.comparisons[-1].quantity
    assert small.comparisons[-1].standing is Standing.TOLD
    (fall,) = [c for c in result.comparisons if "step 500" in c.quantity]
    assert fall.holds and fall.measured > 0
    for s, peak in ((0.008, 0.4), (-0.3, 0.6)):  # flat, and sinking
        result = growth.growth_on_wikipedia(runs=made_large_arm(s=(s,) * 4, peak=peak))
        assert result.verdict is Verdict.ASSUMPTION and result.supported
        assert any("step 500" in c.quantity for c in result.comparisons)


@pytest.mark.parametrize(
    ("check", "wikipedia"), [(growth.growth_on_wikipedia, True), (growth.growth_on_other_texts, False)]
)
def test_released_encoders_that_lose_symmetry_would_be_noticed(check, wikipedia):
    found = evidence(AS_STATED, wikipedia=wikipedia)
    curves = found.released.copy()
    curves.loc[(curves["step"] == 200000) & (curves["layers"] == 12), "s"] = -1.0
    assert check.of(found).supported and not check.of(found._replace(released=curves)).supported


def test_noise_falls_from_its_peak_no_more_often_than_an_interval_says():
    """At the peak of the curve itself the interval would lie above 0 in one draw of seven."""
    draw = np.random.default_rng(0)
    curves = [pd.DataFrame(draw.standard_normal((31, 3))) for _ in range(1000)]
    falls = [over_seeds(growth.fall_from_peak(c)).low > 0 for c in curves]
    peaks = [over_seeds((c.loc[c.mean(axis=1).idxmax()] - c.iloc[-1]).tolist()).low > 0 for c in curves]
    assert np.mean(falls) < 0.04 < 0.1 < np.mean(peaks)


def test_other_texts_have_their_own_figure():
    runs = [*AS_STATED, *made_arm(s=(0.3,) * 4, corpus="jigsaw")]
    wikipedia, other = growth.growth_on_wikipedia(runs=runs), growth.growth_on_other_texts(runs=runs)
    assert (wikipedia.statement, other.statement) == ("Figure 3", "Figure S3")
    assert not any("jigsaw" in c.quantity for c in wikipedia.comparisons)
    assert not any("wikipedia" in c.quantity for c in other.comparisons)
    assert any("jigsaw, characters" in c.quantity for c in other.comparisons)


def test_the_starts_of_recorded_runs_are_random_and_not_zero():
    found = evidence(AS_STATED)
    assert growth.recorded_starts.of(found).supported
    for shift in (lambda s: 0 * s, lambda s: s + 0.1):
        shifted = [replace(run, scores=run.scores.assign(symmetry=shift(run.scores["symmetry"]))) for run in found.runs]
        assert not growth.recorded_starts.of(found._replace(runs=shifted)).supported
