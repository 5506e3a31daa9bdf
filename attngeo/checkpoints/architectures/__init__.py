"""Where queries and keys are in the files of each model type of transformers, with one entry per type."""

from pathlib import Path
from typing import Any

from msgspec import Struct, structs

from attngeo.checkpoints.architectures.entry import Attention, Entry, Refused, Tower
from attngeo.errors import ParameterError
from attngeo.inputs import Refuse, checked, read_yaml


class _Words(Struct, forbid_unknown_fields=True):
    """One entry of a YAML file."""

    model_types: list[str]
    stacks: list[dict[str, Any]] = []
    refused: str = ""


def _read(path: Path, refuse: Refuse) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    read: list[_Words] = read_yaml(path, list[_Words], refuse)
    for words in read:
        stacks = (checked(stack, Tower if "config" in stack else Attention, refuse) for stack in words.stacks)
        entries |= dict.fromkeys(words.model_types, Refused(words.refused) if words.refused else tuple(stacks))
    return entries


ARCHITECTURES = _read(Path(__file__).with_name("entries.yml"), ValueError)
BUILT_IN = frozenset(ARCHITECTURES)


def register_architecture(model_type: str, *stacks: Attention | Tower) -> None:
    """Register your own model type, so that `attngeo.open_checkpoint` and `attngeo.open_model` can read it.

    For example, ``register_architecture("mine", Attention("decoder", "blocks.{}.attn", "q", "k", heads="n_heads"))``
    reads the tensors ``blocks.0.attn.q.weight``, ``blocks.0.attn.k.weight`` and so on, and takes the number of heads
    from the config key ``n_heads``.

    Args:
        model_type: the model type in the configuration. Registering the same model type again replaces the earlier
            registration.
        stacks: a description of each stack of attention layers.

    Raises:
        ParameterError: the model type is empty or built in, no stack is given, or a stack is neither an `Attention` nor
            a `Tower`.
    """
    stated = isinstance(model_type, str) and model_type and stacks
    if not stated or not all(isinstance(stack, Attention | Tower) for stack in stacks):
        raise ParameterError(
            "register_architecture needs the name of a model type and at least one attngeo.Attention or"
            f" attngeo.Tower, not {model_type!r} and {stacks!r}."
        )
    if model_type in BUILT_IN:
        raise ParameterError(
            f"the model type {model_type!r} is built in and cannot be replaced; register your model type under another"
            " name."
        )
    ARCHITECTURES[model_type] = tuple(
        structs.replace(stack, norm=stack.norm or "") if isinstance(stack, Attention) else stack for stack in stacks
    )


def register_file(path: Path) -> None:
    """Register every model type of a YAML file in the format of entries.yml, as ``attngeo score --register`` does.

    Raises:
        ParameterError: there is no such file, or its content does not describe `Attention` and `Tower` objects.
    """

    if not path.exists():
        raise ParameterError(f"there is no file {path}, so no model types can be registered from it; check the path.")

    def refuse(why: str) -> ParameterError:
        return ParameterError(
            f"{path} does not describe model types ({why}); write it in the format of entries.yml of attngeo."
        )

    entries = _read(path, refuse)
    if not entries:
        raise refuse("it contains no entry with a model type")
    for model_type, stacks in entries.items():
        if not (model_type and stacks and isinstance(stacks, tuple)):
            raise refuse(f"the model type {model_type!r} has an empty name or no stacks")
        register_architecture(model_type, *stacks)
