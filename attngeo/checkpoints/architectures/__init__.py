"""Where the queries and keys of each transformers model_type stand in its files: one declarative entry per type."""

from attngeo.checkpoints.architectures.audio import AUDIO
from attngeo.checkpoints.architectures.entry import Attention, Entry, Part, Refused, Tower
from attngeo.checkpoints.architectures.locate import LayerPlan, locate
from attngeo.checkpoints.architectures.text import TEXT
from attngeo.checkpoints.architectures.vision import VISION

ARCHITECTURES: dict[str, Entry] = TEXT | VISION | AUDIO

__all__ = ["ARCHITECTURES", "Attention", "Entry", "LayerPlan", "Part", "Refused", "Tower", "locate"]
