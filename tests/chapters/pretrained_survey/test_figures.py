from attngeo.chapters.pretrained_survey.figures import heads_beside_sum, layer_scores
from attngeo.chapters.pretrained_survey.null_bands import null_bands


def test_layers_are_counted_against_their_band(scores):
    layers = scores[scores["head"] == -1].assign(symmetry=0.9, directionality=0.0)
    figure = layer_scores(layers, null_bands(scores))
    assert "6 of 12 scores lie outside" in figure.caption and "m decoder: s 0.90, d 0.00" in figure.alt


def test_heads_stand_beside_their_sum(scores):
    assert "m decoder: heads" in heads_beside_sum(scores).caption
