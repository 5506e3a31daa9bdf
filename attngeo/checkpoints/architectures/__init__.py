"""Where the queries and keys of each transformers model_type stand in its files: one declarative entry per type."""

import re
from pathlib import Path
from typing import Any, get_args

from msgspec import Struct

from attngeo.checkpoints.architectures.entry import ABSOLUTE, Attention, Entry, Matrix, Part, Positions, Refused, Tower
from attngeo.checkpoints.architectures.locate import Misfit, locate, places, transposed
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.errors import ParameterError
from attngeo.inputs import read_yaml


class _Registered(Struct, forbid_unknown_fields=True):
    """One entry of a file of others."""

    model_types: list[str]
    stacks: list[dict[str, Any]]


def _entry(words: dict[str, Any]) -> Entry:
    return Refused(words["refused"]) if "refused" in words else tuple(map(_stack, words["stacks"]))


def _stack(words: dict[str, Any]) -> Attention | Tower:
    if "config" in words:
        return Tower(**words)
    renamed = words.get("in_memory") and tuple(words["in_memory"])
    told = words.get("positions")
    positions = Positions(**told) if isinstance(told, dict) else told and Positions(told)
    return Attention(**words | {"in_memory": renamed, "positions": positions})


_TABLE: list[dict[str, Any]] = read_yaml(Path(__file__).with_name("entries.yml"), list[dict[str, Any]], ValueError)
ARCHITECTURES = {model_type: _entry(words) for words in _TABLE for model_type in words["model_types"]}
BUILT_IN = frozenset(ARCHITECTURES)


def register_architecture(model_type: str, *stacks: Attention | Tower) -> None:
    """Make a model_type of your own known to `attngeo.open_checkpoint` and `attngeo.open_model`.

    ``register_architecture("mine", Attention("decoder", "blocks.{}.attn", "q", "k", heads="n_heads"))`` reads
    ``blocks.0.attn.q.weight``, ``blocks.0.attn.k.weight`` and so on, and the number of heads from the config's
    ``n_heads``.

    Args:
        model_type: the name in the config; one registered before is replaced.
        stacks: where the attention of each stack of layers stands.

    Raises:
        ParameterError: no name or stack, the name of a built-in model_type, something else than `Attention` and
            `Tower`, or an unknown part.
    """
    stated = isinstance(model_type, str) and model_type and stacks
    if not stated or not all(isinstance(stack, Attention | Tower) for stack in stacks):
        raise ParameterError(
            f"model_type {model_type!r} cannot be registered with {stacks!r}; give a name and its attngeo.Attention."
        )
    for stack in stacks:
        if isinstance(stack, Attention) and stack.part not in get_args(Part):
            raise ParameterError(f"{stack.part!r} is no part of a model; name one of {', '.join(get_args(Part))}.")
    if model_type in BUILT_IN:
        raise ParameterError(f"model_type {model_type!r} is built in and stays as it is; register another name.")
    ARCHITECTURES[model_type] = stacks


def register_file(path: Path) -> None:
    """Register every model_type of a YAML file in the words of entries.yml, as ``attngeo score --register`` does.

    Raises:
        ParameterError: no such file, or its words are not those of `Attention` and `Tower`.
    """

    def refuse(why: str) -> ParameterError:
        return ParameterError(f"{path} registers no architecture ({why}); write it as entries.yml of attngeo does.")

    entries: list[_Registered] = read_yaml(path, list[_Registered], refuse)
    for words in entries:
        try:
            stacks = [_stack(stack) for stack in words.stacks]
        except TypeError as error:
            named, missing = re.findall(r"'\w+'", f"{error}"), "missing" in f"{error}"
            why = f"{' and '.join(named)} is missing" if missing else f"{named[0]} is no word of an entry"
            raise refuse(why) from error
        for model_type in words.model_types:
            register_architecture(model_type, *stacks)


__all__ = [
    "ABSOLUTE",
    "ARCHITECTURES",
    "Attention",
    "Entry",
    "LayerPlan",
    "Matrix",
    "Misfit",
    "Part",
    "Positions",
    "Refused",
    "Tower",
    "locate",
    "places",
    "register_architecture",
    "register_file",
    "transposed",
]
