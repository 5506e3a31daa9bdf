"""From entries, a config and the names and shapes in a checkpoint's files to the tensors of every layer."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from msgspec import Meta, structs
from torch import Size

from attngeo.checkpoints.architectures.entry import (
    BETWEEN,
    LAYOUTS,
    NORMS,
    OUTPUTS,
    Attention,
    Entry,
    Layout,
    Part,
    Positions,
    Refused,
    Tower,
)
from attngeo.checkpoints.architectures.keys import beside, unfollowed_keys, unknown_keys
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.errors import CheckpointError
from attngeo.inputs import checked

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Layers = Annotated[int, Meta(ge=0, le=1_000_000)]  # 0 where a tower is absent, or heads where a layer has no attention
Counts = Annotated[list[Layers], Meta(min_length=1, max_length=1000)]  # by stage, or by layer
Name = Annotated[str, Meta(max_length=200)]
ROTATION = re.compile("rope_|rotary|use_mrope|partial_rotary")  # how keys begin that say how positions rotate
CHUNKED = "chunked_attention"  # a kind of layers that hide later tokens, whatever else a configuration says
OPENED = "denoise_model"  # the module in which DiffuGPT and DiffuLLaMA keep a decoder whose causal mask they open
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

    def of(self, entry: Attention) -> "_Config":
        """The config that speaks of an entry: this one, or the one inside it that has the entry's number of heads."""
        if entry.heads in self.values or "." not in entry.heads:
            return self
        *inside, _ = entry.heads.split(".")
        values: Mapping[str, Any] = self.values
        for key in inside:
            values = value_of(values, key, dict[str, Any]) or {}
        return _Config(values, value_of(values, "model_type", Name) or "", nested=True)

    def sees_later_tokens(self, entry: Attention) -> bool:
        """Whether the configuration makes this decoder attend in both directions."""
        if entry.follows_is_causal and not self.values.get("is_causal", True):
            return True
        if not entry.both_ways_if or (self.nested and not entry.both_ways_within):
            return False
        return self.values.get(entry.both_ways_if) in (True, "all")


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
        part, causal = _label(stack, stacks, shapes)
        if part == "cross":
            modules = [(numbers, module) for numbers, module in modules if _of_one_width(stack, module, shapes)]
        tensors = _tensors_within([module for _, module in modules], shapes)
        first = sum(plan.part == part for plan in plans)
        config_of = stack.config.of(stack.entry)
        kinds = config_of.values.get("layer_types")
        kinds = kinds if isinstance(kinds, list) else []
        if not causal and part == "encoder" and stack.entry.part == "decoder" and CHUNKED in kinds:
            part = "decoder"  # since some of its layers hide later tokens
        of_stack: list[LayerPlan] = []
        for place, (numbers, module) in enumerate(modules):
            at, maker = _Module(place, numbers, module), _maker_of_keys(stack, place, modules)
            keys = modules[maker][1]
            hides = causal or (part == "decoder" and kinds[numbers[0] : numbers[0] + 1] == [CHUNKED])
            plan = _plan(stack, part, first + place, hides, at, keys, shapes)
            norm = "" if part == "cross" else _norm(stack, module, shapes)  # whose two sides are normalised apart
            plan = replace(plan, positions=positions, norm=norm, norm_offset=stack.entry.norm_offset)
            extra = beside(stack.entry, config_of.values, config_of.model_type, tensors[module], hides)
            plan = replace(plan, beside=tuple(extra))
            if maker != place:
                plan = replace(plan, keys_of=first + maker, key_norm=_norm(stack, keys, shapes))
            of_stack.append(plan)
        _require_one_width(stack, of_stack, shapes)
        plans += of_stack
    if not plans:
        wanted = " or ".join(stack.entry.tensor(stack.entry.module, stack.entry.query) for stack in stacks)
        raise Misfit(
            f"no tensor is named like {wanted}, as a {config.get('model_type')} model's would be; there are"
            f" {_names_in(shapes)}: where those are its queries and keys by other names, attngeo.register_architecture"
            f" or --register adds the names."
        )
    order = {part: place for place, part in enumerate(("encoder", "decoder", "cross"))}
    return sorted(plans, key=lambda plan: (order[plan.part], plan.layer))


