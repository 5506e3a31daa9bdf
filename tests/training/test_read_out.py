import pytest
import torch
from torch.autograd.functional import jacobian

from attngeo.experiments.training.bert import attention_layers, build_model
from attngeo.experiments.training.choices import Shape
from attngeo.experiments.training.read_out import Probe, centred, position_forms, read_outs, weighted_symmetry

BLOCKS, N, D = 3, 5, 8
TOKENS, FREQUENCIES = torch.tensor([7, 3, 9]), torch.tensor([0.5, 0.3, 0.2]).double()


def model():
    built = build_model(Shape(2, D, 2, 16, vocab_size=12, longest=N, dropout=0.0), False, seed=3, attention="eager")
    with torch.no_grad():
        for p in built.parameters():
            p.add_(0.3 * torch.randn(p.shape, generator=torch.Generator().manual_seed(p.numel())))
    return built.double().eval()


def probe():
    ids = torch.randint(0, 12, (BLOCKS, N), generator=torch.Generator().manual_seed(0))
    ids[:, :3] = TOKENS
    return Probe(ids, torch.tensor([4, 0, 2]), TOKENS, FREQUENCIES)


def dense_read_out(bert, given, layer):
    """The logits differentiated by what is added to the heads' output, block by block, times mean values."""
    attention, added, values = attention_layers(bert)[layer], [], []
    handles = [
        attention.output.dense.register_forward_pre_hook(lambda _, inputs: (inputs[0] + added[-1], *inputs[1:])),
        attention.self.value.register_forward_hook(lambda _, inputs, out: values.append(out.detach()[0])),
    ]
    total = 0
    for ids, place in zip(given.input_ids, given.predicted, strict=True):

        def logits(delta, ids=ids, place=place):
            added.append(torch.zeros(1, N, D).double().index_put((torch.tensor(0), place), delta))
            return bert(input_ids=ids[None]).logits[0, place, TOKENS]

        total = total + jacobian(logits, torch.zeros(D).double()) / BLOCKS
    for handle in handles:
        handle.remove()
    places, values = given.input_ids.flatten(), torch.cat(values)
    means = torch.stack([values[places == token].mean(0) for token in TOKENS])
    project = torch.eye(3).double() - FREQUENCIES  # I - 1 pi^T
    return project @ (total @ means.T) @ project.T


def test_read_outs_are_those_of_a_dense_jacobian_and_leave_no_gradient():
    bert, given = model(), probe()
    measured = read_outs(bert, given)
    for layer in (0, 1):
        torch.testing.assert_close(measured[layer], dense_read_out(bert, given, layer))
    assert measured.abs().min(0).values.max() > 1e-4
    assert all(p.grad is None for p in bert.parameters())
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in bert.modules())


def test_centred_forms_ignore_constants_and_their_symmetry_counts_tokens():
    a = torch.randn(3, 3, generator=torch.Generator().manual_seed(1)).double()
    constants = torch.arange(3.0).double()[:, None] - 2 * torch.arange(3.0).double()
    torch.testing.assert_close(centred(a + constants, FREQUENCIES), centred(a, FREQUENCIES))
    form = torch.tensor([[1.0, 3], [-1, 0]])
    assert weighted_symmetry(form, torch.tensor([0.5, 0.5])) == pytest.approx((1 - 6) / (1 + 9 + 1))
    assert weighted_symmetry(form, torch.tensor([0.9, 0.1])) == pytest.approx((0.81 - 0.54) / (0.81 + 0.9))


def test_position_forms_are_the_scores_between_positions_alone():
    bert = model()
    table = bert.bert.embeddings.position_embeddings.weight
    p = table - table.mean(0)
    for form, layer in zip(position_forms(bert, N), attention_layers(bert), strict=True):
        queries, keys = (p @ linear.weight.T for linear in (layer.self.query, layer.self.key))
        torch.testing.assert_close(form, (queries @ keys.T).detach())
