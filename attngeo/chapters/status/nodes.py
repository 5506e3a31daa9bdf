"""The paper's statements and ours, what each rests on (``map.yml``), and its state by what the checks found."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import resources
from itertools import pairwise
from typing import NamedTuple

import pandas as pd
import yaml

from attngeo.claims.claim import Written, claims_of
from attngeo.claims.results import Verdict
from attngeo.display.verdicts import BY_CONSEQUENCE, Finding
from attngeo.files.checkout import root

MEASURED = ("figure", "table", "finding")  # kinds of statements that only a measurement can bear out
NOT_FOUND = (Verdict.CHANGES, Verdict.UNDECIDED, Verdict.SHORT)  # verdicts on a statement of ours that is not borne out


class State(str, Enum):
    """What is known of a statement; the words of the page."""

    HOLDS = Verdict.HOLDS.value
    STATED = Verdict.STATED.value
    ASSUMPTION = Verdict.ASSUMPTION.value
    MISPRINT = Verdict.MISPRINT.value
    CHANGES = Verdict.CHANGES.value
    UNDECIDED = Verdict.UNDECIDED.value
    SHORT = Verdict.SHORT.value
    PROVEN = "ours, proven"
    OBSERVED = "ours, observed"
    UNSUPPORTED = "not supported by this run"
    UNCHECKED = "not checked"


class Stated(NamedTuple):
    """A block of a chapter that states something."""

    page: str  # notebook that it stands in
    proven: bool  # whether a proof follows before the next block


def stated(pages: Mapping[str, str]) -> dict[str, Stated]:
    """What the chapters state, by label, from the texts of the notebooks by name."""
    found = {}
    for page, text in pages.items():
        blocks = [*re.split(r"`\{prf:(?!ref)", text)[1:], ""]  # each begins with its kind
        for block, after in pairwise(blocks):
            if label := re.search(r":label: (\S+)", block):
                found[label[1]] = Stated(page, after.startswith("proof}"))
    return found


@dataclass(frozen=True)
class Node:
    """One statement on the map."""

    name: str
    number: str  # in the paper, "" for ours
    kind: str  # in the paper
    words: str
    page: str  # notebook in which it is treated
    label: str  # of the block that states it there, "" where there is none
    proven: bool  # whether a proof follows that
    checks: tuple[Written, ...]  # that speak for it; without any, all of its number

    @property
    def link(self) -> str:
        """From another page of the same folder."""
        return f"{self.page}.html" + (f"#{self.label}" if self.label else "")


def content() -> dict:
    """What ``map.yml`` holds."""
    return yaml.safe_load(resources.files(__package__).joinpath("map.yml").read_text("utf-8"))


def nodes(listed: pd.DataFrame, said: Mapping, blocks: Mapping[str, Stated]) -> dict[str, Node]:
    """The nodes of the map, by name, in its order.

    Args:
        listed: `attngeo.claims.published.statements`.
        said: `content`.
        blocks: `stated`.

    Raises:
        KeyError: a statement, check or label that is named is unknown.
    """
    pages = sorted(path.stem for path in (root() / "notebooks").glob("*.py"))
    places = {name: (page.removesuffix("_details"), words) for page in pages for name, words in claims_of(page).items()}
    every = {}
    for name, entry in {**said["paper"], **said["ours"]}.items():
        number = "" if name in said["ours"] else entry.get("statement", name)
        checks, label = [places[c] for c in entry.get("checks", ())], entry.get("label", "")
        kind, chapter = listed.loc[number, ["kind", "chapter"]] if number else ("", checks[0][0])
        block, words = blocks[label] if label else Stated(chapter, False), tuple(words for _, words in checks)
        every[name] = Node(name, number, kind, entry["words"], block.page, label, block.proven, words)
    return every


def foundations(name: str, said: Mapping) -> set[str]:
    """Numbers of the paper's statements that one of them rests on by the map, its own among them."""
    entry = said["paper"].get(name, {})  # what the paper says rests on nothing of ours
    below = (foundations(other, said) for other in entry.get("rests_on", ()))
    return {entry.get("statement", name)}.union(*below)


def states(found: Mapping[str, Node], findings: Sequence[Finding]) -> dict[str, State]:
    """The state of every node, by name, from what the checks of all chapters say."""
    by_part = {(f.report["statement"], f.report["part"]): f for f in findings}
    ours = {(w.statement, w.part) for n in found.values() if not n.number for w in n.checks}
    result = {}
    for node in found.values():
        own = [(w.statement, w.part) for w in node.checks]
        own = own or [part for part in by_part if part[0] == node.number and part not in ours]
        result[node.name] = _state(node, [by_part.get(part) for part in own])
    return result


def _state(node: Node, same: Sequence[Finding | None]) -> State:
    if not same or None in same:
        return State.UNCHECKED
    if not all(f.supported for f in same):
        return State.UNSUPPORTED
    if node.number:
        return State(min((f.verdict for f in same), key=BY_CONSEQUENCE.index).value)
    # A check of the paper's statement may be shared: that it falls is often what ours says.
    not_found = [f.verdict for f in same if f.report["ours"] and f.verdict in NOT_FOUND]
    if not_found:
        return State(min(not_found, key=BY_CONSEQUENCE.index).value)
    return State.PROVEN if node.proven else State.OBSERVED
