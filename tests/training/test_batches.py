from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models

from attngeo.errors import ParameterError
from attngeo.experiments.training.batches import Batches, Blocks, Masking
from attngeo.experiments.training.choices import TrainingObjective
from attngeo.experiments.training.corpora.documents import CorpusError
from attngeo.experiments.training.corpora.vocabulary import Vocabulary

SIZE = 50
VOCABULARY = Vocabulary(Tokenizer(models.WordLevel()), "fake", "", SIZE, start=2, end=3, mask=4)
PLACES = np.arange(400)


def text(n=4000, seed=0):
    ids = np.random.default_rng(seed).integers(5, SIZE, n)
    ids[::37], ids[36::37] = VOCABULARY.start, VOCABULARY.end
    return ids


def batches(objective, length=32, rate=0.15, seed=0, ids=None):
    return Batches(Blocks(text() if ids is None else ids, length, 1), objective, VOCABULARY, rate, seed)


def at(targets, places):
    return SimpleNamespace(**{name: tensor.numpy() for name, tensor in targets.at(places).items()})


@given(st.sampled_from(list(TrainingObjective)), st.integers(4, 60), st.floats(0.02, 0.9))
def test_every_block_has_the_same_number_of_labels(objective, length, rate):
    targets = batches(objective, length, rate)
    batch = at(targets, np.arange(7))
    expected = max(1, round(rate * length)) if objective.masks else length - 1
    assert batch.labels.shape == batch.positions.shape == (7, expected)
    assert (np.diff(batch.positions, axis=1) > 0).all() and batch.positions.min() >= 0


@pytest.mark.parametrize("objective", TrainingObjective)
def test_labels_are_the_text_and_the_rest_of_the_input_is_untouched(objective):
    """A causal model predicts a token from the position before it: clm every next one, the released decoder some."""
    targets, places = batches(objective), np.arange(60)
    batch, original = at(targets, places), targets.blocks.at(places)
    predicted = batch.positions + objective.causal
    np.testing.assert_array_equal(np.take_along_axis(original, predicted, 1), batch.labels)
    changed = batch.input_ids != original
    np.put_along_axis(changed, predicted, False, axis=1)
    assert not changed.any()
    if objective.masks:
        assert not np.isin(batch.labels, [VOCABULARY.start, VOCABULARY.end]).any()  # no marks of documents
        assert (np.take_along_axis(batch.input_ids, predicted, 1) == VOCABULARY.mask).mean() > 0.7
    else:
        np.testing.assert_array_equal(batch.input_ids, original)
        np.testing.assert_array_equal(batch.positions, np.tile(np.arange(31), (60, 1)))


def test_masking_hides_80_percent_replaces_10_and_leaves_10():
    targets = batches("mlm", length=64, ids=text(64 * 2000))
    batch = at(targets, np.arange(2000))
    shown = np.take_along_axis(batch.input_ids, batch.positions, 1)
    n = shown.size
    hidden, same = (shown == VOCABULARY.mask).mean(), (shown == batch.labels).mean()
    # 10 % are replaced by one of SIZE ids, the mask and the token itself among them
    assert abs(hidden - (0.8 + 0.1 / SIZE)) < 5 * np.sqrt(0.16 / n)
    assert abs(same - (0.1 + 0.1 / SIZE)) < 5 * np.sqrt(0.09 / n)


def test_all_positions_are_chosen_equally_often():
    targets = batches("mlm", length=20, ids=np.full(20 * 4000, 7))
    counts = np.bincount(at(targets, np.arange(4000)).positions.ravel(), minlength=20)
    expected = 4000 * 3 / 20
    assert abs(counts - expected).max() < 5 * np.sqrt(expected)


def test_a_batch_follows_from_its_places_and_seed_alone():
    first, places = batches("mlm"), np.arange(100, 120)
    whole = at(first, places)
    for place in (0, 7, 19):
        for name, array in vars(at(first, places[[place]])).items():
            np.testing.assert_array_equal(array[0], getattr(whole, name)[place])
    assert (whole.positions != at(batches("mlm", seed=1), places).positions).any()
    same_text = Batches(Blocks(text(), 32, None), "mlm", VOCABULARY)
    assert (at(same_text, places).positions != at(same_text, places + len(first.blocks)).positions).any()


def test_bad_rates_and_tokenizers_without_a_mask_are_refused():
    with pytest.raises(ParameterError, match=r"1\.0"):
        batches("mlm", rate=1.0)
    unmasked = replace(VOCABULARY, mask=None)
    with pytest.raises(ParameterError, match="fake"):
        Batches(Blocks(text(), 32), "mlm", unmasked)
    Batches(Blocks(text(), 32), "clm", unmasked)


@given(st.integers(20, 200), st.integers(2, 20), st.integers(0, 5))
def test_each_pass_over_the_blocks_is_a_permutation_without_padding(count, length, seed):
    blocks = Blocks(np.arange(count, dtype=np.uint16), length, seed)
    n = len(blocks)
    whole = np.arange(n * length).reshape(n, length)
    for one in range(2):
        seen = blocks.at(np.arange(one * n, (one + 1) * n))
        np.testing.assert_array_equal(seen[np.argsort(seen[:, 0])], whole)


def test_the_order_follows_from_the_seed_and_passes_differ():
    ids, places = np.arange(1000), np.arange(200)
    a, b, other = (Blocks(ids, 10, seed).at(places) for seed in (1, 1, 2))
    np.testing.assert_array_equal(a, b)
    assert (a != other).any() and (a[:100] != a[100:]).any()
    np.testing.assert_array_equal(Blocks(ids, 10, 1).at(places[37:120]), a[37:120])
    np.testing.assert_array_equal(Blocks(ids, 10, None).at(places)[:100].ravel(), ids)
    with pytest.raises(CorpusError, match=r"100 .*128"):
        Blocks(ids[:100], 128)
    with pytest.raises(ParameterError, match="1"):
        Blocks(ids, 1)


# masking that a plan changes


def plain_text(n):
    """A text without document marks."""
    return np.random.default_rng(0).integers(5, SIZE, n)


def changed(**masking):
    """The text, and what is made of it with and without the change."""
    blocks = Blocks(plain_text(20_000), 16, 1)
    as_bert, other = (at(Batches(blocks, "mlm", VOCABULARY, m, 0), PLACES) for m in (Masking(), Masking(**masking)))
    return blocks.at(PLACES), as_bert, other


@pytest.mark.parametrize(
    "hidden, random",
    [(1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.5, 0.25)],
    ids=["mask", "random", "kept", "mixed"],
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
    blocks = Blocks(plain_text(4000), 16)
    with pytest.raises(ParameterError, match=r"one masked token per block, but there are 2; set mask_rate to 0.0625"):
        Batches(blocks, "mlm", VOCABULARY, Masking(noise_right=0.5))
    with pytest.raises(ParameterError, match="read_left is 15, but in a block of 16 tokens, too few"):
        Batches(blocks, "mlm", VOCABULARY, Masking(read_left=15))
