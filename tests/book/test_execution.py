"""One chapter through a real kernel."""

import re
import signal
import subprocess
from contextlib import nullcontext

import nbformat
import papermill
import pytest
from tiny_book import chapter, tiny_book

from attngeo.book.execution import RECORD, ChapterFailed, Kernels, execute
from attngeo.book.warm import Forked

SHOWS = chapter(
    "Shows",
    "import os, sys, warnings\nfrom attngeo.display.page import glue, show, table\nimport pandas as pd",
    "from matplotlib import pyplot as plt\nplt.plot([0, n])\nplt.show()",
    'print("noise", file=sys.stderr)\nwarnings.warn("more noise")\nobject()',
    'glue("n", n)\ntable(pd.DataFrame({"n": [n]}), "tab-n", f"A table for {n}.")',
    "from attngeo.display.style import CaptionedFigure, new_figure\nfigure, axes = new_figure(2, 2)",
    'axes.plot([0, n])\nCaptionedFigure(figure, "fig-n", f"A line to {n}.", "A line.")',
    'print(set("abcdefgh"), os.environ["OMP_NUM_THREADS"], os.environ["ATTNGEO_PROFILE"])',
    "print(sys.path, os.getcwd(), __name__)",
    parameters="n: int = 1  # number",
)


def run(tmp_path, text, **values):
    book = tiny_book(tmp_path, a=text)
    return execute(book.chapter("a"), values, Kernels("smoke", book.root))


def texts(notebook):
    return [str(o.get("text") or o.get("data")) for c in notebook.cells for o in c.get("outputs", [])]


def test_equal_runs_give_equal_notebooks_and_so_do_kernels_that_are_forked(tmp_path, as_user):
    book = tiny_book(tmp_path, a=SHOWS, dies=chapter("Dies", "import os\nos._exit(1)"))
    kernels = Kernels("smoke", book.root, many=True)
    with pytest.raises(ChapterFailed, match=r"\bdies\b[^\n]*\.$"):
        execute(book.chapter("dies"), {}, kernels)
    forked, _ = execute(book.chapter("a"), {"n": 3}, kernels)
    kernels.close()
    (first, stderr), (second, _) = (run(tmp_path, SHOWS, n=3) for _ in range(2))
    assert forked.cells == first.cells
    nbformat.validate(first)
    record, _ = first.metadata.pop(RECORD), second.metadata.pop(RECORD)
    assert nbformat.writes(first) == nbformat.writes(second)
    shown = "".join(texts(first))
    assert "A line to 3." in str(first) and "1 smoke" in shown
    assert "noise" not in shown and "noise" in stderr and "more noise" in stderr
    hidden = [c for c in first.cells if "injected-parameters" in c.metadata.get("tags", [])]
    assert [c.metadata.tags for c in hidden] == [["injected-parameters", "remove-cell"]] and "n = 3" in hidden[0].source
    assert record["device"] and record["values"] == {"n": 3} and record["seconds"] > 0
    assert not any("provenance" in c.source for c in first.cells)


def test_a_forked_kernel_takes_the_signals_of_a_process():
    """Without them a kernel outlives a build that is stopped."""
    with subprocess.Popen(["sleep", "60"]) as child:
        kernel = Forked(child.pid)
        assert kernel.poll() is None
        kernel.kill()
        assert child.wait(10) == -signal.SIGKILL and kernel.poll() == 0
        kernel.kill()  # of one that has ended: nothing


def test_a_failing_cell_is_named_and_what_came_before_it_kept(tmp_path, as_user):
    text = chapter("Fails", "x = 6 * 7\nx", "# then\nraise ValueError('no such thing.')", "print('never')")
    text = text.replace("# %% [markdown]\n# then\n", "# %%\n# then\n")
    with pytest.raises(ChapterFailed) as failure:
        run(tmp_path, text)
    named = r"\ba\b.*\[2\].*raise ValueError\('no such thing\.'\).*: ValueError: no such thing\.$"
    assert re.search(named, str(failure.value))
    assert "raise ValueError" in failure.value.traceback and "\x1b" not in failure.value.traceback
    shown = "".join(texts(failure.value.partial))
    assert "42" in shown and "never" not in shown


@pytest.mark.parametrize(
    "times, sentence, expected",
    [
        (2, "Kernel died before replying to kernel_info", 3),
        (9, "Kernel died before replying to kernel_info", 3),
        (1, "Kernel died", 1),
    ],
)
def test_a_kernel_that_ends_before_it_begins_is_started_again(tmp_path, monkeypatch, times, sentence, expected):
    real, calls = papermill.execute_notebook, []

    def dying(*arguments, **options):
        calls.append(1)
        if len(calls) <= times:
            raise RuntimeError(sentence)
        return real(*arguments, **options)

    monkeypatch.setattr("papermill.execute_notebook", dying)
    with nullcontext() if times < expected else pytest.raises(ChapterFailed, match=r"\ba\b.*Kernel died"):
        run(tmp_path, chapter("Alone", "x = 1"))
    assert len(calls) == expected
