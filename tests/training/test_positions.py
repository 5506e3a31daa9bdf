import json
from itertools import product

import pytest
import torch
from small_runs import small_config
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM

from attngeo import open_checkpoint, score_heads
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.waves import waves
from attngeo.errors import ParameterError
from attngeo.experiments.training.bert import attention_layers, build_model, forms, parameter_counts
from attngeo.experiments.training.choices import Positions, PositionTable, Shape
from attngeo.experiments.training.positions import FROZEN_STRENGTH, freeze_table
from attngeo.experiments.training.train import train

TINY = Shape(layers=2, d_model=24, heads=3, d_ff=40, vocab_size=60, longest=14, dropout=0.0)
OTHERS = [p for p in Positions if p is not Positions.LEARNED]
IDS = torch.randint(0, 60, (3, 12), generator=torch.Generator().manual_seed(0))


def a_model(kind, causal=False):
    """One whose queries, keys and biases are large enough for attention not to be uniform."""
    model = build_model(TINY, causal, seed=1, positions=kind).double().eval()
    draw = torch.Generator().manual_seed(2)
    with torch.no_grad():
        for layer in attention_layers(model):
            layer.self.query.weight *= 20
            layer.self.key.weight *= 20
            if kind == "bias":
                layer.self.offset_bias.normal_(generator=draw)
    return model


@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "decoder"])
@pytest.mark.parametrize("kind", Positions)
def test_a_saved_model_says_what_it_is_and_opens_again(kind, causal, tmp_path):
    model = a_model(kind, causal)
    model.save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    if kind is Positions.LEARNED:  # classes that transformers has
        assert config["architectures"] == ["BertLMHeadModel" if causal else "BertForMaskedLM"]
    else:
        assert (config["model_type"], config["positions"]) == ("attngeo-bert", kind.value)
    again = (AutoModelForCausalLM if causal else AutoModelForMaskedLM).from_pretrained(tmp_path).eval()
    assert torch.equal(again(IDS).logits, model(IDS).logits)
    for layer, form in zip(open_checkpoint(tmp_path), forms(model), strict=True):
        assert layer.part == ("decoder" if causal else "encoder")
        torch.testing.assert_close(layer.form.dense(), form.dense().detach())


def test_other_positions_change_no_weight_but_the_table_and_train_none_of_it():
    learned = build_model(TINY, False, seed=1)
    for kind in OTHERS:
        model = build_model(TINY, False, seed=1, positions=kind)
        state = dict(model.named_parameters())
        changed = {name for name, weight in learned.named_parameters() if not torch.equal(weight, state[name])}
        assert changed == {"bert.embeddings.position_embeddings.weight"}
        table = model.bert.embeddings.position_embeddings.weight
        assert not table.any() and not table.requires_grad
        biases = 2 * 3 * (2 * 14 - 1) if kind is Positions.BIAS else 0
        assert parameter_counts(model)["all"] == parameter_counts(learned)["all"] - 14 * 24 + biases


def test_queries_and_keys_are_rotated_as_complex_numbers():
    model = a_model("rotary")
    form = forms(model)[0]
    hidden = model.bert.embeddings(IDS)[0].double()
    turn = torch.exp(1j * torch.arange(12)[:, None] * 10_000.0 ** (-2 * torch.arange(4) / 8))
    q, k = (torch.complex(*(hidden @ w).chunk(2, -1)) * turn for w in (form.wq, form.wk))  # (heads, length, d_head / 2)
    expected = torch.softmax((q @ k.mH).real / 8**0.5, -1)
    assert (expected - expected.mean(-1, keepdim=True)).abs().max() > 0.01
    torch.testing.assert_close(model(IDS, output_attentions=True).attentions[0][0], expected)


def test_a_bias_by_offset_is_added_to_the_logits():
    model = a_model("bias")
    same = torch.full((1, 12), 7)
    places = torch.arange(12)
    bias = attention_layers(model)[0].self.offset_bias[:, places - places[:, None] + 13]
    torch.testing.assert_close(model(same, output_attentions=True).attentions[0][0], torch.softmax(bias, -1))


