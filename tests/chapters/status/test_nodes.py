"""The statements: complete, and told by the checks alone."""

import re
from dataclasses import replace

from attngeo.chapters.status import lists, nodes
from attngeo.chapters.status.nodes import State
from attngeo.claims import Verdict
from attngeo.claims.claim import claims_of
from attngeo.claims.published import statements
from attngeo.display.verdicts import account
from attngeo.files.checkout import chapters, root

PAPER, SAID = statements(), nodes.content()
BLOCKS = nodes.stated(chapters(root()))
FOUND = nodes.nodes(PAPER, SAID, BLOCKS)


def report(words, verdict=None, supported=True):
    """What a check with these words reports; where its verdict follows from numbers, that it is undecided."""
    verdict = verdict or words.verdict or Verdict.UNDECIDED
    told = {"statement": words.statement, "part": words.part, "title": words.title, "chapter": "x"}
    told |= {"ours": False, "source": ""}
    return told | {"verdict": verdict.value, "supported": supported}


CHAPTERS = [path.stem for path in (root() / "notebooks").glob("*.py")]
WORDS = {name: words for page in CHAPTERS for name, words in claims_of(page).items()}  # of every check
EVERY = list(WORDS.values())
REPORTS = [report(words) for words in EVERY]


def state_of(reports, found=FOUND):
    return nodes.states(found, account(reports).findings)


def changed(words, **how):
    """All reports, that of one check another."""
    return [report(w, **how) if w is words else report(w) for w in EVERY]


def of_ours(words, verdict):
    """All reports, that of one check about a statement of ours."""
    return [report(w, verdict) | {"ours": True} if w is words else report(w) for w in EVERY]


def test_every_statement_with_a_check_is_on_the_map_and_what_holds_is_proven_here_too():
    state = state_of(REPORTS)
    assert {words.statement for words in EVERY} <= {node.number for node in FOUND.values()}
    assert State.UNCHECKED not in state.values()
    kinds = ("theorem", "proposition", "corollary", "lemma")
    stand = (State.HOLDS, State.STATED, State.ASSUMPTION, State.MISPRINT)
    for node in FOUND.values():
        assert all(words.statement == node.number for words in node.checks if node.number)
        assert node.checks or node.number
        assert node.proven or node.kind not in kinds or state[node.name] not in stand, node.name


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


def test_a_statement_of_ours_that_was_not_found_as_planned_is_not_called_observed():
    exact = WORDS["exact_gradients"]
    for verdict in (Verdict.SHORT, Verdict.UNDECIDED):
        assert state_of(of_ours(exact, verdict))["gradients"] is State(verdict.value)
    short = state_of(of_ours(exact, Verdict.SHORT))
    assert FOUND["gradients"] in lists.sorted_out(FOUND, short)["measured"][State.SHORT]


def test_the_worst_part_counts():
    for parts, whole in (
        ((Verdict.HOLDS, Verdict.CHANGES), State.CHANGES),
        ((Verdict.HOLDS, Verdict.ASSUMPTION, Verdict.UNDECIDED), State.UNDECIDED),  # which does not hold yet
        ((Verdict.UNDECIDED, Verdict.CHANGES), State.CHANGES),
        ((Verdict.MISPRINT, Verdict.ASSUMPTION), State.ASSUMPTION),
        ((Verdict.ASSUMPTION, Verdict.STATED), State.ASSUMPTION),
        ((Verdict.STATED, Verdict.MISPRINT), State.STATED),
    ):
        same = [account([report(EVERY[0], verdict)]).findings[0] for verdict in parts]
        assert nodes._state(FOUND["2.1"], same) is whole


def test_what_a_statement_rests_on():
    below = nodes.foundations("2.3", SAID)
    assert {"S1.12", "S1.11", "S1.8", "2.2"} <= below and "S1.6" not in below
    entries = (*SAID["paper"].values(), *SAID["ours"].values())
    named = {other for entry in entries for other in entry.get("rests_on", ())}
    assert named <= set(FOUND)


def test_the_lists_have_every_node_once():
    state = state_of(REPORTS)
    groups = lists.sorted_out(FOUND, state)
    told = "".join(map(lists.listed, groups.values()))
    assert len(re.findall("<a ", told)) == len(FOUND)
    assert set(groups["open"]) <= {State.UNDECIDED, State.UNSUPPORTED, State.UNCHECKED}
    assert State.OBSERVED in groups["measured"] and State.PROVEN in groups["proven"]
    asked = lists.questions(SAID["open"], FOUND)
    assert asked.count("<li>") == len(SAID["open"]) and asked.count("<a ") == sum(len(q["about"]) for q in SAID["open"])
