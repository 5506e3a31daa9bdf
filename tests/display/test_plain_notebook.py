import re

import jupytext
import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from livingpaper.display.page import glue
from livingpaper.display.plain_notebook import plain_notebook

from attngeo.files.checkout import root

CHAPTERS = sorted((root() / "notebooks").glob("*.py"))
RAW = re.compile(r"\{[a-z]+:?[a-z]*\}`|^[`:~]{3,}\{|^:[a-z]+:|\$\$ *\([a-z]|\]\([^)]*\.(?:py|md)", re.M)
MACROS = re.compile(r"\\(?:R|E|Prob|Var|Cov|tr|diag|softmax|norm|Wq|Wk|Wqk|T)(?![A-Za-z])")


def code(source, *outputs, tags=()):
    return nbformat.v4.new_code_cell(source, outputs=list(outputs), metadata={"tags": list(tags)})


def glued(name, value, spec=""):
    """What a cell shows that glues a value."""
    InteractiveShell.instance()
    with capture_output() as captured:
        glue(name, value, spec)
    (shown,) = captured.outputs
    return nbformat.v4.new_output("display_data", shown.data, metadata=shown.metadata)


def converted(*cells):
    """The cells after conversion, of a run that glued d = -0.15."""
    notebook = nbformat.v4.new_notebook(cells=[*cells, code("glue()", glued("limit", -0.15, "+.2f"))])
    return plain_notebook(notebook, root()).cells


def text(source):
    return converted(nbformat.v4.new_markdown_cell(source))[0].source


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_no_role_directive_or_macro_is_left_in_any_chapter(path):
    chapter = jupytext.read(path)
    names = set(re.findall(r"\{glue:\w+\}`([^`:]+)", path.read_text("utf-8")))
    chapter.cells.append(code("glue", *(glued(name, "a number of the run") for name in names)))
    for cell in plain_notebook(chapter, root()).cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"^```(?!\{).*?^```$", "", cell.source, flags=re.M | re.S)
            assert not RAW.search(prose), RAW.search(prose)
            assert not MACROS.search(prose), MACROS.search(prose)


def test_numbers_of_the_run_stand_in_the_text():
    assert text("Then $d$ tends to {glue:text}`limit`.") == "Then $d$ tends to −0.15."


def test_a_number_that_no_cell_glued_is_an_error():
    with pytest.raises(KeyError, match="forgotten"):
        text("{glue:text}`forgotten`")


def test_statements_and_proofs_are_text_with_a_title():
    source = (
        "````{prf:lemma} Lemma 1 of the paper: a norm\n:label: lem-1\n\n"
        "Then\n\n$$\n\\norm{M\\T x} \\le 1\n$$ (eq-1)\n````\n\n"
        "````{dropdown} Proof\n```{prf:proof}\nBy {eq}`eq-1` and {prf:ref}`lem-1`, in $\\R^d$.\n```\n````\nEnd."
    )
    expected = (
        "**Lemma 1 of the paper: a norm.** Then $$ \\lVert M^{\\top} x \\rVert \\le 1 \\tag{1} $$"
        " <details><summary>Proof</summary> By (1) and Lemma 1 of the paper, in $\\mathbb{R}^d$. </details> End."
    )
    assert " ".join(text(source).split()) == expected


def test_code_keeps_what_looks_like_a_macro():
    assert text("`\\T` is $M\\T$\n```python\nx = '\\T'\n```") == "`\\T` is $M^{\\top}$\n```python\nx = '\\T'\n```"


def test_references_are_links_or_words():
    said = text("The paper {cite}`saponati2025` ([Two scores, in $[-1, 1]$](two_scores.py#range); [us](https://a.b)).")
    assert said.startswith("The paper [Saponati et al., 2025](https://")
    assert said.endswith("(Two scores, in $[-1, 1]$; [us](https://a.b)).")


def test_figures_and_tables_have_numbers_and_captions():
    figure = {"figure": {"name": "fig-a", "caption": "The norm $\\norm{M}$ at {glue:text}`limit`.", "alt": "A line."}}
    table = {"table": {"name": "tab-a", "caption": "Scores."}}
    shown, said, _ = converted(
        code(
            "a()",
            nbformat.v4.new_output("display_data", {"image/svg+xml": "<svg/>"}, metadata={"attngeo": figure}),
            nbformat.v4.new_output("display_data", {"text/markdown": "*Scores.*"}, metadata={"attngeo": table}),
            tags=["remove-input"],
        ),
        nbformat.v4.new_markdown_cell("See {numref}`fig-a`, {numref}`tab-a` and {numref}`fig-of-another-page`."),
    )
    captions = [output.data.get("text/markdown") for output in shown.outputs]
    assert captions == [None, "**Figure 1.** The norm $\\lVert M \\rVert$ at −0.15.", "**Table 1.** *Scores.*"]
    assert said.source == "See Figure 1, Table 1 and a figure of the book."
    assert shown.metadata.jupyter.source_hidden


def test_the_run_itself_is_not_changed():
    run = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("$\\R$")])
    plain_notebook(run, root())
    assert run.cells[0].source == "$\\R$"
