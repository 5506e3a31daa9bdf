"""W_q R_m W_k^T at every distance, and the gains of norms of queries and keys, against the model's own attention."""

import json
import math
import re
from dataclasses import replace

import pytest
import torch
import transformers as tf
from attention_cases import CASES
from attention_oracle import Case, make, observe
from distance_oracle import CLOSE, PLANTED, agrees_at_a_distance, equal, error, forms_by_distance
from edited_files import edit_json
from msgspec import structs
from small_models import small_model
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

from attngeo import BilinearForm, open_checkpoint, open_model
from attngeo.bilinear.rotations import Rotation, at_distance
from attngeo.checkpoints.architectures.qk_norms import known_norms
from attngeo.checkpoints.architectures.rotary import known_rotations, rotation_of
from attngeo.checkpoints.tables import score_table
from attngeo.errors import CheckpointError, MatrixError, ParameterError

BY_NAME = {case.id: case for case in CASES}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 8}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0}
LONG = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": [1.0, 1.5, 2.0, 3.0], "long_factor": [9.0] * 4}
QUARTER = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}


def case(name: str, model_type: str, **changes) -> Case:
    return Case(f"{model_type}+{name}", small_model(model_type, **changes))


def rotated(name: str, **parameters) -> Case:
    return case(name, "llama", rope_parameters={"rope_theta": 1e4, **parameters})


SCALED = [
    rotated("linear", rope_type="linear", factor=3.0),
    rotated("dynamic", rope_type="dynamic", factor=3.0),
    rotated("llama3", **LLAMA3, original_max_position_embeddings=16),
    rotated("yarn", **YARN),
    rotated("yarn-of-deepseek", **YARN, mscale=1.0, mscale_all_dim=0.5, beta_fast=4.0, beta_slow=0.5, truncate=False),
    case("yarn-of-half", "phi", rope_parameters=YARN | {"partial_rotary_factor": 0.5}),
    case("longrope", "phi3", rope_parameters=LONG, original_max_position_embeddings=8),
    case("no-rope-layers", "smollm3", no_rope_layers=[1, 0]),
    case("no-window", "exaone4", sliding_window=None, layer_types=["full_attention"] * 2),
    case("two-rotations", "gemma3_text", layer_types=["sliding_attention", "full_attention"]),
    case("two-pairs", "gptj", rotary_dim=4),
    case("two-pairs", "codegen", rotary_dim=4),
    case("half", "gpt_neox", rope_parameters=QUARTER),
    case("half", "stablelm", rope_parameters=QUARTER),
]
NORMED = [
    case("norms", "cohere", use_qk_norm=True),
    case("norms", "phi", qk_layernorm=True),
    BY_NAME["stablelm+norms"],
    BY_NAME["gemma3n_text+shared-keys"],
]
FOLDED = NORMED + [
    BY_NAME[name]
    for name, norms in sorted(known_norms().items())
    if not norms.after_rotation and name not in ("cohere", "phi", "stablelm")
]


@pytest.mark.parametrize("case", SCALED, ids=lambda case: case.id)
def test_scores_at_a_distance_are_those_of_the_models_logits(case, tmp_path):
    agrees_at_a_distance(make(case, tmp_path))


@pytest.mark.parametrize("case", FOLDED, ids=lambda case: case.id)
def test_gains_of_norms_of_queries_and_keys_are_those_of_the_model(case, tmp_path):
    observations = observe(make(case, tmp_path), positions=True, norms=True)
    config = json.loads((tmp_path / "config.json").read_text())
    stated = [value for key, value in config.items() if re.fullmatch("(rms_)?(layer_?)?norm_eps(ilon)?", key)]
    epsilon = stated[0] if stated else 1e-5  # of torch's layer normalisation
    is_rotated = case.model_type in known_rotations()
    plain, folded = open_checkpoint(tmp_path), open_checkpoint(tmp_path, fold_qk_norm=True)
    far = open_checkpoint(tmp_path, distance=-2, fold_qk_norm=True) if is_rotated else None
    for place, observed in enumerate(observations):
        of_gains, of_none = (
            forms_by_distance(opened, observed, place) if is_rotated else {0: opened[place].form}
            for opened in (folded, plain)
        )
        assert far is None or equal(far[place].form, of_gains[-2]), observed.plan
        assert error(observed, of_gains, epsilon) < CLOSE, observed.plan
        assert error(observed, of_none, epsilon) > PLANTED, observed.plan