def _names_in(shapes: Mapping[str, Size]) -> str:
    """A few names of matrices in the files, of queries, keys or attentions if there are any."""
    names = sorted(name for name, shape in shapes.items() if len(shape) == 2) or sorted(shapes)
    for like in ("query|key|[qk]_proj|qkv|c_attn|in_proj", "att", ""):
        if found := [name for name in names if re.search(like, name)]:
            return ", ".join(found[:3])
    return "no tensors"


def unfollowed(architectures: Mapping[str, Entry], config: Mapping) -> list[str]:
    """Keys that a configuration sets and that the reader does not know or does not follow, as ``key = value``."""
    top = _top(config)
    stacks = list(_stacks(architectures, top))
    of_top = {top.model_type} | {stack.config.model_type for stack in stacks if not stack.config.nested}
    named = unknown_keys(config, of_top)
    for stack in stacks:
        values, model_type = stack.config.values, stack.config.model_type
        if stack.config.nested:
            named += unknown_keys(values, [model_type])
        if stack.entry.both_ways_within or not stack.config.nested:
            named += unfollowed_keys(stack.entry, values, model_type)
    for entry in architectures[top.model_type]:
        if isinstance(entry, Tower):
            named += unfollowed_keys(entry, config, top.model_type)
    kinds = {stack.entry.positions.kind for stack in stacks if stack.entry.positions}
    if any("rotary" in kind for kind in kinds):  # which is named among what is left out of W_qk
        named = [words for words in named if not ROTATION.match(words)]
    return list(dict.fromkeys(named))


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


def _label(stack: _Stack, stacks: list[_Stack], shapes: Mapping[str, Size]) -> tuple[Part, bool]:
    """The part that a stack is, and whether its tokens see only those before them.

    A decoder whose configuration lets its tokens see later ones is an encoder, unless it attends to an encoder.
    """
    entry = stack.entry
    part: Part = entry.part
    if entry.decoder_if and stack.config.get(entry.decoder_if, bool):
        part = "decoder"
    if entry.causal is not None:
        return part, entry.causal
    if part != "decoder":
        return part, False
    if any(is_opened(module) for _, module in _modules(stack, shapes)):
        return "encoder", False
    if not stack.config.of(entry).sees_later_tokens(entry):
        return part, True
    crosses = any(
        other.config is stack.config and other.entry.part == "cross" and _modules(other, shapes) for other in stacks
    )
    return ("decoder" if crosses else "encoder"), False


def is_opened(module: str) -> bool:
    """Whether an attention module is that of a decoder whose causal mask the code around it opens."""
    return OPENED in module.split(".")


def _tensors_within(modules: Iterable[str], shapes: Iterable[str]) -> dict[str, list[str]]:
    """The names of the tensors in each module, without the module's name."""
    within: dict[str, list[str]] = {module: [] for module in modules}
    for name in shapes:
        parts = name.split(".")
        for end in range(len(parts)):
            module = ".".join(parts[:end])
            if module in within:
                within[module].append(".".join(parts[end:]))
    return within


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
    names = NORMS if entry.norm is None else entry.norm.split("|")
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
            f" promises; fetch or save the whole checkpoint, or mend the config where the layer was taken out."
        )
    ahead = stack.config.get("num_nextn_predict_layers", Layers) or 0  # stand behind the layers that are counted
    if len(there) > sum(stages) + ahead:
        raise Misfit(
            f"{stack.entry.module} stands in the files {len(there)} times, and {stack.entry.layers} is {count} in the"
            f" config; one was changed or comes from another checkpoint: mend the config."
        )


def _maker_of_keys(stack: _Stack, place: int, modules: list[tuple[tuple[int, ...], str]]) -> int:
    """The place of the layer that makes the keys of a layer: its own, or that of the last earlier one of its kind."""
    entry = stack.entry
    shared = stack.config.get(entry.shared_keys, Layers) if entry.shared_keys else None
    makers = len(modules) - (shared or 0)
    if place < makers:
        return place
    kinds = stack.config.get("layer_types", list[str] | None)
    if kinds is None:
        kinds = ["full" if (layer + 1) % entry.full_every == 0 else "sliding" for layer in range(len(modules))]
    if len(kinds) != len(modules) or kinds[place] not in kinds[: max(makers, 0)]:
        raise CheckpointError(
            f"{modules[place][1]} attends to the keys of an earlier layer ({entry.shared_keys} = {shared} in the"
            f" config), and layer_types names no such layer; mend the config."
        )
    return max(layer for layer in range(makers) if kinds[layer] == kinds[place])


