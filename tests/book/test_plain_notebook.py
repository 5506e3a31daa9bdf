"""Notebooks for other front ends: nothing of MyST and no macro is left, numbers are those of the book."""

import re

import matplotlib.pyplot as plt
import nbformat
import pandas as pd
import pytest
from tiny_book import ROOT, chapter, tiny_book

from attngeo.book.cache import Kept
from attngeo.book.notebooks import Book
from attngeo.book.plain_notebook import plain_notebook
from attngeo.display import page
from attngeo.display.page import glue, show, table
from attngeo.display.style import CaptionedFigure, new_figure
from attngeo.paper.checks import Result, Verdict, exact

BOOK = Book(ROOT)
MACROS = "|".join(BOOK.configuration()["sphinx"]["config"]["mathjax3_config"]["tex"]["macros"])
LEFT = re.compile(
    rf"\{{[a-z:]+\}}`|^[> ]*(`{{3,}}|:{{3,}}|~{{3,}})\{{|^[> ]*:label:|\$\$ \(|\\({MACROS})(?![A-Za-z])", re.MULTILINE
)
RECORD = {"values": {}, "profile": "cpu", "device": "x", "seconds": 1, "executed": "", "commit": "", "versions": {}}


def outputs_of(*calls):
    outputs = []

    def display(data, metadata, raw=True):
        outputs.append(nbformat.v4.new_output("display_data", data, metadata=metadata))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(page, "display", display)
        for call in calls:
            if shown := call():
                display(*shown._repr_mimebundle_())
    return outputs


def made_plain(book, name, *calls):
    """The texts of the chapter's notebook as if a cell at its end had made these calls."""
    chapter = book.chapter(name)
    notebook = chapter.notebook()
    notebook.cells.append(nbformat.v4.new_code_cell("show(1)", outputs=outputs_of(*calls)))
    plain = plain_notebook(book, chapter, Kept(notebook, RECORD))
    nbformat.validate(plain)
    return plain


@pytest.mark.parametrize("name", [chapter.name for chapter in BOOK.all_chapters()])
def test_nothing_of_myst_is_left_in_any_chapter(name):
    keys = set(re.findall(r"\{glue:text\}`([^`:]+)", BOOK.chapter(name).text))
    plain = made_plain(BOOK, name, *(lambda key=key: glue(key, f"<{key}>") for key in keys))
    text = "\n".join(cell.source for cell in plain.cells if cell.cell_type == "markdown")
    assert [found.group() for found in LEFT.finditer(text)] == []
    assert {key for key in keys if f"<{key}>" in text} == keys and "…`" not in text
    assert not [line for line in text.splitlines() if line.startswith(">") and line.count("$$") % 2]


PAGE = chapter(
    "Page",
    "# ````{prf:proposition} Of two\n# :label: prop-two\n#\n# It is\n#\n"
    "# $$\n# \\norm{\\Wq \\norm{x}}^2\n# $$ (eq-two)\n# ````",
    "# ````{dropdown} Proof\n# ```{prf:proof}\n# By {eq}`eq-two`, {prf:ref}`lem-one` and {numref}`fig-a`,\n"
    "# {numref}`tab-b` of [](other.py), not {numref}`fig-far`: {cite}`a2020`. See [there](other.py#x) `\\T`.\n"
    "# ```\n# ````",
)


def test_references_have_the_numbers_of_the_book(tmp_path):
    other = chapter("Other", "# ```{prf:lemma} One\n# :label: lem-one\n#\n# One.\n# ```")
    book = tiny_book(tmp_path, start=chapter("Start"), other=other, page=PAGE)
    (tmp_path / "book/references.bib").write_text("@misc{a2020, author={Doe, A and Roe, B and Poe, C}, year={2020}}")
    figure, _ = new_figure(2, 2)
    still = CaptionedFigure(figure, "fig-a", "Of $\\T$.", "A figure.")
    plain = made_plain(
        book,
        "page",
        lambda: show(Result("2.1", "(1)", "the $W$", Verdict.MISPRINT, (exact("trace", 1, 1),))),
        lambda: table(pd.DataFrame({"a": [1]}), "tab-b", "One."),
        lambda: still,
    )
    plt.close("all")
    _, statement, proof, code, caption, _ = plain.cells
    assert statement.source.strip().splitlines()[0] == "> **Proposition 2.1** (Of two)"
    assert r"> $$ \lVert W_q \lVert x \rVert \rVert^2 \tag{2.1} $$" in statement.source
    assert "<summary>Proof</summary>" in proof.source
    words = " ".join(proof.source.split())
    assert "By (2.1), Lemma 1.1 of *Other* and Fig. 2.1, Table 2.1 of *Other*, not a figure of the book" in words
    assert r"[Doe et al., 2020]. See there `\T`." in words
    assert caption.source == r"**Fig. 2.1.** Of $^{\top}$." and code.metadata["jupyter"] == {"source_hidden": True}
    line, tabled, _ = (output.data.get("text/markdown", "") for output in code.outputs)
    assert "**≠ misprint** · **Prop. 2.1" in line and "<span" not in line and "<details" in line
    assert tabled.startswith("**Table 2.1.** *One.*")
