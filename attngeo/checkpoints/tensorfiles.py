"""Reading single tensors from a file by name: safetensors by byte ranges, ``.bin`` by memory mapping.

The ranges belong to a file on disk, or to a file on the Hub (`hub`), where `torch_archives` also reads ``.bin`` files
by ranges.
"""

import math
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Size, Tensor

from attngeo.checkpoints.state_dicts import arguments_in, known_format, named_tensors, pickle_of
from attngeo.errors import CheckpointError
from attngeo.inputs import cause

_DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "U8": torch.uint8,
    "I8": torch.int8,
    "I16": torch.int16,
    "I32": torch.int32,
    "U32": torch.int32,  # codes packed into words
    "I64": torch.int64,
}
SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
LFS_POINTER = b"version https://git-lfs.github.com/spec/"
WEB_PAGES = (b"<!doctype html", b"<html")
_Size = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
_MAX_HEADER = 100_000_000  # bytes; the limit of the format itself


class TensorFile(ABC):
    """One file of a checkpoint."""

    name: str
    shapes: Mapping[str, Size]
    tensors: Mapping[str, Tensor] = {}  # if they are in memory or mapped
    arguments: Mapping[str, Any] = {}  # of the model, if its training script saved them beside the weights
    remote: bool = False  # whether reading waits for a network

    def sources(self, tensor: str) -> list[tuple["TensorFile", str]]:
        """The files and stored names of a tensor, which may be stored under another name or in parts."""
        return [(self, tensor)]

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Bytes of what `read` gives."""
        shape = self.shapes[tensor] if rows is None else (rows[1] - rows[0], *self.shapes[tensor][1:])
        return math.prod(shape) * self.tensors[tensor].element_size()

    @abstractmethod
    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop)."""


class Stored(msgspec.Struct):
    """A tensor as described in the header of a safetensors file."""

    dtype: str
    shape: list[_Size]
    data_offsets: tuple[_Size, _Size]  # counted from the end of the header


class SafetensorsFile(TensorFile):
    """A ``.safetensors`` file: 8 bytes with the length of the header, the header in JSON, and the bytes of the tensors.

    Args:
        name: of the file.
        length: its bytes.
        content: gives those of [start, stop).
        remote: whether that waits for a network.

    Raises:
        CheckpointError: the header is damaged.

    Source: https://huggingface.co/docs/safetensors (format).
    """

    def __init__(self, name: str, length: int, content: Callable[[int, int], memoryview], remote: bool = False) -> None:
        self.name, self.remote, self._content = name, remote, content
        self._start = 8 + int.from_bytes(content(0, 8), "little") if length >= 8 else length + 1
        if self._start > min(length, _MAX_HEADER):
            raise damaged(name, "it is shorter than its header")
        try:
            header = msgspec.json.decode(content(8, self._start), type=dict[str, msgspec.Raw])
            metadata = msgspec.json.decode(header.pop("__metadata__", b"{}"), type=dict[str, Any] | None)
            self._stored = {name: msgspec.json.decode(raw, type=Stored) for name, raw in header.items()}
        except (ValueError, RecursionError) as error:
            raise damaged(self.name, "its header cannot be read") from error
        end = 0
        for name, entry in sorted(self._stored.items(), key=lambda item: item[1].data_offsets):
            start, stop = entry.data_offsets
            known = _DTYPES.get(entry.dtype)
            size = math.prod(entry.shape) * known.itemsize if known else stop - start
            if not start == end <= stop or stop - start != size:
                raise damaged(self.name, f"the position of {name[:200]!r} does not fit its shape or the other tensors")
            end = stop
        if self._start + end != length:
            raise damaged(
                self.name, f"it has {length} bytes, but according to its header it should have {self._start + end}"
            )
        # save_model of safetensors stores tensors that share their memory once, and names the others in the metadata
        for name, kept in (metadata or {}).items():
            if isinstance(kept, str) and kept in self._stored:
                self._stored.setdefault(name, self._stored[kept])
        self.shapes = {name: Size(entry.shape) for name, entry in self._stored.items()}

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop).

        Raises:
            CheckpointError: its entries have an unknown type, or the file cannot be read.
        """
        data = self._content(*self.extent(tensor, rows))
        shape = self.shapes[tensor]
        whole = torch.frombuffer(data, dtype=_DTYPES[self._stored[tensor].dtype])
        return whole.view(shape if rows is None else (rows[1] - rows[0], *shape[1:]))

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Number of bytes of the tensor that `read` returns, according to the header."""
        start, stop = self.extent(tensor, rows)
        return stop - start

    def extent(self, tensor: str, rows: tuple[int, int] | None = None) -> tuple[int, int]:
        """The positions in the file at which a tensor, or its rows [start, stop), begins and ends."""
        entry = self._stored[tensor]
        if entry.dtype not in _DTYPES:
            raise CheckpointError(
                f"{tensor} in {self.name} is stored as {entry.dtype}, which is not a type of numbers that can be"
                " scored; open the checkpoint in float32, float16 or bfloat16."
            )
        start, stop = (self._start + offset for offset in entry.data_offsets)
        width = math.prod(entry.shape[1:]) * _DTYPES[entry.dtype].itemsize
        return (start, stop) if rows is None else (start + rows[0] * width, start + rows[1] * width)


