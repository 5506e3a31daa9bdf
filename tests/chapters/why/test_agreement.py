import pytest
import torch
from chapters.why.agreement import agreement, agreement_rows, update_coefficients

from attngeo.experiments.training.bert import attention_layers, build_model
from attngeo.experiments.training.choices import Positions, Shape

SHAPE = Shape(layers=2, d_model=16, heads=2, d_ff=20, vocab_size=30, longest=8, dropout=0.0)
IDS = torch.randint(5, 30, (3, 6), generator=torch.Generator().manual_seed(1))


def a_model(positions="learned"):
    model = build_model(SHAPE, False, seed=3, attention="eager", positions=positions).double().eval()
    with torch.no_grad():
        for layer in attention_layers(model):
            layer.self.query.weight *= 20
            layer.self.key.weight *= 20
            layer.self.value.weight *= 20
    return model


def loss_with_a_moved_score(model, layer, head, i, j, sequence, by):
    """The loss of the hidden token at place i, where one score of one head is moved."""

    def move(module, given, named):
        mask = torch.zeros(1, 2, 6, 6, dtype=torch.float64)
        mask[0, head, i, j] = by
        return given, named | {"attention_mask": mask}

    ids = IDS[sequence][None].clone()
    ids[0, i] = 4
    handle = attention_layers(model)[layer].self.register_forward_pre_hook(move, with_kwargs=True)
    logits = model(input_ids=ids).logits[0, i]
    handle.remove()
    return float(torch.nn.functional.cross_entropy(logits, IDS[sequence, i]).detach())


def test_coefficients_are_the_derivatives_of_the_loss_by_the_scores():
    model = a_model()
    beta = update_coefficients(model, IDS, mask=4)
    assert beta.shape == (2, 3, 2, 6, 6)
    for layer, sequence, head, i, j in [(0, 0, 0, 1, 4), (0, 2, 1, 5, 0), (1, 1, 0, 2, 2), (1, 2, 1, 0, 3)]:
        moved = [loss_with_a_moved_score(model, layer, head, i, j, sequence, by) for by in (1e-4, -1e-4)]
        expected = -(moved[0] - moved[1]) / 2e-4
        assert float(beta[layer, sequence, head, i, j]) == pytest.approx(expected, rel=1e-4, abs=1e-9)


@pytest.mark.parametrize("positions", [p.value for p in Positions if p is not Positions.BIAS])
def test_rows_have_every_layer(positions):
    rows = list(agreement_rows(a_model(positions), IDS, 4))
    assert [row["layer"] for row in rows] == [0, 1]
    assert all(-1 <= row[name] <= 1 for row in rows for name in ("heads", "sum", "beyond_mean"))


def test_agreement_is_one_for_symmetric_minus_one_for_skew_and_zero_for_independent_coefficients():
    draw = torch.randn(200, 8, 8, generator=torch.Generator().manual_seed(0))
    assert agreement(draw + draw.mT) == pytest.approx(1)
    assert agreement(draw - draw.mT) == pytest.approx(-1)
    assert abs(agreement(draw)) < 4 / (200 * 28) ** 0.5
    assert agreement(draw + draw.mT + 5) == pytest.approx(1), "a constant in all coefficients is no agreement"
