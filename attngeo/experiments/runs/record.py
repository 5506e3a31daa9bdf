"""Training runs on disk: what was run, and what was measured on the way.

While a run is made, it has a folder of its own:

    <run>/run.json         configuration, text, tokenizer, model, hardware, versions, totals, status
          history.parquet  one row per record: step, tokens, seconds, loss, held_out_loss, learning_rate
          scores.parquet   one row per record, layer and head (-1: sum over heads): both scores; in the rows of layers
                           how their heads add up (`attngeo.bilinear.coherence`); of models with a table of positions
                           the symmetry by octave of that table (`attngeo.bilinear.waves`)
          images.npz       W_qk of the first and the last layer as pictures, at the first and the last step at least
          model/           the trained model and its tokenizer
          checkpoints/     what is needed to go on; gone when the run is finished, unless it keeps them

`merge_runs` in `writing` moves finished runs of an experiment into its tables, in which each run is named:

    <experiment>/runs.json        the content of each run.json, one run per line
                 history.parquet  the rows of all runs, with the column run
                 scores.parquet
                 images.npz       the pictures of all runs, as run/layer-L-step-S

The functions that read a run find it in either place.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd

from attngeo.errors import AttngeoError
from attngeo.inputs import Setting, cause, checked, read_json

FINISHED = "finished"
PLAN = "experiment.yml"  # next to the runs of an experiment
ABOUT, ALL_ABOUT = "run.json", "runs.json"  # file names in the folder of a run and of an experiment
TABLES = ("history", "scores")
# Settings that were added after the first runs were recorded, with the value that was used before. A run that was
# recorded without a setting is read with this value, so that it can be compared with runs that were recorded with it.
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


# the types of columns that both tables must have
HISTORY = {"step": "int64"} | dict.fromkeys(("seconds", "loss", "held_out_loss", "learning_rate"), "float64")
SCORES = dict.fromkeys(("step", "layer", "head"), "int64") | dict.fromkeys(("symmetry", "directionality"), "float64")


class RunError(AttngeoError):
    """A run cannot be found, read, continued or written."""


class _About(msgspec.Struct):
    """The entries of run.json that we rely on."""

    config: dict[str, Setting]
    status: str
    seconds: float = 0.0
    corpus: dict[str, Any] | None = None
    versions: dict[str, str | None] | None = None


@dataclass(frozen=True, eq=False)
class Run:
    """A recorded run."""

    name: str  # experiment and run: matrix_spaced-mlm/random-0
    about: dict[str, Any]  # run.json
    history: pd.DataFrame  # see the docstring of the module
    scores: pd.DataFrame
    pictures: dict[tuple[int, int], np.ndarray]  # by (layer, step); 1 is the level at which a picture saturates

    @property
    def config(self) -> dict[str, Any]:
        """The settings of the run, by name."""
        return self.about["config"]

    def layer_scores(self) -> pd.DataFrame:
        """The rows of layers whose heads are summed (Eq. S20), which the paper's figures of training show."""
        return self.scores[self.scores["head"] == -1]

    def by_layer(self, score: str) -> pd.DataFrame:
        """A score of the layers, with their heads summed: a row per recorded step, a column per layer."""
        return self._by_layer(score).copy()

    @cache  # noqa: B019  `read_run` keeps runs in memory anyway
    def _by_layer(self, score: str) -> pd.DataFrame:
        return self.layer_scores().pivot(index="step", columns="layer", values=score)

    def curve(self, name: str) -> pd.Series:
        """A loss in nats per predicted token, or the median over layers of a score, at each recorded step.

        Raises:
            RunError: the run recorded no such number.
        """
        return self._curve(name).copy()

    @cache  # noqa: B019  `read_run` keeps runs in memory anyway
    def _curve(self, name: str) -> pd.Series:
        recorded = name in self.history
        curve = self.history.set_index("step")[name].dropna() if recorded else self._by_layer(name).median(axis=1)
        if curve.empty:
            raise RunError(f"The run {self.name} has no {name}; record it again, or leave its folder out.")
        return curve

    def first(self, name: str) -> float:
        """The first value of `curve`. For a score, this is the value before the first step."""
        return float(self._curve(name).iloc[0])

    def last(self, name: str) -> float:
        """The last value of `curve`."""
        return float(self._curve(name).iloc[-1])


def read_about(folder: Path) -> dict[str, Any]:
    """The content of a run's run.json, its configuration with every setting (`IN_FORCE`).

    Raises:
        RunError: there is none, or it is damaged.
    """
    about = raw_about(folder)
    return about | {"config": IN_FORCE | checked(about, _About, partial(unreadable, folder)).config}


