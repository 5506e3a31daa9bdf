"""Files as bytes that are read by ranges: here those on disk, in `hub` those of the Hub."""

from pathlib import Path

import torch

from attngeo.errors import CheckpointError


class Bytes:
    """Something of known size that can be read by ranges."""

    name: str
    size: int
    remote = False  # whether reading waits for a network

    def read(self, start: int, stop: int) -> memoryview:
        """Bytes [start, stop)."""
        raise NotImplementedError


class LocalBytes(Bytes):
    """A file on disk."""

    def __init__(self, path: Path) -> None:
        self.name, self._path = path.name, path
        try:
            self.size = path.stat().st_size
        except OSError as error:
            raise unreadable(path, error) from error

    def read(self, start: int, stop: int) -> memoryview:
        """Bytes [start, stop); CheckpointError if the disk or the permissions refuse."""
        data = empty(stop - start)
        try:
            with self._path.open("rb") as file:
                file.seek(start)
                count = file.readinto(data)
        except OSError as error:
            raise unreadable(self._path, error) from error
        if count != len(data):
            raise CheckpointError(f"{self._path} ended while it was read; it changed meanwhile: run again.")
        return data


def empty(size: int) -> memoryview:
    """Writable memory that nothing has written to yet."""
    return torch.empty(size, dtype=torch.uint8).numpy().data


def unreadable(path: Path, error: OSError) -> CheckpointError:
    """Why a file that is there cannot be read."""
    return CheckpointError(f"{path} cannot be read: {error.strerror}; check the file.")