def test_without_positions_the_order_of_tokens_is_not_seen():
    turn = torch.arange(11, -1, -1)
    for kind in Positions:
        model = a_model(kind)
        equal = torch.allclose(model(IDS[:, turn]).logits[:, turn], model(IDS).logits)
        assert equal == (kind is Positions.NONE)


def test_a_decoder_looks_to_the_left_only_with_any_positions():
    changed = IDS.clone()
    changed[:, 7] = (changed[:, 7] + 1) % 60
    for kind, causal in product(Positions, (False, True)):
        model = a_model(kind, causal)
        difference = (model(IDS).logits - model(changed).logits).abs().amax((0, 2))
        assert difference[7:].min() > 1e-6 and (difference[:7].max() < 1e-12) == causal, kind


def test_a_run_with_another_position_and_frozen_values_trains_the_others(text, tmp_path):
    choices = {"positions": "bias", "values": "frozen-skew"}
    loss = train(small_config(text, **choices), tmp_path / "run").curve("loss")
    end = AutoModelForMaskedLM.from_pretrained(tmp_path / "run" / "model")
    assert not end.bert.embeddings.position_embeddings.weight.any()
    assert attention_layers(end)[0].self.offset_bias.any() and loss.iloc[-1] < loss.iloc[0]
    start = build_model(Shape(2, 16, 2, 64, 512, 0.1, end.config.vocab_size), False, **choices)
    for before, after in zip(attention_layers(start), attention_layers(end), strict=True):
        assert not torch.equal(before.self.query.weight, after.self.query.weight)
        assert torch.equal(before.self.value.weight, after.self.value.weight)
        assert torch.equal(before.output.dense.weight, after.output.dense.weight)


@pytest.mark.parametrize("values, symmetry", [("frozen-symmetric", 1), ("frozen-skew", -1)])
def test_frozen_values_have_the_symmetry_that_was_asked_for(values, symmetry):
    for layer in attention_layers(build_model(TINY, False, values=values)):
        value, output = layer.self.value.weight.detach(), layer.output.dense.weight.detach()
        s = score_heads(BilinearForm.from_linear(value, output.T.contiguous(), 8)).symmetry
        assert torch.allclose(s, torch.full_like(s, symmetry), atol=1e-5)


def test_odd_heads_cannot_turn(text):
    with pytest.raises(ParameterError, match="rotary positions rotate pairs of coordinates, but heads have width 5"):
        small_config(text, positions="rotary", d_model=10)


@pytest.mark.parametrize("kind, low, high", [("white", 1, 6), ("slow", 1, 2), ("band", 2, 4)])
def test_a_frozen_table_has_its_waves_alone_and_does_not_learn(kind, low, high):
    model = build_model(TINY, False, seed=1)
    table = model.bert.embeddings.position_embeddings.weight
    before = table[:12].detach().double()
    freeze_table(model, PositionTable(kind), 12)
    rows, basis = table[:12].detach().double(), waves(12, low, high)
    torch.testing.assert_close(basis @ (basis.T @ rows), rows, atol=1e-7, rtol=0)
    assert float(rows.norm()) == pytest.approx(FROZEN_STRENGTH * float((before - before.mean(0)).norm()), rel=1e-5)
    assert not table.requires_grad
    assert torch.linalg.matrix_rank(rows, rtol=1e-5) == basis.shape[1]


def test_settings_that_another_model_or_objective_has_are_refused(text):
    only = "this setting can be changed only for"
    for change, sentence in (
        ({"positions": "rotary", "position_table": "slow"}, f"position_table is slow, but {only} models with a table"),
        ({"objective": "clm", "hidden_share": 0.5}, f"hidden_share is 0.5, but {only} masked modelling"),
        ({"window_far": 8}, f"window_far is 8, but {only} decoders"),
        ({"objective": "clm", "window_near": 4, "window_far": 2}, "smaller than window_near, which is 4"),
        ({"hidden_share": 0.8, "random_share": 0.3}, "add up to more than 1"),
    ):
        with pytest.raises(ParameterError, match=sentence):
            small_config(text, **change)
