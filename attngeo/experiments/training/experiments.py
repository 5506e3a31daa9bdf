"""Making the runs of an experiment: in this process, in several processes, or on the machines of a cluster.

Each run is made under a lock beside its folder, so that several processes never make the same run. A run that was cut
off continues from its last checkpoint; without a checkpoint it starts anew with the same seed.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from attngeo.errors import AttngeoError
from attngeo.experiments.runs.experiments import Experiment, ExperimentError, PlannedRun, State, read_experiment
from attngeo.experiments.training.config import configure
from attngeo.experiments.training.run_folder import CONTENT, RunBusy, claimed, last_checkpoint
from attngeo.experiments.training.train import train
from attngeo.experiments.workers import spread


class Attempt(str, Enum):
    """The outcome of the attempt to make one run."""

    MADE = "made"
    THERE = "recorded already"
    ELSEWHERE = "at work elsewhere"


def make_run(folder: Path, name: str, listen: Callable[[dict[str, Any]], None] = lambda row: None) -> Attempt:
    """Make one run, ARM-SEED, of the experiment in a folder, unless it is recorded or another process is making it.

    Raises:
        ExperimentError: the plan has no such run, or cannot be read.
        AttngeoError: as `train` raises it.
    """
    experiment = read_experiment(folder)
    run = next((run for run in experiment.runs if run.name == name), None)
    if run is None:
        raise ExperimentError(
            f"{experiment.name} has no run {name!r}; the runs of its plan are {experiment.runs[0].name} and so on."
        )
    config, output = configure(dict(run.settings)), run.folder
    try:
        with claimed(output):
            if run.state is State.RECORDED:
                return Attempt.THERE
            continued = (output / "run.json").exists() and last_checkpoint(output) is not None
            if not continued:
                _clear(output)
            train(config, output, resume=continued, listen=listen)
            return Attempt.MADE
    except RunBusy:
        return Attempt.ELSEWHERE


def _clear(output: Path) -> None:
    """Remove the files of a run that was interrupted before its first checkpoint."""
    for name in CONTENT:
        path = output / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def make_runs(
    experiment: Experiment, runs: Sequence[PlannedRun], workers: int = 0, scheduler: str = ""
) -> Iterator[tuple[PlannedRun, Attempt | AttngeoError]]:
    """Make runs in their order, and yield each with its outcome or the error that ended it.

    They are made here, or on ``workers`` or the workers of a ``scheduler`` (`attngeo.experiments.workers.spread`).

    Raises:
        TrainingStopped: a signal ended a run that was made here; the runs after it are not begun.
        WorkersError: the scheduler cannot be reached.
        MissingExtra: dask.distributed is not installed.
    """
    folder = experiment.folder.resolve()
    named = {f"{folder}/{run.name}": run for run in runs}
    calls = {key: (folder, run.name) for key, run in named.items()}
    for key, outcome in spread(make_run, calls, workers, scheduler):
        interrupted = isinstance(outcome, AttngeoError) and outcome.exit_code != AttngeoError.exit_code
        if interrupted and not (workers or scheduler):
            raise outcome
        yield named[key], outcome
