"""Data for the cards that show what a link leads to, on hover, focus and tap (``_static/cards.js``).

If a link leads to a theorem, a figure, an equation or a reference on its own page, the card is a copy of it. The data
hold those on other pages. They are a script, because a page that is opened from disk can load scripts but no JSON.

A second, smaller script has the symbols of the page *Notation*, whose cards show their meanings.
"""

import json
import posixpath
import re
from html import unescape
from pathlib import Path

from sphinx.application import Sphinx

from attngeo.files.atomic import write_text

DATA = "_static/cards_data.js"
SYMBOLS = "_static/symbols_data.js"
ROW = re.compile(r"<tr[^>]*><td><p>(.*?)</p></td>\s*<td>.*?</td>\s*<td><p>(.*?)</p></td>\s*</tr>", re.S)
FORMULA = re.compile(r'<span class="math[^"]*">\\\((.*?)\\\)</span>', re.S)
ONE_MEANING = re.compile(r".*_.*|s|\\W\w+")  # a symbol with a subscript, the symmetry score, \Wqk; others have several
TARGET = re.compile(r'<(div|figure) class="([^"]*)" id="([^"]+)"')
KINDS = {"proof", "math", "citation"}  # classes of divisions with a card
LINK = re.compile(r'<a class="reference internal" href="([^"#]+)#([^"]+)"')
ADDRESS = re.compile(r'((?:src|srcset|href)=")(?!\w+:|#|/)([^"]+)')


def write_cards(app: Sphinx, error: Exception | None) -> None:
    """On ``build-finished``: write the targets of links between pages."""
    if error or app.builder.name != "html" or app.config.single_run:
        return
    built = Path(app.outdir)
    pages = {f"{name}.html": Path(built, f"{name}.html").read_text("utf-8") for name in sorted(app.env.found_docs)}
    linked = {
        f"{posixpath.normpath(posixpath.join(posixpath.dirname(page), path))}#{name}"
        for page, html in pages.items()
        for path, name in LINK.findall(html)
    }
    cards = {}
    for page, html in pages.items():
        for tag, classes, name in TARGET.findall(html):
            key = f"{page}#{name}"
            if key in linked and (tag == "figure" or KINDS & set(classes.split())):
                cards[key] = from_root(page, element(html, tag, name))
    write_text(built / DATA, f"attngeoCards({json.dumps(cards, ensure_ascii=False)});\n")
    meanings = symbols(pages.get("notation.html", ""))
    write_text(built / SYMBOLS, f"attngeoSymbols({json.dumps(meanings, ensure_ascii=False)});\n")


def symbols(notation: str) -> dict[str, str]:
    """The meaning of each symbol in the first table of the page *Notation*, by its TeX (HTML)."""
    table = notation.partition("<table")[2].partition("</table>")[0]
    return {
        symbol: from_root("notation.html", f"<p>{names}: {meaning}</p>")
        for names, meaning in ROW.findall(table)
        for tex in FORMULA.findall(names)
        for symbol in unescape(tex).split(", ")
        if ONE_MEANING.fullmatch(symbol)
    }


def element(html: str, tag: str, name: str) -> str:
    """The HTML of the element that has this id, up to its closing tag.

    Raises:
        ValueError: there is no such element, or it is not closed.
    """
    start = html.rindex(f"<{tag}", 0, html.index(f'id="{name}"'))
    depth = 0
    for found in re.finditer(rf"<(/?){tag}\b", html[start:]):
        depth += -1 if found[1] else 1
        if depth == 0:
            return html[start : start + found.start()] + f"</{tag}>"
    raise ValueError(f"The element {name} is not closed.")


def from_root(page: str, html: str) -> str:
    """The HTML with addresses from the root of the book, which ``cards.js`` puts before them."""
    folder = posixpath.dirname(page)
    return ADDRESS.sub(lambda found: f"{found[1]}ROOT/{posixpath.normpath(posixpath.join(folder, found[2]))}", html)
