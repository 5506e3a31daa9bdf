from collections import Counter
from functools import partial
from unittest import mock

import pytest
import torch
import transformers as tf
from small_models import small_config, small_model
from torch import nn
from torch.nn.utils import prune

from attngeo import Attention, BilinearForm, Tower, open_checkpoint, open_model, register_architecture, symmetry_score
from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.tables import score_table
from attngeo.errors import CheckpointError, ParameterError

NAMES = ("model", "source")  # what a model in memory cannot share with its file


@pytest.fixture
def llama():
    torch.manual_seed(0)
    return small_model("llama", tf.LlamaForCausalLM)()


MODELS = {"gpt2": tf.GPT2LMHeadModel, "llama": None, "vit": tf.ViTForImageClassification, "t5": None, "bert": None,
          "moshi": tf.MoshiForConditionalGeneration}  # fmt: skip


@pytest.mark.parametrize("model_type, kind", MODELS.items())
def test_the_table_is_that_of_the_saved_model(model_type, kind, tmp_path):
    torch.manual_seed(0)
    model = small_model(model_type, kind)()
    model.save_pretrained(tmp_path)
    live, saved = (score_table(opened).to_dataframe() for opened in (open_model(model), open_checkpoint(tmp_path)))
    assert live.drop(columns=[*NAMES]).equals(saved.drop(columns=[*NAMES]))
    assert set(live["model"]) == {type(model).__name__} and len(live) > 0


def test_it_sees_the_weights_as_they_are_now_and_leaves_them_alone(llama):
    opened = open_model(llama)
    before = [symmetry_score(layer.form) for layer in opened]
    weights = {name: weight.clone() for name, weight in llama.state_dict().items()}
    with torch.no_grad():
        llama.model.layers[1].self_attn.q_proj.weight.add_(1)
    after = [symmetry_score(layer.form) for layer in opened]
    assert opened.bytes_read == 2 * opened.bytes_in_all == 2 * 2 * (32 * 32 + 16 * 32) * 4
    assert after[0] == before[0] and after[1] != before[1]
    changed = {name for name, weight in llama.state_dict().items() if not torch.equal(weight, weights[name])}
    assert changed == {"model.layers.1.self_attn.q_proj.weight"} and llama.training
    assert all(not layer.form.wq.requires_grad for layer in opened)


def quantised(name, weight):
    """Every query weight in the place of which there is another."""

    def change(llama) -> None:
        llama.config.quantization_config = {"quant_method": "bitsandbytes"}
        for layer in llama.model.layers:
            del layer.self_attn.q_proj.weight
            layer.self_attn.q_proj.register_buffer(name, weight)

    return change


class Packed(torch.Tensor):
    """Stands for the tensor subclasses of torchao, quanto and HQQ: a floating type, and other numbers inside."""


def of_type(kind):
    def change(llama) -> None:
        linear = llama.model.layers[1].self_attn.k_proj
        linear.weight = nn.Parameter(linear.weight.detach().as_subclass(kind))

    return change


class FullyShardedDataParallel(nn.Module):
    """Stands for torch's, by its name."""

    def state_dict(self, *args, **kwargs):
        raise AssertionError("this waits for all other processes")


class Sharded(torch.Tensor):
    """Stands for a DTensor whose other processes answer; on its own it must not be computed with."""

    def full_tensor(self):
        return self.as_subclass(torch.Tensor)


def test_sharded_weights_are_put_together_where_all_processes_ask(llama):
    expected = [layer.form.wk.clone() for layer in open_model(llama)]
    of_type(Sharded)(llama)
    found = [layer.form.wk for layer in open_model(llama, gather=True)]
    assert all(type(b) is torch.Tensor and torch.equal(a, b) for a, b in zip(expected, found, strict=True))


def sharded(llama) -> None:
    llama.model.layers[0] = FullyShardedDataParallel()


def adapted(llama) -> None:
    """As by IA3, say."""
    linear = nn.Module()
    linear.base_layer = llama.model.layers[0].self_attn.q_proj
    llama.model.layers[0].self_attn.q_proj = linear
    llama.peft_config, llama.active_adapters = {"mine": {"peft_type": "IA3"}}, ["mine"]


def poison(llama) -> None:
    with torch.no_grad():
        llama.model.layers[1].self_attn.k_proj.weight[0, 0] = float("nan")


def configured(config):
    def change(llama) -> None:
        llama.config = llama.model.config = config

    return change


