from itertools import pairwise

import matplotlib as mpl
import numpy as np
import pytest
import seaborn as sns

from attngeo.errors import ParameterError
from attngeo.plot.style import (
    DECODER,
    ENCODER,
    NARROW,
    PALETTE,
    CaptionedFigure,
    house_style,
    new_figure,
    one_column,
)


def lines(slope=1.0):
    figure, axes = new_figure(3, 2)
    axes.plot([0, 1], [0, slope])
    return CaptionedFigure(figure, "fig-lines", "A line of\n slope $1$.", "A rising line.")


def test_equal_figures_give_equal_svg_whatever_the_settings_of_the_session():
    reference = lines().svg()
    assert lines().svg() == reference != lines(2.0).svg()
    with mpl.rc_context({"font.size": 20, "svg.hashsalt": "other", "figure.facecolor": "black"}):
        before = dict(mpl.rcParams)
        assert lines().svg() == reference
        assert dict(mpl.rcParams) == before


@house_style()
def scattered():
    figure, panel = new_figure(3, 2)
    sns.stripplot(x=["a"] * 9, y=range(9), ax=panel)
    return CaptionedFigure(figure, "fig-points", "Nine points.", "Points.")


def test_points_are_scattered_alike_every_time():
    assert scattered().svg() == scattered().svg() and np.random.rand() != np.random.rand()


def test_a_figure_shows_itself_with_words_for_the_book():
    data, metadata = lines()._repr_mimebundle_()
    assert data["image/svg+xml"].startswith("<?xml")
    words = {"name": "fig-lines", "caption": "A line of slope $1$.", "alt": "A rising line."}
    assert metadata == {"attngeo": {"figure": words}}


def test_on_a_phone_panels_stand_below_each_other_with_the_labels_that_they_shared():
    figure, grid = new_figure(9, 4, 2, 3, sharex=True, sharey="row")
    for column, panel in enumerate(grid[0]):
        panel.set_title(f"text {column}", loc="left")
    for row in grid:
        row[0].set_ylabel("s")
    for panel in grid[1, :2]:
        panel.set_xlabel("step " * 20)
    grid[1, 2].remove()
    figure.legend(*[[grid[0, 0].plot([0, 1])[0]], ["a line"]], loc="outside lower center", ncols=3)
    grid[1, 0].legend(grid[1, 0].plot([1, 0]), ["beside"], bbox_to_anchor=(1, 0.5))
    grid[1, 1].legend(grid[1, 1].plot([1, 0]), ["within"])
    grid[0, 0].set_yticks([0.25, 0.5], ["words of a tick that are many", "few"])
    before = figure.get_size_inches().tolist()
    narrow = one_column(figure)
    assert narrow.get_figwidth() == NARROW and narrow.get_figheight() == pytest.approx(10)
    assert [axes.get_title(loc="left")[-1] for axes in narrow.axes] == list("01201")
    assert {axes.get_ylabel() for axes in narrow.axes} == {"s"}
    assert all(axes.get_xlabel().count("\n") for axes in narrow.axes if axes.get_title(loc="left") != "text 2")
    narrow.draw_without_rendering()
    lefts, tops = zip(*[axes.get_position().get_points()[[0, 1], [0, 1]] for axes in narrow.axes], strict=True)
    assert max(lefts) - min(lefts) < 0.01 and list(tops) == sorted(tops, reverse=True)
    assert [text.get_text() for text in narrow.legends[-1].get_texts()] == ["a line", "beside"]
    assert [axes.get_legend() is None for axes in narrow.axes] == [True, True, True, True, False]
    assert [text.get_text().count("\n") for text in narrow.axes[0].get_yticklabels()] == [1, 0]
    assert figure.get_size_inches().tolist() == before and grid[0, 1].get_ylabel() == ""


def test_on_a_phone_the_legend_of_a_single_panel_stands_below_it_and_no_label_is_cut():
    figure, panel = new_figure(6.4, 4)
    panel.plot([0, 1], [0, 1], label="a line with a long explanation that would cover it")
    panel.set(xlabel="a label that is wider than its panel")
    panel.set_yticks([0, 0.5, 1], ["a family with a long name", "another family of models", "one"])
    panel.legend(loc="center right")
    narrow = one_column(figure)
    narrow.draw_without_rendering()
    (axes,) = narrow.axes
    assert axes.get_legend() is None and len(narrow.legends) == 1
    for box in (axes.xaxis.label.get_window_extent(), narrow.legends[0].get_window_extent()):
        assert 0 <= box.x0 and box.x1 <= narrow.bbox.x1
    assert narrow.legends[0].get_window_extent().y1 <= axes.xaxis.label.get_window_extent().y0


def test_on_a_phone_a_panel_grows_until_its_long_labels_have_room():
    figure, panel = new_figure(7.6, 3.4)
    panel.set_yticks(range(8), [f"{k} tokens are the context of all the others" for k in range(8)])
    narrow = one_column(figure)
    narrow.draw_without_rendering()
    boxes = [label.get_window_extent() for label in narrow.axes[0].get_yticklabels()]
    assert all(above.y0 > below.y1 for below, above in pairwise(boxes))
    assert min(box.x0 for box in boxes) >= 0 and narrow.get_figheight() > 3.4


@pytest.mark.parametrize("caption, alt", [(" ", "a"), ("c", "\n"), ("c", "a " * 61)])
def test_a_figure_without_words_is_refused(caption, alt):
    with pytest.raises(ParameterError):
        CaptionedFigure(new_figure()[0], "fig-l", caption, alt)


def test_main_colours_stand_out_on_an_opaque_white_ground():
    assert new_figure()[0].get_facecolor() == (1, 1, 1, 1) and len(set(PALETTE)) == len(PALETTE)
    for colour in (ENCODER, DECODER):
        channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in mpl.colors.to_rgb(colour)]
        assert 1.05 / (np.dot([0.2126, 0.7152, 0.0722], channels) + 0.05) > 3  # WCAG 1.4.11, graphics
