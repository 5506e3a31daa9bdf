"""What is drawn comes back as numbers, whatever kind of mark drew it."""

import io

import numpy as np
import pandas as pd
import pytest

from attngeo.display.figure_data import as_csv
from attngeo.display.style import CaptionedFigure, new_figure


@pytest.fixture
def panel():
    _, axes = new_figure(3, 2)
    axes.set(xlabel="step", ylabel="loss (nats)", title="one")
    return axes


def rows(axes, kind):
    data = pd.read_csv(io.StringIO(as_csv(axes.figure)), keep_default_na=False, na_values={"x": "", "y": "", "0": ""})
    return data[data["drawn as"] == kind]


def test_a_line_gives_its_points_with_panel_axes_and_name(panel):
    panel.set_xscale("log")
    panel.plot([1, 2, 3], [4.0, 5.0, 1 / 3], label="random")
    panel.plot([9], [8], "o")
    panel.plot([0, 1], [0, 1])[0].set_visible(False)
    found = rows(panel, "line")
    assert found[["x", "y"]].to_numpy().tolist() == [[1, 4], [2, 5], [3, 0.333333]]
    assert found.iloc[0].tolist()[:5] == ["one", "step", "loss (nats)", "random", "line"]
    assert len(rows(panel, "points")) == 1


@pytest.mark.parametrize(
    "draw, kind, points",
    [
        (lambda p: p.scatter([1, 2], [3, 4]), "points", [[1, 3], [2, 4]]),
        (lambda p: p.hlines(7, 0.5, 1.5), "interval", [[0.5, 7], [1.5, 7]]),
        (lambda p: p.errorbar([1.0], [2.0], [0.25], fmt="o"), "interval", [[1, 1.75], [1, 2.25]]),
        (lambda p: p.hist([0.5, 1.5, 1.6], bins=[0, 1, 2]), "bar", [[0.5, 1], [1.5, 2]]),
        (lambda p: p.axhline(0.5), "line", [[None, 0.5], [None, 0.5]]),
    ],
)
def test_marks_have_their_places_and_what_spans_the_panel_one_coordinate(panel, draw, kind, points):
    draw(panel)
    found = rows(panel, kind)[["x", "y"]].astype(float)
    np.testing.assert_array_equal(found, np.array(points, dtype=float))


def test_an_image_is_a_matrix_whose_columns_have_numbers(panel):
    m = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, np.nan], [-1 / 3, 1e6]])
    panel.figure.colorbar(panel.imshow(m), ax=panel)
    found = pd.read_csv(io.StringIO(as_csv(panel.figure)))
    assert set(found["drawn as"]) == {"row of pixels"}  # a colour bar is no data
    np.testing.assert_allclose(found[["0", "1"]], m, rtol=2e-3)
    assert found["y"].tolist() == [0, 1, 2, 3] and found["x"].isna().all()


def test_hexagons_have_a_place_and_a_count(panel):
    panel.hexbin([0, 0, 1], [0, 0, 1], gridsize=4, mincnt=1)
    found = rows(panel, "hexagon")
    assert found["value"].astype(float).tolist() == [2, 1]
    np.testing.assert_allclose(found[["x", "y"]], [[0, 0], [1, 1]], atol=0.2)


def test_the_legend_names_what_has_no_label(panel):
    panel.plot([0, 1], [0, 1], color="#0072B2", label="encoder")
    panel.plot([0, 1], [0, 2], color="#0072B2")
    panel.plot([0, 1], [0, 3], color="#D55E00")
    panel.legend()
    assert rows(panel, "line")["series"].tolist() == ["encoder"] * 4 + [""] * 2


def test_a_figure_without_numbers_has_no_csv():
    assert CaptionedFigure(new_figure()[0], "fig-a", "Caption.", "Nothing.").csv() == ""
