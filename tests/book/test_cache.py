"""What makes a kept run stale, and what does not."""

import json

import pytest
from tiny_book import chapter, tiny_book

from attngeo.book import cache
from attngeo.book.cache import Kept
from attngeo.book.notebooks import Chapter
from attngeo.errors import ParameterError

USES = chapter("Uses", "import attngeo", parameters="n: int = 1  # number; in [0, 9]")
READS = chapter("Reads", "x = 1", attngeo="{reads: [data/a.csv, ATTNGEO_WEIGHTS]}")


@pytest.fixture
def book(tmp_path, monkeypatch):
    package = tmp_path / "attngeo"
    (package / "book").mkdir(parents=True)
    (package / "scores.py").write_text("x = 1")
    (package / "book" / "page.py").write_text("x = 1")
    monkeypatch.setattr(cache, "PACKAGE", package)
    monkeypatch.delenv("ATTNGEO_WEIGHTS", raising=False)
    return tiny_book(tmp_path / "repository", uses=USES, reads=READS, alone=chapter("Alone", "x = 1"))


def key(book, name, values=(), reports=None):
    return cache.key(Chapter(book.chapter(name).path), dict(values), book, reports)


def test_the_key_follows_the_text(book):
    before = key(book, "alone")
    assert key(book, "alone") == before
    book.chapter("alone").path.write_text(chapter("Alone", "x = 2"))
    assert key(book, "alone") != before


def test_the_key_follows_the_values_and_the_reports(book):
    assert len({key(book, "uses"), key(book, "uses", {"n": 2}), key(book, "uses", {"n": 3})}) == 3
    assert key(book, "uses", reports=[{"supported": True}]) != key(book, "uses", reports=[{"supported": False}])


def test_the_key_follows_the_package_only_where_it_is_used(book):
    before = {name: key(book, name) for name in ("uses", "alone")}
    (cache.PACKAGE / "book" / "page.py").write_text("x = 2")
    assert key(book, "uses") == before["uses"]
    (cache.PACKAGE / "scores.py").write_text("x = 2")
    assert key(book, "uses") != before["uses"] and key(book, "alone") == before["alone"]


def test_the_key_follows_of_all_rooms_of_chapters_only_those_that_are_imported(book):
    book.chapter("uses").path.write_text(chapter("Uses", "from attngeo.chapters.first import a"))
    for room in ("first", "second"):
        (cache.PACKAGE / "chapters" / room).mkdir(parents=True)
        (cache.PACKAGE / "chapters" / room / "checks.yml").write_text("a: 1")
    before = key(book, "uses")
    (cache.PACKAGE / "chapters" / "second" / "checks.yml").write_text("a: 2")
    assert key(book, "uses") == before
    (cache.PACKAGE / "chapters" / "first" / "checks.yml").write_text("a: 2")
    assert key(book, "uses") != before


def test_the_key_follows_versions(book, monkeypatch):
    before = key(book, "alone")
    monkeypatch.setattr(cache, "versions", lambda: {"torch": "0"})
    assert key(book, "alone") != before


def test_the_key_follows_declared_data_only(book, tmp_path, monkeypatch):
    before = key(book, "reads")
    (book.root / "data" / "b.csv").write_text("1")
    assert key(book, "reads") == before
    (book.root / "data" / "a.csv").write_text("1")
    with_data = key(book, "reads")
    assert with_data != before
    (tmp_path / "weights").mkdir()
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(tmp_path / "weights"))
    assert key(book, "reads") == with_data
    (tmp_path / "weights" / "model.safetensors").write_text("1")
    assert key(book, "reads") != with_data


def test_undeclared_data_is_all_of_it(book):
    book.chapter("alone").path.write_text(chapter("Alone", "x = 1", attngeo="{}"))
    before = key(book, "alone")
    (book.root / "data" / "b.csv").write_text("1")
    assert key(book, "alone") != before


def test_a_kept_run_comes_back_while_its_key_is_the_same(book):
    alone = book.chapter("alone")
    cache.store(book, "cpu", alone, Kept(alone.notebook(), {"key": "k"}))
    assert cache.load(book, "cpu", alone, "k").record == {"key": "k"}
    assert cache.load(book, "cpu", alone).record == {"key": "k"}
    assert cache.load(book, "cpu", alone, "other") is None
    assert cache.load(book, "smoke", alone, "k") is None


@pytest.mark.parametrize("damage", ["", "{", json.dumps({})])
def test_a_damaged_record_is_as_good_as_none(book, damage):
    alone = book.chapter("alone")
    cache.store(book, "cpu", alone, Kept(alone.notebook(), {"key": "k"}))
    (book.cache / "cpu" / "alone.json").write_text(damage)
    assert cache.load(book, "cpu", alone, "k") is None


def test_a_profile_may_not_give_what_a_chapter_cannot_take(tmp_path, as_user):
    profiles = {"smoke": "uses: {n: 10}", "gpu": "uses: {m: 1}", "cpu": "- list", "other": "use: {n: 1}"}
    book = tiny_book(tmp_path, profiles, uses=USES)
    uses = book.chapter("uses")
    for profile, named in [
        ("smoke", r"smoke.*\bn\b.*\[0, 9\].*\b10\b"),
        ("gpu", r"gpu.*\buses\b.*'m'.*\bn\b"),
        ("cpu", r"cpu\.yml"),
        ("x", "'x'.*cpu, gpu, other, smoke"),
        ("other", "'use'.*alone|'use'.*uses"),
    ]:
        with pytest.raises(ParameterError, match=named):
            book.values(uses, profile)


def test_an_unknown_chapter_is_refused_with_the_known_ones(book, as_user):
    for name in ("nope", "../secret", ""):
        with pytest.raises(ParameterError, match=f"{name!r}.*alone, reads, uses"):
            book.chapter(name)
