"""What the survey of pretrained models measured, on disk: one folder per model, with its provenance.

    data/survey/<model>/record.json    source, sha256 of every file read, model type, versions, date
                        layers.csv     one row per layer: the sum over heads (head = -1)
                        heads.parquet  one row per layer and head
                        images.npz     W_qk of chosen layers as a picture: 8-bit levels, pooled to at most 256 x 256

`images.npz` holds pictures and no weights: a sum over heads of products, pooled and rounded to 255 levels.
"""

import hashlib
import json
import os
import platform
from datetime import datetime, timezone
from pathlib import Path

import numpy as np
import pandas as pd
import torch

import attngeo
from attngeo.atomic import atomic_path, write_text
from attngeo.bilinear import BilinearForm
from attngeo.checkout import data
from attngeo.checkpoints import open_checkpoint
from attngeo.errors import AttngeoError
from attngeo.registry import registry
from attngeo.scores import GAMMA
from attngeo.survey import as_table, layer_rows, score_table

IMAGE_SIDE = 256  # pixels; larger matrices are pooled
COUNTS = {"layer", "head", "d_model", "d_head", "n_rows_over", "n_cols_over"}


class RecordError(AttngeoError):
    """A record of the survey is missing, incomplete or damaged."""


def picture(form: BilinearForm, side: int = IMAGE_SIDE) -> tuple[np.ndarray, float]:
    """W_qk as signed 8-bit levels, and the entry that level 127 stands for.

    A matrix wider than ``side`` is pooled over k x k blocks, each shown by its entry of largest magnitude, so that
    single strong rows and columns stay visible. Levels saturate at the 99.5th percentile of the magnitudes.
    """
    m = form.to(torch.float32).dense()
    k = -(-m.shape[0] // side)
    if k > 1:
        n = m.shape[0] // k
        blocks = m[: n * k, : n * k].unflatten(0, (n, k)).unflatten(2, (n, k)).transpose(1, 2).flatten(2)
        m = blocks.gather(2, blocks.abs().argmax(2, keepdim=True)).squeeze(2)
    flat = np.abs(m.numpy()).ravel()
    peak = float(np.quantile(flat, 0.995)) or float(flat.max()) or 1.0
    return np.round(np.clip(m.numpy() / peak, -1, 1) * 127).astype(np.int8), peak


def survey_model(path_or_id: str, folder: Path, gamma: float = GAMMA) -> Path:
    """Score one model, per layer and per head, and record it under ``folder``.

    Args:
        path_or_id: as for `attngeo.open_checkpoint`.
        folder: of all records; the model gets a folder in it, named after the model.
        gamma: threshold of directionality.

    Returns:
        The model's folder.

    Raises:
        CheckpointError: the model cannot be read; nothing is then written.
    """
    checkpoint = open_checkpoint(path_or_id)
    rows, pictures = [], {}
    for layer in checkpoint:
        rows += layer_rows(checkpoint, layer, gamma)
        pictures[f"{layer.part}-{layer.layer}"] = layer.form
    chosen = {name: picture(pictures[name]) for name in _pictured(list(pictures))}
    source = Path(path_or_id).expanduser()
    files = {p.name: sha256(p) for p in sorted(source.glob("*.safetensors"))} if source.is_dir() else {}
    target = folder / checkpoint.name.replace("/", "--")
    write_record(
        target,
        as_table(rows),
        chosen,
        {
            "model": checkpoint.name,
            "revision": checkpoint.revision,
            "model_type": checkpoint.model_type,
            "sha256": files,
            "gamma": gamma,
            "bytes_read": checkpoint.bytes_read,
        },
    )
    return target


def _pictured(names: list[str]) -> list[str]:
    """The first and the middle layer of each part: Figure 2 of the paper shows layer 1."""
    parts: dict[str, list[str]] = {}
    for name in names:
        parts.setdefault(name.rpartition("-")[0], []).append(name)
    return [name for layers in parts.values() for name in dict.fromkeys((layers[0], layers[len(layers) // 2]))]


def write_record(
    folder: Path,
    table: pd.DataFrame,
    pictures: dict[str, tuple[np.ndarray, float]],
    provenance: dict,
) -> None:
    """Write one model's folder; ``record.json`` comes last, so that a folder without it is an unfinished one.

    Args:
        folder: ``data/survey/<model>``.
        table: the long score table (`attngeo.survey.score_table`), layers and heads together.
        pictures: by "part-layer", what `picture` returns.
        provenance: source, revision, file hashes and so on; versions, device and date are added here.
    """
    (folder / "record.json").unlink(missing_ok=True)
    with atomic_path(folder / "layers.csv") as path:
        table[table["head"] == -1].to_csv(path, index=False, float_format="%.9g", lineterminator="\n")
    with atomic_path(folder / "heads.parquet") as path:
        table[table["head"] >= 0].to_parquet(path, index=False)
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
    table = pd.concat(tables, ignore_index=True)
    return table.astype({c: "int64" for c in COUNTS & set(table.columns)}), provenance


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
    weights = _local_weights()
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


def _local_weights() -> dict[str, str]:
    """Folders under ATTNGEO_WEIGHTS by the registry's name of the model."""
    folder = os.environ.get("ATTNGEO_WEIGHTS")
    models = registry()
    folders = {m.name: Path(folder, m.weights_folder) for m in models.itertuples()} if folder else {}
    return {name: str(path) for name, path in folders.items() if (path / "config.json").is_file()}


def named(table: pd.DataFrame) -> pd.DataFrame:
    """The table with ``model`` as the registry names it; a model the registry does not know keeps its own name."""
    models = registry()
    names = dict(zip(models["weights_folder"], models["name"], strict=True))
    return table.assign(model=table["model"].map(lambda m: names.get(m, m)))


def read_picture(folder: Path, model: str, name: str) -> np.ndarray:
    """A recorded picture of W_qk, in units of its saturation level, (n, n) in [-1, 1].

    Raises:
        RecordError: the model or the picture is not recorded.
    """
    try:
        with np.load(Path(folder) / model / "images.npz", allow_pickle=False) as arrays:
            return arrays[name].astype(np.float32) / 127
    except (OSError, KeyError, ValueError) as error:
        raise RecordError(f"{model} has no recorded picture {name!r} ({error}).") from None


def sha256(path: str | os.PathLike) -> str:
    """Hexadecimal SHA-256 of a file."""
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()
