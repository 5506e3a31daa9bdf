"""Every registered check and the words of every room: what the framework itself cannot see."""

import inspect
import re
from importlib import resources

import pytest
from planting import drawn

from attngeo.chapters import all_claims
from attngeo.paper import Flaw, Result, Verdict, published
from attngeo.paper.checks import Check
from attngeo.paper.wording import FILE, wording

STATEMENTS = published.statements()
CHECKS = all_claims()
CONVERTED = {name: check for name, check in CHECKS.items() if isinstance(check, Check)}
ROOMS = sorted({check.room for check in CONVERTED.values()})


def by_chapter(checks):
    """One case a check, named ``chapter.check``."""
    return pytest.mark.parametrize(
        "check", [pytest.param(c, id=f"{c.__module__.split('.')[2]}.{name}") for name, c in checks.items()]
    )


@by_chapter(CHECKS)
def test_the_check_supports_its_verdict(check):
    result = check.of(drawn(check)) if isinstance(check, Check) else check()
    assert isinstance(result, Result)
    assert result.supported, [c for c in result.comparisons if not c.holds] or "no comparisons"
    assert result.statement in STATEMENTS.index and result.chapter in set(STATEMENTS.chapter)
    assert (result.verdict is Verdict.FAILS) <= (result.flaw is Flaw.FAILURE)
    told = (result.title, result.printed, result.place, result.corrected, result.remark)
    assert not re.search("<<|>>", "".join([*told, *(c.quantity for c in result.comparisons)]))


@by_chapter(CONVERTED)
def test_the_judgement_and_its_words_name_the_same_numbers(check):
    words, found = wording(check.room)[check.__name__], check.judge(drawn(check))
    assert (words.verdict is None) == (found.verdict is not None), "a verdict is either worded or follows"
    compared = {c.quantity for c in found.comparisons}
    assert compared <= set(words.quantities)
    assert words.verdict is None or compared == set(words.quantities)  # else the numbers choose what is compared
    assert found.numbers.keys() <= named(words, *texts(words))


@by_chapter(CONVERTED)
def test_judging_draws_nothing_and_leaves_the_sample_as_it_was(check):
    assert check.of(drawn(check)) == check.of(drawn(check))


def texts(words):
    """Every text of a check's words."""
    own = [words.part, words.title, words.printed, words.place, words.holds, words.remark, words.measured]
    own += words.quantities.values()
    return own + [text for verdict in words.verdicts.values() for text in verdict.values()]


def named(words, *said):
    """The names of numbers and shared sentences in texts, and in the shared sentences that these name."""
    found = set(re.findall(r"<<(\w+)", " ".join(said)))
    shared = [words.shared[name] for name in found & words.shared.keys()]
    return found | named(words, *shared) if shared else found


def test_every_check_has_defaults_and_a_docstring():
    for name, check in CHECKS.items():
        parameters = inspect.signature(check).parameters.values()
        assert all(p.default is not p.empty or p.kind is p.VAR_KEYWORD for p in parameters), name
        assert inspect.getdoc(check), name


@pytest.mark.parametrize("room", ROOMS)
def test_words_and_checks_of_a_room_are_the_same(room):
    assert set(wording(room)) == {name for name, check in CONVERTED.items() if check.room == room}


@pytest.mark.parametrize("room", ROOMS)
def test_every_shared_sentence_of_a_room_is_used_more_than_once(room):
    every = " ".join(text for words in wording(room).values() for text in texts(words))
    shared = next(iter(wording(room).values())).shared
    for name in shared:
        assert len(re.findall(rf"<<{name}>>", " ".join([every, *shared.values()]))) > 1, name


def test_no_sentence_is_written_twice():
    for room in ROOMS:
        lines = re.findall(r"^\s*(?:[\w ]+: )?(.{40,})$", resources.files(room).joinpath(FILE).read_text("utf-8"), re.M)
        assert len(lines) == len(set(lines)), sorted({line for line in lines if lines.count(line) > 1})


def test_no_two_checks_judge_the_same_thing():
    seen = {}
    for name, check in CONVERTED.items():
        words = wording(check.room)[name]
        judged = words.statement, words.part
        assert judged not in seen, f"{name} and {seen[judged]}"
        seen[judged] = name