PLANT = {
    "the sign of the distance": lambda form, m, rotation: at_distance(form, -m, rotation),
    "the pairs of coordinates": lambda form, m, rotation: at_distance(
        form, m, replace(rotation, neighbours=not rotation.neighbours)
    ),
    "queries in the place of keys": lambda form, m, rotation: at_distance(form.T, m, rotation).T,
    "frequencies in reverse": lambda form, m, rotation: at_distance(
        form, m, replace(rotation, frequencies=rotation.frequencies[::-1])
    ),
    "one pair that is not rotated": lambda form, m, rotation: at_distance(
        form, m, replace(rotation, frequencies=(0.0, *rotation.frequencies[1:]))
    ),
}


@pytest.fixture(scope="module", params=["llama+yarn", "cohere"])
def rotating(request, tmp_path_factory):
    """A checkpoint with rotary positions, and its first layer in action."""
    folder = tmp_path_factory.mktemp("rotating")
    case = next(each for each in [*SCALED, *CASES] if each.id == request.param)
    return observe(make(case, folder), positions=True)[0], open_checkpoint(folder)


@pytest.mark.parametrize("plant", PLANT)
def test_the_oracle_refuses_wrong_rotations(plant, rotating):
    observed, checkpoint = rotating
    assert error(observed, forms_by_distance(checkpoint, observed, 0, PLANT[plant])) > PLANTED


@pytest.mark.parametrize("name, changes", [("gemma3_text", {"offset": 0}), ("persimmon", {"centred": False})])
def test_the_oracle_refuses_wrong_gains(name, changes, tmp_path, monkeypatch):
    observed = observe(make(BY_NAME[name], tmp_path), positions=True, norms=True)[0]
    wrong = known_norms() | {name: structs.replace(known_norms()[name], **changes)}
    monkeypatch.setattr("attngeo.checkpoints.architectures.qk_norms.known_norms", lambda: wrong)
    assert error(observed, forms_by_distance(open_checkpoint(tmp_path, fold_qk_norm=True), observed, 0), 1e-6) > PLANTED


def saved(folder, model_type="llama", kind=None, **changes):
    torch.manual_seed(0)
    model = small_model(model_type, kind, **changes)()
    model.save_pretrained(folder)
    return model


@pytest.mark.parametrize("m, text", [(-3, 5), (-20, 21)])
def test_longrope_takes_the_factors_of_the_shortest_text_with_that_distance(m, text, tmp_path):
    model = saved(tmp_path, "phi3", rope_parameters=LONG, original_max_position_embeddings=8)
    checkpoint = open_checkpoint(tmp_path, distance=m)
    expected, factor = ROPE_INIT_FUNCTIONS["longrope"](model.config, "cpu", seq_len=text)
    found = rotation_of(checkpoint.plans[0], m)
    assert found.frequencies == pytest.approx(expected.tolist(), rel=1e-6) and found.factor == pytest.approx(factor)
    assert any("in texts of up to 8 tokens" in line for line in checkpoint.included) is (m == -3)


def test_a_model_in_memory_is_read_at_a_distance_as_its_file(tmp_path):
    model = saved(tmp_path, "qwen3")
    asked = {"distance": -2, "fold_qk_norm": True}
    live, file = open_model(model, **asked)[1], open_checkpoint(tmp_path, **asked)[1]
    assert torch.equal(live.form.wk, file.form.wk) and torch.equal(live.form.wq, file.form.wq)
    assert file.qk_norms == ("layers.1.self_attn.q_norm.weight", "layers.1.self_attn.k_norm.weight")


