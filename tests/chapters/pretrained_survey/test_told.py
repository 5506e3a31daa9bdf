"""Sentences of the page on encoders and decoders, what they rest on, and the models that a reader leaves out."""

import pandas as pd
import pytest
from chapters.pretrained_survey import tables, told
from chapters.pretrained_survey.by_family import symmetry_by_family
from chapters.pretrained_survey.chosen import chosen

from attngeo.errors import ParameterError

ALL = chosen()


def models(**scores):
    """``encoder_5=0.4``: an encoder with 5 parameters and s = 0.4, of a family of its own."""
    rows = [(name, name, *name.split("_"), s) for name, s in scores.items()]
    made = pd.DataFrame(rows, columns=["model", "family", "part", "parameters", "s"])
    return made.astype({"parameters": float}).assign(positions="learned")


def test_pairs_are_counted_and_the_exceptions_named():
    assert tables.pairs_won(ALL.released) == (358, 360) and tables.families_won(ALL.stacks) == (56, 63)
    exceptions = told.exceptions(ALL.released)
    assert exceptions.count("deberta") == 2 and "which has a single layer" in exceptions
    assert told.exceptions(models(encoder_1=0.5, decoder_1=0.1)) == "The encoder has the higher score in every pair."


FALLING = models(encoder_1e6=0.9, encoder_1e7=0.5, encoder_1e8=0.3, decoder_1e6=0.0, decoder_1e8=0.1)
FLAT = models(encoder_1e6=0.3, encoder_1e7=0.5, encoder_1e8=0.3, decoder_1e6=0.0, decoder_1e8=0.1)
# only models with the same type of positions are compared: these two encoders grow with size
GROWING = FALLING.assign(positions=["learned"] * 2 + ["relative"] * 3, parameters=[2e6, 1e6, 1e8, 1e6, 1e8])


@pytest.mark.parametrize(
    ("sentence", "scores"),
    [
        (told.exceptions, models(encoder_1=0.5, encoder_2=0.4, decoder_1=0.6)),  # not the decoder of one layer
        (told.by_size, FLAT),
        (told.by_size, GROWING),
        (told.falls_with_size, FLAT),
        (told.falls_with_size, models(encoder_1e6=0.9, encoder_1e7=0.5, decoder_1e6=0.4, decoder_1e8=0.1)),
        (told.of_equal_size_in_short, models(encoder_1=0.9, encoder_2=0.1, decoder_2=0.5)),
        (told.largest_encoder, models(encoder_1e9=0.9)),  # with learned positions
    ],
)
def test_a_sentence_is_not_told_of_scores_that_contradict_it(sentence, scores):
    with pytest.raises(AssertionError):
        sentence(scores)


def test_a_relation_to_size_is_stated():
    assert "smaller models are more symmetric" in told.by_size(FALLING)
    assert "falls with" in told.falls_with_size(FALLING)


def test_the_largest_encoder_is_named_unless_it_is_left_out():
    assert "deberta-v2-xxlarge, which has relative" in told.largest_encoder(ALL.released)
    assert told.largest_encoder(models(encoder_1e6=0.9, decoder_1e10=0.0)) == ""


def test_a_model_of_unknown_size_is_named():
    assert told.left_out(ALL.stacks) == "BART g2p is left out, because its size is not known."
    with pytest.raises(AssertionError):
        told.left_out(ALL.stacks.replace({"model": {"GPT-2": "a model of unknown size"}}))


def test_models_of_similar_size_are_compared_in_words():
    assert told.of_equal_size_in_short(ALL.released).startswith("In all ")
    said = told.equal_size(ALL.released, ALL.read)
    assert "all 58 such pairs of released models and all 12 such pairs of language" in said
    apart = models(encoder_1=0.9, decoder_9=0.1)
    assert told.equal_size(apart, apart) == "There are no such pairs."
    assert "No released encoder and decoder" in told.of_equal_size_in_short(apart)


def test_what_is_left_out_is_gone_from_every_sentence():
    left = chosen(["BERT", "T5", "Whisper", "BART g2p"])
    assert not {"BERT", "T5"} & {*left.released["family"], *left.halves["family"], *left.stacks["family"]}
    assert "audio" not in set(tables.modalities(left.results)["models"])
    assert "audio" not in told.other_modalities(left.results)
    assert told.reversed_halves(left.results) == "" and told.left_out(left.stacks) == ""
    assert told.reverse_of_the_rule(left.stacks) == "The encoder has the higher score in every pair of families."
    assert "BART g2p" in told.reverse_of_the_rule(ALL.stacks) and "t5-11b" in told.reversed_halves(ALL.results)


@pytest.mark.parametrize(
    ("leave_out", "why"),
    [
        (["Bert"], "no family 'Bert'"),
        (["ALBERT", "BERT", "RoBERTa"], "fewer than 2 families of encoders"),
        (["BART g2p", "BERT", "MiniLM", "T5"], "language models whose weights we read have no family of encoders"),
        (["BART", "mBART", "T5"], "encoder-decoder models have no family"),
    ],
)
def test_a_family_that_is_not_known_and_too_few_families_are_refused(leave_out, why):
    with pytest.raises(ParameterError, match=why):
        chosen(leave_out)


def test_every_model_is_a_point_in_the_row_of_its_family():
    shown = symmetry_by_family(ALL, "One is left out.")
    (panel,) = shown.figure.axes
    families = [text.get_text() for text in panel.get_yticklabels()]
    points = [point for drawn in panel.collections for point in drawn.get_offsets().tolist()]
    rows = pd.concat([ALL.released, ALL.halves, ALL.read])
    expected = [[s, families.index(family)] for s, family in zip(rows["s"], rows["family"], strict=True)]
    assert sorted(points) == sorted(expected)
    assert families[0] == "ALBERT" and families[-1] == "stories260K" and "T5" in families[5:8]
    assert shown.caption.endswith("One is left out.") and "models" in shown.caption
