"""Which chapters of a tiny book are executed, and what is kept when one fails. Kernels are real."""

import gc
import os
import re
import shutil
import subprocess
import sys
from unittest import mock

import execute as module
import nbformat
import pytest
from tiny_book import chapter, tiny_book

from attngeo.errors import AttngeoError

pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # event loops left open
SHOWS_A_CHECK = (
    "from livingpaper.claims.results import Result, Verdict, exact\nfrom livingpaper.display.page import show\n"
    "show(Result('2.1', '(1)', 'a title', Verdict.HOLDS, (exact('trace', n, 1),)))"
)
SHOWS_ALL_CHECKS = (
    "from livingpaper.display.verdicts import reported_checks\n"
    "print([(check['chapter'], check['supported']) for check in reported_checks()])"
)


def write_book(folder):
    return tiny_book(
        folder,
        {"smoke": "second: {n: 2}"},
        summary=chapter("Summary", SHOWS_ALL_CHECKS, attngeo="{after: all}"),
        second=chapter("Second", SHOWS_A_CHECK, parameters="n: int = 1  # number"),
        first=chapter("First", "import os\nprint(os.getcwd(), os.environ['PYTHONHASHSEED'])"),
    )


def execute(book, profile="smoke"):
    """Names of the chapters that are executed, in the order in which they end, and what is said if one fails."""
    told, said = [], ""
    with mock.patch.object(module, "ROOT", book), mock.patch.dict(os.environ):
        try:
            module.update(profile, told.append)
        except AttngeoError as error:
            said = module.with_traceback(error)
    gc.collect()  # of the event loops that jupyter made in threads and leaves open
    return [line.partition(": executed in ")[0] for line in told], said


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A book that has been executed under the profile smoke, and the names of its chapters in the order of their end.

    Tests that change the book work on a copy, `executed_book`.
    """
    book = write_book(tmp_path_factory.mktemp("executed"))
    names, said = execute(book)
    assert said == ""
    return book, names


@pytest.fixture
def executed_book(first_run, tmp_path):
    return shutil.copytree(first_run[0], tmp_path / "book", symlinks=True)


@pytest.fixture
def book(tmp_path):
    """A book of which nothing has been executed."""
    return write_book(tmp_path)


def kept(book, name, profile="smoke"):
    return book / "book" / "_build" / "runs" / profile / f"{name}.ipynb"


def printed(path):
    outputs = [output for cell in nbformat.read(path, 4).cells for output in cell.get("outputs", [])]
    return "".join(output.get("text", "") for output in outputs)


def edit(book, name, old, new):
    path = book / "notebooks" / f"{name}.py"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def test_chapters_that_show_all_checks_are_executed_last_and_the_profile_sets_parameters(first_run):
    book, names = first_run
    assert sorted(names[:2]) == ["first", "second"] and names[2:] == ["summary"]
    assert printed(kept(book, "summary")) == "[('second', False)]\n"  # with n = 2 of the profile
    assert printed(kept(book, "first")) == f"{book / 'notebooks'} 0\n"
    assert nbformat.read(kept(book, "second"), 4).metadata.papermill.parameters == {"n": 2}


def test_stale_chapters_are_executed_and_those_that_show_all_checks_after_them(executed_book):
    book = executed_book
    assert execute(book) == ([], "")
    edit(book, "first", "print(", "print('more', ")
    assert execute(book) == (["first", "summary"], "")
    (book / "notebooks" / "profiles" / "smoke.yml").write_text("second: {n: 1}")
    assert execute(book) == (["second", "summary"], "")
    assert printed(kept(book, "summary")) == "[('second', True)]\n"


def test_runs_follow_from_the_package_and_the_data_and_from_nothing_compiled_or_hidden(book, monkeypatch):
    monkeypatch.setattr(module, "ROOT", book)
    found = {"at first": module.hash_of_sources()}
    for source in ("data/numbers.csv", "attngeo/bilinear/form.py", "attngeo/bilinear/form.yml", "CITATION.cff"):
        (book / source).parent.mkdir(parents=True, exist_ok=True)
        (book / source).write_text("1")
        found[source] = module.hash_of_sources()
    (book / "data" / "numbers.csv").write_text("2")
    found["changed"] = module.hash_of_sources()
    assert len(set(found.values())) == len(found)
    for source in ("attngeo/bilinear/form.pyc", "data/.lock", "notebooks/other.py"):
        (book / source).write_text("1")
        assert module.hash_of_sources() == found["changed"]


def test_profiles_have_runs_of_their_own_and_variants_are_kept_apart_and_counted_nowhere(executed_book):
    book = executed_book
    edit(book, "second", "attngeo: {}", "attngeo: {variants: {n: [1, 2, 3]}}")
    names, said = execute(book, "cpu")
    assert said == "" and len(names) == 5 and names[-1] == "summary"
    assert printed(kept(book, "summary", "cpu")) == "[('second', True)]\n"
    folder = kept(book, "second", "cpu").parent / "variants"
    assert sorted(path.name for path in folder.iterdir()) == ["second-n-2.ipynb", "second-n-3.ipynb"]
    assert nbformat.read(folder / "second-n-3.ipynb", 4).metadata.papermill.parameters == {"n": 3}
    assert execute(book, "cpu") == ([], "")
    edit(book, "second", "[1, 2, 3]", "[1, two]")
    assert "Parameter n of chapter second has the type int, and 'two' is not of this type." in execute(book, "cpu")[1]
    edit(book, "second", "attngeo: {variants: {n: [1, two]}}", "attngeo: {}")
    assert execute(book) == ([], "")  # the runs of the profile smoke are still there


def test_a_chapter_that_fails_is_named_and_its_run_is_not_kept(book):
    raises, dies = "raise ValueError('no such\\nthing.')", "os._exit(1)"
    edit(book, "first", "print(", f"x = 6 * 7\nprint(x)\n{raises}\nprint(")
    names, said = execute(book)
    assert names == ["second"] and "Chapter first failed: ValueError: no such thing. " in said and "Traceback" in said
    assert not kept(book, "first").exists() and kept(book, "second").exists()
    assert printed(kept(book, "first").with_suffix(".partial.ipynb")) == "42\n"
    edit(book, "first", raises, dies)
    names, said = execute(book)
    assert names == [] and not kept(book, "first").exists()
    assert "Chapter first failed: Kernel died. To see in which cell, run attngeo run first." in said
    edit(book, "first", dies, "")
    assert execute(book) == (["first", "summary"], "")
    assert sorted(path.name for path in kept(book, "first").parent.iterdir()) == [
        "first.ipynb",
        "second.ipynb",
        "summary.ipynb",
    ]


def test_a_chapter_that_fails_later_is_not_taken_for_the_run_that_is_kept(executed_book):
    edit(executed_book, "first", "print(", "raise ValueError\nprint(")
    for _ in range(2):
        names, said = execute(executed_book)
        assert names == [] and "Chapter first failed" in said  # jupyter may report its socket before


@pytest.mark.parametrize(
    ("profile", "said"),
    [
        ("second: {n: two}", "Parameter n of chapter second has the type int, and 'two' is not of this type."),
        ("second: {m: 2}", "Chapter second has no parameter 'm'; its parameters are: n."),
        ("third: {n: 2}", "There is no chapter 'third'; the chapters are summary, second, first."),
        ("- n", "smoke.yml must have the form"),
    ],
)
def test_a_profile_that_cannot_be_used_is_one_sentence(book, monkeypatch, profile, said):
    (book / "notebooks" / "profiles" / "smoke.yml").write_text(profile)
    monkeypatch.setattr(module, "ROOT", book)
    told = []
    with pytest.raises(AttngeoError, match=re.escape(said)) as raised:
        module.update("smoke", told.append)
    assert told == [] and "\n" not in str(raised.value)


def test_the_program_ends_in_the_sentence_of_the_error(book):
    done = subprocess.run([sys.executable, "book/execute.py", "huge"], cwd=book, capture_output=True, text=True)
    said = "There is no profile 'huge'; the profiles are cpu, gpu, smoke.\n"
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)


def test_checks_cannot_be_shown_before_their_chapters_are_executed(book, monkeypatch, as_user):
    from livingpaper.display.verdicts import reported_checks

    monkeypatch.setenv("ATTNGEO_BOOK", str(book))
    with pytest.raises(AttngeoError, match=r"^Chapter second has not been executed yet: run python book/execute\.py"):
        reported_checks()
