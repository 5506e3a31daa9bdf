"""Reading tensors of a ``.bin`` file on the Hub by byte ranges, without reading the other tensors.

A file of ``torch.save`` is a zip archive. Its record ``data.pkl`` is a pickle of names, shapes and the keys of
storages, and each storage is an uncompressed record ``data/KEY``. We read the archive's directory and that pickle, and
let torch unpickle it (``weights_only=True``) on the meta device, from a copy of the archive whose storages are empty.
The pickle is read only by the restricted unpickler of torch, and a storage is read only if one of its tensors is.
"""

import io
import math
import zipfile
from collections.abc import Callable, Mapping

import torch
from torch import Size, Tensor

from attngeo.checkpoints.state_dicts import arguments_in, named_tensors
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError

LARGEST_PICKLE = 100_000_000  # bytes of the largest pickle with names, shapes and keys
LOCAL_HEADER = 30  # bytes before the name of a record; the last four are the lengths of the name and of the extra field
Content = Callable[[int, int], memoryview]  # bytes [start, stop) of the file


class NoArchive(Exception):
    """The file is not a zip archive that can be read by ranges; older versions of torch wrote other files."""


class _Ranges(io.RawIOBase):
    """A file object for zipfile, which only seeks and reads."""

    def __init__(self, length: int, content: Content) -> None:
        self._length, self._content, self._at = length, content, 0

    def seekable(self) -> bool:
        return True

    def readable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._length}[whence]
        if start + offset < 0:
            raise OSError("a place before the file")
        self._at = start + offset
        return self._at

    def tell(self) -> int:
        return self._at

    def read(self, size: int = -1) -> bytes:
        stop = self._length if size < 0 else min(self._at + size, self._length)
        data = bytes(self._content(self._at, stop)) if stop > self._at else b""
        self._at += len(data)
        return data


class TorchArchive(TensorFile):
    """A ``.bin`` file of ``torch.save`` whose bytes [start, stop) are given by ``content``.

    Raises:
        NoArchive: the file is not a zip archive, or this version of torch does not provide the positions of storages.
        CheckpointError: the file is damaged, or contains objects other than tensors.
    """

    remote = True

    def __init__(self, name: str, length: int, content: Content) -> None:
        self.name, self._content = name, content
        tells_places = hasattr(torch.serialization, "_is_meta_location")  # of storages; not in older torch
        if not tells_places or bytes(content(0, min(4, length))) != b"PK\3\4":
            raise NoArchive
        try:
            with zipfile.ZipFile(_Ranges(length, content)) as archive:
                pickled, self._records = _contents(archive)
            state, self._keys = _on_meta(pickled, list(self._records))
        except (CheckpointError, NoArchive):
            raise
        except Exception as error:  # zipfile and torch check little of what they read
            raise _damaged(name) from error
        self.tensors, self.arguments = named_tensors(state, name), arguments_in(state)
        self.shapes: Mapping[str, Size] = {name: tensor.shape for name, tensor in self.tensors.items()}

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop).

        Raises:
            CheckpointError: it contains no numbers, or its storage is compressed, too short or missing.
        """
        part = self.tensors[tensor][slice(*rows) if rows else slice(None)]
        steps = zip(part.shape, part.stride(), strict=True)
        span = 1 + sum((size - 1) * stride for size, stride in steps) if math.prod(part.shape) else 0
        start, width = int(part.storage_offset()), part.element_size()
        # a tensor on the meta device has no position, and no record is at position 0
        key = self._keys.get(part.untyped_storage()._checkpoint_offset or 0, "")
        record = self._records.get(key)
        is_whole = record is not None and part.numel() <= span and (start + span) * width <= record.file_size
        if record is None or not part.numel() or not is_whole or record.compress_type != zipfile.ZIP_STORED:
            raise CheckpointError(
                f"{tensor} in {self.name} contains no numbers, is cut off or compressed, or repeats a few numbers; save"
                " it as a contiguous tensor."
            )
        header = bytes(self._content(record.header_offset, record.header_offset + LOCAL_HEADER))
        between = int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little")
        data = record.header_offset + LOCAL_HEADER + between
        content = self._content(data + start * width, data + (start + span) * width)
        return torch.frombuffer(content, dtype=part.dtype).as_strided(part.shape, part.stride()).clone()


def _contents(archive: zipfile.ZipFile) -> tuple[bytes, dict[str, zipfile.ZipInfo]]:
    """The pickle in an archive of torch, and the records of its storages by key."""
    (pickle,) = [record for record in archive.infolist() if record.filename.endswith("/data.pkl")]
    folder = pickle.filename.removesuffix("data.pkl")
    if pickle.file_size > LARGEST_PICKLE:
        raise ValueError("a pickle of more than names, shapes and keys")
    names = archive.namelist()
    if f"{folder}byteorder" in names and archive.read(f"{folder}byteorder") != b"little":
        raise NoArchive  # torch swaps the bytes if it reads the whole file
    storages = f"{folder}data/"
    found = [record for record in archive.infolist() if record.filename.startswith(storages)]
    return archive.read(pickle), {record.filename.removeprefix(storages): record for record in found}


def _on_meta(pickled: bytes, keys: list[str]) -> tuple[object, dict[int, str]]:
    """The unpickled state dict of an archive with this pickle and empty storages, and their keys by position in it."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/version", "3\n")
        for key in keys:
            archive.writestr(f"archive/data/{key}", b"")
        places = {
            record.header_offset + LOCAL_HEADER + len(record.filename.encode()): record.filename
            for record in archive.infolist()
        }
    written.seek(0)
    state = torch.load(written, map_location="meta", weights_only=True)
    return state, {place: name.removeprefix("archive/data/") for place, name in places.items()}


def _damaged(name: str) -> CheckpointError:
    return CheckpointError(
        f"{name} is cut short or damaged, or contains objects other than tensors, which could run code when they are"
        " loaded. Look for another revision. If you trust it, load it and save its state_dict as safetensors."
    )
