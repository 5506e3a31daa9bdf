"""The base class of folders and repositories with the files of a checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from attngeo.checkpoints.tensorfiles import TensorFile, open_tensors
from attngeo.errors import CheckpointError
from attngeo.inputs import read_json


@runtime_checkable
class Repository(Protocol):
    """A named set of files, which is a folder (`repositories`) or a repository on the Hub (`hub`)."""

    name: str
    revision: str

    def fetch(self, file: str) -> Path | None:
        """The local path of a small file, or None if there is no such file."""
        ...

    def json(self, file: str) -> Mapping | None:
        """The content of a JSON file that contains an object, or None if there is no such file."""
        path = self.fetch(file)
        if path is None:
            return None
        return read_json(
            path,
            dict[str, Any],
            lambda why: CheckpointError(f"{file} of {self.name} cannot be read ({why}); correct it or fetch it again."),
        )

    def open(self, file: str) -> TensorFile | None:
        """A file with tensors, or None if there is no such file."""
        path = self.fetch(file)
        return None if path is None else open_tensors(path)

    def other_weights(self) -> list[str]:
        """The names of weight files with unusual names, which are tried last."""
        return []

    def absent(self, files: str) -> CheckpointError:
        """The error for files that could not be opened."""
        ...
