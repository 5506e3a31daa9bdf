"""Byte ranges of files on the Hub, kept once read: by repository, commit and file among huggingface_hub's assets."""

import os
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from huggingface_hub import constants

from attngeo.checkpoints.byte_sources import Bytes, LocalBytes
from attngeo.checkpoints.ranges import RemoteBytes


def cache_folder() -> Path:
    """Where they are kept; ``HF_HOME`` or ``HF_ASSETS_CACHE`` moves it."""
    return Path(constants.HF_ASSETS_CACHE) / "attngeo"


def kept_folder(repository: str, commit: str, file: str) -> Path:
    """The folder with the ranges of one file, named as huggingface_hub names its assets."""
    return cache_folder() / repository.replace("/", "--") / commit / file.replace("/", "--")


def sizes() -> dict[tuple[str, str], int]:
    """Bytes kept, by repository and commit."""
    found: dict[tuple[str, str], int] = {}
    for path in sorted(cache_folder().glob("*/*/*/*")):
        place = path.parts[-4].replace("--", "/", 1), path.parts[-3]
        found[place] = found.get(place, 0) + path.stat().st_size
    return found


def clear() -> None:
    """Remove all that is kept."""
    if cache_folder().is_dir():
        shutil.rmtree(cache_folder())


class KeptBytes(Bytes):
    """A remote file: ranges are read from ``folder``, each a file there, and those that it has not are put there.

    ``reach`` finds the remote file as soon as a range is wanted that is not kept, or if none is.
    """

    def __init__(self, name: str, folder: Path, reach: Callable[[], RemoteBytes]) -> None:
        self.name, self._folder, self._reach = name, folder, reach
        self._reached: RemoteBytes | None = None
        size = next((path.name.rpartition("-")[2] for path in folder.glob("*-of-*")), "")
        self.size = int(size) if size.isdecimal() else self._remote().size

    def read(self, start: int, stop: int) -> memoryview:
        """Bytes [start, stop)."""
        if self._is_kept(start, stop):
            return LocalBytes(self._path(start, stop)).read(0, stop - start)
        data = self._remote().read(start, stop)
        with suppress(OSError):  # what cannot be kept is read again
            self._keep(self._path(start, stop), data)
        return data

    def prefetch(self, start: int, stop: int) -> None:
        """Begin to fetch what is not kept."""
        if not self._is_kept(start, stop):
            self._remote().prefetch(start, stop)

    def forget(self) -> None:
        """Stop fetching what was not read."""
        if self._reached is not None:
            self._reached.forget()

    def _remote(self) -> RemoteBytes:
        self._reached = self._reached or self._reach()
        return self._reached

    def _path(self, start: int, stop: int) -> Path:
        return self._folder / f"{start}-{stop}-of-{self.size}"

    def _is_kept(self, start: int, stop: int) -> bool:
        path = self._path(start, stop)
        return path.is_file() and path.stat().st_size == stop - start

    def _keep(self, path: Path, data: memoryview) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise
