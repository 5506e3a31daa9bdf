"""A training run on disk: what was run, and what was measured on the way.

<run>/run.json         configuration, text, tokenizer, model, hardware, versions, totals, status
      history.parquet  one row per record: step, tokens, seconds, loss, held_out_loss, learning_rate
      scores.parquet   one row per record, layer and head (-1: sum over heads): both scores; in the rows of layers how
                       their heads add up (`attngeo.bilinear.coherence`); of models with a table of positions the
                       symmetry by octave of that table (`attngeo.bilinear.waves`)
      images.npz       W_qk of the first and the last layer as pictures, at the first and the last step at least
      model/           the trained model and its tokenizer
      checkpoints/     what is needed to go on; gone when the run is finished, unless it keeps them
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from attngeo.errors import AttngeoError
from attngeo.files.atomic import atomic_path, write_text
from attngeo.inputs import Setting, cause, checked, read_json

FINISHED = "finished"
PLAN = "experiment.yml"  # beside the runs of an experiment
# Settings that came after the first recorded runs, with the value that was in force before: a run recorded without one
# is read with that value, and so stays equal to runs recorded with it.
IN_FORCE: dict[str, Any] = {
    "picture_every": 0,
    "keep_checkpoints": False,
    "logit_scale": 1.0,
    "positions": "learned",
    "values": "trained",
    "position_table": "trained",
    "window_near": 0,
    "window_far": None,
    "hidden_share": 0.8,
    "random_share": 0.1,
    "read_left": 0,
    "noise_right": 0.0,
}


# columns of the tables by their types
HISTORY = {"step": "int64"} | dict.fromkeys(("seconds", "loss", "held_out_loss", "learning_rate"), "float64")
SCORES = dict.fromkeys(("step", "layer", "head"), "int64") | dict.fromkeys(("symmetry", "directionality"), "float64")


class RunError(AttngeoError):
    """A run cannot be found, read, continued or written."""


class _About(msgspec.Struct):
    """What of run.json is relied on."""

    config: dict[str, Setting]
    status: str
    seconds: float = 0.0
    corpus: dict[str, Any] | None = None
    versions: dict[str, str | None] | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded run."""

    name: str  # of its folder, after that of its experiment: matrix_spaced-mlm/random-0
    about: dict[str, Any]  # run.json
    history: pd.DataFrame  # as the module's head has it
    scores: pd.DataFrame
    pictures: dict[tuple[int, int], np.ndarray]  # by layer and step, in units of the saturation level

    @property
    def config(self) -> dict[str, Any]:
        """The configuration, names and values."""
        return self.about["config"]

    def layer_scores(self) -> pd.DataFrame:
        """Rows of the layers' summed forms (Eq. S20), which the paper's figures of training show."""
        return self.scores[self.scores["head"] == -1]

    def by_layer(self, score: str) -> pd.DataFrame:
        """A score of the layers' summed forms: a row per recorded step, a column per layer, the first layer first."""
        return self.layer_scores().pivot(index="step", columns="layer", values=score)

    def curve(self, name: str) -> pd.Series:
        """Over steps: a loss in nats per predicted token, or a score as the median over layers of the summed forms.

        Raises:
            RunError: the run recorded no such number.
        """
        return self._curve(name).copy()

    @cache  # noqa: B019  runs that are read stay anyway, see `read_run`
    def _curve(self, name: str) -> pd.Series:
        recorded = name in self.history
        curve = self.history.set_index("step")[name].dropna() if recorded else self.by_layer(name).median(axis=1)
        if curve.empty:
            raise RunError(f"The run {self.name} has no {name}; record it again, or leave its folder out.")
        return curve

    def first(self, name: str) -> float:
        """Where `curve` starts: of a score, before the first step."""
        return float(self._curve(name).iloc[0])

    def last(self, name: str) -> float:
        """Where `curve` ends."""
        return float(self._curve(name).iloc[-1])


def read_about(folder: Path) -> dict[str, Any]:
    """The content of run.json, its configuration with every setting (`IN_FORCE`).

    Raises:
        RunError: there is none, or it is damaged.
    """
    refuse = partial(_unreadable, folder)
    about = read_json(folder / "run.json", dict[str, Any], refuse)
    return about | {"config": IN_FORCE | checked(about, _About, refuse).config}


def read_run(folder: Path) -> Run:
    """A run from its folder.

    Raises:
        RunError: a file is missing or damaged.
    """
    about = Path(folder) / "run.json"  # written last
    return _read(Path(folder), about.stat().st_mtime_ns if about.exists() else 0)


@cache  # what a page reads several times is read once
def _read(folder: Path, written: int) -> Run:
    about = read_about(folder)
    try:
        history, scores = _table(folder / "history.parquet", HISTORY), _table(folder / "scores.parquet", SCORES)
        pictures = read_levels(folder)
    except Exception as error:  # damaged bytes make pandas, pyarrow, numpy and zipfile raise anything
        raise _unreadable(folder, cause(error)) from error
    name = f"{folder.parent.name}/{folder.name}" if (folder.parent / PLAN).exists() else folder.name
    return Run(name, about, history, scores, {k: v.astype(np.float32) / 127 for k, v in pictures.items()})


def read_runs(folder: Path, keep: Callable[[dict[str, Any]], bool] = lambda config: True) -> list[Run]:
    """All finished runs in a folder, by name, of configurations to ``keep``; none is an empty list.

    Raises:
        RunError: one of them is damaged.
    """
    runs = []
    for path in sorted(Path(folder).glob("*/run.json")):
        about = read_about(path.parent)
        if about["status"] == FINISHED and keep(about["config"]):
            runs.append(read_run(path.parent))
    return runs


def _table(file: Path, columns: dict[str, str]) -> pd.DataFrame:
    """A table, if it has these columns and no gap in those of whole numbers."""
    table = pd.read_parquet(file)
    if table.empty or columns.items() - table.dtypes.astype(str).to_dict().items():
        raise ValueError(f"{file.name} has not the columns {', '.join(columns)}, or no rows")
    return table


def _unreadable(folder: Path, why: str) -> RunError:
    return RunError(f"{folder} holds no readable run ({why}); record it again.")


def read_levels(folder: Path) -> dict[tuple[int, int], np.ndarray]:
    """The pictures of a run as they are stored, in 8-bit levels, by (layer, step); none if it kept none."""
    if not (folder / "images.npz").exists():
        return {}
    with (folder / "images.npz").open("rb") as file, np.load(file) as arrays:  # which leaves a damaged one open
        places = {name: name.split("-") for name in arrays}
        return {(int(layer), int(step)): arrays[name] for name, (_, layer, _, step) in places.items()}


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
    for name, rows in (("history", history), ("scores", scores)):
        with atomic_path(folder / f"{name}.parquet") as path:
            pd.DataFrame(rows).to_parquet(path, index=False)
    with atomic_path(folder / "images.npz") as path:
        np.savez_compressed(path, **{f"layer-{layer}-step-{step}": p for (layer, step), p in pictures.items()})
    write_text(folder / "run.json", json.dumps(about, indent=1) + "\n")
