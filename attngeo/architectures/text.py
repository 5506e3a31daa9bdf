"""Language models."""

from attngeo.architectures.entry import CONV1D_BLOCKS, GROUPS, Attention, Refused

BERT = (
    Attention("encoder", "encoder.layer.{}.attention.self", "query", "key", causal_if="is_decoder"),
    Attention("cross", "encoder.layer.{}.crossattention.self", "query", "key"),
)
GPT2 = (Attention("decoder", "h.{}.attn", "c_attn", "c_attn", CONV1D_BLOCKS, heads="n_head", layers="n_layer"),)
LLAMA = (Attention("decoder", "layers.{}.self_attn", kv_heads="num_key_value_heads", d_head="head_dim"),)


def encoder_decoder(
    attention: str = "self_attn",
    encoder_heads: str = "encoder_attention_heads",
    decoder_heads: str = "decoder_attention_heads",
) -> tuple[Attention, ...]:
    """BART's names: ``self_attn`` in ``encoder.layers`` and ``decoder.layers``, and ``encoder_attn`` across."""
    return (
        Attention("encoder", f"encoder.layers.{{}}.{attention}", heads=encoder_heads, layers="encoder_layers"),
        Attention("decoder", "decoder.layers.{}.self_attn", heads=decoder_heads, layers="decoder_layers"),
        Attention("cross", "decoder.layers.{}.encoder_attn", heads=decoder_heads, layers="decoder_layers"),
    )


TEXT: dict[str, tuple[Attention, ...] | Refused] = {
    "bart": encoder_decoder(),
    "bert": BERT,
    "distilbert": (Attention("encoder", "layer.{}.attention", "q_lin", "k_lin", heads="n_heads", layers="n_layers"),),
    "gpt2": GPT2,
    "gpt_neo": (Attention("decoder", "h.{}.attn.attention", heads="num_heads", layers="num_layers"),),
    "gpt_neox": (Attention("decoder", "layers.{}.attention", "query_key_value", "query_key_value", GROUPS),),
    "llama": LLAMA,
    "openai-gpt": GPT2,
    "roberta": BERT,
}
