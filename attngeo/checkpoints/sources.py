"""What a path or an id stands for: a local folder, or a repository on the Hub."""

from os import PathLike
from pathlib import Path

from attngeo.bounds import local_path
from attngeo.checkpoints.repositories import LocalFolder, Repository
from attngeo.checkpoints.tensorfiles import SUFFIXES
from attngeo.errors import CheckpointError


def open_repository(path_or_id: str | PathLike, revision: str | None = None, first: str = "config.json") -> Repository:
    """The folder of that name, else the Hub repository of that id, which must have the file ``first``."""
    text = str(path_or_id)
    path = local_path(path_or_id, CheckpointError)
    if text.strip() and path.is_dir():
        if revision is not None:
            raise CheckpointError(f"{path} is a local folder, which has no revision {revision!r}; leave it out.")
        return LocalFolder(path)
    if text.startswith((".", "/", "~", "\\")) or text.count("/") > 1 or path.suffix in SUFFIXES or not text.strip():
        raise CheckpointError(f"there is no file or folder {text!r}; check the path.")
    from attngeo.checkpoints.hub import HubRepository

    return HubRepository(text, revision, first)


def saved_steps(folder: Path) -> list[Path]:
    """The checkpoints that a run has left in a folder or its ``checkpoints/``, by step, and its final model.

    That is ``model/``, or the folder itself. Empty where the folder holds nothing of the kind.
    """
    found = [
        path for path in (*folder.glob("checkpoint-*"), *folder.glob("checkpoints/checkpoint-*")) if _is_saved(path)
    ]
    steps = [path for path in found if path.name.rpartition("-")[2].isdecimal()]
    last = [path for path in (folder / "model", folder) if _is_saved(path)]
    return sorted(steps, key=lambda path: int(path.name.rpartition("-")[2])) + last[:1]


def _is_saved(folder: Path) -> bool:
    return any((folder / name).is_file() for name in ("config.json", "adapter_config.json"))
