"""Heads that were pruned, share keys, differ by layer or lie in a fused weight: the right ones, or a refusal."""

import re

import pytest
import torch
from edited_files import edit_json, edit_tensors
from safetensors.torch import load_file, save_file
from small_models import small_model

from attngeo import AttngeoError, BilinearForm, initialise, open_checkpoint, open_model, score_heads, score_table
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.architectures.locate import locate

WIDTH, HEADS, D_HEAD = 32, 4, 8
PRUNED = {"0": [1, 2], "1": []}
LEFT = {0: (0, 3), 1: (0, 1, 2, 3)}


def without(weight, heads, parts=1):
    """Rows of the heads that are left, in each of the parts of a fused weight."""
    rows = weight.view(parts, HEADS, D_HEAD, -1)
    return rows[:, list(heads)].reshape(-1, weight.shape[-1]).contiguous()


def prune_bert(tensors):
    for name in [name for name in tensors if ".attention.self." in name and name.endswith("weight")]:
        layer = int(name.split("layer.")[1][0])
        tensors[name] = without(tensors[name], LEFT[layer])


def prune_gpt2(tensors):
    for name in [name for name in tensors if name.endswith("c_attn.weight")]:
        layer = int(name.split("h.")[1][0])
        tensors[name] = without(tensors[name].T, LEFT[layer], parts=3).T.contiguous()


@pytest.fixture(params=["bert", "gpt2"])
def pruned(request, tmp_path):
    """A folder as `prune_heads` of transformers 4 leaves it, and the layers' forms before."""
    torch.manual_seed(0)
    model = small_model(request.param)()
    model.save_pretrained(tmp_path)
    edit_tensors(tmp_path / "model.safetensors", {"bert": prune_bert, "gpt2": prune_gpt2}[request.param])
    edit_json(tmp_path / "config.json", pruned_heads=PRUNED)
    return tmp_path, [layer.form for layer in open_model(model)]


def test_heads_that_are_left_are_those_of_before_with_their_numbers(pruned, attngeo):
    folder, before = pruned
    for layer, form in zip(open_checkpoint(folder), before, strict=True):
        heads = list(LEFT[layer.layer])
        assert torch.equal(layer.form.wq, form.wq[heads]) and torch.equal(layer.form.wk, form.wk[heads])
    rows = [row for row in score_table(folder) if row.layer == 0 and row.head >= 0]
    assert [row.head for row in rows] == [0, 3]
    assert rows[1].symmetry == pytest.approx(float(score_heads(before[0]).symmetry[3]), abs=1e-6)
    said = attngeo("score", folder, "--layer", "0", "--head", "3", "--format", "csv")[1]
    assert len(said.splitlines()) == 2 and ",0,3," in said
    table = " ".join(attngeo("score", folder)[1].split())
    assert "layer 0). The remaining heads keep their original numbers." in table


@pytest.mark.parametrize("pruned", ["bert"], indirect=True)
def test_the_figure_of_a_head_is_found_by_its_number(pruned, attngeo, tmp_path):
    assert attngeo("score", pruned[0], "--layer", "0", "--head", "3", "--plot", tmp_path / "head.svg")
    assert "head 3" in (tmp_path / "head.svg").read_text()


@pytest.mark.parametrize("pruned_heads", [{}, {"0": [1]}, {"0": [1, 9]}])
def test_pruned_weights_that_the_config_does_not_tell_are_refused(pruned, pruned_heads, as_user):
    edit_json(pruned[0] / "config.json", pruned_heads=pruned_heads)
    with pytest.raises(AttngeoError, match="pruned"):
        open_checkpoint(pruned[0])


@pytest.mark.parametrize("name, words", [("llama", "hidden_size = 64, but the weights have width 32"), ("swin", "")])
def test_a_hidden_size_that_is_not_the_width_of_the_weights_is_said(name, words, tmp_path):
    small_model(name)().save_pretrained(tmp_path)
    edit_json(tmp_path / "config.json", hidden_size=64, num_key_value_heads=None)
    said = [
        remark for remark in open_checkpoint(tmp_path).remarks if "config" in remark and "into account" not in remark
    ]
    key_heads = (
        "The config does not contain num_key_value_heads. The key weights have the size of 2 heads, so they were read"
        " as 2 heads for 4 query heads."
    )
    assert said == ([f"The config says {words}.", key_heads] if words else [])


def test_heads_that_only_the_config_prunes_are_scored_and_said_to_be_there(tmp_path):
    small_model("bert")().save_pretrained(tmp_path)
    edit_json(tmp_path / "config.json", pruned_heads={"1": [2]})
    opened = open_checkpoint(tmp_path)
    assert opened[1].form.n_heads == HEADS
    (said,) = opened.remarks
    assert "lists heads of encoder layer 1, but the files contain all 4 heads of this layer" in said


def fused(rows, model_type="gte", **config):
    name = {"gte": "encoder.layer.0.attention.qkv_proj", "nomic_bert": "encoder.layers.0.attn.Wqkv"}[model_type]
    shapes = {f"{name}.weight": torch.Size((rows, WIDTH))}
    return locate(ARCHITECTURES, {"model_type": model_type, "num_attention_heads": HEADS} | config, shapes)[0]


