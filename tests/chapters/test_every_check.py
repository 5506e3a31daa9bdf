"""Every registered check and the words of every room: what the framework itself cannot see."""

import inspect
import re
import runpy
from functools import cache
from importlib import resources
from pathlib import Path

import pytest
import yaml
from planting import drawn

from attngeo.book.notebooks import Book
from attngeo.chapters import all_checks
from attngeo.paper import Verdict, published
from attngeo.paper.checks import Check, Standing
from attngeo.paper.wording import FILE, wording
from attngeo.records.checkout import root

STATEMENTS = published.statements()
CHECKS = all_checks()
ROOMS = sorted({check.room for check in CHECKS.values()})
by_room = pytest.mark.parametrize("room", [pytest.param(r, id=f"{r.rpartition('.')[2]}.room") for r in ROOMS])


def by_chapter(checks):
    """One case a check, named ``chapter.check``."""
    return pytest.mark.parametrize(
        "check", [pytest.param(c, id=f"{c.__module__.split('.')[2]}.{name}") for name, c in checks.items()]
    )


@by_chapter(CHECKS)
def test_the_check_supports_its_verdict(check):
    result = check.of(drawn(check))
    assert result.supported, [c for c in result.comparisons if not c.holds] or "no comparisons"
    assert result.statement in STATEMENTS.index
    told = (result.title, result.printed, result.place, result.corrected, result.remark)
    assert not re.search("<<|>>", "".join([*told, *(c.quantity for c in result.comparisons)]))


@by_chapter(CHECKS)
def test_where_a_conclusion_changes_a_number_of_the_papers_is_missed(check):
    result = check.of(drawn(check))
    missed = [c for c in result.comparisons if c.claim and c.standing is Standing.CONTRADICTS]
    assert missed or result.verdict is not Verdict.CHANGES


@by_chapter(CHECKS)
def test_the_judgement_and_its_words_name_the_same_numbers(check):
    words, found = wording(check.room)[check.__name__], check.judge(drawn(check))
    assert (words.verdict is None) == (found.verdict is not None), "a verdict is either worded or follows"
    assert {c.quantity for c in found.comparisons} <= set(words.quantities)
    assert found.numbers.keys() <= named(words, *texts(words), *map(str, found.numbers.values()))


@by_chapter(CHECKS)
def test_judging_draws_nothing_and_leaves_the_sample_as_it_was(check):
    assert check.of(drawn(check)) == check.of(drawn(check))


def texts(words):
    """Every text of a check's words."""
    own = [words.part, words.title, words.printed, words.place, words.holds, words.remark, words.measured]
    own += [text for q in words.quantities.values() for text in (q.says, q.paper) if text]
    return own + [text for verdict in words.verdicts.values() for text in verdict.values()]


def named(words, *said):
    """The names of numbers and shared sentences in texts, and in the shared sentences that these name."""
    found = set(re.findall(r"<<(\w+)", " ".join(said)))
    shared = [words.shared[name] for name in found & words.shared.keys()]
    return found | named(words, *shared) if shared else found


REFUSES = re.compile(r"not supported_with|not .*\.supported|\.supported (==|!=|is|for) |\.verdict")


def checks_in(value):
    """The checks that a value of a test module is, or holds: tables of planted errors, lists of checks."""
    if isinstance(value, Check):
        return {value}
    if isinstance(value, dict):
        value = tuple(value.values())
    return set().union(*map(checks_in, value)) if isinstance(value, list | tuple) else set()


def told_otherwise(path):
    """Checks that a test of the file names, or is parametrized by, where it sees one refused or told by its verdict."""
    module, found = runpy.run_path(str(path)), set()
    for test in (value for name, value in module.items() if name.startswith("test_")):
        source = inspect.getsource(test)
        if REFUSES.search(source):
            found |= checks_in([mark.args for mark in getattr(test, "pytestmark", ())])
            for first, second in re.findall(r"\b(\w+)(?:\.(\w+))?", source):
                value = module.get(first)
                found |= checks_in(value) | checks_in(getattr(value, second, None))
    return found


@by_room
def test_every_check_is_refused_or_judged_otherwise_by_some_test(room):
    """An error is planted in each: in its formula (`planting.supported_with`), or in the sample that it judges."""
    folder = Path(__file__).parent / room.rpartition(".")[2]
    told = set().union(*(told_otherwise(path) for path in folder.glob("test_*.py")))
    assert {check for check in CHECKS.values() if check.room == room} <= told


def test_every_check_has_defaults_and_a_docstring():
    for name, check in CHECKS.items():
        parameters = inspect.signature(check).parameters.values()
        assert all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in parameters), name
        assert inspect.getdoc(check), name


@by_room
def test_a_room_has_a_notebook_of_its_name(room):
    assert (root() / "notebooks" / f"{room.rpartition('.')[2]}.py").is_file()


@by_room
def test_words_and_checks_of_a_room_are_the_same(room):
    assert set(wording(room)) == {name for name, check in CHECKS.items() if check.room == room}


@by_room
def test_every_shared_sentence_of_a_room_is_used_more_than_once(room):
    every = [text for words in wording(room).values() for text in texts(words)]
    every += [str(n) for c in CHECKS.values() if c.room == room for n in c.judge(drawn(c)).numbers.values()]
    shared = yaml.safe_load(resources.files(room).joinpath(FILE).read_text("utf-8")).get("shared", {})
    for name in shared:
        assert len(re.findall(rf"<<{name}>>", " ".join([*every, *shared.values()]))) > 1, name


@by_room
def test_every_quantity_is_compared_by_some_check(room):
    compared, worded = set(), set()
    for check in (c for c in CHECKS.values() if c.room == room):
        words = wording(room)[check.__name__]
        compared |= {words.quantities[c.quantity].says for c in check.judge(drawn(check)).comparisons}
        if words.verdict:  # else the numbers choose what is compared
            worded |= {quantity.says for quantity in words.quantities.values()}
    assert worded <= compared


def written(node, seen):
    """The texts of a YAML file, each where it is written: an alias repeats nothing."""
    if node in seen:
        return []
    seen.add(node)
    if isinstance(node, yaml.ScalarNode):
        return [node.value]
    parts = [n for pair in node.value for n in pair] if isinstance(node, yaml.MappingNode) else node.value
    return [text for part in parts for text in written(part, seen)]


@by_room
def test_no_sentence_of_a_room_is_written_twice(room):
    every = written(yaml.compose(resources.files(room).joinpath(FILE).read_text("utf-8")), set())
    sentences = [
        s for text in every for s in re.split(r"(?<=[.]) ", " ".join(text.split())) if re.search(r".{40}\.$", s)
    ]
    assert len(sentences) == len(set(sentences)), {s for s in sentences if sentences.count(s) > 1}


@by_chapter(CHECKS)
def test_the_check_is_shown_by_a_notebook_of_its_room(check):
    assert re.search(rf"\b{check.__name__}\b", code_of(check.room.rpartition(".")[2]))


@cache
def code_of(chapter):
    """The cells of a chapter and of its page of details."""
    notebooks = [c.notebook() for c in Book(root()).chapters() if c.name in (chapter, f"{chapter}_details")]
    return "\n".join(cell.source for n in notebooks for cell in n.cells if cell.cell_type == "code")


def test_no_two_checks_judge_the_same_thing():
    seen = {}
    for name, check in CHECKS.items():
        words = wording(check.room)[name]
        judged = words.statement, words.part
        assert judged not in seen, f"{name} and {seen[judged]}"
        seen[judged] = name
