"""Weights under other names or in parts, in memory and in a saved state_dict: what the model itself multiplies by."""

import json
from functools import partial

import pytest
import torch
from safetensors.torch import save_file, save_model
from small_models import small_model
from torch import nn
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
from torch.nn.utils import parametrizations, parametrize, prune, spectral_norm, weight_norm

from attngeo import AttngeoError, BilinearForm, open_checkpoint, open_model, score_table
from attngeo.checkpoints.derived import by_plain_names
from attngeo.checkpoints.models import Weights


def make():
    torch.manual_seed(0)
    return small_model("llama")().eval()


def wrapped(wrap):
    """Every layer inside another module."""

    def change(model):
        for number, layer in enumerate(model.layers):
            model.layers[number] = wrap(layer)
        return model

    return change


def on_queries_and_keys(change):
    """A change of the query and key maps."""

    def change_all(model):
        for layer in model.layers:
            change(layer.self_attn.q_proj)
            change(layer.self_attn.k_proj)
        return model.eval()

    return change_all


compiled = partial(torch.compile, backend="eager")
CHANGES = {
    "compiled as a whole": compiled,
    "compiled by layer": wrapped(compiled),
    "checkpointed activations": wrapped(checkpoint_wrapper),
    "weight normalisation": on_queries_and_keys(parametrizations.weight_norm),
    "weight normalisation by column": on_queries_and_keys(lambda map: parametrizations.weight_norm(map, dim=1)),
    "weight normalisation as a whole": on_queries_and_keys(lambda map: parametrizations.weight_norm(map, dim=None)),
    "weight normalisation of older torch": on_queries_and_keys(weight_norm),
    "spectral normalisation": on_queries_and_keys(parametrizations.spectral_norm),
    "spectral normalisation of older torch": on_queries_and_keys(spectral_norm),
    "pruning": on_queries_and_keys(lambda map: prune.l1_unstructured(map, "weight", 0.5)),
    "pruning of a compiled layer": lambda model: wrapped(compiled)(CHANGES["pruning"](model)),
}
COMPUTED = ("weight normalisation", "spectral normalisation", "pruning")


def doubled_gains(model) -> None:
    """Moves stored parts away from what the weights were made of."""
    for name, tensor in model.named_parameters():
        if name.endswith(("original0", "weight_g", "weight_orig")):
            tensor.data *= torch.rand(tensor.shape) + 1


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated")
@pytest.mark.parametrize("name", CHANGES)
def test_weights_are_those_that_the_model_multiplies_by(name, tmp_path):
    model = CHANGES[name](make())
    doubled_gains(model)
    inner = getattr(model, "_orig_mod", model)
    inner.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    maps = [module for place, module in inner.named_modules() if place.endswith(("q_proj", "k_proj"))]
    for map in maps:
        map(torch.zeros(1, map.in_features))  # hooks of torch.nn.utils compute the weights
    weights = [map.weight.detach() for map in maps]
    for opened in (open_model(model), open_checkpoint(tmp_path)):
        assert len(opened) == 2
        for layer, query, key in zip(opened, weights[::2], weights[1::2], strict=True):
            form = BilinearForm.from_linear(query, key, 8)
            assert torch.allclose(layer.form.wq, form.wq, rtol=1e-5, atol=1e-7)
            assert torch.allclose(layer.form.wk, form.wk, rtol=1e-5, atol=1e-7)
            assert layer.module == f"layers.{layer.layer}.self_attn"
    assert any("computed from its stored parts" in line for line in opened.remarks) == name.startswith(COMPUTED)


def test_a_name_in_the_files_is_preferred_to_one_without_its_wrappers():
    plain = Weights("plain", {"q.weight": torch.ones(2, 2)})
    wrapped = Weights("wrapped", {"_orig_mod.q.weight": torch.zeros(2, 2)})
    files, _ = by_plain_names({"q.weight": plain, "_orig_mod.q.weight": wrapped})
    assert files == {"q.weight": plain}


class Doubled(nn.Module):
    """A parametrisation whose tensors do not tell its formula."""

    def forward(self, weight):
        return 2 * weight


UNNAMED = {
    "orthogonal": parametrizations.orthogonal,
    "a parametrisation of one's own": lambda map: parametrize.register_parametrization(map, "weight", Doubled()),
}


@pytest.mark.parametrize("name", UNNAMED)
def test_other_parametrisations_are_read_in_memory_and_refused_in_files(name, tmp_path, as_user):
    model = on_queries_and_keys(UNNAMED[name])(make())
    query, key = (getattr(model.layers[1].self_attn, f"{which}_proj").weight for which in "qk")
    form = open_model(model)[1].form
    assert torch.equal(form.wq.mT.flatten(0, 1), query) and torch.equal(form.wk.mT.flatten(0, 1), key)
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    with pytest.raises(AttngeoError, match=r"remove_parametrizations\(module, 'weight'\) before saving"):
        open_checkpoint(tmp_path)


