from itertools import count

import pytest
import yaml

from attngeo.paper.wording import Claim, Quantity, Verdict, Wording, WordingError, wording

MISPRINT = {
    "name": "one",
    "statement": "2.1",
    "title": "a title",
    "verdict": Verdict.MISPRINT,
    "printed": "three",
    "place": "Eq. 1",
    "holds": "four",
}
HOLDS = {"name": "one", "statement": "2.1", "title": "a title", "verdict": Verdict.HOLDS}
CHANGES = MISPRINT | {"verdict": Verdict.CHANGES}
UNDECIDED = HOLDS | {"verdict": Verdict.UNDECIDED, "printed": "three", "place": "Eq. 1", "remark": "too few"}


@pytest.mark.parametrize(
    "words",
    [
        HOLDS,
        HOLDS | {"remark": "of interest"},
        MISPRINT,
        HOLDS | {"printed": "three", "place": "Eq. 1", "holds": "three below ten"},  # conditions are the paper's own
        MISPRINT | {"verdict": Verdict.ASSUMPTION},
        CHANGES,
        CHANGES | {"holds": "", "remark": "nothing holds instead"},
        UNDECIDED,
    ],
)
def test_texts_that_fit_their_verdict_are_told(words):
    told = Wording(**words).told(words["verdict"], {})
    assert told == {
        "part": "",
        "title": words["title"],
        "printed": words.get("printed", ""),
        "place": words.get("place", ""),
        "corrected": words.get("holds", ""),
        "remark": words.get("remark", ""),
        "maybe_copying": False,
    }


CONTRADICTIONS = {
    "no printed": (MISPRINT, {"printed": ""}),
    "no place": (MISPRINT, {"place": ""}),
    "no holds": (MISPRINT, {"holds": ""}),
    "no remark": (CHANGES, {"holds": ""}),
    "holds, undecided": (UNDECIDED, {"holds": "four"}),
    "no remark, undecided": (UNDECIDED, {"remark": ""}),
}


@pytest.mark.parametrize("name", CONTRADICTIONS)
def test_texts_that_contradict_their_verdict_are_refused_by_name(name):
    words, change = CONTRADICTIONS[name]
    key = name.partition(",")[0].removeprefix("no ")
    with pytest.raises(WordingError, match=rf"^one is {words['verdict']}\b.* {key}\b[^.]*\.yml[^.]*\.$"):
        Wording(**(words | change))


def test_each_verdict_that_may_follow_has_its_texts():
    words = MISPRINT | {"verdict": None, "holds": ""}
    verdicts = {
        Verdict.MISPRINT: {"holds": "<<n>>"},
        Verdict.UNDECIDED: {"remark": "between <<low:.1f>> and <<n>>"},
    }
    one = Wording(**words, verdicts=verdicts)
    corrected, undecided = (one.told(verdict, {"n": 4, "low": 1.26}) for verdict in verdicts)
    assert (corrected["corrected"], corrected["remark"]) == ("4", "")
    assert (undecided["corrected"], undecided["remark"]) == ("", "between 1.3 and 4")
    for verdict in (None, Verdict.CHANGES, Verdict.ASSUMPTION):
        with pytest.raises(WordingError, match=r"^one "):
            one.told(verdict, {"n": 4, "low": 1.26})
    with pytest.raises(WordingError, match="remark"):
        Wording(**words, verdicts={Verdict.UNDECIDED: {}})


def test_numbers_and_shared_sentences_fill_the_places_that_name_them():
    shared = {"small": "Below <<limit:,>>\n it is <<share:.0%>>, <<again>>.", "again": "<<n>> times"}
    one = Wording(
        **HOLDS,
        remark="So: <<small>> <<n>>",
        quantities={"sum": Quantity("$a << b$, <<n>> of <<m:+.2e>>", "> <<n>>")},
        shared=shared,
    )
    numbers = {"limit": 12000, "share": 0.256, "n": 3}
    assert one.told(Verdict.HOLDS, numbers)["remark"] == "So: Below 12,000 it is 26%, 3 times. 3"
    assert one.quantity("sum", {"n": 3, "m": 0.00125}) == ("$a << b$, 3 of +1.25e-03", Claim(">", 3.0))
    # a number of the judgement comes before a sentence of the same name
    assert one.told(Verdict.HOLDS, numbers | {"again": 2})["remark"] == "So: Below 12,000 it is 26%, 2. 3"


def test_of_a_statement_of_ours_the_paper_has_nothing_and_its_remark_says_so():
    quantities = {"a": Quantity("a number"), "b": Quantity("another", "= 2")}
    ours = Wording(**HOLDS, ours=True, remark="Why.", quantities=quantities, shared={"ours": "Of ours."})
    assert ours.quantity("a", {}) == ("a number", "") and ours.quantity("b", {}) == ("another", Claim("=", 2.0))
    assert ours.told(Verdict.HOLDS, {})["remark"] == "Of ours. Why."


@pytest.mark.parametrize("paper", ["3", "about 3", ">", "> three"])
def test_what_the_paper_has_is_a_relation_and_a_number(paper):
    with pytest.raises(WordingError, match=rf"^one [^.]*'{paper}'"):
        Wording(**HOLDS, quantities={"a": Quantity("a number", paper)}).quantity("a", {})


