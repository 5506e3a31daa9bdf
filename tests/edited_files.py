"""The files of a checkpoint, a run or a record with something changed in them."""

import json
from collections.abc import Callable
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def edit_json(file: Path, **changes) -> None:
    """Give keys other values; None takes a key out."""
    values = json.loads(file.read_text()) | changes
    file.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))


def edit_tensors(file: Path, change: Callable[[dict[str, torch.Tensor]], object]) -> None:
    """Change the tensors of a safetensors file: in place, or for others where a dict is returned."""
    tensors = load_file(file)
    others = change(tensors)
    save_file(others if isinstance(others, dict) else tensors, file)
