"""Checkpoints whose code is on the Hub and not in transformers, or that are stored otherwise than transformers does.

Each small checkpoint is written by the layout that its authors published. The logits of the forms that were read are
compared with those of the published computation, written again here in float64 without positions and normalisations.
"""

import json
from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch
from attention_cases import PUBLISHED
from msgspec import structs
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


def fused_in_blocks(name, role_heads=(HEADS, KEY_HEADS, KEY_HEADS)):
    """The outputs are q of all heads, then k and v of all key heads."""

    def computation(x, weights, prefix):
        outputs = (x @ weights[f"{prefix}.{name}.weight"].T).view(len(x), -1, D_HEAD)
        q, k, _ = outputs.split(role_heads, dim=1)
        return q, k.repeat_interleave(q.shape[1] // k.shape[1], dim=1)

    return computation


def fused_by_group(x, weights, prefix):
    """InternLM2: the outputs of a key head are the q of its query heads, then its k and its v."""
    of_groups = (x @ weights[f"{prefix}.wqkv.weight"].T).view(len(x), KEY_HEADS, HEADS // KEY_HEADS + 2, D_HEAD)
    q, k = of_groups[:, :, :-2].flatten(1, 2), of_groups[:, :, -2]
    return q, k.repeat_interleave(HEADS // KEY_HEADS, dim=1)


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


class Published(NamedTuple):
    """How a type on the Hub stores its attention, and how its code computes queries and keys."""

    config: dict
    prefix: str  # the module with the tensors of a layer
    shapes: dict[str, tuple[int, ...]]
    computation: Callable
    part: str

    def save(self, folder, config=None, shapes=None):
        """Write a small checkpoint, with changes of its config and its shapes, and return its weights."""
        return save(folder, self.config | (config or {}), per_layer(self.prefix, self.shapes | (shapes or {})))


LAYOUTS = {
    # huggingface.co/chandar-lab/NeoBERT, model.py: ``self.qkv(x).view(B, L, heads, 3 * dim_head).chunk(3, axis=-1)``
    "neobert": Published(
        {"model_type": "neobert", **BERT_SIZES},
        "model.transformer_encoder.{}",
        {"qkv": (3 * WIDTH, WIDTH), "wo": (WIDTH, WIDTH), "attention_norm": (WIDTH,), "ffn_norm": (WIDTH,)},
        fused_by_head,
        "encoder",
    ),
    # huggingface.co/GSAI-ML/LLaDA-8B-Base, modeling_llada.py: LLaDALlamaBlock, which passes is_causal=False
    "llada": Published(
        {"model_type": "llada", "d_model": WIDTH, "n_heads": HEADS, "n_kv_heads": KEY_HEADS, "n_layers": LAYERS},
        "model.transformer.blocks.{}",
        GROUPED | {"attn_out": (WIDTH, WIDTH), "attn_norm": (WIDTH,), "ff_norm": (WIDTH,), "ff_proj": (16, WIDTH)},
        separate,
        "encoder",
    ),
    # huggingface.co/Dream-org/Dream-v0-Base-7B, modeling_dream.py: DreamAttention, which passes is_causal=False
    "Dream": Published(
        {"model_type": "Dream", **GROUPED_SIZES},
        "model.layers.{}.self_attn",
        GROUPED | {"o_proj": (WIDTH, WIDTH)},
        separate,
        "encoder",
    ),
    # MLMvsCLM (arXiv 2507.00994) trains models of EuroBERT's architecture, whose names these are. We know the
    # model_type and sizes of its configurations; its code was not to be had.
    "sl_model": Published(
        {"model_type": "sl_model", **GROUPED_SIZES},
        "model.layers.{}.self_attn",
        GROUPED | {"o_proj": (WIDTH, WIDTH)},
        separate,
        "encoder",
    ),
    # ModernBERT's code, with which Ettin's decoders were trained, fuses all three; transformers writes a tensor each
    "modernbert-decoder, fused": Published(
        {"model_type": "modernbert-decoder", **BERT_SIZES},
        "model.layers.{}.attn",
        {"Wqkv": (3 * WIDTH, WIDTH), "Wo": (WIDTH, WIDTH)},
        fused_by_role,
        "decoder",
    ),
    "modernbert-decoder, separate": Published(
        {"model_type": "modernbert-decoder", **BERT_SIZES},
        "model.layers.{}.attn",
        OF_HEADS | {"Wo": (WIDTH, WIDTH)},
        separate,
        "decoder",
    ),
    # huggingface.co/internlm/internlm2-7b, modeling_internlm2.py, as in github.com/hhaAndroid/xtuner:
    # ``rearrange(wqkv(x), 'b q (h gs d) -> b q h gs d', gs=2 + groups)``, q the first ``groups`` of gs, then k, then v
    "internlm2": Published(
        {"model_type": "internlm2", **GROUPED_SIZES},
        "model.layers.{}.attention",
        {"wqkv": ((HEADS + 2 * KEY_HEADS) * D_HEAD, WIDTH), "wo": (WIDTH, WIDTH)},
        fused_by_group,
        "decoder",
    ),
    # huggingface.co/internlm/internlm-7b, modeling_internlm.py: the attention is a copy of Llama's, with biases
    "internlm": Published(
        {"model_type": "internlm", **BERT_SIZES, "bias": True},
        "model.layers.{}.self_attn",
        OF_HEADS | {"o_proj": (WIDTH, WIDTH)},
        separate,
        "decoder",
    ),
    # huggingface.co/Deci/DeciLM-7B, modeling_decilm.py: Llama's attention, whose number of key heads is
    # ``config.num_key_value_heads_per_layer[layer_idx]``
    "deci": Published(
        {"model_type": "deci", **BERT_SIZES, "num_key_value_heads_per_layer": [KEY_HEADS] * LAYERS},
        "model.layers.{}.self_attn",
        GROUPED | {"o_proj": (WIDTH, WIDTH)},
        separate,
        "decoder",
    ),
    # huggingface.co/nvidia/Llama-3_1-Nemotron-51B-Instruct, modeling_decilm.py, and github.com/vllm-project/vllm,
    # nemotron_nas.py: Llama's attention, with ``num_attention_heads / n_heads_in_group`` key heads in a layer
    "nemotron-nas": Published(
        {
            "model_type": "nemotron-nas",
            **BERT_SIZES,
            "block_configs": [{"attention": {"no_op": False, "n_heads_in_group": HEADS // KEY_HEADS}}] * LAYERS,
        },
        "model.layers.{}.self_attn",
        GROUPED | {"o_proj": (WIDTH, WIDTH)},
        separate,
        "decoder",
    ),
    # huggingface.co/baichuan-inc/Baichuan2-7B-Base, modeling_baichuan.py:
    # ``W_pack(x).unflatten(-1, (3, hidden_size))``, whose first is q and whose second is k
    "baichuan": Published(
        {"model_type": "baichuan", **BERT_SIZES},
        "model.layers.{}.self_attn",
        {"W_pack": (3 * WIDTH, WIDTH), "o_proj": (WIDTH, WIDTH)},
        fused_in_blocks("W_pack", (HEADS,) * 3),
        "decoder",
    ),
    # github.com/alibaba/MNN, transformers/llm/export/llm_models/Qwen-1_8B/modeling_qwen.py:
    # ``c_attn(x).split(hidden_size)``, where c_attn is an nn.Linear
    "qwen": Published(
        {"model_type": "qwen", **BERT_SIZES, "kv_channels": D_HEAD, "use_logn_attn": False},
        "transformer.h.{}.attn",
        {"c_attn": (3 * WIDTH, WIDTH), "c_proj": (WIDTH, WIDTH)},
        fused_in_blocks("c_attn", (HEADS,) * 3),
        "decoder",
    ),
    # huggingface.co/THUDM/chatglm3-6b, modeling_chatglm.py: with ``multi_query_attention`` the outputs are split into
    # ``[heads, multi_query_group_num, multi_query_group_num]`` heads; otherwise each head has its q, k and v in turn
    "chatglm": Published(
        {
            "model_type": "chatglm",
            "num_attention_heads": HEADS,
            "num_layers": LAYERS,
            "kv_channels": D_HEAD,
            "multi_query_attention": True,
            "multi_query_group_num": KEY_HEADS,
        },
        "transformer.encoder.layers.{}.self_attention",
        {"query_key_value": ((HEADS + 2 * KEY_HEADS) * D_HEAD, WIDTH), "dense": (WIDTH, WIDTH)},
        fused_in_blocks("query_key_value"),
        "decoder",
    ),
    "chatglm, head by head": Published(
        {"model_type": "chatglm", "num_attention_heads": HEADS, "num_layers": LAYERS, "kv_channels": D_HEAD},
        "transformer.encoder.layers.{}.self_attention",
        {"query_key_value": (3 * WIDTH, WIDTH), "dense": (WIDTH, WIDTH)},
        lambda x, weights, prefix: fused_by_head(
            x, {f"{prefix}.qkv.weight": weights[f"{prefix}.query_key_value.weight"]}, prefix
        ),
        "decoder",
    ),
    # huggingface.co/apple/OpenELM, modeling_openelm.py: ``qkv_proj(x)`` is split into ``[num_query_heads[layer],
    # num_kv_heads[layer], num_kv_heads[layer]]`` heads, whose numbers differ by layer
    "openelm": Published(
        {
            "model_type": "openelm",
            "model_dim": WIDTH,
            "num_transformer_layers": LAYERS,
            "num_query_heads": [HEADS] * LAYERS,
            "num_kv_heads": [KEY_HEADS] * LAYERS,
            "head_dim": D_HEAD,
        },
        "transformer.layers.{}.attn",
        {"qkv_proj": ((HEADS + 2 * KEY_HEADS) * D_HEAD, WIDTH), "out_proj": (WIDTH, WIDTH)},
        fused_in_blocks("qkv_proj"),
        "decoder",
    ),
}


def test_every_type_whose_code_is_on_the_hub_is_here():
    assert {layout.config["model_type"] for layout in LAYOUTS.values()} >= set(PUBLISHED)
    assert set(PUBLISHED) <= set(ARCHITECTURES)


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_published_layout_gives_the_published_logits(layout, tmp_path):
    checkpoint = assert_published(tmp_path, layout.save(tmp_path), layout.prefix, layout.computation)
    assert {(plan.part, plan.causal) for plan in checkpoint.plans} == {(layout.part, layout.part == "decoder")}
    assert checkpoint.left_out[0].startswith("positions encoded by rotating queries and keys")
    if "modernbert" not in layout.config["model_type"]:
        assert len(open_checkpoint(tmp_path, matrix="ov")) == LAYERS  # values and outputs are found, too


@pytest.mark.parametrize(
    "name, wrong", [("neobert", "blocks"), ("internlm2", "blocks"), ("chatglm", "groups"), ("openelm", "groups")]
)
def test_a_published_layout_read_in_another_is_noticed(name, wrong, tmp_path, monkeypatch):
    layout = LAYOUTS[name]
    weights = layout.save(tmp_path)
    monkeypatch.setitem(ARCHITECTURES, name, (structs.replace(ARCHITECTURES[name][0], layout=wrong),))
    with pytest.raises(AssertionError, match="not close"):
        assert_published(tmp_path, weights, layout.prefix, layout.computation)


@pytest.mark.parametrize("model_type", ["deci", "openelm"])
def test_numbers_of_heads_that_differ_by_layer_are_read_by_layer(model_type, tmp_path):
    """DeciLM has other numbers of key heads in each layer, OpenELM also of query heads, all of one width."""
    query_heads, key_heads = ([HEADS, HEADS], [1, 4]) if model_type == "deci" else ([2, 4], [1, 2])
    config, prefix, *_ = LAYOUTS[model_type]
    per_key = {
        key: {"num_query_heads": query_heads, "num_kv_heads": key_heads}.get(key, key_heads)
        for key, value in config.items()
        if isinstance(value, list)
    }
    weights = {}
    for layer, (q, k) in enumerate(zip(query_heads, key_heads, strict=True)):
        rows = {"q_proj": q, "k_proj": k} if model_type == "deci" else {"qkv_proj": q + 2 * k}
        weights |= {f"{prefix.format(layer)}.{name}.weight": (n * D_HEAD, WIDTH) for name, n in rows.items()}
    save(tmp_path, config | per_key, weights)
    found = [(plan.heads, plan.kv_heads, plan.d_head) for plan in open_checkpoint(tmp_path).plans]
    assert found == [(q, k, D_HEAD) for q, k in zip(query_heads, key_heads, strict=True)]


def test_norms_and_factors_of_these_types_are_named(tmp_path):
    LAYOUTS["openelm"].save(tmp_path, shapes={"q_norm": (D_HEAD,), "k_norm": (D_HEAD,)})
    assert "norms of queries and keys" in open_checkpoint(tmp_path).left_out
    for is_used in (True, False):
        LAYOUTS["qwen"].save(tmp_path, {"use_logn_attn": is_used})
        assert any("factors" in words for words in open_checkpoint(tmp_path).left_out) == is_used


def test_the_first_chatglm_is_refused(tmp_path, as_user):
    """Its attention has other names, and the tokens of its prompt see one another."""
    save(
        tmp_path,
        LAYOUTS["chatglm"].config,
        {"transformer.layers.0.attention.query_key_value.weight": (3 * WIDTH, WIDTH)},
    )
    with pytest.raises(CheckpointError, match=r"no tensor is named like encoder\.layers\.\{\}\.self_attention"):
        open_checkpoint(tmp_path)


def test_a_model_trained_to_predict_the_next_token_is_a_decoder_where_its_configuration_says_so(tmp_path):
    LAYOUTS["sl_model"].save(tmp_path, {"is_causal": True})
    assert {(plan.part, plan.causal) for plan in open_checkpoint(tmp_path).plans} == {("decoder", True)}


@pytest.mark.parametrize("name, gain", [("neobert", "attention_norm"), ("llada", "attn_norm")])
def test_gains_before_the_attention_of_types_on_the_hub_are_found(name, gain, tmp_path):
    LAYOUTS[name].save(tmp_path)
    norms = [plan.norm for plan in open_checkpoint(tmp_path).plans]
    assert norms == [f"{LAYOUTS[name].prefix.format(layer)}.{gain}.weight" for layer in range(LAYERS)]


def test_other_attentions_of_these_types_are_refused(tmp_path, as_user):
    """LLaDA's code also knows blocks with one tensor for queries, keys and values, which no entry reads."""
    config, prefix, *_ = LAYOUTS["llada"]
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
    assert checkpoint.left_out[0] == f"positions encoded {words} distance"
    with pytest.raises(CheckpointError, match=f"encodes positions {words} distance"):
        checkpoint.position_rows(checkpoint.plans[0])


@pytest.mark.parametrize("model_type, kv_heads", [("RefinedWebModel", None), ("RefinedWeb", 2)])
@pytest.mark.parametrize("asked", [None, "falcon"])
def test_falcon_of_the_first_months_is_read_by_its_former_keys(model_type, kv_heads, asked, tmp_path):
    changes = {} if kv_heads is None else {"new_decoder_architecture": True, "num_kv_heads": kv_heads}
    model = small_model("falcon", **changes)()
    model.save_pretrained(tmp_path)
    forms = [layer.form for layer in open_checkpoint(tmp_path)]
    config = json.loads((tmp_path / "config.json").read_text())
    for former, key in {
        "n_head": "num_attention_heads",
        "n_head_kv": "num_kv_heads",
        "n_layer": "num_hidden_layers",
    }.items():
        config[former] = config.pop(key)
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": model_type}))
    opened = open_checkpoint(tmp_path, model_type=asked)
    assert len(opened) == len(forms) and not any("into account" in remark for remark in opened.remarks)
    for layer, form in zip(opened, forms, strict=True):
        assert torch.equal(layer.form.wq, form.wq) and torch.equal(layer.form.wk, form.wk)
