"""Image models, and models of images and text."""

from dataclasses import replace

from attngeo.checkpoints.architectures.entry import BLOCKS, Attention, Entry, Tower
from attngeo.checkpoints.architectures.text import GPT2, LLAMA, encoder_decoder

VIT = (Attention("encoder", "encoder.layer.{}.attention.attention", "query", "key"),)
VIT_RENAMED = (replace(VIT[0], in_memory=("layers.{}.attention", "q_proj", "k_proj")),)
DINOV2 = (replace(VIT[0], in_memory=("layer.{}.attention", "q_proj", "k_proj")),)
CLIP_STACK = "encoder.layers.{}.self_attn"
SWIN_STACK = "layers.{}.blocks.{}.attention"
SWINV2 = Attention("encoder", f"{SWIN_STACK}.self", "query", "key", heads="num_heads", layers="depths")
SWIN = replace(SWINV2, in_memory=(SWIN_STACK, "q_proj", "k_proj"))
QWEN_VISION = Attention("encoder", "blocks.{}.attn", "qkv", "qkv", BLOCKS, heads="num_heads", layers="depth")


def text_and_vision(text: str = "language_model", vision: str = "vision_tower", name: str = "") -> tuple[Tower, Tower]:
    """A text and a vision model; ``name`` gives the model_types that older configs leave out."""
    kinds = (f"{name}_text_model", f"{name}_vision_model") if name else ("", "")
    return Tower("text_config", text, kinds[0]), Tower("vision_config", vision, kinds[1])


VISION: dict[str, Entry] = {
    **dict.fromkeys(
        ("data2vec-vision", "dpt", "videomae", "yolos"), VIT
    ),
    **dict.fromkeys(("beit", "deit", "ijepa", "vit", "vit_mae", "vit_msn"), VIT_RENAMED),
    **dict.fromkeys(("dinov2", "dinov2_with_registers"), DINOV2),
    **dict.fromkeys(
        ("clip_vision_model", "git_vision_model", "idefics3_vision", "smolvlm_vision", "siglip_text_model",
         "siglip_vision_model", "siglip2_text_model", "siglip2_vision_model"),
        (Attention("encoder", CLIP_STACK),),
    ),
    **dict.fromkeys(("gemma3", "llava", "paligemma"), text_and_vision()),
    **dict.fromkeys(("idefics3", "smolvlm"), text_and_vision("text_model", "vision_model")),
    "clip": text_and_vision("text_model", "vision_model", "clip"),
    "clip_text_model": (Attention("encoder", CLIP_STACK, causal=True),),
    # its decoder's queries are objects without an order: no causal mask
    "detr": encoder_decoder(causal=False),
    "dinov3_vit": (Attention("encoder", "layer.{}.attention"),),
    # the text decoder sees all of the image, and the text before a token
    "git": (
        Tower("vision_config", "image_encoder", "git_vision_model"),
        Attention("decoder", "encoder.layer.{}.attention.self", "query", "key"),
    ),
    "imagegpt": GPT2,
    # the pixel decoder's deformable attention has no keys; the transformer decoder's cross-attention is torch's own
    "mask2former": (
        Tower("backbone_config", "pixel_level_module.encoder", "swin"),
        Attention("decoder", "transformer_module.decoder.layers.{}.self_attn", layers="", causal=False),
    ),
    "mllama": text_and_vision(vision="vision_model"),
    "mllama_text_model": (
        Attention("decoder", "layers.{}.self_attn", kv_heads="num_key_value_heads", layers=""),
        Attention("cross", "layers.{}.cross_attn", kv_heads="num_key_value_heads", layers=""),
    ),
    "mllama_vision_model": (
        Attention("encoder", "transformer.layers.{}.self_attn", heads="attention_heads"),
        Attention(
            "encoder", "global_transformer.layers.{}.self_attn", heads="attention_heads", layers="num_global_layers"
        ),
    ),
    "qwen2_vl": (
        Tower("text_config", model_type="qwen2_vl_text"),
        Tower("vision_config", model_type="qwen2_vl_vision"),
    ),
    "qwen2_vl_text": LLAMA,
    "qwen2_vl_vision": (QWEN_VISION,),
    "qwen2_5_vl": (
        Tower("text_config", model_type="qwen2_5_vl_text"),
        Tower("vision_config", model_type="qwen2_5_vl_vision"),
    ),
    "qwen2_5_vl_text": LLAMA,
    "qwen2_5_vl_vision": (QWEN_VISION,),
    "sam": (
        Tower("vision_config", "vision_encoder", "sam_vision_model"),
        Tower("mask_decoder_config", "mask_decoder", "sam_mask_decoder"),
    ),
    "sam_vision_model": (Attention("encoder", "layers.{}.attn", "qkv", "qkv", BLOCKS),),
    # prompts and image attend to one another; nothing is causal
    "sam_mask_decoder": (
        Attention("decoder", "transformer.layers.{}.self_attn", causal=False),
        Attention("cross", "transformer.layers.{}.cross_attn_token_to_image"),
        Attention("cross", "transformer.layers.{}.cross_attn_image_to_token"),
    ),
    "seggpt": (Attention("encoder", "encoder.layers.{}.attention", "qkv", "qkv", BLOCKS),),
    "siglip": text_and_vision("text_model", "vision_model", "siglip"),
    "siglip2": text_and_vision("text_model", "vision_model", "siglip2"),
    "swin": (SWIN,),
    "swinv2": (SWINV2,),
}  # fmt: skip
