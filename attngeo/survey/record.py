"""What the survey of pretrained models measured, on disk: one folder per model, with its provenance.

    data/survey/<model>/record.json    source, sha256 of every file read, model type, versions, date
                        layers.csv     one row per layer: the sum over heads (head = -1)
                        heads.parquet  one row per layer and head
                        images.npz     W_qk of chosen layers as a picture: 8-bit levels, pooled to at most 256 x 256

`images.npz` holds pictures and no weights: a sum over heads of products, pooled and rounded to 255 levels.
"""

import json
import os
import platform
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import attngeo
from attngeo.checkpoints.layers import AttentionLayer, Checkpoint, open_checkpoint
from attngeo.checkpoints.repositories import LocalFolder
from attngeo.errors import AttngeoError
from attngeo.forms.pictures import picture
from attngeo.forms.scores import GAMMA, SUM
from attngeo.records.atomic import atomic_path, write_text
from attngeo.records.checkout import data
from attngeo.records.provenance import sha256
from attngeo.survey.models import registry
from attngeo.survey.rows import layer_rows
from attngeo.survey.score_table import as_table, score_table


class RecordError(AttngeoError):
    """A record of the survey is missing, incomplete or damaged."""


def survey_model(
    path_or_id: str,
    folder: Path,
    gamma: float = GAMMA,
    revision: str | None = None,
    on_layer: Callable[[Checkpoint, int], None] = lambda checkpoint, done: None,
    at_once: int = 1,
) -> Path:
    """Score one model, per layer and per head, and record it under ``folder``.

    The next layer is read while ``at_once`` are scored. No more than these are in memory, and what is fetched ahead.

    Args:
        path_or_id: as for `attngeo.open_checkpoint`.
        folder: of all records; the model gets a folder in it, named after the model.
        gamma: threshold of directionality.
        revision: branch, tag or commit of a Hub repository.
        on_layer: called after each layer with the checkpoint and the number of layers done; what it raises ends the
            survey of the model, and nothing is written.
        at_once: layers that are scored at the same time, each in a thread.

    Returns:
        The model's folder.

    Raises:
        CheckpointError: the model cannot be read; nothing is then written.
    """
    checkpoint = open_checkpoint(path_or_id, revision or None)
    chosen = _pictured([f"{plan.part}-{plan.layer}" for plan in checkpoint.plans])
    rows, pictures = [], {}

    def score_layer(layer: AttentionLayer) -> list[dict]:
        if (name := f"{layer.part}-{layer.layer}") in chosen:
            pictures[name] = picture(layer.form)
        return layer_rows(checkpoint, layer, gamma)

    for done, of_layer in enumerate(_read_ahead(checkpoint, score_layer, at_once), start=1):
        rows += of_layer
        on_layer(checkpoint, done)
    source = Path(path_or_id).expanduser()
    target = record_folder(path_or_id, folder)
    _write(
        target,
        as_table(rows),
        {name: pictures[name] for name in chosen},
        {
            "model": checkpoint.name,
            "revision": checkpoint.revision,
            "asked_revision": revision or "",
            "model_type": checkpoint.model_type,
            "sha256": {p.name: sha256(p) for p in sorted(source.glob("*.safetensors"))} if source.is_dir() else {},
            "gamma": gamma,
            "bytes_read": checkpoint.bytes_read,
        },
    )
    return target


def record_folder(path_or_id: str, folder: Path) -> Path:
    """Where the record of a model lies: named after its repository or its local folder."""
    path = Path(path_or_id).expanduser()
    local = path if path.is_dir() else path.parent if path.is_file() else None
    return folder / (LocalFolder(local).name if local else path_or_id).replace("/", "--")


