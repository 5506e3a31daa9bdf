"""Numbers of *Pretrained models*: the recorded ones as they are, and what is counted on made ones."""

import numpy as np
import pandas as pd
import pytest
from chapters.pretrained_survey import figures, measures
from chapters.pretrained_survey.choices import choices_table
from livingpaper.released_results import released_results

from attngeo.bilinear.random_matrices import sample_forms
from attngeo.bilinear.rows import SCORES
from attngeo.experiments.survey.families import of_families, with_kinds
from attngeo.experiments.survey.measured import layer_medians

READ = measures.recorded_weights()
AREAS = {"language": (0.994, 0.869), "vision": (0.971, 0.667), "audio": (0.983, 0.633)}  # released: AUC of s and of d
CHOICES = """\
all|9|7|0.89 [0.60, 0.97], p 0.013|0.43 [0.20, 0.70], p 0.663|0.75 [0.45, 0.91], p 0.082
without 8- and 4-bit weights|8|5|0.88 [0.54, 0.97], p 0.033|0.38 [0.15, 0.68], p 0.527|0.85 [0.52, 0.96], p 0.060
without models of one layer|8|6|1.00 [0.72, 1.00], p 0.001|0.40 [0.17, 0.69], p 0.563|0.71 [0.40, 0.89], p 0.131
encoder-only or decoder-only|6|4|1.00 [0.63, 1.00], p 0.010|0.62 [0.28, 0.87], p 0.610|0.83 [0.45, 0.96], p 0.114
"""


@pytest.fixture(scope="module")
def scores():
    """The long table of one model with random weights: 6 layers of 4 heads."""
    sample = sample_forms(4, 64, 16, 30, seed=3)
    rows = [
        {"model": "m", "part": "decoder", "layer": i, "head": head, "d_model": 64, "d_head": 16, "gamma": 2.0}
        | {name: float(getattr(sample, name)[i * 5 + head + 1]) for name in SCORES}
        | {"rank": 64 if head < 0 else 16}
        for i in range(6)
        for head in range(-1, 4)
    ]
    return pd.DataFrame(rows)


def test_areas_of_the_released_scores():
    table = measures.all_separations(released_results())
    assert ((table["low"] <= table["auc"]) & (table["auc"] <= table["high"])).all()
    areas = table.round(3).groupby("models", sort=False)["auc"].agg(tuple).to_dict()
    assert areas == AREAS


def test_areas_on_weights_by_choice():
    rows = choices_table(READ.stacks).astype(str).agg("|".join, axis=1)
    assert "\n".join(rows[:4]) + "\n" == CHOICES


def test_random_layers_and_their_medians_lie_within_their_bands(scores):
    band = measures.null_bands(scores).iloc[0]
    many = sample_forms(4, 64, 16, 300, seed=9)
    assert 0.88 < (many.directionality.abs() <= band.d_layer).double().mean() <= 1
    assert 0.90 < ((many.symmetry - band.s_mean).abs() <= band.s_layer).double().mean() <= 1
    medians = many.directionality.view(50, 6).median(1).values
    assert band.d_median < band.d_layer and 0.88 < (medians.abs() <= band.d_median).double().mean() <= 1
    one = measures.null_bands(scores[scores["layer"] == 0]).iloc[0]
    assert one.d_median == one.d_layer and one.s_median == one.s_layer


def test_columns_dominate_where_both_formulas_say_so():
    rows = [(-0.3, -0.1), (0.3, 0.3), (-0.3, -0.3), (-0.1, -0.3)]
    banded = pd.DataFrame(rows, columns=["directionality", "directionality_tables"])
    told = measures.outside(banded.assign(d_median=0.2, d_tables_median=0.2))
    assert told[["definition", "tables", "columns"]].sum().tolist() == [3, 3, 1] and told["columns"][2]


def test_rounding_takes_little_symmetry_and_moves_directionality_by_layers_that_have_none():
    losses, moved = READ.losses, measures.moved_by_scheme(READ.losses)
    table = measures.losses_by_scheme(losses, 0.05)
    assert list(table.index) == ["float16", "int8", "q4_0", "q4_1"] and set(table["layers"]) == {97}
    assert table.loc["float16", ["least", "most"]].abs().max() < 1e-3 < table.loc["q4_0", "median"] < 0.01
    gaps = (losses["directionality_rounded"] - losses["directionality"]).abs()
    assert moved["d, a layer"].max() == gaps.max() > 0.5
    assert (moved["d, a median"] <= moved["d, a layer"]).all()


def test_a_model_stands_beside_itself_or_its_base_by_the_formula_of_its_figure():
    ours = {"symmetry": 0.3, "directionality_tables": -0.1, "directionality_released": -0.2}
    models = {"GPT-2": "decoder", "BERT base radiology": "encoder", "deit-tiny-patch16-224": "encoder"}
    models |= {"FLAN-T5 small titler": "decoder", "Sapiens VH": "encoder", "Whisper base encoder": "encoder"}
    rows = with_kinds(pd.DataFrame([{"model": model, "part": part} | ours for model, part in models.items()]))
    table = measures.same_models(rows).set_index("model")
    assert table["same"].to_dict() == dict(zip(list(models)[:4], (True, False, True, False), strict=True))
    assert table["d"].tolist()[::2] == [-0.1, -0.2] and np.isnan(table.loc["FLAN-T5 small titler", "d"])
    assert round(table.loc["GPT-2", "s_released"], 2) == 0.15


def test_the_paper_s_figures_hold_every_released_point():
    results = released_results()
    points = {("2",): 100, ("S1 vision", "S1 audio"): 81, ("S2",): 26}
    for panels, n in ((dict.fromkeys(labels, "words"), n) for labels, n in points.items()):
        axes = figures.released_scores(results, panels, "fig-released").figure.axes
        drawn = [line for panel in axes[::2] for line in panel.lines if line.get_marker() in "xo"]
        assert sum(len(line.get_xdata()) for line in drawn) == n


def test_layers_are_counted_against_their_band_and_each_part_of_a_model_has_a_line_of_its_own(scores):
    parts = {"T5": ("encoder", "decoder", "cross"), "GPT": ("decoder",)}
    names = {("T5", p): "FLAN-T5 small titler" for p in parts["T5"]} | {("GPT", "decoder"): "GPT-2"}
    every = pd.concat([scores.assign(model=names[f, p], part=p) for f, of in parts.items() for p in of])
    every = every.assign(symmetry=0.9, directionality=0.0)
    layers = with_kinds(every[every["head"] == -1])
    drawn = figures.family_scores(layers, of_families(with_kinds(layer_medians(layers))), measures.null_bands(every))
    assert "Of the 48 scores, 24 lie outside" in " ".join(drawn.caption.split())
    assert [t.get_text() for t in drawn.figure.axes[0].get_yticklabels()] == [
        "T5 encoder",
        "T5 decoder",
        "GPT decoder",
        "T5 cross-attention",
    ]
