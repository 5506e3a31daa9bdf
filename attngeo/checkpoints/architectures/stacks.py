"""The attention stacks of a model, including those of models inside it, and patterns for the names of their weights."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import yaml
from msgspec import Meta, structs
from torch import Size

from attngeo.checkpoints.architectures.entry import Attention, Entry, Refused, Tower
from attngeo.errors import CheckpointError
from attngeo.inputs import checked

Count = Annotated[int, Meta(ge=1, le=1_000_000)]
Layers = Annotated[int, Meta(ge=0, le=1_000_000)]  # 0 if there is no such tower, or if a layer has no attention
Counts = Annotated[list[Layers], Meta(min_length=1, max_length=1000)]  # per stage or per layer
Name = Annotated[str, Meta(max_length=200)]


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
        values, (*inside, name) = self.values, key.split(".") if key not in self.values else [key]
        for inner in inside:
            values = value_of(values, inner, dict[str, Any]) or {}
        if name in values or not (self.nested or inside):
            return value_of(values, name, kind)
        return default_sizes().get(self.model_type, {}).get(key)

    def of(self, entry: Attention) -> "Config":
        """The config of an entry: this config, or the nested one that contains the number of heads of the entry."""
        if entry.heads in self.values or "." not in entry.heads:
            return self
        *inside, _ = entry.heads.split(".")
        values: Mapping[str, Any] = self.values
        for key in inside:
            values = value_of(values, key, dict[str, Any]) or {}
        return Config(values, value_of(values, "model_type", Name) or "", nested=True)

    def sees_later_tokens(self, entry: Attention) -> bool:
        """Whether the configuration makes this decoder attend in both directions."""
        if entry.follows_is_causal and not self.values.get("is_causal", True):
            return True
        if not entry.both_ways_if or (self.nested and not entry.both_ways_within):
            return False
        return self.values.get(entry.both_ways_if) in (True, "all")


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
    if name in around:
        raise CheckpointError(f"according to the config, a {name} model is part of itself; fetch the checkpoint again.")
    entries = architectures[name]
    if isinstance(entries, Refused):
        raise CheckpointError(f"{name} models have no W_qk to score: {entries.reason}")
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
