"""Where the queries and keys of each transformers model_type stand in its files: one declarative entry per type."""

from attngeo.checkpoints.architectures.audio import AUDIO
from attngeo.checkpoints.architectures.entry import Attention, Entry, Part, Refused, Tower
from attngeo.checkpoints.architectures.locate import Misfit, locate, places, transposed
from attngeo.checkpoints.architectures.plans import LayerPlan
from attngeo.checkpoints.architectures.text import TEXT
from attngeo.checkpoints.architectures.vision import VISION
from attngeo.errors import ParameterError

ARCHITECTURES: dict[str, Entry] = TEXT | VISION | AUDIO


def register_architecture(model_type: str, *stacks: Attention | Tower) -> None:
    """Make a model_type of your own known to `attngeo.open_checkpoint` and `attngeo.open_model`.

    ``register_architecture("mine", Attention("decoder", "blocks.{}.attn", "q", "k", heads="n_heads"))`` reads
    ``blocks.0.attn.q.weight``, ``blocks.0.attn.k.weight`` and so on, and the number of heads from the config's
    ``n_heads``.

    Args:
        model_type: the name in the config; one that is known already is replaced.
        stacks: where the attention of each stack of layers stands.

    Raises:
        ParameterError: no stack, or something else than `Attention` and `Tower`.
    """
    if not model_type or not stacks or not all(isinstance(stack, Attention | Tower) for stack in stacks):
        raise ParameterError(
            f"model_type {model_type!r} cannot be registered with {stacks!r}; give a name and its attngeo.Attention."
        )
    ARCHITECTURES[model_type] = stacks


__all__ = [
    "ARCHITECTURES",
    "Attention",
    "Entry",
    "LayerPlan",
    "Misfit",
    "Part",
    "Refused",
    "Tower",
    "locate",
    "places",
    "register_architecture",
    "transposed",
]