def is_recorded(path_or_id: str, folder: Path, gamma: float = GAMMA, revision: str | None = None) -> bool:
    """Whether a finished record of this model, threshold and revision is there."""
    try:
        record = json.loads((record_folder(path_or_id, folder) / "record.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return record.get("gamma") == gamma and revision in (None, "", record.get("asked_revision"), record.get("revision"))


def _read_ahead(
    checkpoint: Checkpoint, work: Callable[[AttentionLayer], list[dict]], at_once: int
) -> Iterator[list[dict]]:
    """``work`` of every layer in turn, on ``at_once`` layers at a time while the next is read."""
    layers = iter(checkpoint)
    try:
        with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(at_once) as workers:
            coming, running = reader.submit(next, layers, None), deque()
            while (layer := coming.result()) is not None:
                if len(running) == at_once:
                    yield running.popleft().result()
                running.append(workers.submit(work, layer))
                coming = reader.submit(next, layers, None)
            while running:
                yield running.popleft().result()
    finally:
        layers.close()


def _pictured(names: list[str]) -> list[str]:
    """The first and the middle layer of each part: Figure 2 of the paper shows layer 1."""
    parts: dict[str, list[str]] = {}
    for name in names:
        parts.setdefault(name.rpartition("-")[0], []).append(name)
    return [name for layers in parts.values() for name in dict.fromkeys((layers[0], layers[len(layers) // 2]))]


def _write(folder: Path, table: pd.DataFrame, pictures: dict[str, tuple[np.ndarray, float]], provenance: dict) -> None:
    """Write one model's folder; ``record.json`` comes last, so that a folder without it is an unfinished one."""
    (folder / "record.json").unlink(missing_ok=True)
    for left in folder.glob(".*-*"):  # of a run that was killed while it wrote
        left.unlink()
    with atomic_path(folder / "layers.csv") as path:
        table[table["head"] == SUM].to_csv(path, index=False, float_format="%.9g", lineterminator="\n")
    with atomic_path(folder / "heads.parquet") as path:
        table[table["head"] != SUM].to_parquet(path, index=False)
    with atomic_path(folder / "images.npz") as path:
        arrays = {name: levels for name, (levels, _) in pictures.items()}
        np.savez_compressed(path, **arrays)
    record = provenance | {
        "peaks": {name: peak for name, (_, peak) in pictures.items()},
        "attngeo": attngeo.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "date": datetime.now(timezone.utc).date().isoformat(),
    }
    write_text(folder / "record.json", json.dumps(record, indent=1, sort_keys=True) + "\n")


def read_records(folder: Path) -> tuple[pd.DataFrame, dict[str, dict]]:
    """Every finished record under ``data/survey``: the long table of all models, and each model's provenance.

    Raises:
        RecordError: there is no record, or one is damaged.
    """
    tables, provenance = [], {}
    for path in sorted(Path(folder).glob("*/record.json")):
        try:
            provenance[path.parent.name] = json.loads(path.read_text(encoding="utf-8"))
            tables += [pd.read_csv(path.parent / "layers.csv"), pd.read_parquet(path.parent / "heads.parquet")]
        except (OSError, ValueError) as error:
            raise RecordError(f"The survey record {path.parent} cannot be read ({error}); survey it again.") from None
    if not tables:
        raise RecordError(f"{folder} holds no survey record; 'attngeo survey' writes them.")
    return pd.concat(tables, ignore_index=True), provenance


def measured(models: list[str], gamma: float = GAMMA, folder: Path | None = None) -> pd.DataFrame:
    """Scores for a page: of the weights themselves where they can be read, else as recorded.

    Args:
        models: names of recorded models, folders or Hub ids; none means every recorded model.
        gamma: threshold of directionality; another than the recorded one needs the weights.
        folder: of the records, ``data/survey`` by default.

    Returns:
        The long score table with ``model`` as the registry names it, and a column ``origin``: "weights" or "record".

    Raises:
        RecordError: weights are needed and cannot be read.
    """
    table, _ = read_records(folder or data("survey"))
    records = dict(list(named(table).assign(origin="record").groupby("model", sort=False)))
    weights = local_weights()
    parts = []
    for model in models or records:
        if model in weights or model not in records:
            parts.append(named(score_table(open_checkpoint(weights.get(model, model)), gamma)).assign(origin="weights"))
        elif (records[model]["gamma"] == gamma).all():
            parts.append(records[model])
        else:
            recorded = records[model]["gamma"].iloc[0]
            raise RecordError(
                f"{model} is recorded for gamma = {recorded:g}; for {gamma:g} its weights are needed:"
                f" name the folder that holds them in ATTNGEO_WEIGHTS."
            )
    return pd.concat(parts, ignore_index=True)


def local_weights() -> dict[str, str]:
    """Folders with weights under ATTNGEO_WEIGHTS by the registry's name of the model."""
    folder = os.environ.get("ATTNGEO_WEIGHTS")
    models = registry()
    folders = {m.name: Path(folder, m.weights_folder) for m in models.itertuples() if folder and m.weights_folder}
    return {name: str(path) for name, path in folders.items() if (path / "config.json").is_file()}


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with ``model`` as the registry names it; a model the registry does not know keeps its own name."""
    models = registry()
    names = {m.hub_id: m.name for m in models.itertuples()} | {m.weights_folder: m.name for m in models.itertuples()}
    return table.assign(model=table["model"].map(lambda m: names.get(m, m)))
