"""Parameters of chapters: what the parameters cell declares, and values that a user or a profile gives."""

import ast
import re
from collections.abc import Mapping
from typing import Any

import msgspec
import papermill
from nbformat import NotebookNode

from attngeo.errors import ParameterError

TYPES = {
    "int": int,
    "float": float,
    "str": str,
    "bool": bool,
    "list": list[str],
    "list[str]": list[str],
    "list[int]": list[int],
    "list[float]": list[float],
}

RANGE = re.compile(r"in \[([^,\]]+), ([^\]]+)\]")  # a range in the comment beside a parameter


def defaults(notebook: NotebookNode) -> dict[str, Any]:
    """The default value of each parameter."""
    return {name: ast.literal_eval(found["default"]) for name, found in papermill.inspect_notebook(notebook).items()}


def checked(chapter: str, notebook: NotebookNode, values: Mapping[str, Any]) -> dict[str, Any]:
    """Values for parameters, converted to the types that the notebook declares.

    A declaration such as ``gamma: float = 2.0  # threshold; in [0, 4]`` has a type and may have a range.

    Raises:
        ParameterError: the chapter has no such parameter, or a value has the wrong type or is out of the range.
    """
    parameters = papermill.inspect_notebook(notebook)
    converted = {}
    for name, value in values.items():
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise ParameterError(f"Chapter {chapter} has no parameter {name!r}; its parameters are: {known}.")
        declared = parameters[name]["inferred_type_name"]
        if declared.startswith("list") and isinstance(value, str):  # from the command line: "gpt2" or "[gpt2, bert]"
            items = value.strip("[] ").split(",")
            value = [item.strip(" '\"") for item in items if item.strip()]
        try:
            converted[name] = msgspec.convert(value, TYPES[declared], strict=False)
        except msgspec.ValidationError:
            raise ParameterError(
                f"Parameter {name} of chapter {chapter} has the type {declared}, and {value!r} is not of this type."
            ) from None
        limits = RANGE.search(parameters[name]["help"])
        if limits and not float(limits[1]) <= converted[name] <= float(limits[2]):
            raise ParameterError(
                f"Parameter {name} of chapter {chapter} must be in {limits[0].removeprefix('in ')}, not {value}."
            )
    return converted
