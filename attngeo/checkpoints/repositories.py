"""Where a checkpoint's files are: a local folder, or a repository on the Hub through huggingface_hub and its cache."""

from os import PathLike
from pathlib import Path
from typing import Protocol, runtime_checkable

from attngeo.checkpoints.tensorfiles import SUFFIXES, TensorFile, open_tensors
from attngeo.errors import CheckpointError


@runtime_checkable
class Repository(Protocol):
    """A named set of files."""

    name: str
    revision: str

    def has(self, file: str) -> bool:
        """Whether the file is there."""

    def fetch(self, file: str) -> Path | None:
        """A local path of a small file, None where there is none."""

    def open(self, file: str) -> TensorFile | None:
        """A file of tensors, None where there is none."""

    def other_weights(self) -> list[str]:
        """Weight files under names of their own, to be tried last."""

    def absent(self, files: str) -> CheckpointError:
        """The error for files that could not be opened."""


class LocalFolder:
    """A folder laid out like a Hub repository. A snapshot in the Hub's cache keeps its repository's name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.name, self.revision = path.resolve().name, ""
        repository = path.resolve().parent.parent.name
        if path.resolve().parent.name == "snapshots" and repository.startswith("models--"):
            self.name, self.revision = repository.removeprefix("models--").replace("--", "/"), path.resolve().name

    def has(self, file: str) -> bool:
        """Whether the file is there."""
        return (self._path / file).is_file()

    def fetch(self, file: str) -> Path | None:
        """Its path, None where there is none."""
        return self._path / file if self.has(file) else None

    def open(self, file: str) -> TensorFile | None:
        """A file of tensors, None where there is none."""
        return open_tensors(self._path / file) if self.has(file) else None

    def other_weights(self) -> list[str]:
        """The one weight file of the folder, where there is exactly one of its kind."""
        for suffix in SUFFIXES:
            found = sorted(path.name for path in self._path.glob(f"*{suffix}"))
            if found:
                return found if len(found) == 1 else []
        return []

    def absent(self, files: str) -> CheckpointError:
        """The error for files that are not there."""
        return CheckpointError(
            f"{self.name} has no weights that can be read: no {files} in {self._path}; fetch the checkpoint again, or"
            f" save it with save_pretrained."
        )


def open_repository(path_or_id: str | PathLike, revision: str | None) -> Repository:
    """The folder of that name, else the Hub repository of that id.

    Raises:
        CheckpointError: neither is there, or the Hub refuses.
    """
    text = str(path_or_id)
    path = Path(path_or_id).expanduser()
    if text.strip() and path.is_dir():
        if revision is not None:
            raise CheckpointError(f"{path} is a local folder, which has no revision {revision!r}; leave it out.")
        return LocalFolder(path)
    if text.startswith((".", "/", "~", "\\")) or text.count("/") > 1 or path.suffix in SUFFIXES or not text.strip():
        raise CheckpointError(f"there is no file or folder {text!r}; check the path.")
    from attngeo.checkpoints.hub import HubRepository

    return HubRepository(text, revision)
