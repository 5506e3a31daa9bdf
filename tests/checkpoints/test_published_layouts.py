"""Checkpoints whose code is on the Hub and not in transformers, or that are stored otherwise than transformers does.

Each small checkpoint is written by the layout that its authors published. The logits of the forms that were read are
compared with those of the published computation, written again here in float64 without positions and normalisations.
"""

import json

import pytest
import torch
from attention_cases import PUBLISHED
from safetensors.torch import save_file
from small_models import HEADS, TOKENS, WIDTH, small_model

from attngeo import open_checkpoint
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.errors import CheckpointError

LAYERS, KEY_HEADS, D_HEAD = 2, 2, WIDTH // HEADS
BERT_SIZES = {"num_attention_heads": HEADS, "num_hidden_layers": LAYERS, "hidden_size": WIDTH}
GROUPED_SIZES = BERT_SIZES | {"num_key_value_heads": KEY_HEADS}


def random_tensors(shapes):
    generator = torch.Generator().manual_seed(0)
    return {name: torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}


def save(folder, config, shapes):
    """Write a checkpoint of random weights, and return them."""
    weights = random_tensors(shapes)
    save_file(weights, folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    return weights


def per_layer(prefix, shapes):
    return {f"{prefix.format(layer)}.{name}.weight": shape for layer in range(LAYERS) for name, shape in shapes.items()}


def separate(x, weights, prefix, query="q_proj", key="k_proj"):
    """q and k of (tokens, heads, d_head), from a tensor each, key heads repeated for their groups."""
    q = (x @ weights[f"{prefix}.{query}.weight"].T).view(len(x), -1, D_HEAD)
    k = (x @ weights[f"{prefix}.{key}.weight"].T).view(len(x), -1, D_HEAD)
    return q, k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)


def fused_by_head(x, weights, prefix):
    """NeoBERT: the outputs of a head are its q, k and v one after another."""
    of_heads = (x @ weights[f"{prefix}.qkv.weight"].T).view(len(x), HEADS, 3 * D_HEAD)
    q, k, _ = of_heads.chunk(3, dim=-1)
    return q, k


def fused_by_role(x, weights, prefix):
    """ModernBERT: q of all heads, then k, then v."""
    outputs = (x @ weights[f"{prefix}.Wqkv.weight"].T).view(len(x), 3, HEADS, D_HEAD)
    return outputs[:, 0], outputs[:, 1]


