"""From entries, a config and the names and shapes in a checkpoint's files to the tensors of every layer."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from msgspec import Meta, structs
from torch import Size

from attngeo.checkpoints.architectures.entry import (
    BETWEEN,
    NORMS,
    OUTPUTS,
    Attention,
    Entry,
    Part,
    Positions,
    Refused,
    Tower,
)
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.errors import CheckpointError
from attngeo.inputs import checked

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Layers = Annotated[int, Meta(ge=0, le=1_000_000)]  # 0 where a tower is absent, or heads where a layer has no attention
Counts = Annotated[list[Layers], Meta(min_length=1, max_length=1000)]  # by stage, or by layer
Name = Annotated[str, Meta(max_length=200)]
# number of the stack, whether it stores weights (in, out), query or key, numbers in the module's name
Place = tuple[int, bool, str, tuple[int, ...]]


class Misfit(CheckpointError):
    """Names or shapes of tensors are not those of the model that the config tells."""


@dataclass(frozen=True)
class _Stack:
    """An attention entry, the config that speaks of it, and where its modules are, or are not: in towers beside it."""

    entry: Attention
    config: "_Config"
    within: tuple[str, ...]
    beside: tuple[str, ...]


@dataclass(frozen=True)
class _Config:
    values: Mapping[str, Any]
    model_type: str
    nested: bool

    def get(self, key: str, kind: Any = Count) -> Any:
        """A value of a kind, or None; where a nested config says nothing, that of its model_type by default.

        A key such as "encoder.num_layers" is that of a config in this one, unless there is one of that name.
        """
        values, (*inside, name) = self.values, key.split(".") if key not in self.values else [key]
        for inner in inside:
            values = value_of(values, inner, dict[str, Any]) or {}
        if name in values or not (self.nested or inside):
            return value_of(values, name, kind)
        return default_sizes().get(self.model_type, {}).get(key)


def value_of(config: Mapping, key: str, kind: Any) -> Any:
    """A value of a config if it is of a kind; None where there is none.

    Raises:
        CheckpointError: it is of another kind.
    """
    return checked(
        config.get(key),
        kind | None,
        lambda why: CheckpointError(
            f"{key} is {f'{config[key]!r}'[:80]} in the config: {why}; mend it or fetch the checkpoint again."
        ),
    )


@cache
def default_sizes() -> dict[str, dict[str, Any]]:
    """Heads and layers by model_type, for what nested configs leave out."""
    groups = yaml.safe_load(Path(__file__).with_name("defaults.yml").read_text(encoding="utf-8"))
    return {model_type: group["sizes"] for group in groups for model_type in group["model_types"]}


def locate(architectures: Mapping[str, Entry], config: Mapping, shapes: Mapping[str, Size]) -> list[LayerPlan]:
    """The plan of every attention layer, by part and layer, from config.json and the shapes of the tensors.

    Raises:
        CheckpointError: the model_type is unknown or refused, no attention is there, layers are missing, or shapes
            and config disagree.
    """
    stacks = [_as_named(stack, shapes) for stack in _stacks(architectures, _top(config))]
    plans: list[LayerPlan] = []
    for stack in stacks:
        modules, positions = _modules(stack, shapes), _positions(stack, shapes)
        _check_complete(stack, [numbers for numbers, _ in modules])
        decoder = bool(stack.entry.decoder_if and stack.config.get(stack.entry.decoder_if, bool))
        part: Part = "decoder" if decoder else stack.entry.part
        causal = part == "decoder" if stack.entry.causal is None else stack.entry.causal
        if part == "cross":
            modules = [(numbers, module) for numbers, module in modules if _of_one_width(stack, module, shapes)]
        first = sum(plan.part == part for plan in plans)
        for layer, (numbers, module) in enumerate(modules, first):
            plan = _plan(stack, part, layer, causal, module, numbers, shapes)
            norm = "" if part == "cross" else _norm(stack, module, shapes)  # whose two sides are normalised apart
            plans.append(replace(plan, positions=positions, norm=norm, norm_offset=stack.entry.norm_offset))
    if not plans:
        wanted = " or ".join(stack.entry.tensor(stack.entry.module, stack.entry.query) for stack in stacks)
        raise Misfit(
            f"no tensor is named like {wanted}, as a {config.get('model_type')} model's would be; the files hold"
            f" another model, an adapter or quantised weights: open the original checkpoint."
        )
    order = {part: place for place, part in enumerate(("encoder", "decoder", "cross"))}
    return sorted(plans, key=lambda plan: (order[plan.part], plan.layer))


def places(architectures: Mapping[str, Entry], config: Mapping, names: Iterable[str]) -> dict[Place, str]:
    """Query and key weights by their place in a model, whichever version of transformers named them."""
    patterns: list[tuple[int, bool, str, re.Pattern]] = []
    for number, stack in enumerate(_stacks(architectures, _top(config))):
        for named in (stack, _renamed(stack)):
            for role, weight in (("query", named.entry.query), ("key", named.entry.key)):
                patterns.append((number, stack.entry.layout.transposed, role, _pattern(named, weight)))
    by_place: dict[Place, str] = {}
    for name in names:
        for number, turned, role, pattern in patterns:
            if match := pattern.fullmatch(name):
                place = number, turned, role, tuple(map(int, match.groups()[2:]))
                if by_place.setdefault(place, name) != name:
                    raise CheckpointError(f"{by_place[place]} and {name} are the same weight of the model; keep one.")
                break
    return by_place


def _top(config: Mapping) -> _Config:
    return _Config(config, value_of(config, "model_type", Name) or "", nested=False)


def _stacks(
    architectures: Mapping[str, Entry],
    config: _Config,
    within: tuple[str, ...] = (),
    around: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> Iterator[_Stack]:
    """A model's attention stacks, those of the models inside it included; ``around`` are the types it is inside of."""
    name = config.model_type
    if not name:
        raise CheckpointError("the config names no model_type; add the one that transformers uses, or name it (--as).")
    if name not in architectures:
        read = [known for known, entry in architectures.items() if not isinstance(entry, Refused)]
        near = ", ".join(get_close_matches(name, read, 3, 0.7))
        raise CheckpointError(
            f"model_type {name!r} is not among the {len(read)} that can be read"
            f"{f' (near: {near})' if near else ''}; where it differs from one of them by"
            f" name alone, read it as that (--as), else attngeo.register_architecture or --register adds"
            f" it."
        )
    if name in around:
        raise CheckpointError(f"the config makes a {name} model a part of itself; fetch the checkpoint again.")
    entries = architectures[name]
    if isinstance(entries, Refused):
        raise CheckpointError(f"{name} models have no W_qk to score: {entries.reason}")
    towers = tuple(entry.within for entry in entries if isinstance(entry, Tower) and entry.within)
    for entry in entries:
        if isinstance(entry, Attention):
            yield _Stack(entry, config, within, (*beside, *towers))
            continue
        values = config.get(entry.config, dict[str, Any])
        nested = values is not None
        values = values if nested else config.values
        model_type = entry.model_type or value_of(values, "model_type", Name) or ""
        inner = (*within, *([entry.within] if entry.within else []))
        others = beside if entry.within else (*beside, *towers)
        yield from _stacks(architectures, _Config(values, model_type, nested), inner, (*around, name), others)


