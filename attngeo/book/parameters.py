"""Typed parameters of a chapter, read from its cell tagged ``parameters``, and the values a user may give them."""

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from attngeo.errors import ParameterError

_TYPES = {"int": int, "float": float, "str": str, "bool": bool}
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
    """The parameters of a cell, in its order: its annotated assignments, each in one line with its comment.

    Raises:
        ParameterError: a parameter has a type that no word can be read as, or its own default is out of its range.
    """
    lines, parameters = source.encode().splitlines(), {}
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name) and statement.value:
            name, default = statement.target.id, ast.literal_eval(statement.value)
            kind = re.sub(r"^list$|list\[(\w+)\]", lambda of: of[1] or "str", ast.unparse(statement.annotation))
            if kind not in _TYPES:
                raise ParameterError(f"Parameter {name} must be an int, float, str, bool or a list of one of these.")
            comment = lines[statement.end_lineno - 1][statement.end_col_offset :].decode().strip(" #")
            description, limit = re.fullmatch(r"(.*?)(?:; *(one of .+|in [\[(][^;]+[\])]))?", comment).groups("")
            choices = tuple(re.split(r" *\| *", limit.removeprefix("one of "))) if limit.startswith("one of ") else ()
            interval = limit.removeprefix("in ") if not choices else ""
            parameters[name] = Parameter(name, kind, isinstance(default, list), default, description, choices, interval)
            parameters[name].check(default)
    return parameters


def _items(word: str) -> list[str]:
    listed = re.fullmatch(r"\s*\[(.*)\]\s*", word, re.DOTALL)
    return [item.strip().strip("\"'") for item in listed[1].split(",") if item.strip()] if listed else [word]
