import pandas as pd
from made_training import made_arm

from attngeo.chapters.training_scores import published_scores
from attngeo.chapters.training_scores.evidence import encoders_beside_decoders
from attngeo.chapters.training_scores.figures_by_text import released_over_steps, scores_by_depth, texts_over_steps
from attngeo.display.figure_data import COLUMNS, drawn_data

RUNS = [
    *made_arm(s=(0.2, 0.3, 0.4, 0.5)),
    *made_arm(objective="clm", s=(0.0, -0.2, -0.2, 0.0)),
    *made_arm(1, corpus="jigsaw"),
    *made_arm(1, corpus="jigsaw", objective="clm"),
]
PAIRS = encoders_beside_decoders(RUNS)


def test_each_text_has_a_row_and_its_ends_are_told():
    figure = texts_over_steps(PAIRS)
    assert len(figure.figure.axes) == 6 and "<svg" in figure.svg()
    assert "encoder has the higher symmetry in 1 of 1 rows" in texts_over_steps(PAIRS[:1]).alt
    assert "a row per setting, of 1 to 3 seeds" in figure.caption


def test_layers_are_listed_from_the_first_to_the_last():
    figure = scores_by_depth(PAIRS)
    assert len(figure.figure.axes) == 4 and "<svg" in figure.svg()
    data = pd.DataFrame(drawn_data(figure.figure), columns=COLUMNS)
    means = data[(data["panel"] == "wikipedia,\ncharacters") & (data["drawn as"] == "line")]
    assert [round(v, 1) for v in means["y"][:4]] == [0.2, 0.3, 0.4, 0.5]
    assert "encoder lies above the decoder in 4 of 4 layers by symmetry" in scores_by_depth(PAIRS[:1]).alt
    assert "in 1 of 2 settings" in scores_by_depth(PAIRS, most=1).caption


def test_the_released_curves_have_a_column_per_text():
    figure = released_over_steps(published_scores.released_training())
    assert len(figure.figure.axes) == 6 and "<svg" in figure.svg()
    assert all(
        "6 of 6 pairs" in told and "12 of 12 models" in told and "2 of 6." in told
        for told in (figure.caption, figure.alt)
    )