def _as_named(stack: _Stack, shapes: Mapping[str, Size]) -> _Stack:
    """The stack with the names of files, or with those of models in memory if only they are there."""
    if _modules(stack, shapes):  # names of memory may be those of several parts of a complete model
        return stack
    renamed = _renamed(stack)
    return renamed if _modules(renamed, shapes) else stack


def _renamed(stack: _Stack) -> _Stack:
    if stack.entry.in_memory is None:
        return stack
    module, query, key = stack.entry.in_memory
    layout = stack.entry.layout if query == key else "separate"
    return replace(stack, entry=structs.replace(stack.entry, module=module, query=query, key=key, layout=layout))


def _pattern(stack: _Stack, weight: str) -> re.Pattern:
    """What the name of a stack's query or key weight is like: prefix, module, and the numbers in it."""
    numbered = re.escape(stack.entry.module).replace(r"\{\}", r"(0|[1-9]\d{0,8})")
    ending = stack.entry.tensor("m" if numbered else "", weight).removeprefix("m" if numbered else "")
    return _any_prefix(stack, f"({numbered}){re.escape(ending)}")


def _any_prefix(stack: _Stack, name: str) -> re.Pattern:
    """A name within the stack's tower, after whatever prefix: the first group."""
    within, beside = (
        ["|".join(map(re.escape, component.split("|"))) for component in components]
        for components in (stack.within, stack.beside)
    )
    prefix = "".join(rf"(?!(?:.*\.)?(?:{component})\.)" for component in beside) + r"(?:.*\.)?"
    prefix += "".join(rf"(?:{component})\.(?:.*\.)?" for component in within)
    return re.compile(f"({prefix}){name}")


