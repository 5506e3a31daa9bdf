"""Starting, continuing and ending a run: its folder and its checkpoints."""

import errno
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from attngeo.files.atomic import write_text
from attngeo.files.manifest import damage
from attngeo.inputs import cause
from attngeo.runs.record import FINISHED, RunError, read_about
from attngeo.training.config import TrainingConfig
from attngeo.training.corpora.documents import Corpus
from attngeo.training.corpora.vocabulary import Vocabulary

logger = logging.getLogger(__name__)
DISK_FULL = ("(os error 28)", "PytorchStreamWriter", "inline_container", "iostream error")
CONTENT = ("run.json", "history.parquet", "scores.parquet", "images.npz", "model", "checkpoints")


class RunBusy(RunError):
    """Another process is making the run."""


@contextmanager
def claimed(output: Path) -> Iterator[None]:
    """Keep other processes from the run in a folder, by a lock beside it that goes with the process; its file stays.

    Raises:
        RunBusy: another process is making the run.
    """
    folder = Path(os.path.realpath(output))
    try:
        with FileLock(folder.parent / f".{folder.name}.lock", timeout=0):
            yield
    except Timeout as error:
        raise RunBusy(
            f"another process is making the run in {output}; wait for its end, or choose another folder."
        ) from error


def saved_config(output: Path) -> dict[str, Any]:
    """The configuration of the run in a folder, names and values; a lost run.json comes back from the last checkpoint.

    Raises:
        RunError: there is none.
    """
    try:
        return read_about(output)["config"]
    except RunError as error:
        if checkpoint := last_checkpoint(output):
            logger.warning("%s could not be read and is restored from %s.", output / "run.json", checkpoint)
            write_text(output / "run.json", (checkpoint / "run.json").read_text("utf-8"))
            return read_about(output)["config"]
        if (output / "run.json").exists():
            raise
        raise RunError(f"{output} holds no run to continue; start one without --resume.") from error


def starting_point(config: TrainingConfig, output: Path, resume: bool) -> Path | None:
    """The checkpoint to continue from; None for a new run, and for a finished one that is to be resumed.

    Raises:
        RunError: a new run would overwrite one or lie in the folder of a checkpoint, or there is nothing to continue
            with these settings.
    """
    if not resume:
        if there := [name for name in CONTENT if (output / name).is_file() or any((output / name).glob("*"))]:
            raise RunError(
                f"{output} already holds {there[0]}; continue a run with --resume, or choose another folder."
            )
        if (output / "config.json").exists():
            raise RunError(f"{output} holds a checkpoint (config.json); choose another folder for the run.")
        return None
    saved = saved_config(output)
    for name, value in asdict(config).items():
        if saved.get(name) != value:
            raise RunError(
                f"{name} is {value!r}, but the run in {output} has {saved.get(name)!r}; a run continues with its own"
                " settings, others need another folder."
            )
    if read_about(output)["status"] == FINISHED:
        return None
    if (checkpoint := last_checkpoint(output)) is None:
        raise RunError(
            f"{output} has no whole checkpoint to continue from; delete it and start again, with --checkpoint-every N"
            " for one after N steps."
        )
    return checkpoint


def last_checkpoint(output: Path) -> Path | None:
    """The checkpoint of the most steps that is whole, None where there is none; those passed over are named."""
    found = {path.name.removeprefix("checkpoint-"): path for path in output.glob("checkpoints/checkpoint-*")}
    for step in sorted(filter(str.isdecimal, found), key=int, reverse=True):
        checkpoint = found[step]
        if not (what := damage(checkpoint)):
            return checkpoint
        logger.warning("%s is unfinished or damaged (%s) and passed over.", checkpoint, what)
    return None


def require_same_text(checkpoint: Path, corpus: Corpus, vocabulary: Vocabulary) -> None:
    """Refuse to continue a run whose text or tokenizer has changed: its curve would not be that of an unbroken run.

    Raises:
        RunError: one of them has.
    """
    about = read_about(checkpoint)
    for what, source in (("corpus", corpus), ("tokenizer", vocabulary)):
        if about[what]["sha256"] != source.digest:
            raise RunError(
                f"{what} {source.name} has changed since {checkpoint} was written; bring back what it was, or start a"
                " new run in another folder."
            )


@contextmanager
def enough_room(output: Path) -> Iterator[None]:
    """One sentence where memory or disk do not suffice, as Python, Rust or C++ say it.

    Raises:
        RunError: one of them does not.
    """
    try:
        yield
    except Exception as error:
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        if full or any(word in str(error) for word in DISK_FULL):
            raise RunError(
                f"{output} cannot be written any more, the disk is full ({cause(error)}); free some space and continue"
                " with --resume."
            ) from error
        if isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "DefaultCPUAllocator" in str(error):
            raise RunError(
                f"memory does not suffice for the run in {output} ({cause(error)}); set micro_batch to less, and"
                " continue with --resume or start anew."
            ) from error
        raise


def drop_checkpoints(config: TrainingConfig, output: Path) -> None:
    """Remove what a finished run no longer needs; a kill may have left some of it."""
    if not config.keep_checkpoints:
        shutil.rmtree(output / "checkpoints", ignore_errors=True)
