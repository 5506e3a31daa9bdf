from dataclasses import replace

import numpy as np
import pytest
import torch
from test_models import TINY, batch

from attngeo.training.bert import build_model
from attngeo.training.cpu_attention import Dropout, quicken


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_the_share_of_zeros_and_the_mean_are_as_asked(rate):
    torch.manual_seed(0)
    n = 200_000
    found = Dropout(rate)(torch.ones(n))
    assert abs(float((found == 0).float().mean()) - rate) < 5 * np.sqrt(rate * (1 - rate) / n)
    assert found.unique().tolist() == pytest.approx([0.0, 1 / (1 - rate)], rel=2e-4)
    assert abs(float(found.mean()) - 1) < 5 * np.sqrt(rate / (1 - rate) / n)


def test_entries_are_dropped_independently():
    torch.manual_seed(0)
    kept = (Dropout(0.5)(torch.ones(1000, 64)) > 0).double()
    correlation = torch.corrcoef(kept.T) - torch.eye(64)
    assert correlation.abs().max() < 5.5 / np.sqrt(1000)


def test_the_gradient_passes_where_entries_were_kept():
    torch.manual_seed(0)
    x = torch.randn(7, 5, 3, dtype=torch.float64).requires_grad_()
    found = Dropout(0.3)(x)
    (gradient,) = torch.autograd.grad(found.sum(), x)
    torch.testing.assert_close(found, x * gradient)
    assert (gradient == 0).any()


def test_nothing_is_dropped_in_evaluation_or_at_rate_0():
    x = torch.randn(10)
    assert Dropout(0.5).eval()(x) is x and Dropout(0.0)(x) is x


def test_draws_follow_from_the_seed_and_differ():
    layer, x = Dropout(0.5), torch.ones(1000)
    torch.manual_seed(1)
    first, second = layer(x), layer(x)
    torch.manual_seed(1)
    assert torch.equal(first, layer(x)) and not torch.equal(first, second)


@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "decoder"])
def test_a_quickened_model_computes_the_same_without_dropout(causal):
    model = build_model(TINY, causal, attention="eager").double()
    data = batch()
    before = model(**data)["loss"]
    gradients = torch.autograd.grad(before, list(model.parameters()))
    quicken(model)
    after = model(**data)["loss"]
    torch.testing.assert_close(before, after, rtol=1e-6, atol=1e-7)  # softmax is taken in float32
    for a, b in zip(gradients, torch.autograd.grad(after, list(model.parameters())), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("which", ["dropout", "attention_dropout"])
def test_a_quickened_model_drops_hidden_states_and_attention(which):
    model = build_model(replace(TINY, **{which: 0.5}), False, attention="eager")
    quicken(model)
    assert not any(isinstance(m, torch.nn.Dropout) for m in model.modules())
    assert model(**batch())["loss"] != model(**batch())["loss"]
    model.eval()
    assert model(**batch())["loss"] == model(**batch())["loss"]
