import pytest
import torch
import transformers as tf
from attention_oracle import Case, agrees
from small_models import small_model, tokens, two_sequences

from attngeo.checkpoints.architectures.plans import LayerPlan

ENCODERS = """albert bert bert-generation camembert convbert data2vec-text deberta deberta-v2 distilbert dpr electra
ernie eurobert layoutlm megatron-bert modernbert mpnet openai_privacy_filter rembert roberta roberta-prelayernorm
roc_bert splinter tapas visual_bert xlm-roberta xlm-roberta-xl""".split()
DECODERS = """afmoe apertus arcee aria_text biogpt bitnet cohere cohere2 cohere2_moe cosmos3_edge_text ctrl cwm
ernie4_5 ernie4_5_moe exaone4 exaone_moe falcon falcon_h1 flex_olmo flint gemma gemma3_text glm glm4
glm4_moe gpt-sw3 gpt2 gpt_bigcode gpt_neox gpt_neox_japanese gpt_oss higgs_audio_v2 hy_v3
hyperclovax internlm3 iquestcoder jais2 kolibri1 laguna llama minimax_m2 ministral3 mistral mixtral
modernbert-decoder nanochat olmo olmo2 olmo3 olmo_hybrid olmoe openai-gpt opt persimmon phi phi3
phimoe qwen2 qwen2_moe qwen3 qwen3_moe qwen3_vl_moe_text qwen3_vl_text seed_oss smollm3 solar_open
stablelm starcoder2 xglm""".split()
GRANITES = "granite granite_swa granitemoe granitemoe_swa granitemoeshared".split()
SEQ2SEQ = "bart blenderbot blenderbot-small m2m_100 marian mbart mvp pegasus plbart".split()


def unscaled(plan: LayerPlan) -> float:
    return 1.0


def zero_ids() -> dict:
    """Every token at position 0."""
    inputs = tokens()
    return inputs | {"position_ids": torch.zeros_like(inputs["input_ids"])}


def without_alibi(name: str):
    """Leaves out the biases by distance, which the model adds to its logits."""

    def prepare(model) -> None:
        build = getattr(model, name)
        setattr(model, name, lambda *args, **kwargs: torch.zeros_like(build(*args, **kwargs), dtype=torch.float64))

    return prepare


def without_scale_by_place(model) -> None:
    """Leaves out the factor of queries that grows with their place."""
    for layer in model.layers:
        layer.self_attn.register_forward_pre_hook(
            lambda module, args, kwargs: (args, kwargs | {"attention_scaling": None}), with_kwargs=True
        )


def patches_of_bytes(model) -> None:
    """Runs a model whose patches of bytes are given, and the model that would find them."""
    model.patcher(tokens()["input_ids"])
    model(**tokens(), patch_lengths=torch.tensor([[1, 3, 4]] * 2), use_cache=False)


def encoded_and_decoded(model) -> dict:
    """Runs encoder and decoder, each by itself: what makes the mask in between knows no float64."""
    ids, later = tokens()["input_ids"], torch.full((5, 5), -torch.inf).triu(1)
    read = model.encoder(ids, output_attentions=True)
    written = model.decoder(ids[:, :5], read.last_hidden_state, None, None, later, output_attentions=True)
    own = {"encoder_attentions": read.attentions, "decoder_attentions": written.attentions}
    return own | {"cross_attentions": written.cross_attentions}


CASES = [
    *(Case(name) for name in ENCODERS),
    *(Case(name) for name in DECODERS),
    *(Case(name, inputs=two_sequences) for name in SEQ2SEQ),
    *(Case(name, inputs=two_sequences, scale=unscaled) for name in ("mt5", "switch_transformers", "t5", "umt5")),
    Case("big_bird", small_model("big_bird", attention_type="original_full")),
    Case("esm", small_model("esm", vocab_size=40, pad_token_id=0, mask_token_id=3, position_embedding_type="absolute")),
    Case("xmod", small_model("xmod", default_language="en_XX", languages=("en_XX",))),
    Case("beam", prepare=without_scale_by_place),
    Case("blt", inside=True, padded=True, run=patches_of_bytes),
    Case("fsmt", run=encoded_and_decoded, time_first=True),
    Case("bloom", prepare=without_alibi("build_alibi_tensor")),
    Case("codegen", small_model("codegen", rotary_dim=4), zero_ids),
    Case("gptj", small_model("gptj", rotary_dim=4), zero_ids),
    Case("gemma2", small_model("gemma2", attn_logit_softcapping=None, query_pre_attn_scalar=8, head_dim=8)),
    Case("gpt_neo", small_model("gpt_neo", attention_types=[[["global", "local"], 1]]), scale=unscaled),
    *(Case(name, scale=unscaled) for name in GRANITES),
    Case("minimax", inside=True),
    Case("helium", small_model("helium", head_dim=8)),
    Case("mpt", prepare=without_alibi("build_mpt_alibi_tensor")),
    Case("nemotron", small_model("nemotron", num_key_value_heads=2, head_dim=8)),
    # what is particular to some checkpoints
    Case("albert+two-groups", small_model("albert", num_hidden_groups=2)),
    Case("bert+masked-lm", small_model("bert", tf.BertForMaskedLM)),
    Case("bert+decoder", small_model("bert", tf.BertLMHeadModel, is_decoder=True)),
    Case("falcon+grouped", small_model("falcon", new_decoder_architecture=True, num_kv_heads=2)),
    Case("falcon+a-key-head-each", small_model("falcon", multi_query=False)),
    Case("gpt2+lm", small_model("gpt2", tf.GPT2LMHeadModel)),
    Case("gpt_bigcode+a-key-head-each", small_model("gpt_bigcode", multi_query=False)),
    Case("llama+lm", small_model("llama", tf.LlamaForCausalLM, num_key_value_heads=4)),
    Case("llama+one-key-head", small_model("llama", num_key_value_heads=1)),
    Case("llama+wide-heads", small_model("llama", head_dim=10)),
    Case("phi3+a-key-head-each", small_model("phi3", num_key_value_heads=4)),
    Case("qwen2+lm", small_model("qwen2", tf.Qwen2ForCausalLM)),
    Case("stablelm+norms", small_model("stablelm", qk_layernorm=True)),
    # its code is on the Hub; its tensors have Llama's names and grouping
    Case("mobilellm", small_model("llama", tf.LlamaForCausalLM)),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_forms_read_give_the_models_own_probabilities(case, tmp_path):
    agrees(case, tmp_path)
