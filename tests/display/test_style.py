import matplotlib as mpl
import numpy as np
import pytest
import seaborn as sns

from attngeo.display.style import DECODER, ENCODER, PALETTE, CaptionedFigure, house_style, new_figure
from attngeo.errors import ParameterError


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


@pytest.mark.parametrize("caption, alt", [(" ", "a"), ("c", "\n"), ("c", "a " * 61)])
def test_a_figure_without_words_is_refused(caption, alt):
    with pytest.raises(ParameterError):
        CaptionedFigure(new_figure()[0], "fig-l", caption, alt)


def test_main_colours_stand_out_on_an_opaque_white_ground():
    assert new_figure()[0].get_facecolor() == (1, 1, 1, 1) and len(set(PALETTE)) == len(PALETTE)
    for colour in (ENCODER, DECODER):
        channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in mpl.colors.to_rgb(colour)]
        assert 1.05 / (np.dot([0.2126, 0.7152, 0.0722], channels) + 0.05) > 3  # WCAG 1.4.11, graphics
