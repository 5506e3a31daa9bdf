"""What an encoder is shown and asked where a plan changes it; BERT's own masking is tested in test_batches."""

from types import SimpleNamespace

import numpy as np
import pytest
from tokenizers import Tokenizer, models

from attngeo.errors import ParameterError
from attngeo.experiments.training.batches import Batches, Blocks, Masking
from attngeo.experiments.training.corpora.vocabulary import Vocabulary

SIZE = 50
VOCABULARY = Vocabulary(Tokenizer(models.WordLevel()), "fake", "", SIZE, start=2, end=3, mask=4)
PLACES = np.arange(400)


def text(n):
    return np.random.default_rng(0).integers(5, SIZE, n)


def at(batches, places):
    return SimpleNamespace(**{name: tensor.numpy() for name, tensor in batches.at(places).items()})


def changed(**masking):
    """The text, and what is made of it with and without the change."""
    blocks = Blocks(text(20_000), 16, 1)
    as_bert, other = (at(Batches(blocks, "mlm", VOCABULARY, m, 0), PLACES) for m in (Masking(), Masking(**masking)))
    return blocks.at(PLACES), as_bert, other


@pytest.mark.parametrize(
    "hidden, random", [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.5, 0.25)], ids=["mask", "random", "kept", "mixed"]
)
def test_predicted_tokens_are_shown_in_the_shares_that_were_asked_for(hidden, random):
    original, as_bert, other = changed(hidden_share=hidden, random_share=random)
    np.testing.assert_array_equal(other.positions, as_bert.positions)
    np.testing.assert_array_equal(other.labels, as_bert.labels)
    shown = np.take_along_axis(other.input_ids, other.positions, 1)
    assert abs((shown == VOCABULARY.mask).mean() - hidden) < 0.06
    kept = 1 - hidden - random + random / SIZE
    assert abs((shown == other.labels).mean() - kept) < 0.06
    np.put_along_axis(other.input_ids, other.positions, other.labels, 1)
    np.testing.assert_array_equal(other.input_ids, original)


def test_a_prediction_is_read_to_the_left_of_the_masked_token():
    original, _, other = changed(read_left=3, hidden_share=1.0, random_share=0.0)
    assert other.positions.min() >= 0
    np.testing.assert_array_equal(np.take_along_axis(original, other.positions + 3, 1), other.labels)
    assert (np.take_along_axis(other.input_ids, other.positions + 3, 1) == VOCABULARY.mask).all()


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_noise_falls_to_the_right_of_the_masked_token_alone(share):
    original, _, other = changed(rate=1 / 16, noise_right=share)
    right = np.arange(16) > other.positions
    differs = other.input_ids != original
    np.put_along_axis(differs, other.positions, False, axis=1)
    assert not differs[~right].any()
    assert abs(differs[right].mean() - share * (1 - 1 / SIZE)) < 0.05


def test_noise_without_a_single_masked_token_and_reading_past_the_beginning_are_refused():
    blocks = Blocks(text(4000), 16)
    with pytest.raises(ParameterError, match=r"one masked token in a block, and there are 2; take mask_rate 0.0625"):
        Batches(blocks, "mlm", VOCABULARY, Masking(noise_right=0.5))
    with pytest.raises(ParameterError, match="read_left is 15, but a block of 16 tokens has too few"):
        Batches(blocks, "mlm", VOCABULARY, Masking(read_left=15))