def _positions(stack: _Stack, shapes: Mapping[str, Size]) -> Positions | None:
    """How the stack takes positions, with the names of its tensors in the files, "" where they are not there."""
    stated = stack.entry.positions
    if stated is None or not stated.table:
        return stated
    kind = stack.config.get("position_embedding_type", Name)
    if kind not in (None, "absolute"):  # of BERT and others: the table is there, and is not added
        return Positions(kind.replace("_", "-"))
    first = stated.first
    if isinstance(first, str):  # the padding token of RoBERTa and its kind is 1 where a config says nothing
        padding = stack.config.get(first, Annotated[int, Meta(ge=0, le=1_000_000)])
        first = 2 if padding is None else padding + 1

    def named(words: str) -> str:
        names = list(filter(_any_prefix(stack, rf"{re.escape(words)}(?:\.weight)?").fullmatch, shapes))
        return names[0] if words and len(names) == 1 else ""

    return structs.replace(stated, table=named(stated.table), first=first, map=named(stated.map))


def _norm(stack: _Stack, module: str, shapes: Mapping[str, Size]) -> str:
    """The gain of the normalisation before an attention: in its module, or in what that is in, up to the layer."""
    entry = stack.entry
    if entry.norm == "" or (entry.norm_if and stack.config.get(entry.norm_if, bool) is not True):
        return ""
    names = NORMS if entry.norm is None else (entry.norm,)
    parts = module.split(".")
    numbered = max((place for place, part in enumerate(parts) if part.isdigit()), default=0)
    around = (".".join(parts[:end]) for end in range(len(parts), numbered, -1))
    gains = [f"{place}.{name}.{gain}" for place in around for name in names for gain in ("weight", "gamma")]
    return next((gain for gain in gains if gain in shapes), "")


def _modules(stack: _Stack, shapes: Mapping[str, Size]) -> list[tuple[tuple[int, ...], str]]:
    """The numbers and the name of each module with this stack's query tensor, in order."""
    entry = stack.entry
    matches = [match for match in map(_pattern(stack, entry.query).fullmatch, shapes) if match]
    prefixes = sorted({match[1] for match in matches})
    if len(prefixes) > 1:
        raise CheckpointError(
            f"{entry.module} stands in the files under several prefixes ({', '.join(p or 'none' for p in prefixes)});"
            f" save the part to be scored as a model of its own."
        )
    return sorted((tuple(map(int, match.groups()[2:])), (match[1] + match[2]).rstrip(".")) for match in matches)


def _of_one_width(stack: _Stack, module: str, shapes: Mapping[str, Size]) -> bool:
    """Whether queries and keys are made of vectors of one width: W_qk between two is not square, and has no score."""
    query, key = (shapes.get(stack.entry.tensor(module, name)) for name in (stack.entry.query, stack.entry.key))
    return query is None or key is None or query[-1] == key[-1] or stack.entry.layout.transposed


def _check_complete(stack: _Stack, numbers: list[tuple[int, ...]]) -> None:
    """Refuse modules that lack one of the layers which the config tells; ``numbers`` are those in their names."""
    count = stack.config.get(stack.entry.layers, Layers | Counts)
    if not numbers or count is None:
        return
    stages, depth = (count, 2) if isinstance(count, list) else ([count], 1)
    there = {place[:depth] for place in numbers}
    promised = [(stage, layer)[-depth:] for stage, layers in enumerate(stages) for layer in range(layers)]
    if missing := next((place for place in promised if place not in there), None):
        module = stack.entry.module.format(*missing, *numbers[-1][depth:])
        raise CheckpointError(
            f"{stack.entry.tensor(module, stack.entry.query)} is missing, one of {sum(stages)} layers that the config"
            f" promises; the download or the save was incomplete: fetch the checkpoint again."
        )
    ahead = stack.config.get("num_nextn_predict_layers", Layers) or 0  # stand behind the layers that are counted
    if len(there) > sum(stages) + ahead:
        raise Misfit(
            f"{stack.entry.module} stands in the files {len(there)} times, and {stack.entry.layers} is {count} in the"
            f" config; the config belongs to another checkpoint: fetch both again."
        )


