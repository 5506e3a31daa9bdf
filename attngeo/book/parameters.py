"""Typed parameters of a chapter, read from its cell tagged ``parameters``, and the values a user may give them."""

import ast
import io
import re
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from attngeo.errors import ParameterError

_TYPES = {"int": int, "float": float, "str": str, "bool": bool}
_RANGE = re.compile(r"in ([\[(])\s*(\S+)\s*,\s*(\S+?)\s*([\])])$")
_ARTICLES = {"int": "a whole number", "float": "a number", "str": "text", "bool": "true or false"}
_ENDS = {"[": "ge", "(": "gt", "]": "le", ")": "lt"}


@dataclass(frozen=True)
class Parameter:
    """One line of the parameters cell: ``gamma: float = 2.0  # threshold in standard deviations; in (0, 10]``."""

    name: str
    type: str  # "int", "float", "str", "bool"; of the items where `many`
    many: bool  # a list
    default: Any
    description: str
    choices: tuple[str, ...] = ()
    interval: str = ""  # "[2, 4096]"; round brackets exclude the end

    def read(self, words: Sequence[str]) -> Any:
        """The value that ``-p name word`` gives, once or, for a list, repeatedly or as ``[a, b]``.

        Raises:
            ParameterError: a word is not of the parameter's type, or the value is out of range.
        """
        if self.many:
            return self.check([item for word in words for item in _items(word)], strict=False)
        if len(words) > 1:
            raise ParameterError(f"Parameter {self.name} takes one value, not {len(words)}.")
        return self.check(words[0], strict=False)

    def check(self, value: Any, strict: bool = True) -> Any:
        """The value as the parameter's type (an int where a float is due becomes one), from words if not ``strict``.

        Raises:
            ParameterError: it is of another type, or out of range.
        """
        kind = Literal[self.choices] if self.choices else _TYPES[self.type]
        wanted = f"one of {', '.join(self.choices)}" if self.choices else _ARTICLES[self.type]
        if self.interval:
            low, high = (_TYPES[self.type](end) for end in self.interval[1:-1].split(","))
            kind = Annotated[kind, Meta(**{_ENDS[self.interval[0]]: low, _ENDS[self.interval[-1]]: high})]
            wanted += f" in {self.interval}"
        try:
            return msgspec.convert(value, list[kind] if self.many else kind, strict=strict)
        except msgspec.ValidationError:
            wanted = f"a list, each {wanted}" if self.many else wanted
            raise ParameterError(f"Parameter {self.name} must be {wanted}, not {value!r}.") from None


def parse(source: str) -> dict[str, Parameter]:
    """The parameters of a cell, in its order. Other statements in the cell are passed over.

    Raises:
        ParameterError: a parameter has no type that can be told, or its own default is out of its range.
    """
    comments = {
        token.start[0]: token.string.lstrip("# ").strip()
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT
    }
    found = {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target, annotation = statement.target, ast.unparse(statement.annotation)
        elif isinstance(statement, ast.Assign):
            target, annotation = statement.targets[0], ""
        else:
            continue
        if isinstance(target, ast.Name):
            default = ast.literal_eval(statement.value)
            found[target.id] = _parameter(target.id, annotation, default, comments.get(statement.end_lineno, ""))
    return found


def _parameter(name: str, annotation: str, default: Any, comment: str) -> Parameter:
    many = isinstance(default, list)
    kind = re.sub(r"list(\[(\w+)\])?", r"\2", annotation)
    if not kind:
        samples = default if many else [default]
        kind = type(samples[0]).__name__ if samples else "str"
    if kind not in _TYPES:
        raise ParameterError(f"Parameter {name} must be an int, float, str, bool or a list of one of these.")
    description, _, limit = comment.rpartition(";")
    limit = limit.strip()
    choices, interval = (), ""
    if limit.startswith("one of "):
        choices = tuple(choice.strip() for choice in limit.removeprefix("one of ").split("|"))
    elif match := _RANGE.fullmatch(limit):
        interval = "{}{}, {}{}".format(*match.groups())
        if kind not in ("int", "float"):
            raise ParameterError(f"Parameter {name} is not a number and cannot be in {interval}.")
    else:
        description = comment
    parameter = Parameter(name, kind, many, default, description.strip(), choices, interval)
    parameter.check(default)
    return parameter


def _items(word: str) -> list[str]:
    word = word.strip()
    if word.startswith("[") and word.endswith("]"):
        return [item.strip().strip("\"'") for item in word[1:-1].split(",") if item.strip()]
    return [word]
