import os
import sys
from unittest import mock

import click
import execute
import nbformat
import pytest
import rerun
from tiny_book import chapter, tiny_book

GREETS = chapter(
    "Greetings",
    "print([word] * n)",
    "if n == 9:\n    raise ValueError('nine')",
    "from livingpaper.display.page import glue\n\nglue('times', n)",
    "# Said {glue:text}`times` times in $\\R$.",
    parameters="""n: int = 2  # how often; in [1, 9]
word: str = "hello"  # what
items: list[int] = []  # numbers""",
)


@pytest.fixture
def here(tmp_path, monkeypatch, as_user):
    """An empty folder beside a small book."""
    book = tiny_book(tmp_path / "book", {"smoke": "greets: {n: 3}"}, other=chapter("Other", "x = 1"), greets=GREETS)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for module in (execute, rerun):
        monkeypatch.setattr(module, "ROOT", book)
    monkeypatch.setattr(sys, "path", list(sys.path))
    with mock.patch.dict(os.environ, {"ATTNGEO_BOOK": str(book)}):
        yield tmp_path / "here"


def printed(path):
    return "".join(o.get("text", "") for c in nbformat.read(path, as_version=4).cells for o in c.get("outputs", []))


def test_parameters_on_the_command_line_come_before_those_of_the_profile(here, attngeo):
    code, _, err = attngeo("run", "greets", "--profile", "smoke", "-p", "word", "bye")
    assert code == 0 and "greets.ipynb written after" in err
    assert printed(here / "greets.ipynb") == "['bye', 'bye', 'bye']\n" and len(list(here.iterdir())) == 1
    assert nbformat.read(here / "greets.ipynb", 4).cells[-1].source == r"Said 3 times in $\mathbb{R}$."


def test_a_failing_cell_leaves_a_partial_notebook_and_the_last_good_one(here, refused):
    (here / "out.ipynb").write_text("good")
    said = refused("run", "greets", "-p", "n", "9", "-o", "out.ipynb")
    assert said.endswith(
        "Chapter greets failed: ValueError: nine. The cells up to the failing one are in out.partial.ipynb.\n"
    )
    assert (here / "out.ipynb").read_text() == "good" and "hello" in printed(here / "out.partial.ipynb")


def test_a_notebook_is_replaced_only_where_it_is_named(here, attngeo, refused):
    (here / "other.ipynb").write_text("edited")
    assert "other.ipynb already exists" in refused("run", "other")
    assert (here / "other.ipynb").read_text() == "edited"
    assert attngeo("run", "other", "-o", "other.ipynb")[0] == 0 and "x = 1" in (here / "other.ipynb").read_text()


def test_bad_input_is_one_sentence_and_writes_nothing(here, refused, monkeypatch):
    for words, named in {
        "../notebooks/other": "There is no chapter '../notebooks/other'; the chapters are other, greets.",
        "greets -p m 1": "Chapter greets has no parameter 'm'; its parameters are: n, word, items.",
        "greets -p n two": "Parameter n of chapter greets has the type int, and 'two' is not of this type.",
        "greets -p items 1,x": "Parameter items of chapter greets has the type list[int], and ['1', 'x'] is not",
        "greets -p n 1 -p n 2": "Parameter n is given more than once",
        "greets --profile huge": "There is no profile 'huge'; the profiles are cpu, gpu, smoke.",
        "--profile smoke": "-p, -o, --profile and --open need a chapter",
        "greets -o page.pdf": "page.pdf must end in .html for a page or in .ipynb for a notebook.",
        "greets -o .": "is a directory",
        "other -o /dev/null/page.html": "/dev/null",
    }.items():
        assert named in refused("run", *words.split())
        assert list(here.iterdir()) == []
    (here.parent / "book/notebooks/profiles/smoke.yml").write_text("- a: 1\n b: 2\n")
    assert "smoke.yml" in refused("run", "greets", "--profile", "smoke")
    monkeypatch.setenv("ATTNGEO_BOOK", str(here))
    assert "ATTNGEO_BOOK" in refused("run", "greets")


@pytest.mark.parametrize("failed", [0, 1])
def test_the_result_is_opened_where_something_opens_it(here, attngeo, monkeypatch, failed):
    done = []
    monkeypatch.setattr(rerun, "execute_and_write", lambda *given, **options: done.append("written"))
    monkeypatch.setattr(click, "launch", lambda path: done.append(path) or failed)
    code, _, err = attngeo("run", "other", "--open", "-o", "page.ipynb")
    assert code == 0 and done == ["written", "page.ipynb"] and ("No program" in err) == bool(failed)


def test_the_listing_names_chapters_parameters_types_and_meanings(here, attngeo):
    code, listed, _ = attngeo("run")
    assert code == 0 and attngeo("run", "--list")[1] == listed
    assert "other: Other" in listed and "greets: Greetings" in listed
    assert "  n (int, default 2): how often; in [1, 9]" in listed
    assert '  word (str, default "hello"): what' in listed
    assert "  items (list[int], default []): numbers\n" in listed
