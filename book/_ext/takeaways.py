"""What a page offers beyond its text: files to download, a preview of links to it, figures for narrow screens."""

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

FIGURES = "figures"  # a folder of the built book
PREVIEW = "_static/preview.png"  # `python -m chapters.introduction.two_models` draws it
LONGEST_DESCRIPTION = 200  # characters


def hand_out(folder: Path, page: str, source: Path, run: NotebookNode | None, address: str) -> str:
    """Write the files that a reader can download from a page into the built book.

    The notebook is plain Markdown with the numbers of the run in it, because no other tool knows the roles of the book.

    Args:
        folder: the built book.
        page: path of the page in it without suffix, such as ``notebooks/two_scores``.
        source: the file that the page was made from.
        run: the executed notebook, if the page is a chapter.
        address: address of the code; "" where it has none.

    Returns:
        HTML with links to the files and, where the code has an address, a link to edit the page.
    """
    write_text(folder / f"{page}{source.suffix}", source.read_text(encoding="utf-8"))
    files = {"Source": source.suffix}
    if run is not None:
        write_text(folder / f"{page}.ipynb", nbformat.writes(plain_notebook(run, ROOT)) + "\n")
        files = {"Executed notebook": ".ipynb", "Source": source.suffix}
    name = Path(page).name
    links = [f'<a href="{name}{suffix}" download>{words}</a>' for words, suffix in files.items()]
    if address:
        # In the repository, notebooks are not below book/, where the build finds them through a link.
        path = page if run is not None else f"book/{page}"
        links.append(f'<a href="{html.escape(address)}/edit/main/{path}{source.suffix}">Edit this page</a>')
    return f'<p class="page-files">Take away: {" · ".join(links)}</p>'


def link_preview(page: str, title: str, opening: str, base: str) -> str:
    """Elements for the head of a page from which other sites make the preview of a link to it.

    Args:
        page: path of the page without suffix.
        title: may contain HTML.
        opening: the page's first paragraph, whose formulas are TeX.
        base: address of the published book; "" where it is not published. Without it there is no picture.
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
    """Write the one-column forms of a chapter's figures into the built book, and let narrow screens show them.

    Returns:
        The HTML of the page with these figures.
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
