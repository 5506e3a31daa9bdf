"""Speech and sound models."""

from attngeo.checkpoints.architectures.entry import Attention, Entry, Tower
from attngeo.checkpoints.architectures.text import BART, encoder_decoder

WAV2VEC2 = (Attention("encoder", "encoder.layers.{}.attention"),)
CONFORMER = (Attention("encoder", "encoder.layers.{}.self_attn", "linear_q", "linear_k"),)

AUDIO: dict[str, Entry] = {
    "audio-spectrogram-transformer": (Attention("encoder", "encoder.layer.{}.attention.attention", "query", "key"),),
    "data2vec-audio": WAV2VEC2,
    "hubert": WAV2VEC2,
    # text encoder (T5) and decoder over codes; the codec between sound and codes has no attention
    "musicgen": (Tower("text_encoder", within="text_encoder"), Tower("decoder", within="decoder")),
    "musicgen_decoder": (
        Attention("decoder", "decoder.layers.{}.self_attn"),
        Attention("cross", "decoder.layers.{}.encoder_attn"),
    ),
    "sew": WAV2VEC2,
    "speech_to_text": BART,
    "speecht5": encoder_decoder("encoder.wrapped_encoder.layers.{}.attention", "decoder.wrapped_decoder.layers.{}"),
    "unispeech": WAV2VEC2,
    "unispeech-sat": WAV2VEC2,
    "wav2vec2": WAV2VEC2,
    "wav2vec2-bert": CONFORMER,
    "wav2vec2-conformer": CONFORMER,
    "wavlm": WAV2VEC2,
    "whisper": BART,
}
