import click
import nbformat
import pytest
from tiny_book import chapter, tiny_book

from attngeo.book import build
from attngeo.cli import main

GREETS = chapter(
    "Greetings",
    "print([word] * n)",
    "if n == 9:\n    raise ValueError('nine')",
    parameters="""n: int = 2  # how often; in [1, 9]
word: str = "hello"  # what; one of hello | bye
items: list[int] = []  # numbers""",
)


@pytest.fixture
def here(tmp_path, monkeypatch, as_user):
    book = tiny_book(tmp_path / "book", {"smoke": "greets: {n: 3}"}, other=chapter("Other", "x = 1"), greets=GREETS)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("ATTNGEO_BOOK", str(book.root))
    monkeypatch.delenv("ATTNGEO_PROFILE", raising=False)
    return tmp_path / "here"


def attngeo(*words):
    with pytest.raises(SystemExit) as end:
        main(["run", *words])
    return end.value.code


def printed(path):
    return "".join(o.get("text", "") for c in nbformat.read(path, as_version=4).cells for o in c.get("outputs", []))


def test_parameters_on_the_command_line_come_before_those_of_the_profile(here, capsys):
    assert attngeo("greets", "--profile", "smoke", "-p", "word", "bye") == 0
    assert printed(here / "greets.ipynb") == "['bye', 'bye', 'bye']\n"
    assert "greets.ipynb written after" in capsys.readouterr().err
    assert [p.name for p in here.iterdir()] == ["greets.ipynb"]


def test_a_failing_cell_leaves_a_partial_notebook_and_the_last_good_one(here, capsys):
    good = here / "out.ipynb"
    good.write_text("good")
    assert attngeo("greets", "-p", "n", "9", "-o", "out.ipynb") == 2
    sentence = capsys.readouterr().err.strip()
    assert sentence.startswith(
        "attngeo: Chapter greets failed in cell [4], which begins 'if n == 9:': ValueError: nine."
    )
    assert sentence.endswith("The notebook up to there is out.failed.ipynb.") and "\n" not in sentence
    assert good.read_text() == "good" and "hello" in printed(here / "out.failed.ipynb")


def test_a_command_ended_before_its_output_is_whole_leaves_the_former_one(here, monkeypatch):
    def killed(*given):
        raise SystemExit(9)

    (here / "other.ipynb").write_text("good")
    monkeypatch.setattr(build, "run_alone", killed)
    assert attngeo("other", "-o", "other.ipynb") == 9
    assert [(file.name, file.read_text()) for file in here.iterdir()] == [("other.ipynb", "good")]


def test_a_notebook_is_replaced_only_where_it_is_named(here, capsys):
    (here / "other.ipynb").write_text("edited")
    assert attngeo("other") == 2
    sentence = "other.ipynb is there already and may hold changes; name it, or another file, with -o."
    assert capsys.readouterr().err == f"attngeo: {sentence}\n" and (here / "other.ipynb").read_text() == "edited"
    assert attngeo("other", "-o", "other.ipynb") == 0 and "x = 1" in (here / "other.ipynb").read_text()


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["nope"], "There is no chapter 'nope'; the chapters are greets, other."),
        (["greets", "-p", "m", "1"], "Chapter greets has no parameter 'm'; it has n, word, items."),
        (["other", "-p", "m", "1"], "Chapter other has no parameter 'm'; it has none."),
        (["greets", "-p", "n", "two"], "Parameter n must be a whole number in [1, 9], not 'two'."),
        (["greets", "-p", "n", "10"], "Parameter n must be a whole number in [1, 9], not '10'."),
        (["greets", "-p", "word", "hi"], "Parameter word must be one of hello, bye, not 'hi'."),
        (["greets", "-p", "items", "[1, x]"], "Parameter items must be a list, each a whole number, not ['1', 'x']."),
        (["greets", "--profile", "huge"], "There is no profile 'huge'; the profiles are cpu, gpu, smoke."),
        (["greets", "-o", "page.pdf"], "page.pdf must end in .html, for a page, or in .ipynb, for a notebook."),
        (["greets", "-o", "."], ". is a folder; -o needs a file name."),
        (["-p", "n", "1"], "-p, -o and --open need a chapter: attngeo run CHAPTER."),
        (["--open"], "-p, -o and --open need a chapter: attngeo run CHAPTER."),
    ],
)
def test_bad_input_is_one_sentence_and_writes_nothing(here, capsys, words, sentence):
    assert attngeo(*words) == 2
    assert capsys.readouterr().err == f"attngeo: {sentence}\n"
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("failed", [0, 1])
def test_the_result_is_opened_where_something_opens_it(here, capsys, monkeypatch, failed):
    opened = []
    monkeypatch.setattr(click, "launch", lambda path: opened.append(path) or failed)
    assert attngeo("other", "--open", "-o", "page.ipynb") == 0
    assert opened == ["page.ipynb"] and ("No program" in capsys.readouterr().err) == bool(failed)


def test_a_folder_that_cannot_be_written_is_named(here, capsys):
    (here / "file").touch()
    assert attngeo("other", "-o", "file/page.html") == 2
    assert "file" in capsys.readouterr().err and [p.name for p in here.iterdir()] == ["file"]


def test_a_profile_that_is_no_yaml_is_named(here, capsys):
    (here.parent / "book/notebooks/profiles/smoke.yml").write_text("- a: 1\n b: 2\n")
    assert attngeo("greets", "--profile", "smoke") == 2
    err = capsys.readouterr().err
    assert "smoke.yml" in err and err.count("\n") == 1


def test_without_a_book_the_way_out_is_named(here, capsys, monkeypatch):
    monkeypatch.setenv("ATTNGEO_BOOK", str(here))
    assert attngeo("greets") == 2
    assert "ATTNGEO_BOOK" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--list"]])
def test_the_listing_names_chapters_parameters_types_and_ranges(here, capsys, words):
    assert attngeo(*words) == 0
    listed = capsys.readouterr().out
    assert "other: Other" in listed and "greets: Greetings" in listed
    assert "  n (int, default 2): how often; in [1, 9]" in listed
    assert "  word (str, default hello): what; one of hello, bye" in listed
    assert "  items (list of int, default []): numbers" in listed
