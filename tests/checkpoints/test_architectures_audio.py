import pytest
import torch
import transformers as tf
from attention_oracle import Case, agrees
from small_models import TOKENS, WIDTH, small_config, small_model, sound, tokens

from attngeo.checkpoints.architectures.plans import LayerPlan

CONV = {
    "conv_dim": (16, 16),
    "conv_kernel": (10, 3),
    "conv_stride": (5, 2),
    "num_feat_extract_layers": 2,
    "num_conv_pos_embeddings": 4,
    "num_conv_pos_embedding_groups": 2,
}
WAVES = "data2vec-audio hubert sew unispeech unispeech-sat wav2vec2".split()


def musicgen():
    """Text encoder, codec and decoder."""
    encoder, codec = small_config("t5"), small_config("encodec")
    decoder = small_config("musicgen_decoder", num_codebooks=2)
    config = tf.MusicgenConfig(text_encoder=encoder.to_dict(), audio_encoder=codec.to_dict(), decoder=decoder.to_dict())
    return tf.MusicgenForConditionalGeneration._from_config(config, attn_implementation="eager")


def t5_is_unscaled(plan: LayerPlan) -> float:
    return 1.0 if "text_encoder" in plan.module else plan.d_head**-0.5


def codes() -> torch.Tensor:
    """Two codebooks of two sequences."""
    return torch.arange(2 * 2 * 5).view(4, 5)


def decoded(**inputs: torch.Tensor) -> dict:
    """Inputs of an encoder, with tokens for its decoder."""
    return inputs | {"decoder_input_ids": tokens()["input_ids"]}


FRAMES = {"input_features": (2, 16, 8)}


def of_shape(**shapes):
    return lambda: {name: torch.randn(shape) for name, shape in shapes.items()}


def read_and_spoken(model) -> None:
    """Runs the encoder on tokens and the decoder on frames, whose number nothing has foretold."""
    model = getattr(model, "model", model)
    model.encoder(tokens()["input_ids"])
    model.decoder(torch.randn(2, TOKENS, WIDTH))


CASES = [
    *(Case(name, small_model(name, **CONV), sound) for name in WAVES),
    Case("audio-spectrogram-transformer", small_model("audio-spectrogram-transformer", max_length=16),
         of_shape(input_values=(2, 16, 8))),
    *(Case(name, inside=True, run=read_and_spoken)
      for name in ("fastspeech2_conformer", "fastspeech2_conformer_with_hifigan")),
    Case("kyutai_speech_to_text", small_model("kyutai_speech_to_text", tf.KyutaiSpeechToTextForConditionalGeneration),
         alone=True),
    Case("musicgen", musicgen, lambda: tokens() | {"decoder_input_ids": codes()}, scale=t5_is_unscaled),
    Case("musicgen_decoder", small_model("musicgen_decoder", tf.MusicgenForCausalLM, num_codebooks=2),
         lambda: {"input_ids": codes(), "encoder_hidden_states": torch.randn(2, 6, WIDTH)}),
    Case("speech_to_text", small_model("speech_to_text", input_feat_per_channel=8, conv_channels=16),
         lambda: decoded(**of_shape(**FRAMES)())),
    Case("speecht5", small_model("speecht5", tf.SpeechT5ForSpeechToText, **CONV), lambda: decoded(**sound())),
    Case("wav2vec2-bert", small_model("wav2vec2-bert", feature_projection_input_dim=8), of_shape(**FRAMES)),
    Case("wav2vec2-conformer", small_model("wav2vec2-conformer", position_embeddings_type=None, **CONV), sound),
    # it returns the mean over its heads
    Case("wavlm", small_model("wavlm", **CONV), sound, inside=True),
    Case("whisper", small_model("whisper", max_source_positions=8),
         lambda: decoded(input_features=torch.randn(2, 8, 16))),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_forms_read_give_the_models_own_probabilities(case, tmp_path):
    agrees(case, tmp_path)
