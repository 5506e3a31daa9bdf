"""A training run on disk: what was run, and what was measured on the way.

<run>/run.json         configuration, text, tokenizer, model, hardware, versions, totals, status
      history.parquet  one row per record: step, tokens, seconds, loss, held_out_loss, learning_rate
      scores.parquet   one row per record, layer and head (-1: sum over heads): both scores
      images.npz       W_qk of the first and the last layer as pictures, at the first and the last step
      model/           the trained model and its tokenizer
      checkpoints/     what is needed to go on; gone when the run is finished
"""

import json
import os
import platform
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

import attngeo
from attngeo.errors import AttngeoError
from attngeo.records.atomic import atomic_path, write_text

SCORE_COLUMNS = (
    "step",
    "layer",
    "head",
    "symmetry",
    "directionality",
    "directionality_released",
    "directionality_tables",
    "n_rows_over",
    "n_cols_over",
)
HISTORY_COLUMNS = ("step", "tokens", "seconds", "loss", "held_out_loss", "learning_rate")
FINISHED = "finished"


class RunError(AttngeoError):
    """A run cannot be found, read, continued or written."""


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded run.

    Args:
        name: of its folder.
        about: the content of run.json.
        history: loss over steps; see the module's head.
        scores: both scores over steps, per layer and head.
        pictures: W_qk by (layer, step), as `attngeo.forms.pictures.picture` gives it, in units of its saturation level.
    """

    name: str
    about: dict[str, Any]
    history: pd.DataFrame
    scores: pd.DataFrame
    pictures: dict[tuple[int, int], np.ndarray]

    @property
    def config(self) -> dict[str, Any]:
        """The configuration, names and values."""
        return self.about["config"]

    def layer_scores(self) -> pd.DataFrame:
        """Rows of the layers' summed forms (Eq. S20), which the paper's figures of training show."""
        return self.scores[self.scores["head"] == -1]


def read_run(folder: Path) -> Run:
    """A run from its folder.

    Raises:
        RunError: a file is missing or damaged.
    """
    folder = Path(folder)
    about = _about(folder / "run.json")
    try:
        history, scores = (pd.read_parquet(folder / f"{name}.parquet") for name in ("history", "scores"))
        pictures = read_levels(folder)
    except (OSError, ValueError, KeyError) as error:
        raise RunError(f"{folder} holds no readable run ({error}); record it again.") from error
    return Run(folder.name, about, history, scores, {k: v.astype(np.float32) / 127 for k, v in pictures.items()})


def read_runs(folder: Path, keep: Callable[[dict[str, Any]], bool] = lambda config: True) -> list[Run]:
    """All finished runs below a folder, by name; none is an empty list.

    Args:
        folder: of the runs.
        keep: which to read, by configuration.

    Raises:
        RunError: one of them is damaged.
    """
    runs = []
    for path in sorted(Path(folder).glob("*/run.json")):
        about = _about(path)
        if about["status"] == FINISHED and keep(about["config"]):
            runs.append(read_run(path.parent))
    return runs


def matched(runs: list[Run], differ: tuple[str, ...]) -> list[list[Run]]:
    """Groups of runs that are equal in every setting but the named ones, the largest group first."""
    groups: dict[str, list[Run]] = {}
    for run in runs:
        key = json.dumps([{k: v for k, v in run.config.items() if k not in differ}, run.about["corpus"]["sha256"]])
        groups.setdefault(key, []).append(run)
    return sorted(groups.values(), key=len, reverse=True)


def summary(run: Run) -> dict[str, Any]:
    """A run in one row: what it was, and medians over layers of both scores at its ends."""
    layers = run.layer_scores().groupby("step")[["symmetry", "directionality"]].median()
    held_out = run.history["held_out_loss"].dropna()
    config = run.config
    return {
        "run": run.name,
        "objective": config["objective"],
        "init": config["init"],
        "text": f"{run.about['corpus']['name']}, {config['text']}",
        "layers x width": f"{config['layers']} x {config['d_model']}",
        "block": config["block_size"],
        "steps": config["steps"],
        "learning rate": config["lr"],
        "seed": config["seed"],
        "held-out loss": float(held_out.iloc[-1]),
        "symmetry, start": float(layers["symmetry"].iloc[0]),
        "symmetry, end": float(layers["symmetry"].iloc[-1]),
        "directionality, end": float(layers["directionality"].iloc[-1]),
        "minutes": round(run.about["seconds"] / 60, 1),
    }


def read_levels(folder: Path) -> dict[tuple[int, int], np.ndarray]:
    """The pictures of a run as they are stored, in 8-bit levels, by (layer, step); none if it kept none."""
    if not (folder / "images.npz").exists():
        return {}
    with np.load(folder / "images.npz", allow_pickle=False) as arrays:
        return {(int(name.split("-")[1]), int(name.split("-")[3])): arrays[name] for name in arrays.files}


def write_run(
    folder: Path,
    about: dict[str, Any],
    history: list[dict],
    scores: list[dict],
    pictures: dict[tuple[int, int], np.ndarray],
) -> None:
    """Write the record, each file in one step; run.json comes last.

    Raises:
        OSError: the folder cannot be written; what was there stays.
    """
    for name, rows, columns in (("history", history, HISTORY_COLUMNS), ("scores", scores, SCORE_COLUMNS)):
        with atomic_path(folder / f"{name}.parquet") as path:
            pd.DataFrame(rows, columns=list(columns)).to_parquet(path, index=False)
    with atomic_path(folder / "images.npz") as path:
        np.savez_compressed(path, **{f"layer-{layer}-step-{step}": p for (layer, step), p in pictures.items()})
    write_text(folder / "run.json", json.dumps(about, indent=1) + "\n")


def hardware(device: str) -> dict[str, Any]:
    """What a run computes on."""
    found = {"cpu": _processor(), "cores": os.cpu_count() or 0, "threads": torch.get_num_threads(), "device": device}
    if device.startswith("cuda"):
        found |= {"gpu": torch.cuda.get_device_name(), "gpus": torch.cuda.device_count()}
    return found


def versions() -> dict[str, str]:
    """Versions of what computes, and the commit of this project where it is a checkout."""
    import accelerate
    import numpy
    import tokenizers
    import transformers

    libraries = (attngeo, torch, transformers, accelerate, tokenizers, numpy)
    found = {library.__name__: str(library.__version__) for library in libraries}
    return found | {"python": platform.python_version(), "commit": _commit()}


def _about(path: Path) -> dict[str, Any]:
    try:
        about = json.loads(path.read_text("utf-8"))
        return about | {"config": dict(about["config"]), "status": about["status"]}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise RunError(f"{path.parent} holds no readable run ({error}); record it again.") from error


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _commit() -> str:
    here = Path(attngeo.__file__).resolve().parents[1]
    command = ["git", "-C", str(here), "rev-parse", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""
