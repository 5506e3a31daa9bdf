"""What is often given in place of a checkpoint, and the way from there to its scores."""

import json
from pathlib import Path

from attngeo.checkpoints.byte_sources import unreadable
from attngeo.checkpoints.repositories import weight_names
from attngeo.checkpoints.sources import saved_steps
from attngeo.errors import CheckpointError

NO_CONFIG = "no config.json, which tells architecture and heads; model.config.save_pretrained writes one"


def no_checkpoint(folder: Path) -> CheckpointError:
    """The error for a folder that lacks a config.json, or weights that can be read, by what it holds instead."""
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError as error:
        return unreadable(folder, error)
    return CheckpointError(f"{folder} {_instead(folder, names)}.")


def no_config(file: Path) -> CheckpointError:
    """The error for a file of weights that stands alone."""
    return CheckpointError(f"{file} has beside it {NO_CONFIG}.")


def _instead(folder: Path, names: set[str]) -> str:
    configured = "config.json" in names
    if "adapter_config.json" in names and not configured:
        return f"is an adapter and no model; score the model with it: attngeo score {_base(folder)} --adapter {folder}"
    if inner := [path for path in _models(folder) if path != folder]:
        return f"is no checkpoint itself and holds {len(inner)}; score one, such as: attngeo score {inner[-1]}"
    if (weights := weight_names(folder)) and not configured:
        return f"has weights ({weights[0]}) and {NO_CONFIG}"
    lacks = "weights of a usual name (such as model.safetensors)" if configured else "config.json and no weights"
    return f"has no {lacks} that can be read; name the folder that save_pretrained or a training run wrote"


def _models(folder: Path) -> list[Path]:
    """Checkpoints below a folder, the last one last: by step, or by time where their names tell none."""
    inside = (*folder.glob("*/"), *folder.glob("checkpoints/*/"))
    below = [path for path in inside if (path / "config.json").is_file() or weight_names(path)]
    return saved_steps(folder) or sorted(below, key=lambda path: (path.stat().st_mtime, path))


def _base(folder: Path) -> str:
    try:
        return json.loads((folder / "adapter_config.json").read_text("utf-8"))["base_model_name_or_path"] or "BASE"
    except (OSError, ValueError, KeyError, TypeError):
        return "BASE"
