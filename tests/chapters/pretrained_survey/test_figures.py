import pandas as pd

from attngeo.chapters.pretrained_survey.figures import family_scores
from attngeo.chapters.pretrained_survey.null_bands import null_bands
from attngeo.survey.families import of_families, with_kinds
from attngeo.survey.score_table import layer_medians


def test_layers_are_counted_against_their_band(scores):
    layers = scores[scores["head"] == -1].assign(symmetry=0.9, directionality=0.0)
    families = of_families(with_kinds(layer_medians(layers)))
    figure = family_scores(with_kinds(layers), families, null_bands(scores))
    assert "6 of 12 scores lie outside" in figure.caption and "causal: s from 0.90 to 0.90, d from 0.00" in figure.alt


def test_encoders_and_decoders_share_the_line_of_their_family_and_cross_attention_has_one_below(scores):
    parts = {"T5": ("encoder", "decoder", "cross"), "GPT": ("decoder",)}
    names = {("T5", p): "FLAN-T5 small titler" for p in parts["T5"]} | {("GPT", "decoder"): "GPT-2"}
    every = pd.concat([scores.assign(model=names[f, p], part=p) for f, own in parts.items() for p in own])
    layers = with_kinds(every[every["head"] == -1])
    figure = family_scores(layers, of_families(with_kinds(layer_medians(layers))), null_bands(every)).figure
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["T5", "GPT", "T5, cross"]
    assert sum(len(c.get_offsets()) for c in figure.axes[0].collections if len(c.get_offsets()) > 1) == 4 * 6
