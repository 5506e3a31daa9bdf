import numpy as np
import pandas as pd
import pytest

from attngeo.chapters.pretrained_survey.figures import heads_beside_sum, layer_scores
from attngeo.chapters.pretrained_survey.null_bands import null_bands
from attngeo.chapters.pretrained_survey.released_points import released_scores, separations
from attngeo.chapters.pretrained_survey.separation import all_separations
from attngeo.errors import ParameterError
from attngeo.forms.random_matrices import sample_forms
from attngeo.survey.models import released_results
from attngeo.survey.printed_rows import layer_medians


@pytest.fixture(scope="module")
def scores():
    """The long table of one model with random weights: 6 layers of 4 heads."""
    sample = sample_forms(4, 64, 16, 30, seed=3)
    rows = [
        {"model": "m", "part": "decoder", "layer": i, "head": head, "d_model": 64, "d_head": 16}
        | {"symmetry": float(sample.symmetry[i * 5 + head + 1]), "gamma": 2.0}
        | {name: float(getattr(sample, name)[i * 5 + head + 1]) for name in DIRECTIONALITY}
        for i in range(6)
        for head in range(-1, 4)
    ]
    return pd.DataFrame(rows)


DIRECTIONALITY = ("directionality", "directionality_released", "directionality_tables")


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


def test_layers_are_counted_against_their_band(scores):
    layers = scores[scores["head"] == -1].assign(symmetry=0.9, directionality=0.0)
    figure = layer_scores(layers, null_bands(scores))
    assert "6 of 12 scores lie outside" in figure.caption and "m decoder: s 0.90, d 0.00" in figure.alt


def test_heads_stand_beside_their_sum(scores):
    assert "m decoder: heads" in heads_beside_sum(scores).caption


@pytest.mark.parametrize(
    ("panels", "n"),
    [({"2": "language"}, 100), ({"S1 vision": "vision", "S1 audio": "audio"}, 81), ({"S2": "both"}, 26)],
)
def test_the_paper_s_figures_hold_every_released_point(panels, n):
    figure = released_scores(released_results(), panels, "fig-released")
    offsets = sum(
        len(line.get_xdata()) for axes in figure.figure.axes[::2] for line in axes.lines if line.get_marker() in "xo"
    )
    assert offsets == n
    assert sum(int(w.split(" points")[0].split()[-1]) for w in figure.caption.split(": ")[1:] if " points" in w) == n


def test_our_scores_lie_on_the_released_points(scores):
    results = released_results()
    ours = layer_medians(scores[scores["head"] == -1]).assign(model="GPT-2", symmetry=0.15)
    figure = released_scores(results, {"2": "language"}, "fig-released", ours)
    ring = next(line for line in figure.figure.axes[0].lines if line.get_fillstyle() == "none")
    np.testing.assert_allclose(ring.get_ydata(), 0.15)
    assert ring.get_xdata() == results[results["model"] == "GPT-2"]["parameters"].item()


def test_each_separation_is_a_line_with_its_intervals():
    table = all_separations(released_results())
    assert len(table) == 14 and ((table["low"] <= table["auc"]) & (table["auc"] <= table["high"])).all()
    figure = separations(table)
    assert len(figure.figure.axes[0].get_yticklabels()) == 14 and "s: language 0.99" in figure.caption


def test_a_label_of_another_kind_is_refused():
    with pytest.raises(ParameterError):
        released_scores(released_results(), {"2": "language"}, "tab-released")