def assert_published(folder, weights, prefix, computation):
    """The logits of every head of every layer are those of the published computation."""
    x = torch.randn(TOKENS, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    checkpoint = open_checkpoint(folder)
    assert len(checkpoint) == LAYERS
    for layer in checkpoint:
        q, k = computation(x, weights, prefix.format(layer.layer))
        logits = torch.einsum("ihd,jhd->hij", q, k)
        of_q, of_k = layer.form.per_head()
        torch.testing.assert_close((x @ of_q) @ (x @ of_k).mT, logits, rtol=0, atol=1e-10)
    return checkpoint


GROUPED = {"q_proj": (WIDTH, WIDTH), "k_proj": (KEY_HEADS * D_HEAD, WIDTH), "v_proj": (KEY_HEADS * D_HEAD, WIDTH)}
OF_HEADS = {"q_proj": (WIDTH, WIDTH), "k_proj": (WIDTH, WIDTH), "v_proj": (WIDTH, WIDTH)}

# huggingface.co/chandar-lab/NeoBERT, model.py: ``self.qkv(x).view(B, L, heads, 3 * dim_head).chunk(3, axis=-1)``
NEOBERT = (
    {"model_type": "neobert", **BERT_SIZES},
    "model.transformer_encoder.{}",
    {"qkv": (3 * WIDTH, WIDTH), "wo": (WIDTH, WIDTH), "attention_norm": (WIDTH,), "ffn_norm": (WIDTH,)},
    fused_by_head,
)
# huggingface.co/GSAI-ML/LLaDA-8B-Base, modeling_llada.py: LLaDALlamaBlock, which passes is_causal=False
LLADA = (
    {"model_type": "llada", "d_model": WIDTH, "n_heads": HEADS, "n_kv_heads": KEY_HEADS, "n_layers": LAYERS},
    "model.transformer.blocks.{}",
    GROUPED | {"attn_out": (WIDTH, WIDTH), "attn_norm": (WIDTH,), "ff_norm": (WIDTH,), "ff_proj": (16, WIDTH)},
    separate,
)
# huggingface.co/Dream-org/Dream-v0-Base-7B, modeling_dream.py: DreamAttention, which passes is_causal=False
DREAM = (
    {"model_type": "Dream", **GROUPED_SIZES},
    "model.layers.{}.self_attn",
    GROUPED | {"o_proj": (WIDTH, WIDTH)},
    separate,
)
# MLMvsCLM (arXiv 2507.00994) trains models of EuroBERT's architecture, whose names these are. We know the model_type
# and sizes of its configurations; its code was not to be had.
SL_MODEL = (
    {"model_type": "sl_model", **GROUPED_SIZES},
    "model.layers.{}.self_attn",
    GROUPED | {"o_proj": (WIDTH, WIDTH)},
    separate,
)
# ModernBERT's code, with which Ettin's decoders were trained, fuses all three; transformers writes a tensor each
FUSED_DECODER = (
    {"model_type": "modernbert-decoder", **BERT_SIZES},
    "model.layers.{}.attn",
    {"Wqkv": (3 * WIDTH, WIDTH), "Wo": (WIDTH, WIDTH)},
    fused_by_role,
)
SEPARATE_DECODER = (
    {"model_type": "modernbert-decoder", **BERT_SIZES},
    "model.layers.{}.attn",
    OF_HEADS | {"Wo": (WIDTH, WIDTH)},
    separate,
)
LAYOUTS = {
    "neobert": (*NEOBERT, "encoder"),
    "llada": (*LLADA, "encoder"),
    "Dream": (*DREAM, "encoder"),
    "sl_model": (*SL_MODEL, "encoder"),
    "modernbert-decoder, fused": (*FUSED_DECODER, "decoder"),
    "modernbert-decoder, separate": (*SEPARATE_DECODER, "decoder"),
}


def test_every_type_whose_code_is_on_the_hub_is_here():
    assert {config["model_type"] for config, *_ in LAYOUTS.values()} >= set(PUBLISHED)
    assert set(PUBLISHED) <= set(ARCHITECTURES)


@pytest.mark.parametrize("config, prefix, shapes, computation, part", LAYOUTS.values(), ids=LAYOUTS)
def test_a_published_layout_gives_the_published_logits(config, prefix, shapes, computation, part, tmp_path):
    weights = save(tmp_path, config, per_layer(prefix, shapes))
    checkpoint = assert_published(tmp_path, weights, prefix, computation)
    assert {(plan.part, plan.causal) for plan in checkpoint.plans} == {(part, part == "decoder")}
    assert checkpoint.left_out[0] == "positions by rotating queries and keys"
    if part == "encoder":
        assert len(open_checkpoint(tmp_path, matrix="ov")) == LAYERS  # values and outputs are found, too


def test_neobert_read_in_the_layout_of_modernbert_is_noticed(tmp_path):
    config, prefix, shapes, _ = NEOBERT
    weights = save(tmp_path, config, per_layer(prefix, shapes))

    def by_role(x, weights, prefix):
        return fused_by_role(x, {f"{prefix}.Wqkv.weight": weights[f"{prefix}.qkv.weight"]}, prefix)

    with pytest.raises(AssertionError, match="not close"):
        assert_published(tmp_path, weights, prefix, by_role)


def test_a_model_trained_to_predict_the_next_token_is_a_decoder_where_its_configuration_says_so(tmp_path):
    config, prefix, shapes, _ = SL_MODEL
    save(tmp_path, config | {"is_causal": True}, per_layer(prefix, shapes))
    assert {(plan.part, plan.causal) for plan in open_checkpoint(tmp_path).plans} == {("decoder", True)}


def test_gains_before_the_attention_of_types_on_the_hub_are_found(tmp_path):
    for name, (config, prefix, shapes, _) in {"neobert": NEOBERT, "llada": LLADA}.items():
        folder = tmp_path / name
        folder.mkdir()
        save(folder, config, per_layer(prefix, shapes))
        gain = "attention_norm" if name == "neobert" else "attn_norm"
        norms = [plan.norm for plan in open_checkpoint(folder).plans]
        assert norms == [f"{prefix.format(layer)}.{gain}.weight" for layer in range(LAYERS)]


def test_other_attentions_of_these_types_are_refused(tmp_path, as_user):
    """LLaDA's code also knows blocks with one tensor for queries, keys and values, which no entry reads."""
    config, prefix, *_ = LLADA
    save(tmp_path, config, per_layer(prefix, {"att_proj": (3 * WIDTH, WIDTH)}))
    with pytest.raises(CheckpointError, match=r"no tensor is named like blocks\.\{\}\.q_proj"):
        open_checkpoint(tmp_path)


def test_diffugpt_is_a_gpt2_that_attends_in_both_directions(tmp_path):
    """github.com/HKUNLP/DiffuLLaMA, model.py: ``denoise_model`` is GPT-2's ``transformer``, its mask filled with true.

    Its word embeddings stand outside, as ``embed_tokens``; positions stay in ``denoise_model.wpe``.
    """
    model = small_model("gpt2")().double()
    state = {f"denoise_model.{name}": tensor for name, tensor in model.state_dict().items() if name != "wte.weight"}
    state |= {f"{name}.weight": model.wte.weight.detach().clone() for name in ("embed_tokens", "lm_head")}
    save_file(state, tmp_path / "model.safetensors")
    model.config.save_pretrained(tmp_path)
    own = tmp_path / "gpt2"
    model.save_pretrained(own)
    opened, causal = open_checkpoint(tmp_path), open_checkpoint(own)
    assert {(plan.part, plan.causal) for plan in opened.plans} == {("encoder", False)}
    assert {(plan.part, plan.causal) for plan in causal.plans} == {("decoder", True)}
    for ours, theirs in zip(opened, causal, strict=True):
        assert torch.equal(ours.form.wq, theirs.form.wq) and torch.equal(ours.form.wk, theirs.form.wk)
    assert torch.equal(opened.position_rows(opened.plans[0]), model.wpe.weight.detach())
    assert any("denoise_model" in remark for remark in opened.remarks)
    assert not any("denoise_model" in remark for remark in causal.remarks)


@pytest.mark.parametrize(
    "kind, words", [("relative_key", "by keys for each"), ("relative_key_query", "by queries and keys for each")]
)
def test_bert_with_relative_keys_has_no_table(kind, words, tmp_path):
    """Transformers up to 4.x, modeling_bert.py: the table is there and not added, and distances have keys of their own.

    The logits of W_qk are those of the distances set to zero.
    """
    prefix = "bert.encoder.layer.{}.attention.self"
    config = {"model_type": "bert", **BERT_SIZES, "position_embedding_type": kind}
    shapes = per_layer(prefix, dict.fromkeys(("query", "key", "value"), (WIDTH, WIDTH)))
    shapes |= per_layer(prefix, {"distance_embedding": (2 * 32 - 1, D_HEAD)})
    weights = save(tmp_path, config, shapes | {"bert.embeddings.position_embeddings.weight": (32, WIDTH)})
    checkpoint = assert_published(tmp_path, weights, prefix, lambda *args: separate(*args, "query", "key"))
    assert {plan.part for plan in checkpoint.plans} == {"encoder"}
    assert checkpoint.left_out[0] == f"positions {words} distance"
    with pytest.raises(CheckpointError, match=f"takes positions {words} distance"):
        checkpoint.position_rows(checkpoint.plans[0])
