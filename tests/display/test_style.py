import matplotlib as mpl
import pytest

from attngeo.display.style import DECODER, ENCODER, PALETTE, CaptionedFigure, house_style, new_figure
from attngeo.errors import ParameterError


def lines(slope=1.0):
    figure, axes = new_figure(3, 2)
    axes.plot([0, 1], [0, slope])
    return CaptionedFigure(figure, "fig-lines", "A line of\n slope $1$.", "A rising line.")


def test_equal_figures_give_equal_svg():
    assert lines().svg() == lines().svg()
    assert lines().svg() != lines(2.0).svg()


def test_the_settings_of_the_session_neither_matter_nor_change():
    reference = lines().svg()
    with mpl.rc_context({"font.size": 20, "svg.hashsalt": "other", "figure.facecolor": "black"}):
        before = dict(mpl.rcParams)
        assert lines().svg() == reference
        assert dict(mpl.rcParams) == before


def test_no_figure_is_left_with_pyplot():
    import matplotlib.pyplot as plt

    lines()
    assert plt.get_fignums() == []


def test_a_figure_shows_itself_with_words_for_the_book():
    data, metadata = lines()._repr_mimebundle_()
    assert data["image/svg+xml"].startswith("<?xml")
    words = {"name": "fig-lines", "caption": "A line of slope $1$.", "alt": "A rising line."}
    assert metadata == {"attngeo": {"figure": words}}


@pytest.mark.parametrize(
    "name, caption, alt",
    [
        ("lines", "c", "a"),
        ("fig-Lines", "c", "a"),
        ("fig-l", " ", "a"),
        ("fig-l", "c", "\n"),
        ("fig-l", "c", "a " * 61),
    ],
)
def test_a_figure_without_words_is_refused(name, caption, alt):
    with pytest.raises(ParameterError):
        CaptionedFigure(new_figure()[0], name, caption, alt)


def test_the_ground_is_opaque_white():
    assert new_figure()[0].get_facecolor() == (1, 1, 1, 1)
    with house_style():
        assert mpl.rcParams["savefig.facecolor"] == "white"


def _luminance(colour):
    channels = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in mpl.colors.to_rgb(colour)]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def test_main_colours_stand_out_on_white_and_differ():
    assert PALETTE[:2] == (ENCODER, DECODER)
    for colour in (ENCODER, DECODER):
        assert 1.05 / (_luminance(colour) + 0.05) > 3  # WCAG 1.4.11, graphics
    assert len(set(PALETTE)) == len(PALETTE)
