"""Elements for the head of a page: the preview of a link to it, and how to cite it."""

import html
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

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
