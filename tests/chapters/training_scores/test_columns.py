"""Section 4.1 on column dominance over training; what is planted otherwise is refused."""

import pytest
from made_training import made_arm

from attngeo.chapters.training_scores import columns as training_columns
from attngeo.chapters.training_scores.encoders_and_decoders import released_ends
from attngeo.forms.random_matrices import directionality_sd
from attngeo.paper import Verdict, published
from attngeo.runs.estimates import NO_DIFFERENCE, TOO_FEW

ENCODERS = made_arm(d=(0.0,) * 4)
DECODERS = made_arm(objective="clm", d=(-0.5,) * 4)


def with_released(monkeypatch, step, value, layers=12, part="decoder"):
    """Released medians of d with another value at one step."""
    curves = published.released_training()
    rows = (curves["layers"] == layers) & (curves["part"] == part) & (curves["step"] == step)
    curves.loc[rows, "d"] = value
    monkeypatch.setattr(published, "released_training", lambda: curves)


def test_columns_come_early_in_released_decoders_of_12_layers():
    result = training_columns.columns_over_training(runs=DECODERS)
    assert result.supported and result.verdict is Verdict.CORRECTED
    assert "6 of 6 released decoders" in result.corrected and "1000 of 200000" in result.corrected
    assert "grows in 1 of 3 decoders of 12 layers and in 3 of 3 of 4" in result.corrected
    assert "wikipedia, characters: \N{MINUS SIGN}0.5" in result.corrected
    assert training_columns.columns_over_training(runs=[]).supported


@pytest.mark.parametrize(
    ("step", "value"),
    [
        (200000, -0.9),  # they grow to the end: as the paper says
        (200000, 0.1),  # they are gone at the end
        (1000, -0.01),  # nothing is there at the first recorded step
    ],
)
def test_another_course_would_be_noticed(monkeypatch, step, value):
    with_released(monkeypatch, step, value)
    assert not training_columns.columns_over_training(runs=DECODERS).supported


def test_the_course_has_its_turning_points():
    course = training_columns.released_course().set_index(["layers", "part", "text"])
    decoder, encoder = course.loc[(12, "decoder", "wikipedia")], course.loc[(12, "encoder", "red pajama")]
    assert (decoder["first step"], decoder["deepest step"], decoder["steps"]) == (1000, 5000, 200000)
    assert (encoder["last step above 0"], encoder["below 0 from"]) == (5000, 10000)
    assert course.loc[(12, "encoder", "jigsaw"), "last step above 0"] == 0
    late = course.loc[(4, "encoder", "jigsaw")]  # below 0, above, and below again
    assert late["first"] < 0 and late["last step above 0"] == 10000 and late["below 0 from"] == 50000


@pytest.mark.parametrize(
    ("encoder", "decoder", "words"),
    [
        (0.4, 0.0, "encoders lose it"),
        (0.0, -0.5, "decoders gain it"),
        (0.4, -0.5, "encoders lose it, decoders gain it"),
        (-0.4, 0.5, NO_DIFFERENCE),
    ],
)
def test_a_difference_is_traced_to_what_moved(encoder, decoder, words):
    noise = 0.3 if words == NO_DIFFERENCE else 0.01
    arms = made_arm(d=(encoder,) * 4, noise=noise), made_arm(objective="clm", d=(decoder,) * 4, noise=noise)
    (move,) = training_columns.moves([*arms[0], *arms[1]])
    assert abs(move.encoder.estimate.value - encoder) < noise and abs(move.decoder.estimate.value - decoder) < noise
    if words != NO_DIFFERENCE:
        assert move.source == words
    else:
        assert not move.encoder.met and not move.decoder.met and move.source == words


def test_one_seed_traces_nothing():
    (move,) = training_columns.moves([*made_arm(1), *made_arm(1, objective="clm")])
    assert move.source == TOO_FEW


def test_the_median_of_several_layers_spreads_less_than_one():
    assert 0.05 < training_columns.random_median_sd(12) < directionality_sd(768)


def test_directionality_differs_less_on_jigsaw_and_more_on_red_pajama():
    result = training_columns.directionality_differs_less_elsewhere()
    assert result.supported and result.verdict is Verdict.ASSUMPTIONS
    assert "jigsaw \N{MINUS SIGN}0.06" in result.corrected and "3 of 3 texts" in result.corrected


@pytest.mark.parametrize(("layers", "dataset"), [(12, "red_pajama"), (4, "wikipedia")])
def test_another_difference_would_be_noticed(layers, dataset):
    ends = released_ends("d")
    row = (ends["layers"] == layers) & (ends["dataset"] == dataset)
    ends.loc[row, "encoder"] = ends["decoder"] + (0.01 if layers == 12 else 0.9)
    assert not training_columns.directionality_differs_less_elsewhere(ends).supported
