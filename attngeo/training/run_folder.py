"""Starting, continuing and ending a run: its folder, its checkpoints, and the room that they need."""

import errno
import logging
import os
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from filelock import FileLock, Timeout

from attngeo.files.atomic import write_text
from attngeo.files.manifest import MANIFEST, damage
from attngeo.runs.record import FINISHED, RunError, read_about
from attngeo.training.config import TrainingConfig
from attngeo.training.corpora.documents import Corpus
from attngeo.training.corpora.vocabulary import Vocabulary

logger = logging.getLogger(__name__)
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
BYTES_PER_WEIGHT = 12  # of a checkpoint: the weight and two moments, 4 each
BYTES_IN_TRAINING = 16  # and the gradient
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
    with ExitStack() as held:
        try:
            held.enter_context(FileLock(folder.parent / f".{folder.name}.lock", timeout=0))
        except Timeout as error:
            raise RunBusy(
                f"another process is making the run in {output}; wait for its end, or choose another folder."
            ) from error
        except OSError:
            pass  # beside it nothing can be written; where in it neither, `require_room` says so
        yield


def saved_config(output: Path) -> dict[str, Any]:
    """The configuration of the run in a folder, names and values.

    A run.json that is damaged or gone is restored from the last whole checkpoint, which has its own.

    Raises:
        RunError: there is none.
    """
    try:
        return read_about(output)["config"]
    except RunError as error:
        if checkpoint := last_checkpoint(output):
            about = read_about(checkpoint)
            logger.warning("%s could not be read and is restored from %s.", output / "run.json", checkpoint)
            write_text(output / "run.json", (checkpoint / "run.json").read_text("utf-8"))
            return about["config"]
        if (output / "run.json").exists():
            raise RunError(
                f"{output / 'run.json'} is damaged, and no whole checkpoint is there to restore it from; bring back"
                " what it was, or start a new run in another folder."
            ) from error
        raise RunError(f"{output} holds no run to continue; start one without --resume.") from error


def starting_point(config: TrainingConfig, output: Path, resume: bool) -> Path | None:
    """The checkpoint to continue from; None for a new run, and for a finished one that is to be resumed.

    Raises:
        RunError: a new run would overwrite one, or there is nothing to continue with these settings.
    """
    if not resume:
        if (output / "run.json").exists():
            raise RunError(f"{output} already holds a run; continue it with --resume, or choose another folder.")
        for name in CONTENT:
            if (output / name).is_file() or any((output / name).glob("*")):
                raise RunError(f"{output} already holds {name}, which a run would replace; choose another folder.")
        return None
    _require_same_settings(config, output)
    about = read_about(output)
    if about["status"] == FINISHED and about.get("steps_done") == config.steps:
        return None
    checkpoint = last_checkpoint(output)
    if checkpoint is None:
        raise RunError(
            f"{output} has no whole checkpoint to continue from; delete it and start again, with --checkpoint-every N"
            " for one after N steps."
        )
    _require_same_settings(config, checkpoint)  # run.json may have been altered since
    return checkpoint


def last_checkpoint(output: Path) -> Path | None:
    """The checkpoint of the most steps that is whole, None where there is none; those passed over are named."""
    found = [path for path in output.glob("checkpoints/checkpoint-*") if path.name.rpartition("-")[2].isdecimal()]
    for checkpoint in sorted(found, key=lambda path: int(path.name.rpartition("-")[2]), reverse=True):
        if not (what := damage(checkpoint)):
            return checkpoint
        logger.warning("%s is unfinished or damaged (%s) and passed over.", checkpoint, what)
    return None


def _require_same_settings(config: TrainingConfig, folder: Path) -> None:
    saved = saved_config(folder)
    for name, value in asdict(config).items():
        if saved.get(name) != value:
            raise RunError(
                f"{name} is {value!r}, but the run in {folder} has {saved.get(name)!r}; a run continues with its own"
                " settings, others need another folder."
            )


def require_same_text(output: Path, corpus: Corpus, vocabulary: Vocabulary) -> None:
    """Refuse to continue a run whose text or tokenizer has changed: its curve would not be that of an unbroken run.

    Raises:
        RunError: one of them has.
    """
    about = read_about(output)
    for what, found in (("corpus", corpus), ("tokenizer", vocabulary)):
        if about[what]["sha256"] != found.digest:
            raise RunError(
                f"{what} {found.name} has changed since {output} was written; bring back what it was, or start a"
                " new run in another folder."
            )


def require_room(output: Path, weights: int, activations: int, cpu: bool) -> None:
    """Refuse to start without memory for the model, or disk for it and three checkpoints (two kept, one written).

    A model for another device than the CPU is only built there. A step holds so many activations at least.

    Raises:
        RunError: there is too little of either, or the folder cannot be made.
    """
    import psutil  # comes with accelerate

    memory, held = psutil.virtual_memory().total, (BYTES_IN_TRAINING if cpu else 4) * weights
    step = 2 * activations if cpu else 0  # in bf16
    if held + step > memory:
        raise RunError(
            f"a model of {weights:.2g} weights needs {held / 1e9:,.0f} GB of memory and each step {step / 1e9:,.0f} GB,"
            f" and this machine has {memory / 1e9:,.0f} GB; take a smaller model, or less at a time by micro_batch."
        )
    kept = len(list(output.glob("checkpoints/checkpoint-*")))
    needed = (BYTES_PER_WEIGHT * max(1, 3 - kept) + 4) * weights
    try:
        output.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RunError(f"the folder {output} cannot be made ({error.strerror}); name another one.") from error
    free = shutil.disk_usage(output).free
    if free < needed:
        raise RunError(f"{output} has {free / 1e6:,.1f} MB free, and checkpoints need {needed / 1e6:,.1f} MB.")


def is_full(error: Exception) -> bool:
    """Whether a write failed for want of space, as Python, safetensors (in Rust) or torch.save (in C++) say it."""
    text = str(error)
    return (
        (isinstance(error, OSError) and error.errno in FULL)
        or any(f"(os error {number})" in text for number in FULL)
        or any(word in text for word in ("PytorchStreamWriter", "inline_container", "iostream error"))
    )


def is_out_of_memory(error: Exception) -> bool:
    """Whether memory was refused, as Python, torch on a GPU, or torch on a CPU say it."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "DefaultCPUAllocator" in str(error)


def drop_checkpoints(config: TrainingConfig, output: Path) -> None:
    """Remove what a finished run no longer needs; a kill may have left some of it."""
    if not config.keep_checkpoints:
        shutil.rmtree(output / "checkpoints", ignore_errors=True)


def drop_unfinished(output: Path) -> None:
    """Remove checkpoints that were not completed."""
    for folder in output.glob("checkpoints/checkpoint-*"):
        if not (folder / MANIFEST).exists():
            shutil.rmtree(folder, ignore_errors=True)
