"""Equation 1 where queries and keys are rotated by their positions: which forms give symmetric scores."""

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from attngeo.chapters.bilinear_form.attention_example import distance
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparisons, check, compare, exact


class RotaryExample(NamedTuple):
    """Tokens, factors of one head, and two symmetric matrices S for ``W_k = W_q S``."""

    x: Tensor  # (N, d)
    wq: Tensor  # (d, d_head)
    wk: Tensor  # (d, d_head)
    symmetric: Tensor  # (d_head, d_head)
    commuting: Tensor  # (d_head, d_head): one number for each plane of rotation


def rotary_example(d: int = 16, d_head: int = 6, n_tokens: int = 8, seed: int = 0) -> RotaryExample:
    """Normal entries."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (n_tokens, d), (d, d_head), (d, d_head), (d_head, d_head), (d_head // 2,)
    x, wq, wk, s, planes = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return RotaryExample(x, wq, wk, s + s.T, planes.repeat_interleave(2).diag())


def rotation(m: int, d_head: int) -> Tensor:
    """``R_m``: neighbouring coordinates turned by ``m 10000^(-2c / d_head)``, c the number of their plane."""
    angles = m * 10_000.0 ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    turned = [torch.stack([a.cos(), -a.sin(), a.sin(), a.cos()]).view(2, 2) for a in angles]
    return torch.block_diag(*turned)


def scores(x: Tensor, wq: Tensor, wk: Tensor) -> Tensor:
    """``(R_i W_q^T x_i) . (R_j W_k^T x_j)``, (N, N)."""
    turns = torch.stack([rotation(i, wq.shape[1]) for i in range(len(x))])
    q, k = (torch.einsum("nab,nb->na", turns, x @ w) for w in (wq, wk))
    return q @ k.T


def form_at_offset(wq: Tensor, wk: Tensor, m: int) -> Tensor:
    """``W_q R_m W_k^T``: the form of the pairs (i, i + m)."""
    return wq @ rotation(m, wq.shape[1]) @ wk.T


def skew_by_offsets(wq: Tensor, wk: Tensor) -> Tensor:
    """``W_qk - W_qk^T`` from the offsets 1 to d_head alone, by the characteristic polynomial of ``R_1``."""
    n = wq.shape[1]
    p = torch.from_numpy(np.poly(rotation(1, n).numpy())).flip(0)  # p[m] goes with R_1^m
    return sum(-p[m] / p[0] * (form_at_offset(wq, wk, m) - form_at_offset(wk, wq, m)) for m in range(1, n + 1))


@check(rotary_example)
def rotary_scores(e: RotaryExample) -> Comparisons:
    """``a_ij - a_ji = x_i^T (W_q R_m W_k^T - W_k R_m W_q^T) x_j`` with m = j - i, and when it vanishes."""
    n, a = len(e.x), scores(e.x, e.wq, e.wk)
    skew = [form_at_offset(e.wq, e.wk, m) - form_at_offset(e.wk, e.wq, m) for m in range(1 - n, n)]
    predicted = torch.stack(
        [torch.stack([x @ skew[j - i + n - 1] @ y for j, y in enumerate(e.x)]) for i, x in enumerate(e.x)]
    )
    commuting, symmetric = (scores(e.x, e.wq, e.wq @ s) for s in (e.commuting, e.symmetric))
    yield exact("difference", distance(predicted, a - a.T))
    yield exact("commuting", (commuting - commuting.T).abs().max())
    yield compare("symmetric", (symmetric - symmetric.T).abs().max(), ">", 0, 0.1)
    yield exact("score", symmetry_score(form_at_offset(e.wq, e.wq @ e.symmetric, 0)), 1)
    dense, turned = e.wq @ e.wk.T, e.wq @ e.symmetric @ rotation(1, e.wq.shape[1])
    yield exact("offsets", distance(skew_by_offsets(e.wq, e.wk), dense - dense.T))
    yield exact("one offset", symmetry_score(form_at_offset(e.wq, turned, 1)), 1)
    yield compare("one offset, form", symmetry_score(form_at_offset(e.wq, turned, 0)), "<", 1, 0.01)