SPOILED = {
    "4 bits": (quantised("weight", torch.zeros(512, 1, dtype=torch.uint8)), "bitsandbytes"),
    "packed under another name": (quantised("qweight", torch.zeros(4, 32, dtype=torch.int32)), "bitsandbytes"),
    "a subclass of tensors": (of_type(Packed), r"layers.1.self_attn.k_proj.weight .*Packed"),
    "sharded": (of_type(Sharded), r"layers.1.self_attn.k_proj.weight .*sharded.*gather=True"),
    "wrapped in FSDP 1": (sharded, "sharded"),
    "on the meta device": (lambda llama: llama.to("meta"), "meta"),
    "an adapter of another kind": (adapted, "IA3"),
    "NaN": (poison, "layers.1.self_attn.k_proj.weight .*NaN"),
    "no model_type": (configured({"num_attention_heads": 4}), "model_type"),
    "no config": (configured(None), "no config .* no torch.nn.MultiheadAttention"),
    "heads that are no number": (
        lambda llama: setattr(llama, "config", {"model_type": "llama", "num_attention_heads": "4"}),
        "in the config: ",
    ),
    "another config": (lambda llama: setattr(llama, "config", small_config("gpt2")), r"h\.\{\}\.attn"),
}


@pytest.mark.parametrize("spoil, named", SPOILED.values(), ids=SPOILED)
def test_what_cannot_be_scored_ends_in_one_sentence(spoil, named, llama, as_user):
    spoil(llama)
    with pytest.raises(CheckpointError, match=named) as caught:
        list(open_model(llama))
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".") and "belongs to another" not in text


@pytest.mark.parametrize("thing", ["gpt2", None, [torch.zeros(2)]])
def test_what_is_no_module_is_refused(thing, as_user):
    with pytest.raises(CheckpointError, match=f"of type {type(thing).__name__};"):
        open_model(thing)


class Mine(nn.Module):
    """Somebody's own model: two layers of four heads."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(nn.ModuleDict({"q": nn.Linear(32, 32), "k": nn.Linear(32, 16)}) for _ in range(2))


def test_an_architecture_of_ones_own_takes_one_line():
    model, config = Mine(), {"model_type": "mine", "n_heads": 4}
    with pytest.raises(CheckpointError, match="register_architecture"):
        open_model(model, config)
    register_architecture("mine", Attention("decoder", "blocks.{}", "q", "k", heads="n_heads"))
    try:
        layers = list(open_model(model, config))
    finally:
        del ARCHITECTURES["mine"]
    expected = BilinearForm.from_linear(model.blocks[1]["q"].weight, model.blocks[1]["k"].weight, 8)
    assert [layer.causal for layer in layers] == [True, True]
    assert torch.equal(layers[1].form.wq, expected.wq) and layers[1].form.n_kv_heads == 2


@pytest.mark.parametrize(
    "name, stacks, named",
    [
        ("mine", lambda: (), "'mine'"),
        ("mine", lambda: ("layers.{}",), "'mine'"),
        (3, lambda: (Attention("decoder", "layers.{}"),), "not 3 and"),
        ("gpt2", lambda: (Attention("decoder", "h.{}.attn"),), "built in"),
        ("mine", lambda: (Attention("sidecoder", "layers.{}"),), "'sidecoder'"),
        ("mine", lambda: (Attention("decoder", "layers.{}", layout="heap"),), "'heap'"),
        ("mine", lambda: (Attention("decoder", "layers.{}", "qkv", "qkv"),), "'qkv' .* blocks, conv1d"),
    ],
)
def test_an_architecture_needs_a_name_of_its_own_and_its_attention(name, stacks, named, as_user):
    with pytest.raises(ParameterError, match=named):
        register_architecture(name, *stacks())
    assert "mine" not in ARCHITECTURES and Tower("text_config").within == ""


def torch_encoder(**options):
    return nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 16, **options), 2, enable_nested_tensor=False)


class Configured(nn.Module):
    """Somebody's own model, whose config says nothing of its attention."""

    def __init__(self) -> None:
        super().__init__()
        self.config, self.transformer = {"lr": 0.1}, torch_encoder()
        self.visual = nn.ModuleDict({"transformer": torch_encoder()})  # as of CLIP: one name ends like the other


class Clip(nn.Module):
    """Towers as open_clip and CLIP have them: a mask beside the text's transformer, positions in each."""

    def __init__(self) -> None:
        super().__init__()
        self.transformer, self.visual = torch_encoder(), nn.Module()
        self.positional_embedding = nn.Parameter(torch.zeros(5, 32))
        self.register_buffer("attn_mask", torch.full((5, 5), -torch.inf).triu(1), persistent=False)
        self.visual.transformer, self.visual.positional_embedding = torch_encoder(), nn.Parameter(torch.zeros(5, 32))


