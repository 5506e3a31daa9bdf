"""Keys of configurations: each is followed, or named where it is set; a sample of the sweep of all of them."""

import json

import make_keys
import pytest
import sweep_keys
from msgspec import structs
from safetensors.torch import load_file, save_file
from small_models import inputs_of, small_config, small_model

from attngeo import open_checkpoint, open_model
from attngeo.checkpoints.architectures import ARCHITECTURES, keys
from attngeo.checkpoints.architectures.keys import unknown_keys
from attngeo.checkpoints.architectures.locate import unfollowed


def test_the_keys_that_are_known_are_those_of_transformers():
    assert make_keys.KEYS.read_text(encoding="utf-8") == make_keys.text()


SAMPLE = [
    ("llama", "", None),
    ("bart", "is_causal", False),
    ("bert", "is_decoder", True),
    ("gemma3_text", "use_bidirectional_attention", True),
    ("llama4_text", "is_causal", False),
    ("llava", "text_config.is_causal", False),
    ("ministral3", "is_causal", False),
    ("deberta", "", None),
    ("llama4_text", "use_qk_norm", False),
    ("mistral", "sliding_window", 2),
    ("nanochat", "", None),
    ("olmo", "clip_qkv", 0.05),
    ("stablelm", "qk_layernorm", True),
    ("swinv2", "", None),
]


@pytest.mark.parametrize("model_type, key, value", SAMPLE)
def test_a_changed_key_is_followed_or_named(model_type, key, value):
    finding = sweep_keys.examine(model_type, key, value)
    assert finding.outcome in ("agrees", "named"), finding


WRONG = [
    ("llama", "is_causal", False, {"follows_is_causal": False}, "label"),
    ("gemma3_text", "use_bidirectional_attention", True, {"both_ways_if": ""}, "label"),
    ("swinv2", "", None, {"beside": {}}, "norms"),
]


@pytest.mark.parametrize("model_type, key, value, changes, named", WRONG)
def test_the_sweep_finds_what_an_entry_does_not_say(model_type, key, value, changes, named, monkeypatch):
    first, *others = ARCHITECTURES[model_type]
    monkeypatch.setitem(ARCHITECTURES, model_type, (structs.replace(first, **changes), *others))
    finding = sweep_keys.examine(model_type, key, value)
    assert finding.outcome == "differs" and named in f"{finding.wrong} {finding.detail}"


def test_keys_that_no_model_type_here_has_are_named():
    assert unknown_keys({"vocab_size": 9, "sliding_window": 2, "mirror_attention": True}, ["mistral"]) == [
        "mirror_attention = True"
    ]
    assert unknown_keys({"scale_attn_weights": True, "torch_dtype": "float32"}, ["gptj"]) == []
    former = {"position_embedding_type": "absolute"}  # which older versions wrote for every BERT
    assert unknown_keys(former, ["bert"]) == []
    assert unknown_keys({"position_embedding_type": "relative_key"}, ["bert"]) != []
    assert unknown_keys({"alibi": True, "clip_qkv": None, "is_causal": False}, ["llama"]) == ["alibi = True"]


PUBLISHED = {  # keys of well-known checkpoints that transformers no longer has, or had for another type alone
    "albert": {"down_scale_factor": 1, "gap_size": 0, "net_structure_type": 0, "num_labels": 2},
    "bloom": {"bias_dropout_fusion": True, "n_embed": 1024, "offset_alibi": 100, "seq_length": 2048, "unk_token_id": 0},
    "distilbert": {"sinusoidal_pos_embds": False, "tie_weights_": True},
    "gpt_neo": {"summary_proj_to_labels": True, "summary_use_proj": True, "window_size": 256},
    "llama": {"max_sequence_length": 2048, "pretraining_tp": 1},
    "opt": {"do_layer_norm_before": True, "prefix": "</s>"},
    "t5": {"n_positions": 512, "output_past": True},
    "whisper": {"begin_suppress_tokens": [1], "forced_decoder_ids": [[1, 2]]},
}


@pytest.mark.parametrize("model_type", PUBLISHED)
def test_the_configurations_of_well_known_checkpoints_are_known(model_type):
    assert unfollowed(ARCHITECTURES, {"model_type": model_type, **PUBLISHED[model_type]}) == []


