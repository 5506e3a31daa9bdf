"""Speech and sound models."""

from attngeo.checkpoints.architectures.entry import Attention, Entry, Tower
from attngeo.checkpoints.architectures.text import BART, encoder_decoder
from attngeo.checkpoints.architectures.vision import VIT_RENAMED

WAV2VEC2 = (Attention("encoder", "encoder.layers.{}.attention"),)
CONFORMER = (Attention("encoder", "encoder.layers.{}.self_attn", "linear_q", "linear_k"),)

AUDIO: dict[str, Entry] = {
    "audio-spectrogram-transformer": VIT_RENAMED,
    # text encoder (T5) and decoder over codes; the codec between sound and codes has no attention
    "musicgen": (Tower("text_encoder", within="text_encoder"), Tower("decoder", within="decoder")),
    "musicgen_decoder": (
        Attention("decoder", "decoder.layers.{}.self_attn"),
        Attention("cross", "decoder.layers.{}.encoder_attn"),
    ),
    "speech_to_text": BART,
    "speecht5": encoder_decoder("encoder.wrapped_encoder.layers.{}.attention", "decoder.wrapped_decoder.layers.{}"),
    "wav2vec2-bert": CONFORMER,
    "wav2vec2-conformer": CONFORMER,
    **dict.fromkeys(("data2vec-audio", "hubert", "sew", "unispeech", "unispeech-sat", "wav2vec2", "wavlm"), WAV2VEC2),
    "whisper": BART,
}
