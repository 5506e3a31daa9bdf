"""Tensors out of one file by name, reading nothing else: safetensors by byte ranges, ``.bin`` by memory mapping."""

import math
import pickle
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import torch
from safetensors import SafetensorError, safe_open
from torch import Size, Tensor

from attngeo.checkpoints.byte_sources import Bytes, LocalBytes, unreadable
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
NESTED = ("state_dict", "model_state_dict", "model")  # under which training scripts save weights beside other things
SUFFIXES = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
_Size = Annotated[int, msgspec.Meta(ge=0, le=2**62)]
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


class _Entry(msgspec.Struct, forbid_unknown_fields=True):
    """What the header of a safetensors file says of a tensor."""

    dtype: Annotated[str, msgspec.Meta(max_length=20)]
    shape: Annotated[list[_Size], msgspec.Meta(max_length=64)]
    data_offsets: tuple[_Size, _Size]


class Stored(NamedTuple):
    """A tensor as the header of a safetensors file has it."""

    dtype: str
    shape: Size
    start: int  # offset in the file
    stop: int


class SafetensorsFile(TensorFile):
    """A ``.safetensors`` file: 8 bytes with the header's length, the header in JSON, then the tensors' bytes.

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
            raise self.damaged(f"it has {self._source.size} bytes")
        length = int.from_bytes(bytes(self._source.read(0, 8)), "little")
        if not 2 <= length <= _MAX_HEADER:
            raise self.damaged("its first 8 bytes are not the length of a header")
        if 8 + length > self._source.size:
            raise self.damaged(f"its header should end at byte {8 + length} and the file at {self._source.size}")
        read, name = msgspec.json.Decoder(_Entry).decode, "its header"
        found: dict[str, _Entry] = {}
        try:
            header = msgspec.json.decode(self._source.read(8, 8 + length), type=dict[str, msgspec.Raw])
            header.pop("__metadata__", None)
            for name, raw in header.items():
                found[name] = read(raw)
        except (ValueError, RecursionError) as error:
            raise self.damaged(f"{name[:200]} is not the JSON of that format ({cause(error)})") from error
        entries, end = {}, 8 + length
        for name, entry in sorted(found.items(), key=lambda item: item[1].data_offsets):
            start, stop = (8 + length + offset for offset in entry.data_offsets)
            size = math.prod(entry.shape) * _DTYPES[entry.dtype].itemsize if entry.dtype in _DTYPES else stop - start
            if start != end or stop - start != size:
                raise self.damaged(f"the place of {name} does not fit its shape or the tensor before it")
            entries[name], end = Stored(entry.dtype, Size(entry.shape), start, stop), stop
        if end != self._source.size:
            raise self.damaged(f"it should have {end} bytes and has {self._source.size}")
        return {name: entries[name] for name in header}

    def damaged(self, what: str) -> CheckpointError:
        """The error for a file that is not what it should be."""
        return CheckpointError(
            f"{self.name} is no whole safetensors file: {what}; it is truncated or corrupt: fetch it again."
        )


class TorchFile(TensorFile):
    """A ``.bin`` or ``.pt`` file of ``torch.save``, opened with ``weights_only=True`` and mapped, not loaded.

    Raises:
        CheckpointError: the file is damaged, or holds more than tensors.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        state = _load(path)
        self._tensors = {name: value for name, value in state.items() if isinstance(value, Tensor)}
        for name, value in self._tensors.items():
            if not isinstance(name, str) or value.is_nested or value.layout is not torch.strided:
                raise CheckpointError(
                    f"{self.name} has a tensor {name!r} that is sparse, nested or without a name; save it dense."
                )
        self.shapes = {name: tensor.shape for name, tensor in self._tensors.items()}

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop)."""
        found = self._tensors[tensor]
        in_all = math.prod(found.shape) * found.element_size()  # torch's own product overflows
        if found.is_meta or in_all > found.untyped_storage().nbytes():
            raise CheckpointError(f"{tensor} in {self.name} holds no numbers or repeats a few; save it contiguous.")
        self.bytes_read += self.size(tensor, rows)
        return (found[slice(*rows)] if rows else found).clone()  # out of the mapping, so that the file may go

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Bytes of what `read` gives."""
        found = self._tensors[tensor]
        length = found.shape[0] if rows is None else rows[1] - rows[0]
        return length * math.prod(found.shape[1:]) * found.element_size()


def _load(path: Path) -> Mapping:
    """The state dict of a ``torch.save`` file."""
    lengths: dict[int, int] = {}  # of the storages, by address

    def seen(storage: Any, location: str) -> Any:
        lengths[storage.data_ptr()] = storage.nbytes()
        return storage

    try:
        if zipfile.is_zipfile(path):
            state = torch.load(path, map_location=seen, weights_only=True, mmap=True)
            _require_whole(path, [lengths[address] for address in sorted(lengths) if lengths[address]])
        else:
            state = torch.load(path, map_location="cpu", weights_only=True)  # the format of torch before 1.6
    except CheckpointError:
        raise
    except pickle.UnpicklingError as error:
        raise CheckpointError(
            f"{path.name} is not a file of tensors alone (or is damaged), and loading anything else could run code;"
            f" where you trust it, load it and save its state_dict as safetensors."
        ) from error
    except OSError as error:
        raise unreadable(path, error) from error
    except Exception as error:  # torch checks little of what it reads
        raise _damaged(path) from error
    if not isinstance(state, Mapping):
        raise CheckpointError(f"{path.name} holds a {type(state).__name__} and no named tensors; save a state_dict.")
    inside = (state[key] for key in NESTED if isinstance(state.get(key), Mapping))
    return next(inside, state)


def _require_whole(path: Path, lengths: list[int]) -> None:
    """Refuse storages that reach into what follows them: those mapped lie in the order of the archive's records."""
    with zipfile.ZipFile(path) as archive:
        records = sorted((r for r in archive.infolist() if "/data/" in r.filename), key=lambda r: r.header_offset)
    if [record.file_size for record in records if record.file_size] != lengths:
        raise _damaged(path)


def _damaged(path: Path) -> CheckpointError:
    return CheckpointError(f"{path.name} is no whole torch file; it is truncated or corrupt: fetch it again.")


def open_tensors(path: Path) -> TensorFile:
    """A local file of tensors, by its suffix."""
    if path.suffix == ".safetensors":
        found = SafetensorsFile(LocalBytes(path))
        try:
            with safe_open(path, "pt"):  # the library's own checks, of types too that are read by none here
                return found
        except (SafetensorError, OSError) as error:
            raise found.damaged(cause(error)) from error
    if path.suffix in SUFFIXES:
        return TorchFile(path)
    raise no_tensors(path)


def no_tensors(path: Path) -> CheckpointError:
    """The error for a file of another kind, such as the weights of another framework."""
    return CheckpointError(f"{path.name} is no weight file that can be read; known are {', '.join(SUFFIXES)}, .gguf.")
