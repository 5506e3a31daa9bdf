"""Small transformers models with random weights, one for each model_type, and inputs for them."""

from collections.abc import Callable

import torch
from transformers import CONFIG_MAPPING, MODEL_MAPPING, PretrainedConfig, PreTrainedModel
from transformers import logging as transformers_logging

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()

WIDTH, HEADS, TOKENS = 32, 4, 7
# a value for every config key that sets a size; those that a config class does not have are left out
SIZES = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "embed_size"), WIDTH),
    **dict.fromkeys(
        ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "encoder_layers", "decoder_layers", "depth",
         "num_decoder_layers"), 2
    ),
    **dict.fromkeys(
        ("num_attention_heads", "n_head", "n_heads", "num_heads", "encoder_attention_heads", "attention_heads",
         "decoder_attention_heads"), HEADS
    ),
    **dict.fromkeys(
        ("intermediate_size", "ffn_dim", "encoder_ffn_dim", "decoder_ffn_dim", "n_inner", "d_ff", "hidden_dim", "dff",
         "moe_intermediate_size", "shared_expert_intermediate_size"), 16
    ),
    **dict.fromkeys(("max_position_embeddings", "n_positions", "max_source_positions", "max_target_positions"), 32),
    **dict.fromkeys(("num_experts", "num_local_experts", "num_experts_per_tok", "moe_topk"), 2),
    "num_key_value_heads": 2, "d_kv": 8, "embedding_size": 8, "vocab_size": 40, "pad_token_id": 0, "bos_token_id": 1,
    "eos_token_id": 2, "image_size": 8, "patch_size": 4, "num_mel_bins": 8,
}  # fmt: skip


def small_config(model_type: str, **changes) -> PretrainedConfig:
    """A model_type's config with small sizes, those of the models inside it included."""
    kind = CONFIG_MAPPING[model_type]
    default = kind().to_dict() if model_type != "musicgen" else {}
    sizes = {key: size for key, size in SIZES.items() if isinstance(default.get(key), int)}
    for key, inner in default.items():
        if isinstance(inner, dict) and inner.get("model_type") in CONFIG_MAPPING and key not in changes:
            sizes[key] = small_config(inner["model_type"]).to_dict()
    return kind(**sizes | changes)


def small_model(model_type: str, model: type | None = None, **changes) -> Callable[[], PreTrainedModel]:
    """A builder of a model_type's base model, or of another of its models."""

    def build() -> PreTrainedModel:
        config = small_config(model_type, **changes)
        return (model or MODEL_MAPPING[type(config)])._from_config(config, attn_implementation="eager")

    return build


def tokens() -> dict:
    """Two sequences."""
    ids = torch.arange(2 * TOKENS).view(2, TOKENS) * 7 % 31 + 3
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def two_sequences() -> dict:
    """Two sequences for an encoder, and shorter ones for a decoder."""
    return tokens() | {"decoder_input_ids": tokens()["input_ids"][:, :5]}


def image(side: int = 8) -> dict:
    """Two images."""
    return {"pixel_values": torch.randn(2, 3, side, side, dtype=torch.float64)}


def sound(samples: int = 400) -> dict:
    """Two waves."""
    return {"input_values": torch.randn(2, samples, dtype=torch.float64)}