def test_random_weights_at_a_distance_score_as_at_none_and_with_gains_the_law_is_not_known(tmp_path):
    saved(tmp_path, "qwen3")
    plain, far, gained = (
        score_table(tmp_path, **asked)[0] for asked in ({}, {"distance": -3}, {"distance": -3, "fold_qk_norm": True})
    )
    assert far.symmetry_null_sd == plain.symmetry_null_sd and math.isnan(gained.symmetry_z)
    assert far.symmetry != plain.symmetry and far.source.endswith("layers.0.self_attn at distance -3")
    assert "q_norm.weight * layers.0.self_attn.k_norm.weight at distance -3" in gained.source


def test_a_table_of_an_opened_model_is_that_of_its_distance(tmp_path, as_user):
    saved(tmp_path)
    opened = open_checkpoint(tmp_path, distance=-2)
    assert score_table(opened) == score_table(opened, distance=-2) == score_table(tmp_path, distance=-2)
    with pytest.raises(ParameterError, match=r"distance=-2.*distance=-1"):
        score_table(opened, distance=-1)


# Models without this distance, and configurations that are not followed

LOCAL = {"sliding_window": 4, "layer_types": ["sliding_attention", "full_attention"]}


@pytest.mark.parametrize(
    "model_type, changes, m, cause",
    [
        ("gpt2", {}, -1, "no rotary positions, so W_qk is the same at all distances"),
        ("llama", {}, 2, "2 tokens before the query, the distance is -2"),
        ("llama", {}, -32, "at most 32 tokens, so two tokens are at most 31 positions apart"),
        ("falcon", {"alibi": True}, -1, "no rotary positions"),
        ("vit", {}, 1, "no rotary positions"),
        ("pixtral", {}, 1, "does not know how the positions of its encoder rotate"),
        ("phimoe", {}, -1, "does not know how"),
    ],
)
def test_a_distance_that_a_model_does_not_have_is_refused(model_type, changes, m, cause, tmp_path, as_user):
    saved(tmp_path, model_type, **changes)
    with pytest.raises(CheckpointError, match=f"cannot be scored at distance {m}: .*{cause}"):
        open_checkpoint(tmp_path, distance=m)


@pytest.mark.parametrize(
    "changes, cause",
    [
        (
            {"rope_parameters": {"rope_type": "twisted", "rope_theta": 1e4, "factor": 2.0}},
            "does not know the scaling 'twisted'",
        ),
        ({"rope_parameters": {"rope_type": "default"}, "rope_theta": None}, None),
        ({"rope_parameters": {"rope_type": "linear", "rope_theta": 1e4}}, "factor of its scaling 'linear'"),
        ({"rope_parameters": {"rope_theta": 1e4, "alpha": 3}}, "does not take alpha"),
        ({"rope_parameters": {"rope_theta": 1e4, "partial_rotary_factor": 0.5}}, "only some coordinates are rotated"),
        ({"rope_interleaved": True}, "does not take rope_interleaved = True"),
        ({"rope_parameters": {"rope_theta": "big"}}, "rope_theta is 'big'"),
        ({"rope_parameters": None, "rope_theta": 5e5, "rope_scaling": {"type": "linear", "factor": 2.0}}, None),
    ],
)
def test_a_configuration_of_rotations_is_followed_or_refused(changes, cause, tmp_path, as_user):
    saved(tmp_path)
    edit_json(tmp_path / "config.json", **changes)
    if cause is None:
        open_checkpoint(tmp_path, distance=-1)
        return
    with pytest.raises(CheckpointError, match=cause):
        open_checkpoint(tmp_path, distance=-1)


