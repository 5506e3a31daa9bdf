import re
import shutil
import warnings

import pytest
import torch
import transformers as tf
from edited_files import edit_json, edit_tensors
from peft import LoraConfig, get_peft_model
from small_models import small_model

from attngeo import initialise, open_checkpoint, open_model, score_heads
from attngeo.checkpoints.tensorfiles import SafetensorsFile
from attngeo.errors import CheckpointError, ParameterError

LLAMA = ("llama", tf.LlamaForCausalLM)
CONV1D = {"fan_in_fan_out": True}
CASES = {
    "grouped keys": (*LLAMA, {"target_modules": ["q_proj", "k_proj", "v_proj"]}),
    "queries alone": (*LLAMA, {"target_modules": ["q_proj", "down_proj"]}),
    "one layer": (*LLAMA, {"target_modules": ["q_proj", "k_proj"], "layers_to_transform": [1]}),
    "every linear layer": (*LLAMA, {"target_modules": "all-linear"}),
    "scale with a root": (*LLAMA, {"target_modules": ["q_proj", "k_proj"], "use_rslora": True}),
    "ranks and alphas of their own": (
        *LLAMA,
        {"target_modules": ["q_proj", "k_proj"], "rank_pattern": {"layers.0.self_attn.q_proj": 2, "k_proj": 5}}
        | {"alpha_pattern": {r".*\.1\..*k_proj": 16, "q_proj": 3}},
    ),
    "DoRA": (*LLAMA, {"target_modules": ["q_proj", "k_proj"], "use_dora": True}),
    "Conv1D": ("gpt2", tf.GPT2LMHeadModel, {"target_modules": ["c_attn"], **CONV1D}),
    "DoRA, Conv1D": ("gpt2", tf.GPT2LMHeadModel, {"target_modules": ["c_attn"], **CONV1D, "use_dora": True}),
    "one tensor for q, k and v": ("gpt_neox", tf.GPTNeoXForCausalLM, {"target_modules": ["query_key_value"]}),
    "DoRA, one tensor": ("phi3", tf.Phi3ForCausalLM, {"target_modules": ["qkv_proj"], "use_dora": True}),
    "base model without its head": ("bert", None, {"target_modules": ["query", "key"]}),
    "other names in memory than in files": (
        "vit",
        tf.ViTForImageClassification,
        {"target_modules": ["q_proj", "k_proj"], "modules_to_save": ["classifier"]},
    ),
    "encoder, decoder and cross-attention": ("t5", tf.T5ForConditionalGeneration, {"target_modules": ["q", "k"]}),
}


def adapted(folder, model_type, kind, options, dtype=torch.float32):
    """A base and an adapter with random weights on disk; the model with the adapter, not yet merged."""
    torch.manual_seed(0)
    model = small_model(model_type, kind)().to(dtype)
    model.save_pretrained(folder / "base")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # peft uses what transformers deprecates
        model = get_peft_model(model, LoraConfig(r=4, lora_alpha=6, **options))
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "lora_A" in name or "lora_B" in name:
                weight.normal_(0, 0.2)
            elif "magnitude" in name:
                weight.mul_(torch.rand_like(weight) + 0.5)
    model.save_pretrained(folder / "adapter")
    return model


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("adapted")
    adapted(folder, *CASES["grouped keys"])
    return folder


@pytest.fixture
def folder(saved, tmp_path):
    """A base and an adapter, to be damaged."""
    return shutil.copytree(saved, tmp_path / "adapted")


