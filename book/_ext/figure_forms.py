"""Forms of figures for narrow screens and for the dark theme."""

import re
from pathlib import Path

import numpy as np
from livingpaper.display.page import outputs
from nbformat import NotebookNode

from attngeo.files.atomic import write_text
from attngeo.plot import NARROW_SVG

FIGURES = "figures"  # folder in the built book
PICTURE = '<picture class="for-{}">{}</picture>'
FOR_NARROW = '<source media="(max-width: 600px)" srcset="{}" />'
COLOUR = re.compile("(?<=: #)[0-9a-f]{6}")  # in the styles of matplotlib's SVG
HALF_TURN = np.array(  # rotates hues by 180 degrees, as in the specification of CSS filters
    [[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]]
)


def add_other_forms(folder: Path, body: str, run: NotebookNode, suffix: str = "") -> str:
    """Write each figure of a chapter for narrow screens and for the dark theme, and let the page choose.

    Args:
        folder: the built book.
        body: HTML of the page.
        run: the executed chapter.
        suffix: distinguishes the figures of a variant of the page.

    Returns:
        The HTML of the page with these figures added.
    """

    def source(name: str, svg: str) -> str:
        """The address of a figure, after writing it into the built book."""
        write_text(folder / FIGURES / f"{name}.svg", svg)
        return f"../{FIGURES}/{name}.svg"

    for output, about in outputs(run):
        if "figure" not in about:
            continue
        name = about["figure"]["name"]
        image = re.search(rf'(<figure [^>]*id="{name}">\s*)(<img [^>]*>)', body)
        if image is None:  # a hidden cell
            continue
        dark = source(f"{name}{suffix}-dark", in_dark_theme(output.data["image/svg+xml"]))
        light_picture, dark_picture = image[2], re.sub('src="[^"]*"', f'src="{dark}"', image[2])
        if NARROW_SVG in output.data:
            narrow = output.data[NARROW_SVG]
            light_picture = FOR_NARROW.format(source(f"{name}-narrow{suffix}", narrow)) + light_picture
            dark = source(f"{name}-narrow{suffix}-dark", in_dark_theme(narrow))
            dark_picture = FOR_NARROW.format(dark) + dark_picture
        pictures = PICTURE.format("light", light_picture) + PICTURE.format("dark", dark_picture)
        body = f"{body[: image.start()]}{image[1]}{pictures}{body[image.end() :]}"
    return body


def in_dark_theme(svg: str) -> str:
    """A figure of matplotlib for a dark page: lightness is inverted and hues stay, except in images of data.

    The colours of an image have a meaning, such as red for positive values, so they are the same in both themes.
    """
    recoloured = COLOUR.sub(lambda colour: _inverted(colour[0]), svg)
    return recoloured.replace("<svg ", f'<svg fill="#{_inverted("000000")}" ', 1)  # matplotlib omits the colour black


def _inverted(colour: str) -> str:
    """As the CSS filter ``invert(0.925) hue-rotate(180deg)`` does, which turns white into the ground of a dark page."""
    channels = np.frombuffer(bytes.fromhex(colour), np.uint8) / 255
    turned = HALF_TURN @ (0.925 - 0.85 * channels)
    return np.round(255 * turned.clip(0, 1)).astype(np.uint8).tobytes().hex()
