import pytest
import torch
import transformers as tf
from attention_oracle import Case, agrees
from small_models import TOKENS, WIDTH, image, small_config, small_model, tokens

PLAIN = "beit data2vec-vision deit dinov2 dinov2_with_registers dinov3_vit dpt ijepa vit vit_mae vit_msn".split()
RESNET = tf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], out_features=["stage2"])
# windows as wide as the second stage: none of its blocks is shifted, which would mask
SWIN = {"embed_dim": 16, "depths": [1, 2], "num_heads": [2, 4], "window_size": 4, "image_size": 16, "patch_size": 2}
STAGES = {"depths": [1] * 4, "num_heads": [2, 2, 4, 4], "image_size": 64,
          "out_features": ["stage1", "stage2", "stage3", "stage4"]}  # fmt: skip
SAM = {"image_size": 16, "output_channels": WIDTH, "mlp_dim": 16, "num_pos_feats": WIDTH // 2,
       "window_size": 2, "global_attn_indexes": [1]}  # fmt: skip
PROMPTS = {"hidden_size": WIDTH, "image_size": 16, "patch_size": 4, "mask_input_channels": 4}
MASKS = {"hidden_size": WIDTH, "mlp_dim": 16, "num_attention_heads": 4, "iou_head_hidden_dim": 16}
ROPE = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 1e4}
TILES = {"supported_aspect_ratios": [[1, 1]], "max_num_tiles": 1, "intermediate_layers_indices": [0]}


def each_alone(text: str, vision: str, pixels=image):
    """Runs the text model and the vision model that are inside a model, each by itself."""

    def run(model) -> None:
        model.get_submodule(text)(**tokens())
        model.get_submodule(vision)(**pixels())

    return run


def flat_patches() -> dict:
    """An image of 4 x 4 patches of 4 x 4 pixels in two frames."""
    return {"hidden_states": torch.randn(16, 96), "grid_thw": torch.tensor([[1, 4, 4]])}


def packed_patches() -> dict:
    """Two images of 2 x 2 patches of 4 x 4 pixels."""
    return {
        "pixel_values": torch.randn(2, 4, 48),
        "pixel_attention_mask": torch.ones(2, 4),
        "spatial_shapes": torch.tensor([[2, 2], [2, 2]]),
    }


def tiles() -> dict:
    """An image of one tile."""
    ratio = {"aspect_ratio_ids": torch.ones(1, 1, dtype=torch.long), "aspect_ratio_mask": torch.ones(1, 1, 1)}
    return {"pixel_values": torch.randn(1, 1, 1, 3, 8, 8), **ratio}


def image_with_prompt() -> dict:
    """An image and its mask as an example, and an image to be masked."""
    return {name: torch.randn(2, 3, 8, 8) for name in ("pixel_values", "prompt_pixel_values", "prompt_masks")}


def text_that_sees() -> dict:
    """Text, and what a vision model made of an image."""
    return tokens() | {"cross_attention_states": torch.randn(2, 5, WIDTH)}


def mllama_alone(model) -> None:
    model.language_model(**text_that_sees())
    model.vision_model(**tiles())


def mllama():
    text = small_config("mllama_text_model", cross_attention_layers=[1])
    vision = small_config("mllama_vision_model", **TILES)
    return small_model("mllama", text_config=text.to_dict(), vision_config=vision.to_dict())()


def mask2former():
    widths = dict.fromkeys(("feature_size", "mask_feature_size", "hidden_dim"), WIDTH)
    return small_model("mask2former", backbone_config=small_config("swin", **SWIN | STAGES), num_queries=5, **widths)()


def sam():
    parts = {"prompt_encoder_config": PROMPTS, "mask_decoder_config": MASKS}
    return small_model("sam", vision_config=small_config("sam_vision_model", **SAM).to_dict(), **parts)()


def qwen_vl(name: str):
    return small_model(name, text_config=small_config(f"{name}_text", rope_parameters=ROPE).to_dict())


def text_and_codes(model) -> None:
    """Runs a text model, and what makes codes of an image and an image of codes."""
    model.text_model(**tokens())
    model.vqmodel.encode(torch.randn(1, 4, 3, 16, 16), torch.tensor([[16, 16]]))
    model.vqmodel.decode(torch.zeros(1, 1, 2, 2, dtype=torch.long))