def _require_one_width(stack: _Stack, plans: list[LayerPlan], shapes: Mapping[str, Size]) -> None:
    """Refuse layers of as many heads whose weights differ in height where no config says why, as of pruned heads."""
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
                f" and the config gives both {plan.heads} heads of one width; heads may have been pruned, and the"
                f" config does not say which (pruned_heads)."
            )


class _Module(NamedTuple):
    """An attention module: its place among those of its stack, and the numbers in its name."""

    place: int
    numbers: tuple[int, ...]
    name: str


def _plan(
    stack: _Stack, part: Part, layer: int, causal: bool, at: _Module, keys: str, shapes: Mapping[str, Size]
) -> LayerPlan:
    """The plan of one layer; ``keys`` is the name of the module that makes the keys it attends to."""
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
        raise CheckpointError(f"{missing} is missing in the config, which tells heads apart: give a number.")
    heads = max(1, heads // divisor)
    layout = _layout(entry, shapes[query])
    outputs, inputs = reversed(shapes[query]) if layout.transposed else shapes[query]
    left = _heads_left(stack, at, heads)
    if layout.rows is None:
        outputs = _divide(query, outputs, 2, "a query and its gate") if layout.gated else outputs
        if shapes[key][1] != inputs:
            raise _mismatch(key, f"has {shapes[key][1]} inputs where {query} has {inputs}")
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
                f"has {outputs} outputs, where {len(left)} query and {kv_heads} key heads of {d_head} make {rows}",
            )
    if kv_heads < 1 or len(left) % kv_heads:
        raise _mismatch(key, f"gives {kv_heads} key heads for {len(left)} query heads")
    for what, number, config_key, named in (
        ("key heads", kv_heads, entry.kv_heads, named_kv_heads),
        ("coordinates of a head", d_head, entry.d_head, named_d_head),
    ):
        if named not in (None, number) and not (what == "key heads" and (entry.one_kv_head or len(left) < heads)):
            raise _mismatch(key, f"gives {number} {what} where the config has {config_key} = {named}")
    value, output = _value_and_output(entry, layout, (module, keys), shapes, (kv_heads * d_head, len(left) * d_head))
    numbers = left if len(left) < heads else ()
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
    )


def _require_matrix(name: str, shapes: Mapping[str, Size]) -> None:
    """Refuse a query or key weight that is not there, or is no matrix."""
    if name not in shapes:
        raise CheckpointError(
            f"{name} is missing beside other weights of this attention; the save left it out, or the layer takes its"
            f" keys from elsewhere, which no entry tells."
        )
    if not all(shapes[name]):
        raise CheckpointError(
            f"{name} is empty, of shape {tuple(shapes[name])}: DeepSpeed ZeRO-3 leaves such weights in a model that is"
            f" saved without gathering them, and pruning of all heads does so, too; make whole weights by"
            f" zero_to_fp32.py, which DeepSpeed leaves in its folder."
        )
    if len(shapes[name]) != 2:
        raise Misfit(
            f"{name} has shape {tuple(shapes[name])} and not two dimensions; quantised or packed weights of an unknown"
            f" format cannot be scored: open the original checkpoint."
        )


def _layout(entry: Attention, shape: Size) -> Layout:
    """Where q and k lie in a tensor of that shape: stored (out, in), as by nanoGPT, what transformers stores (in, out)
    is three times as high as wide."""
    is_turned = entry.layout == LAYOUTS["conv1d_blocks"] and shape[0] == 3 * shape[1]
    return LAYOUTS["blocks"] if is_turned else entry.layout


