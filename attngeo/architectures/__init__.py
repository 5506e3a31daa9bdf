"""Where the queries and keys of each transformers model_type stand in its files: one declarative entry per type."""

from attngeo.architectures.audio import AUDIO
from attngeo.architectures.entry import Attention, Part, Refused
from attngeo.architectures.locate import LayerPlan, locate
from attngeo.architectures.text import TEXT

ARCHITECTURES: dict[str, tuple[Attention, ...] | Refused] = TEXT | AUDIO

__all__ = ["ARCHITECTURES", "Attention", "LayerPlan", "Part", "Refused", "locate"]