def points(model) -> None:
    """Runs the layers on points of two images, which no detector has found."""
    descriptors, places = torch.randn(2, TOKENS, WIDTH), torch.rand(2, TOKENS, 2)
    for layer in model.transformer_layers:
        descriptors = layer(descriptors, model.positional_encoder(places)[0], None)[0]


CASES = [
    *(Case(name, inputs=image) for name in PLAIN),
    Case("imagegpt"),
    Case("yolos", small_model("yolos", image_size=[8, 8]), image),
    Case("videomae", small_model("videomae", num_frames=2), lambda: {"pixel_values": torch.randn(2, 2, 3, 8, 8)}),
    Case("swin", small_model("swin", **SWIN), lambda: image(16), inside=True),
    Case("swinv2", small_model("swinv2", **SWIN), lambda: image(16), inside=True, cosine=True, scale=lambda plan: 1.0),
    Case("swin2sr", small_model("swin2sr", embed_dim=16, depths=[1, 1], num_heads=[2, 4], window_size=4, patch_size=1),
         lambda: image(8), inside=True, cosine=True, scale=lambda plan: 1.0),
    Case("seggpt", small_model("seggpt", image_size=[16, 8], intermediate_hidden_state_indices=[1], merge_index=0),
         image_with_prompt),
    Case("detr", small_model("detr", use_timm_backbone=False, backbone_config=RESNET), lambda: image(64)),
    Case("mask2former", mask2former, lambda: image(64), inside=True),
    Case("oneformer", inputs=lambda: image(64) | {"task_inputs": torch.randn(2, 77)}, inside=True),
    Case("sam", sam, lambda: image(16) | {"input_points": torch.ones(2, 1, 1, 2)}, inside=True),
    Case("sam_vision_model", small_model("sam_vision_model", tf.SamVisionModel, **SAM), lambda: image(16), inside=True),
    Case("lightglue", inside=True, run=points),
    # towers of models of images and text
    Case("clip_text_model"),
    Case("clip_vision_model", inputs=image),
    Case("chinese_clip_vision_model", inputs=image),
    Case("siglip_text_model", small_model("siglip_text_model", tf.SiglipTextModel)),
    Case("siglip_vision_model", inputs=image),
    Case("siglip2_text_model", small_model("siglip2_text_model", tf.Siglip2TextModel)),
    Case("siglip2_vision_model", small_model("siglip2_vision_model", tf.Siglip2VisionModel), packed_patches),
    Case("mllama_text_model", small_model("mllama_text_model", tf.MllamaTextModel, cross_attention_layers=[1]),
         text_that_sees, inside=True),
    Case("mllama_vision_model", small_model("mllama_vision_model", tf.MllamaVisionModel, **TILES), tiles,
         inside=True, padded=True),
    # and the models that hold them; their other towers are cases through these
    Case("clip", inside=True, run=each_alone("text_model", "vision_model")),
    Case("siglip", inside=True, run=each_alone("text_model", "vision_model")),
    Case("siglip2", inside=True, run=each_alone("text_model", "vision_model", packed_patches)),
    Case("git", inside=True, run=each_alone("", "image_encoder")),
    Case("gemma3", inside=True, run=each_alone("language_model", "vision_tower")),
    Case("llava", inside=True, run=each_alone("language_model", "vision_tower")),
    Case("paligemma", inside=True, run=each_alone("language_model", "vision_tower")),
    Case("idefics3", inside=True, run=each_alone("text_model", "vision_model")),
    Case("smolvlm", inside=True, run=each_alone("text_model", "vision_model")),
    Case("qwen2_vl", qwen_vl("qwen2_vl"), inside=True, run=each_alone("language_model", "visual", flat_patches)),
    Case("qwen2_5_vl", qwen_vl("qwen2_5_vl"), inside=True, run=each_alone("language_model", "visual", flat_patches)),
    Case("emu3", small_model("emu3", vocabulary_map={"<image>": 3}), inside=True, run=text_and_codes),
    Case("mllama", mllama, inside=True, padded=True, run=mllama_alone),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_forms_read_give_the_models_own_probabilities(case, tmp_path):
    agrees(case, tmp_path)