def _heads_left(stack: _Stack, at: _Module, heads: int) -> tuple[int, ...]:
    """The numbers of the heads that ``pruned_heads`` of a config leaves in a layer."""
    pruned = stack.config.get("pruned_heads", dict[Any, list[int]]) or {}
    layer = at.numbers[0] if len(at.numbers) == 1 else at.place
    gone = set(pruned.get(f"{layer}", pruned.get(layer, [])))
    if not gone <= set(range(heads)):
        raise CheckpointError(
            f"pruned_heads of the config names head {max(gone)} of layer {layer}, which had {heads} heads; mend it."
        )
    return tuple(head for head in range(heads) if head not in gone)


def _those_there(query: str, outputs: int, width: int, left: tuple[int, ...], heads: int) -> tuple[int, ...]:
    """The heads in a weight of that height: those that pruning has left, or all where it did not touch the weight."""
    if outputs == heads * width:
        return tuple(range(heads))
    if outputs != len(left) * width:
        raise _mismatch(
            query, f"has {outputs} outputs, where pruned_heads of the config leaves {len(left)} heads of {width} in all"
        )
    return left


def _kv_heads_of_fused(entry: Attention, named: int | None, blocks: int, heads: int) -> int:
    """Key heads of a fused weight of that many blocks: as the config says, else one for each query head.

    Where the type has one for all query heads or not by other words of the config, the height tells which.
    """
    if not entry.one_kv_head:
        return named or heads
    return next((number for number in (1, named or heads) if blocks == heads + 2 * number), heads)


def _value_and_output(
    entry: Attention, layout: Layout, modules: tuple[str, str], shapes: Mapping[str, Size], widths: tuple[int, int]
) -> tuple[str, str]:
    """The weights beside query and key, by the names of these; "" unless both are there and nothing between."""
    separate = re.sub("key|k(?=_|$)", lambda k: "value" if k[0] == "key" else "v", entry.key)
    named, (module, keys) = entry.key if layout.rows else separate, modules
    value, beside = entry.tensor(keys, named), module.rpartition(".")[0]
    outputs = (entry.tensor(beside if name[:3] == "../" else module, name.removeprefix("../")) for name in OUTPUTS)
    output = next((name for name in outputs if name in shapes), "")
    between = layout.gated or any(entry.tensor(module, name) in shapes for name in BETWEEN)
    side = 1 - layout.transposed  # of the output map, along which its heads stand
    fits = value in shapes and (layout.rows or shapes[value][0] == widths[0])
    square = fits and output and shapes[output][side] == widths[1] and shapes[output][1 - side] == shapes[value][side]
    return (value, output) if entry.linear and square and not between else ("", "")


def _of_layer(stack: _Stack, key: str, at: _Module) -> int | None:
    """A count that a config gives for all layers, in a list by the module's first number, or for single layers."""
    if not key:
        return None
    layer = at.numbers[0] if at.numbers else 0
    single = stack.config.get("per_layer_config", dict[Any, dict[str, Any]]) or {}
    changes = single.get(f"{layer}", single.get(layer)) or {}
    other = stack.config.get("attention_other_setting", dict[str, Any]) or {}  # of one kind of layers, as of Step 3.5
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
    # layers differ in stages, as of Swin, in pruned decoders with grouped keys, and in types that are registered
    if isinstance(default_sizes().get(model_type, {}).get(key), int) and not stack.entry.kv_heads:
        raise CheckpointError(
            f"{key} is {f'{count}'[:80]} in the config, and {model_type} models have one number for all layers; mend it"
            f" or fetch the checkpoint again."
        )
    return _of_list(key, count, layer)


def _of_list(key: str, counts: list[int], layer: int) -> int:
    if not (layer < len(counts) and counts[layer]):
        raise Misfit(f"{key} in the config has no number for layer {layer}, which has an attention; mend the config.")
    return counts[layer]


def _divide(tensor: str, size: int, count: int, what: str) -> int:
    if size % count:
        raise _mismatch(tensor, f"has {size} rows or columns, which {count} ({what}) does not divide")
    return size // count


def _mismatch(tensor: str, what: str) -> Misfit:
    return Misfit(
        f"{tensor} {what}; config and weights do not fit: one was changed or comes from another checkpoint, or heads"
        f" were pruned without a word in the config."
    )
