"""Remark S1.6 outside Definition S1.1: biases of queries and keys, rotary positions, layers that share factors."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from attngeo.chapters.implicit_gradient.implicit_update import ascent
from attngeo.chapters.implicit_gradient.toy_passes import ToyPass
from attngeo.forms.bilinear import BilinearForm
from attngeo.paper.checks import Comparisons, check, compare, exact
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import exact_coefficients, gradient_sum, relative_error
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer


@dataclass(frozen=True)
class Head:
    """One causal head with biases, whose queries and keys are turned, between inputs and a prediction of tokens."""

    x: Tensor  # (N, d)
    wq: Tensor  # (d, d_head)
    wk: Tensor  # (d, d_head)
    bq: Tensor  # (d_head,)
    bk: Tensor  # (d_head,)
    turns: Tensor  # (N, d_head, d_head), R_i
    values: Tensor  # (N, d)
    wu: Tensor  # (d, V)
    targets: Tensor  # (N,)

    def backward(self) -> tuple[Tensor, Tensor]:
        """``W_q (dL/dW_k)^T + dL/dW_q W_k^T`` by autograd, and the exact beta (N, N)."""
        wq, wk = self.wq.clone().requires_grad_(), self.wk.clone().requires_grad_()
        sides = ((wq, self.bq), (wk, self.bk))
        q, k = (torch.einsum("nab,nb->na", self.turns, self.x @ w + b) for w, b in sides)
        scale = len(self.bq) ** -0.5
        ahead = torch.ones(len(q), len(q)).triu(1).bool()
        weights = (scale * q @ k.T).masked_fill(ahead, -torch.inf).softmax(-1)
        attended = self.x + weights @ self.values
        loss = torch.nn.functional.cross_entropy(attended @ self.wu, self.targets, reduction="sum")
        grad_q, grad_k, errors = torch.autograd.grad(loss, (wq, wk, attended))
        return self.wq @ grad_k.T + grad_q @ self.wk.T, exact_coefficients(weights.detach(), self.values, errors, scale)


@dataclass(frozen=True)
class ThreeCases:
    """One head with biases, the same with rotary positions instead, and a model whose layers share their factors."""

    biased: Head
    rotary: Head
    shared: ToyPass
    layers: ToyTransformer  # whose first layer's factors all layers of `shared` use


def three_cases(d: int = 12, d_head: int = 4, n_tokens: int = 7, seed: int = 0) -> ThreeCases:
    """Normal entries; planes of neighbouring coordinates turn by position over the number of the plane."""
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    one = torch.tensor([[0.0, -1.0], [1.0, 0.0]], dtype=torch.float64)
    turn = torch.block_diag(*(one / plane for plane in range(1, d_head // 2 + 1)))
    upright = torch.eye(d_head, dtype=torch.float64).expand(n_tokens, -1, -1)
    targets = torch.randint(9, (n_tokens,), generator=generator)
    factors, biases = [normal(d, d_head) / d**0.5 for _ in range(2)], [normal(d_head) for _ in range(2)]
    biased = Head(normal(n_tokens, d), *factors, *biases, upright, normal(n_tokens, d), normal(d, 9), targets)
    none, turns = torch.zeros_like(biased.bq), torch.stack([torch.matrix_exp(i * turn) for i in range(n_tokens)])
    layers = ToyTransformer.random(ToyConfig(d=d, n_heads=d // d_head, n_tokens=n_tokens, n_layers=3), seed)
    model = replace(layers, wq=layers.wq[:1].expand_as(layers.wq), wk=layers.wk[:1].expand_as(layers.wk))
    shared = ToyPass(Objective.AUTOREGRESSIVE, model, model.example(Objective.AUTOREGRESSIVE, seed))
    return ThreeCases(biased, replace(biased, bq=none, bk=none, turns=turns), shared, layers)


def without_biases(head: Head, beta: Tensor) -> Tensor:
    """``W_q W_q^T G + G W_k W_k^T`` (Eq. S39)."""
    return ascent(BilinearForm(head.wq[None], head.wk[None]), gradient_sum(beta, head.x))[0]


def bias_term(head: Head, beta: Tensor) -> Tensor:
    """``W_q b_q (sum_ij beta_ij x_j)^T``: what biases add; that of the keys adds nothing."""
    return torch.outer(head.wq @ head.bq, head.x.T @ beta.sum(0))


def rotary_step(head: Head, beta: Tensor) -> Tensor:
    """``sum_ij beta_ij (W_q R^T W_q^T K_ij + K_ij W_k R^T W_k^T)`` with ``R = R_i^T R_j``."""
    back = torch.einsum("jba,ibc->ijac", head.turns, head.turns)  # R_j^T R_i
    pairs = torch.einsum("ij,ia,jb->ijab", beta, head.x, head.x)
    return (head.wq @ back @ head.wq.T @ pairs + pairs @ head.wk @ back @ head.wk.T).sum((0, 1))


def shared_gradient(gradients: list[Tensor]) -> Tensor:
    """``sum_l G_l``: the gradient that takes the place of G where layers share W_q and W_k, (H, d, d)."""
    return torch.stack(gradients).sum(0)


@check(three_cases)
def step_beyond_the_definition(cases: ThreeCases) -> Comparisons:
    """Remark S1.6 with biases, with rotary positions and with shared layers, against autograd's gradients."""
    (biased, beta), (rotary, beta_rotary) = cases.biased.backward(), cases.rotary.backward()
    unkeyed, _ = replace(cases.biased, bk=torch.zeros_like(cases.biased.bk)).backward()
    plain = without_biases(cases.biased, beta)
    factors = (cases.layers.wq, cases.layers.wk)
    grad_q, grad_k = (g[0] for g in torch.autograd.grad(cases.shared.run.losses.sum(), factors, retain_graph=True))
    form, by_layer = cases.layers.form(0), [g.w_qk for g in cases.shared.gradients()]
    slope = form.wq @ grad_k.mT + grad_q @ form.wk.mT
    total, first = (ascent(form, g) for g in (shared_gradient(by_layer), by_layer[0]))
    yield exact("biases", relative_error(plain + bias_term(cases.biased, beta), biased))
    yield compare("no biases", relative_error(plain, biased), "≠", 0, 0.01)
    yield exact("key bias", relative_error(unkeyed, biased))
    yield exact("rotary", relative_error(rotary_step(cases.rotary, beta_rotary), rotary))
    yield compare("no rotary", relative_error(without_biases(cases.rotary, beta_rotary), rotary), "≠", 0, 0.1)
    yield exact("shared", relative_error(total, slope))
    yield compare("one layer", relative_error(first, slope), "≠", 0, 0.1)