def test_a_sentence_among_the_numbers_ends_with_what_was_measured():
    one = Wording(**HOLDS, remark="<<doubt>> A remark.", measured="Gap: <<gap>>\N{NO-BREAK SPACE}%.")
    numbers = {"doubt": "Not decided. <<measured>>", "gap": 3}
    told = one.told(Verdict.HOLDS, numbers)["remark"]
    assert told == "Not decided. Gap: 3\N{NO-BREAK SPACE}%. A remark."  # kept on one line
    assert one.told(Verdict.HOLDS, numbers | {"doubt": ""})["remark"] == "A remark."


@pytest.mark.parametrize("key", ["limit", "n"])
def test_a_number_that_is_not_given_is_refused_by_name(key):
    one = Wording(**HOLDS, remark="<<small>> <<n>>", shared={"small": "<<limit>>"})
    with pytest.raises(WordingError, match=rf"^[^.]*\bone\b[^.]*'{key}'[^.]*\.$"):
        one.told(Verdict.HOLDS, {other: 1 for other in {"limit", "n"} - {key}})


def test_a_place_that_is_not_closed_is_refused():
    with pytest.raises(WordingError, match=r"\bone\b.*<<n:.2f"):
        Wording(**HOLDS, remark="<<n:.2f> of them").told(Verdict.HOLDS, {"n": 1.0})


@pytest.mark.parametrize("number, spec", [(1.0, "q"), ("never", ".2f")])
def test_a_number_that_cannot_be_written_so_is_refused_by_name(number, spec):
    with pytest.raises(WordingError, match=rf"\bone\b.*'n'.*'{spec}'"):
        Wording(**HOLDS, remark=f"<<n:{spec}>>").told(Verdict.HOLDS, {"n": number})


def test_an_unnamed_quantity_is_refused_by_name():
    with pytest.raises(WordingError, match=r"^one [^.]*'b'[^.]*\.yml[^.]*\.$"):
        Wording(**HOLDS, quantities={"a": Quantity("a number")}).quantity("b", {})


NUMBERS = count()  # a package once imported stays, so each has a name of its own


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Writes the file of a room and gives its words."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text):
        name = f"worded_{next(NUMBERS)}"
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        if text is not None:
            (tmp_path / name / "checks.yml").write_text(text, encoding="utf-8")
        return wording(name)

    return write


def test_a_room_is_read_with_its_shared_sentences(room):
    content = {
        "shared": {"why": "W depends on <<n>>."},
        "checks": {
            "one": {"statement": 2.1, "title": "größer als", "verdict": "holds", "remark": "<<why>>"},
            "two": {
                "statement": "S1.4",
                "part": "Eq. 1",
                "title": "a title",
                "printed": "three",
                "place": "Eq. 1",
                "quantities": {"sum": "a sum"},
                "verdicts": {"undecided": {"remark": "too few"}},
            },
        },
    }
    found = room(yaml.safe_dump(content, allow_unicode=True))
    assert list(found) == ["one", "two"]
    assert found["one"].statement == "2.1" and found["one"].verdict is Verdict.HOLDS
    assert found["one"].told(Verdict.HOLDS, {"n": 5})["remark"] == "W depends on 5."
    assert found["two"].verdict is None and list(found["two"].verdicts) == [Verdict.UNDECIDED]
    assert found["one"].title == "größer als"


CHECK = "checks: {one: {statement: 2.1, title: a, verdict: holds"
REFUSED = {
    "no file": (None, "checks.yml"),
    "no YAML": ("checks: {one", "checks.yml"),
    "empty": ("", "checks.yml"),
    "no checks": ("shared: {}", "checks"),
    "unknown key": (f"{CHECK}, titel: b}}}}", "^one .*titel"),
    "no statement": ("checks: {one: {title: a, verdict: holds}}", "^one .*statement"),
    "no title": ("checks: {one: {statement: 2.1, verdict: holds}}", "^one .*title"),
    "unknown verdict": ("checks: {one: {statement: 2.1, title: a, verdict: true}}", "^one .*bool.*verdict"),
    "unknown verdict that follows": ("checks: {one: {statement: 2.1, title: a, verdicts: {perhaps: {}}}}", "perhaps"),
    "unknown key of a verdict": (
        "checks: {one: {statement: 2.1, title: a, verdicts: {holds: {remrk: b}}}}",
        "^one .*remrk.*verdicts",
    ),
    "two kinds of verdict": (f"{CHECK}, verdicts: {{holds: {{}}}}}}}}", "^one .*verdicts"),
    "a check twice": (f"{CHECK}}}, one: {{statement: 2.2, title: b, verdict: holds}}}}", "'one'.* second"),
    "a quantity twice": (f"{CHECK}, quantities: {{sum: b, sum: c}}}}}}", "'sum'.* second"),
    "a number for a title": ("checks: {one: {statement: 2.1, title: 12, verdict: holds}}", "^one .*int.*title"),
    "a number for a quantity": (f"{CHECK}, quantities: {{sum: 3}}}}}}", "^one .*int.*quantities.*says"),
    "a number for what the paper has": (
        f"{CHECK}, quantities: {{sum: {{says: b, paper: 3}}}}}}}}",
        "^one .*int.*paper",
    ),
    "no words of a quantity": (f"{CHECK}, quantities: {{sum: {{paper: = 3}}}}}}}}", "^one .*says"),
    "unknown key of a quantity": (f"{CHECK}, quantities: {{sum: {{say: b}}}}}}}}", "^one .*say"),
    "contradiction": ("checks: {one: {statement: 2.1, title: a, verdict: misprint, printed: b}}", "^one .*place"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_file_that_cannot_be_meant_is_refused_with_its_cause(room, name):
    text, cause = REFUSED[name]
    with pytest.raises(WordingError, match=cause):
        room(text)
