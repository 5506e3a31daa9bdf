"""Where a checkpoint's files are: a local folder, or (`hub`) a repository on the Hub."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attngeo.checkpoints.tensorfiles import SUFFIXES, TensorFile, open_tensors
from attngeo.errors import CheckpointError
from attngeo.inputs import read_json

OF_TRAINER = ("optimizer", "scheduler", "training_args", "rng_state", "random_states", "scaler")  # beside weights


class Repository:
    """A named set of files."""

    name: str
    revision: str

    def fetch(self, file: str) -> Path | None:
        """A local path of a small file, None where there is none."""
        raise NotImplementedError

    def json(self, file: str) -> Mapping | None:
        """The content of a JSON file that holds an object, None where there is no such file."""
        path = self.fetch(file)
        if path is None:
            return None
        return read_json(
            path,
            dict[str, Any],
            lambda why: CheckpointError(f"{file} of {self.name} cannot be read ({why}); mend or fetch it again."),
        )

    def open(self, file: str) -> TensorFile | None:
        """A file of tensors, None where there is none."""
        path = self.fetch(file)
        return None if path is None else open_tensors(path)

    def other_weights(self) -> list[str]:
        """Weight files under names of their own, to be tried last."""
        return []

    def absent(self, files: str) -> CheckpointError:
        """The error for files that could not be opened."""
        raise NotImplementedError


class LocalFolder(Repository):
    """A folder laid out like a Hub repository. A snapshot in the Hub's cache keeps its repository's name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name, self.revision = os.fsencode(path.resolve().name).decode(errors="replace"), ""
        repository = path.resolve().parent.parent.name
        if path.resolve().parent.name == "snapshots" and repository.startswith("models--"):
            self.name, self.revision = repository.removeprefix("models--").replace("--", "/"), path.resolve().name

    def fetch(self, file: str) -> Path | None:
        """Its path, None where there is none."""
        return self.path / file if (self.path / file).is_file() else None

    def other_weights(self) -> list[str]:
        """The one weight file of the folder, where there is exactly one of its kind."""
        found = weight_names(self.path)
        return found if len(found) == 1 else []

    def absent(self, files: str) -> CheckpointError:
        """The error for files that are not there, with the way out that what is there instead suggests."""
        configured, names = (self.path / "config.json").is_file(), set(re.split(r"[ ,()]+", files))
        if broken := [path.name for path in self.path.glob("*") if path.name in names and not path.is_file()]:
            why = f"has a {broken[0]} that is no file, or a link to nothing; fetch the checkpoint again"
        elif not configured and (self.path / "adapter_config.json").is_file():
            why = f"is an adapter and no model; score its base with it: attngeo score BASE --adapter {self.path}"
        elif inside := [path for path in saved_steps(self.path) if path != self.path]:
            why = f"is no checkpoint itself and holds {len(inside)}; score one, such as: attngeo score {inside[-1]}"
        elif not configured:
            why = "has no config.json, which tells architecture and heads; model.config.save_pretrained writes one"
        else:
            why = f"has no {files} that can be read; fetch the checkpoint again, or save it with save_pretrained"
        return CheckpointError(f"{self.path} {why}.")


def weight_names(folder: Path) -> list[str]:
    """Names of the weight files in a folder, of the first kind that is there."""
    for suffix in SUFFIXES:
        if found := sorted(path.name for path in folder.glob(f"*{suffix}") if not path.name.startswith(OF_TRAINER)):
            return found
    return []


def saved_steps(folder: Path) -> list[Path]:
    """The checkpoints that a run has left in a folder or its ``checkpoints/``, by step, and its final model.

    That is ``model/``, or the folder itself. Empty where the folder holds nothing of the kind.
    """
    folders = (*folder.glob("checkpoint-*"), *folder.glob("checkpoints/checkpoint-*"))
    steps = [path for path in folders if _is_saved(path) and path.name.rpartition("-")[2].isdecimal()]
    last = [path for path in (folder / "model", folder) if _is_saved(path)]
    return sorted(steps, key=lambda path: int(path.name.rpartition("-")[2])) + last[:1]


def _is_saved(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("config.json", "adapter_config.json"))
