"""Statements S1.13, S1.14, S1.15, 2.4: supported as checked, refused with a wrong formula or assumption planted."""

import pytest
import torch

from attngeo.chapters.symmetric_updates import corpus as symmetry_corpus
from attngeo.chapters.symmetric_updates import figures
from attngeo.chapters.symmetric_updates import masked as symmetry_masked
from attngeo.chapters.symmetric_updates import pairs as symmetry
from attngeo.chapters.symmetric_updates.growth import corpus_symmetry, masked_scores, update_scores
from attngeo.errors import ParameterError

PLANTED = {
    "S113 with the wrong sign": (symmetry.pair_decomposition, {"sign": -1.0}),
    "pair score without the angle": (symmetry.symmetry_of_a_pair, {"predicted": lambda rho, c: rho}),
    "pair score with the factor 2": (
        symmetry.symmetry_of_a_pair,
        {"predicted": lambda rho, c: 2 * symmetry.pair_score(rho, c)},
    ),
    "S114 without its 2": (symmetry.equal_coefficients, {"factor": 1.0}),
    "any update is symmetric": (symmetry.symmetry_of_an_update, {"predicted": lambda rho, d: 1.0, "n_draws": 4}),
    "half the correlation": (symmetry.symmetry_of_an_update, {"predicted": lambda rho, d: rho / 2, "n_draws": 8}),
    "coefficients made equal": (symmetry.agreement_at_random_weights, {"tied_errors": True, "n_draws": 6}),
    "S103 for masked tokens": (symmetry_corpus.variances_of_norms, {"coefficients": "error"}),
    "autoregressive without a shift": (symmetry_corpus.first_update_of_linear_attention, {"ahead": 0}),
    "random values are symmetric": (
        symmetry_corpus.first_update_of_linear_attention,
        {"predicted": lambda moment: 1.0},
    ),
    "no query behind": (symmetry_corpus.symmetry_over_a_corpus, {"ahead": 0}),
    "S119 as a quarter": (
        symmetry_masked.masked_shares,
        {"predicted": lambda p: {"both masked to one masked": 0.25, "both masked to all": p}},
    ),
    "p / (1 - p) as the score": (
        symmetry_masked.masked_update_score,
        {"predicted": lambda rho, p, rounds, visible: rho * p / (1 - p)},
    ),
    "the share bounds what adds up": (
        symmetry_masked.masked_update_score,
        {"predicted": lambda rho, p, rounds, visible: rho * p},
    ),
    "masked tokens keep their embeddings": (symmetry_masked.masked_positions_hold_the_mask, {"replaced": False}),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_refused(name):
    check, wrong = PLANTED[name]
    assert not check(**wrong).supported


@pytest.mark.parametrize("seed", [11, 12])
@pytest.mark.parametrize("check", [symmetry.symmetry_of_an_update, symmetry_corpus.symmetry_over_a_corpus])
def test_other_seeds(check, seed):
    result = check(seed=seed)
    assert result.supported, [c for c in result.comparisons if not c.holds]


def test_too_few_tokens_are_refused():
    with pytest.raises(ParameterError, match="at least 3"):
        symmetry.agreement_at_random_weights(n_tokens=2)


def test_growth_over_a_corpus():
    generator = torch.Generator().manual_seed(0)
    growth = corpus_symmetry(16, 16, 12, (1, 400), generator).set_index(["setting", "n_sequences"])["symmetry"]
    assert growth["bidirectional", 1] == pytest.approx(1)
    assert growth["autoregressive, query holds the target", 1] < 0.8
    assert growth["autoregressive, query holds the target", 400] > 0.95
    assert growth["autoregressive, query one behind", 400] < growth["order of the pairs", 400]


def test_figures_speak_of_their_data():
    generator = torch.Generator().manual_seed(0)
    assert "0.80" in figures.pair_scores().caption
    scores = update_scores(12, (6, 9), (-0.5, 0.5), 3, generator)
    assert "N = 6" in figures.update_scores(scores, 12).caption
    growth = corpus_symmetry(8, 8, 6, (1, 10), generator)
    assert "1 to 10 sequences" in figures.corpus_symmetry(growth).caption
    masked = masked_scores(0.5, 10, (0.15, 0.3), (1, 4), 50, generator)
    assert "$\\rho$ = 0.5" in figures.masked_scores(masked, 0.5).caption
    assert masked["symmetry"].between(0, 0.5).all()