OF_TORCH = {  # a model, and its layers
    "attention": (lambda: nn.MultiheadAttention(32, 4), {"encoder": 1}),
    "values of another width": (lambda: nn.MultiheadAttention(32, 4, vdim=16), {"encoder": 1}),
    "pruned": (
        lambda: prune.l1_unstructured(nn.MultiheadAttention(32, 4).double(), "in_proj_weight", 9),
        {"encoder": 1},
    ),
    "encoder layer": (lambda: nn.TransformerEncoderLayer(32, 4, 16), {"encoder": 1}),
    "encoder and decoder": (lambda: nn.Transformer(32, 4, 1, 2, 16), {"encoder": 1, "decoder": 2, "cross": 2}),
    "two towers": (Configured, {"encoder": 4}),
    "a text tower with a causal mask": (Clip, {"decoder": 2, "encoder": 2}),
}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("build, parts", OF_TORCH.values(), ids=OF_TORCH)
def test_torch_s_own_attention_gives_its_own_probabilities(build, parts):
    torch.manual_seed(0)
    model = build().double().eval()
    layers = list(open_model(model))
    assert Counter(layer.part for layer in layers) == parts
    assert all(layer.causal == (layer.part == "decoder") for layer in layers)
    x = torch.randn(5, 1, 32, dtype=torch.float64)
    for layer in layers:
        attention = model.get_submodule(layer.module)
        q, k = layer.form.per_head()
        logits = torch.einsum("id,hdr,her,je->hij", x[:, 0], q, k, x[:, 0]) / 8**0.5
        _, probabilities = attention(x, x, x[..., : attention.vdim], average_attn_weights=False)
        assert torch.allclose(logits.softmax(-1), probabilities[0], atol=1e-12)


def test_torch_s_own_attention_has_values_and_a_normalisation_before_where_it_says_so(as_user):
    model = torch_encoder(norm_first=True)
    (first, _), gains = open_model(model, matrix="ov"), "gains of the layer normalisation before queries and keys"
    value, output = model.layers[0].self_attn.in_proj_weight[64:], model.layers[0].self_attn.out_proj.weight
    assert torch.allclose(first.form.dense(), output @ value, atol=1e-6)
    assert gains in open_model(model).left_out and gains not in open_model(torch_encoder()).left_out
    with pytest.raises(CheckpointError, match="queries of width 32 and keys of width 16"):
        open_model(nn.MultiheadAttention(32, 4, kdim=16))


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
def test_a_mask_without_numbers_is_refused_and_one_that_hides_nothing_is_no_decoder_s(as_user):
    model = Clip()
    model.attn_mask = torch.zeros(1, 1)
    assert {plan.part for plan in open_model(model).plans} == {"encoder"}
    with pytest.raises(CheckpointError, match="meta device"):
        open_model(Clip().to("meta"))


@mock.patch.dict(ARCHITECTURES)
def test_of_a_registered_type_a_normalisation_is_before_where_it_is_named():
    fused, config = "in_proj_weight", {"model_type": "torch-s", "nhead": 4}
    for said, norm in ({}, ""), ({"norm": "norm1"}, "layers.1.norm1.weight"):
        stack = Attention("encoder", "layers.{}.self_attn", fused, fused, "blocks", heads="nhead", layers="", **said)
        register_architecture("torch-s", stack)
        assert open_model(torch_encoder(), config=config).plans[1].norm == norm


def test_another_matrix_than_w_qk_is_read_or_refused(llama, as_user):
    assert score_table(open_model(llama, matrix="ov"), matrix="ov")[0].source.endswith("(ov)")
    for asked in ({"matrix": "ov"}, {"fold_norm": True}):
        with pytest.raises(ParameterError, match="opened with matrix='qk', fold_norm=False; open it again with"):
            score_table(open_model(llama), **asked)
    for matrix in ("QK", "", None, "vo"):
        with pytest.raises(ParameterError, match=f"{matrix!r}; it must be 'qk' or 'ov'"):
            score_table(llama, matrix=matrix)


