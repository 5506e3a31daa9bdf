"""The first page's figure: one sentence in an encoder and in a decoder, and the symmetry of all surveyed models."""

import numpy as np
import pandas as pd
from jaxtyping import Float

from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.scores import SUM
from chapters.introduction.sentence import WORDS, recorded
from livingpaper.display.interactive import Interactive, packed
from attngeo.plot.style import DIVERGING, PART_COLOURS, CaptionedFigure, house_style, new_figure, plain_panel
from attngeo.files.atomic import atomic_path
from attngeo.files.checkout import data, root
from attngeo.experiments.runs.numbers_in_words import number
from attngeo.experiments.survey.families import distinct
from attngeo.experiments.survey.measured import layer_medians, named, read_records

MODELS = {"encoder": ("minilm-l6-v2", "MiniLM"), "decoder": ("smollm2-135m-instruct-q4", "SmolLM2")}
PAIR = (WORDS.index("old"), WORDS.index("cat"))
FULL = 0.99  # of entries of W_qk: the quantile of their magnitudes that the cloud's axes end at


def two_models() -> Interactive:
    """From what is recorded of the sentence and of the survey."""
    scores = read_records(data("survey"))
    layers = scores[(scores["head"] == SUM) & (scores["part"] != "cross")]
    surveyed = distinct(layer_medians(named(layers))).sort_values("symmetry")
    models = {part: _model(part, layers[layers["model"] == folder]) for part, (folder, _) in MODELS.items()}
    shown = {
        "words": WORDS,
        "pair": PAIR,
        "models": models,
        "surveyed": [
            [m, p, round(s, 3)] for m, p, s in surveyed[["model", "part", "symmetry"]].itertuples(index=False)
        ],
    }
    return Interactive("two_models", shown, _still(models, surveyed))


def centred(raw: Float[np.ndarray, "*layers n n"]) -> Float[np.ndarray, "*layers n n"]:
    """Less the means of its rows, which no softmax sees, and of its columns."""
    return raw - raw.mean(-1, keepdims=True) - raw.mean(-2, keepdims=True) + raw.mean((-2, -1), keepdims=True)


def _model(part: str, layers: pd.DataFrame) -> dict:
    found = recorded(MODELS[part][0])
    shape = layers.iloc[0]
    law = laws_of_shape(int(shape["d_model"]), int(shape["rank"]), float(shape["gamma"]), shape["convention"])[
        "symmetry"
    ]
    peaks = np.quantile(abs(found.entries), FULL, axis=(1, 2), keepdims=True)
    raw = centred(found.raw)
    return {
        "name": MODELS[part][1],
        "raw": packed(_levels(raw / abs(raw).max((1, 2), keepdims=True))),
        "entries": packed(_levels(found.entries / peaks)),
        "s": [round(float(s), 4) for s in found.symmetry],
        "first": int(np.argsort(found.symmetry)[len(found.symmetry) // 2]),  # the upper of two medians
        "random": [round(law.mean, 4), round(law.half_width, 4)],
    }


def _levels(values: np.ndarray) -> np.ndarray:
    return np.rint(127 * values.clip(-1, 1)).astype(np.int8)


@house_style()
def _still(models: dict, surveyed: pd.DataFrame) -> CaptionedFigure:
    figure, panels = new_figure(9, 3.6, columns=3)
    for panel, (part, model) in zip(panels, models.items(), strict=False):
        raw = centred(recorded(MODELS[part][0]).raw[model["first"]])
        plain_panel(panel)
        panel.imshow(raw / abs(raw).max(), cmap=DIVERGING, vmin=-1, vmax=1)
        panel.set_xticks(range(len(WORDS)), WORDS, rotation=90)
        panel.set_yticks(range(len(WORDS)), WORDS)
        panel.set(title=f"{model['name']}, {part}", xlabel="to", ylabel="from" if part == "encoder" else "")
    for part, rows in surveyed.groupby("part"):
        panels[2].scatter([part] * len(rows), rows["symmetry"], color=PART_COLOURS[part], alpha=0.7)
    panels[2].set(title="surveyed models", ylabel="symmetry s", xlim=(-0.6, 1.6))
    s = {part: number(model["s"][model["first"]], 2) for part, model in models.items()}
    higher = surveyed.groupby("part")["symmetry"].median()
    median = {part: number(higher[part], 2) for part in MODELS}
    (skew,) = surveyed.query("part == 'encoder' and symmetry < 0").itertuples()
    assert skew.model == "BART g2p"  # of which the caption says what it does
    return CaptionedFigure(
        figure,
        "fig-two-models",
        "One sentence in MiniLM, an encoder, and SmolLM2, a decoder: $x_i^\\top W_{qk}\\, x_j$ from each word to each"
        " other, heads summed, less the means of rows and columns; biases and rotation are left out, and a decoder's"
        " mask hides what is above the diagonal. Dots are entries $m_{ij}$ of $W_{qk}$ against $m_{ji}$. First"
        f" come the upper of two middle layers by $s$: {s['encoder']} and {s['decoder']}; in brackets stands what 95 %"
        f" of random weights have. Below, the {len(surveyed)} encoders"
        " and decoders whose weights were read here, medians over layers; sentence 1 is about released scores. The"
        f" encoder at {number(skew.symmetry, 2)} is {skew.model}, which turns spelling into sounds.",
        "Two heat maps of the words of a sentence, roughly mirrored at the diagonal for the encoder, not for the"
        " decoder, and dots of the symmetry of surveyed models, medians"
        f" {median['encoder']} for encoders and {median['decoder']} for decoders.",
    )


def preview() -> None:
    """The picture that a link to the book shows: 1200 x 630 pixels, the still."""
    figure = two_models().still.figure
    figure.set_size_inches(12, 6.3)
    with house_style(), atomic_path(root() / "book" / "_static" / "preview.png") as file:
        figure.savefig(file, format="png", dpi=100, bbox_inches=None)


if __name__ == "__main__":
    preview()
