import dataclasses

import pytest
import torch
import transformers as tf
from attention_oracle import TOLERANCE, Case, observe

from attngeo import BilinearForm
from attngeo.architectures import ARCHITECTURES
from attngeo.architectures.entry import BLOCKS

TOKENS, WIDTH, HEADS = 7, 24, 4


def tokens(decoder: bool = False) -> dict:
    """Two sequences."""
    ids = torch.arange(2 * TOKENS).view(2, TOKENS) * 7 % 31 + 3
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    return inputs | ({"decoder_input_ids": ids[:, :5]} if decoder else {})


def small(config: type, model: type, **changes):
    """A builder of a two-layer model."""
    sizes = {
        "vocab_size": 40, "hidden_size": WIDTH, "num_hidden_layers": 2, "num_attention_heads": HEADS,
        "intermediate_size": 16, "max_position_embeddings": 32, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
    }  # fmt: skip
    return lambda: model(config(**sizes | changes))


ENCODER = {"encoder": "attentions"}
SEQ2SEQ = {"encoder": "encoder_attentions", "decoder": "decoder_attentions", "cross": "cross_attentions"}
BART = {"d_model": WIDTH, "encoder_layers": 2, "decoder_layers": 1, "encoder_attention_heads": 4,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16}  # fmt: skip

CASES = [
    Case("bert", small(tf.BertConfig, tf.BertModel), tokens, ENCODER),
    Case("bert-for-masked-lm", small(tf.BertConfig, tf.BertForMaskedLM), tokens, ENCODER),
    Case("bert-as-decoder", small(tf.BertConfig, tf.BertLMHeadModel, is_decoder=True), tokens),
    Case(
        "distilbert",
        small(tf.DistilBertConfig, tf.DistilBertForMaskedLM, dim=WIDTH, n_heads=HEADS, n_layers=2, hidden_dim=16),
        tokens,
        ENCODER,
    ),
    Case("gpt2", small(tf.GPT2Config, tf.GPT2Model, n_inner=16), tokens),
    Case("gpt2-lm-head", small(tf.GPT2Config, tf.GPT2LMHeadModel, n_inner=16), tokens),
    Case(
        "gpt_neo",
        small(
            tf.GPTNeoConfig,
            tf.GPTNeoForCausalLM,
            num_layers=2,
            num_heads=HEADS,
            attention_types=[[["global", "local"], 1]],
        ),
        tokens,
        scale=lambda d_head: 1.0,
    ),
    Case("gpt_neox", small(tf.GPTNeoXConfig, tf.GPTNeoXForCausalLM), tokens),
    Case("llama", small(tf.LlamaConfig, tf.LlamaForCausalLM), tokens),
    Case("llama-grouped", small(tf.LlamaConfig, tf.LlamaForCausalLM, num_key_value_heads=2), tokens),
    Case("llama-one-key-head", small(tf.LlamaConfig, tf.LlamaModel, num_key_value_heads=1), tokens),
    Case("llama-wide-heads", small(tf.LlamaConfig, tf.LlamaModel, num_key_value_heads=2, head_dim=10), tokens),
    Case("openai-gpt", small(tf.OpenAIGPTConfig, tf.OpenAIGPTLMHeadModel, n_positions=32), tokens),
    Case("roberta", small(tf.RobertaConfig, tf.RobertaForMaskedLM), tokens, ENCODER),
    Case("bart", small(tf.BartConfig, tf.BartForConditionalGeneration, **BART), lambda: tokens(decoder=True), SEQ2SEQ),
    Case(
        "whisper",
        small(
            tf.WhisperConfig,
            tf.WhisperForConditionalGeneration,
            **BART,
            num_mel_bins=8,
            max_source_positions=6,
            max_target_positions=8,
        ),
        lambda: {
            "input_features": torch.randn(2, 8, 12, dtype=torch.float64),
            "decoder_input_ids": tokens()["input_ids"],
        },
        SEQ2SEQ,
    ),
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_forms_read_give_the_models_own_probabilities(case, tmp_path):
    for observed in observe(case, tmp_path):
        assert observed.error() < TOLERANCE, observed.plan


PLANTED = 1e-2  # a wrong extraction moves some probability by far more than rounding
BY_ID = {case.id: case for case in CASES}


def test_the_oracle_refuses_head_h_paired_with_key_head_h_modulo_n(tmp_path):
    for observed in observe(BY_ID["llama-grouped"], tmp_path):
        form = observed.form
        wrong = BilinearForm(form.wq, form.wk.repeat(form.n_heads // form.n_kv_heads, 1, 1))
        assert observed.error() < TOLERANCE and observed.error(wrong) > PLANTED


@pytest.mark.parametrize("name", ["gpt_neox", "bert", "llama"])
def test_the_oracle_refuses_untransposed_slices(name, tmp_path):
    for observed in observe(BY_ID[name], tmp_path):
        query, key = observed.weights[observed.plan.query], observed.weights[observed.plan.key]
        if query is key:  # fused, (3 d, d)
            query, key = query[:WIDTH], key[WIDTH : 2 * WIDTH]
        wrong = BilinearForm.from_linear(query.T, key.T, observed.plan.d_head)
        assert observed.error() < TOLERANCE and observed.error(wrong) > PLANTED


def test_the_oracle_refuses_interleaved_heads_read_as_blocks(tmp_path):
    for observed in observe(BY_ID["gpt_neox"], tmp_path):
        wrong = dataclasses.replace(observed.plan, layout=BLOCKS).form(observed.weights)
        assert observed.error() < TOLERANCE and observed.error(wrong) > PLANTED


def test_every_architecture_has_a_case():
    assert set(ARCHITECTURES) == {case.id for case in CASES} & set(ARCHITECTURES)
