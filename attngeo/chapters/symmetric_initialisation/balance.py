"""What training conserves of queries and keys: under gradient flow the difference of their Gram matrices."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.paper.checks import Comparisons, check, compare, exact

RATE = 1e-3  # of the steps
Factor = Float[Tensor, "d d_head"]


class OneHead(NamedTuple):
    """A layer of one head, and what it is trained to give out."""

    x: Float[Tensor, "n d"]
    target: Float[Tensor, "n d"]
    wq: Factor
    wk: Factor
    bq: Float[Tensor, " d_head"]
    bk: Float[Tensor, " d_head"]


def one_head(d: int = 7, d_head: int = 3, n: int = 6, seed: int = 0) -> OneHead:
    """All normal."""
    generator = torch.Generator().manual_seed(seed)
    shapes = ((n, d), (n, d), (d, d_head), (d, d_head), (d_head,), (d_head,))
    return OneHead(*(torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes))


def imbalance(wq: Float[Tensor, "r d_head"], wk: Float[Tensor, "r d_head"]) -> Float[Tensor, "d_head d_head"]:
    """``W_q^T W_q - W_k^T W_k``; of a head with biases they are the last rows."""
    return wq.T @ wq - wk.T @ wk


@check(one_head)
def flow_conserves_imbalance(head: OneHead) -> Comparisons:
    """The derivative of `imbalance` along the flow is 0, with biases as rows; steps of GD and Adam change it."""
    plain = _drift(head, head.wq, head.wk)
    rows = torch.cat([head.wq, head.bq[None]]), torch.cat([head.wk, head.bk[None]])
    biased = [_drift(head, *rows, kept=slice(None, end)) for end in (None, -1)]
    # a symmetric start: one factor twice
    gq, gk = _gradients(head, head.wq, head.wq)
    changed = {step: imbalance(head.wq - step * gq, head.wq - step * gk) for step in (RATE, RATE / 2)}
    signs = [imbalance(head.wq - step * gq.sign(), head.wq - step * gk.sign()).norm() for step in changed]
    yield exact("flow", plain)
    yield exact("biases", biased[0])
    yield compare("weights alone", biased[1], ">", 0, 1e-3)
    yield exact("descent", (changed[RATE] - RATE**2 * imbalance(gq, gk)).norm(), 0, 1e-13)
    yield exact("order", changed[RATE].norm() / changed[RATE / 2].norm(), 4, 1e-6)
    yield exact("adam", signs[0] / signs[1], 2, 0.05)


def _loss(head: OneHead, wq: Tensor, wk: Tensor) -> Tensor:
    """Squared error of softmax attention with the values x; depends on the factors through ``W_q W_k^T`` alone."""
    x = torch.cat([head.x, torch.ones(len(head.x), 1, dtype=head.x.dtype)], dim=1)[:, : len(wq)]
    return ((torch.softmax(x @ wq @ wk.T @ x.T, dim=-1) @ head.x - head.target) ** 2).sum()


def _gradients(head: OneHead, wq: Tensor, wk: Tensor) -> tuple[Tensor, Tensor]:
    factors = [w.clone().requires_grad_() for w in (wq, wk)]
    return torch.autograd.grad(_loss(head, *factors), factors)


def _drift(head: OneHead, wq: Tensor, wk: Tensor, kept: slice = slice(None)) -> Tensor:
    """Norm of the derivative of `imbalance` along the flow, by automatic differentiation; of some of the rows."""
    flow = [-g for g in _gradients(head, wq, wk)]
    _, moved = torch.autograd.functional.jvp(lambda q, k: imbalance(q[kept], k[kept]), (wq, wk), tuple(flow))
    return moved.norm()
