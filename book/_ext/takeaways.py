"""Additions to a page: files to download, the preview of a link to it, and figures for narrow screens."""

import html
import re
import textwrap
from pathlib import Path

import nbformat
from execute import ROOT
from livingpaper.display.plain_notebook import plain_notebook
from nbformat import NotebookNode

from attngeo.files.atomic import write_text
from attngeo.plot import METADATA_KEY, NARROW_SVG

FIGURES = "figures"  # folder in the built book
PREVIEW = "_static/preview.png"  # drawn by `python -m chapters.introduction.two_models`
LONGEST_DESCRIPTION = 200  # characters


def hand_out(folder: Path, page: str, source: Path, run: NotebookNode | None, address: str) -> str:
    """Write the files that a reader can download from a page into the built book.

    The notebook is plain Markdown with the numbers of the run in it, because no other tool knows the roles of the book.

    Args:
        folder: the built book.
        page: path of the page in the book without suffix, such as ``notebooks/two_scores``.
        source: the source file of the page.
        run: the executed notebook, if the page is a chapter.
        address: address of the repository; "" if it has none.

    Returns:
        HTML with links to the files and, if the repository has an address, a link to edit the page.
    """
    write_text(folder / f"{page}{source.suffix}", source.read_text(encoding="utf-8"))
    files = {"Source": source.suffix}
    if run is not None:
        write_text(folder / f"{page}.ipynb", nbformat.writes(plain_notebook(run, ROOT)) + "\n")
        files = {"Executed notebook": ".ipynb", "Source": source.suffix}
    name = Path(page).name
    links = [f'<a href="{name}{suffix}" download>{words}</a>' for words, suffix in files.items()]
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
    words = re.sub(r"\\(?:top|T)\b|[\\{}^$]", "", " ".join(opening.split()))
    description = textwrap.shorten(words, LONGEST_DESCRIPTION, placeholder=" ...")
    properties = {"og:type": "article", "og:title": re.sub("<[^>]*>", "", title), "og:description": description}
    if base:
        properties["og:url"] = f"{base.rstrip('/')}/{page}.html"
        properties["og:image"] = f"{base.rstrip('/')}/{PREVIEW}"
    tags = [("name", "description", description)]
    tags += [("property", name, content) for name, content in properties.items()]
    return "".join(
        f'<meta {kind}="{name}" content="{html.escape(html.unescape(content))}" />\n' for kind, name, content in tags
    )


def add_narrow_figures(folder: Path, body: str, run: NotebookNode) -> str:
    """Write the narrow versions of a chapter's figures into the built book, and show them on narrow screens.

    Returns:
        The HTML of the page with these figures added.
    """
    for cell in run.cells:
        for output in cell.get("outputs", []):
            if NARROW_SVG not in output.get("data", {}):
                continue
            name = output.metadata[METADATA_KEY]["figure"]["name"]
            write_text(folder / FIGURES / f"{name}.svg", output.data[NARROW_SVG])
            source = f'<source media="(max-width: 600px)" srcset="../{FIGURES}/{name}.svg" />'
            image = rf'(<figure [^>]*id="{name}">\s*)(<img [^>]*>)'
            body = re.sub(image, rf"\1<picture>{source}\2</picture>", body)
    return body
