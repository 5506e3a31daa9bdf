"""What is proven, measured and open: three lists of links to the statements."""

from collections.abc import Mapping, Sequence
from html import escape

from attngeo.chapters.status.nodes import MEASURED, Node, State

SHORT = {"theorem": "Theorem", "proposition": "Prop.", "corollary": "Cor.", "lemma": "Lemma"}
SHORT |= {"definition": "Def.", "remark": "Remark", "recipe": "Section"}
OPEN = (State.UNDECIDED, State.UNSUPPORTED, State.UNCHECKED)


def sorted_out(found: Mapping[str, Node], state: Mapping[str, State]) -> dict[str, dict[State, list[Node]]]:
    """Nodes under ``open`` by their state, else under ``measured`` or ``proven`` (or refuted) by their kind."""
    lists: dict[str, dict[State, list[Node]]] = {"proven": {}, "measured": {}, "open": {}}
    for node in found.values():
        own = state[node.name]
        measured = node.kind in MEASURED or own in (State.OBSERVED, State.SHORT)
        under = "open" if own in OPEN else "measured" if measured else "proven"
        lists[under].setdefault(own, []).append(node)
    return {under: {s: groups[s] for s in State if s in groups} for under, groups in lists.items()}


def listed(groups: Mapping[State, Sequence[Node]]) -> str:
    """One list as HTML: a line for each state."""
    lines = (f"<li><strong>{escape(s.value)}</strong> ({len(g)}): {_links(g)}</li>" for s, g in groups.items())
    return f'<ul class="statement-list">{"".join(lines)}</ul>'


def questions(asked: Sequence[Mapping], found: Mapping[str, Node]) -> str:
    """Open questions as HTML, each with the statements that it is about."""
    lines = (f"<li>{escape(q['question'])} ({_links([found[n] for n in q['about']])})</li>" for q in asked)
    return f'<ul class="statement-list">{"".join(lines)}</ul>'


def named(node: Node) -> str:
    """The statement's number with its kind, or that it is ours."""
    return f"{SHORT.get(node.kind, '')} {node.number}".strip() or "ours"


def _links(group: Sequence[Node]) -> str:
    return ", ".join(f'<a href="{escape(n.link)}">{escape(f"{named(n)}, {n.words}")}</a>' for n in group)
