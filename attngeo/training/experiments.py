"""Making the runs of an experiment: in this process, in several, or on the machines of a cluster.

A run is made under a lock beside its folder, so that no two processes make it; the lock goes with the process. What was
cut off goes on from its last checkpoint, and without one starts anew under the same seed.
"""

import shutil
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import Any

from attngeo.errors import AttngeoError
from attngeo.files.workers import spread
from attngeo.runs.experiments import Experiment, ExperimentError, PlannedRun, State, read_experiment
from attngeo.training.config import configure
from attngeo.training.run_folder import CONTENT, RunBusy, claimed, last_checkpoint
from attngeo.training.train import train


class Attempt(str, Enum):
    """What came of the attempt to make one run."""

    MADE = "made"
    THERE = "recorded already"
    ELSEWHERE = "at work elsewhere"


def make_run(folder: Path, name: str, listen: Callable[[dict[str, Any]], None] = lambda row: None) -> Attempt:
    """Make one run, ARM-SEED, of the experiment in a folder, unless it is recorded or another process is at it.

    Raises:
        ExperimentError: the plan has no such run, or cannot be read.
        AttngeoError: as `train` raises it.
    """
    experiment = read_experiment(folder)
    run = next((run for run in experiment.runs if run.name == name), None)
    if run is None:
        raise ExperimentError(
            f"{experiment.name} has no run {name!r}; its plan has {experiment.runs[0].name} and so on."
        )
    config, output = configure(dict(run.settings)), run.folder
    try:
        with claimed(output):
            if run.state is State.RECORDED:
                return Attempt.THERE
            goes_on = (output / "run.json").exists() and last_checkpoint(output) is not None
            for path in () if goes_on else map(output.joinpath, CONTENT):  # of a run without a checkpoint
                shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
            train(config, output, resume=goes_on, listen=listen)
            return Attempt.MADE
    except RunBusy:
        return Attempt.ELSEWHERE


def make_runs(
    experiment: Experiment, runs: Sequence[PlannedRun], workers: int = 0, scheduler: str = ""
) -> Iterator[tuple[PlannedRun, Attempt | AttngeoError]]:
    """Make runs in their order; yield each as it ends, with its outcome or the error that ended it.

    They are made here, or by processes on this machine or on a cluster (`attngeo.files.workers.spread`).

    Raises:
        WorkersError: the scheduler cannot be reached.
        MissingExtra: dask.distributed is not installed.
    """
    if not (workers or scheduler):
        for run in runs:
            try:
                yield run, make_run(experiment.folder, run.name)
            except AttngeoError as error:
                if error.exit_code != AttngeoError.exit_code:
                    raise  # who interrupts one run means the others too
                yield run, error
        return
    folder = experiment.folder.resolve()
    named = {f"{folder}/{run.name}": run for run in runs}
    calls = {key: (folder, run.name) for key, run in named.items()}
    for key, outcome in spread(make_run, calls, workers, scheduler):
        yield named[key], outcome
