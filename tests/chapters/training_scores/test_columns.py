"""Section 4.1 on column dominance over training; what is planted otherwise is refused."""

import numpy as np
import pytest
from made_training import made_arm
from planting import drawn, supported

from attngeo.chapters.training_scores import columns, published_scores
from attngeo.forms.random_matrices import directionality_sd
from attngeo.forms.scores import Convention
from attngeo.paper import Verdict, published
from attngeo.paper.checks import Standing
from attngeo.runs.estimates import NO_DIFFERENCE, TOO_FEW

DECODERS = made_arm(objective="clm", d=(-0.5,) * 4)
CURVES = published_scores.released_training()


def test_columns_come_early_in_released_decoders_of_12_layers():
    result = columns.columns_over_training(runs=DECODERS)
    assert result.supported and result.verdict is Verdict.ASSUMPTION
    assert [c.measured for c in result.comparisons if c.relation == "="] == [6, 3, 3]
    assert [(c.measured, c.expected) for c in result.comparisons if "then" in c.quantity] == [(1, 3)]
    recorded = result.comparisons[-1]
    assert recorded.measured < -0.4 and recorded.standing is Standing.TOLD
    assert columns.columns_over_training(runs=[]).supported


@pytest.mark.parametrize(
    ("step", "value"),
    [
        (200000, -0.9),  # they grow to the end: as the paper says
        (200000, 0.1),  # they are gone at the end
        (1000, -0.01),  # nothing is there at the first recorded step
    ],
)
def test_another_course_would_be_noticed(step, value):
    check = columns.columns_over_training
    assert supported(check) and not check.of(with_released(drawn(check), step, value)).supported


def with_released(evidence, step, value):
    """Other released medians of d of the decoders of 12 layers at one step."""
    curves = evidence.released.copy()
    rows = (curves["layers"] == 12) & (curves["part"] == "decoder") & (curves["step"] == step)
    curves.loc[rows, "d"] = value
    return evidence._replace(released=curves)


def test_the_course_has_its_turning_points():
    course = columns.released_course(CURVES).set_index(["layers", "part", "text"])
    decoder, encoder = course.loc[(12, "decoder", "wikipedia")], course.loc[(12, "encoder", "red pajama")]
    assert (decoder["first step"], decoder["steps"]) == (1000, 200000)
    assert round(decoder["most"], 2) == -0.23 and round(encoder["most"], 2) == 0.19
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
    (move,) = columns.moves([*arms[0], *arms[1]])
    assert abs(move.encoder.estimate.value - encoder) < noise and abs(move.decoder.estimate.value - decoder) < noise
    if words != NO_DIFFERENCE:
        assert move.source == words
    else:
        assert not move.encoder.met and not move.decoder.met and move.source == words


def test_one_seed_traces_nothing():
    (move,) = columns.moves([*made_arm(1), *made_arm(1, objective="clm")])
    assert move.source == TOO_FEW


def test_the_median_of_several_layers_spreads_less_than_one():
    assert 0.05 < columns.random_median_sd(12) < directionality_sd(768)
    draw = np.random.default_rng(0)
    for layers, width in published.trained_widths().items():
        one = directionality_sd(width, convention=Convention.RELEASED)
        pairs = one * np.median(draw.standard_normal((2, 20000, layers)), axis=2)
        assert 1 < columns.random_gap_sd(layers) / (pairs[0] - pairs[1]).std() < 7 / 6