@pytest.mark.parametrize("options", [{}, {"add_bias_kv": True}, {"add_zero_attn": True}], ids=str)
def test_keys_of_no_token_are_named_where_torch_s_own_attention_has_them(options):
    torch.manual_seed(0)
    attention = nn.MultiheadAttention(16, 2, bias=False, **options)
    x = torch.randn(5, 1, 16)
    _, probabilities = attention(x, x, x)
    named = any("sinks" in words for words in open_model(attention).left_out)
    assert named == (probabilities[0, :, :5].sum() < 5 - 1e-4)


compiled = partial(torch.compile, backend="eager")


class Holder(nn.Module):
    """A model among the modules of another, as of Lightning, sentence-transformers or a trainer of one's own."""

    def __init__(self, *models: nn.Module) -> None:
        super().__init__()
        self.loss, self.nets = nn.Linear(2, 2), nn.ModuleList(models)


class Envoy:
    """A model in an attribute of an object that is no module, as of nnsight, a pipeline or a trainer."""

    def __init__(self, model: nn.Module) -> None:
        self._module, self.path, self.wrapped = model, "model", compiled(model)


def parallel(model: nn.Module) -> nn.Module:
    """As DistributedDataParallel holds it."""
    wrapper = nn.Module()
    wrapper.module = model
    return wrapper


