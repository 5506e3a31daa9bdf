"""The scores of pretrained models on disk: one folder per model, with its provenance.

    data/survey/<model>/record.json    source, sha256 of every file read, model type, versions, date
                        layers.csv     one row per layer: the sum over heads (head = -1)
                        heads.csv      one row per layer and head
                        coherence.csv  one row per layer: how its heads add up (`attngeo.bilinear.coherence`)
                        quantised.csv  with --quantise: one row per layer and way to round its weights
                        images.npz     W_qk of chosen layers as a picture: 8-bit levels, pooled to at most 256 x 256

`images.npz` holds pictures and no weights: W_qk summed over heads, pooled, and rounded to 255 levels. A record is made
beside the former record of its model and then takes its place, so what lies there is always complete.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import torch

import attngeo
from attngeo.bilinear.coherence import head_coherence
from attngeo.bilinear.pictures import picture
from attngeo.bilinear.scores import GAMMA, SUM, symmetry_score
from attngeo.checkpoints.attention_layer import AttentionLayer
from attngeo.checkpoints.checkpoint import Checkpoint
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.checkpoints.repositories import LocalFolder, named_on_the_hub, weight_names
from attngeo.checkpoints.rows import layer_rows
from attngeo.errors import AttngeoError, CheckpointError
from attngeo.experiments.survey.quantisation import SCHEMES, quantised
from attngeo.files.atomic import atomic_folder, write_text
from attngeo.files.provenance import sha256, versions
from attngeo.inputs import local_path, read_json

FILES = {"record.json", "layers.csv", "heads.csv", "coherence.csv", "quantised.csv", "images.npz"}


class RecordError(AttngeoError):
    """A record of the survey is missing, incomplete or damaged."""


@dataclass(frozen=True)
class Model:
    """A model to survey: its name for people, the place from which it is read, and its revision."""

    name: str
    source: str  # local folder or file, or Hub id, or a folder in ATTNGEO_WEIGHTS if it is not on the Hub
    revision: str = ""  # "" for the newest
    elsewhere: bool = False  # neither on the Hub nor in ATTNGEO_WEIGHTS
    model_type: str = ""  # read the checkpoint as this type; "" for the type that its configuration names


OnLayer = Callable[[Checkpoint, int], None]


def survey_model(
    model: Model,
    folder: Path,
    gamma: float = GAMMA,
    quantise: bool = False,
    on_layer: OnLayer = lambda checkpoint, done: None,
) -> Path:
    """Score one model, per layer and per head, and record the scores in a separate folder under ``folder``.

    Args:
        model: the model to read. Only one layer and the layers fetched in advance are in memory at a time.
        folder: the folder of all records.
        gamma: threshold of the directionality score.
        quantise: also score the layers with rounded weights (`attngeo.experiments.survey.quantisation`).
        on_layer: called after each layer with the checkpoint and the number of layers done.

    Returns:
        The folder of the record.

    Raises:
        CheckpointError: the model cannot be read. A former record is then kept.
        RecordError: the folder of the model contains the record of other weights, or something other than a record.
    """
    if model.elsewhere:
        raise CheckpointError(
            f"{model.name} is not on the Hub; set ATTNGEO_WEIGHTS to the folder that contains {model.source}."
        )
    target = record_folder(model.source, folder)
    _require_replaceable(target, model.source)
    checkpoint = open_checkpoint(model.source, model.revision or None, model_type=model.model_type or None)
    # the first and the middle layer of each part, because Figure 2 of the paper shows layer 1
    depths = Counter(plan.part for plan in checkpoint.plans)
    pictured = {(part, layer) for part, depth in depths.items() for layer in (0, depth // 2)}
    rows: list[dict] = []
    rounded: list[dict] = []
    adding_up: list[dict] = []
    pictures: dict[str, tuple[np.ndarray, float]] = {}  # 8-bit levels and their unit
    for done, layer in enumerate(checkpoint, start=1):
        rows += layer_rows(checkpoint, layer, gamma)
        adding_up.append(coherence_row(layer))
        for scheme in SCHEMES if quantise else ():
            coarse = replace(layer, form=quantised(layer.form, scheme))
            rounded += [{"scheme": scheme} | row for row in layer_rows(checkpoint, coarse, gamma, per_head=False)]
        if (layer.part, layer.layer) in pictured:
            pictures[f"{layer.part}-{layer.layer}"] = picture(layer.form)
        on_layer(checkpoint, done)
    tables = {
        "layers.csv": [row for row in rows if row["head"] == SUM],
        "heads.csv": [row for row in rows if row["head"] != SUM],
        "coherence.csv": adding_up,
        "quantised.csv": rounded,
    }
    with atomic_folder(target) as new:
        for name, table in tables.items():
            if table:
                write_text(new / name, _csv(table))
        np.savez_compressed(new / "images.npz", **{name: levels for name, (levels, _) in pictures.items()})
        write_provenance(
            new,
            model=checkpoint.name,
            left_out=checkpoint.left_out,
            remarks=checkpoint.remarks,
            asked_revision=model.revision,
            quantised=quantise,
            bytes_read=checkpoint.bytes_read,
            peaks={name: peak for name, (_, peak) in pictures.items()},
            attngeo=attngeo.__version__,
            revision=checkpoint.revision,
            model_type=checkpoint.model_type,
            sha256=_digests(model.source),
            gamma=gamma,
        )
    return target


def coherence_row(layer: AttentionLayer) -> dict:
    """How the heads of one layer add up (`attngeo.bilinear.coherence`), as a row of a table.

    If several heads share a key, each of them is transposed by its own coin.
    """
    form = layer.form.to(torch.float64)
    coherence = head_coherence(form)
    return {
        "part": layer.part,
        "layer": layer.layer,
        "n_heads": form.n_heads,
        "n_kv_heads": form.n_kv_heads,
        "symmetry": float(symmetry_score(form)),
        "coin_median": coherence.coins,
        **coherence.columns(),
    }


def record_folder(path_or_id: str, folder: Path) -> Path:
    """The folder of a model's record, named after the model's repository or local folder."""
    path = local_path(path_or_id)
    if path.exists():
        name = LocalFolder(path if path.is_dir() else path.parent).name
    elif named := named_on_the_hub(path_or_id):
        name = f"{named.id}/{named.subfolder}" if named.subfolder else named.id
    else:
        name = path_or_id
    return folder / name.replace("/", "--")


def is_recorded(model: Model, folder: Path, gamma: float = GAMMA, quantise: bool = False) -> bool:
    """Whether there is a record of this model, revision, type and threshold, with rounded weights if asked for.

    The record must be of the same weights by their SHA-256. Weights that are ``elsewhere`` cannot be compared, so only
    their name is checked.
    """
    record = _former(record_folder(model.source, folder)) or {}
    as_asked = (
        record.get("gamma") == gamma
        and (record.get("quantised") or not quantise)
        and model.model_type in ("", record.get("model_type"))
        and model.revision in ("", record.get("asked_revision"), record.get("revision"))
    )
    if not as_asked or model.elsewhere:
        return bool(as_asked)
    try:
        return record.get("sha256") == _digests(model.source)
    except OSError:
        return False  # the error is reported when the checkpoint is opened


def _require_replaceable(target: Path, source: str) -> None:
    """Refuse to replace a folder that is not a record of these weights.

    Raises:
        RecordError: the folder contains the record of other weights, or something other than a record.
    """
    if not target.exists():
        return
    others = sorted({path.name for path in target.iterdir()} - FILES) if target.is_dir() else [target.name]
    if others:
        raise RecordError(
            f"{target} would be replaced by the record of {source}, but it is not a record (it contains {others[0]});"
            " give another folder with -o."
        )
    former = _former(target)
    if former is not None and former.get("sha256") != _digests(source):
        raise RecordError(
            f"{target} contains the finished record of other weights than those of {source}; give another folder with"
            " -o, or move that record away."
        )


def _former(target: Path) -> dict[str, Any] | None:
    """The content of record.json in a folder, or None if the folder holds no readable record."""
    try:
        return read_json(target / "record.json", dict[str, Any], RecordError)
    except RecordError:
        return None


def _digests(path_or_id: str) -> dict[str, str]:
    """The SHA-256 of local weight files by their names; empty for a Hub id, whose revision identifies the weights."""
    path = local_path(path_or_id)
    if path.is_file():
        return {path.name: sha256(path)}
    names = weight_names(path) or sorted(file.name for file in path.glob("*.gguf"))
    return {name: sha256(path / name) for name in names}


def write_provenance(folder: Path, name: str = "record.json", **made: Any) -> None:
    """Write the provenance of a measurement to a file of that name: the given entries, versions and the date."""
    made |= {"versions": versions(), "date": datetime.now(timezone.utc).date().isoformat()}
    write_text(folder / name, json.dumps(made, indent=1, sort_keys=True) + "\n")


def _csv(rows: list[dict]) -> str:
    """The rows as CSV, with numbers to nine digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: f"{value:.9g}" if isinstance(value, float) else value for name, value in row.items()})
    return text.getvalue()
