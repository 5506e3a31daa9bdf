import math
from dataclasses import replace

import pytest
import torch

from attngeo import score, score_heads
from attngeo.choices import SYMMETRY, Initialisation
from attngeo.errors import ParameterError
from attngeo.experiments.training.bert import STD, attention_layers, build_model, forms
from attngeo.experiments.training.choices import Shape
from attngeo.experiments.training.initialisations import initialise_bert
from attngeo.initialisations import MIXERS, InitialisationError

SHAPE = Shape(layers=2, d_model=64, heads=4, d_ff=64, vocab_size=40)


def layers_forms(initialisation, **change):
    model = build_model(replace(SHAPE, **change), False, initialisation, seed=2)
    model.requires_grad_(False)
    return model, [form.to(torch.float64) for form in forms(model)]


@pytest.mark.parametrize("d_model", [64, 60, 12], ids=["even heads", "odd heads", "heads of 3"])
def test_tied_starts_are_symmetric_or_skew_in_every_head_and_in_the_sum(d_model):
    for name, symmetry in SYMMETRY.items():
        for form in layers_forms(name, d_model=d_model)[1]:
            assert score_heads(form).symmetry.tolist() == pytest.approx([symmetry] * 4, abs=1e-5), name
            assert float(score(form).symmetry) == pytest.approx(symmetry, abs=1e-5), name


def test_tied_starts_keep_the_singular_values_of_the_keys():
    """W_k,h = W_q,h S with S orthogonal; one of the symmetric ones is definite, the other is not."""
    for name in MIXERS:
        for form in layers_forms(name)[1]:
            values = torch.linalg.svdvals(form.wq)
            torch.testing.assert_close(torch.linalg.svdvals(form.wk), values, rtol=1e-4, atol=1e-6)
            if name is not Initialisation.SKEW:
                signs = torch.linalg.eigvalsh(form.head(0))
                negative = 8 if name is Initialisation.SYMMETRIC_INDEFINITE else 0
                assert ((signs < -1e-6).sum(), (signs > 1e-6).sum()) == (negative, 16 - negative)


def test_only_the_named_weights_change():
    reference = dict(build_model(SHAPE, False, "random", seed=2).named_parameters())
    changed = {
        "symmetric": {"key.weight"},
        "symmetric-indefinite": {"key.weight"},
        "skew": {"key.weight"},
        "released": {f"{m}.{p}" for m in ("query", "key", "value") for p in ("weight", "bias")},
        "default-linear": {f"{m}.{p}" for m in ("query", "key", "value") for p in ("weight", "bias")},
        "scaled": {"query.weight", "key.weight"},
        "scaled-symmetric": {"query.weight", "key.weight"},
        "scaled-values": {"value.weight"},
        "mimetic": {"query.weight", "key.weight", "value.weight", "attention.output.dense.weight"},
    }
    for name, expected in changed.items():
        for parameter, value in build_model(SHAPE, False, name, seed=2).named_parameters():
            named = any(parameter.endswith(end) for end in expected) and "attention" in parameter
            assert torch.equal(value, reference[parameter]) != named, (name, parameter)


@pytest.mark.parametrize("name", ["released", "default-linear"])
def test_the_released_start_is_that_of_new_linear_layers_with_equal_weights_and_other_biases(name):
    model, _ = layers_forms(name)
    for layer in attention_layers(model):
        q, k, v = layer.self.query, layer.self.key, layer.self.value
        bound = 1 / math.sqrt(64)
        assert torch.equal(q.weight, k.weight) == (name == "released") and not torch.equal(q.bias, k.bias)
        for p in (q.weight, k.weight, v.weight, q.bias, k.bias, v.bias):
            assert p.abs().max() <= bound and float(p.detach().std()) == pytest.approx(bound / math.sqrt(3), rel=0.25)


def test_scaled_starts_are_the_random_ones_times_the_released_scale():
    """One thing changes at a time: W_qk, or W_v, is a multiple of the random start's."""
    times = 1 / math.sqrt(3 * 64) / STD
    random, found = layers_forms("random")
    for name, product, value in (("scaled", times**2, 1), ("scaled-symmetric", None, 1), ("scaled-values", 1, times)):
        model, other = layers_forms(name)
        for a, b in zip(attention_layers(random), attention_layers(model), strict=True):
            torch.testing.assert_close(b.self.value.weight, value * a.self.value.weight)
            if name != "scaled-values":
                torch.testing.assert_close(b.self.query.weight, times * a.self.query.weight)
        for a, b in zip(found, other, strict=True):
            if product is not None:
                torch.testing.assert_close(b.dense(), product * a.dense())


def test_the_mimetic_start_is_the_best_approximation_of_noise_plus_identity():
    model, starts = layers_forms("mimetic", heads=1)
    m = starts[0].dense()  # one head of full width: nothing is cut off
    noise = (m - 0.7 * torch.eye(64)) / 0.7
    assert float(noise.std()) * 8 == pytest.approx(1, rel=0.05) and abs(float(noise.mean())) < 0.01
    layer = attention_layers(model)[0]
    vo = (layer.self.value.weight.T @ layer.output.dense.weight.T).double()
    noise = (vo + 0.4 * torch.eye(64)) / 0.4
    assert float(noise.std()) * 8 == pytest.approx(1, rel=0.05) and abs(float(noise.diagonal().mean())) < 0.1
    _, narrow = layers_forms("mimetic")
    assert score_heads(narrow[0]).symmetry.mean() > 0.5


def test_layers_heads_and_seeds_differ():
    for name in Initialisation:
        first, second = layers_forms(name)[1]
        other = forms(build_model(SHAPE, False, name, seed=3))
        assert not torch.equal(first.wk, second.wk) and not torch.equal(first.wk[0], first.wk[1]), name
        assert not torch.allclose(first.wk.float(), other[0].wk), name


def test_weights_that_cannot_be_tied_are_noticed():
    model = build_model(SHAPE, False)
    torch.nn.init.zeros_(attention_layers(model)[1].self.query.weight)
    with pytest.raises(InitialisationError, match=r"layer\.1"):
        initialise_bert(model, attention_layers(model), Initialisation.SYMMETRIC, 0, STD)
    with pytest.raises(ParameterError, match="width 1"):
        build_model(replace(SHAPE, heads=64), False, "skew")
