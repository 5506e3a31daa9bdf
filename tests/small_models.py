"""Small transformers models with random weights, one for each model_type, and inputs for them."""

import importlib
import inspect
import re
from collections.abc import Callable
from typing import Any

import torch
from transformers import CONFIG_MAPPING, MODEL_MAPPING, PretrainedConfig, PreTrainedModel
from transformers import logging as transformers_logging

transformers_logging.set_verbosity_error()
transformers_logging.disable_progress_bar()

WIDTH, HEADS, TOKENS = 32, 4, 7
# a value for every config key that sets a size; those that a config class does not have are left out
SIZES = {
    **dict.fromkeys(("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "embed_size", "emb_dim"), WIDTH),
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
    **dict.fromkeys(
        ("out_hidden_size", "projection_dim", "projector_input_dim", "projector_output_dim", "vision_output_dim",
         "image_token_embed_dim"), WIDTH),
    "codebook_size": 32, "num_embeddings": 32, "num_frames": 2, "num_key_value_heads": 2, "d_kv": 8,
    "embedding_size": 8, "vocab_size": 40, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "image_size": 8,
    "patch_size": 4, "num_mel_bins": 8,
}  # fmt: skip

_ROPE = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
_STAGES = {"image_size": 64, "depths": [1, 1, 1, 1]}
_WINDOWS = {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4, "image_size": 16, "patch_size": 2}
# what else makes a small model, by model_types: a layer of attention among others, sizes that fit one another
CHANGES: dict[str, dict] = {
    model_type: changes
    for model_types, changes in {
        "align_vision_model": {"width_coefficient": 0.1, "depth_coefficient": 0.1},
        "bamba": {"attn_layer_indices": [1], "mamba_n_heads": 4, "mamba_d_head": 16},
        "blip_text_model blip_2_qformer instructblip_qformer instructblipvideo_qformer": {"encoder_hidden_size": WIDTH},
        "clap_audio_model": {"depths": [1, 1], "num_attention_heads": [2, 4], "patch_embeds_hidden_size": 16,
                             "spec_size": 16, "window_size": 2, "num_mel_bins": 8, "hidden_size": 32},
        "bark": {f"{part}_config": {"hidden_size": WIDTH, "num_heads": HEADS, "num_layers": 2, "block_size": 16,
                                    "input_vocab_size": 40, "output_vocab_size": 40}
                 for part in ("semantic", "coarse_acoustics", "fine_acoustics")},
        "blt_global_transformer": {"hidden_size": 2 * WIDTH},
        "blt_local_decoder blt_local_encoder": {"hidden_size_global": 2 * WIDTH},
        "chameleon": {"vocabulary_map": {"<image>": 3}},
        "cohere_compass_text": {"rope_parameters": {"full_attention": _ROPE}},
        "dbrx": {"attn_config": {"kv_n_heads": 2, "clip_qkv": 1e9, "rope_theta": 1e4},
                 "ffn_config": {"ffn_hidden_size": 16}},
        "deepseek_ocr2_text": {"mlp_layer_types": ["dense", "dense"]},
        "dia_decoder": {"cross_hidden_size": WIDTH},
        "diffusion_gemma_text": {"num_experts": 2, "top_k_experts": 1, "moe_intermediate_size": 16},
        "donut-swin maskformer-swin": _WINDOWS,
        "dots1": dict.fromkeys(("n_shared_experts", "n_group", "topk_group"), 1)
        | {"n_routed_experts": 2, "num_experts_per_tok": 2},
        "dots3_note_audio_encoder": {"num_key_value_heads": HEADS, "head_dim": 8, "adapter_input_size": WIDTH,
                                     "feature_size": 8},
        "dots3_note_vision_encoder": {"per_layer_config": {}, "mlp_layer_types": ["dense"] * 2,
                                      "adapter_in_dim": WIDTH},
        "emu3_vqgan": {"base_channels": 32, "channel_multiplier": [1, 1], "attn_resolutions": [1], "embed_dim": 4,
                       "num_attention_heads": 1},
        "ernie4_5_vl_moe_text glm4v_text glm_image_text glm_ocr_text qwen2_5_omni_text qwen2_vl_text":
            {"rope_parameters": _ROPE},
        "eomt eomt_dinov3": {"num_blocks": 2},
        "esmc": {"num_key_value_heads": HEADS},
        "fastspeech2_conformer": {"encoder_normalize_before": True, "decoder_normalize_before": True},
        "fun_asr_nano": {"audio_token_id": 39, "adaptor_config": {"hidden_size": WIDTH, "num_attention_heads": HEADS,
                                                                  "intermediate_size": WIDTH // 4}},
        "gemma3n_text gemma4_text": {"num_kv_shared_layers": 0},
        "glm4v_moe_text": {"rope_parameters": _ROPE | {"mrope_section": [1, 1, 0]}},
        "glpn pvt pvt_v2 segformer": _STAGES,
        "granite_docling_vision": {"scale_factor": 2, "use_fine_route": False},
        "granite4_vision": {"deepstack_layer_map": [[0, 0], [1, 1]], "downsample_rate": "1/2",
                            "vision_config": {"model_type": "clip_vision_model", "hidden_size": 128,
                                              "intermediate_size": 16, "num_hidden_layers": 2,
                                              "num_attention_heads": 2, "image_size": 16, "patch_size": 4}},
        "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"], "mamba_n_heads": 4},
        "hunyuan_v1_dense hunyuan_v1_moe ministral": {"head_dim": 8},
        "hunyuan_vl_text": {"head_dim": 8, "rope_parameters": _ROPE | {"mrope_section": [1, 1, 1, 1]}},
        "idefics": {"use_resampler": True},
        "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False},
        "layoutlmv3": {"coordinate_size": 6, "shape_size": 4, "input_size": 8},
        "llama4_vision_model": {"intermediate_size": 128},
        "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
        "lasr_encoder": {"conv_kernel_size": 5},
        "lightglue": {"descriptor_dim": WIDTH},
        "lw_detr_vit": {"image_size": 32, "num_windows": 4, "window_block_indices": [0]},
        "musicgen_melody_decoder": {"num_codebooks": 1},
        "nemotron_h": {"layers_block_type": ["mamba", "attention"], "mamba_num_heads": 4, "mamba_head_dim": 16,
                       "n_groups": 1},
        "pix2struct_text_model": {"initializer_range": 0.02},
        "step3p5": {"sliding_window": 64},
        "trocr": {"is_decoder": True},
        "vaultgemma": {"attn_logit_softcapping": None},
        "vivit": {"tubelet_size": [2, 4, 4]},
        "vjepa2": {"crop_size": 8, "frames_per_clip": 2, "pred_hidden_size": 32, "pred_num_attention_heads": 4,
                   "pred_num_hidden_layers": 1},
        "zamba2": {"layers_block_type": ["mamba", "hybrid"] * 2, "num_hidden_layers": 4, "use_mamba_kernels": False},
    }.items()
    for model_type in model_types.split()
}  # fmt: skip


def small_config(model_type: str, **changes) -> PretrainedConfig:
    """A model_type's config with small sizes, those of the models inside it included."""
    kind, changes = CONFIG_MAPPING[model_type], CHANGES.get(model_type, {}) | changes
    default = kind().to_dict() if model_type != "musicgen" else {}
    sizes = {key: 40 for key, size in default.items() if re.search("vocab", key) and isinstance(size, int)}
    sizes |= {key: size for key, size in SIZES.items() if isinstance(default.get(key), int)}
    sizes |= {
        key: [SIZES[key]] * 2 for key in ("image_size", "patch_size") if isinstance(default.get(key), list | tuple)
    }
    if (kinds := set(default.get("layer_types") or ())) and "full_attention" in kinds:  # the last layer has it
        sizes["layer_types"] = [min(kinds - {"full_attention"}, default="full_attention"), "full_attention"]
    for key, inner in default.items():
        if isinstance(inner, dict) and inner.get("model_type") in CONFIG_MAPPING and key not in changes:
            sizes[key] = small_config(inner["model_type"]).to_dict()
    return kind(**sizes | changes)


def small_model(model_type: str, model: type | None = None, **changes) -> Callable[[], PreTrainedModel]:
    """A builder of a model_type's base model, or of another of its models."""

    def build() -> PreTrainedModel:
        config = small_config(model_type, **changes)
        return (model or model_class(config))._from_config(config, attn_implementation="eager")

    return build


def model_class(config: PretrainedConfig) -> type[PreTrainedModel]:
    """The base model of a config, or the first of the models in its module that have it."""
    try:
        found = MODEL_MAPPING[type(config)]
        return found[0] if isinstance(found, list | tuple) else found
    except (KeyError, ValueError):
        module = importlib.import_module(type(config).__module__.replace("configuration_", "modeling_"))
        classes = [each for each in vars(module).values() if getattr(each, "config_class", None) is type(config)]
        classes = [each for each in classes if not each.__name__.endswith("PreTrainedModel")]
        return next((each for each in classes if each.__name__.endswith("Model")), classes[-1])


# what some model_types are called with beside what the names of parameters tell, or in its place
GIVEN: dict[str, Callable[[], dict]] = {
    "chameleon": lambda: {"pixel_values": None},
    "deepseek_ocr2_encoder": lambda: {"num_patches": 4},
    "dia_decoder": lambda: {"input_ids": of_codebooks(9)},
    "dinov3_vit": lambda: {"position_embeddings": (torch.ones(1), torch.zeros(1))},
    "dots3_note_audio_encoder": lambda: {"input_features": torch.randn(2, 8, 64),
                                         "chunk_sample_lengths": torch.tensor([160 * 64] * 2)},
    "fine_acoustics": lambda: {"codebook_idx": 2, "input_ids": of_codebooks(8)},
    "fun_asr_nano": lambda: {"input_ids": torch.full((2, TOKENS), 39),
                             **GIVEN["fun_asr_nano_encoder"]()},
    "fun_asr_nano_encoder": lambda: {"input_features": torch.randn(2, TOKENS, 56),
                                     "input_features_mask": torch.ones(2, TOKENS)},
    "idefics": lambda: {"pixel_values": torch.randn(2, 1, 3, 8, 8), "image_attention_mask": torch.ones(2, TOKENS, 1)},
    "idefics2_perceiver": lambda: {"context": torch.randn(2, TOKENS, WIDTH), "attention_mask": torch.ones(2, TOKENS)},
    "inkling2_vision": lambda: {"pixel_values": torch.randn(4, 8, 8, 3), "image_grid_thw": torch.tensor([[1, 2, 2]])},
    "kimi_k25_vision": lambda: {"pixel_values": torch.randn(16, 3, 4, 4)},
    "kosmos_2_5_vision_model": lambda: {"attention_mask": torch.ones(2, TOKENS)},
    "lasr_encoder": lambda: {"input_features": torch.randn(2, 40, 8)},
    "lw_detr_vit": lambda: {"hidden_states": torch.randn(8, 16, WIDTH)},
    "lxmert": lambda: {"visual_feats": torch.randn(2, TOKENS, 2048), "visual_pos": torch.randn(2, TOKENS, 4)},
}  # fmt: skip


def inputs_of(model: PreTrainedModel) -> dict:
    """Inputs that fit the signature of a model, by the names of its parameters; none where it needs others."""
    config, parameters = model.config, inspect.signature(model.forward).parameters

    def of(*keys: str, default: Any = None) -> Any:
        stated = [getattr(each, key, None) for key in keys for each in (config, getattr(config, "vision_config", None))]
        return next((value for value in stated if value is not None), default)

    side, frames = of("image_size", "crop_size", "input_size", default=16), of("num_frames", "frames_per_clip")
    picture = (of("num_channels", default=3), *(side if isinstance(side, list | tuple) else (side, side)))
    pixels = torch.randn(2, *([frames] if frames else []), *picture)
    width, mel, long = (
        of("hidden_size", "d_model", default=WIDTH),
        of("num_mel_bins", default=8),
        of("max_source_positions"),
    )
    hidden, sound = torch.randn(2, TOKENS, width), torch.randn(2, mel, 2 * long if long else mel)
    first = {
        **tokens(),
        **dict.fromkeys(("pixel_values", "pixel_values_videos"), pixels),
        **dict.fromkeys(("inputs_embeds", "query_embeds", "hidden_states"), hidden),
        "input_values": torch.randn(2, 1600),
        "input_features": sound,
        "flattened_patches": torch.randn(2, TOKENS, of("patch_embed_hidden_size", default=width) + 2).abs(),
    }
    chosen = next((name for name in first if name in parameters and name != "attention_mask"), "")
    beside = {
        "bbox": torch.zeros(2, TOKENS, 4, dtype=torch.long),
        "decoder_input_ids": first["input_ids"],
        "input_features_mask": torch.ones(2, sound.shape[-1], dtype=torch.long),
    }
    if any(re.search("cross|encoder_att|EncDec|encoder_decoder", name) for name, _ in model.named_modules()):
        beside["encoder_hidden_states"] = torch.randn(2, 6, of("encoder_hidden_size", default=width))
    if chosen == "input_ids":
        beside |= {"pixel_values": pixels, "query_embeds": hidden}
        beside |= {} if "query_embeds" in parameters else {"attention_mask": first["attention_mask"]}
    inputs = {name: value for name, value in ({chosen: first.get(chosen)} | beside).items() if name in parameters}
    if "grid_thw" in parameters:  # an image of 4 x 4 patches
        size = (
            of("in_channels", "num_channels", default=3) * of("temporal_patch_size", default=1) * of("patch_size") ** 2
        )
        inputs = {
            chosen: torch.randn(16, size),
            "grid_thw": torch.tensor([[1, 4, 4]]),
            "merge_sizes": torch.tensor([1]),
        }
    if "pixel_position_ids" in parameters:
        places = torch.cartesian_prod(torch.arange(4), torch.arange(4)).expand(2, -1, -1)
        inputs = {"pixel_values": torch.rand(2, 16, 3 * of("patch_size") ** 2), "pixel_position_ids": places}
    if "is_longer" in parameters:
        inputs = {"input_features": torch.randn(2, 1, 32, 8)}
    if "spatial_shapes" in parameters:
        size, shapes = of("num_channels") * of("patch_size") ** 2, torch.tensor([[2, 2], [2, 2]])
        inputs = {"pixel_values": torch.randn(2, 4, size), "pixel_attention_mask": torch.ones(2, 4)}
        inputs["spatial_shapes"] = shapes
    inputs |= GIVEN.get(config.model_type, dict)()
    needed = {name for name, each in parameters.items() if each.default is each.empty and each.kind < each.VAR_KEYWORD}
    return {name: value for name, value in inputs.items() if name in parameters} if needed <= {*inputs, "args"} else {}


def tokens() -> dict:
    """Two sequences."""
    ids = torch.arange(2 * TOKENS).view(2, TOKENS) * 7 % 31 + 3
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def of_codebooks(books: int) -> torch.Tensor:
    """Two sequences of tokens of as many codebooks, the same in each."""
    return tokens()["input_ids"][..., None].expand(-1, -1, books)


def two_sequences() -> dict:
    """Two sequences for an encoder, and shorter ones for a decoder."""
    return tokens() | {"decoder_input_ids": tokens()["input_ids"][:, :5]}


def image(side: int = 8) -> dict:
    """Two images."""
    return {"pixel_values": torch.randn(2, 3, side, side, dtype=torch.float64)}


def sound(samples: int = 400) -> dict:
    """Two waves."""
    return {"input_values": torch.randn(2, samples, dtype=torch.float64)}
