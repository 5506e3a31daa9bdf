"""Speech and sound models."""

from attngeo.architectures.entry import Attention, Refused
from attngeo.architectures.text import encoder_decoder

AUDIO: dict[str, tuple[Attention, ...] | Refused] = {
    "whisper": encoder_decoder(),
}
