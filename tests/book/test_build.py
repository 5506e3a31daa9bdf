"""What is run when, and what the last chapters see; the kernel is replaced by a record of its calls."""

import json
from dataclasses import dataclass, field

import nbformat
import pytest
from tiny_book import chapter, tiny_book

import attngeo.book
from attngeo.book import build
from attngeo.book.execution import RECORD, ChapterFailed
from attngeo.claims.results import Result, Verdict, exact
from attngeo.errors import AttngeoError


@dataclass
class Calls:
    names: list = field(default_factory=list)
    fail: set = field(default_factory=set)
    verdict: Verdict = Verdict.HOLDS

    def execute(self, chapter, values, kernels, progress=None):
        self.names.append(chapter.name)
        if chapter.name in self.fail:
            raise ChapterFailed(f"Chapter {chapter.name} failed.", "the traceback", None)
        result = Result("2.1", chapter.name, "title", self.verdict, (exact("q", float("nan"), 1.0),))
        output = nbformat.v4.new_output(
            "display_data",
            data={"text/markdown": "shown"},
            metadata={"attngeo": {"results": [json.loads(json.dumps(result.to_dict()), parse_constant=str)]}},
        )
        cell, record = nbformat.v4.new_code_cell("show()", outputs=[output]), {"values": values, "seconds": 0.1}
        return nbformat.v4.new_notebook(cells=[cell], metadata={RECORD: record}), ""

    def new(self):
        """The names since the last call."""
        names, self.names = self.names, []
        return names


@pytest.fixture
def calls(monkeypatch):
    calls = Calls()
    monkeypatch.setattr(build, "execute", calls.execute)
    return calls


@pytest.fixture
def book(tmp_path, monkeypatch):
    book = tiny_book(
        tmp_path,
        status=chapter("Status", "x = 0", attngeo="{after: all, reads: []}"),
        b=chapter("B", "x = 1", parameters="n: int = 1"),
        a=chapter("A", "x = 2"),
    )
    monkeypatch.setenv("ATTNGEO_BOOK", str(book.root))
    monkeypatch.setenv("ATTNGEO_PROFILE", "smoke")
    monkeypatch.delenv(build.BUILDING, raising=False)
    return book


def update(book, profile="smoke"):
    names = ["status", "a", "b"]
    assert list(build.update(book, profile, [*map(book.chapter, names)], print)) == names


def test_an_edit_runs_that_chapter_and_the_status_only_if_it_reports_otherwise(book, calls):
    update(book)
    calls.new()
    book.chapter("b").path.write_text(chapter("B", "x = 3"))
    update(book)
    assert calls.new() == ["b"]
    calls.verdict = Verdict.CHANGES
    book.chapter("b").path.write_text(chapter("B", "x = 4"))
    update(book)
    assert calls.new() == ["b", "status"]


def test_each_profile_has_its_own_runs(book, calls):
    update(book)
    calls.new()
    (book.root / "notebooks" / "profiles" / "gpu.yml").write_text("b: {n: 5}")
    update(book, "gpu")
    assert sorted(calls.new()) == ["a", "b", "status"]
    assert nbformat.read(book.cache / "gpu" / "b.ipynb", 4).metadata[RECORD]["values"] == {"n": 5}
    update(book)
    assert calls.new() == []


def test_a_failure_leaves_the_others_done_and_the_status_undone(book, calls, as_user):
    calls.fail = {"a"}
    with pytest.raises(ChapterFailed, match=r"\ba\b") as failure:
        update(book)
    assert failure.value.traceback == "the traceback"
    assert sorted(calls.new()) == ["a", "b"]
    calls.fail = set()
    update(book)
    assert calls.new() == ["a", "status"]


def test_reported_checks_come_in_the_order_of_the_book_with_their_chapter(book, calls):
    found = attngeo.book.reported_checks()
    assert sorted(calls.new()) == ["a", "b"]
    assert [(r["chapter"], r["part"], r["supported"]) for r in found] == [("b", "b", False), ("a", "a", False)]
    assert found[0]["comparisons"][0]["measured"] == "NaN"
    attngeo.book.reported_checks()
    assert calls.new() == []


def test_a_chapter_in_the_middle_cannot_show_the_checks(book, calls, monkeypatch, as_user):
    monkeypatch.setenv(build.BUILDING, "1")
    with pytest.raises(AttngeoError, match=r"\bb\b.*\{after: all\}"):
        attngeo.book.reported_checks()
    assert calls.new() == []
