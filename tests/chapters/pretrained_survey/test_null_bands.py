from attngeo.chapters.pretrained_survey.null_bands import null_bands
from attngeo.forms.random_matrices import sample_forms


def test_random_layers_lie_within_their_band(scores):
    band = null_bands(scores).iloc[0]
    many = sample_forms(4, 64, 16, 300, seed=8)
    inside = (many.directionality.abs() <= band.d_layer).double().mean()
    assert 0.88 < inside <= 1
    assert 0.90 < ((many.symmetry - band.s_mean).abs() <= band.s_layer).double().mean() <= 1


def test_medians_of_random_layers_lie_within_the_narrower_band(scores):
    band = null_bands(scores).iloc[0]
    many = sample_forms(4, 64, 16, 600, seed=9)
    medians = many.directionality.view(100, 6).median(1).values
    assert band.d_median < band.d_layer
    assert 0.88 < (medians.abs() <= band.d_median).double().mean() <= 1


def test_one_layer_is_its_own_median(scores):
    band = null_bands(scores[scores["layer"] == 0]).iloc[0]
    assert band.d_median == band.d_layer and band.s_median == band.s_layer
