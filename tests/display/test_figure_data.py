"""What is drawn comes back as numbers, whatever kind of mark drew it."""

import io

import numpy as np
import pandas as pd
import pytest

from attngeo.display.figure_data import COLUMNS, as_csv, drawn_data
from attngeo.display.style import CaptionedFigure, new_figure


@pytest.fixture
def panel():
    _, axes = new_figure(3, 2)
    axes.set(xlabel="step", ylabel="loss (nats)", title="one")
    return axes


def rows(axes, kind=None):
    data = pd.DataFrame([row[: len(COLUMNS)] for row in drawn_data(axes.figure)], columns=COLUMNS)
    return data if kind is None else data[data["drawn as"] == kind]


def test_a_line_gives_its_points_with_panel_axes_and_name(panel):
    panel.plot([1, 2, 3], [4.0, 5.0, 6.5], label="random")
    found = rows(panel)
    assert found[["x", "y"]].to_numpy().tolist() == [[1, 4], [2, 5], [3, 6.5]]
    assert set(found["series"]) == {"random"} and set(found["drawn as"]) == {"line"}
    assert found.iloc[0][["panel", "x axis", "y axis"]].tolist() == ["one", "step", "loss (nats)"]


def test_points_and_intervals(panel):
    panel.scatter([1, 2], [3, 4], label="heads")
    panel.hlines(7, 0.5, 1.5)
    panel.plot([9], [8], "o")
    assert rows(panel, "points")[["x", "y"]].to_numpy().tolist() == [[1, 3], [2, 4], [9, 8]]
    assert rows(panel, "interval")[["x", "y"]].to_numpy().tolist() == [[0.5, 7], [1.5, 7]]


def test_error_bars_are_intervals(panel):
    panel.errorbar([1.0], [2.0], [0.25], fmt="o", label="measured")
    assert rows(panel, "interval")["y"].tolist() == [1.75, 2.25]


def test_bars_of_a_histogram_and_its_outline(panel):
    panel.hist([0.5, 1.5, 1.6], bins=[0, 1, 2])
    assert rows(panel, "bar")[["x", "y"]].to_numpy().tolist() == [[0.5, 1], [1.5, 2]]
    panel.hist([0.5, 1.5, 1.6], bins=[0, 1, 2], histtype="step")
    assert rows(panel, "outline")["y"].max() == 2


def test_an_image_is_a_matrix_whose_columns_have_numbers(panel):
    m = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, np.nan], [-1 / 3, 1e6]])
    panel.imshow(m)
    panel.plot([1, 2], [1 / 3, 0.5])
    found = pd.read_csv(io.StringIO(as_csv(panel.figure)))
    pixels = found[found["drawn as"] == "row of pixels"]
    np.testing.assert_allclose(pixels[["0", "1"]], m, rtol=2e-3)
    assert pixels["y"].tolist() == [0, 1, 2, 3] and pixels["x"].isna().all()
    line = found[found["drawn as"] == "line"]
    assert (
        line[["x", "y"]].to_numpy().tolist() == [[1, 0.333333], [2, 0.5]] and line[["0", "1"]].isna().to_numpy().all()
    )


def test_hexagons_have_a_place_and_a_count(panel):
    panel.hexbin([0, 0, 1], [0, 0, 1], gridsize=4, mincnt=1)
    found = rows(panel, "hexagon")
    assert found["value"].tolist() == [2, 1]
    np.testing.assert_allclose(found[["x", "y"]], [[0, 0], [1, 1]], atol=0.2)


def test_a_line_across_the_panel_has_one_coordinate(panel):
    panel.axhline(0.5)
    panel.axvline(3)
    assert rows(panel)["y"].dropna().tolist() == [0.5, 0.5] and rows(panel)["x"].dropna().tolist() == [3, 3]


def test_the_legend_names_what_has_no_label(panel):
    panel.plot([0, 1], [0, 1], color="#0072B2", label="encoder")
    panel.plot([0, 1], [0, 2], color="#0072B2")
    panel.plot([0, 1], [0, 3], color="#D55E00")
    panel.legend()
    found = rows(panel)
    assert found[found["y"] == 2]["series"].item() == "encoder"
    assert found[found["y"] == 3]["series"].item() == ""


def test_a_colour_bar_and_what_is_hidden_are_no_data():
    figure, (left, right) = new_figure(4, 2, columns=2)
    figure.colorbar(left.imshow(np.eye(2)), ax=left)
    right.plot([0, 1], [0, 1])[0].set_visible(False)
    assert {row[4] for row in drawn_data(figure)} == {"row of pixels"}


def test_a_figure_gives_its_data_as_csv(panel):
    panel.plot([1, 2], [1 / 3, 0.5])
    figure = CaptionedFigure(panel.figure, "fig-a", "Caption.", "A line.")
    data, _ = figure._repr_mimebundle_()
    assert pd.read_csv(io.StringIO(data["text/csv"]))["y"].tolist() == [0.333333, 0.5]
    assert CaptionedFigure(new_figure()[0], "fig-a", "Caption.", "Nothing.").csv() == ""