@pytest.mark.parametrize("model_type, kind, options", CASES.values(), ids=CASES)
def test_the_forms_are_those_of_the_merged_model(model_type, kind, options, tmp_path):
    model = adapted(tmp_path, model_type, kind, options)
    live = list(open_model(model))
    merged = list(open_model(model.merge_and_unload()))
    base = list(open_checkpoint(tmp_path / "base"))
    found = list(open_checkpoint(tmp_path / "base", adapter=tmp_path / "adapter"))
    changed = [not torch.allclose(b.form.wq, a.form.wq, atol=1e-2) for a, b in zip(base, found, strict=True)]
    assert any(changed) and all(changed) == ("layers_to_transform" not in options)
    for expected, layer in zip(merged * 2, found + live, strict=True):
        torch.testing.assert_close(layer.form.wq, expected.form.wq, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(layer.form.wk, expected.form.wk, rtol=1e-5, atol=1e-6)
        for score in ("symmetry", "directionality"):
            a, b = (getattr(score_heads(form), score) for form in (layer.form, expected.form))
            torch.testing.assert_close(a, b, rtol=0, atol=1e-5)


def test_an_adapter_of_a_model_in_memory_counts_while_it_is_active(tmp_path):
    model = adapted(tmp_path, *CASES["grouped keys"])
    with_adapter, base = list(open_model(model)), list(open_checkpoint(tmp_path / "base"))
    with model.disable_adapter():
        assert all(torch.equal(a.form.wq, b.form.wq) for a, b in zip(open_model(model), base, strict=True))
    model.merge_adapter()
    for a, b in zip(open_model(model), with_adapter, strict=True):
        torch.testing.assert_close(a.form.wq, b.form.wq, rtol=1e-5, atol=1e-6)
        assert a.form.n_kv_heads == 2
    with pytest.raises(ParameterError, match="initialise the model before you add"):
        model.unmerge_adapter()
        initialise(model, "symmetric")


def test_a_base_in_16_bits_is_rounded_as_by_merging(tmp_path):
    merged = adapted(tmp_path, *CASES["grouped keys"], dtype=torch.bfloat16).merge_and_unload()
    pairs = zip(open_model(merged), open_checkpoint(tmp_path / "base", adapter=tmp_path / "adapter"), strict=True)
    for expected, layer in pairs:
        assert layer.form.wq.dtype == torch.bfloat16
        torch.testing.assert_close(layer.form.wq, expected.form.wq, rtol=2**-7, atol=2**-12)


def test_names_say_what_was_scored_and_no_more_is_read_than_needed(folder, attngeo, monkeypatch):
    read = []
    plain = SafetensorsFile.read
    monkeypatch.setattr(
        SafetensorsFile, "read", lambda self, name, rows=None: read.append(name) or plain(self, name, rows)
    )
    checkpoint = open_checkpoint(folder / "base", adapter=folder / "adapter" / "adapter_model.safetensors")
    assert checkpoint.name == "base + adapter" and len(list(checkpoint)) == 2
    assert read and not any(re.search("v_proj|o_proj|mlp|embed", name) for name in read)
    code, out, _ = attngeo("score", folder / "base", "--adapter", folder / "adapter")
    assert code == 0 and "base + adapter" in out


def config(**changes):
    return lambda folder: edit_json(folder / "adapter" / "adapter_config.json", **changes)


def state(change):
    """The adapter's file with some tensors changed."""
    return lambda folder: edit_tensors(folder / "adapter" / "adapter_model.safetensors", change)


Q = "base_model.model.model.layers.1.self_attn.q_proj"
DAMAGES = {
    "no adapter": (lambda f: (f / "adapter" / "adapter_config.json").unlink(), "adapter_config.json"),
    "no weights": (lambda f: (f / "adapter" / "adapter_model.safetensors").unlink(), "adapter_model.safetensors"),
    "another kind": (config(peft_type="IA3"), "IA3"),
    "PiSSA": (config(init_lora_weights="pissa"), "pissa"),
    "on in some tokens alone": (config(alora_invocation_tokens=[1]), "alora_invocation_tokens"),
    "endless alpha": (config(lora_alpha=1e31), "lora_alpha"),
    **{
        f"endless pattern {pattern!r}": (config(alpha_pattern={pattern: 3}), "alpha_pattern")
        for pattern in ("([a-z.0-9]+)+X", "\n|(([a-z.0-9]+)+X)", "(?x:([a-z.0-9]+) +X)", "[a-z]?.?" * 30 + "X")
    },
    "another rank": (config(r=2), r"it says r = 2, .*q_proj have rank 4"),
    "no alpha": (config(lora_alpha=None), "lora_alpha"),
    "another width": (state(lambda t: t.update({f"{Q}.lora_A.weight": torch.zeros(4, 48)})), "another base"),
    "one factor": (state(lambda t: t.pop(f"{Q}.lora_B.weight")), r"layers\.1\.self_attn\.q_proj"),
    "values alone": (
        state(lambda t: [t.pop(n) for n in list(t) if "q_proj" in n or "k_proj" in n]),
        r"\(it adapts v_proj\)",
    ),
    "a whole weight": (state(lambda t: t.update({f"{Q}.weight": torch.zeros(32, 32)})), "modules_to_save"),
    "two names for one place": (
        state(lambda t: t.update({n.replace("base_model.", "base_model.model.x."): w.clone() for n, w in t.items()})),
        "are two names of the same weight",
    ),
    "NaN": (state(lambda t: t[f"{Q}.lora_A.weight"].fill_(float("nan"))), "NaN"),
}


@pytest.mark.parametrize("damage, named", DAMAGES.values(), ids=DAMAGES)
def test_what_cannot_be_merged_ends_in_one_sentence(damage, named, folder, as_user):
    damage(folder)
    with pytest.raises(CheckpointError, match=named) as caught:
        list(open_checkpoint(folder / "base", adapter=folder / "adapter"))
    assert "\n" not in str(caught.value) and str(caught.value).endswith(".")
