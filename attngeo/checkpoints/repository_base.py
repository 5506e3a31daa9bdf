"""The base class of what holds the files of a checkpoint."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from attngeo.checkpoints.tensorfiles import TensorFile, open_tensors
from attngeo.errors import CheckpointError
from attngeo.inputs import read_json


@runtime_checkable
class Repository(Protocol):
    """A named set of files: in `repositories` a folder, in `hub` a repository on the Hub."""

    name: str
    revision: str

    def fetch(self, file: str) -> Path | None:
        """A local path of a small file, None where there is none."""
        ...

    def json(self, file: str) -> Mapping | None:
        """The content of a JSON file that holds an object, None where there is no such file."""
        path = self.fetch(file)
        if path is None:
            return None
        return read_json(
            path,
            dict[str, Any],
            lambda why: CheckpointError(f"{file} of {self.name} cannot be read ({why}); correct it or fetch it again."),
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
        ...
