"""Starting, continuing and ending a run: its folder and its checkpoints."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from attngeo.experiments.runs.record import FINISHED, RunError, read_about
from attngeo.experiments.training.config import TrainingConfig

CONTENT = ("run.json", "history.parquet", "scores.parquet", "images.npz", "model", "checkpoints")


class RunBusy(RunError):
    """Another process is making the run."""


@contextmanager
def claimed(output: Path) -> Iterator[None]:
    """Keep other processes from making the run in a folder, by a lock on a file beside the folder.

    The operating system releases the lock when the process ends, however it ends. The file stays.

    Raises:
        RunBusy: another process is making the run.
    """
    folder = output.resolve()
    try:
        with FileLock(folder.with_name(f".{folder.name}.lock"), timeout=0):
            yield
    except Timeout as error:
        raise RunBusy(
            f"another process is making the run in {output}; wait until it ends, or choose another folder."
        ) from error


def saved_config(output: Path) -> dict[str, Any]:
    """The configuration of the run in a folder, names and values.

    Raises:
        RunError: the folder contains no run, or its run.json is damaged.
    """
    if not (output / "run.json").exists():
        raise RunError(f"{output} contains no run to continue; start one without --resume.")
    return read_about(output)["config"]


def require_new(output: Path) -> None:
    """Refuse to start a run where something else is.

    Raises:
        RunError: the run would overwrite another run or lie in the folder of a checkpoint.
    """
    for name in CONTENT:
        if (output / name).is_file() or any((output / name).glob("*")):
            raise RunError(f"{output} already contains {name}; continue a run with --resume, or choose another folder.")
    if (output / "config.json").exists():
        raise RunError(f"{output} contains a checkpoint (config.json); choose another folder for the run.")


def checkpoint_of(config: TrainingConfig, output: Path) -> Path | None:
    """The checkpoint from which the run in a folder is to be continued, or None if the run is finished.

    Raises:
        RunError: the folder contains no run with these settings, or the run has no checkpoint.
    """
    saved = saved_config(output)
    for name, value in asdict(config).items():
        if saved.get(name) != value:
            raise RunError(
                f"{name} is {value!r}, but the run in {output} has {saved.get(name)!r}; continue the run with its own"
                " settings, or choose another folder."
            )
    if read_about(output)["status"] == FINISHED:
        return None
    checkpoint = last_checkpoint(output)
    if checkpoint is None:
        raise RunError(
            f"{output} has no checkpoint to continue from; delete it and start again, with --checkpoint-every N to"
            " save a checkpoint every N steps."
        )
    return checkpoint


def last_checkpoint(output: Path) -> Path | None:
    """The checkpoint of the most steps, or None if there is none.

    The recorder writes run.json into a checkpoint after Trainer has written everything else, so a checkpoint without
    run.json is unfinished.
    """
    finished = [path.parent for path in output.glob("checkpoints/checkpoint-[0-9]*/run.json")]
    return max(finished, key=lambda checkpoint: int(checkpoint.name.removeprefix("checkpoint-")), default=None)


def drop_checkpoints(config: TrainingConfig, output: Path) -> None:
    """Remove the checkpoints of a finished run, unless its settings say to keep them."""
    if not config.keep_checkpoints:
        shutil.rmtree(output / "checkpoints", ignore_errors=True)
