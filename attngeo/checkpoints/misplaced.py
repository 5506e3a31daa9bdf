"""What is often given in place of a checkpoint, and the way from there to its scores."""

import json
from pathlib import Path

from attngeo.checkpoints.byte_sources import unreadable
from attngeo.checkpoints.repositories import weight_names
from attngeo.checkpoints.sources import saved_steps
from attngeo.checkpoints.tensorfiles import SUFFIXES
from attngeo.errors import CheckpointError

# weights of other frameworks
FOREIGN = (".onnx", ".h5", ".keras", ".pb", ".tflite", ".msgpack", ".npz", ".mlpackage")
NOT_READ = "weights of another framework than torch, which cannot be read here; score the original checkpoint"
SHARDED = ("*.distcp", "pytorch_model_fsdp_*", "global_step*", "zero_to_fp32.py")
NEEDED, WRITTEN = "which tells architecture and heads", "model.config.save_pretrained writes one"
TOKENIZER = ("tokenizer.json", "tokenizer_config.json", "tokenizer.model", "spiece.model", "vocab.txt", "vocab.json")


def no_checkpoint(folder: Path) -> CheckpointError:
    """The error for a folder that lacks a config.json, or weights that can be read, by what it holds instead."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        return unreadable(folder, error)
    return CheckpointError(f"{folder} {_instead(folder, names)}.")


def no_config(file: Path) -> CheckpointError:
    """The error for a file of weights that stands alone."""
    return CheckpointError(f"{file} has no config.json beside it, {NEEDED}; {WRITTEN}.")


def no_weights(file: Path) -> CheckpointError:
    """The error for a file that holds no weights that can be read."""
    if file.suffix.lower() in FOREIGN:
        return CheckpointError(f"{file} holds {NOT_READ}.")
    return CheckpointError(f"{file.name} is no weight file that can be read; known are {', '.join(SUFFIXES)}, .gguf.")


def _instead(folder: Path, names: list[str]) -> str:
    if not names:
        return "is an empty folder; check the path"
    if "adapter_config.json" in names and "config.json" not in names:
        return f"is an adapter and no model; score the model with it: attngeo score {_base(folder)} --adapter {folder}"
    odd = (name for name in names if Path(name).suffix in SUFFIXES or name == "config.json")
    if lost := next((name for name in odd if not (folder / name).is_file()), ""):
        return f"has a {lost} that is no file (a folder, or a link to what is not there); fetch the checkpoint again"
    if inner := [path for path in _models(folder) if path != folder]:
        return f"is no checkpoint itself and holds {len(inner)}; score one, such as: attngeo score {inner[-1]}"
    weights = weight_names(folder)
    if weights and "config.json" in names:
        return f"holds {len(weights)} weight files and no index of them; name the one to score, such as {weights[0]}"
    if weights:
        beside = [path for path in (folder.parent, folder.parent.parent) if (path / "config.json").is_file()]
        source = f"copy {beside[0] / 'config.json'} there" if beside else WRITTEN
        return f"has weights ({weights[0]}) and no config.json, {NEEDED}; {source}"
    if foreign := [name for name in names if Path(name).suffix.lower() in FOREIGN]:
        return f"holds ({foreign[0]}) {NOT_READ}"
    if any(any(folder.glob(pattern)) for pattern in SHARDED):
        return (
            "holds weights in the shards of a distributed run; put them together first (accelerate merge-weights for"
            " FSDP, zero_to_fp32.py for DeepSpeed)"
        )
    if any(name in names for name in TOKENIZER) and "config.json" not in names:
        return "holds a tokenizer and no model; name the folder that its model was saved to"
    lacks = "weights (such as model.safetensors)" if "config.json" in names else "config.json and no weights"
    return f"has no {lacks}; name the folder that save_pretrained or a training run wrote, or fetch it again"


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
