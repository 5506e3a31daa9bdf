import math

import pytest
import torch

from attngeo.chapters.implicit_gradient.quadrature import normal_quadrature
from attngeo.chapters.implicit_gradient.through_factors import (
    alignment_at_random_factors,
    implicit_update,
    symmetry_at_random_factors,
)
from attngeo.errors import ParameterError
from attngeo.forms.bilinear import BilinearForm


def random(*shape: int, seed: int = 0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(("heads", "kv_heads"), [(1, 1), (4, 4), (4, 2), (6, 1)])
def test_implicit_update_against_a_step_on_the_factors(heads, kv_heads):
    """Any loss will do: here one that is a sum of inner products with each head's form, with grouped keys."""
    wq, wk = random(heads, 10, 3, seed=1).requires_grad_(), random(kv_heads, 10, 3, seed=2).requires_grad_()
    target, eta = random(heads, 10, 10, seed=3), 0.05
    form = BilinearForm(wq, wk)
    w_qk = torch.stack(list(form.heads()))
    loss = (w_qk * target).sum() + (w_qk**2).sum() / 7
    grad_q, grad_k = torch.autograd.grad(loss, (wq, wk))
    gradients = (target + 2 * w_qk / 7).detach()
    before = BilinearForm(wq.detach(), wk.detach())
    after = BilinearForm(before.wq - eta * grad_q, before.wk - eta * grad_k)
    change = torch.stack(list(after.heads())) - torch.stack(list(before.heads()))
    update = implicit_update(before, gradients, eta)
    torch.testing.assert_close(update.total, change)
    torch.testing.assert_close(update.after.dense(), after.dense())
    smaller = implicit_update(before, gradients, eta / 10)
    torch.testing.assert_close(smaller.first_order, update.first_order / 10)
    torch.testing.assert_close(smaller.second_order, update.second_order / 100)


@pytest.mark.parametrize(("d", "d_head"), [(1, 1), (2, 2), (3, 1), (4, 1)])
def test_alignment_and_symmetry_of_random_factors(d, d_head):
    gradient = random(d, d, seed=5)
    even = gradient + gradient.T
    nodes, weights = normal_quadrature(2 * d * d_head)
    form = BilinearForm(*nodes.view(-1, 2, d, d_head).unbind(1))
    step, even_step = (implicit_update(form, g.expand(len(nodes), d, d), -1.0).first_order for g in (gradient, even))
    products = (step * gradient, step.square(), even_step * even_step.mT, even_step.square())
    inner, square, trace, even_square = (weights @ x.sum((1, 2)) for x in products)
    share = float(even.trace() ** 2 / even.square().sum())
    assert inner / square.sqrt() / gradient.norm() == pytest.approx(alignment_at_random_factors(d, d_head), rel=1e-12)
    assert trace / even_square == pytest.approx(symmetry_at_random_factors(d, d_head, share), rel=1e-12)


def test_a_width_of_nothing_is_refused(as_user):
    with pytest.raises(ParameterError):
        alignment_at_random_factors(0, 1)


def test_the_quadrature_has_the_moments_of_normal_variables():
    nodes, weights = normal_quadrature(3)
    for powers in torch.cartesian_prod(*[torch.arange(6)] * 3).tolist():
        expected = math.prod((1, 0, 1, 0, 3, 0)[p] for p in powers)
        product = nodes.pow(torch.tensor(powers)).prod(1)
        assert weights @ product == pytest.approx(expected, abs=1e-12)