def test_configurations_of_older_versions_give_the_same_rotation(tmp_path):
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 8}
    saved(tmp_path, rope_parameters=yarn | {"rope_theta": 5e5})
    new = open_checkpoint(tmp_path, distance=-3)[0].form
    edit_json(tmp_path / "config.json", rope_parameters=None, rope_theta=5e5, rope_scaling=yarn)
    assert torch.equal(open_checkpoint(tmp_path, distance=-3)[0].form.wk, new.wk)
    saved(tmp_path / "near", "gemma3_text", layer_types=["sliding_attention", "full_attention"])
    new = [layer.form.wk for layer in open_checkpoint(tmp_path / "near", distance=-3)]
    edit_json(tmp_path / "near" / "config.json", rope_parameters=None, rope_theta=1e6, rope_local_base_freq=1e4)
    old = [layer.form.wk for layer in open_checkpoint(tmp_path / "near", distance=-3)]
    assert all(map(torch.equal, old, new)) and not torch.equal(old[0], new[1])


def test_layers_that_do_not_see_that_far_or_do_not_rotate_are_named(tmp_path):
    saved(tmp_path, "exaone4", **LOCAL)
    text = " ".join(open_checkpoint(tmp_path, distance=-5).included)
    assert (
        "W_q R_m W_k^T at the distance m = -5, which is the position of the key minus the position of the query" in text
    )
    name = tmp_path.name
    assert f"W_qk of {name} is the same at all distances in decoder layer 1, because no rotation" in text
    assert f"In decoder layer 0 of {name}, no query attends to keys at this distance, because" in text
    assert "No query" not in " ".join(open_checkpoint(tmp_path, distance=-3).included)
    opened = open_checkpoint(tmp_path, distance=-3, fold_qk_norm=True)
    assert (
        "the norms by which queries and keys are divided (a different number for each token and head)"
        in opened.left_out
    )
    assert not any("positions" in words for words in opened.left_out)


def test_parts_without_rotary_positions_are_left_out(tmp_path):
    saved(tmp_path, "idefics")
    opened = open_checkpoint(tmp_path, distance=-1)
    assert {plan.part for plan in opened.plans} == {"decoder"}
    assert any("are left out: its encoder has no rotary positions" in line for line in opened.included)


@pytest.mark.parametrize(
    "model_type, cause",
    [
        ("llama", "does not know any such norms"),
        ("hunyuan_v1_dense", "before it normalises them"),
        ("llama4_text", "no gains"),
    ],
)
def test_norms_that_cannot_be_folded_are_refused(model_type, cause, tmp_path, as_user):
    saved(tmp_path, model_type)
    with pytest.raises(CheckpointError, match=cause):
        open_checkpoint(tmp_path, fold_qk_norm=True)


def test_distances_belong_to_queries_and_keys(tmp_path, as_user):
    saved(tmp_path, kind=tf.LlamaForCausalLM)
    for asked in ({"distance": -1}, {"fold_qk_norm": True}):
        with pytest.raises(ParameterError, match="matrix 'qk'"):
            open_checkpoint(tmp_path, matrix="ov", **asked)
    with pytest.raises(ParameterError, match=r"Without a config.json, attngeo does not know how positions rotate"):
        open_checkpoint(tmp_path, heads=4, distance=-1)
    with pytest.raises(ParameterError, match="whole number"):
        open_checkpoint(tmp_path, distance=1.5)
    form = BilinearForm(torch.ones(1, 4, 2), torch.ones(1, 4, 2))
    with pytest.raises(MatrixError, match="3 pairs"):
        at_distance(form, 1, Rotation((1.0, 0.1, 0.01)))


def test_a_distance_that_cannot_be_checked_is_said_to_be_unchecked(tmp_path):
    saved(tmp_path)
    said = "does not state the maximum length of a text"
    assert said not in " ".join(open_checkpoint(tmp_path, distance=-3).included)
    edit_json(tmp_path / "config.json", max_position_embeddings=None)
    assert said in " ".join(open_checkpoint(tmp_path, distance=-999999).included)
