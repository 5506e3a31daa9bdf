"""Symmetry of all language models that are known here, against their number of parameters."""

import pandas as pd

from attngeo.experiments.runs.numbers_in_words import number
from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from chapters.pretrained_survey.chosen import chosen
from chapters.pretrained_survey.sizes import TOYS, rank_correlation
from livingpaper.display.interactive import Interactive

FIRST = "BERT-tiny"  # the model that is named when the page opens
MARKERS = {"released": "o", "half": "s", "read": "o"}
# Names beside points, and how far beside, in pixels; the others are shown on pointing at them.
NAMED = (
    ("BERT-tiny", "encoder", "released", "BERT-tiny", 11, -6, True),
    ("albert-base-v2", "encoder", "released", "ALBERT base", 10, -4, False),
    ("bert-base-uncased", "encoder", "released", "BERT base", 0, -30, False),
    ("bert-large-uncased", "encoder", "released", "BERT large", 0, 22, True),
    ("deberta-v2-xxlarge", "encoder", "released", "DeBERTa v2", 8, 20, False),
    ("t5-11b", "decoder", "half", "T5-11B, both halves", -4, -14, False),
    ("all-MiniLM-L6-v2", "encoder", "read", "MiniLM", -12, 4, False),
    ("GPT-2", "decoder", "released", "GPT-2", -2, -14, True),
    ("phi-2", "decoder", "released", "phi-2", 0, 20, False),
    ("Llama-2-13b-chat-hf", "decoder", "released", "Llama 2", 0, -12, True),
    ("TinyStories-1Layer-21M", "decoder", "released", "TinyStories, one layer (toy)", -10, 4, False),
    ("TinyStories-1M", "decoder", "released", "TinyStories (toy)", 0, -13, False),
    ("stories260K", "decoder", "read", "stories260K (toy)", 12, 5, True),
)


def language_models() -> pd.DataFrame:
    """Every encoder and decoder of text with a known number of parameters, halves of encoder-decoders included.

    Returns:
        Columns name, part, parameters, s, positions, family, source ("released", "half" or "read") and toy.
    """
    models = chosen().every.rename(columns={"model": "name"})
    return models.assign(toy=models["name"].str.lower().str.contains(TOYS))


def models_by_size(models: pd.DataFrame) -> Interactive:
    """A point per model."""
    rows = models.drop(columns="family").assign(s=models["s"].round(5), parameters=models["parameters"].astype(int))
    known = set(zip(models["name"], models["part"], models["source"], strict=True))
    assert all(of[:3] in known for of in NAMED)
    named = [
        {"name": name, "part": part, "source": source, "label": {"words": words, "short": short}, "dx": dx, "dy": dy}
        for name, part, source, words, dx, dy, short in NAMED
    ]
    return Interactive(
        "models_by_size", {"models": rows.to_dict("records"), "named": named, "first": FIRST}, _still(models)
    )


@house_style()
def _still(models: pd.DataFrame) -> CaptionedFigure:
    figure, panel = new_figure(9, 3.8)
    for (part, source), rows in models.groupby(["part", "source"]):
        colour = PART_COLOURS[part]
        face = "none" if source == "read" else colour
        style = {"marker": MARKERS[source], "edgecolors": colour, "facecolors": face, "alpha": 0.8}
        panel.scatter(
            rows["parameters"], rows["s"], label=f"{part}, {source}", s=60 if source == "read" else 30, **style
        )
    panel.axhline(0, color=NEUTRAL, linewidth=0.8)
    panel.set(xscale="log", xlabel="parameters", ylabel="symmetry score s")
    figure.legend(loc="outside lower center", ncols=3)
    rho = number(rank_correlation(models[models["source"] == "released"], "encoder"), 2)
    caption = (
        f"Symmetry scores (median over layers) of {len(models)} language models, plotted against the number of"
        " parameters. The encoder and the decoder of an encoder–decoder model are shown as two separate points. Filled"
        " points show scores that the authors of the paper published, and rings show models that we scored ourselves."
        " The models labelled “toy” were trained on TinyStories."
    )
    alt = (
        "Scatter plot of the symmetry score against the number of parameters. Most encoders score higher than most"
        f" decoders, and larger published encoders score lower than smaller ones (rank correlation {rho}). Most decoders"
        " score below 0.2."
    )
    return CaptionedFigure(figure, "fig-models-by-size", caption, alt)
