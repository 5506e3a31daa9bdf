"""GGUF files of llama.cpp, read and dequantised with the package gguf, which the extra gguf installs.

llama.cpp permutes the rows of queries and keys within each head, both in the same way, which does not change ``W_qk``.
It stores fused weights as [q; k; v], whatever their order in other formats.
"""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from msgspec import structs
from torch import Size, Tensor

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Attention, Entry, Positions
from attngeo.checkpoints.tensorfiles import TensorFile, unreadable
from attngeo.errors import CheckpointError, needs

_attention = partial(  # part, module, query, key
    Attention, heads="attention.head_count", d_head="attention.key_length", layers=""
)
T5 = (
    _attention("encoder", "enc.blk.{}", "attn_q", "attn_k"),
    _attention("decoder", "dec.blk.{}", "attn_q", "attn_k"),
    _attention("cross", "dec.blk.{}", "cross_attn_q", "cross_attn_k"),
)
FUSED = (
    _attention(
        "encoder",
        "blk.{}",
        "attn_qkv",
        "attn_qkv",
        layout="blocks",
        kv_heads="attention.head_count_kv",
        decoder_if="attention.causal",
    ),
)
APART = (_attention("encoder", "blk.{}", "attn_q", "attn_k", decoder_if="attention.causal"),)
GATED = ("qwen3next", "qwen35", "qwen35moe")  # the rows of each query head are followed by those of its gate
LATENT = re.compile(r"blk\.\d+\.attn_(kv_a_mqa|kv_b|k_b)\.weight")  # of multi-head latent attention
SHARED, PATTERN = "attention.shared_kv_layers", "attention.sliding_window_pattern"