@pytest.mark.parametrize(
    "key, value, owner", [("num_kv_shared_layers", 2, "gemma3n_text"), ("num_hidden_groups", 3, "albert")]
)
def test_a_key_of_another_model_type_is_named(key, value, owner):
    assert unfollowed(ARCHITECTURES, {"model_type": "llama", key: value}) == [f"{key} = {value}"]
    assert unknown_keys({key: value}, [owner]) == []


def test_keys_that_say_how_positions_rotate_are_named_among_the_positions():
    rotation = {"rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}}
    assert unfollowed(ARCHITECTURES, {"model_type": "llama", **rotation}) == []
    assert unfollowed(ARCHITECTURES, {"model_type": "gpt2", "rope_theta": 5e5}) == ["rope_theta = 500000.0"]


def test_an_unknown_key_is_named_for_files_and_in_memory(tmp_path):
    model = small_model("llama", mirror_attention=True)()
    model.save_pretrained(tmp_path)
    for opened in (open_checkpoint(tmp_path), open_model(model)):
        assert any("mirror_attention = True" in remark for remark in opened.remarks)


@pytest.mark.parametrize("model_type, key", [("mistral", "sliding_window"), ("modernbert", "local_attention")])
def test_a_window_is_named_where_it_is_shorter_than_the_longest_text(model_type, key):
    both_sides = 1 if model_type == "mistral" else 2
    for window in (31, 32):  # the longest text has 32 tokens
        model = small_model(model_type, **{key: both_sides * window})()
        hides = any("mask" in words for words in open_model(model).left_out)
        assert hides == (window < 32)


@pytest.mark.parametrize("place", [(), ("global_config",), ("encoder_config",)], ids=str)
@pytest.mark.parametrize("value", [True, False])
def test_a_key_is_named_that_makes_the_mask_of_another_part_of_the_model(place, value):
    config = small_config("blt").to_dict()
    inner = config
    for key in place:
        inner = inner[key]
    inner["is_causal"] = value
    assert unfollowed(ARCHITECTURES, config) == ([] if value else ["is_causal = False"])


@pytest.mark.parametrize("model_type", ["dbrx", "mpt"])
def test_clipping_is_named_where_a_configuration_keeps_it_apart(model_type):
    model = small_model(model_type)()
    config = model.config.to_dict()
    for clipped in (0.05, None):
        config["attn_config"] = {**config["attn_config"], "clip_qkv": clipped}
        assert ("clipping of queries and keys" in open_model(model, config).left_out) is bool(clipped)


@pytest.mark.parametrize("model_type", ["gpt_oss", "llama"])
def test_attention_sinks_are_named_where_probabilities_of_tokens_do_not_add_up_to_one(model_type, tmp_path):
    model = small_model(model_type)().eval()
    model.set_attn_implementation("eager")
    model.save_pretrained(tmp_path)
    outputs = model(**inputs_of(model), output_attentions=True)
    has_sinks = any((each.sum(-1) < 1 - 1e-4).any() for each in outputs.attentions)
    assert has_sinks == (model_type == "gpt_oss")
    for opened in (open_checkpoint(tmp_path), open_model(model)):
        assert any("sinks" in words for words in opened.left_out) == has_sinks


PARTIAL = ["bart", "bert", "gpt2", "gpt_oss", "llama", "modernbert", "olmo", "olmo2", "opt", "qwen3", "t5", "whisper"]


def queries_and_keys_alone(folder):
    """Leaves no other tensors in a folder's file."""
    plans = open_checkpoint(folder).plans
    tensors = load_file(folder / "model.safetensors")
    names = {name for plan in plans for name in (plan.query, plan.key)}
    save_file({name: tensors[name] for name in names}, folder / "model.safetensors")


@pytest.mark.parametrize("model_type", PARTIAL)
def test_a_file_of_queries_and_keys_alone_is_told_what_the_whole_file_is_told(model_type, tmp_path, monkeypatch):
    small_model(model_type)().save_pretrained(tmp_path)
    whole = open_checkpoint(tmp_path).left_out
    queries_and_keys_alone(tmp_path)
    assert open_checkpoint(tmp_path).left_out == whole
    monkeypatch.setattr(keys, "_of_types", lambda: {word: {} for word in (*make_keys.OF_TENSORS, "gains", "keys")})
    tensors_show = {
        "gains of the layer normalisation before queries and keys",
        "biases",
        "norms of queries and keys",
    } & set(whole)
    assert (open_checkpoint(tmp_path).left_out == whole) == (not tensors_show)


CHANGED = {
    "bert": {"is_decoder": True},
    "gemma2": {"is_causal": False},
    "llama": {"attention_bias": True},
    "opt": {"do_layer_norm_before": False},
    "wav2vec2": {"do_stable_layer_norm": True},
}


@pytest.mark.parametrize("model_type", CHANGED)
def test_such_a_file_follows_the_configuration_too(model_type, tmp_path):
    small_model(model_type, **CHANGED[model_type])().save_pretrained(tmp_path)
    whole = open_checkpoint(tmp_path).left_out
    queries_and_keys_alone(tmp_path)
    assert open_checkpoint(tmp_path).left_out == whole


def test_a_file_without_normalisations_of_an_unknown_model_type_is_said_to_have_none(tmp_path):
    small_model("llama")().save_pretrained(tmp_path)
    queries_and_keys_alone(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {"model_type": "mobilellm"}))
    (said,) = open_checkpoint(tmp_path).remarks
    assert said.startswith("The files contain no layer normalisation")


