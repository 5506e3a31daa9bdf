"""From an entry, a config and the names and shapes in a file to the tensors of every layer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from torch import Size, Tensor, promote_types

from attngeo.architectures.entry import Attention, Layout, Part
from attngeo.bilinear import BilinearForm
from attngeo.errors import CheckpointError


@dataclass(frozen=True)
class LayerPlan:
    """The tensors of one layer's attention, and how its form follows from them."""

    part: Part
    layer: int  # counted within the part
    module: str  # name of the attention module in the file
    query: str  # tensor names; the same where one tensor holds both
    key: str
    layout: Layout
    heads: int
    kv_heads: int
    d_head: int

    def spans(self) -> dict[str, tuple[int, int] | None]:
        """Tensors to read, each with the stored rows [start, stop) that matter; None means all of it."""
        if self.layout.rows is None:
            return {self.query: None, self.key: None}
        if self.layout.transposed:
            return {self.query: None}
        q, k = self.layout.rows(self.heads, self.kv_heads, self.d_head)
        return {self.query: (0, int(max(q.max(), k.max())) + 1)}

    def form(self, tensors: Mapping[str, Tensor]) -> BilinearForm:
        """The layer's form, from the tensors that `spans` asked for."""
        query, key = tensors[self.query], tensors[self.key]
        if self.layout.transposed:
            query, key = query.T, key.T
        if self.layout.rows is not None:
            q, k = self.layout.rows(self.heads, self.kv_heads, self.d_head)
            query, key = query[q], key[k]
        dtype = promote_types(query.dtype, key.dtype)
        return BilinearForm.from_linear(query.to(dtype), key.to(dtype), self.d_head)


def locate(
    entries: tuple[Attention, ...], config: Mapping, shapes: Mapping[str, Size], model_type: str
) -> list[LayerPlan]:
    """The plan of every layer that the entries describe, by part and layer.

    Args:
        entries: the model_type's attention stacks.
        config: the checkpoint's config.json.
        shapes: shape of every tensor in the checkpoint's files.
        model_type: for messages.

    Raises:
        CheckpointError: no stack is there, layers are missing, or shapes and config disagree.
    """
    plans: list[LayerPlan] = []
    for entry in entries:
        modules = _modules(entry, shapes)
        _check_complete(entry, config, [indices for indices, _ in modules])
        part = "decoder" if entry.causal_if and config.get(entry.causal_if) else entry.part
        first = sum(plan.part == part for plan in plans)
        plans += [_plan(entry, part, first + i, name, config, shapes) for i, (_, name) in enumerate(modules)]
    if not plans:
        wanted = " or ".join(f"{entry.module}.{entry.query}.weight" for entry in entries)
        raise CheckpointError(
            f"no tensor is named like {wanted}, as a {model_type} model's would be; the files hold another"
            f" model, an adapter or quantised weights: open the original checkpoint."
        )
    return plans


def _modules(entry: Attention, shapes: Mapping[str, Size]) -> list[tuple[tuple[int, ...], str]]:
    """The numbers and the name of each module with this entry's query tensor, in order."""
    numbered = re.escape(entry.module).replace(r"\{\}", r"(\d+)")
    pattern = re.compile(rf"((?:.*\.)?)({numbered}\.){re.escape(entry.query)}\.weight")
    matches = [match for match in map(pattern.fullmatch, shapes) if match]
    prefixes = sorted({match[1] for match in matches})
    if len(prefixes) > 1:
        raise CheckpointError(
            f"{entry.module} stands in the files under several prefixes ({', '.join(p or 'none' for p in prefixes)});"
            f" save the part to be scored as a model of its own."
        )
    return sorted((tuple(map(int, match.groups()[2:])), (match[1] + match[2])[:-1]) for match in matches)


def _check_complete(entry: Attention, config: Mapping, found: list[tuple[int, ...]]) -> None:
    if not entry.layers or not found:
        return
    count = config.get(entry.layers)
    expected = count if isinstance(count, int) else found[-1][0] + 1
    missing = sorted(set(range(expected)) - {indices[0] for indices in found})
    if missing:
        raise CheckpointError(
            f"{entry.module.format(missing[0])}.{entry.query}.weight is missing, layer {missing[0]} of {expected};"
            f" the download or the save was incomplete: fetch the checkpoint again."
        )


def _plan(
    entry: Attention, part: Part, layer: int, module: str, config: Mapping, shapes: Mapping[str, Size]
) -> LayerPlan:
    query, key = f"{module}.{entry.query}.weight", f"{module}.{entry.key}.weight"
    for name in (query, key):
        if name not in shapes:
            raise CheckpointError(f"{name} is missing; the save was incomplete: fetch the checkpoint again.")
        if len(shapes[name]) != 2:
            raise CheckpointError(
                f"{name} has shape {tuple(shapes[name])} and not two dimensions; quantised or packed weights cannot"
                f" be scored: open the original checkpoint."
            )
    heads = _count(config, entry.heads)
    out, _ = reversed(shapes[query]) if entry.layout.transposed else shapes[query]
    if entry.layout.rows is None:
        d_head = _divide(out, heads, query, entry.heads)
        kv_heads = _divide(shapes[key][0], d_head, key, "the width of a head")
    else:
        kv_heads = _count(config, entry.kv_heads) if config.get(entry.kv_heads) else heads
        d_head = _divide(out, entry.layout.shares(heads, kv_heads), query, entry.heads)
    for what, found, config_key in (("key heads", kv_heads, entry.kv_heads), ("a head", d_head, entry.d_head)):
        if config.get(config_key) not in (None, found):
            raise CheckpointError(
                f"{key} has {found} for {what} and config.json says {config_key} = {config[config_key]};"
                f" config.json belongs to another checkpoint: fetch both again."
            )
    return LayerPlan(part, layer, module, query, key, entry.layout, heads, kv_heads, d_head)


def _count(config: Mapping, key: str) -> int:
    count = config.get(key)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        problem = "is missing" if count is None else f"is {count!r} and not a number above 0"
        raise CheckpointError(f"{key} {problem} in config.json; heads cannot be told apart without it: add it.")
    return count


def _divide(size: int, count: int, tensor: str, what: str) -> int:
    if size % count:
        raise CheckpointError(
            f"{tensor} has {size} outputs, which {count} ({what}) does not divide; config.json belongs to"
            f" another checkpoint: fetch both again."
        )
    return size // count
