"""The heads of one layer, including pruned and grouped heads, from its configuration and the shapes of its tensors."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Size

from attngeo.checkpoints.architectures.entry import BETWEEN, LAYOUTS, OUTPUTS, Attention, Layout, Part
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.stacks import Count, Counts, Misfit, Stack, default_sizes, value_of
from attngeo.errors import CheckpointError

MISMATCH = "The config and the weights do not fit each other"
# config keys that contain a width, such as true_hidden_size of MobileBERT
WIDTH = re.compile("(hidden_size|dim|d_model|n_embd|width)$")
# model types whose layers have several widths, of which hidden_size is at most one
WIDER_BY_STAGES = ("clap_audio_model", "donut-swin", "fun_asr_nano_encoder", "maskformer-swin", "swin", "swinv2")


class Module(NamedTuple):
    """An attention module, with its index in its stack and the numbers in its name."""

    place: int
    numbers: tuple[int, ...]
    name: str


def plan_layer(
    stack: Stack, part: Part, layer: int, causal: bool, at: Module, keys: str, shapes: Mapping[str, Size]
) -> LayerPlan:
    """The plan of one layer. ``keys`` is the name of the module that computes the keys to which the layer attends."""
    entry, module = stack.entry, at.name
    query, key = entry.tensor(module, entry.query), entry.tensor(keys, entry.key)
    for name in (query, key):
        _require_matrix(name, shapes)
    heads, named_kv_heads, named_d_head = (
        _of_layer(stack, key, at) for key in (entry.heads, entry.kv_heads, entry.d_head)
    )
    divisor = stack.config.get(entry.heads_over) if entry.heads_over else 1
    if heads is None or divisor is None:
        missing = entry.heads if heads is None else entry.heads_over
        raise CheckpointError(
            f"the config does not contain {missing}, and without this number the heads cannot be separated. Add it to"
            " the config."
        )
    heads = max(1, heads // divisor)
    layout = _layout(entry, shapes[query])
    outputs, inputs = reversed(shapes[query]) if layout.transposed else shapes[query]
    left = stated = _heads_left(stack, at, heads)
    if layout.rows is None:
        outputs = _divide(query, outputs, 2, "a query and its gate") if layout.gated else outputs
        if shapes[key][1] != inputs:
            raise _mismatch(key, f"has {shapes[key][1]} inputs, but {query} has {inputs}")
        if len(left) < heads:
            left = _those_there(query, outputs, named_d_head or _divide(query, inputs, heads, entry.heads), left, heads)
        d_head = _divide(query, outputs, len(left), entry.heads)
        kv_heads = _divide(key, shapes[key][0], d_head, "width of a head")
    else:  # [H + 2 H_kv] blocks of d_head, behind gates [2 H + 2 H_kv]
        d_head = named_d_head or _divide(query, inputs, heads, entry.heads)
        if len(left) < heads:
            left = _those_there(query, outputs, 3 * d_head, left, heads)
        blocks = _divide(query, outputs, d_head, "width of a head")
        kv_heads = _kv_heads_of_fused(entry, named_kv_heads if len(left) == heads else None, blocks, len(left))
        rows = ((2 if layout.gated else 1) * len(left) + 2 * kv_heads) * d_head
        if rows != outputs:
            raise _mismatch(
                query,
                f"has {outputs} outputs, but {len(left)} query heads and {kv_heads} key heads of width {d_head} need"
                f" {rows}",
            )
    if kv_heads < 1 or len(left) % kv_heads:
        raise _mismatch(key, f"has {kv_heads} key heads for {len(left)} query heads")
    for what, number, config_key, named in (
        ("key heads", kv_heads, entry.kv_heads, named_kv_heads),
        ("coordinates of a head", d_head, entry.d_head, named_d_head),
    ):
        if named not in (None, number) and not (what == "key heads" and (entry.one_kv_head or len(left) < heads)):
            raise _mismatch(key, f"has {number} {what}, but the config says {config_key} = {named}")
    value, output = _value_and_output(entry, layout, (module, keys), shapes, (kv_heads * d_head, len(left) * d_head))
    numbers = left if len(left) < heads else ()
    unpruned = (
        f"pruned_heads in the configuration lists heads of {part} layer {layer}, but the files contain all {heads}"
        " heads of this layer, so all of them were scored."
    )
    remarks = [unpruned] if len(stated) < len(left) else []
    if part != "cross" and (width := _other_width(stack, inputs)) is not None:
        remarks.append(f"The config says hidden_size = {width}, but the weights have width {inputs}.")
    if entry.kv_heads and named_kv_heads is None and kv_heads != len(left) and not entry.one_kv_head:
        remarks.append(
            f"The config does not contain {entry.kv_heads}. The key weights have the size of {kv_heads} heads, so they"
            f" were read as {kv_heads} heads for {len(left)} query heads."
        )
    return LayerPlan(
        part,
        layer,
        causal,
        module,
        query,
        key,
        value,
        output,
        layout,
        len(left),
        kv_heads,
        d_head,
        head_numbers=numbers,
        remarks=tuple(remarks),
    )


def _other_width(stack: Stack, inputs: int) -> int | None:
    """The hidden_size of a config, if the inputs of the layer have another width that no other key contains."""
    config = stack.config.of(stack.entry)
    width = config.values.get("hidden_size")
    if config.model_type in WIDER_BY_STAGES or not isinstance(width, int) or width == inputs:
        return None
    told = any(value == inputs and WIDTH.search(f"{key}") for key, value in config.values.items())
    return None if told else width


def require_one_width(stack: Stack, plans: list[LayerPlan], shapes: Mapping[str, Size]) -> None:
    """Refuse layers with the same number of heads whose weights differ in size without a reason in the config."""
    if stack.config.get("per_layer_config", dict[Any, Any]) or stack.entry.d_head:
        return
    kinds = stack.config.get("layer_types", list[Any] | None) or []
    seen: dict[tuple, LayerPlan] = {}
    for place, plan in enumerate(plans):
        inputs = shapes[plan.query][0 if plan.layout.transposed else 1]
        kind = f"{kinds[place]}" if place < len(kinds) else ""
        alike = seen.setdefault((inputs, plan.heads, kind), plan)
        if alike.d_head != plan.d_head and not (alike.head_numbers or plan.head_numbers):
            raise Misfit(
                f"{alike.query} has shape {tuple(shapes[alike.query])} and {plan.query} {tuple(shapes[plan.query])},"
                f" but the config says that both have {plan.heads} heads of the same width; heads may have been"
                " pruned, and the config does not say which (pruned_heads)."
            )


def _require_matrix(name: str, shapes: Mapping[str, Size]) -> None:
    """Refuse a query or key weight that is missing or is not a matrix."""
    if name not in shapes:
        raise CheckpointError(
            f"{name} is missing, although the files have other weights of this attention. Either it was not saved, or"
            " the layer uses the keys of another layer, which attngeo does not know about this model type."
        )
    if not all(shapes[name]):
        raise CheckpointError(
            f"{name} is empty (its shape is {tuple(shapes[name])}), either because DeepSpeed ZeRO-3 saved the model"
            " without gathering its weights, or because all heads of the layer were pruned; in the first case, create"
            " whole weights with zero_to_fp32.py, which DeepSpeed puts into its folder."
        )
    if len(shapes[name]) != 2:
        raise Misfit(
            f"{name} has shape {tuple(shapes[name])} instead of two dimensions, and quantised or packed weights of an"
            " unknown format cannot be scored; open the original checkpoint."
        )


def _layout(entry: Attention, shape: Size) -> Layout:
    """The layout of a tensor of this shape. Fused weights of nanoGPT, (out, in), are three times as high as wide."""
    is_turned = entry.layout == LAYOUTS["conv1d_blocks"] and shape[0] == 3 * shape[1]
    return LAYOUTS["blocks"] if is_turned else entry.layout


def _heads_left(stack: Stack, at: Module, heads: int) -> tuple[int, ...]:
    """The numbers of the heads in a layer that are not in ``pruned_heads`` of the config."""
    pruned = stack.config.get("pruned_heads", dict[Any, list[int]]) or {}
    layer = at.numbers[0] if len(at.numbers) == 1 else at.place
    gone = set(pruned.get(f"{layer}", pruned.get(layer, [])))
    if not gone <= set(range(heads)):
        raise CheckpointError(
            f"pruned_heads in the config lists head {max(gone)} of layer {layer}, but this layer had only {heads}"
            " heads; correct the config."
        )
    return tuple(head for head in range(heads) if head not in gone)


def _those_there(query: str, outputs: int, width: int, left: tuple[int, ...], heads: int) -> tuple[int, ...]:
    """The heads in a weight with this number of outputs: those left by pruning, or all if it was not pruned."""
    if outputs == heads * width:
        return tuple(range(heads))
    if outputs != len(left) * width:
        raise _mismatch(
            query,
            f"has {outputs} outputs, but pruned_heads in the config leaves {len(left)} heads with {width} outputs each",
        )
    return left


def _kv_heads_of_fused(entry: Attention, named: int | None, blocks: int, heads: int) -> int:
    """The number of key heads in a fused weight of this many blocks: as in the config, or one for each query head.

    If the model type may have a single key head for all query heads, the number of blocks decides.
    """
    if not entry.one_kv_head:
        return named or heads
    return next((number for number in (1, named or heads) if blocks == heads + 2 * number), heads)


def _value_and_output(
    entry: Attention, layout: Layout, modules: tuple[str, str], shapes: Mapping[str, Size], widths: tuple[int, int]
) -> tuple[str, str]:
    """The value and output weights, by the names of query and key; "" unless both exist with nothing in between."""
    separate = re.sub("key|k(?=_|$)", lambda k: "value" if k[0] == "key" else "v", entry.key)
    named, (module, keys) = entry.key if layout.rows else separate, modules
    value, beside = entry.tensor(keys, named), module.rpartition(".")[0]
    outputs = (entry.tensor(beside if name[:3] == "../" else module, name.removeprefix("../")) for name in OUTPUTS)
    output = next((name for name in outputs if name in shapes), "")
    between = layout.gated or any(entry.tensor(module, name) in shapes for name in BETWEEN)
    side = 1 - layout.transposed  # the dimension of the output map along which the heads are arranged
    fits = value in shapes and (layout.rows or shapes[value][0] == widths[0])
    square = fits and output and shapes[output][side] == widths[1] and shapes[output][1 - side] == shapes[value][side]
    return (value, output) if entry.linear and square and not between else ("", "")


def _of_layer(stack: Stack, key: str, at: Module) -> int | None:
    """A number that a config gives for all layers, in a list indexed by the first number of the module, or by layer."""
    if not key:
        return None
    layer = at.numbers[0] if at.numbers else 0
    single = stack.config.get("per_layer_config", dict[Any, dict[str, Any]]) or {}
    changes = single.get(f"{layer}", single.get(layer)) or {}
    other = stack.config.get("attention_other_setting", dict[str, Any]) or {}  # for one kind of layers, as in Step 3.5
    kinds = stack.config.get("layer_types", list[Any] | None) or []
    if other and layer < len(kinds) and kinds[layer] == other.get("attention_type"):
        changes = other | changes
    if key in changes:
        return value_of(changes, key, Count)
    count, model_type = stack.config.get(f"{key}_per_layer", Counts), stack.config.model_type
    if count is not None:
        return _of_list(f"{key}_per_layer", count, layer)
    count = stack.config.get(key, Count | Counts)
    if not isinstance(count, list):
        return count
    # layers differ in models with stages such as Swin, in pruned decoders with grouped keys, and in registered types
    if isinstance(default_sizes().get(model_type, {}).get(key), int) and not stack.entry.kv_heads:
        raise CheckpointError(
            f"{key} is {f'{count}'[:80]} in the config, but {model_type} models have one number for all layers;"
            " correct the config or fetch the checkpoint again."
        )
    return _of_list(key, count, layer)


def _of_list(key: str, counts: list[int], layer: int) -> int:
    if not (layer < len(counts) and counts[layer]):
        raise Misfit(
            f"{key} in the config has no number for layer {layer}, although this layer has an attention; correct the"
            " config."
        )
    return counts[layer]


def _divide(tensor: str, size: int, count: int, what: str) -> int:
    if size % count:
        raise _mismatch(tensor, f"has {size} rows or columns, which is not divisible by {count} ({what})")
    return size // count


def _mismatch(tensor: str, what: str) -> Misfit:
    return Misfit(
        f"{tensor} {what}. {MISMATCH}: one of them was changed, they belong to different checkpoints, or heads were"
        " pruned and the config does not say so."
    )