def is_recorded(folder: Path) -> bool:
    """Whether anything is recorded of the run that belongs in a folder, finished or not."""
    return (folder / ABOUT).exists() or folder.name in merged_runs(folder.parent)


def read_run(folder: Path) -> Run:
    """A run by the folder in which it was made, also after its record was merged into the tables of its experiment.

    Raises:
        RunError: a file is missing or damaged.
    """
    folder = Path(folder)
    about = folder.parent / ALL_ABOUT if _is_merged(folder) else folder / ABOUT
    return _read(folder, about.stat().st_mtime_ns if about.exists() else 0)  # the file that is written last


@cache  # pages read the same run several times
def _read(folder: Path, written: int) -> Run:
    about = read_about(folder)
    try:
        if _is_merged(folder):
            history, scores = (_rows_by_run(folder.parent, name, written)[folder.name] for name in TABLES)
        else:
            history, scores = (pd.read_parquet(folder / f"{name}.parquet") for name in TABLES)
        _require_columns(history, HISTORY)
        _require_columns(scores, SCORES)
        pictures = read_levels(folder)
    except Exception as error:  # damaged bytes make pandas, pyarrow, numpy and zipfile raise anything
        raise unreadable(folder, cause(error)) from error
    name = f"{folder.parent.name}/{folder.name}" if (folder.parent / PLAN).exists() else folder.name
    return Run(name, about, history, scores, {k: v.astype(np.float32) / 127 for k, v in pictures.items()})


def read_runs(folder: Path, keep: Callable[[dict[str, Any]], bool] = lambda config: True) -> list[Run]:
    """All finished runs in a folder whose configuration ``keep`` accepts, by name; an empty list if there are none.

    Raises:
        RunError: one of them is damaged.
    """
    folder = Path(folder)
    names = {path.parent.name for path in folder.glob(f"*/{ABOUT}")} | merged_runs(folder).keys()
    runs = []
    for name in sorted(names):
        about = read_about(folder / name)
        if about["status"] == FINISHED and keep(about["config"]):
            runs.append(read_run(folder / name))
    return runs


def raw_about(folder: Path) -> dict[str, Any]:
    """The content of a run's run.json as it was written."""
    if _is_merged(folder):
        return merged_runs(folder.parent)[folder.name]
    return read_json(folder / ABOUT, dict[str, Any], partial(unreadable, folder))


def _is_merged(folder: Path) -> bool:
    """Whether a run is to be read from the tables of its experiment; a record in its own folder is newer."""
    return not (folder / ABOUT).exists() and folder.name in merged_runs(folder.parent)


def merged_runs(experiment: Path) -> dict[str, dict[str, Any]]:
    """The content of run.json of each run that was merged into the tables of an experiment."""
    file = experiment / ALL_ABOUT
    return _read_merged(file, file.stat().st_mtime_ns) if file.exists() else {}


@cache
def _read_merged(file: Path, written: int) -> dict[str, dict[str, Any]]:
    return read_json(file, dict[str, dict[str, Any]], partial(unreadable, file.parent))


@cache
def _rows_by_run(experiment: Path, table: str, written: int) -> dict[str, pd.DataFrame]:
    """The rows of a table for each run, without the columns that only other runs have."""
    rows = pd.read_parquet(experiment / f"{table}.parquet")
    runs = rows.pop("run")
    return {
        run: own.dropna(axis="columns", how="all").reset_index(drop=True) for run, own in rows.groupby(runs, sort=False)
    }


def _require_columns(table: pd.DataFrame, columns: dict[str, str]) -> None:
    """Refuse a table without these columns, or with a gap in those of whole numbers."""
    if table.empty or any(name not in table or table[name].dtype != kind for name, kind in columns.items()):
        raise ValueError(f"a table has no rows, or lacks one of the columns {', '.join(columns)}")


def unreadable(folder: Path, why: str) -> RunError:
    """The error for a run that is missing or damaged."""
    return RunError(f"{folder} does not contain a readable run ({why}); record it again.")


def read_levels(folder: Path) -> dict[tuple[int, int], np.ndarray]:
    """The pictures of a run as they are stored, in 8-bit levels, by (layer, step); none if it kept none."""
    file = folder / "images.npz"
    prefix = ""
    if _is_merged(folder):
        file = folder.parent / "images.npz"
        prefix = f"{folder.name}/"
    if not file.exists():
        return {}
    pictures = {}
    with file.open("rb") as opened, np.load(opened) as arrays:  # np.load leaves a damaged file open
        for name in arrays:
            if name.startswith(prefix):
                _, layer, _, step = name.removeprefix(prefix).split("-")
                pictures[int(layer), int(step)] = arrays[name]
    return pictures
