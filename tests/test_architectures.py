import dataclasses

import pytest
import test_architectures_audio
import test_architectures_text
import test_architectures_vision
import torch
from attention_oracle import TOLERANCE, Case, observe
from small_models import WIDTH, small_config

from attngeo import AttngeoError, BilinearForm
from attngeo.architectures import ARCHITECTURES, Refused, Tower, locate
from attngeo.architectures.entry import BLOCKS, GROUPS

PLANTED = 1e-2  # a wrong extraction moves some probability by far more than rounding
CASES = test_architectures_text.CASES + test_architectures_vision.CASES + test_architectures_audio.CASES


def test_the_oracle_refuses_head_h_paired_with_key_head_h_modulo_n(tmp_path):
    for observed in observe(Case("llama"), tmp_path):
        form = observed.form
        wrong = BilinearForm(form.wq, form.wk.repeat(form.n_heads // form.n_kv_heads, 1, 1))
        assert observed.error() < TOLERANCE and observed.error(wrong) > PLANTED


@pytest.mark.parametrize("name", ["gpt_neox", "modernbert", "bert", "llama+one-key-head-each"])
def test_the_oracle_refuses_untransposed_slices(name, tmp_path):
    for observed in observe(Case(name), tmp_path):
        query, key = observed.weights[observed.plan.query], observed.weights[observed.plan.key]
        if query is key:  # fused, (3 d, d)
            query, key = query[:WIDTH], key[WIDTH : 2 * WIDTH]
        wrong = BilinearForm.from_linear(query.T, key.T.reshape(-1, WIDTH), observed.plan.d_head)
        assert observed.error() < TOLERANCE and observed.error(wrong) > PLANTED


@pytest.mark.parametrize(
    "name, wrong", [("gpt_neox", BLOCKS), ("bloom", BLOCKS), ("deberta", BLOCKS), ("phi3", GROUPS)]
)
def test_the_oracle_refuses_interleaved_heads_read_as_blocks_and_the_reverse(name, wrong, tmp_path):
    case = next(case for case in CASES if case.id == name)
    for observed in observe(case, tmp_path):
        form = dataclasses.replace(observed.plan, layout=wrong).form(observed.weights)
        assert observed.error() < TOLERANCE and observed.error(form) > PLANTED


def test_the_oracle_refuses_a_wrong_part(tmp_path):
    for observed in observe(Case("llama"), tmp_path):
        seen_as_encoder = dataclasses.replace(observed, plan=dataclasses.replace(observed.plan, causal=False))
        assert seen_as_encoder.error() > PLANTED


def towers(model_type: str) -> set[str]:
    """The model_types inside a model_type, which its case proves too."""
    found = set()
    for entry in ARCHITECTURES[model_type]:
        if isinstance(entry, Tower):
            inner = entry.model_type or small_config(model_type).to_dict()[entry.config]["model_type"]
            found |= {inner} | towers(inner)
    return found


def test_every_architecture_has_a_case_or_a_reason():
    named = {case.model_type for case in CASES}
    # what musicgen holds has cases of its own; its config has no default to look it up in
    proven = named.union(*(towers(name) for name in named - {"musicgen"}))
    refused = {name for name, entry in ARCHITECTURES.items() if isinstance(entry, Refused)}
    assert proven == set(ARCHITECTURES) - refused
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("name", [name for name, entry in ARCHITECTURES.items() if isinstance(entry, Refused)])
def test_what_is_refused_is_refused_with_the_reason(name, as_user):
    with pytest.raises(AttngeoError, match=f"{name} models have no W_qk to score: its keys pass a low-rank"):
        locate(ARCHITECTURES, {"model_type": name}, {"model.layers.0.self_attn.q_proj.weight": torch.Size([8, 8])})
