from dataclasses import replace

import pytest
import torch

from attngeo.experiments.training.bert import (
    attention_layers,
    build_model,
    fold_logit_scale,
    forms,
    model_flops,
    parameter_counts,
    scale_logits,
)
from attngeo.experiments.training.choices import Shape

TINY = Shape(layers=2, d_model=24, heads=3, d_ff=40, vocab_size=60, dropout=0.0)


def batch(seed=0, length=12, targets=3):
    draw = torch.Generator().manual_seed(seed)
    ids = torch.randint(0, 60, (4, length), generator=draw)
    positions = torch.rand(4, length, generator=draw).argsort(1)[:, :targets].sort(1).values
    return {"input_ids": ids, "positions": positions, "labels": torch.randint(0, 60, (4, targets), generator=draw)}


@pytest.mark.parametrize("causal", [False, True], ids=["encoder", "decoder"])
def test_the_loss_at_positions_is_that_of_the_full_head(causal):
    model = build_model(TINY, causal).double().eval()
    data = batch()
    ours = model(**data)["loss"]
    logits = model(input_ids=data["input_ids"]).logits  # the parent's own forward
    chosen = logits.gather(1, data["positions"][..., None].expand(-1, -1, 60))
    expected = torch.nn.functional.cross_entropy(chosen.flatten(0, 1), data["labels"].flatten())
    torch.testing.assert_close(ours, expected, rtol=1e-12, atol=1e-12)
    gradients = [torch.autograd.grad(loss, list(model.parameters())) for loss in (ours, expected)]
    for a, b in zip(*gradients, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-12)


def test_predicting_all_positions_but_the_last_takes_the_same_path_to_the_same_loss():
    model = build_model(TINY, causal=True).double().eval()
    ids = batch()["input_ids"]
    everywhere = {"positions": torch.arange(11).expand(4, -1), "labels": ids[:, 1:]}
    part = {"positions": torch.arange(10).expand(4, -1), "labels": ids[:, 1:-1]}
    last = {"positions": torch.full((4, 1), 10), "labels": ids[:, -1:]}
    whole, all_but_last, end = (model(input_ids=ids, **data)["loss"] for data in (everywhere, part, last))
    torch.testing.assert_close(whole, (10 * all_but_last + end) / 11, rtol=1e-12, atol=1e-12)


def test_the_scale_of_logits_is_that_of_the_queries_and_can_be_moved_there():
    plain, scaled, warm = (build_model(TINY, causal=False, seed=3).eval() for _ in range(3))
    with torch.no_grad():
        for layer in attention_layers(plain):
            for linear in (layer.self.query, layer.self.key):
                linear.weight *= 100
                linear.bias += torch.linspace(-1, 1, 24)
        for other in (scaled, warm):
            other.load_state_dict(plain.state_dict())
        for layer in attention_layers(scaled):
            layer.self.query.weight *= 2.5
            layer.self.query.bias *= 2.5
    scale_logits(warm, 2.5)
    ids = batch()["input_ids"]
    expected = scaled(ids).logits
    torch.testing.assert_close(warm(ids).logits, expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(plain(ids).logits, expected, atol=1e-4)
    assert torch.equal(forms(warm)[0].wq, forms(plain)[0].wq)
    fold_logit_scale(warm, 2.5)
    assert attention_layers(warm)[0].self.scaling == pytest.approx(8**-0.5)
    torch.testing.assert_close(warm(ids).logits, expected, atol=1e-5, rtol=1e-5)


def test_equal_seeds_give_equal_weights_and_leave_the_callers_random_state():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    a, b, other = build_model(TINY, False), build_model(TINY, False), build_model(TINY, False, seed=1)
    assert torch.equal(before, torch.random.get_rng_state())
    for x, y, z in zip(a.parameters(), b.parameters(), other.parameters(), strict=True):
        assert torch.equal(x, y) and torch.equal(x, z) == (x.std() == 0)


def test_the_count_of_operations_matches_that_of_torch():
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    shape = replace(TINY, d_model=32, heads=2, d_ff=64)
    model, data = build_model(shape, False), batch()
    # the counter does not know the fused attention of the CPU
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        model(**data)["loss"].backward()
    counted = counter.get_total_flops()  # embeddings and normalisations count as nothing there and here
    assert model_flops(shape, 12, 3) * 4 == pytest.approx(counted, rel=0.01)


def test_parameters_are_counted_with_and_without_embeddings():
    counts = parameter_counts(build_model(TINY, False))
    assert counts["all"] == parameter_counts(build_model(TINY, True))["all"]
    assert counts["all"] - counts["without_embeddings"] == 60 * 24 + 512 * 24 + 2 * 24 + 2 * 24