def test_parts_are_named_where_they_differ_and_cross_attention_of_t5_has_no_bias(tmp_path):
    model = small_model("t5")()
    model.save_pretrained(tmp_path)
    biased = {type(module).__name__ for module in model.modules() if hasattr(module, "relative_attention_bias")}
    in_cross = [block.layer[1].EncDecAttention.has_relative_attention_bias for block in model.decoder.block]
    assert biased == {"T5Attention"} and not any(in_cross)
    first, second = open_checkpoint(tmp_path).left_out
    assert first == "positions encoded by a bias of the logits for each distance (encoder and decoder layers)"
    assert second == "gains of the layer normalisation before queries and keys"


@pytest.mark.parametrize("model_type, key", [("llama", "attention_bias"), ("vit", "qkv_bias")])
@pytest.mark.parametrize("stated", [True, False])
@pytest.mark.parametrize("stored", [True, False])
def test_biases_that_configuration_and_file_disagree_on_are_told(model_type, key, stated, stored, tmp_path):
    model = small_model(model_type, **{key: stored})()
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps(config | {key: stated}))
    loaded = type(model).from_pretrained(tmp_path)
    uses = [bias for name, bias in loaded.named_parameters() if name.endswith(("q_proj.bias", "query.bias"))]
    assert bool(uses) == stated and (stored or not any(bias.any() for bias in uses))
    said = [remark for remark in open_checkpoint(tmp_path).remarks if "biases" in remark]
    assert len(said) == (stated != stored) and all(f"{key} is {stated}" in remark for remark in said)


@pytest.mark.parametrize("groups, words", [(1, "this one matrix"), (2, "these 2 matrices")])
def test_layers_that_share_a_matrix_are_counted(groups, words, tmp_path):
    small_model("albert", num_hidden_layers=6, num_hidden_groups=groups)().save_pretrained(tmp_path)
    assert open_checkpoint(tmp_path).remarks == [f"The model has 6 layers, which share {words}."]
    small_model("albert", num_hidden_layers=groups, num_hidden_groups=groups)().save_pretrained(tmp_path)
    assert open_checkpoint(tmp_path).remarks == []


@pytest.mark.parametrize("is_used", [True, False])
def test_queries_of_entities_are_named_where_a_luke_has_them(is_used):
    model = small_model("luke", use_entity_aware_attention=is_used)()
    assert any("entities" in words for words in open_model(model).left_out) == is_used


def test_the_direction_of_an_xlnet_is_named_where_it_is_not_read():
    for kind in ("bi", "uni"):
        remarks = open_model(small_model("xlnet", attn_type=kind)()).remarks
        assert any("attn_type = 'uni'" in remark for remark in remarks) == (kind == "uni")
