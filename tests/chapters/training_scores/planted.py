"""Errors planted in the claims of *Scores during training*: the claim, what is replaced, by what, what may fail."""

from notebook_code import notebook

from attngeo.chapters import training_scores as right
from attngeo.claims.seed_intervals import Training

details = notebook("training_scores_details")
attention_of = details.attention_of
MODULE = "attngeo.chapters.training_scores"
SMALL = Training(2, 64, 0)


def exchanged(score):
    return right.released_ends(score).rename(columns={"encoder": "decoder", "decoder": "encoder"})


def with_s_at_the_end(value):
    curves = right.released_training()
    return lambda: curves.assign(s=curves["s"].where(curves["step"] < curves["step"].max(), value))


def deep_decoders(**values):
    return lambda: right.decoders_of_12_layers().assign(**values)


def with_d(column, value):
    """Another course of d in the released decoders of 12 layers."""
    course = right.released_course()
    others = (course["layers"] != 12) | (course["part"] != "decoder")
    return lambda: course.assign(**{column: course[column].where(others, value)})


def gaps_of(values):
    return lambda layers: [
        right.scattered(gap.label, gap.quantity, value, right.random_gap_sd(layers))
        for gap, value in zip(right.released_gaps(layers), values, strict=True)
    ]


def setting(column, name):
    rows = details.table_s1_beside_presets()
    return lambda: rows.assign(**{column: rows[column].where(rows["setting"] != name, "7")})


RIGHT_TO_LEFT = "no_encoder_is_trained_unidirectionally"
PRESETS = "table_s1_is_what_the_presets_build"

PLANTED = [
    ("symmetry_in_training", "released_ends", exchanged),
    ("decoders_almost_non_symmetric", "released_ends", exchanged),
    ("decoders_almost_non_symmetric", "decoders_of_12_layers", deep_decoders(s_q1=0.01), "released decoders of 12"),
    ("growth_on_wikipedia", "released_training", with_s_at_the_end(-1.0), "released"),
    ("growth_on_other_texts", "released_training", with_s_at_the_end(-1.0), "released"),
    ("directionality_in_training", f"{MODULE}.random_gap_sd", lambda layers: 0.01),
    ("directionality_in_training", "released_gaps", gaps_of((0.9, 0.9, 0.9))),
    ("directionality_in_training", "released_gaps", gaps_of((-0.9, -0.9, -0.9))),
    ("directionality_differs_less_elsewhere", "random_gap_sd", lambda layers: 0.01),
    ("directionality_differs_less_elsewhere", "released_gaps", gaps_of((0.9, 0.1, 0.1))),
    ("columns_over_training", "released_course", with_d("end", -0.9)),
    ("columns_over_training", "released_course", with_d("end", 0.1)),
    ("columns_over_training", "released_course", with_d("first", -0.01)),
    ("skew_layers_on_wikipedia", "decoders_of_12_layers", deep_decoders(s_min=-0.005), "released"),
    ("skew_layers_elsewhere", "decoders_of_12_layers", deep_decoders(s_min=-0.005), "released"),
    (RIGHT_TO_LEFT, "attention_of", lambda model_type, causal: attention_of(details.Decoder, causal=True)),
    (PRESETS, "table_s1_beside_presets", setting("bert, printed", "hidden size"), "settings of base"),
    (PRESETS, "table_s1_beside_presets", setting("bert_mini, printed", "hidden activation"), "settings of mini"),
    ("recorded_starts", "symmetry_mean", lambda d: 0.0),
    ("recorded_starts", "symmetry_sd", lambda d: 2 * 2**0.5 / d, "the same, standard deviation"),
    ("recorded_starts", "symmetry_mean", lambda d: 0.1),
    *(
        (claim, "spoken_of", lambda: SMALL, "settings recorded here")
        for kind in ("encoder_layers", "middle_layers", "directionality_of_layers")
        for claim in (f"{kind}_on_wikipedia", f"{kind}_elsewhere")
    ),
]
