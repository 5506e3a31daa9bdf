"""What lies beside a page: its source and, of a chapter, the executed notebook and its figures for narrow screens."""

import html
import re
import textwrap
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attngeo.display import METADATA_KEY, NARROW_SVG
from attngeo.files.atomic import write_text

FIGURES = "figures"  # folder of the built book, beside that of the chapters
PREVIEW = "_static/preview.png"  # `python -m attngeo.chapters.introduction.two_models` draws it
DESCRIPTION = 200  # characters


def hand_out(folder: Path, page: str, source: Path, run: NotebookNode | None, address: str) -> str:
    """Put a page's files into the built book.

    Args:
        folder: of the built book.
        page: its path there without suffix, ``notebooks/two_scores``.
        source: the file that it was made from.
        run: the executed chapter; None for a page that is none.
        address: of the code; "" where it has none.

    Returns:
        HTML that links them and, where the code has an address, a way to edit the page.
    """
    write_text(folder / f"{page}{source.suffix}", source.read_text(encoding="utf-8"))
    files = {"Source": source.suffix}
    if run is not None:
        write_text(folder / f"{page}.ipynb", nbformat.writes(run) + "\n")
        files = {"Executed notebook": ".ipynb"} | files
    name = Path(page).name
    text = " · ".join(f'<a href="{name}{suffix}" download>{words}</a>' for words, suffix in files.items())
    if address:
        # as in the repository: the book's folder holds only a link to the notebooks
        path = f"{page}{source.suffix}" if run is not None else f"book/{page}{source.suffix}"
        text += f' · <a href="{html.escape(address)}/edit/main/{path}">Edit this page</a>'
    return f'<p class="page-files">Take away: {text}</p>'


def card(page: str, title: str, opening: str, base: str) -> str:
    """What a link to the page shows, as elements of its head; address and picture where the book has an address."""
    words = re.sub(r"\\(?:top|T)\b|[\\{}^$]", "", " ".join(opening.split()))
    description = textwrap.shorten(words, DESCRIPTION, placeholder=" ...")
    said = {"og:type": "article", "og:title": re.sub("<[^>]*>", "", title), "og:description": description}
    if base := base.rstrip("/"):
        said |= {"og:url": f"{base}/{page}.html", "og:image": f"{base}/{PREVIEW}"}
    tags = {'name="description"': description} | {f'property="{name}"': text for name, text in said.items()}
    return "".join(f'<meta {name} content="{html.escape(html.unescape(text))}" />\n' for name, text in tags.items())


def for_phones(folder: Path, body: str, run: NotebookNode) -> str:
    """The HTML of a chapter whose figures have their one-column forms, which are written too, on narrow screens."""
    for output in (o for cell in run.cells for o in cell.get("outputs", []) if NARROW_SVG in o.get("data", {})):
        name = output.metadata[METADATA_KEY]["figure"]["name"]
        write_text(folder / FIGURES / f"{name}.svg", output.data[NARROW_SVG])
        source = f'<source media="(max-width: 600px)" srcset="../{FIGURES}/{name}.svg" />'
        image = rf'(<figure [^>]*id="{name}">\s*)(<img [^>]*>)'
        body = re.sub(image, rf"\1<picture>{source}\2</picture>", body)
    return body