HOLDERS = {
    "another module": Holder,
    "a module in a module": lambda model: Holder(Holder(model)),
    "an object": Envoy,
    "a compiled model": compiled,
    "a module of a compiled model": lambda model: Holder(compiled(model)),
    "an object of a module": lambda model: Envoy(Holder(model)),
    "several processes": lambda model: parallel(compiled(model)),
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
def test_the_model_that_an_object_holds_is_read(hold, llama):
    expected, found = list(open_model(llama)), list(open_model(hold(llama)))
    assert [(layer.module, layer.file) for layer in found] == [(layer.module, layer.file) for layer in expected]
    assert all(a.form.wq.data_ptr() == b.form.wq.data_ptr() for a, b in zip(expected, found, strict=True))
    assert score_table(hold(llama))[0].symmetry == score_table(llama)[0].symmetry


def test_an_object_that_holds_two_models_is_refused_with_their_names(llama, as_user):
    two = Holder(llama, small_model("gpt2")())
    for thing in (two, Envoy(two)):
        with pytest.raises(CheckpointError, match=r"contains several models \(nets.0, nets.1\); pass"):
            open_model(thing)
    assert len(open_model(Holder(llama, llama))) == 2  # the same twice is one


def test_a_model_of_ones_own_around_another_is_read_by_the_config_that_is_given(llama):
    model, config = Mine(), {"model_type": "mine", "n_heads": 4}
    model.llama = llama
    with mock.patch.dict(ARCHITECTURES):
        register_architecture("mine", Attention("decoder", "blocks.{}", "q", "k", heads="n_heads"))
        for thing in (model, parallel(model)):
            assert open_model(thing, config).plans[0].module == "blocks.0"
    assert open_model(model).plans[0].module == "model.layers.0.self_attn"


@pytest.mark.parametrize("wrap", [dict, lambda state: {"state_dict": state, "epoch": 3}], ids=["", "in a checkpoint"])
def test_a_state_dict_is_read_with_a_config(wrap, llama, as_user):
    state = wrap(llama.state_dict())
    for config in (llama.config, llama.config.to_dict()):
        for ours, theirs in zip(open_model(state, config), open_model(llama), strict=True):
            assert torch.equal(ours.form.wk, theirs.form.wk) and ours.module == theirs.module
    with pytest.raises(CheckpointError, match=r"open_model\(state, config=model.config\)"):
        open_model(state)
    with pytest.raises(ParameterError, match="config is 'gpt2', but it cannot be a name or a path"):
        open_model(state, config="gpt2")


def test_the_values_of_a_state_dict_are_tensors_or_arrays(llama, as_user):
    state = {name: tensor.numpy() for name, tensor in llama.state_dict().items()}
    for ours, theirs in zip(open_model(state, llama.config), open_model(llama), strict=True):
        assert torch.equal(ours.form.wq, theirs.form.wq) and torch.equal(ours.form.wk, theirs.form.wk)
    with pytest.raises(CheckpointError, match="its values must be torch tensors"):
        open_model({name: array.tolist() for name, array in state.items()}, llama.config)


@pytest.mark.parametrize("part", ["encoder", "encoder.layer.0", "encoder.layer.0.attention.self"])
def test_a_part_of_a_model_is_refused_with_two_ways_out(part, as_user):
    with pytest.raises(
        CheckpointError, match=r"the whole model to open_model, or .* BilinearForm\.from_linear\.$"
    ) as caught:
        open_model(small_model("bert")().get_submodule(part))
    assert "register" not in f"{caught.value}"


def test_factors_are_refused_once_by_the_name_of_the_function(as_user):
    factor = torch.randn(2, 8, 4)
    for given in (BilinearForm(factor, factor), (factor, factor)):
        with pytest.raises(CheckpointError, match=r"score_table accept .* use score or score_heads") as caught:
            score_table(given)
        assert f"{caught.value}".count("score_heads") == 1
    for gamma in ("a", None, -1):
        with pytest.raises(ParameterError, match="gamma is"):
            score_table(small_model("gpt2")(), gamma=gamma)


class Factored(nn.Module):
    """An attention of TransformerLens: factors (heads, d, d_head), and biases."""

    def __init__(self, of_llama: nn.Module, bias: float) -> None:
        super().__init__()
        q, k = of_llama.q_proj.weight, of_llama.k_proj.weight
        self.W_Q, self.W_K = (nn.Parameter(w.detach().unflatten(0, (-1, 8)).mT.clone()) for w in (q, k))
        self.b_Q = nn.Parameter(torch.full((4, 8), bias))


class Hooked(nn.Module):
    """A model of TransformerLens: HookedTransformer, or a TransformerBridge, which has a config of transformers too."""

    def __init__(self, llama: nn.Module, direction: str = "causal", bias: float = 0.0, gain: float = 1.0) -> None:
        super().__init__()
        self.config = llama.config
        self.cfg = mock.Mock(
            attention_dir=direction, positional_embedding_type="rotary", attn_scores_soft_cap=-1.0, use_local_attn=False
        )
        self.blocks = nn.ModuleList(
            nn.ModuleDict({"_original_component": nn.ModuleDict({"attn": Factored(layer.self_attn, bias)})})
            for layer in llama.model.layers
        )
        for block in self.blocks:
            block["ln1"] = nn.RMSNorm(32)
            nn.init.constant_(block["ln1"].weight, gain)

    @property
    def W_Q(self) -> torch.Tensor:
        return torch.stack([block["_original_component"]["attn"].W_Q for block in self.blocks])


def test_of_transformerlens_the_factors_are_read_as_they_are_now(llama, as_user):
    hooked = Hooked(llama)
    for thing in (hooked, Holder(hooked), Envoy(hooked)):
        for ours, theirs in zip(open_model(thing), open_model(llama), strict=True):
            assert torch.equal(ours.form.wq, theirs.form.wq) and torch.equal(ours.form.wk, theirs.form.wk)
            assert (ours.part, ours.causal) == ("decoder", True)
    opened = open_model(hooked)
    assert [plan.module for plan in opened.plans] == ["blocks.0.attn", "blocks.1.attn"]
    with torch.no_grad():
        hooked.blocks[1]["_original_component"]["attn"].W_Q.mul_(2)  # what a folding of gains may do
    assert torch.equal(opened[1].form.wq, 2 * open_model(llama)[1].form.wq)
    with pytest.raises(CheckpointError, match="cannot be overwritten"):
        opened.writable(opened.plans[0])
    with pytest.raises(CheckpointError, match="meta device"):
        open_model(Hooked(llama).to("meta"))


@pytest.mark.parametrize(
    "options, part, extra",
    [
        ({}, "decoder", []),
        ({"bias": 0.1}, "decoder", ["biases"]),
        ({"gain": 2.0}, "decoder", ["gains of the layer normalisation before queries and keys"]),
        ({"gain": 2.0, "direction": "bidirectional"}, "encoder", []),
    ],
)
def test_of_transformerlens_is_said_what_is_beside_the_factors(options, part, extra, llama):
    opened = open_model(Hooked(llama, **options))
    assert {plan.part for plan in opened.plans} == {part}
    assert opened.left_out == ["positions encoded by rotating queries and keys", *extra]


def test_regional_compilation_and_parametrised_weights_are_those_of_the_plain_model(llama):
    expected = [layer.form.dense() for layer in open_model(llama)]
    for n, layer in enumerate(llama.model.layers):
        nn.utils.parametrizations.weight_norm(layer.self_attn.q_proj)
        prune.identity(layer.self_attn.k_proj, "weight")
        llama.model.layers[n] = compiled(layer)
    for ours, theirs in zip(open_model(Holder(llama)), expected, strict=True):
        torch.testing.assert_close(ours.form.dense(), theirs, rtol=1e-5, atol=1e-6)
