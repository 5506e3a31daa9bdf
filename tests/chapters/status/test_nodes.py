"""The statements and what they rest on: complete, without cycles, told by the checks alone."""

import re
from copy import deepcopy
from dataclasses import replace

import pytest

from attngeo.book.notebooks import Book
from attngeo.chapters.status import lists, nodes
from attngeo.chapters.status.nodes import State
from attngeo.claims import Verdict
from attngeo.claims.published import statements
from attngeo.display.verdicts import Finding, account
from attngeo.files.checkout import root

PAPER, SAID = statements(), nodes.content()
BLOCKS = nodes.stated({chapter.name: chapter.text for chapter in Book(root()).chapters()})
FOUND = nodes.nodes(PAPER, SAID, BLOCKS)


def report(words, verdict=None, supported=True):
    """What a check with these words reports; where its verdict follows from numbers, that it is undecided."""
    verdict = verdict or words.verdict or Verdict.UNDECIDED
    told = {"statement": words.statement, "part": words.part, "title": words.title, "chapter": "x"}
    return told | {"verdict": verdict.value, "supported": supported}


CHAPTERS = [path.stem for path in (root() / "notebooks").glob("*.py")]
WORDS = {name: words for chapter in CHAPTERS for name, words in nodes.checks_of(chapter).items()}  # of every check
EVERY = list(WORDS.values())
REPORTS = [report(words) for words in EVERY]


def state_of(reports, found=FOUND):
    return nodes.states(found, account(reports).findings)


def changed(words, **how):
    """All reports, that of one check another."""
    return [report(w, **how) if w is words else report(w) for w in EVERY]


def test_every_statement_with_a_check_is_on_the_map():
    assert {words.statement for words in EVERY} <= {node.number for node in FOUND.values()}
    assert State.UNCHECKED not in state_of(REPORTS).values()


def test_checks_on_the_map_speak_of_its_statements():
    for node in FOUND.values():
        assert all(words.statement == node.number for words in node.checks if node.number)
        assert not any("<<" in words.part for words in node.checks)  # they are found by their parts
        assert node.checks or node.number


def test_what_the_paper_proves_and_holds_is_proven_here_too():
    kinds, state = ("theorem", "proposition", "corollary", "lemma"), state_of(REPORTS)
    stand = (State.HOLDS, State.STATED, State.ASSUMPTION, State.MISPRINT)
    for node in FOUND.values():
        if node.kind in kinds and state[node.name] in stand:
            assert node.proven, node.name


def test_a_map_that_cannot_be_is_refused():
    for entry, why in (
        ({"rests_on": ["2.2"]}, "rests on itself"),  # which rests on it
        ({"rests_on": ["S1.1"]}, "rests on itself"),
        ({"rests_on": ["S9.9"]}, "not on the map"),
        ({"checks": ["nothing"]}, "names the check nothing"),
        ({"statement": "S9.9"}, "no statement"),
        ({"a comma": None}, "unknown key"),
        ({"label": "def-nothing"}, "no chapter has"),
    ):
        said = deepcopy(SAID)
        said["paper"]["S1.1"] |= entry
        with pytest.raises(nodes.MapError, match=why):
            nodes.nodes(PAPER, said, BLOCKS)


def test_states_come_from_the_checks():
    state = state_of(REPORTS)
    assert state["S1.12"] is State.CHANGES and state["2.1"] is State.HOLDS and state["S1.8"] is State.ASSUMPTION
    assert state["S1.17"] is State.MISPRINT and state["counts"] is State.PROVEN and state["gradients"] is State.OBSERVED
    lemma, order = WORDS["tail_order"], WORDS["order_of_scores_is_kept"]
    assert state_of(changed(lemma, supported=False))["S1.11"] is State.UNSUPPORTED
    assert state_of(changed(order, verdict=Verdict.UNDECIDED))["2.1"] is State.UNDECIDED
    assert state_of([])["2.1"] is State.UNCHECKED
    without = {name: replace(node, proven=False) for name, node in FOUND.items()}
    assert state_of(REPORTS, without)["counts"] is State.OBSERVED


def test_the_worst_part_counts():
    for parts, whole in (
        ((Verdict.HOLDS, Verdict.CHANGES), State.CHANGES),
        ((Verdict.HOLDS, Verdict.ASSUMPTION, Verdict.UNDECIDED), State.UNDECIDED),  # which does not hold yet
        ((Verdict.UNDECIDED, Verdict.CHANGES), State.CHANGES),
        ((Verdict.MISPRINT, Verdict.ASSUMPTION), State.ASSUMPTION),
        ((Verdict.ASSUMPTION, Verdict.STATED), State.ASSUMPTION),
        ((Verdict.STATED, Verdict.MISPRINT), State.STATED),
    ):
        same = [Finding(report(EVERY[0], verdict), ("x",), True) for verdict in parts]
        assert nodes._state(FOUND["2.1"], same) is whole


def test_what_a_statement_rests_on():
    assert nodes.foundations("S1.9", SAID) >= {"S1.9", "S1.8", "S1.7", "2.2"} and nodes.foundations("3.1", SAID) == {
        "3.1"
    }
    assert {"2.3", "S1.12", "S1.11"} <= nodes.foundations("2.3", SAID) and "S1.6" not in nodes.foundations("2.3", SAID)
    assert "Section 4.2" in nodes.foundations("faster", SAID)


def test_proofs_belong_to_the_statement_before_them():
    text = "`{prf:lemma} a\n# :label: lem-a\n`{prf:ref}`\n`{prf:proof}\n`{prf:lemma} b\n# :label: lem-b\n`{prf:lemma} c"
    assert nodes.stated({"page": text}) == {"lem-a": ("page", True), "lem-b": ("page", False)}


def test_the_lists_have_every_node_once():
    state = state_of(REPORTS)
    groups = lists.sorted_out(FOUND, state)
    told = "".join(map(lists.listed, groups.values()))
    assert len(re.findall("<a ", told)) == len(FOUND)
    assert set(groups["open"]) <= {State.UNDECIDED, State.UNSUPPORTED, State.UNCHECKED}
    assert State.OBSERVED in groups["measured"] and State.PROVEN in groups["proven"]
    asked = lists.questions(SAID["open"], FOUND)
    assert asked.count("<li>") == len(SAID["open"]) and asked.count("<a ") == sum(len(q["about"]) for q in SAID["open"])
