"""Reading input that others wrote: JSON, YAML and file names become checked values, or an error of one sentence.

The type of a value is described as in msgspec: ``Annotated[int, Meta(ge=1)]``, ``dict[str, float]``, a Struct. The
function ``refuse`` turns the cause of a problem into an error of the calling package.
"""

import json
from collections import Counter
from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import yaml

from attngeo.errors import AttngeoError, ParameterError

T = TypeVar("T")
Refuse = Callable[[str], Exception]
Setting = str | int | float | bool | None

LARGEST = 2**26  # bytes of the largest JSON or YAML file that is read
DEEPEST = 64  # levels of a YAML file, far fewer than the parser's stack has
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C version of the same loader, if it is installed
_TIME = "tag:yaml.org,2002:timestamp"


class Loader(_Loader):
    """Reads dates as text, and refuses a key that occurs twice, of which YAML would silently keep the last value."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIME]
        for first, resolvers in _Loader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        """The content of the mapping."""
        keys = Counter((key.tag, key.value) for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        if twice := [key for (_, key), times in keys.items() if times > 1]:
            raise ValueError(f"the key {twice[0]!r} occurs twice")
        return super().construct_mapping(node, deep)


def checked(value: Any, kind: Any, refuse: Refuse) -> Any:
    """A value, if it has the given type. Text, floats and booleans do not count as whole numbers."""
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, RecursionError) as error:
        raise refuse(cause(error)) from error


def read_bytes(path: Path, refuse: Refuse) -> bytes:
    """The content of a small file."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST + 1)
    except OSError as error:
        raise refuse(cause(error)) from error
    if len(content) > LARGEST:
        raise refuse(f"it has more than {LARGEST:,} bytes")
    return content


def read_json(path: Path, kind: type[T] | Any, refuse: Refuse) -> T:
    """The content of a JSON file, if it has the given type."""
    content = read_bytes(path, refuse)
    try:
        value = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise refuse(f"not valid JSON: {cause(error)}") from error
    return checked(value, kind, refuse)


def read_yaml(path: Path, kind: type[T] | Any, refuse: Refuse) -> T:
    """The content of a YAML file, if it has the given type."""
    text = read_bytes(path, refuse)
    try:
        depth = 0
        for event in yaml.parse(text, Loader):  # before anything is constructed; events are read without recursion
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > DEEPEST:
                raise ValueError(f"more than {DEEPEST} levels")
        value = yaml.load(text, Loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" in line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise refuse(f"not valid YAML{where}: {error.problem}") from error
    except Exception as error:  # a date, a number or a tag can make its constructors raise anything
        raise refuse(f"not valid YAML: {cause(error)}") from error
    return checked(value, kind, refuse)


def local_path(name: str | PathLike, kind: type[AttngeoError] = ParameterError) -> Path:
    """The path that a user means by a name, with ``~`` replaced by the home folder.

    Raises:
        AttngeoError: of the given kind, if the name cannot be a path, or if the system does not let us look at it.
    """
    try:
        path = Path(name).expanduser()
        path.exists()
    except (OSError, RuntimeError, ValueError) as error:
        raise kind(f"{f'{name}'[:80]!r} cannot be used as a path ({cause(error)}); check the name.") from error
    return path


def cause(error: BaseException) -> str:
    """The message of an error in one line, without the name of the file."""
    words = getattr(error, "strerror", None) or f"{error}" or type(error).__name__
    return " ".join(words.split()).rstrip(".")[:300]
