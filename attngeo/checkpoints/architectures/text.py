"""Language models."""

from attngeo.checkpoints.architectures.entry import BLOCKS, CONV1D_BLOCKS, FOUR_RANKS, GROUPS, Attention, Entry, Refused

BERT = (
    Attention("encoder", "encoder.layer.{}.attention.self", "query", "key", decoder_if="is_decoder"),
    Attention("cross", "encoder.layer.{}.crossattention.self", "query", "key"),
)
GPT2 = (Attention("decoder", "h.{}.attn", "c_attn", "c_attn", CONV1D_BLOCKS, heads="n_head", layers="n_layer"),)
LLAMA = (Attention("decoder", "layers.{}.self_attn", kv_heads="num_key_value_heads", d_head="head_dim"),)
T5 = (
    Attention("encoder", "encoder.block.{}.layer.0.SelfAttention", "q", "k", heads="num_heads", layers="num_layers"),
    Attention("decoder", "decoder.block.{}.layer.0.SelfAttention", "q", "k", heads="num_heads", layers=""),
    Attention("cross", "decoder.block.{}.layer.1.EncDecAttention", "q", "k", heads="num_heads", layers=""),
)
LATENT = Refused(
    "its keys pass a low-rank projection, then an RMSNorm, then a second projection, and a rotary part bypasses that"
    " norm, so that no fixed matrix between a query and a key token gives the logits."
)


def encoder_decoder(
    encoder: str = "encoder.layers.{}.self_attn", decoder: str = "decoder.layers.{}", causal: bool | None = None
) -> tuple[Attention, ...]:
    """BART's names: ``self_attn`` in ``encoder.layers`` and ``decoder.layers``, and ``encoder_attn`` across."""
    heads = "decoder_attention_heads"
    return (
        Attention("encoder", encoder, heads="encoder_attention_heads", layers="encoder_layers"),
        Attention("decoder", f"{decoder}.self_attn", heads=heads, layers="decoder_layers", causal=causal),
        Attention("cross", f"{decoder}.encoder_attn", heads=heads, layers="decoder_layers"),
    )


BART = encoder_decoder()


def fused_decoder(module: str, weight: str, heads: str = "num_attention_heads", **options) -> tuple[Attention]:
    """A decoder whose queries, keys and values share one tensor."""
    return (Attention("decoder", module, weight, weight, heads=heads, **options),)


TEXT: dict[str, Entry] = {
    # encoders
    "albert": (
        # one group of layers is shared by the whole depth
        Attention(
            "encoder", "albert_layer_groups.{}.albert_layers.{}.attention", "query", "key", layers="num_hidden_groups"
        ),
    ),
    "deberta": (Attention("encoder", "encoder.layer.{}.attention.self", "in_proj", "in_proj", GROUPS),),
    "deberta-v2": (Attention("encoder", "encoder.layer.{}.attention.self", "query_proj", "key_proj"),),
    "distilbert": (Attention("encoder", "layer.{}.attention", "q_lin", "k_lin", heads="n_heads", layers="n_layers"),),
    "modernbert": (Attention("encoder", "layers.{}.attn", "Wqkv", "Wqkv", BLOCKS),),
    "mpnet": (Attention("encoder", "encoder.layer.{}.attention.attn", "q", "k"),),
    # encoders with BERT's names
    **dict.fromkeys(
        (
            "bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie", "esm", "layoutlm",
            "megatron-bert", "rembert", "roberta", "roberta-prelayernorm", "xlm-roberta", "xlm-roberta-xl", "xmod",
        ),
        BERT,
    ),
    # decoders, one tensor for queries, keys and values
    "bloom": fused_decoder("h.{}.self_attention", "query_key_value", "n_head", layout=GROUPS, layers="n_layer"),
    "codegen": fused_decoder("h.{}.attn", "qkv_proj", "n_head", layout=FOUR_RANKS, layers="n_layer"),
    # one key head, or one per query head, or groups
    "falcon": fused_decoder("h.{}.self_attention", "query_key_value", layout=GROUPS),
    "gpt_bigcode": fused_decoder("h.{}.attn", "c_attn", "n_head", layout=GROUPS, layers="n_layer"),
    "gpt2": GPT2,
    "gpt_neox": fused_decoder("layers.{}.attention", "query_key_value", layout=GROUPS),
    "gpt_neox_japanese": fused_decoder("layers.{}.attention", "query_key_value", layout=GROUPS),
    "mpt": fused_decoder("blocks.{}.attn", "Wqkv", "n_heads", layout=BLOCKS, layers="n_layers"),
    "openai-gpt": GPT2,
    "persimmon": fused_decoder("layers.{}.self_attn", "query_key_value", layout=GROUPS),
    "phi3": fused_decoder(
        "layers.{}.self_attn", "qkv_proj", layout=BLOCKS, kv_heads="num_key_value_heads", d_head="head_dim"
    ),
    # decoders, a tensor each
    "biogpt": (Attention("decoder", "layers.{}.self_attn"),),
    "ctrl": (Attention("decoder", "h.{}.multi_head_attention", "Wq", "Wk", heads="n_head", layers="n_layer"),),
    "gpt_neo": (Attention("decoder", "h.{}.attn.attention", heads="num_heads", layers="num_layers"),),
    "gptj": (Attention("decoder", "h.{}.attn", heads="n_head", layers="n_layer"),),
    "modernbert-decoder": (Attention("decoder", "layers.{}.attn"),),
    "opt": (Attention("decoder", "decoder.layers.{}.self_attn"),),
    "xglm": (Attention("decoder", "layers.{}.self_attn", heads="attention_heads", layers="num_layers"),),
    # decoders with Llama's names
    **dict.fromkeys(
        (
            "apertus", "arcee", "cohere", "cohere2", "ernie4_5", "exaone4", "gemma", "gemma2", "gemma3_text", "glm",
            "glm4", "gpt_oss", "granite", "granitemoe", "helium", "llama", "mistral", "mixtral", "mobilellm",
            "nemotron", "olmo", "olmo2", "olmo3", "olmoe", "phi", "phimoe", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe",
            "seed_oss", "smollm3", "stablelm", "starcoder2",
        ),
        LLAMA,
    ),
    # encoders with decoders
    **dict.fromkeys(
        ("bart", "blenderbot", "blenderbot-small", "m2m_100", "marian", "mbart", "mvp", "pegasus", "plbart"), BART
    ),
    **dict.fromkeys(("mt5", "t5", "umt5"), T5),
    # latent attention
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "glm4_moe_lite", "longcat_flash", "minicpm3"), LATENT),
}  # fmt: skip