class GgufFile(TensorFile):
    """A GGUF file, or all files into which one was split.

    Raises:
        CheckpointError: the file is damaged, or one of the files is missing.
        MissingExtra: the package gguf is not installed.
    """

    def __init__(self, path: Path) -> None:
        self.name = path.name
        with needs("gguf", "a GGUF file"):
            from gguf import MODEL_ARCH_NAMES, GGUFReader
            from gguf.quants import dequantize
        self._dequantize, pieces = dequantize, _pieces(path)
        try:
            readers = [GGUFReader(piece) for piece in pieces]
            self._tensors = {tensor.name: tensor for reader in readers for tensor in reader.tensors}
            fields = {name: field for reader in readers for name, field in reader.fields.items()}
            self.architecture = str(fields["general.architecture"].contents())
            self.is_known = self.architecture in MODEL_ARCH_NAMES.values()
            ours = [name for name in fields if name.startswith(f"{self.architecture}.")]
            self.metadata = {name.partition(".")[2]: fields[name].contents() for name in ours}
        except OSError as error:
            raise unreadable(path, error) from error
        except Exception as error:  # the package gguf checks little of what it reads
            raise CheckpointError(f"{self.name} is cut short or damaged. Download or copy it again.") from error
        self.shapes = {name: Size(map(int, reversed(tensor.shape))) for name, tensor in self._tensors.items()}

    @property
    def entry(self) -> Entry:
        """Where queries and keys are, and how positions are encoded, as far as tensors and metadata show.

        Raises:
            CheckpointError: some layers have a separate tensor for queries, and others have a fused tensor.
        """
        if any(map(LATENT.fullmatch, self.shapes)):
            return ARCHITECTURES["deepseek_v3"]  # refused, with the reason
        fused = any(name.endswith(".attn_qkv.weight") for name in self.shapes)
        apart = any(name.endswith(".attn_q.weight") for name in self.shapes)
        stacks: tuple[Attention, ...] = FUSED if fused else APART
        if self.architecture.startswith("t5"):
            stacks = T5
        elif self.architecture in GATED:  # their attn_qkv belongs to a recurrence
            stacks = (structs.replace(APART[0], layout="gated"),)
        elif fused and apart:
            raise CheckpointError(
                f"{self.name} has attn_qkv in some layers and attn_q in others, and the file does not say which of"
                " them are attention layers; score the checkpoint from which it was made."
            )
        if SHARED in self.config:
            stacks = tuple(structs.replace(stack, shared_keys=SHARED) for stack in stacks)
        positions = Positions("none-or-in-attention")
        if "position_embd.weight" in self.shapes:
            positions = Positions(table="position_embd")  # the converter of llama.cpp leaves out rows of padding
        elif any(key.startswith("rope.") for key in self.metadata):
            positions = Positions("rotary")
        return tuple(structs.replace(stack, positions=positions) for stack in stacks)

    @property
    def config(self) -> Mapping[str, Any]:
        """The configuration, as it would be in a config.json."""
        if "attention.head_count" not in self.metadata:
            raise CheckpointError(
                f"the metadata of {self.name} do not contain {self.architecture}.attention.head_count, and without"
                " this number the heads cannot be separated; score the checkpoint from which the file was made."
            )
        said = {"attention.causal": True, "attention.head_count_kv": self.metadata["attention.head_count"]}
        return said | self.metadata | self._by_layer() | {"model_type": self.architecture}

    def _by_layer(self) -> dict[str, Any]:
        """How layers differ: which slide, which share the keys of another, and widths of heads.

        Source: llama.cpp, ``llama_model::load_hparams``; its Gemma 3n makes keys in 20 layers, of which each fifth is
        full.
        """
        layers, pattern = self.metadata.get("block_count"), self.metadata.get(PATTERN)
        said: dict[str, Any] = {}
        if self.architecture == "gemma3n" and layers:
            said[SHARED] = self.metadata.get(SHARED, max(0, layers - 20))
            pattern = [(layer + 1) % 5 != 0 for layer in range(layers)] if pattern is None else pattern
        if isinstance(pattern, list):
            said["layer_types"] = ["sliding_attention" if slides else "full_attention" for slides in pattern]
            widths = [self.metadata.get(f"attention.key_length{end}") for end in ("", "_swa")]
            if None not in widths:
                said["attention.key_length"] = [widths[bool(slides)] for slides in pattern]
        elif self.metadata.get(SHARED):
            raise CheckpointError(
                f"{self.name} has layers that attend to the keys of other layers ({self.architecture}.{SHARED}), but"
                f" no list {self.architecture}.{PATTERN} that says which; score the checkpoint from which it was made."
            )
        return said

    def size(self, tensor: str, rows: tuple[int, int] | None = None) -> int:
        """Number of bytes that `read` dequantises."""
        return self._data(tensor, rows).nbytes

    def read(self, tensor: str, rows: tuple[int, int] | None = None) -> Tensor:
        """The tensor, or its rows [start, stop), in float32."""
        kind = self._tensors[tensor].tensor_type
        data = self._data(tensor, rows)
        try:
            numbers = self._dequantize(data, kind)
        except NotImplementedError as error:
            raise CheckpointError(
                f"{tensor} of {self.name} is stored as {kind.name}, which the package gguf does not dequantise; score"
                f" a file of another type."
            ) from error
        return torch.from_numpy(np.array(numbers, dtype=np.float32))

    def _data(self, tensor: str, rows: tuple[int, int] | None) -> np.ndarray:
        """The rows of a tensor, as bytes, or as numbers if they are not quantised."""
        return self._tensors[tensor].data[slice(*(rows or (None,)))]


def gguf_path(path: Path, *options: object) -> Path | None:
    """The GGUF file at a path, or the only one in a folder without a config.json; other options must then be None."""
    files = [path] if path.is_file() else [] if (path / "config.json").is_file() else sorted(path.glob("*"))
    files = [file for file in files if file.suffix.lower() == ".gguf"]
    if files and path.is_dir() and len(files) != len(_pieces(files[0])):
        raise CheckpointError(
            f"{path} contains {len(files)} GGUF files, and each of them is a model; give one of them, such as"
            f" {files[0]}."
        )
    if files and any(option is not None for option in options):
        raise CheckpointError(
            f"{files[0].name} is a GGUF file, for which no adapter, revision or other model type can be given; score"
            " the model from which it was made."
        )
    return files[0] if files else None


def _pieces(path: Path) -> list[Path]:
    """All files into which a model was split, in order."""
    match = re.fullmatch(r"(.+)-\d{5}-of-(\d{5})\.gguf", path.name)
    if not match:
        return [path]
    pieces = [path.with_name(f"{match[1]}-{n + 1:05}-of-{match[2]}.gguf") for n in range(int(match[2]))]
    if missing := [piece.name for piece in pieces if not piece.is_file()]:
        raise CheckpointError(
            f"{missing[0]}, one of the {len(pieces)} files of {match[1]}, is missing; fetch this file, too."
        )
    return pieces
