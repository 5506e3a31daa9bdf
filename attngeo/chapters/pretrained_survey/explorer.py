"""Model explorer: both scores of a model's layers, and of the heads of a layer, beside what random weights give."""

import pandas as pd

from attngeo.display.captions import captioned
from attngeo.display.interactive import Interactive
from attngeo.display.score_figure import score_figure
from attngeo.forms.null_laws import LEVEL, laws_of_shape
from attngeo.forms.scores import SUM

SHOWN = "Whisper base"  # in the still, where it is among the models: it has an encoder and a decoder
SCORES = {"s": "symmetry", "d": "directionality"}


def explorer(scores: pd.DataFrame) -> Interactive:
    """Every layer and head of the survey, from the long score table."""
    scores = scores.astype({"gamma": float})  # of a record read back, an integer
    stacks = scores.groupby(["model", "part"], sort=False)
    models = {f"{model}, {part}": _stack(part, rows) for (model, part), rows in stacks}
    names = list(scores["model"].unique())
    shown = SHOWN if SHOWN in names else names[0]
    rows = scores[(scores["model"] == shown) & (scores["part"] != "cross")]
    still = score_figure(rows.to_dict("records"))
    layers = scores[scores["head"] == SUM]
    outside = " and ".join(f"{(layers[f'{field}_p'] < LEVEL).sum()} by {field}" for field in SCORES.values())
    words = {"shown": shown, "layers": len(layers), "outside": outside, "still": still.alt}
    figure = captioned(still.figure, __package__, "fig-explorer", **words)
    return Interactive("explorer", {"first": f"{shown}, {rows['part'].iloc[0]}", "models": models}, figure)


def _stack(part: str, rows: pd.DataFrame) -> dict:
    layers, heads = rows[rows["head"] == SUM].sort_values("layer"), rows[rows["head"] != SUM].sort_values("head")
    by_layer = dict(list(heads.groupby("layer")))
    return {
        "part": part,
        "width": int(layers["d_model"].iloc[0]),
        "bands": {kind: _bands(own.iloc[0]) for kind, own in (("layers", layers), ("heads", heads))},
        "layers": _values(layers),
        "heads": [_values(by_layer[layer]) for layer in layers["layer"]],
    }


def _bands(row: pd.Series) -> dict[str, list[float]]:
    laws = laws_of_shape(int(row["d_model"]), int(row["rank"]), row["gamma"], row["convention"])
    of_score = {score: laws[field] for score, field in SCORES.items()}
    return {score: [round(law.mean + side * law.half_width, 4) for side in (-1, 1)] for score, law in of_score.items()}


def _values(rows: pd.DataFrame) -> dict[str, list[float]]:
    return {score: rows[field].round(4).tolist() for score, field in SCORES.items()}
