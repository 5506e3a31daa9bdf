"""The pictures of the page on symmetric query-key matrices show what their captions say."""

import numpy as np
import pytest
import torch
from chapters.bilinear_form.heads_of_words import heads_and_their_sum, heads_of_words
from chapters.bilinear_form.word_scores import least_alike, random_parts, word_scores

from attngeo import symmetry_score
from attngeo.errors import ParameterError


def mixed(parts, s, sign=1):
    return np.sqrt((1 + s) / 2) * np.array(parts["symmetric"]) + sign * np.sqrt((1 - s) / 2) * np.array(parts["skew"])


@pytest.mark.parametrize("s", [1.0, 0.3, -1.0])
def test_a_matrix_of_parts_has_the_symmetry_that_was_asked_for(s):
    w = random_parts(16, torch.Generator().manual_seed(1)).at(s)
    assert symmetry_score(w) == pytest.approx(s) and float(w.norm()) == pytest.approx(1)


def test_the_reader_gets_scores_whose_mirror_images_follow_from_s_and_tokens_whose_correlation_is_s():
    held = word_scores(32, 5, 0.5).data
    n = len(held["words"])
    symmetric, skew = (mixed(held, s).reshape(n, n) for s in (1, -1))
    np.testing.assert_allclose(symmetric, symmetric.T, atol=1e-3)
    np.testing.assert_allclose(skew, -skew.T, atol=1e-3)
    there, back = (mixed(held["tokens"], 0.5, sign) for sign in (1, -1))
    assert np.corrcoef(there, back)[0, 1] == pytest.approx(0.5, abs=4 / np.sqrt(len(there)))


def test_the_pair_that_is_framed_first_has_the_least_equal_weights_and_the_caption_has_its_numbers():
    shown = word_scores(32, 0, 1.0)
    n, (i, j) = len(shown.data["words"]), shown.data["pair"]
    scores = torch.tensor(mixed(shown.data, 1.0)).view(n, n)
    weights = scores.softmax(-1)
    gaps = weights - weights.T
    assert (i, j) == least_alike(weights) and gaps[i, j] == gaps.max() > 0.1
    assert all(f"{float(weights[at]):.0%}" in shown.still.caption for at in ((i, j), (j, i)))


def test_heads_that_look_one_way_are_not_symmetric_and_pairs_of_them_are():
    heads = heads_of_words(4)
    assert [symmetry_score(head) for head in heads] == [0, 0, 0, 0]
    assert symmetry_score(heads.sum(0)) == symmetry_score(heads[:2].sum(0)) == 1
    assert symmetry_score(heads[:3].sum(0)) == pytest.approx(10 / 14)
    assert "0.71" in heads_and_their_sum(3).caption and "because" not in heads_and_their_sum(3).caption
    assert "because" in heads_and_their_sum(2).caption


@pytest.mark.parametrize("n_heads", [1, 11])
def test_more_heads_than_the_sentence_has_distances_are_refused(n_heads):
    with pytest.raises(ParameterError, match=f"n_heads is {n_heads}"):
        heads_of_words(n_heads)