class TorchFile(TensorFile):
    """A ``.bin`` or ``.pt`` file of ``torch.save``, opened with ``weights_only=True`` and mapped instead of loaded.

    Raises:
        CheckpointError: the file is damaged, or contains objects other than tensors.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        storages: list[tuple[int, int]] = []  # address and length

        def seen(storage: Any, _: str) -> Any:
            storages.append((storage.data_ptr(), storage.nbytes()))
            return storage

        try:  # the format of torch before 1.6 cannot be mapped
            mapped = zipfile.is_zipfile(path)
            state = torch.load(path, map_location=seen, weights_only=True, mmap=mapped)
            if mapped:
                _require_whole(path, [length for _, length in sorted(storages) if length])
        except OSError as error:
            raise unreadable(path, error) from error
        except Exception as error:  # torch checks little of what it reads
            if known := known_format(pickle_of(path)):
                raise CheckpointError(f"{path} is a checkpoint of {known}.") from error
            raise CheckpointError(
                f"{path} is cut short or damaged, or contains objects other than tensors, which could run code when"
                " they are loaded. Download or copy it again. If you trust it, load it and save its state_dict as"
                " safetensors."
            ) from error
        self.tensors, self.arguments = named_tensors(state, f"{path}"), arguments_in(state)
        self.shapes = {name: tensor.shape for name, tensor in self.tensors.items()}

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop)."""
        whole = self.tensors[tensor]
        in_all = math.prod(whole.shape) * whole.element_size()  # because the product in torch can overflow
        if whole.is_meta or in_all > whole.untyped_storage().nbytes():
            raise CheckpointError(
                f"{tensor} in {self.name} contains no numbers or repeats a few of them; save it as a contiguous tensor."
            )
        return (whole[slice(*rows)] if rows else whole).clone()  # so that the file can be closed or deleted


def _require_whole(path: Path, lengths: list[int]) -> None:
    """Refuse compressed storages, which would be mapped without decompression, and storages that exceed their records.

    Mapped storages are in the order of the records in the archive.
    """
    with zipfile.ZipFile(path) as archive:
        records = sorted((r for r in archive.infolist() if "/data/" in r.filename), key=lambda r: r.header_offset)
    if any(record.compress_type != zipfile.ZIP_STORED for record in records):
        raise ValueError("records are compressed")
    if [record.file_size for record in records if record.file_size] != lengths:
        raise ValueError("records are not as long as their tensors")


def read_range(path: Path, start: int, stop: int) -> memoryview:
    """Bytes [start, stop) of a file on disk; CheckpointError if the disk or the permissions refuse."""
    try:
        data = np.fromfile(path, np.uint8, stop - start, offset=start)
    except OSError as error:
        raise unreadable(path, error) from error
    if len(data) != stop - start:
        raise CheckpointError(f"{path} became shorter while it was read; run the command again.")
    return data.data


def open_tensors(path: Path) -> TensorFile:
    """Open a local file with tensors according to its suffix."""
    beginning = _beginning(path) if path.suffix in SUFFIXES else b""
    if beginning == LFS_POINTER:
        raise CheckpointError(
            f"{path} contains a pointer of Git LFS instead of weights; fetch the weights with git lfs pull in that"
            " folder, or download the file itself."
        )
    if beginning.lstrip().lower().startswith(WEB_PAGES):
        raise CheckpointError(
            f"{path} contains a web page instead of weights, for example a page that reports an error or asks for a"
            " password. Download the file itself."
        )
    if path.suffix == ".safetensors":
        try:
            opened = SafetensorsFile(f"{path}", path.stat().st_size, partial(read_range, path))  # named in errors
            opened.name = path.name
            with safe_open(path, "pt"):  # which checks that the positions of tensors fit their shapes and the file
                return opened
        except (SafetensorError, OSError) as error:
            raise damaged(f"{path}", cause(error)) from error
    if path.suffix in SUFFIXES:
        return TorchFile(path)
    raise no_tensors(path)


def _beginning(path: Path) -> bytes:
    """The first bytes of a file: a clone without Git LFS leaves a short text, and a failed download a web page."""
    try:
        with path.open("rb") as file:
            return file.read(len(LFS_POINTER))
    except OSError:  # the error is reported when the file itself is opened
        return b""


def unreadable(path: Path, error: OSError) -> CheckpointError:
    """The error for an existing file that cannot be read."""
    return CheckpointError(f"{path} cannot be read: {error.strerror}; check the file.")


def damaged(name: str, why: str) -> CheckpointError:
    """The error for a damaged file."""
    return CheckpointError(f"{name} is cut short or damaged: {why}. Download or copy it again.")


def no_tensors(path: Path) -> CheckpointError:
    """The error for a file of another kind, such as the weights of another framework."""
    return CheckpointError(
        f"{path.name} is not a weight file that attngeo can read. Names of such files end in {', '.join(SUFFIXES)} or"
        f" .gguf."
    )
