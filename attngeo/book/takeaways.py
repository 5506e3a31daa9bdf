"""What a reader takes away from a page: its source and, of a chapter, the executed notebook."""

import html
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from attngeo.files.atomic import write_text


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
