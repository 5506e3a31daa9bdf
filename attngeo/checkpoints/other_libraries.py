"""Configs for checkpoints that other libraries wrote, made from their tensors and a given number of heads."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Size

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import Attention, Refused
from attngeo.checkpoints.architectures.stacks import Stack, modules_of, stacks_of, top_config
from attngeo.checkpoints.state_dicts import known_format
from attngeo.checkpoints.tensorfiles import TensorFile
from attngeo.errors import CheckpointError, ParameterError

CLIP_CONFIG = "open_clip_config.json"
TYPES = ("gpt2", "timm", "open_clip", "megatron")  # recognised by the names of their tensors; gpt2 stands for nanoGPT
# tensors of attentions in these libraries whose logits consist of W_qk, positions, biases and norms
USUAL = re.compile(
    r"c_attn|c_proj|(masked_)?bias|qkv|proj|in_proj_(weight|bias)|out_proj|linear_(qkv|proj)|(q|k)_(norm|layernorm)|norm"
    r"|[qkv]_bias|relative_position_\w+|rel_pos\w*|rope|core_attention"
)


def of_clip(config: Mapping[str, Any]) -> dict[str, Any]:
    """The config of an open_clip model from its open_clip_config.json, which may contain only the width of a head.

    Source: CLIPVisionCfg and CLIPTextCfg of open_clip, whose defaults these are.
    """
    towers = config.get("model_cfg") or {}
    vision, text = ({} if not isinstance(t, dict) else t for t in (towers.get("vision_cfg"), towers.get("text_cfg")))
    width, of_head = vision.get("width", 768), vision.get("head_width", 64)
    if not all(isinstance(number, int) and number > 0 for number in (width, of_head)):
        raise CheckpointError(
            f"{CLIP_CONFIG} does not contain valid widths of the vision tower and of a head; fetch it again."
        )
    return {
        "model_type": "open_clip",
        "vision_cfg": {**vision, "heads": max(1, width // of_head)},
        "text_cfg": {"heads": 8, **text},
    }


def number_of_heads(files: list[TensorFile], given: int | None) -> tuple[int | None, str]:
    """The number of heads of every layer, as given or from the checkpoint of nanoGPT, and a sentence that says which.

    Raises:
        ParameterError: the given number differs from the number in the checkpoint.
    """
    told = {file.name: file.arguments.get("n_head") for file in files}
    told = {name: number for name, number in told.items() if type(number) is int and number > 0}
    if not told:
        return (
            given,
            f"The number of heads was given as {given}. The files do not contain this number, so we did not check it.",
        )
    name, number = next(iter(told.items()))
    if given not in (None, number):
        raise ParameterError(
            f"heads is {given}, but n_head in the model_args of {name} is {number}; leave --heads out."
        )
    as_given = "" if given is None else ", which is the number that was given"
    return number, f"The number of heads is n_head = {number} in the model_args of {name}{as_given}."


def with_heads(shapes: Mapping[str, Size], heads: int, model_type: str | None) -> dict[str, Any]:
    """The config of a model of the given type, or of one of `TYPES`, with this number of heads in every layer.

    Raises:
        CheckpointError: the names of the tensors fit none of these types, or the layers may have different numbers of
            heads.
        ParameterError: the given type is not known.
    """
    if model_type and (model_type not in ARCHITECTURES or isinstance(ARCHITECTURES[model_type], Refused)):
        raise ParameterError(f"{model_type!r} is not a model type that can be read; give another model type with --as.")
    config = _config_of(model_type, heads, shapes) if model_type else _recognised(heads, shapes)
    stacks = _stacks(config, shapes)
    if config["model_type"] == "open_clip" and len(stacks) > 1:
        raise CheckpointError(
            f"the towers of an open_clip model can have different numbers of heads; put its {CLIP_CONFIG}, which"
            " contains both numbers, next to the weights."
        )
    if not model_type:
        _require_usual(config["model_type"], stacks, shapes)
    return config


def _recognised(heads: int, shapes: Mapping[str, Size]) -> dict[str, Any]:
    """The config of a model of the first of `TYPES` whose names the tensors have."""
    for candidate in TYPES:
        config = _config_of(candidate, heads, shapes)
        if _stacks(config, shapes):
            return config
    if known := known_format(" ".join(shapes)):
        raise CheckpointError(f"the tensors have the names of {known}.")
    raise CheckpointError(
        "there is no config.json, and the names of the tensors are not those of nanoGPT, timm, open_clip or Megatron"
        " Core; give a model type with such names (--as TYPE --heads N)."
    )


def _stacks(config: Mapping[str, Any], shapes: Mapping[str, Size]) -> list[Stack]:
    """The stacks of a model whose attention modules are among the tensors."""
    return [stack for stack in stacks_of(ARCHITECTURES, top_config(config)) if modules_of(stack, shapes)]


def _require_usual(model_type: str, stacks: list[Stack], shapes: Mapping[str, Size]) -> None:
    """Refuse attention modules with tensors that a library does not have in attentions that attngeo can score."""
    for stack in stacks:
        for _, module in modules_of(stack, shapes):
            within = [name.removeprefix(f"{module}.") for name in shapes if name.startswith(f"{module}.")]
            if unusual := next((name for name in within if not USUAL.fullmatch(name.partition(".")[0])), ""):
                raise CheckpointError(
                    f"{module} has the tensor {unusual}, which {model_type} models do not have if their logits depend"
                    " only on queries and keys; if this tensor does not change the logits, give the model type (--as"
                    f" {model_type})."
                )


def _config_of(model_type: str, heads: int, shapes: Mapping[str, Size]) -> dict[str, Any]:
    """The config of a model of this type, with the number of heads under the keys that its entries name."""
    config: dict[str, Any] = {"model_type": model_type}
    if model_type == "open_clip":
        return config | {"vision_cfg": {"heads": heads}, "text_cfg": {"heads": heads}}
    if model_type == "megatron":
        return config | {"num_attention_heads": heads, "num_query_groups": _groups(heads, shapes)}
    entries = ARCHITECTURES[model_type]
    for entry in () if isinstance(entries, Refused) else entries:
        if isinstance(entry, Attention):
            *around, key = entry.heads.split(".")
            inner = config
            for name in around:
                inner = inner.setdefault(name, {})
            inner[key] = heads
    return config


def _groups(heads: int, shapes: Mapping[str, Size]) -> int:
    """Key heads in a fused weight of Megatron Core, of H + 2 H_kv heads; H if there is no such weight."""
    name = next((name for name in shapes if name.endswith("self_attention.linear_qkv.weight")), "")
    output = shapes.get(name.replace("linear_qkv", "linear_proj"))
    if not name or output is None:
        return heads
    if output[0] != output[1] or output[0] % heads or shapes[name][0] % (output[0] // heads):
        raise CheckpointError(
            f"{name} of shape {tuple(shapes[name])} and its linear_proj of shape {tuple(output)} do not fit {heads}"
            " heads that together have the width of the model; they may be the slice of one device, in which case the"
            " slices must be merged first."
        )
    return (shapes[name][0] // (output[0] // heads) - heads) // 2