def test_tensors_that_share_memory_are_read_by_the_names_in_the_metadata(tmp_path):
    model = make()
    model.layers[1] = model.layers[0]
    model.config.save_pretrained(tmp_path)
    save_model(model, tmp_path / "model.safetensors")
    first, second = open_checkpoint(tmp_path)
    assert torch.equal(first.form.wq, second.form.wq) and torch.equal(first.form.wk, second.form.wk)


def below_an_adapter(tensors):
    return {name.replace("q_proj.", "q_proj.base_layer."): tensor for name, tensor in tensors.items()}


def with_an_adapter(tensors):
    return tensors | {"layers.1.self_attn.k_proj.lora_A": torch.zeros(2, 32)}


def trained_for_integers(tensors):
    name = "layers.0.self_attn.q_proj.weight_fake_quant.scale"
    return tensors | {name: torch.ones(1)}


@pytest.mark.parametrize(
    "change, why",
    [
        (below_an_adapter, r"LoRA adapter that is not merged .*merge_and_unload\(\)"),
        (trained_for_integers, "rounded while"),
        (with_an_adapter, r"contain an adapter of .* .layers\.1\.self_attn\.k_proj\.lora_A"),
    ],
)
def test_weights_that_are_not_those_of_the_model_are_refused_with_the_reason(change, why, tmp_path, as_user):
    model = make()
    model.config.save_pretrained(tmp_path)
    save_file(change(model.state_dict()), tmp_path / "model.safetensors")
    with pytest.raises(AttngeoError, match=why):
        open_checkpoint(tmp_path)


def test_a_tensor_in_two_files_is_read_as_transformers_does_and_said_so(tmp_path, attngeo):
    model, tensor = make(), "layers.1.self_attn.q_proj.weight"
    tensors = model.state_dict()
    model.config.save_pretrained(tmp_path)
    files = {f"model-0000{number}-of-00002.safetensors": number for number in (1, 2)}
    for file, number in files.items():
        save_file(tensors if number == 1 else {tensor: 2 * tensors[tensor]}, tmp_path / file)
    weight_map = dict.fromkeys(tensors, min(files)) | {"unread": max(files)}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": weight_map}))
    theirs = type(model).from_pretrained(tmp_path).layers[1].self_attn.q_proj.weight
    opened = open_checkpoint(tmp_path)
    assert torch.equal(opened[1].form.wq.mT.flatten(0, 1), theirs)
    said = " ".join(attngeo("score", tmp_path)[1].split())
    assert f"{tensor} is in several files ({', '.join(files)}). The last of these files was read" in said
    assert not open_model(model).remarks


def test_one_layer_is_scored_where_another_is_not_finite(tmp_path, attngeo, refused):
    model = make()
    model.layers[0].self_attn.q_proj.weight.data[0, 0] = torch.nan
    model.save_pretrained(tmp_path)
    assert "score only layers with finite weights (attngeo score --layer N)" in refused("score", tmp_path)
    assert attngeo("score", tmp_path, "--layer", "1")[1]
    with pytest.raises(AttngeoError, match="NaN"):
        score_table(tmp_path)


def test_a_tensor_of_unknown_use_beside_a_weight_is_named(tmp_path):
    model = make()
    model.config.save_pretrained(tmp_path)
    beside = {f"layers.{layer}.self_attn.q_proj.rms_norm.gain": torch.ones(32) for layer in range(2)}
    save_file(model.state_dict() | beside, tmp_path / "model.safetensors")
    said = (
        "Next to the weights that were read, the files contain tensors of unknown use:"
        " layers.0.self_attn.q_proj.rms_norm.gain and 1"
    )
    assert any(line.startswith(said) for line in open_checkpoint(tmp_path).remarks)


def test_values_and_outputs_are_read_or_refused_as_queries_and_keys_are(tmp_path, as_user):
    model = make()
    prune.l1_unstructured(model.layers[0].self_attn.v_proj, "weight", 0.5)
    parametrizations.orthogonal(model.layers[1].self_attn.o_proj)
    model.config.save_pretrained(tmp_path)
    torch.save(model.state_dict(), tmp_path / "pytorch_model.bin")
    value = model.layers[0].self_attn.v_proj.weight
    assert torch.equal(open_model(model, matrix="ov")[0].form.wk.mT.flatten(0, 1), value)
    with pytest.raises(AttngeoError, match=r"o_proj\.weight is stored as the original of a parametrisation"):
        open_checkpoint(tmp_path, matrix="ov")
    assert len(open_checkpoint(tmp_path)) == 2
