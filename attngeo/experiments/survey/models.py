"""The models of the survey: what each is, where its weights are, where the paper shows it.

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
LACKING = {("S3", "L35"), ("S3", "R35")}  # the last row of either half of Table S2


# one part of one model; all text: the columns of models.csv (README.md), rows such as ``S2:L1``, figures
ModelPart = namedtuple(
    "ModelPart",
    "name hub_id revision part modality family objective attention model_type positions licence access weights_folder"
    " precision base note printed figures",
)


@lru_cache
def registry() -> tuple[ModelPart, ...]:
    """The models of the survey, each part of a model by itself, with the released results about it."""
    results, found = list(rows_of(RESULTS)), []
    for row in rows_of("models.csv"):
        own = [result for result in results if (result["model"], result["part"]) == (row["name"], row["part"])]
        places = [(table, result["row"]) for result in own if result["row"] for table in ("S2", "S3")]
        printed = " ".join(":".join(place) for place in places if place not in LACKING)
        figures = "; ".join(sorted({result["figure"] for result in own} - {""}))
        found.append(ModelPart(**row, printed=printed, figures=figures))
    return tuple(found)


def rows_of(file: str) -> Iterator[dict[str, str]]:
    """Rows of a table of this room, as text by the names of its columns."""
    text = resources.files(__package__).joinpath(file).read_text("utf-8")
    return csv.DictReader(text.splitlines())


def groups() -> dict[str, list[str]]:
    """Names for sets of models: ``printed``, ``figure-2`` ..., each modality, each family; model names in order."""
    models = registry()
    labels = [
        *(("printed", model.name) for model in models if model.printed),
        *((f"figure-{figure}", model.name) for model in models for figure in model.figures.split("; ") if figure),
        *((model.modality, model.name) for model in models),
        *((model.family, model.name) for model in models),
    ]
    found: dict[str, dict[str, None]] = {}  # without repetitions, in order
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
        raise ParameterError(f"there is no group {label!r}; there are {', '.join(known)}.")
    return known[label]


def local_weights(needed: bool = False) -> dict[str, str]:
    """Folders with weights under ATTNGEO_WEIGHTS by the registry's name of the model.

    Raises:
        CheckpointError: they are ``needed``, and there are none.
    """
    folder = os.environ.get("ATTNGEO_WEIGHTS")
    folders = {m.name: Path(folder, m.weights_folder) for m in registry() if folder and m.weights_folder}
    found = {name: str(path) for name, path in folders.items() if (path / "config.json").is_file()}
    if needed and not found:
        raise CheckpointError("ATTNGEO_WEIGHTS names no folder that holds models of the register; name one.")
    return found