@pytest.mark.parametrize("model_type", ["gte", "nomic_bert"])
def test_a_fused_weight_has_no_key_heads_but_those_that_its_type_has(model_type, as_user):
    assert (fused(96, model_type).kv_heads, fused(96, model_type).d_head) == (4, 8)
    assert (fused(48, model_type, head_dim=4).kv_heads, fused(48, model_type, head_dim=4).d_head) == (4, 4)
    for rows, config in ((48, {}), (64, {}), (96, {"head_dim": 4})):
        with pytest.raises(AttngeoError, match=r"query heads and 4 key heads of width \d need"):
            fused(rows, model_type, **config)


def test_a_weight_stored_as_by_nanogpt_is_read(tmp_path):
    torch.manual_seed(0)
    model = small_model("gpt2")()
    model.save_pretrained(tmp_path)
    is_turned = re.compile(r".*\.c_(attn|proj)\.weight")
    turned = {n: t.T.contiguous() if is_turned.fullmatch(n) else t for n, t in model.state_dict().items()}
    (tmp_path / "model.safetensors").unlink()
    torch.save({"model": {f"_orig_mod.transformer.{n}": t for n, t in turned.items()}}, tmp_path / "ckpt.pt")
    for ours, theirs in zip(open_checkpoint(tmp_path), open_model(model), strict=True):
        assert torch.equal(ours.form.wq, theirs.form.wq) and torch.equal(ours.form.wk, theirs.form.wk)


def gemma(**changes):
    kinds = ["sliding_attention", "full_attention"] * 2
    torch.manual_seed(0)
    changes = {"num_hidden_layers": 4, "num_kv_shared_layers": 2, "layer_types": kinds} | changes
    return small_model("gemma3n_text", **changes)()


def test_keys_that_nothing_reads_are_not_scored(tmp_path, attngeo):
    model = gemma()
    model.save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    dead = {f"layers.{layer}.self_attn.k_proj.weight": torch.randn(16, 32) for layer in (2, 3)}
    assert not tensors.keys() & dead.keys()
    save_file(tensors | dead, tmp_path / "model.safetensors", metadata={"format": "pt"})
    opened = open_checkpoint(tmp_path)
    for layer, maker, kind in zip(opened, (0, 1, 0, 1), model.config.layer_types, strict=True):
        query, key = (model.layers[at].self_attn for at in (layer.layer, maker))
        form = BilinearForm.from_linear(query.q_proj.weight, key.k_proj.weight, layer.form.d_head)
        assert torch.equal(layer.form.wq, form.wq) and torch.equal(layer.form.wk, form.wk), kind
    said = " ".join(attngeo("score", tmp_path)[1].split())
    assert "In the decoder, layer 2 attends to the keys of layer 0, so W_qk is computed from its W_q and the" in said
    assert open_model(model).remarks == opened.remarks


def test_keys_of_another_layer_are_not_initialised():
    with pytest.raises(AttngeoError, match="attends to the keys of layer 0"):
        initialise(gemma(), "symmetric")


def test_a_layer_whose_keys_no_layer_makes_is_refused(tmp_path, as_user):
    gemma().save_pretrained(tmp_path)
    edit_json(tmp_path / "config.json", layer_types=["sliding_attention"] * 3 + ["full_attention"])
    with pytest.raises(AttngeoError, match=r"num_kv_shared_layers = 2 .* layer_types contains no such layer"):
        open_checkpoint(tmp_path)


def test_weights_that_zero_3_left_empty_are_called_so(tmp_path, refused):
    model = small_model("llama")()
    model.config.save_pretrained(tmp_path)
    save_file(dict.fromkeys(model.state_dict(), torch.empty(0)), tmp_path / "model.safetensors")
    assert "zero_to_fp32.py" in refused("score", tmp_path)


def test_heads_of_one_kind_of_layers_are_read_from_its_setting():
    found = {
        f"layers.{layer}.self_attn.{which}_proj.weight": torch.Size((rows, WIDTH))
        for layer, heads in enumerate((4, 8))
        for which, rows in (("q", heads * D_HEAD), ("k", 2 * D_HEAD))
    }
    other = {"attention_type": "sliding_attention", "num_attention_heads": 8, "num_attention_groups": 2}
    config = {"model_type": "step3p5", "num_attention_heads": 4, "head_dim": D_HEAD, "num_hidden_layers": 2}
    config |= {"layer_types": ["full_attention", "sliding_attention"], "attention_other_setting": other}
    plans = locate(ARCHITECTURES, config, found)
    assert [(plan.heads, plan.kv_heads, plan.d_head) for plan in plans] == [(4, 2, D_HEAD), (8, 2, D_HEAD)]


def test_heads_narrower_than_their_type_has_them_are_called_so(tmp_path):
    model = small_model("bert")()
    model.save_pretrained(tmp_path)
    assert not open_checkpoint(tmp_path).remarks

    def prune_all(tensors):
        for name in [name for name in tensors if ".attention.self." in name and name.endswith("weight")]:
            tensors[name] = without(tensors[name], (0, 3))

    edit_tensors(tmp_path / "model.safetensors", prune_all)
    (said,) = open_checkpoint(tmp_path).remarks
    assert "heads of encoder layer 0 have 4 coordinates" in said and "If heads were pruned" in said
