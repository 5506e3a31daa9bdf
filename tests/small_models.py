"""Small transformers models with random weights, one for each model_type, and inputs for them."""

import copy
import importlib
import inspect
import re
from collections.abc import Callable
from functools import cache
from typing import Any

import huggingface_hub.dataclasses
import torch
import transformers
import transformers.modeling_utils
from transformers import CONFIG_MAPPING, MODEL_MAPPING, PretrainedConfig, PreTrainedModel
from transformers import logging as transformers_logging


def undocumented(decorated: Any = None, **about: Any) -> Any:
    """Stand in for transformers' `auto_docstring`, which takes much of the time of importing a model's code."""
    return decorated if decorated is not None else lambda each: each


def anything(*about: Any) -> dict:
    """Stand in for checks of the types of configurations, and for types of models, of which only `config` is used."""
    return {}


# Before the code of any model is imported: what takes a fifth of the time of making and saving small models.
transformers.utils.auto_docstring = undocumented
transformers.modeling_utils.get_type_hints = anything
huggingface_hub.dataclasses.type_validator = anything
re._MAXCACHE = 100_000  # saving compiles the same patterns for every model
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
    **dict.fromkeys(
        ("max_position_embeddings", "n_positions", "max_source_positions", "max_target_positions",
         "max_encoder_position_embeddings", "max_decoder_position_embeddings", "position_embedding_size"), 32
    ),
    **dict.fromkeys(("num_experts", "num_local_experts", "num_experts_per_tok", "moe_topk"), 2),
    **dict.fromkeys(
        ("out_hidden_size", "projection_dim", "projector_input_dim", "projector_output_dim", "vision_output_dim",
         "image_token_embed_dim", "adapter_out_dim", "alignment_intermediate_size", "base_channels", "conv_dim",
         "decoder_hidden_size", "dim_ff", "downsample_channels", "downsample_hidden_size", "fusion_hidden_size",
         "hidden_sizes", "intermediate_feature_dims", "latent_channels", "max_image_size", "max_img_size", "mlp_dim",
         "moe_hidden_size", "neck_hidden_sizes", "output_channels", "post_conv_in_channels", "post_conv_mid_channels",
         "post_conv_out_channels", "post_process_channels", "projection_hidden_dim", "projector_hidden_size",
         "scaled_images_feature_dims", "speech_decoder_postnet_units", "subsampling_conv_channels", "text_hidden_size",
         "upsample_initial_channel", "vision_hidden_size"), WIDTH),
    "codebook_size": 32, "num_embeddings": 32, "num_filters": 2, "num_frames": 2, "num_key_value_heads": 2, "d_kv": 8,
    "embedding_size": 8, "vocab_size": 40, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "image_size": 8,
    "patch_size": 4, "num_mel_bins": 8, "chunk_size": 8, "mamba_chunk_size": 8, "mamba_d_ssm": 32, "mamba_n_heads": 4,
}  # fmt: skip

