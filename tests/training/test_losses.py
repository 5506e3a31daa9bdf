import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from attngeo.experiments.training import losses
from attngeo.experiments.training.bert import build_model
from attngeo.experiments.training.choices import Shape
from attngeo.experiments.training.losses import linear_cross_entropy


def draw(rows, d=6, classes=11, dtype=torch.float64):
    generator = torch.Generator().manual_seed(rows)
    x, w, b = (torch.randn(*s, generator=generator, dtype=dtype) for s in ((rows, d), (classes, d), (classes,)))
    labels = torch.randint(0, classes, (rows,), generator=generator)
    return [t.requires_grad_() for t in (x, w, b)], labels


@pytest.mark.parametrize("rows", [1, 64, 65, 200])
def test_loss_and_gradients_are_those_of_torch_however_the_rows_are_sliced(rows, monkeypatch):
    monkeypatch.setattr(losses, "SLICE_BYTES", 1)  # slices of 64 rows
    (x, w, b), labels = draw(rows)
    ours = linear_cross_entropy(x, w, b, labels)
    expected = torch.nn.functional.cross_entropy(x @ w.T + b, labels)
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)
    gradients = [torch.autograd.grad(3 * loss, (x, w, b)) for loss in (ours, expected)]
    for a, c in zip(*gradients, strict=True):
        torch.testing.assert_close(a, c, rtol=1e-10, atol=1e-14)


def test_without_gradients_nothing_but_the_loss_is_computed():
    (x, w, b), labels = draw(100)
    with torch.no_grad(), FlopCounterMode(display=False) as counter:
        loss = linear_cross_entropy(x, w, b, labels)
    assert counter.get_total_flops() == 2 * len(x) * w.numel()
    assert not loss.requires_grad and torch.equal(loss, linear_cross_entropy(x, w, b, labels))


def test_under_autocast_it_is_near_the_float32_loss():
    (x, w, b), labels = draw(100, d=32, dtype=torch.float32)
    exact = linear_cross_entropy(x, w, b, labels)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        low = linear_cross_entropy(x, w, b, labels)
    assert low.dtype == torch.float32 and abs(float(low.detach() - exact.detach())) < 0.02 * float(exact.detach())
    a, c = (torch.autograd.grad(loss, w)[0] for loss in (low, exact))
    assert float((a - c).norm() / c.norm()) < 0.02


def test_a_model_adds_the_constraint_in_training_only():
    """By how much is a claim of the page on constraints."""
    model = build_model(Shape(layers=2, d_model=16, heads=2, d_ff=16, vocab_size=30, dropout=0.0), False)
    data = {"input_ids": torch.arange(8)[None], "positions": torch.tensor([[1, 4]]), "labels": torch.tensor([[5, 6]])}
    model.constraint, model.constraint_weight = "symmetric", 0.5
    learning, plain = (model.train(training)(**data) for training in (True, False))
    assert learning["loss"] > plain["loss"] + 0.5 and torch.equal(plain["loss"], plain["prediction_loss"])
