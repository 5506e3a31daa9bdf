"""The map as a drawing that scales, scrolls and can be walked with the keyboard: layers from left to right."""

from collections.abc import Mapping
from html import escape
from statistics import fmean

from attngeo.chapters.statement_map.nodes import Node, State, layers

WIDTH, HEIGHT = 118.0, 34.0  # of a node
ACROSS, DOWN = 142, 43  # from one node to the next
MARGIN, HEAD = 12.0, 84.0  # around the drawing; above it, for the key
SHORT = {"theorem": "Theorem", "proposition": "Prop.", "corollary": "Cor.", "lemma": "Lemma"}
SHORT |= {"definition": "Def.", "remark": "Remark", "recipe": "Section"}

Place = tuple[float, float]  # of the upper left corner


def named(node: Node) -> str:
    """A node's first line: the statement's number with its kind, or that it is ours."""
    return f"{SHORT.get(node.kind, '')} {node.number}".strip() or "ours"


def places(found: Mapping[str, Node], sweeps: int = 12) -> dict[str, Place]:
    """Where each node stands: in the column of its layer, beside what it rests on and what rests on it."""
    depth = layers(found)
    columns = [[n for n in found if depth[n] == layer] for layer in range(max(depth.values()) + 1)]
    rests = {n: set(node.rests_on) for n, node in found.items()}
    beside = {n: rests[n] | {other for other in found if n in rests[other]} for n in found}
    row = {n: i - len(column) / 2 for column in columns for i, n in enumerate(column)}
    for _ in range(sweeps):
        for column in columns:
            wanted = {n: fmean([row[other] for other in beside[n]] or [row[n]]) for n in column}
            column.sort(key=wanted.__getitem__)
            row |= {n: i - len(column) / 2 for i, n in enumerate(column)}
    top = min(row.values())
    return {n: (MARGIN + ACROSS * depth[n], HEAD + DOWN * (row[n] - top)) for n in found}


def outline(state: State, x: float, y: float, w: float = WIDTH, h: float = HEIGHT) -> str:
    """The outline by which a state is told without its colour."""
    if state in (State.HOLDS, State.UNDECIDED, State.UNCHECKED, State.UNSUPPORTED):
        return f'<rect x="{x}" y="{y}" width="{w}" height="{h}"/>'
    if state is State.ASSUMPTION:
        return f'<rect x="{x}" y="{y}" width="{w}" height="{h}" rx="{h / 2}"/>'
    cut = h / 4
    corners = {
        State.MISPRINT: [(0, 0), (w - cut, 0), (w, cut), (w, h), (0, h)],
        State.CHANGES: [(cut, 0), (w - cut, 0), (w, h / 2), (w - cut, h), (cut, h), (0, h / 2)],
        State.PROVEN: [(cut, 0), (w - cut, 0), (w, cut), (w, h - cut), (w - cut, h), (cut, h), (0, h - cut), (0, cut)],
        State.OBSERVED: [(cut, 0), (w, 0), (w - cut, h), (0, h)],
    }[state]
    return f'<polygon points="{" ".join(f"{x + a:g},{y + b:g}" for a, b in corners)}"/>'


def drawing(found: Mapping[str, Node], state: Mapping[str, State]) -> str:
    """The map as HTML: an SVG in a frame that scrolls, each node a link to its statement; that it scrolls is said."""
    place = places(found)
    width = max(x for x, _ in place.values()) + WIDTH + MARGIN
    height = max(y for _, y in place.values()) + HEIGHT + MARGIN
    ids = {n: f"map-{i}" for i, n in enumerate(found)}
    paths = [_arrow(place[b], place[n], ids[b], ids[n]) for n, node in found.items() for b in node.rests_on]
    boxes = [_box(node, state[n], place[n], ids[n], found) for n, node in found.items()]
    rules = "".join(
        f".statement-map:has(#{i}:is(:hover,:focus)) .{i}{{opacity:1;stroke-width:2.4}}" for i in ids.values()
    )
    used = [s for s in State if s in state.values()]
    return (
        f'<div class="statement-map" role="group" aria-label="Map of {len(found)} statements with {len(paths)} arrows '
        f'of dependence, also told by the lists below" tabindex="0"><style>{rules}</style>'
        '<p class="map-sideways">Where it is cut at the right, the map scrolls sideways.</p>'
        f'<svg viewBox="0 0 {width:g} {height:g}" xmlns="http://www.w3.org/2000/svg">'
        '<defs><marker id="map-tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0,0 L8,4 L0,8 z"/></marker></defs>{_key(used, width)}{"".join(paths)}{"".join(boxes)}</svg></div>'
    )


def _arrow(start: Place, end: Place, *ids: str) -> str:
    (a, b), (c, d) = (start[0] + WIDTH, start[1] + HEIGHT / 2), (end[0], end[1] + HEIGHT / 2)
    bend = max(14.0, (c - a) / 2)
    path = f"M{a:g},{b:g} C{a + bend:g},{b:g} {c - bend:g},{d:g} {c:g},{d:g}"
    return f'<path class="map-arrow {" ".join(ids)}" d="{path}" marker-end="url(#map-tip)"/>'


def _box(node: Node, state: State, place: Place, name: str, found: Mapping[str, Node]) -> str:
    x, y = place
    rests = ", ".join(f"{named(found[o])} ({found[o].words})" for o in node.rests_on) or "nothing else on the map"
    told = escape(f"{named(node)}, {node.words}: {state.value}. Rests on {rests}.")
    middle = x + WIDTH / 2
    return (
        f'<a id="{name}" href="{escape(node.link)}" class="map-{state.name.lower()}">'
        f"<title>{told}</title>{outline(state, x, y)}"
        f'<text x="{middle:g}" y="{y + 14:g}" class="map-name">{escape(named(node))}</text>'
        f'<text x="{middle:g}" y="{y + 27:g}">{escape(node.words)}</text></a>'
    )


def _key(used: list[State], width: float) -> str:
    """What the outlines mean, three in a row."""
    parts = []
    for i, state in enumerate(used):
        x, y = MARGIN + (i % 3) * (width - MARGIN) / 3, MARGIN / 2 + 22 * (i // 3)
        shape = outline(state, x, y, 28.0, 15.0)
        text = f'<text x="{x + 35:g}" y="{y + 12:g}" class="map-key">{escape(state.value)}</text>'
        parts.append(f'<g class="map-{state.name.lower()}">{shape}{text}</g>')
    return "".join(parts)
