"""Parameters of chapters: what the parameters cell declares, and the values from a user or a profile."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import papermill
from nbformat import NotebookNode

from attngeo.errors import ParameterError
from attngeo.inputs import read_yaml

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


def read_profile(folder: Path, profile: str) -> dict[str, dict[str, Any]]:
    """The parameters that a profile sets, by chapter, without a check of names and types.

    Raises:
        ParameterError: there is no such profile, or its file is not of the form ``chapter: {parameter: value}``.
    """
    path = folder / f"{profile}.yml"
    if not path.is_file():
        known = ", ".join(sorted(file.stem for file in folder.glob("*.yml")))
        raise ParameterError(f"There is no profile {profile!r}; the profiles are {known}.")

    def refuse(why: str) -> ParameterError:
        return ParameterError(f"The profile {path} must have the form 'chapter: {{parameter: value}}' ({why}).")

    return read_yaml(path, dict[str, dict[str, Any]], refuse)
