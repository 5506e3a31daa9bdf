"""Files that a reader can download from a page."""

import html
from pathlib import Path

import nbformat
from execute import ROOT
from livingpaper.display.plain_notebook import plain_notebook
from nbformat import NotebookNode

from attngeo.files.atomic import write_text


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
