"""Errors planted in the claims of *Scores during training*: the claim, what is replaced, by what, what may fail."""

from chapters.training_scores import released
from livingpaper.claims.seed_intervals import Training
from notebook_code import assigned, notebook

details = notebook("training_scores_details")
SMALL = Training(2, 64, 0)


def exchanged(right, score):
    return right(score).rename(columns={"encoder": "decoder", "decoder": "encoder"})


def with_d(column, value):
    """Another course of d in the released decoders of 12 layers."""
    return assigned(**{column: lambda t: t[column].where((t["layers"] != 12) | (t["part"] != "decoder"), value)})


def gaps_of(*values):
    return lambda right, layers: [
        released.scattered(gap.label, gap.quantity, value, released.random_gap_sd(layers))
        for gap, value in zip(right(layers), values, strict=True)
    ]


def setting(column, name):
    return assigned(**{column: lambda t: t[column].where(t["setting"] != name, "7")})


falling = assigned(s=lambda curves: curves["s"].where(curves["step"] < curves["step"].max(), -1.0))  # at the end
RIGHT_TO_LEFT, PRESETS = "no_encoder_is_trained_unidirectionally", "table_s1_is_what_the_presets_build"
DECODERS, COLUMNS = "decoders_almost_non_symmetric", "columns_over_training"
PLANTED = [
    ("symmetry_in_training", "released_ends", exchanged),
    (DECODERS, "released_ends", exchanged),
    (DECODERS, "decoders_of_12_layers", assigned(s_q1=0.01), "authors' 3 decoders with 12"),
    ("growth_on_wikipedia", "released_training", falling, "authors"),
    ("growth_on_other_texts", "released_training", falling, "authors"),
    ("directionality_in_training", "chapters.training_scores.released.random_gap_sd", lambda layers: 0.01),
    ("directionality_in_training", "released_gaps", gaps_of(0.9, 0.9, 0.9)),
    ("directionality_in_training", "released_gaps", gaps_of(-0.9, -0.9, -0.9)),
    ("directionality_differs_less_elsewhere", "random_gap_sd", lambda layers: 0.01),
    ("directionality_differs_less_elsewhere", "released_gaps", gaps_of(0.9, 0.1, 0.1)),
    (COLUMNS, "released_course", with_d("end", -0.9)),
    (COLUMNS, "released_course", with_d("end", 0.1)),
    (COLUMNS, "released_course", with_d("first", -0.01)),
    ("skew_layers_on_wikipedia", "decoders_of_12_layers", assigned(s_min=-0.005), "authors"),
    ("skew_layers_elsewhere", "decoders_of_12_layers", assigned(s_min=-0.005), "authors"),
    (RIGHT_TO_LEFT, "attention_of", lambda right, model_type, causal: right(details.Decoder, causal=True)),
    (PRESETS, "table_s1_beside_presets", setting("bert, printed", "hidden size"), "number of settings of base"),
    (
        PRESETS,
        "table_s1_beside_presets",
        setting("bert_mini, printed", "hidden activation"),
        "number of settings of mini",
    ),
    ("recorded_starts", "symmetry_mean", lambda d: 0.0),
    ("recorded_starts", "symmetry_sd", lambda d: 2 * 2**0.5 / d, "the same: standard deviation"),
    *(
        (f"{kind}_{where}", "spoken_of", lambda: SMALL, "number of our settings with")
        for kind in ("encoder_layers", "middle_layers", "directionality_of_layers")
        for where in ("on_wikipedia", "elsewhere")
    ),
]
