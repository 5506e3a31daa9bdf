"""The models of the survey: what each is, where its weights are, where the paper shows it.

models.csv             each model and part
released_results.csv   each released result: its model, its printed row, its figure, what is wrong with it
"""

import csv
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from attngeo.errors import ParameterError

RESULTS = "released_results.csv"
LACKING = {("S3", "L35"), ("S3", "R35")}  # the last row of either half of Table S2


class ModelPart(NamedTuple):
    """One part of one model; all text."""

    name: str  # of the model, unique
    hub_id: str  # "" where it is on none
    revision: str  # "" for the newest
    part: str  # encoder, decoder or cross
    modality: str
    family: str
    objective: str
    attention: str  # bidirectional, causal or cross
    model_type: str
    positions: str  # kind of the part, as in `attngeo.checkpoints.architectures.Positions`; "" of cross-attention
    licence: str
    access: str
    weights_folder: str  # in ATTNGEO_WEIGHTS
    precision: str  # of these weights, where they are rounded
    base: str  # the model whose weights these were, before fine-tuning or rounding
    note: str
    printed: str = ""  # rows such as ``S2:L1``
    figures: str = ""


@lru_cache
def registry() -> tuple[ModelPart, ...]:
    """The models of the survey, each part of a model by itself, with the released results about it."""
    about: dict[tuple[str, str], list[dict[str, str]]] = {}
    for result in rows_of(RESULTS):
        about.setdefault((result["model"], result["part"]), []).append(result)
    found = []
    for row in rows_of("models.csv"):
        own = about.get((row["name"], row["part"]), [])
        printed = [result for result in own if result["row"]]
        found.append(
            ModelPart(
                **row,
                printed=" ".join(
                    f"{table}:{r['row']}" for r in printed for table in ("S2", "S3") if (table, r["row"]) not in LACKING
                ),
                figures="; ".join(sorted({r["figure"] for r in own} - {""})),
            )
        )
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


def local_weights() -> dict[str, str]:
    """Folders with weights under ATTNGEO_WEIGHTS by the registry's name of the model."""
    folder = os.environ.get("ATTNGEO_WEIGHTS")
    folders = {m.name: Path(folder, m.weights_folder) for m in registry() if folder and m.weights_folder}
    return {name: str(path) for name, path in folders.items() if (path / "config.json").is_file()}
