"""What makes a kept run stale, and what does not."""

import pytest
from tiny_book import chapter, tiny_book

from attngeo.book import cache
from attngeo.book.execution import RECORD
from attngeo.book.notebooks import Chapter
from attngeo.errors import ParameterError

USES = "import attngeo\nfrom attngeo.chapters.first import a"
READS = chapter("Reads", "x = 1", attngeo="{reads: [data/a.csv, ATTNGEO_WEIGHTS]}")


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "PACKAGE", tmp_path / "attngeo")
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(tmp_path / "weights"))
    chapters = {"uses": chapter("Uses", USES), "alone": chapter("Alone", "x = 1"), "all": chapter("All", attngeo="{}")}
    return tiny_book(tmp_path / "repository", reads=READS, **chapters)


def test_a_key_follows_what_its_chapter_depends_on_and_nothing_else(book, tmp_path):
    def keys():
        chapters = (Chapter(chapter.path) for chapter in book.chapters())  # read anew
        return {chapter.name: cache.key(chapter, {}, book) for chapter in chapters}

    before = keys()
    for path, stale in {
        "repository/notebooks/alone.py": {"alone"},
        "attngeo/book/page.py": set(),
        "attngeo/scores.py": {"uses"},
        "attngeo/chapters/first/checks.yml": {"uses"},
        "attngeo/chapters/second/checks.yml": set(),
        "repository/data/b.csv": {"all"},  # which declares nothing
        "repository/data/a.csv": {"reads", "all"},
        "weights/model.safetensors": {"reads"},
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(chapter("Other") if path.endswith("alone.py") else "1")
        after = keys()
        assert {name for name in after if after[name] != before[name]} == stale, path
        before = after


def test_a_key_follows_values_reports_and_versions(book, monkeypatch):
    alone = book.chapter("alone")
    given = [({}, None), ({"n": 2}, None), ({"n": 3}, None), ({}, [{"supported": True}]), ({}, [{"supported": False}])]
    keys = {cache.key(alone, values, book, reports) for values, reports in given}
    monkeypatch.setattr(cache, "versions", lambda: {"torch": "0"})
    assert len(keys | {cache.key(alone, {}, book)}) == 6


def test_a_kept_run_comes_back_while_its_key_is_the_same_and_its_record_whole(book):
    alone = book.chapter("alone")
    run = alone.notebook()
    run.metadata[RECORD] = {"seconds": 1}
    cache.store(book, "cpu", alone, run, "k")
    assert cache.load(book, "cpu", alone, "k") == cache.load(book, "cpu", alone) == run
    assert cache.load(book, "cpu", alone, "other") is None and cache.load(book, "smoke", alone, "k") is None
    for damage in ("", "{", "{}", "[]", '{"nbformat": 4, "metadata": [], "cells": []}'):
        (book.cache / "cpu" / "alone.ipynb").write_text(damage)
        assert cache.load(book, "cpu", alone, "k") is None


def test_a_chapter_without_a_header_reads_all_data(tmp_path):
    for text in ("# %%\nx = 1\n", "# ---\n# a: 1\n# ---\n", "# %% [markdown]\n# # A\n# ---\n# b\n# ---\n"):
        (tmp_path / "a.py").write_text(text)
        alone = Chapter(tmp_path / "a.py")
        assert alone.reads == ["data"] and not alone.comes_last


def test_a_profile_may_not_give_what_a_chapter_cannot_take(tmp_path, as_user):
    profiles = {"smoke": "uses: {n: 10}", "gpu": "uses: {m: 1}", "cpu": "- list", "other": "use: {n: 1}"}
    book = tiny_book(tmp_path, profiles, uses=chapter("Uses", parameters="n: int = 1  # number; in [0, 9]"))
    for profile, named in {
        "smoke": r"smoke.*\bn\b.*\[0, 9\].*\b10\b",
        "gpu": r"gpu.*\buses\b.*'m'.*\bn\b",
        "cpu": r"cpu\.yml",
        "other": "'use'.*uses",
    }.items():
        with pytest.raises(ParameterError, match=named):
            book.values(book.chapter("uses"), profile)
