import dataclasses
import functools
import itertools
import json
import re

import make_models
import pytest
import torch
import yaml
from attention_cases import CASES
from attention_oracle import EPSILON, TOLERANCE, Case, agrees, make, observe
from distance_oracle import agrees_at_a_distance
from small_models import WIDTH
from transformers import CONFIG_MAPPING

from attngeo import BilinearForm
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.entry import LAYOUTS, Attention, Layout, Refused
from attngeo.checkpoints.architectures.locate import locate
from attngeo.checkpoints.architectures.rotary import known_rotations
from attngeo.checkpoints.architectures.stacks import default_sizes
from attngeo.errors import CheckpointError

ROTATED = known_rotations().keys() - {"codegen", "gptj"}  # small heads are narrower than what these rotate by default
PLANTED = 1e-2  # a wrong extraction moves some probability by far more than rounding


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_the_forms_read_give_the_models_own_probabilities(case, tmp_path):
    made = make(case, tmp_path)
    if case.id in ROTATED:
        agrees_at_a_distance(made)
    agrees(made)


def test_attention_that_is_not_read_is_missed(monkeypatch, tmp_path):
    monkeypatch.setitem(ARCHITECTURES, "bart", ARCHITECTURES["bart"][:1])
    with pytest.raises(AssertionError, match="more attention than was read"):
        agrees(make(Case("bart"), tmp_path))


