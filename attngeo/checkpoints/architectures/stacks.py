"""The attention stacks of a model, including those of models inside it, and patterns for the names of their weights."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from msgspec import Meta, structs
from torch import Size

from attngeo.checkpoints.architectures.entry import Attention, Entry, Layout, Refused, Tower
from attngeo.errors import CheckpointError
from attngeo.inputs import checked

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Layers = Annotated[int, Meta(ge=0, le=1_000_000)]  # 0 if there is no such tower, or if a layer has no attention
Counts = Annotated[list[Layers], Meta(min_length=1, max_length=1000)]  # per stage or per layer
Name = Annotated[str, Meta(max_length=200)]
# number of the stack, whether it stores weights (in, out), query or key, numbers in the module's name
Place = tuple[int, bool, str, tuple[int, ...]]

# former model types and config keys of Falcon, from the time when its code was on the Hub
FORMER_TYPES = {"RefinedWeb": "falcon", "RefinedWebModel": "falcon"}
FORMER_KEYS = {"falcon": {"n_head": "num_attention_heads", "n_head_kv": "num_kv_heads", "n_layer": "num_hidden_layers"}}


UNTESTED = "We have not tested this type yet"  # a reason in left_out.yml, beside which the type may be like another one


class Misfit(CheckpointError):
    """The names or shapes of tensors do not fit the model that the config describes."""


@dataclass(frozen=True)
class Stack:
    """An attention entry with its config, the towers that contain its modules, and the other towers, which do not."""

    entry: Attention
    config: "Config"
    within: tuple[str, ...]
    beside: tuple[str, ...]


class Module(NamedTuple):
    """An attention module, with its index in its stack and the numbers in its name."""

    place: int
    numbers: tuple[int, ...]
    name: str

    @property
    def first(self) -> int:
        """The first number in the name, by which configurations count layers."""
        return self.numbers[0] if self.numbers else 0


@dataclass(frozen=True)
class Config:
    """The configuration of a model, or a nested configuration, together with the model type to which it belongs."""

    values: Mapping[str, Any]
    model_type: str
    nested: bool

    def get(self, key: str, kind: Any = Count) -> Any:
        """A value of the given type, or None. In nested configs, the default of the model type replaces a missing
        value.

        A key such as "encoder.num_layers" refers to a nested config, unless this config has a key of that name.
        """
        *inside, name = key.split(".") if key not in self.values else [key]
        values = _inside(self.values, inside)
        if name in values or not (self.nested or inside):
            return value_of(values, name, kind)
        return default_sizes().get(self.model_type, {}).get(key)

    def of(self, entry: Attention) -> "Config":
        """The config of an entry: this config, or the nested one that contains the number of heads of the entry."""
        if entry.heads in self.values or "." not in entry.heads:
            return self
        *inside, _ = entry.heads.split(".")
        values = _inside(self.values, inside)
        return Config(values, value_of(values, "model_type", Name) or "", nested=True)

    def kinds_of_layers(self) -> list[Any]:
        """The kind of each layer, such as "sliding_attention", or [] if the configuration does not say it."""
        return self.get("layer_types", list[Any]) or []

    def sees_later_tokens(self, entry: Attention) -> bool:
        """Whether the configuration makes this decoder attend in both directions."""
        if entry.follows_is_causal and not self.values.get("is_causal", True):
            return True
        if not entry.both_ways_if or (self.nested and not entry.both_ways_within):
            return False
        return self.values.get(entry.both_ways_if) in (True, "all")


def out_in(shape: Size, layout: Layout) -> tuple[int, ...]:
    """The shape of a stored weight with outputs first, as in ``torch.nn.Linear``."""
    return tuple(reversed(shape)) if layout.transposed else tuple(shape)


def value_of(config: Mapping, key: str, kind: Any) -> Any:
    """A value of a config, which must have the given type, or None if there is none.

    Raises:
        CheckpointError: the value has another type.
    """
    return checked(
        config.get(key),
        kind | None,
        lambda why: CheckpointError(
            f"{key} is {f'{config[key]!r}'[:80]} in the config: {why}; correct it or fetch the checkpoint again."
        ),
    )


def _inside(values: Mapping[str, Any], keys: Sequence[str]) -> Mapping[str, Any]:
    """The nested configuration that is reached by these keys, one after the other; {} if there is none."""
    for key in keys:
        values = value_of(values, key, dict[str, Any]) or {}
    return values


@cache
def default_sizes() -> dict[str, dict[str, Any]]:
    """Numbers of heads and layers by model type, for nested configs that leave them out."""
    groups = yaml.safe_load(Path(__file__).with_name("defaults.yml").read_text(encoding="utf-8"))
    return {model_type: group["sizes"] for group in groups for model_type in group["model_types"]}


@cache
def reasons_left_out() -> dict[str, str]:
    """The reasons why model types of transformers are not supported, apart from untested types."""
    groups = yaml.safe_load(Path(__file__).with_name("left_out.yml").read_text(encoding="utf-8"))
    return {name: why for why, names in groups.items() if why != UNTESTED for name in names}


def top_config(config: Mapping) -> Config:
    """The configuration of a whole model, in which former names of the model type and of keys are replaced."""
    model_type = value_of(config, "model_type", Name) or ""
    model_type = FORMER_TYPES.get(model_type, model_type)
    former = FORMER_KEYS.get(model_type, {})
    values = {new: config[old] for old, new in former.items() if old in config}
    return Config(values | {key: config[key] for key in config if key not in former}, model_type, nested=False)


def stacks_of(
    architectures: Mapping[str, Entry],
    config: Config,
    within: tuple[str, ...] = (),
    around: tuple[str, ...] = (),
    beside: tuple[str, ...] = (),
) -> Iterator[Stack]:
    """The attention stacks of a model and of the models inside it; ``around`` are the types of enclosing models."""
    name = config.model_type
    entries = _entries_of(architectures, name)
    if name in around:
        raise CheckpointError(f"according to the config, a {name} model is part of itself; fetch the checkpoint again.")
    towers = tuple(entry.within for entry in entries if isinstance(entry, Tower) and entry.within)
    for entry in entries:
        if isinstance(entry, Attention):
            if all(bool(config.get(key, bool)) is value for key, value in entry.only_if.items()):
                yield Stack(entry, config, within, (*beside, *towers))
            continue
        values = config.get(entry.config, dict[str, Any])
        nested = values is not None
        values = values if nested else config.values
        model_type = entry.model_type or value_of(values, "model_type", Name) or ""
        inner = (*within, *([entry.within] if entry.within else []))
        others = beside if entry.within else (*beside, *towers)
        yield from stacks_of(architectures, Config(values, model_type, nested), inner, (*around, name), others)


def _entries_of(architectures: Mapping[str, Entry], name: str) -> tuple[Attention | Tower, ...]:
    """The entries of a model type, which must be one that can be scored."""
    if not name:
        raise CheckpointError(
            "the config contains no model_type. Add the model type that transformers uses, or give it with --as."
        )
    if name not in architectures:
        if why := reasons_left_out().get(name):
            raise CheckpointError(f"checkpoints of the model type {name!r} cannot be read. {why}.")
        read = [known for known, entry in architectures.items() if not isinstance(entry, Refused)]
        near = ", ".join(get_close_matches(name, read, 3, 0.7))
        raise CheckpointError(
            f"the model type {name!r} is not among the types that can be"
            f" read{f' (similar names: {near})' if near else ''}. If it differs from one of these types only in name,"
            " give this type with --as. Otherwise, add it with attngeo.register_architecture or --register."
        )
    entries = architectures[name]
    if isinstance(entries, Refused):
        raise CheckpointError(f"{name} models have no W_qk to score: {entries.reason}")
    return entries


def as_named(stack: Stack, shapes: Mapping[str, Size]) -> Stack:
    """The stack with the names in files, or with the names in memory if only these exist."""
    if modules_of(stack, shapes):  # because in a complete model, several parts may have the names in memory
        return stack
    in_memory = renamed(stack)
    return in_memory if modules_of(in_memory, shapes) else stack


def renamed(stack: Stack) -> Stack:
    """The stack with the names in memory, if they differ from the names in files."""
    if stack.entry.in_memory is None:
        return stack
    module, query, key = stack.entry.in_memory
    layout = stack.entry.layout if query == key else "separate"
    return replace(stack, entry=structs.replace(stack.entry, module=module, query=query, key=key, layout=layout))


def modules_of(stack: Stack, shapes: Mapping[str, Size]) -> list[tuple[tuple[int, ...], str]]:
    """The numbers and the name of each module with the query tensor of this stack, in order."""
    entry = stack.entry
    matches = [match for match in map(name_pattern(stack, entry.query).fullmatch, shapes) if match]
    prefixes = sorted({match[1] for match in matches})
    if len(prefixes) > 1:
        raise CheckpointError(
            f"the files have {entry.module} under several prefixes ({', '.join(p or 'none' for p in prefixes)}), so"
            " they contain several models. Save the model that you want to score in its own file."
        )
    return sorted((tuple(map(int, match.groups()[2:])), (match[1] + match[2]).rstrip(".")) for match in matches)


def places(architectures: Mapping[str, Entry], config: Mapping, names: Iterable[str]) -> dict[Place, str]:
    """Query and key weights by their place in a model, with the names of any version of transformers."""
    patterns: list[tuple[int, bool, str, re.Pattern]] = []
    for number, stack in enumerate(stacks_of(architectures, top_config(config))):
        for named in (stack, renamed(stack)):
            for role, weight in (("query", named.entry.query), ("key", named.entry.key)):
                patterns.append((number, stack.entry.layout.transposed, role, name_pattern(named, weight)))
    by_place: dict[Place, str] = {}
    for name in names:
        for number, turned, role, pattern in patterns:
            if match := pattern.fullmatch(name):
                place = number, turned, role, tuple(map(int, match.groups()[2:]))
                if by_place.setdefault(place, name) != name:
                    raise CheckpointError(
                        f"{by_place[place]} and {name} are two names of the same weight of the model; keep only one of"
                        " them."
                    )
                break
    return by_place


def name_pattern(stack: Stack, weight: str) -> re.Pattern:
    """A pattern for the name of the query or key weight of a stack, with groups for prefix, module and numbers."""
    numbered = re.escape(stack.entry.module).replace(r"\{\}", r"(0|[1-9]\d{0,8})")
    ending = stack.entry.tensor("m" if numbered else "", weight).removeprefix("m" if numbered else "")
    return any_prefix(stack, f"({numbered}){re.escape(ending)}")


def any_prefix(stack: Stack, name: str) -> re.Pattern:
    """A pattern for a name within the tower of a stack, with any prefix as the first group."""
    within, beside = (
        ["|".join(map(re.escape, component.split("|"))) for component in components]
        for components in (stack.within, stack.beside)
    )
    prefix = "".join(rf"(?!(?:.*\.)?(?:{component})\.)" for component in beside) + r"(?:.*\.)?"
    prefix += "".join(rf"(?:{component})\.(?:.*\.)?" for component in within)
    return re.compile(f"({prefix}){name}")
