"""What the survey of pretrained models measured, on disk: one folder per model, with its provenance.

    data/survey/<model>/record.json    source, sha256 of every file read, model type, versions, date
                        layers.csv     one row per layer: the sum over heads (head = -1)
                        heads.csv      one row per layer and head
                        quantised.csv  where asked for: one row per layer and way to round its weights
                        images.npz     W_qk of chosen layers as a picture: 8-bit levels, pooled to at most 256 x 256

`images.npz` holds pictures and no weights: a sum over heads of products, pooled and rounded to 255 levels.
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

import attngeo
from attngeo.bilinear.pictures import picture
from attngeo.bilinear.scores import GAMMA, SUM
from attngeo.checkpoints.layers import Checkpoint, open_checkpoint
from attngeo.checkpoints.repositories import LocalFolder, named_on_the_hub, weight_names
from attngeo.checkpoints.rows import layer_rows
from attngeo.errors import AttngeoError
from attngeo.files.atomic import atomic_path, write_text
from attngeo.files.provenance import sha256, versions
from attngeo.inputs import local_path, read_json
from attngeo.survey.quantisation import SCHEMES, quantised


class RecordError(AttngeoError):
    """A record of the survey is missing, incomplete or damaged."""


@dataclass(frozen=True)
class Model:
    """A model to survey: its name for people, where it is read from, and which revision."""

    name: str
    source: str  # local folder or file, Hub id; a folder of ATTNGEO_WEIGHTS where it is on no Hub
    revision: str = ""  # "" for the newest
    elsewhere: bool = False  # on no Hub, and not under ATTNGEO_WEIGHTS
    model_type: str = ""  # to read it as, "" for its own


OnLayer = Callable[[Model, Checkpoint, int], None]


def survey_model(
    model: Model,
    folder: Path,
    gamma: float = GAMMA,
    quantise: bool = False,
    on_layer: OnLayer = lambda model, checkpoint, done: None,
) -> Path:
    """Score one model, per layer and per head, and record it in a folder of its own under ``folder``: returned.

    One layer is in memory, and what is fetched ahead. ``on_layer`` is called after each with the model, its checkpoint
    and the number of layers done; what it raises ends the survey of the model, and nothing is written. With
    ``quantise`` the layers are scored with their weights rounded, too (`attngeo.survey.quantisation`); without, such
    scores of the same weights and gamma stay.

    Raises:
        CheckpointError: the model cannot be read; nothing is then written.
        RecordError: its folder holds the record of other weights, which stays.
    """
    target = record_folder(model.source, folder)
    finished = _finished(target)
    if finished is not None and finished.get("sha256") != _digests(model.source):
        raise RecordError(
            f"{target} holds a finished record that is not of the weights of {model.source}; name another folder with"
            f" -o, or move that record away."
        )
    checkpoint = open_checkpoint(model.source, model.revision or None, model_type=model.model_type or None)
    # the first and the middle layer of each part: Figure 2 of the paper shows layer 1
    depths = Counter(plan.part for plan in checkpoint.plans)
    pictured = {(part, layer) for part, depth in depths.items() for layer in (0, depth // 2)}
    rows, rounded, pictures = [], [], {}
    for done, layer in enumerate(checkpoint, start=1):
        rows += layer_rows(checkpoint, layer, gamma)
        for scheme in SCHEMES if quantise else ():
            coarse = replace(layer, form=quantised(layer.form, scheme))
            rounded += [{"scheme": scheme} | row for row in layer_rows(checkpoint, coarse, gamma, per_head=False)]
        if (layer.part, layer.layer) in pictured:
            pictures[f"{layer.part}-{layer.layer}"] = picture(layer.form)
        on_layer(model, checkpoint, done)
    made = {
        "revision": checkpoint.revision,
        "model_type": checkpoint.model_type,
        "sha256": _digests(model.source),  # of large files minutes, in which a former record stays
        "gamma": gamma,
    }
    former, kept = finished or {}, target / "quantised.csv"
    is_of_these = bool(former.get("quantised")) and all(former.get(name) == made[name] for name in made)
    is_kept = not quantise and is_of_these and kept.is_file()
    if not is_of_these:  # else the record stays true, and a run that is killed loses no rounded scores
        (target / "record.json").unlink(missing_ok=True)  # written last: a folder without it is an unfinished one
    for left in target.glob(".*-*"):  # of a run that was killed while it wrote
        left.unlink(missing_ok=True)
    if not (is_kept or rounded):  # new ones replace them in one step
        kept.unlink(missing_ok=True)
    tables = {
        "layers.csv": [row for row in rows if row["head"] == SUM],
        "heads.csv": [row for row in rows if row["head"] != SUM],
        "quantised.csv": rounded,
    }
    for file, of_file in tables.items():
        if of_file:
            write_text(target / file, _csv(of_file))
    with atomic_path(target / "images.npz") as path:
        np.savez_compressed(path, **{name: levels for name, (levels, _) in pictures.items()})
    write_provenance(
        target,
        model=checkpoint.name,
        asked_revision=model.revision,
        quantised=quantise or is_kept,
        bytes_read=checkpoint.bytes_read,
        peaks={name: peak for name, (_, peak) in pictures.items()},
        attngeo=attngeo.__version__,
        **made,
    )
    return target


def record_folder(path_or_id: str, folder: Path) -> Path:
    """Where the record of a model lies: named after its repository or its local folder."""
    path = local_path(path_or_id)
    local = path if path.is_dir() else path.parent if path.is_file() else None
    named = None if local else named_on_the_hub(path_or_id)
    name = "/".join(filter(None, (named.id, named.subfolder))) if named else path_or_id
    return folder / (LocalFolder(local).name if local else name).replace("/", "--")


def is_recorded(model: Model, folder: Path, gamma: float = GAMMA, quantise: bool = False) -> bool:
    """Whether a finished record of this model, threshold and revision is there, with rounded weights if asked for.

    It is one of these weights, by their sha256, unless they lie ``elsewhere`` and cannot be read here; and read as
    ``model_type``, if that is given.
    """
    record = _finished(record_folder(model.source, folder))
    if record is None or record.get("gamma") != gamma or bool(record.get("quantised")) < quantise:
        return False
    if model.model_type and model.model_type != record.get("model_type"):
        return False
    if model.revision and model.revision not in (record.get("asked_revision"), record.get("revision")):
        return False
    try:
        return model.elsewhere or record.get("sha256") == _digests(model.source)
    except OSError:
        return False  # opening the checkpoint tells what is the matter


def _finished(target: Path) -> dict[str, Any] | None:
    """The finished record in a folder, None where there is none or it is damaged."""
    try:
        return read_json(target / "record.json", dict[str, Any], RecordError)
    except RecordError:
        return None


def _digests(path_or_id: str) -> dict[str, str]:
    """The sha256 of local weight files by their names; empty for a Hub id, whose revision tells the weights."""
    path = local_path(path_or_id)
    if path.is_file():
        return {path.name: sha256(path)}
    return {name: sha256(path / name) for name in weight_names(path) or sorted(p.name for p in path.glob("*.gguf"))}


def write_provenance(folder: Path, name: str = "record.json", **made: Any) -> None:
    """The provenance of a measurement, in a file of that name: what is given, versions, date."""
    made |= {"versions": versions(), "date": datetime.now(timezone.utc).date().isoformat()}
    write_text(folder / name, json.dumps(made, indent=1, sort_keys=True) + "\n")


def _csv(rows: list[dict]) -> str:
    """Numbers to nine digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows({k: f"{x:.9g}" if isinstance(x, float) else x for k, x in row.items()} for row in rows)
    return text.getvalue()
