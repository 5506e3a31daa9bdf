"""What a reader takes away from a page: its executed notebook, its source, and the data of its figures as CSV."""

import html
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attngeo.display import METADATA_KEY, NARROW_SVG
from attngeo.files.atomic import write_text

FIGURES = "figures"  # folder of the built book, beside that of the chapters
PREVIEW = "_static/preview.png"  # `python -m attngeo.chapters.introduction.two_models` draws it
DESCRIPTION = 200  # characters


def write(folder: Path, page: str, source: Path, run: NotebookNode | None) -> None:
    """Put a page's files into the built book: its source, and of a chapter the executed notebook and the figures' data.

    Args:
        folder: of the built book.
        page: its path there without suffix, ``notebooks/two_scores``.
        source: the file that it was made from.
        run: the executed chapter; None for a page that is none.
    """
    write_text(folder / f"{page}{source.suffix}", source.read_text(encoding="utf-8"))
    if run is not None:
        write_text(folder / f"{page}.ipynb", nbformat.writes(run) + "\n")
        for name, text in _data(run):
            write_text(folder / FIGURES / name, text)


def for_phones(body: str, run: NotebookNode) -> str:
    """The HTML of a page whose figures have their one-column forms, which `write` has written, on narrow screens."""
    narrow = "|".join(name[:-4] for name, _ in _data(run) if name.endswith(".svg"))
    return re.sub(
        rf'(<figure [^>]*id="({narrow or "-"})">\s*)(<img [^>]*>)',
        rf'\1<picture><source media="(max-width: 600px)" srcset="../{FIGURES}/\2.svg" />\3</picture>',
        body,
    )


def line(page: str, source: Path, is_chapter: bool, address: str) -> str:
    """HTML that links what `write` has written and, where the code has an address, a way to edit it."""
    name = Path(page).name
    links = {"Executed notebook": f"{name}.ipynb"} if is_chapter else {}
    links["Source"] = f"{name}{source.suffix}"
    text = " · ".join(f'<a href="{href}" download>{words}</a>' for words, href in links.items())
    if address:
        # as in the repository: the book's folder holds only a link to the notebooks
        path = f"{page}{source.suffix}" if is_chapter else f"book/{page}{source.suffix}"
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


def data_link(name: str) -> str:
    """HTML that links the data of a figure from its caption, on the page of a chapter."""
    return f'<a class="figure-data" href="../{FIGURES}/{name}.csv" download>Data (CSV)</a>'


def _data(run: NotebookNode) -> Iterator[tuple[str, str]]:
    """Names and contents of the files of figures: their numbers, and their forms for narrow screens."""
    for output in (o for cell in run.cells for o in cell.get("outputs", [])):
        if figure := output.get("metadata", {}).get(METADATA_KEY, {}).get("figure"):
            for kind, suffix in (("text/csv", "csv"), (NARROW_SVG, "svg")):
                if kind in output.data:
                    yield f"{figure['name']}.{suffix}", output.data[kind]
