"""What a configuration says about the heads of one layer, which may differ from layer to layer."""

from typing import Any, NamedTuple

from attngeo.checkpoints.architectures.stacks import Count, Counts, Misfit, Module, Stack, default_sizes, value_of
from attngeo.errors import CheckpointError


class Stated(NamedTuple):
    """What a configuration says about the heads of a layer, with None for numbers that it does not contain."""

    heads: int  # before pruning
    unpruned: tuple[int, ...]
    kv_heads: int | None
    d_head: int | None


def stated_heads(stack: Stack, at: Module) -> Stated:
    """What the configuration says about the heads of a layer."""
    entry = stack.entry
    heads, kv_heads, d_head = (_of_layer(stack, key, at) for key in (entry.heads, entry.kv_heads, entry.d_head))
    divisor = stack.config.get(entry.heads_over) if entry.heads_over else 1
    if heads is None or divisor is None:
        missing = entry.heads if heads is None else entry.heads_over
        raise CheckpointError(
            f"the config does not contain {missing}, and without this number the heads cannot be separated. Add it to"
            " the config."
        )
    heads = max(1, heads // divisor)
    return Stated(heads, _heads_left(stack, at, heads), kv_heads, d_head)


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


def _of_layer(stack: Stack, key: str, at: Module) -> int | None:
    """A number that a config gives for all layers, in a list indexed by the first number of the module, or by layer."""
    if not key:
        return None
    layer = at.first
    single = stack.config.get("per_layer_config", dict[Any, dict[str, Any]]) or {}
    changes = single.get(f"{layer}", single.get(layer)) or {}
    other = stack.config.get("attention_other_setting", dict[str, Any]) or {}  # for one kind of layers, as in Step 3.5
    kinds = stack.config.kinds_of_layers()
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