_ROPE = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
_FOUR = {"image_size": 64, "depths": [1] * 4}
_STAGES = _FOUR | {"num_attention_heads": [1, 2, 4, 8]}
_WINDOWS = {"embed_dim": 16, "depths": [1, 1], "num_heads": [2, 4], "window_size": 4, "image_size": 16, "patch_size": 2}
_SWIN = _WINDOWS | _FOUR | {"model_type": "swin", "num_heads": [2] * 4, "out_indices": [1, 2, 3, 4]}
_TINY = {"head_dim": 8} | {
    key: SIZES[key]
    for key in """hidden_size num_attention_heads num_key_value_heads num_hidden_layers intermediate_size vocab_size
    moe_intermediate_size num_experts num_local_experts num_experts_per_tok""".split()
}
# what else makes a small model, by model_types: a layer of attention among others, sizes that fit one another
CHANGES: dict[str, dict] = {
    model_type: changes
    for model_types, changes in {
        "align_vision_model": {"width_coefficient": 0.1, "depth_coefficient": 0.1},
        "bamba": {"attn_layer_indices": [1], "mamba_d_head": 16},
        "blip_text_model blip_2_qformer instructblip_qformer instructblipvideo_qformer": {"encoder_hidden_size": WIDTH},
        "audio-spectrogram-transformer": {"max_length": 16},
        "big_bird": {"attention_type": "original_full"},
        "clap_audio_model": {"depths": [1, 1], "num_attention_heads": [2, 4], "patch_embeds_hidden_size": 16,
                             "spec_size": 16, "window_size": 2, "num_mel_bins": 8, "hidden_size": 32},
        "bark": {f"{part}_config": {"hidden_size": WIDTH, "num_heads": HEADS, "num_layers": 2, "block_size": 16,
                                    "input_vocab_size": 40, "output_vocab_size": 40}
                 for part in ("semantic", "coarse_acoustics", "fine_acoustics")},
        "blt_global_transformer": {"hidden_size": 2 * WIDTH},
        "blt_local_decoder blt_local_encoder": {"hidden_size_global": 2 * WIDTH},
        "chameleon emu3": {"vocabulary_map": {"<image>": 3}},
        "cohere_compass_text": {"rope_parameters": {"full_attention": _ROPE}},
        "dac": {"encoder_hidden_size": 4, "decoder_hidden_size": 64, "hidden_size": WIDTH},
        "csm_depth_decoder_model": {"backbone_hidden_size": WIDTH},
        "data2vec-audio hubert sew speecht5 unispeech unispeech-sat wav2vec2 wav2vec2-conformer wavlm": {
            "conv_dim": (16, 16), "conv_kernel": (10, 3), "conv_stride": (5, 2), "num_feat_extract_layers": 2,
            "num_conv_pos_embeddings": 4, "num_conv_pos_embedding_groups": 2},
        "dbrx": {"attn_config": {"kv_n_heads": 2, "clip_qkv": 1e9, "rope_theta": 1e4},
                 "ffn_config": {"ffn_hidden_size": 16}},
        "detr": {"use_timm_backbone": False, "backbone_config": {
            "model_type": "resnet", "embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1],
            "out_features": ["stage2"]}},
        "deepseek_ocr2_text": {"mlp_layer_types": ["dense", "dense"]},
        "dia_decoder": {"cross_hidden_size": WIDTH},
        "diffusion_gemma_text": {"num_experts": 2, "top_k_experts": 1, "moe_intermediate_size": 16},
        "donut-swin maskformer-swin": _WINDOWS,
        # windows as wide as the second stage: none of its blocks is shifted, which would mask
        "swin swinv2": _WINDOWS | {"depths": [1, 2]},
        "swin2sr": _WINDOWS | {"image_size": 8, "patch_size": 1},
        "dots1": dict.fromkeys(("n_shared_experts", "n_group", "topk_group"), 1)
        | {"n_routed_experts": 2, "num_experts_per_tok": 2},
        "dots3_note_audio_encoder": {"num_key_value_heads": HEADS, "head_dim": 8, "adapter_input_size": WIDTH,
                                     "feature_size": 8},
        "dots3_note_vision_encoder": {"per_layer_config": {}, "mlp_layer_types": ["dense"] * 2,
                                      "adapter_in_dim": WIDTH},
        "emu3_vqgan": {"latent_channels": 4, "channel_multiplier": [1, 1], "attn_resolutions": [1], "embed_dim": 4,
                       "num_attention_heads": 1},
        "ernie4_5_vl_moe_text glm4v_text glm_image_text glm_ocr_text qwen2_5_omni_text qwen2_vl_text qwen2_5_vl_text":
            {"rope_parameters": _ROPE},
        "eomt eomt_dinov3": {"num_blocks": 2},
        "esm": {"vocab_size": 40, "pad_token_id": 0, "mask_token_id": 3, "position_embedding_type": "absolute"},
        "esmc": {"num_key_value_heads": HEADS},
        "fastspeech2_conformer": {"encoder_normalize_before": True, "decoder_normalize_before": True},
        "fun_asr_nano": {"audio_token_id": 39, "adaptor_config": {"hidden_size": WIDTH, "num_attention_heads": HEADS,
                                                                  "intermediate_size": WIDTH // 4}},
        "gemma2": {"attn_logit_softcapping": None, "query_pre_attn_scalar": 8, "head_dim": 8},
        "gemma3n_text gemma4_text": {"num_kv_shared_layers": 0, "intermediate_size": 16},
        "glm4v_moe_text": {"rope_parameters": _ROPE | {"mrope_section": [1, 1, 0]}},
        "glpn pvt pvt_v2 segformer": _STAGES,
        "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
        "granite_docling_vision": {"scale_factor": 2, "use_fine_route": False},
        "granite4_vision": {"deepstack_layer_map": [[0, 0], [1, 1]], "downsample_rate": "1/2",
                            "vision_config": {"model_type": "clip_vision_model", "hidden_size": 128,
                                              "intermediate_size": 16, "num_hidden_layers": 2,
                                              "num_attention_heads": 2, "image_size": 16, "patch_size": 4}},
        "granitemoehybrid": {"layer_types": ["linear_attention", "full_attention"]},
        "helium hunyuan_v1_dense hunyuan_v1_moe ministral openai_privacy_filter": {"head_dim": 8},
        "hgnet_v2": {"stage_in_channels": [48, 32, 32, 32], "stage_out_channels": [32] * 4},
        "hunyuan_vl_text": {"head_dim": 8, "rope_parameters": _ROPE | {"mrope_section": [1, 1, 1, 1]}},
        "idefics": {"use_resampler": True},
        "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1, "use_mamba_kernels": False},
        "layoutlmv3": {"coordinate_size": 6, "shape_size": 4, "input_size": 8},
        "llama4_vision_model": {"intermediate_size": 128},
        "lfm2_moe": {"layer_types": ["conv", "full_attention"]},
        "kyutai_speech_to_text": {"audio_pad_token_id": 0, "head_dim": 8},
        "lasr_encoder": {"conv_kernel_size": 5},
        "lightglue": {"descriptor_dim": WIDTH},
        "lw_detr_vit": {"image_size": 32, "num_windows": 4, "window_block_indices": [0]},
        "mimi mimi_decoder mimi_encoder pocket_tts_audio_tokenizer pocket_tts_audio_tokenizer_decoder":
            {"num_filters": 2, "upsample_groups": WIDTH, "head_dim": 8},
        "maskformer": {"backbone_config": _SWIN, "fpn_feature_size": WIDTH, "mask_feature_size": WIDTH},
        "mask2former": {"backbone_config": _SWIN, "num_queries": 5,
                        **dict.fromkeys(("feature_size", "mask_feature_size", "hidden_dim"), WIDTH)},
        "minicpm_ocr minicpm_ocr_vision minicpmv4_6 minicpmv4_6_vision minicpmv4_7 minicpmv4_7_vision":
            {"insert_layer_id": 1},
        "mobilevit": {"image_size": 128, "patch_size": 2, "layer_norm_eps": 1e-12},
        "mllama_text_model": {"cross_attention_layers": [1]},
        "mllama_vision_model": {"supported_aspect_ratios": [[1, 1]], "max_num_tiles": 1,
                                "intermediate_layers_indices": [0]},
        "molmo2": {"adapter_config": _TINY | {"vision_feature_layer": [0, 1], "text_hidden_size": WIDTH}},
        "molmo2_adapter": {"vision_feature_layer": [0, 1], "text_hidden_size": WIDTH},
        "molmo2_vision": {"num_position_embeddings": 16},
        "moonshine_streaming": {"num_key_value_heads": HEADS, "head_dim": 8},
        "muse_glimmer_text muse_spark_text": {"qk_scale_factor": 1.0},
        "muse_glimmer_vision muse_spark_vision": {"patch_temporal": 1},
        "muse_spark_audio": {"num_hidden_layers": 4, "hidden_sizes": [4] * 4, "depths": [1] * 4,
                             "out_hidden_size": WIDTH},
        "musicgen_decoder": {"num_codebooks": 2},
        "musicgen_melody_decoder": {"num_codebooks": 1},
        "nemotron_h": {"layers_block_type": ["mamba", "attention"], "mamba_num_heads": 4, "mamba_head_dim": 16,
                       "n_groups": 1},
        "nemotron3_5_transcribe_asr_audio nemotron3_diarization_audio parakeet_encoder":
            {"num_key_value_heads": HEADS},
        "nemotron3_5_transcribe_word_timestamp": {"blank_token_id": 3, "num_key_value_heads": HEADS},
        "nemotron3_diarization": {"head_config": {"audio_hidden_size": WIDTH}},
        "neucodec xcodec2": {"encoder_hidden_size": 4, "quantization_dim": 2 * WIDTH, "num_key_value_heads": HEADS,
                             "head_dim": 8},
        "nemotron": {"num_key_value_heads": 2, "head_dim": 8},
        "nemotron_asr_streaming_encoder": {"sliding_window": 2, "default_num_lookahead_tokens": 0,
                                           "num_key_value_heads": HEADS},
        "pocket_tts": {"flow_head_config": {"condition_dim": WIDTH}},
        "pp_ocrv5_server_rec pp_ocrv6_small_rec": {"layer_norm_eps": 1e-12},
        "pix2struct_text_model": {"initializer_range": 0.02},
        "qwen2_5_omni_audio_encoder": {"n_window": 16},
        "qwen2_5_omni_talker": {"rope_parameters": _ROPE, "head_dim": 8, "embedding_size": WIDTH},
        "qwen3_omni_moe_talker_text": {"shared_expert_intermediate_size": 16},
        "recurrent_gemma": {"block_types": ["recurrent", "attention"], "attention_window_size": 64},
        "seamless_m4t seamless_m4t_v2": {
            **dict.fromkeys(("speech_encoder_layers", "t2u_encoder_layers", "t2u_decoder_layers"), 1),
            **dict.fromkeys(("speech_encoder_attention_heads", "t2u_encoder_attention_heads",
                             "t2u_decoder_attention_heads"), HEADS),
            **dict.fromkeys(("speech_encoder_intermediate_size", "t2u_encoder_ffn_dim", "t2u_decoder_ffn_dim",
                             "upsample_initial_channel", "unit_hifi_gan_vocab_size", "unit_embed_dim",
                             "variance_predictor_embed_dim", "t2u_variance_predictor_embed_dim"), 32)},
        "qwen4_exp_text": {"layer_types": ["linear_attention", "indexed_attention"], "indexer_n_heads": 2,
                           "indexer_kv_heads": 1, "indexer_head_dim": 256, "indexer_budget": 4,
                           "indexer_compress_ratio": 2},
        "sam3_lite_text_text_model": {"num_hidden_layers": 3},
        "sam3_vision_model": {"fpn_hidden_size": WIDTH, "backbone_feature_sizes": [[8, 8], [4, 4], [2, 2]]},
        "sam_vision_model sam_hq_vision_model": {"window_size": 2, "global_attn_indexes": [1], "num_pos_feats": 16},
        "sam_hq_mask_decoder": {"vit_dim": WIDTH},
        "seggpt": {"image_size": [16, 8], "intermediate_hidden_state_indices": [1], "merge_index": 0},
        "qwen2_5_omni_bigvgan": {"upsample_initial_channel": 64},
        "qwen2_5_omni_dit": {"head_dim": 8},
        "qwen3_omni_moe": {
            "talker_config": {"text_config": {**_TINY, "shared_expert_intermediate_size": 16},
                              "code_predictor_config": _TINY | {"num_code_groups": 2}, "thinker_hidden_size": WIDTH,
                              "spatial_merge_size": 2},
            "code2wav_config": _TINY | {"decoder_dim": 64, "codebook_size": 32}},
        "phi4_multimodal_audio": {"num_blocks": 2, **dict.fromkeys(("ext_pw_out_channel", "nemo_conv_channels",
                                                                    "depthwise_separable_out_channel"), WIDTH)},
        "nemotron_h_omni": {"vision_config": {"model_type": "radio", "hidden_size": WIDTH, "num_hidden_layers": 2,
                                              "num_attention_heads": HEADS, "image_size": 8, "patch_size": 4,
                                              "video_temporal_patch_size": 2, "max_img_size": 8}},
        "oneformer": {"backbone_config": _SWIN, **dict.fromkeys(("conv_dim", "mask_dim", "hidden_dim"), WIDTH)},
        "sew-d": {"relative_attention": False, "pos_att_type": []},
        "speech_to_text": {"input_feat_per_channel": 8, "conv_channels": 16},
        "step3p5": {"sliding_window": 64},
        "superglue": {"keypoint_encoder_sizes": [32], "gnn_layers_types": ["self", "cross"],
                      "keypoint_detector_config": {"model_type": "superpoint", "descriptor_decoder_dim": WIDTH}},
        "t5gemma2_decoder t5gemma2_text": {"dropout_rate": 0.0, "attn_logit_softcapping": None},
        "t5_gemma_module": {"attn_logit_softcapping": None},
        "time_series_transformer": {"prediction_length": 4, "context_length": 8, "num_time_features": 1},
        "trocr": {"is_decoder": True},
        "unlimited_ocr_text": {"num_key_value_heads": HEADS},
        "vaultgemma": {"attn_logit_softcapping": None},
        "vibevoice_acoustic_tokenizer vibevoice_acoustic_tokenizer_encoder": {"num_filters": 1, "depths": [1] * 7},
        "videoprism_text_model": {"attn_logit_softcapping": 1e6},
        "videoprism_vision_model": {"attn_logit_softcapping": 1e6, "tubelet_size": [1, 4, 4], "num_spatial_layers": 1,
                                    "num_temporal_layers": 1},
        "vivit": {"tubelet_size": [2, 4, 4]},
        "vitdet": {"pretrain_image_size": 8},
        "vitmatte": {"fusion_hidden_sizes": [8, 8, 8, 8], "convstream_hidden_sizes": [8, 8, 8]},
        "upernet": {"backbone_config": _SWIN},
        "vitpose_backbone": {"part_features": 16, "num_experts": 1},
        "vjepa2": {"crop_size": 8, "frames_per_clip": 2, "pred_hidden_size": 32, "pred_num_attention_heads": 4,
                   "pred_num_hidden_layers": 1},
        "xclip_vision_model": {"mit_hidden_size": WIDTH, "mit_num_attention_heads": HEADS, "mit_intermediate_size": 16},
        "xmod": {"default_language": "en_XX", "languages": ("en_XX",)},
        "zamba2": {"layers_block_type": ["mamba", "hybrid"] * 2, "num_hidden_layers": 4, "use_mamba_kernels": False},
    }.items()
    for model_type in model_types.split()
}  # fmt: skip


def small_config(model_type: str, **changes) -> PretrainedConfig:
    """A model_type's config with small sizes, those of the models inside it included."""
    return CONFIG_MAPPING[model_type](**copy.deepcopy(small_settings(model_type)) | changes)


@cache
def small_settings(model_type: str) -> dict[str, Any]:
    """The keys of a model_type's config that make it small."""
    changes = CHANGES.get(model_type, {})
    default = CONFIG_MAPPING[model_type]().to_dict() if model_type != "musicgen" else {}
    sizes = {key: 40 for key, size in default.items() if re.search("vocab", key) and isinstance(size, int)}
    sizes |= {key: size for key, size in SIZES.items() if isinstance(default.get(key), int)}
    lists = {
        key for key, size in default.items() if re.search("size|channels|dim", key) and isinstance(size, list | tuple)
    }
    sizes |= {key: [SIZES[key]] * len(default[key]) for key in lists & SIZES.keys()}
    if (kinds := set(default.get("layer_types") or ())) and "full_attention" in kinds:  # the last layer has it
        sizes["layer_types"] = [min(kinds - {"full_attention"}, default="full_attention"), "full_attention"]
    for key, inner in default.items():
        if isinstance(inner, dict) and inner.get("model_type") in CONFIG_MAPPING and key not in changes:
            sizes[key] = small_config(inner["model_type"]).to_dict()
    return sizes | changes


def small_model(model_type: str, model: type | None = None, **changes) -> Callable[[], PreTrainedModel]:
    """A builder of a model_type's base model, or of another of its models."""

    def build() -> PreTrainedModel:
        config = small_config(model_type, **changes)
        made = (model or model_class(config))._from_config(config, attn_implementation="eager")
        for each in made.modules():  # some do not say it to the models inside
            if isinstance(each, PreTrainedModel):
                each.config._attn_implementation = "eager"
        return made

    return build


# models of configs that have none of their own, or whose attention is not in the base model
WHOLE = {
    "musicgen_melody": "MusicgenMelodyForConditionalGeneration",
    "pp_chart2table": "GotOcr2Model",
    "pp_ocrv5_server_rec": "PPOCRV5ServerRecForTextRecognition",
    "pp_ocrv6_small_rec": "PPOCRV6SmallRecForTextRecognition",
}


def model_class(config: PretrainedConfig) -> type[PreTrainedModel]:
    """The base model of a config, or the first of the models in its module that have it."""
    if config.model_type in WHOLE:
        return getattr(transformers, WHOLE[config.model_type])
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
    "csm": lambda: {"input_ids": of_codebooks(32)},
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
    "git": lambda: {"pixel_values": None},
    "idefics": lambda: {"pixel_values": torch.randn(2, 1, 3, 8, 8), "image_attention_mask": torch.ones(2, TOKENS, 1)},
    "idefics2_perceiver": lambda: {"context": torch.randn(2, TOKENS, WIDTH), "attention_mask": torch.ones(2, TOKENS)},
    "inkling2_vision": lambda: {"pixel_values": torch.randn(4, 8, 8, 3), "image_grid_thw": torch.tensor([[1, 2, 2]])},
    "kimi_k25_vision": lambda: {"pixel_values": torch.randn(16, 3, 4, 4)},
    "kosmos_2_5_vision_model": lambda: {"attention_mask": torch.ones(2, TOKENS)},
    "kyutai_speech_to_text": lambda: {"input_ids": of_codebooks(33)},
    "lasr_encoder": lambda: {"input_features": torch.randn(2, 40, 8)},
    "lw_detr_vit": lambda: {"hidden_states": torch.randn(8, 16, WIDTH)},
    "lxmert": lambda: {"visual_feats": torch.randn(2, TOKENS, 2048), "visual_pos": torch.randn(2, TOKENS, 4)},
}  # fmt: skip


# inputs that a signature does not tell, by the classes of models
INPUTS: dict[str, Callable[[], dict]] = {
    "ASTModel": lambda: {"input_values": torch.randn(2, 16, 8)},
    "MiniCPM.*VisionModel": lambda: {"pixel_values": torch.randn(1, 3, 4, 16), "target_sizes": torch.tensor([[2, 2]])},
    "(Mimi|PocketTTSAudioTokenizer)DecoderModel": lambda: {"latents": torch.randn(2, WIDTH, TOKENS)},
    "(Mimi|PocketTTSAudioTokenizer)(Encoder)?Model|PeAudioEncoder": lambda: {
        "input_values": torch.randn(2, 1, 16000)},
    "MllamaTextModel": lambda: tokens() | {"cross_attention_states": torch.randn(2, 5, WIDTH)},
    "MllamaVisionModel": lambda: {
        "pixel_values": torch.randn(1, 1, 1, 3, 8, 8), "aspect_ratio_ids": torch.ones(1, 1, dtype=torch.long),
        "aspect_ratio_mask": torch.ones(1, 1, 1)},
    "Molmo2VisionModel": lambda: {"pixel_values": torch.randn(2, 16, 48)},
    "Molmo2Model|NeoMMEModel|VideoPrismTextModel": lambda: {**tokens()},
    "Musicgen(Decoder|Model|ForCausalLM)": lambda: {
        "input_ids": torch.arange(2 * 2 * 5).view(4, 5), "encoder_hidden_states": torch.randn(2, 6, WIDTH)},
    "PaddleOCRVision(Model|Transformer)": lambda: {
        "pixel_values": torch.randn(1, 16, 3, 4, 4), "grid_thw": torch.tensor([[1, 4, 4]])},
    "Qwen2_5OmniAudioEncoder": lambda: {"input_features": torch.randn(8, 32), "feature_lens": torch.tensor([32])},
    "Qwen3OmniMoeAudioEncoder": lambda: {"input_features": torch.randn(8, 100), "feature_lens": torch.tensor([100])},
    "Qwen3ASREncoder": lambda: {
        "input_features": torch.randn(1, 8, 100), "input_features_mask": torch.ones(1, 100, dtype=torch.long)},
    "Qwen3OmniMoe(Talker(CodePredictor)?|Code2WavTransformer)Model": lambda: {
        "inputs_embeds": torch.randn(2, TOKENS, WIDTH)},
    "SegGptModel": lambda: {
        name: torch.randn(2, 3, 8, 8) for name in ("pixel_values", "prompt_pixel_values", "prompt_masks")},
    "Speech2TextEncoder": lambda: {"input_features": torch.randn(2, 16, 8)},
    "SuperGlue.*": lambda: {"pixel_values": torch.randn(1, 2, 3, 64, 64)},
    "Videomt.*": lambda: {"pixel_values_videos": torch.randn(2, 2, 3, 8, 8)},
    "VoxtralRealtimeTextModel": lambda: tokens() | {"t_cond": torch.randn(1, WIDTH)},
    "XCLIPVisionModel": lambda: {"pixel_values": torch.randn(4, 3, 8, 8)},
    "Sapiens2Encoder|SwinEncoder": dict,
    "PatchTSTModel": lambda: {"past_values": torch.randn(2, 32, 1)},
    "Qwen2_5OmniToken2WavDiTModel": lambda: {
        "hidden_states": torch.randn(2, 8, 80), "condition_vector": torch.randn(2, 8, 80),
        "speaker_embedding": torch.randn(2, 8, 192), "quantized_code": torch.ones(2, 4, dtype=torch.long),
        "time_step": torch.rand(2), "apply_cfg": False},
    "Phi4MultimodalAudioModel": lambda: {
        "hidden_states": torch.randn(2, 64, 80), "mask": torch.ones(2, 64, dtype=torch.bool)},
    "OneFormerModel": lambda: {"pixel_values": torch.randn(2, 3, 64, 64), "task_inputs": torch.randn(2, 77)},
    "PPOCRV5ServerRec(Model|ForTextRecognition)": lambda: {"pixel_values": torch.randn(1, 3, 96, 192)},
    "PPOCRV6SmallRec(Model|ForTextRecognition)": lambda: {"pixel_values": torch.randn(1, 3, 48, 96)},
    "PPOCRV.*WithSVTR|SLANeXtSLAHead|TimeSeriesTransformer(En|De)coder|XCLIP(TextTransformer|VisionEncoder)": dict,
    "Parakeet.*|NemotronAsr.*": lambda: {"input_features": torch.randn(2, 64, 8)},
    "SeamlessM4T(v2)?Encoder": lambda: {"inputs_embeds": torch.randn(2, TOKENS, WIDTH)},
    "SeamlessM4Tv2TextToUnitModel": lambda: {
        "inputs_embeds": torch.randn(2, TOKENS, WIDTH), "char_input_ids": torch.ones(2, 14, dtype=torch.long),
        "char_count_per_id": torch.full((2, TOKENS), 2)},
    "SeamlessM4T(v2)?(SpeechEncoder|ConformerEncoder)": lambda: {"input_features": torch.randn(2, 32, 160)},
    "Sam3(LiteText)?DetrEncoder": lambda: {
        "vision_features": [torch.randn(2, WIDTH, 4, 4)], "vision_pos_embeds": [torch.randn(2, WIDTH, 4, 4)],
        "text_features": torch.randn(2, 5, WIDTH)},
    "Sam3(LiteText)?DetrDecoder": lambda: {
        "vision_features": torch.randn(2, 16, WIDTH), "vision_pos_encoding": torch.randn(2, 16, WIDTH),
        "text_features": torch.randn(2, 5, WIDTH), "spatial_shapes": torch.tensor([[4, 4]])},
    "Sam3(LiteText)?MaskDecoder": lambda: {
        "decoder_queries": torch.randn(2, 5, WIDTH), "prompt_features": torch.randn(2, 5, WIDTH),
        "backbone_features": [torch.randn(2, WIDTH, side, side) for side in (16, 8, 4)],
        "encoder_hidden_states": torch.randn(2, 16, WIDTH)},
    "Sam3(LiteText)?Model": lambda: tokens() | {
        "pixel_values": torch.randn(2, 3, 8, 8), "input_boxes": torch.rand(2, 3, 4)},
    "Molmo2Adapter": lambda: {
        "image_features": torch.randn(2, 16, 2 * WIDTH), "pooled_patches_idx": torch.arange(32).view(8, 4)},
    "MuseGlimmerAssistantModel": lambda: {
        "noise_embeds": torch.randn(2, 4, WIDTH), "context_hidden_states": torch.randn(2, 5, 5 * WIDTH)},
    "Wav2Vec2BertModel": lambda: {"input_features": torch.randn(2, 16, 160)},
    "NeuCodecModel|Xcodec2Model": lambda: {
        "input_values": torch.randn(1, 1, 3200), "input_features": torch.randn(1, 10, 160)},
    "TimeSeriesTransformerModel": lambda: {
        "past_values": torch.rand(2, 15), "past_time_features": torch.rand(2, 15, 1),
        "past_observed_mask": torch.ones(2, 15), "future_values": torch.rand(2, 4),
        "future_time_features": torch.rand(2, 4, 1)},
    "UnlimitedOcrVisionEncoder": lambda: {"patch_embeds": torch.randn(2, WIDTH, 2, 2)},
}  # fmt: skip


def inputs_of(model: PreTrainedModel) -> dict:
    """Inputs that fit the signature of a model, by the names of its parameters; none where it needs others."""
    for name, inputs in INPUTS.items():
        if re.fullmatch(name, type(model).__name__):
            return inputs()
    config, parameters = model.config, inspect.signature(model.forward).parameters

    def of(*keys: str, default: Any = None) -> Any:
        stated = [getattr(each, key, None) for key in keys for each in (config, getattr(config, "vision_config", None))]
        return next((value for value in stated if value is not None), default)

    side, frames = of("image_size", "crop_size", "input_size", default=16), of("num_frames", "frames_per_clip")
    picture = (of("num_channels", default=3), *(side if isinstance(side, list | tuple) else (side, side)))
    pixels = torch.randn(2, *([frames] if frames else []), *picture)
    width, mel = of("hidden_size", "d_model", default=WIDTH), of("num_mel_bins", default=8)
    long = of("max_source_positions")
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
        channels, frames = of("in_channels", "num_channels", default=3), of("temporal_patch_size", default=1)
        inputs = {chosen: torch.randn(16, channels * frames * of("patch_size") ** 2)}
        inputs |= {"grid_thw": torch.tensor([[1, 4, 4]]), "merge_sizes": torch.tensor([1])}
    if "pixel_position_ids" in parameters:
        places = torch.cartesian_prod(torch.arange(4), torch.arange(4)).expand(2, -1, -1)
        inputs = {"pixel_values": torch.rand(2, 16, 3 * of("patch_size") ** 2), "pixel_position_ids": places}
    if "is_longer" in parameters:
        inputs = {"input_features": torch.randn(2, 1, 32, 8)}
    if "spatial_shapes" in parameters:
        inputs = {"pixel_values": torch.randn(2, 4, of("num_channels") * of("patch_size") ** 2)}
        inputs |= {"pixel_attention_mask": torch.ones(2, 4), "spatial_shapes": torch.tensor([[2, 2], [2, 2]])}
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
