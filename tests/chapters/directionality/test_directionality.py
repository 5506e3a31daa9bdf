"""The page on directionality: its check at other thresholds, its labels, and what its sentences rest on."""

import pytest
import torch
from chapters.two_scores import thresholds, told
from chapters.two_scores.laws import median_half_width, norms_of_one_column, norms_with_strong_column
from chapters.two_scores.norms import stacks
from notebook_code import notebook

from attngeo.bilinear.random_matrices import sample_dense
from attngeo.bilinear.scores import score
from attngeo.experiments.runs.estimates import Estimate


@pytest.mark.parametrize("gamma", [0.0, 1.0, 2.5, 3.0, 4.0])
def test_the_check_of_the_sign_follows_the_threshold(gamma):
    result = notebook("directionality").sign_of_directionality(gamma=gamma, n=256, seed=1)
    assert result.supported, [c for c in result.comparisons if not c.holds]
    assert f"$\\gamma = {gamma:g}$" in result.corrected


def test_norms_with_a_strong_column_are_those_of_the_matrices():
    norms = norms_with_strong_column(6, [1.0, 5.0], 2, torch.Generator().manual_seed(0))
    m = torch.randn(6, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    m[:, 0] *= 5
    torch.testing.assert_close(norms[:, 1, 0], torch.stack((m.norm(dim=1), m.norm(dim=0))))
    rows, columns = norms_of_one_column(6, 3, torch.Generator().manual_seed(0))
    torch.testing.assert_close(columns.sum(1), rows.norm(dim=1))


def test_the_recorded_norms_give_the_scores_of_their_matrix():
    at_two = stacks(2.0).set_index(["model", "part"])
    assert at_two.loc[("GPT-2", "decoder"), "directionality"] == pytest.approx(-0.10, abs=0.01)
    assert float(score(torch.diag(torch.tensor([1.0, 2.0]))).directionality) == 0


def test_the_band_of_random_models_is_that_of_medians_of_sampled_layers():
    d = sample_dense(128, 12 * 100, seed=1).directionality.view(100, 12)
    medians = d.quantile(0.5, dim=1).abs()  # of an even number, the mean of both middle values
    assert median_half_width(128, 128, 12, 2.0) == pytest.approx(medians.quantile(0.95).item(), rel=0.2)
    assert median_half_width(128, 128, 1, 2.0) > 2 * median_half_width(128, 128, 12, 2.0)


def test_the_models_whose_sign_is_no_chance_are_those_outside_the_band():
    assert set(thresholds.turning_beyond_chance("decoder")) == {"GPT-2", "GPT-Neo 125M", "SmolLM2-135M-Instruct"}
    assert not thresholds.turning_beyond_chance("encoder") and thresholds.turning("encoder")


@pytest.mark.parametrize(("d", "words"), [(-0.1, "outside the range"), (0.01, "inside the range")])
def test_a_score_is_set_beside_random_models(monkeypatch, d, words):
    monkeypatch.setattr(told, "stacks", lambda gamma: stacks(gamma).assign(directionality=d))
    assert words in " ".join(told.at_the_threshold(2.0).split())
    assert "almost all random models" in " ".join(told.at_the_threshold(4.0).split())


def test_labels_are_a_gap_apart_and_keep_their_order():
    heights = {"a": 0.0, "b": 0.01, "c": 0.02, "d": 0.9}
    placed = thresholds.spread_out(heights, 0.1)
    assert list(placed) == ["a", "b", "c", "d"] and placed["d"] == 0.9
    assert placed["b"] == pytest.approx(0.01) and placed["c"] - placed["b"] == pytest.approx(0.1)


MEANS = {  # of the score, by factor: what is said
    "is negative for every factor": lambda k: -0.5,
    "is positive for every factor": lambda k: 0.5,
    "between 5.7 and 64": lambda k: 0.5 if 5 <= k <= 12 else -0.5,
    "for 9 of the 18 factors": lambda k: 0.5 if k % 2 else -0.5,
}


@pytest.mark.parametrize("words", MEANS)
def test_what_is_said_of_one_column_follows_from_the_means(words):
    means = [MEANS[words](k) for k in range(len(thresholds.FACTORS))]
    assert words in " ".join(told.one_column(means, 768, 2.0).split())


@pytest.mark.parametrize(("side", "words"), [(0.01, "opposite"), (0.5, "do not differ")])
def test_what_is_said_of_encoders_and_decoders_follows_from_the_interval(monkeypatch, side, words):
    monkeypatch.setattr(told, "share", lambda *at: Estimate(side, side - 0.005, side + 0.005))
    assert words in told.separated(2.0)


def test_no_sentence_says_that_encoders_have_lower_scores_than_they_have(monkeypatch):
    monkeypatch.setattr(told, "share", lambda *at: Estimate(0.99, 0.98, 1.0))
    for sentence in (lambda: told.separated(2.0), told.separated_at_other_thresholds):
        with pytest.raises(AssertionError):
            sentence()


@pytest.mark.parametrize(("gamma", "words"), [(1.0, "GPT-2 have 768"), (3.0, "8B, which have"), (4.0, "much smaller")])
def test_the_size_from_which_the_sign_is_wrong_is_set_beside_known_models(gamma, words):
    assert words in " ".join(told.from_which_size(gamma).split())
