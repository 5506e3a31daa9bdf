"""The heads of one layer, including pruned and grouped heads, from what its configuration says and its tensors."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from torch import Size

from attngeo.checkpoints.architectures.entry import BETWEEN, LAYOUTS, OUTPUTS, Attention, Layout, Part
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.stacks import Misfit, Module, Stack, out_in
from attngeo.checkpoints.architectures.stated import Stated, stated_heads
from attngeo.errors import CheckpointError

MISMATCH = "The config and the weights do not fit each other"
# config keys that contain a width, such as true_hidden_size of MobileBERT
WIDTH = re.compile("(hidden_size|dim|d_model|n_embd|width)$")
# model types whose layers have several widths, of which hidden_size is at most one
WIDER_BY_STAGES = ("clap_audio_model", "donut-swin", "fun_asr_nano_encoder", "maskformer-swin", "swin", "swinv2")


class Heads(NamedTuple):
    """The heads of a layer according to its weights, with the numbers that the query heads had before pruning."""

    numbers: tuple[int, ...]
    kv_heads: int
    d_head: int


def plan_layer(
    stack: Stack, part: Part, layer: int, causal: bool, at: Module, keys: str, shapes: Mapping[str, Size]
) -> LayerPlan:
    """The plan of one layer. ``keys`` is the name of the module that computes the keys to which the layer attends."""
    entry = stack.entry
    query, key = entry.tensor(at.name, entry.query), entry.tensor(keys, entry.key)
    for name in (query, key):
        _require_matrix(name, shapes)
    stated, layout = stated_heads(stack, at), _layout(entry, shapes[query])
    if layout.rows is None:
        found = _separate_heads(entry, layout, query, key, stated, shapes)
    else:
        found = _fused_heads(entry, layout, query, stated, shapes[query])
    _require_agreement(entry, key, found, stated)
    n_heads = len(found.numbers)
    widths = (found.kv_heads * found.d_head, n_heads * found.d_head)
    value, output = _value_and_output(entry, layout, (at.name, keys), shapes, widths)
    remarks: list[str] = []
    if len(stated.unpruned) < n_heads:
        remarks.append(
            f"pruned_heads in the configuration lists heads of {part} layer {layer}, but the files contain all"
            f" {n_heads} heads of this layer, so all of them were scored."
        )
    _, inputs = out_in(shapes[query], layout)
    if part != "cross" and (width := _other_width(stack, inputs)) is not None:
        remarks.append(f"The config says hidden_size = {width}, but the weights have width {inputs}.")
    if entry.kv_heads and stated.kv_heads is None and found.kv_heads != n_heads and not entry.one_kv_head:
        remarks.append(
            f"The config does not contain {entry.kv_heads}. The key weights have the size of {found.kv_heads} heads, so"
            f" they were read as {found.kv_heads} heads for {n_heads} query heads."
        )
    return LayerPlan(
        part,
        layer,
        causal,
        at.name,
        query,
        key,
        value,
        output,
        layout,
        n_heads,
        found.kv_heads,
        found.d_head,
        head_numbers=found.numbers if n_heads < stated.heads else (),
        remarks=tuple(remarks),
    )


def _separate_heads(
    entry: Attention, layout: Layout, query: str, key: str, stated: Stated, shapes: Mapping[str, Size]
) -> Heads:
    """The heads of queries and keys that have a tensor each."""
    (outputs, inputs), (key_outputs, key_inputs) = (out_in(shapes[name], layout) for name in (query, key))
    outputs = _divide(query, outputs, 2, "a query and its gate") if layout.gated else outputs
    if key_inputs != inputs:
        raise _mismatch(key, f"has {key_inputs} inputs, but {query} has {inputs}")
    numbers = stated.unpruned
    if len(numbers) < stated.heads:
        width = stated.d_head or _divide(query, inputs, stated.heads, entry.heads)
        numbers = _those_there(query, outputs, width, stated)
    d_head = _divide(query, outputs, len(numbers), entry.heads)
    return Heads(numbers, _divide(key, key_outputs, d_head, "width of a head"), d_head)


def _fused_heads(entry: Attention, layout: Layout, query: str, stated: Stated, shape: Size) -> Heads:
    """The heads of a fused weight of H + 2 H_kv blocks of d_head rows, behind gates of 2 H + 2 H_kv blocks."""
    outputs, inputs = out_in(shape, layout)
    d_head = stated.d_head or _divide(query, inputs, stated.heads, entry.heads)
    numbers = stated.unpruned
    if len(numbers) < stated.heads:
        numbers = _those_there(query, outputs, 3 * d_head, stated)
    blocks = _divide(query, outputs, d_head, "width of a head")
    named = stated.kv_heads if len(numbers) == stated.heads else None
    kv_heads = _kv_heads_of_fused(entry, named, blocks, len(numbers))
    rows = ((2 if layout.gated else 1) * len(numbers) + 2 * kv_heads) * d_head
    if rows != outputs:
        raise _mismatch(
            query,
            f"has {outputs} outputs, but {len(numbers)} query heads and {kv_heads} key heads of width {d_head} need"
            f" {rows}",
        )
    return Heads(numbers, kv_heads, d_head)


def _require_agreement(entry: Attention, key: str, found: Heads, stated: Stated) -> None:
    """Refuse weights with another number of key heads, or heads of another width, than the configuration says."""
    n_heads, kv_heads, d_head = len(found.numbers), found.kv_heads, found.d_head
    if kv_heads < 1 or n_heads % kv_heads:
        raise _mismatch(key, f"has {kv_heads} key heads for {n_heads} query heads")
    may_differ = entry.one_kv_head or n_heads < stated.heads
    if stated.kv_heads not in (None, kv_heads) and not may_differ:
        raise _mismatch(key, f"has {kv_heads} key heads, but the config says {entry.kv_heads} = {stated.kv_heads}")
    if stated.d_head not in (None, d_head):
        raise _mismatch(
            key, f"has {d_head} coordinates of a head, but the config says {entry.d_head} = {stated.d_head}"
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
    kinds = stack.config.kinds_of_layers()
    seen: dict[tuple, LayerPlan] = {}
    for place, plan in enumerate(plans):
        _, inputs = out_in(shapes[plan.query], plan.layout)
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


def _those_there(query: str, outputs: int, width: int, stated: Stated) -> tuple[int, ...]:
    """The heads in a weight with this number of outputs: those left by pruning, or all if it was not pruned."""
    left = stated.unpruned
    if outputs == stated.heads * width:
        return tuple(range(stated.heads))
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
    module, keys = modules
    separate = re.sub("key|k(?=_|$)", lambda k: "value" if k[0] == "key" else "v", entry.key)
    value = entry.tensor(keys, entry.key if layout.rows else separate)
    around = module.rpartition(".")[0]
    outputs = (entry.tensor(around if name[:3] == "../" else module, name.removeprefix("../")) for name in OUTPUTS)
    output = next((name for name in outputs if name in shapes), "")
    is_between = layout.gated or any(entry.tensor(module, name) in shapes for name in BETWEEN)
    if not (entry.linear and output and value in shapes) or is_between:
        return "", ""
    of_value, of_output = (out_in(shapes[name], layout) for name in (value, output))
    has_all_heads = len(of_value) == 2 and (layout.rows is not None or of_value[0] == widths[0])
    return (value, output) if has_all_heads and of_output == (of_value[1], widths[1]) else ("", "")


def _divide(tensor: str, size: int, count: int, what: str) -> int:
    if size % count:
        raise _mismatch(tensor, f"has {size} rows or columns, which is not divisible by {count} ({what})")
    return size // count


def _mismatch(tensor: str, what: str) -> Misfit:
    return Misfit(
        f"{tensor} {what}. {MISMATCH}: one of them was changed, they belong to different checkpoints, or heads were"
        " pruned and the config does not say so."
    )
