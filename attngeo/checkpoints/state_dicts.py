"""The contents of files of ``torch.save``: named tensors, arguments of a model, and formats of other libraries."""

import zipfile
import zlib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from attngeo.bilinear.form import as_tensor
from attngeo.errors import CheckpointError

# keys under which training scripts save weights together with other objects
NESTED = ("state_dict", "model_state_dict", "model")
# other formats, by parts of the names of their tensors, and how to convert them
FORMATS = {
    ("language_model", "query_key_value"): (
        "Megatron-LM. Convert it with convert_megatron_gpt2_checkpoint.py or convert_megatron_bert_checkpoint.py,"
        " which are in the repository of transformers 4"
    ),
    ("sentence_encoder", "q_proj"): (
        "fairseq or fair-esm. ESM models are on the Hub in the format of transformers, such as"
        " facebook/esm2_t6_8M_UR50D. Convert other models with convert_esm.py, which is in the repository of"
        " transformers 4"
    ),
}


def named_tensors(state: object, name: str) -> dict[str, Tensor]:
    """The tensors by name in the result of torch.load, which may contain other objects or a nested state dict.

    Raises:
        CheckpointError: the result is not a mapping.
    """
    if not isinstance(state, Mapping):
        raise CheckpointError(
            f"{name} contains a {type(state).__name__} instead of named tensors; save the state_dict of the model."
        )
    state = next((state[key] for key in NESTED if isinstance(state.get(key), Mapping)), state)
    values = {f"{name}": as_tensor(value) for name, value in state.items()}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    return {n: t for n, t in tensors.items() if t.layout is torch.strided and not t.is_nested}


def arguments_in(state: object) -> Mapping[str, Any]:
    """The arguments of the model that nanoGPT saves beside its weights; empty if there are none."""
    arguments = state.get("model_args") if isinstance(state, Mapping) else None
    return arguments if isinstance(arguments, Mapping) else {}


def pickle_of(path: Path) -> str:
    """The pickle in a file of torch.save, which contains the names of tensors and is not unpickled; "" if damaged."""
    with suppress(OSError, StopIteration, zipfile.BadZipFile, zlib.error), zipfile.ZipFile(path) as archive:
        return archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl"))).decode("latin-1")
    return ""


def known_format(names: str) -> str:
    """The format whose tensors have such names, and how to convert it, or "" if no such format is known."""
    return next((words for parts, words in FORMATS.items() if all(part in names for part in parts)), "")
