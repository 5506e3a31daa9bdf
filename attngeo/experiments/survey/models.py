"""The models of the survey: what they are, where their weights are, and where the paper shows them.

models.csv             each model and part
released_results.csv   each released result: its model, its printed row, its figure, what is wrong with it
"""

import csv
import os
import re
from collections import namedtuple
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from pathlib import Path

from attngeo.errors import CheckpointError, ParameterError

RESULTS = "released_results.csv"
LACKING = {("S3", "L35"), ("S3", "R35")}  # Table S3 lacks the last row of either half of Table S2


# a part of a model: the columns of models.csv (see README.md), its printed rows such as ``S2:L1``, and its figures
ModelPart = namedtuple(
    "ModelPart",
    "name hub_id revision part modality family objective attention model_type positions licence access weights_folder"
    " precision base note printed figures",
)


@lru_cache
def registry() -> tuple[ModelPart, ...]:
    """The models of the survey, one entry per part of a model, with the released results about it."""
    results = list(rows_of(RESULTS))
    parts = []
    for row in rows_of("models.csv"):
        own = [result for result in results if (result["model"], result["part"]) == (row["name"], row["part"])]
        printed = []
        for result in own:
            for table in ("S2", "S3"):
                if result["row"] and (table, result["row"]) not in LACKING:
                    printed.append(f"{table}:{result['row']}")
        figures = sorted({result["figure"] for result in own} - {""})
        parts.append(ModelPart(**row, printed=" ".join(printed), figures="; ".join(figures)))
    return tuple(parts)


def rows_of(file: str) -> Iterator[dict[str, str]]:
    """The rows of a table in this folder, as text by column."""
    text = resources.files(__package__).joinpath(file).read_text("utf-8")
    return csv.DictReader(text.splitlines())


def groups() -> dict[str, list[str]]:
    """Names for sets of models: ``printed``, ``figure-2`` ..., each modality, each family; model names in order."""
    labels: list[tuple[str, str]] = []
    labels += [("printed", model.name) for model in registry() if model.printed]
    for model in registry():
        labels += [(f"figure-{figure}", model.name) for figure in model.figures.split("; ") if figure]
    labels += [(model.modality, model.name) for model in registry()]
    labels += [(model.family, model.name) for model in registry()]
    found: dict[str, dict[str, None]] = {}  # the keys of the inner dictionary are names in order, without repetitions
    for label, name in labels:
        found.setdefault(re.sub(r"[^a-z0-9.]+", "-", label.lower()), {})[name] = None
    return {label: list(names) for label, names in found.items()}


def group(label: str) -> list[str]:
    """The models of a group.

    Raises:
        ParameterError: there is no such group.
    """
    known = groups()
    if label not in known:
        raise ParameterError(f"there is no group {label!r}; the groups are {', '.join(known)}.")
    return known[label]


def local_weights(needed: bool = False) -> dict[str, str]:
    """The folders in ATTNGEO_WEIGHTS that hold weights, by the name of the model in the registry.

    Raises:
        CheckpointError: weights are ``needed``, and there are none.
    """
    weights = os.environ.get("ATTNGEO_WEIGHTS")
    found = {}
    if weights:
        for model in registry():
            folder = Path(weights, model.weights_folder)
            if model.weights_folder and (folder / "config.json").is_file():
                found[model.name] = str(folder)
    if needed and not found:
        raise CheckpointError(
            "ATTNGEO_WEIGHTS is not set to a folder with models of the built-in list; set it to such a folder."
        )
    return found
