"""From an executed notebook to what MyST-NB reads."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from tiny_book import chapter, tiny_book

from attngeo.book.cache import Kept
from attngeo.book.execution import ChapterFailed
from attngeo.book.presentation import check, present

WORDS = {"name": "fig-x", "caption": "Caption $x$.", "alt": "A line."}
RECORD = {
    "profile": "smoke",
    "values": {"n": 2, "kind": "b"},
    "seconds": 1.5,
    "device": "a processor",
    "executed": "today",
    "commit": None,
    "versions": {"python": "3"},
}


def shown(data, **ours):
    return new_output("display_data", data=data, metadata={"attngeo": ours} if ours else {})


def figure(**words):
    return shown({"image/svg+xml": "<svg/>", "text/plain": "figure"}, figure=WORDS | words)


@pytest.fixture
def one(tmp_path):
    text = chapter("One", parameters='n: int = 1  # number; in [0, 9]\nkind: str = "a"  # kind; one of a | b')
    return tiny_book(tmp_path, one=text).chapter("one")


def page(one, *outputs, **metadata):
    cells = [new_markdown_cell("# One"), new_code_cell("f()", outputs=list(outputs), metadata=metadata)]
    notebook = new_notebook(
        cells=cells,
        metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}, "language_info": {"name": "python"}},
    )
    before = nbformat.writes(notebook)
    made = present(one, Kept(notebook, RECORD))
    assert nbformat.writes(notebook) == before
    nbformat.validate(made)
    return made.cells


def test_a_figure_gets_number_caption_and_alternative_text_from_its_output(one):
    _, source, picture, _ = page(one, figure(), tags=["hide-input"])
    assert source.source == "f()" and source.metadata.tags == ["hide-input"] and not source.outputs
    assert picture.metadata.tags == ["remove-input"]
    assert picture.metadata.mystnb == {
        "figure": {"name": "fig-x", "caption": "Caption $x$."},
        "image": {"alt": "A line.", "classes": "dark-light"},
    }
    assert list(picture.outputs[0].data) == ["image/svg+xml"]


def test_a_table_becomes_a_captioned_directive_in_a_dropdown_if_folded(one):
    words = {"name": "tab-x", "caption": "Caption."}
    for more, before, after in (({}, "", ""), ({"folded": "All"}, "::::{dropdown} All\n", "\n::::")):
        output = shown({"text/markdown": "*Caption.*\n\n| a |\n| --- |"}, table=words | more)
        table = "~~~~{table} Caption.\n:name: tab-x\n\n| a |\n| --- |\n~~~~"
        assert page(one, output)[2].source == f"{before}{table}{after}"


def test_what_a_cell_removes_stays_away(one):
    cells = page(one, figure(), shown({"image/png": ""}), tags=["remove-cell"])
    assert len(cells) == 3 and len(cells[1].outputs) == 2


def test_outputs_keep_their_order(one):
    checks = shown({"text/markdown": "**2.1**"}, results=[])
    text = new_output("stream", name="stdout", text="printed")
    cells = page(one, text, figure(), checks, text, figure(name="fig-y"))
    kinds = ["image" if "mystnb" in c.metadata else "text" if c.get("outputs") else c.source[:7] for c in cells[1:-1]]
    assert kinds == ["text", "image", "**2.1**", "text", "image"]


@pytest.mark.parametrize(
    "output",
    [
        figure(alt=" "),
        figure(caption=""),
        shown({"image/png": "aGVsbG8="}),
        shown({"text/html": '<p><img src="a.png"></p>'}),
    ],
)
def test_an_image_without_words_is_refused_with_its_place(one, output, as_user):
    notebook = new_notebook(cells=[new_markdown_cell("# One"), new_code_cell("f()", outputs=[output])])
    with pytest.raises(ChapterFailed, match=r"\bone\b.*\b2\b"):
        check(one, notebook)


def test_an_image_with_words_of_its_own_may_stand_in_html(one):
    check(one, new_notebook(cells=[new_code_cell("", outputs=[shown({"text/html": '<img src="a" alt="A line">'})])]))


def test_the_page_ends_with_what_it_was_given_and_where_it_ran(one):
    table = page(one)[-1].source
    assert table.startswith("::::{dropdown} ") and "None" not in table  # the commit is not known
    for row in [
        "| smoke |",
        "| 1.5 s |",
        "| a processor |",
        "| python 3 |",
        "| `n` | `2` | `1` | number | [0, 9] |",
        r"| `kind` | `b` | `a` | kind | a \| b |",
        "`attngeo run one -p n VALUE`",
    ]:
        assert row in table
