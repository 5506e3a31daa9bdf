"""From an executed notebook to what MyST-NB reads."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tiny_book import chapter, tiny_book

from attngeo.book.cache import Kept
from attngeo.book.presentation import present

RECORD = {"profile": "smoke", "values": {"n": 2, "kind": "b"}, "seconds": 1.5, "device": "a processor"}
RECORD |= {"executed": "today", "commit": None, "versions": {"python": "3"}}
KERNEL = {"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}}


def shown(data, **ours):
    return new_output("display_data", data=data, metadata={"attngeo": ours} if ours else {})


def figure(name="fig-x"):
    words = {"name": name, "caption": "Caption $x$.", "alt": "A line."}
    return shown({"image/svg+xml": "<svg/>", "text/plain": "figure"}, figure=words)


@pytest.fixture
def page(tmp_path):
    text = chapter("One", parameters='n: int = 1  # number; in [0, 9]\nkind: str = "a"  # kind; one of a | b')
    one = tiny_book(tmp_path, one=text).chapter("one")

    def page(*outputs, **metadata):
        cells = [new_markdown_cell("# One"), new_code_cell("f()", outputs=list(outputs), metadata=metadata)]
        notebook = new_notebook(cells=cells, metadata=KERNEL)
        before = nbformat.writes(notebook)
        made = present(one, Kept(notebook, RECORD))
        assert nbformat.writes(notebook) == before
        nbformat.validate(made)
        return made.cells

    return page


def test_a_table_becomes_a_captioned_directive_in_a_dropdown_if_folded(page):
    words = {"name": "tab-x", "caption": "Caption."}
    for more, before, after in (({}, "", ""), ({"folded": "All"}, "::::{dropdown} All\n", "\n::::")):
        output = shown({"text/markdown": "*Caption.*\n\n| a |\n| --- |"}, table=words | more)
        table = "~~~~{table} Caption.\n:name: tab-x\n\n| a |\n| --- |\n~~~~"
        assert page(output)[2].source == f"{before}{table}{after}"


def test_outputs_keep_their_order_and_what_a_cell_removes_stays_away(page):
    checks = shown({"text/markdown": "**2.1**"}, results=[])
    text = new_output("stream", name="stdout", text="printed")
    cells = page(text, figure(), checks, text, figure("fig-y"))
    kinds = ["image" if "mystnb" in c.metadata else "text" if c.get("outputs") else c.source[:7] for c in cells[1:-1]]
    assert kinds == ["text", "image", "**2.1**", "text", "image"]
    assert len(page(figure(), tags=["remove-cell"])) == 3
