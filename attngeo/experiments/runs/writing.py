"""Write the record of a training run, and move the records of an experiment into its tables."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from attngeo.experiments.runs.record import (
    ABOUT,
    ALL_ABOUT,
    FINISHED,
    TABLES,
    merged_runs,
    raw_about,
    read_about,
    read_levels,
    read_run,
    unreadable,
)
from attngeo.files.atomic import atomic_path, write_text


def write_run(
    folder: Path,
    about: dict[str, Any],
    history: list[dict],
    scores: list[dict],
    pictures: dict[tuple[int, int], np.ndarray],
) -> None:
    """Write the record, each file in one step; run.json comes last.

    Raises:
        OSError: the folder cannot be written. Its content is then unchanged.
    """
    images = {_picture_name(*place): levels for place, levels in pictures.items()}
    _write(folder, pd.DataFrame(history), pd.DataFrame(scores), images)
    write_text(folder / ABOUT, json.dumps(about, indent=1) + "\n")


def merge_runs(experiment: Path) -> list[str]:
    """Move the finished runs of an experiment from their own folders into its tables, in which they replace older ones.

    Models and checkpoints stay where they are. Nothing else may write the runs of the experiment meanwhile.

    Returns:
        The names of the runs that were moved.

    Raises:
        RunError: a run is damaged; then nothing is changed.
        OSError: a table cannot be written. Every run is then still in its folder or in the tables.
    """
    folders = [path.parent for path in sorted(experiment.glob(f"*/{ABOUT}"))]
    moved = [folder.name for folder in folders if read_about(folder)["status"] == FINISHED]
    if not moved:
        return []
    about: dict[str, dict] = {}
    tables: dict[str, list[pd.DataFrame]] = {name: [] for name in TABLES}
    pictures: dict[str, np.ndarray] = {}
    for name in sorted({*moved, *merged_runs(experiment)}):
        folder = experiment / name
        run = read_run(folder)
        about[name] = raw_about(folder)
        for table, rows in zip(TABLES, (run.history, run.scores), strict=True):
            if empty := list(rows.columns[rows.isna().all()]):
                raise unreadable(folder, f"{table}.parquet has no number in its column {empty[0]}")
            tables[table].append(pd.concat({name: rows}, names=["run"]).reset_index("run"))
        pictures |= {f"{name}/{_picture_name(*place)}": levels for place, levels in read_levels(folder).items()}
    history, scores = (pd.concat(tables[name], ignore_index=True) for name in TABLES)
    _write(experiment, history, scores, pictures)
    lines = [f"{json.dumps(name)}: {json.dumps(content)}" for name, content in about.items()]
    write_text(experiment / ALL_ABOUT, "{\n" + ",\n".join(lines) + "\n}\n")
    for name in moved:
        for file in (ABOUT, *(f"{table}.parquet" for table in TABLES), "images.npz"):
            (experiment / name / file).unlink(missing_ok=True)
        if not any((experiment / name).iterdir()):
            (experiment / name).rmdir()
    return moved


def _picture_name(layer: int, step: int) -> str:
    return f"layer-{layer}-step-{step}"


def _write(folder: Path, history: pd.DataFrame, scores: pd.DataFrame, pictures: dict[str, np.ndarray]) -> None:
    for name, table in zip(TABLES, (history, scores), strict=True):
        with atomic_path(folder / f"{name}.parquet") as path:
            table.to_parquet(path, index=False, compression="zstd")
    if pictures:
        with atomic_path(folder / "images.npz") as path:
            np.savez_compressed(path, **pictures)