def _plan(
    stack: _Stack,
    part: Part,
    layer: int,
    causal: bool,
    module: str,
    numbers: tuple[int, ...],
    shapes: Mapping[str, Size],
) -> LayerPlan:
    entry = stack.entry
    query, key = entry.tensor(module, entry.query), entry.tensor(module, entry.key)
    for name in (query, key):
        if name not in shapes:
            raise CheckpointError(f"{name} is missing; the save was incomplete: fetch the checkpoint again.")
        if len(shapes[name]) != 2 or not all(shapes[name]):
            raise Misfit(
                f"{name} has shape {tuple(shapes[name])} and not two dimensions of 1 or more; quantised or packed"
                f" weights cannot be scored: open the original checkpoint."
            )
    heads, named_kv_heads, named_d_head = (
        _of_layer(stack, key, numbers) for key in (entry.heads, entry.kv_heads, entry.d_head)
    )
    divisor = stack.config.get(entry.heads_over) if entry.heads_over else 1
    if heads is None or divisor is None:
        missing = entry.heads if heads is None else entry.heads_over
        raise CheckpointError(f"{missing} is missing in the config, which tells heads apart: give a number.")
    heads = max(1, heads // divisor)
    outputs, inputs = reversed(shapes[query]) if entry.layout.transposed else shapes[query]
    if entry.layout.rows is None:
        outputs = _divide(query, outputs, 2, "a query and its gate") if entry.layout.gated else outputs
        if shapes[key][1] != inputs:
            raise _mismatch(key, f"has {shapes[key][1]} inputs where {query} has {inputs}")
        d_head = _divide(query, outputs, heads, entry.heads)
        kv_heads = _divide(key, shapes[key][0], d_head, "width of a head")
    else:  # [H + 2 H_kv] blocks of d_head
        d_head = named_d_head or _divide(query, inputs, heads, entry.heads)
        beside_keys = 2 * heads if entry.layout.gated else heads
        blocks = _divide(query, outputs, d_head, "width of a head")
        kv_heads = _divide(query, blocks - beside_keys, 2, "a key and a value")
    if kv_heads < 1 or heads % kv_heads:
        raise _mismatch(key, f"gives {kv_heads} key heads for {heads} query heads")
    for what, number, config_key, named in (
        ("key heads", kv_heads, entry.kv_heads, named_kv_heads),
        ("coordinates of a head", d_head, entry.d_head, named_d_head),
    ):
        if named not in (None, number):
            raise _mismatch(key, f"gives {number} {what} where the config has {config_key} = {named}")
    value, output = _value_and_output(entry, module, shapes, (kv_heads * d_head, heads * d_head))
    return LayerPlan(part, layer, causal, module, query, key, value, output, entry.layout, heads, kv_heads, d_head)


def _value_and_output(
    entry: Attention, module: str, shapes: Mapping[str, Size], widths: tuple[int, int]
) -> tuple[str, str]:
    """The weights beside query and key, by the names of these; "" unless both are there and nothing between."""
    separate = re.sub("key|k(?=_|$)", lambda k: "value" if k[0] == "key" else "v", entry.key)
    named = entry.key if entry.layout.rows else separate
    value, beside = entry.tensor(module, named), module.rpartition(".")[0]
    outputs = (entry.tensor(beside if name[:3] == "../" else module, name.removeprefix("../")) for name in OUTPUTS)
    output = next((name for name in outputs if name in shapes), "")
    between = entry.layout.gated or any(entry.tensor(module, name) in shapes for name in BETWEEN)
    side = 1 - entry.layout.transposed  # of the output map, along which its heads stand
    fits = value in shapes and (entry.layout.rows or shapes[value][0] == widths[0])
    square = fits and output and shapes[output][side] == widths[1] and shapes[output][1 - side] == shapes[value][side]
    return (value, output) if entry.linear and square and not between else ("", "")


def _of_layer(stack: _Stack, key: str, numbers: tuple[int, ...]) -> int | None:
    """A count that a config gives for all layers, or in a list by the module's first number."""
    count, model_type = stack.config.get(key, Count | Counts), stack.config.model_type
    if not isinstance(count, list):
        return count
    # layers differ in stages, as of Swin, in pruned decoders with grouped keys, and in types that are registered
    if isinstance(default_sizes().get(model_type, {}).get(key), int) and not stack.entry.kv_heads:
        raise CheckpointError(
            f"{key} is {f'{count}'[:80]} in the config, and {model_type} models have one number for all layers; mend it"
            f" or fetch the checkpoint again."
        )
    layer = numbers[0] if numbers else 0
    if not (layer < len(count) and count[layer]):
        raise Misfit(f"{key} in the config has no number for layer {layer}, which has an attention; fetch both again.")
    return count[layer]


def _divide(tensor: str, size: int, count: int, what: str) -> int:
    if size % count:
        raise _mismatch(tensor, f"has {size} rows or columns, which {count} ({what}) does not divide")
    return size // count


def _mismatch(tensor: str, what: str) -> Misfit:
    return Misfit(f"{tensor} {what}; the config belongs to another checkpoint: fetch both again.")