def key_heads_in_turn(observed):
    """Head h on key head h modulo n."""
    form = observed.form
    return BilinearForm(form.wq, form.wk.repeat(form.n_heads // form.n_kv_heads, 1, 1))


def untransposed(observed):
    query, key = observed.weights[observed.plan.query], observed.weights[observed.plan.key]
    if query is key:  # fused, (3 d, d)
        query, key = query[:WIDTH], key[WIDTH : 2 * WIDTH]
    return BilinearForm.from_linear(query.T, key.T.reshape(-1, WIDTH), observed.plan.d_head)


def in_layout(layout):
    return lambda observed: dataclasses.replace(observed.plan, layout=LAYOUTS[layout]).form(observed.weights)


BY_NAME = {case.id: case for case in CASES}
WRONG = [
    *(("llama", key_heads_in_turn), ("gpt_neox", untransposed), ("modernbert", untransposed), ("bert", untransposed)),
    *((name, in_layout("blocks")) for name in ("gpt_neox", "bloom", "deberta")),
    ("phi3", in_layout("groups")),
]


@pytest.mark.parametrize("name, wrong", WRONG)
def test_the_oracle_refuses_forms_that_are_read_wrongly(name, wrong, tmp_path):
    for observed in observe(make(BY_NAME[name], tmp_path)):
        assert observed.error() < TOLERANCE and observed.error(wrong(observed)) > PLANTED


@pytest.mark.parametrize("name", ["longformer", "xlnet"])
def test_the_oracle_refuses_queries_in_the_place_of_keys(name, tmp_path):
    for observed in observe(make(BY_NAME[name], tmp_path)):
        assert observed.error() < TOLERANCE and observed.error(observed.form.T) > PLANTED


def changed(observed, **changes):
    return dataclasses.replace(observed, plan=dataclasses.replace(observed.plan, **changes))


def test_the_oracle_refuses_a_wrong_part_and_values_in_a_wrong_layout(tmp_path):
    for observed in observe(make(BY_NAME["llama"], tmp_path / "llama")):
        assert not changed(observed, causal=False).masked_as_read()
    for observed in observe(make(BY_NAME["bloom"], tmp_path / "bloom")):
        assert changed(observed, layout=LAYOUTS["blocks"]).error_of_values() > PLANTED > observed.error_of_values()


@pytest.mark.parametrize("name", ["gpt2", "gemma2", "t5"])
def test_the_oracle_refuses_a_gain_that_is_not_of_the_normalisation_before(name, tmp_path):
    for one, other in itertools.pairwise(each for each in observe(make(BY_NAME[name], tmp_path)) if each.plan.norm):
        for wrong in ({"norm": other.plan.norm}, {"norm_offset": 1 - one.plan.norm_offset}):
            assert changed(one, **wrong).before_the_gain().unevenness() > 2 * EPSILON


def test_every_model_type_of_transformers_is_known_or_left_out_for_a_reason():
    reasons = yaml.safe_load(make_models.LEFT_OUT.read_text(encoding="utf-8"))
    left_out = [name for names in reasons.values() for name in names]
    assert len(left_out) == len(set(left_out)) and not set(left_out) & set(ARCHITECTURES)
    assert set(left_out) | (set(ARCHITECTURES) & set(CONFIG_MAPPING)) == set(CONFIG_MAPPING)
    assert make_models.PAGE.read_text(encoding="utf-8") == make_models.text()  # python tests/checkpoints/make_models.py
    read = re.search(r"it reads (\d+) ", make_models.text())[1]
    for page in ("README.md", "book/use/score.md"):
        text = (make_models.PAGE.parents[2] / page).read_text("utf-8")
        assert re.findall(r"(\d+) model types of\s`t", text) == [read]


def test_what_is_left_out_is_refused_with_the_reason_and_only_untested_types_with_a_way_to_read_them(as_user):
    for name, said in {"mamba": "'mamba' cannot be read. The model has no attention", "evolla": "--register"}.items():
        with pytest.raises(CheckpointError, match=said) as caught:
            locate(ARCHITECTURES, {"model_type": name}, {"w": torch.Size([8, 8])})
        assert ("--as" in f"{caught.value}") is (name == "evolla")


@pytest.mark.parametrize("name", [name for name, entry in ARCHITECTURES.items() if isinstance(entry, Refused)])
def test_what_is_refused_is_refused_with_the_reason(name, as_user):
    with pytest.raises(CheckpointError, match=f"^{name} "):
        locate(ARCHITECTURES, {"model_type": name}, {"model.layers.0.self_attn.q_proj.weight": torch.Size([8, 8])})


def shapes(*layers: int, q=(64, 32), k=(32, 32), prefix: str = "model.layers") -> dict[str, torch.Size]:
    """A Llama's tensors: 4 query heads of 16 on 2 key heads, or others."""
    return {
        f"{prefix}.{layer}.self_attn.{name}_proj.weight": torch.Size(size)
        for layer in layers
        for name, size in (("q", q), ("k", k))
    }


LLAMA = {"model_type": "llama", "num_attention_heads": 4, "num_hidden_layers": 2}


def test_counts_follow_from_the_shapes_and_layers_are_sorted_by_number():
    config = LLAMA | {"num_hidden_layers": 12}
    plans = locate(ARCHITECTURES, config, shapes(*sorted(range(12), key=str)))
    assert [plan.module for plan in plans] == [f"model.layers.{layer}.self_attn" for layer in range(12)]
    assert {(plan.heads, plan.kv_heads, plan.d_head) for plan in plans} == {(4, 2, 16)}


BY_LAYER = shapes(0, 1, q=(16, 8), k=(8, 8))  # 4 query heads of 4 on 2 key heads; then 2 of 8 on one


@pytest.mark.parametrize("last", [[], [0]], ids=["", "and a layer without"])
def test_counts_that_differ_by_layer_are_read_by_layer(last):
    counts = {"num_attention_heads": [4, 2, *last], "num_key_value_heads": [2, 1, *last]}
    plans = locate(ARCHITECTURES, LLAMA | counts | {"head_dim": None if last else [4, 8]}, BY_LAYER)
    assert [(plan.heads, plan.kv_heads, plan.d_head) for plan in plans] == [(4, 2, 4), (2, 1, 8)]


def test_weights_of_their_own_may_be_stored_in_out(monkeypatch):
    layout = Layout(transposed=True)
    monkeypatch.setitem(ARCHITECTURES, "mine", (Attention("decoder", "layers.{}.self_attn", layout=layout),))
    sizes = {"q": (32, 64), "k": (32, 16), "v": (32, 16), "o": (64, 32)}
    tensors = {f"layers.0.self_attn.{name}_proj.weight": torch.randn(size) for name, size in sizes.items()}
    (plan,) = locate(
        ARCHITECTURES,
        LLAMA | {"model_type": "mine", "num_hidden_layers": 1},
        {name: tensor.shape for name, tensor in tensors.items()},
    )
    assert (plan.heads, plan.kv_heads, plan.d_head) == (4, 1, 16)
    q, k, v, o = tensors.values()
    form, written = plan.form(tensors), plan.form(tensors, "ov")
    assert torch.equal(form.wq[1], q[:, 16:32]) and torch.equal(form.wk[0], k)
    assert torch.equal(written.wq[1], o[16:32].T) and torch.equal(written.wk[0], v)


def test_gates_behind_the_queries_are_neither_read_nor_written():
    found = shapes(0, q=(128, 32))
    (plan,) = locate(ARCHITECTURES, {"model_type": "qwen3_next", "num_attention_heads": 4}, found)
    tensors = {name: torch.randn(size) for name, size in found.items()}
    before, form = tensors[plan.query].clone().view(4, 2, 16, 32), plan.form(tensors)
    plan.store(BilinearForm(2 * form.wq, form.wk), tensors)
    after = tensors[plan.query].view(4, 2, 16, 32)
    assert torch.equal(form.wq.mT, before[:, 0]) and torch.equal(after[:, 0], 2 * before[:, 0])
    assert torch.equal(after[:, 1], before[:, 1])


MISFITS = {
    "key heads": (LLAMA | {"num_key_value_heads": 4}, shapes(0, 1), " 2 .* num_key_value_heads = 4"),
    "width": (LLAMA | {"head_dim": 8}, shapes(0, 1), " 16 .* head_dim = 8"),
    "grouping": (LLAMA | {"num_attention_heads": 2}, shapes(0, 1, k=(96, 32)), " 3 .* 2 "),
    "heads": (LLAMA | {"num_attention_heads": 3}, shapes(0, 1), " 3 .num_attention_heads"),
    "layers": (LLAMA, shapes(1), r" 2 layers, .* no layers\.0\.self_attn\.q_proj\.weight"),
    "heads by layer": (
        LLAMA | {"model_type": "opt", "num_attention_heads": [4, 4]},
        shapes(0, 1, k=(64, 32), prefix="decoder.layers"),
        r"is \[4, 4\] .* opt models have one number",
    ),
    "heads of one layer of two": (LLAMA | {"num_attention_heads": [4]}, BY_LAYER, "_heads .* no number for layer 1"),
    "key heads of the second": (
        LLAMA | {"num_attention_heads": [4, 2], "num_key_value_heads": [2, 2]},
        BY_LAYER,
        "_value_heads = 2",
    ),
    "no heads": (LLAMA | {"num_attention_heads": None}, BY_LAYER, "does not contain num_attention_heads"),
    "prefixes": (LLAMA, shapes(0, 1) | shapes(0, 1, prefix="draft.layers"), r"\(draft\., model\.\)"),
}


@pytest.mark.parametrize("config, found, named", MISFITS.values(), ids=MISFITS)
def test_shapes_and_config_that_disagree_are_refused(config, found, named, as_user):
    with pytest.raises(CheckpointError, match=named):
        locate(ARCHITECTURES, config, found)


@pytest.mark.parametrize("decoder", [{"decoder_layers": 0, "decoder_attention_heads": 0}, {"decoder_layers": None}])
def test_a_tower_may_be_absent(decoder):
    config = {"model_type": "whisper", "encoder_layers": 2, "encoder_attention_heads": 4}
    plans = locate(ARCHITECTURES, config | decoder, shapes(0, 1, q=(32, 32), prefix="encoder.layers"))
    assert [(plan.part, plan.heads) for plan in plans] == [("encoder", 4)] * 2


def test_a_missing_block_of_a_stage_is_named(as_user):
    config = {"model_type": "swin", "num_heads": [2, 4], "depths": [1, 2]}
    names = [
        f"encoder.layers.{stage}.blocks.{block}.attention.self.{which}.weight"
        for stage, block in ((0, 0), (1, 0), (1, 1))
        for which in ("query", "key")
    ]
    found = dict.fromkeys(names, torch.Size([16, 16]))
    assert [plan.heads for plan in locate(ARCHITECTURES, config, found)] == [2, 4, 4]
    found.pop("encoder.layers.1.blocks.0.attention.self.query.weight")
    with pytest.raises(CheckpointError, match=r" 3 layers, .* no layers\.1\.blocks\.0\.attention\.self\.query"):
        locate(ARCHITECTURES, config, found)


@pytest.mark.parametrize(
    "model_type, text, q, k, counts",
    [
        # 8 heads by default of its class
        ("gemma3", {"model_type": "gemma3_text", "num_hidden_layers": 2, "head_dim": 16}, (128, 32), (64, 32), (8, 4)),
        ("llava", LLAMA, (64, 32), (32, 32), (4, 2)),  # the width of a head is that of the weights
    ],
)
def test_what_a_nested_config_leaves_out(model_type, text, q, k, counts):
    config = {"model_type": model_type, "text_config": text, "vision_config": {"model_type": "siglip_vision_model"}}
    plans = locate(ARCHITECTURES, config, shapes(0, 1, q=q, k=k, prefix="language_model.model.layers"))
    assert [(plan.heads, plan.kv_heads, plan.d_head) for plan in plans] == [(*counts, 16)] * 2


def test_a_map_between_two_widths_is_left_out():
    found = {
        f"encoder.layer.0.{module}.attention.{which}.weight": torch.Size([64, width])
        for module, which, width in (
            *(("attention", which, 64) for which in ("query", "key")),
            *(("crossattention", *each) for each in (("query", 64), ("key", 48))),
        )
    }
    config = {"model_type": "blip_2_qformer", "num_attention_heads": 4}
    assert [plan.part for plan in locate(ARCHITECTURES, config, found)] == ["encoder"]
    found["encoder.layer.0.crossattention.attention.key.weight"] = torch.Size([64, 64])
    assert [plan.part for plan in locate(ARCHITECTURES, config, found)] == ["encoder", "cross"]


def class_defaults(model_type: str) -> dict:
    """Heads and layers of a model_type by transformers' own class, and what no shape of a tensor tells of keys."""
    entries = [entry for entry in ARCHITECTURES[model_type] if isinstance(entry, Attention)]
    config = json.loads(CONFIG_MAPPING[model_type]().to_json_string(use_diff=False))
    keys = [key for entry in entries for key in (entry.heads, entry.layers, entry.shared_keys) if key]
    keys += [entry.kv_heads for entry in entries if entry.layout.rows and entry.kv_heads]
    return {key: functools.reduce(dict.get, key.split("."), config) for key in keys}


def test_the_declared_defaults_are_those_of_transformers():
    readable = {name for name, entry in ARCHITECTURES.items() if not isinstance(entry, Refused)}
    readable = {name for name in readable if not name.startswith("attngeo-")}  # what training registers
    expected = {name: class_defaults(name) for name in sorted(readable & set(CONFIG_MAPPING))}
    assert default_sizes() == {name: sizes for name, sizes in expected.items() if sizes}


def test_a_config_without_a_nested_one_speaks_for_the_text_itself():
    config = LLAMA | {"model_type": "qwen2_vl", "vision_config": {"num_heads": 2, "depth": 1}}
    found = shapes(0, 1) | {"visual.blocks.0.attn.qkv.weight": torch.Size([96, 32])}
    plans = locate(ARCHITECTURES, config, found)
    assert [(plan.part, plan.heads) for plan in plans] == [("encoder", 2), ("decoder", 4), ("decoder", 4)]
