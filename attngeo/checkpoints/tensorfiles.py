"""Tensors out of one file by name, reading nothing else: safetensors by byte ranges, ``.bin`` by memory mapping."""

import json
import math
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Size, Tensor

from attngeo.checkpoints.byte_sources import Bytes, LocalBytes, unreadable
from attngeo.errors import CheckpointError

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
_MAX_HEADER = 100_000_000  # bytes; the limit of the format itself


class TensorFile:
    """One file of a checkpoint."""

    name: str
    shapes: Mapping[str, Size]
    bytes_read = 0  # of the tensors, a header not counted

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Bytes of what `read` gives."""
        raise NotImplementedError

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop)."""
        raise NotImplementedError

    def prefetch(self, tensor: str, rows: tuple[int, int] | None = None) -> None:
        """Begin to fetch what `read` will ask for; nothing where it is near."""

    def forget(self) -> None:
        """Stop fetching what was not read."""


class Stored(NamedTuple):
    """A tensor as the header of a safetensors file has it."""

    dtype: str
    shape: Size
    start: int  # offset in the file
    stop: int


class SafetensorsFile(TensorFile):
    """A ``.safetensors`` file: 8 bytes with the header's length, the header in JSON, then the tensors' bytes.

    Args:
        source: the file's bytes.

    Raises:
        CheckpointError: the header is damaged or the file is shorter than it says.

    Source: https://huggingface.co/docs/safetensors (format).
    """

    def __init__(self, source: Bytes) -> None:
        self.name, self._source = source.name, source
        self._stored = self._read_header()
        self.shapes = {name: entry.shape for name, entry in self._stored.items()}

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop).

        Raises:
            CheckpointError: its entries are of no type known here, or the file cannot be read.
        """
        data = self._source.read(*self.extent(tensor, rows))
        self.bytes_read += len(data)
        dtype, shape, _, _ = self._stored[tensor]
        whole = torch.frombuffer(data, dtype=_DTYPES[dtype])
        return whole.view(shape if rows is None else (rows[1] - rows[0], *shape[1:]))

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Bytes of what `read` gives, as the header tells."""
        start, stop = self.extent(tensor, rows)
        return stop - start

    def prefetch(self, tensor: str, rows: tuple[int, int] | None = None) -> None:
        """Begin to fetch what `read` will ask for."""
        self._source.prefetch(*self.extent(tensor, rows))

    def forget(self) -> None:
        """Stop fetching what was not read."""
        self._source.forget()

    def extent(self, tensor: str, rows: tuple[int, int] | None = None) -> tuple[int, int]:
        """Where a tensor's bytes, or those of its rows, begin and end in the file."""
        entry = self._stored[tensor]
        if entry.dtype not in _DTYPES:
            raise CheckpointError(
                f"{tensor} in {self.name} is stored as {entry.dtype}, no type of numbers that can be scored; open the"
                f" checkpoint in float32, float16 or bfloat16."
            )
        if rows is None:
            return entry.start, entry.stop
        width = math.prod(entry.shape[1:]) * _DTYPES[entry.dtype].itemsize
        return entry.start + rows[0] * width, entry.start + rows[1] * width

    def _read_header(self) -> dict[str, Stored]:
        if self._source.size < 8:
            raise self._damaged(f"it has {self._source.size} bytes")
        length = int.from_bytes(bytes(self._source.read(0, 8)), "little")
        if not 2 <= length <= _MAX_HEADER:
            raise self._damaged("its first 8 bytes are not the length of a header")
        if 8 + length > self._source.size:
            raise self._damaged(f"its header should end at byte {8 + length} and the file at {self._source.size}")
        try:
            header = json.loads(bytes(self._source.read(8, 8 + length)))
            entries = {
                name: Stored(
                    item["dtype"], Size(item["shape"]), *(8 + length + int(end) for end in item["data_offsets"])
                )
                for name, item in header.items()
                if name != "__metadata__"
            }
        except (ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
            raise self._damaged("its header is not the JSON of that format") from error
        end = max((entry.stop for entry in entries.values()), default=8 + length)
        if end > self._source.size:
            raise self._damaged(f"it should have {end} bytes and has {self._source.size}")
        for name, (dtype, shape, start, stop) in entries.items():
            size = math.prod(shape) * _DTYPES[dtype].itemsize if dtype in _DTYPES else stop - start
            if not (8 + length <= start <= stop and stop - start == size and all(n >= 0 for n in shape)):
                raise self._damaged(f"the place of {name} does not fit its shape")
        return entries

    def _damaged(self, what: str) -> CheckpointError:
        return CheckpointError(
            f"{self.name} is no whole safetensors file: {what}; it is truncated or corrupt: fetch it again."
        )


class TorchFile(TensorFile):
    """A ``.bin`` or ``.pt`` file of ``torch.save``, opened with ``weights_only=True`` and mapped, not loaded.

    Args:
        path: the file.

    Raises:
        CheckpointError: the file is damaged, or holds more than tensors.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        state = _load(path)
        self._tensors = {name: value for name, value in state.items() if isinstance(value, Tensor)}
        self.shapes = {name: tensor.shape for name, tensor in self._tensors.items()}

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop)."""
        found = self._tensors[tensor]
        self.bytes_read += self.size(tensor, rows)
        return (found[slice(*rows)] if rows else found).clone()  # out of the mapping, so that the file may go

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Bytes of what `read` gives."""
        return self._tensors[tensor][slice(*(rows or (None,)))].nbytes


def _load(path: Path) -> Mapping:
    """The state dict of a ``torch.save`` file."""
    try:
        try:
            state = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
        except RuntimeError as error:
            if "mmap can only be used" not in str(error):
                raise
            state = torch.load(path, map_location="cpu", weights_only=True)  # the format of torch before 1.6
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path.name} is not a file of tensors alone (or is damaged), and loading anything else could run code;"
            f" where you trust it, load it and save its state_dict as safetensors."
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
    except (RuntimeError, EOFError, ValueError, KeyError) as error:
        raise CheckpointError(
            f"{path.name} is no whole torch file; it is truncated or corrupt: fetch it again."
        ) from error
    state = state.get("state_dict", state) if isinstance(state, Mapping) else state
    if not isinstance(state, Mapping):
        raise CheckpointError(f"{path.name} holds a {type(state).__name__} and no named tensors; save a state_dict.")
    return state


def open_tensors(path: Path) -> TensorFile:
    """A local file of tensors, by its suffix."""
    if path.suffix == ".safetensors":
        return SafetensorsFile(LocalBytes(path))
    if path.suffix in SUFFIXES:
        return TorchFile(path)
    raise CheckpointError(f"{path.name} is no weight file that can be read; known are {', '.join(SUFFIXES)}.")
