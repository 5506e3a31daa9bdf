"""Files of others with parts replaced or cut off: their readers give a value or refuse with one sentence."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from attngeo.errors import AttngeoError

few = settings(max_examples=25, derandomize=True, database=None, deadline=None, suppress_health_check=list(HealthCheck))

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
SCALARS |= st.sampled_from([0, 1, -1, 2**31, 2**63, 2**64, 10**30, 1.0, 4.5, "", "4", "../x"])
JUNK = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)
BYTES = st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=6)
KEPT = st.just(1.0) | st.floats(0, 1)


def places(value: object, path: tuple = ()) -> Iterator[tuple]:
    """The path to every place in a JSON value."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


@st.composite
def changed(draw, value):
    """A copy of a JSON value with one to three places replaced or removed."""
    value = json.loads(json.dumps(value))
    for _ in range(draw(st.integers(1, 3))):
        inner_places = [place for place in places(value) if place]
        if not inner_places:
            return draw(JUNK)
        *path, last = draw(st.sampled_from(inner_places))
        inner = value
        for key in path:
            inner = inner[key]
        if draw(st.integers(0, 5)):
            inner[last] = draw(JUNK)
        else:
            del inner[last]
    return value


def damage(file: Path, replaced: list[tuple[float, int]], kept: float) -> None:
    """Replace some bytes of a file and cut off its end."""
    content = bytearray(file.read_bytes())
    for place, byte in replaced:
        content[int(place * len(content))] = byte
    file.unlink()  # the file may still be mapped into memory, so it is replaced and not overwritten
    file.write_bytes(content[: int(kept * len(content))])


def value_or_sentence(read: Callable[[], object]) -> object:
    """What a reader returns, or None where it refused the file with one sentence."""
    try:
        return read()
    except AttngeoError as error:
        assert "\n" not in str(error) and len(str(error)) < 2000 and error.exit_code == 2
        return None
