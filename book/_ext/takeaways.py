"""Additions to a page: files to download, the preview of a link to it, and figures for narrow screens."""

import html
import re
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import nbformat
import numpy as np
from execute import ROOT
from livingpaper.display.page import outputs
from livingpaper.display.plain_notebook import plain_notebook
from nbformat import NotebookNode

from attngeo.files.atomic import write_text
from attngeo.plot import NARROW_SVG

FIGURES = "figures"  # folder in the built book
PICTURE = '<picture class="for-{}">{}</picture>'
FOR_NARROW = '<source media="(max-width: 600px)" srcset="{}" />'
PREVIEW = "_static/preview.png"  # drawn by `python -m chapters.introduction.front_figure`
LONGEST_DESCRIPTION = 400  # characters
# TeX in a description, as somebody would type it into a message
PLAIN_TEX = {
    r"\^?\{?\\(?:top|T)\b\}?": "^T",
    r"\\W(qk|q|k)\b": r"W_\1",
    r"\\pm\b": "±",
    r"\\times\b": "×",
    r"\\[,;!]": " ",
    r"\\[A-Za-z]+|[\\{}$]": "",
}
COLOUR = re.compile("(?<=: #)[0-9a-f]{6}")  # in the styles of matplotlib's SVG
HALF_TURN = np.array(  # rotates hues by 180 degrees, as in the specification of CSS filters
    [[-0.574, 1.430, 0.144], [0.426, 0.430, 0.144], [0.426, 1.430, -0.856]]
)


def hand_out(folder: Path, page: str, source: Path, run: NotebookNode | None, address: str, suffix: str = "") -> str:
    """Write the files that a reader can download from a page into the built book.

    The notebook is plain Markdown with the numbers of the run in it, because no other tool knows the roles of the book.

    Args:
        folder: the built book.
        page: path of the page in the book without suffix, such as ``notebooks/directionality``.
        source: the source file of the page.
        run: the executed notebook, if the page is a chapter.
        address: address of the repository; "" if it has none.
        suffix: distinguishes the notebook of a variant of the page, such as ``-gamma-3``.

    Returns:
        HTML with links to the files and, if the repository has an address, a link to edit the page.
    """
    write_text(folder / f"{page}{source.suffix}", source.read_text(encoding="utf-8"))
    files = {"Source": source.suffix}
    if run is not None:
        write_text(folder / f"{page}{suffix}.ipynb", nbformat.writes(plain_notebook(run, ROOT)) + "\n")
        files = {"Executed notebook": f"{suffix}.ipynb", "Source": source.suffix}
    name = Path(page).name
    links = [f'<a href="{name}{ending}" download>{words}</a>' for words, ending in files.items()]
    if address:
        # The build finds notebooks/ through a link in book/, but in the repository this folder is not in book/.
        path = page if run is not None else f"book/{page}"
        links.append(f'<a href="{html.escape(address)}/edit/main/{path}{source.suffix}">Edit this page</a>')
    return f'<p class="page-files">Take away: {" · ".join(links)}</p>'


def link_preview(page: str, title: str, opening: str, base: str) -> str:
    """Elements for the head of a page from which other sites make the preview of a link to it.

    Args:
        page: path of the page without suffix.
        title: title of the page, which may contain HTML.
        opening: first paragraph of the page, with formulas in TeX.
        base: address of the published book; "" if it is not published. Without an address there is no picture.
    """
    description = _whole_sentences(_without_tex(" ".join(opening.split())))
    properties = [("og:type", "article"), ("og:title", re.sub("<[^>]*>", "", title)), ("og:description", description)]
    if base:
        properties.append(("og:url", f"{base.rstrip('/')}/{page}.html"))
        properties.append(("og:image", f"{base.rstrip('/')}/{PREVIEW}"))
    return _meta("name", [("description", description)]) + _meta("property", properties)


def citation(page: str, title: str, facts: Mapping[str, Any], base: str) -> str:
    """Elements for the head of a page from which reference managers and Google Scholar cite it.

    Args:
        page: path of the page without suffix.
        title: title of the page, which may contain HTML.
        facts: the content of CITATION.cff. Without a date there are no elements.
        base: address of the published book; "" if it is not published.
    """
    if "date-released" not in facts:
        return ""
    named = [("citation_title", re.sub("<[^>]*>", "", title)), ("citation_inbook_title", facts["title"])]
    named += [("citation_author", author["name"]) for author in facts["authors"]]
    named.append(("citation_publication_date", f"{facts['date-released']}".replace("-", "/")))
    if base:
        named.append(("citation_fulltext_html_url", f"{base.rstrip('/')}/{page}.html"))
    return _meta("name", named)


def _meta(attribute: str, named: Iterable[tuple[str, str]]) -> str:
    """A meta element for each name and text."""
    return "".join(
        f'<meta {attribute}="{name}" content="{html.escape(html.unescape(text))}" />\n' for name, text in named
    )


def _without_tex(text: str) -> str:
    for tex, plain in PLAIN_TEX.items():
        text = re.sub(tex, plain, text)
    return " ".join(text.split())


def _whole_sentences(text: str) -> str:
    """As many sentences as are not too long together, or the beginning of the first sentence if it is too long."""
    if len(text) <= LONGEST_DESCRIPTION:
        return text
    whole = re.match(rf".{{1,{LONGEST_DESCRIPTION - 1}}}[.!?](?=\s[A-Z])", text)
    return whole[0] if whole else textwrap.shorten(text, LONGEST_DESCRIPTION, placeholder=" ...")


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
