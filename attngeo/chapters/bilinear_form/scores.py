"""Sections 2.1, S1.1 and S1.2: attention scores as a bilinear form, and what softmax leaves of their order."""

from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.bilinear_form.attention_example import (
    AttentionExample,
    attention_example,
    distance,
    order_violations,
    softmax_rows,
)
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact


def query_key_matrix(wq: Tensor, wk: Tensor) -> Tensor:
    """``W_qk = W_q W_k^T`` (Eq. 2)."""
    return wq @ wk.T


@check(attention_example, n_heads=1)
def scores_are_a_bilinear_form(e: AttentionExample) -> Comparisons:
    """Equations 1, 2: ``q_i . k_j = x_i^T W_qk x_j``."""
    wq, wk = e.form.wq[0], e.form.wk[0]
    w = query_key_matrix(wq, wk)
    dots = (e.x @ wq) @ (e.x @ wk).T
    yield exact("all pairs", distance(e.x @ w @ e.x.T, dots))
    yield exact("one pair", e.x[0] @ w @ e.x[1] - dots[0, 1])


@check(attention_example, n_tokens=24)
def order_of_scores_is_kept(e: AttentionExample) -> Comparisons:
    """Proposition 2.1: within a row, weights are ordered as raw scores are, and they are convex coefficients."""
    raw = e.raw()
    a = softmax_rows(raw)
    # a point is in the convex hull if no direction shows it further out than every token
    reach = ((a @ e.x) @ e.directions).amax((0, 1)) - (e.x @ e.directions).amax(0)
    yield exact("order", order_violations(a, raw), 0, 0)
    yield exact("order of small scores", order_violations(softmax_rows(raw / 100), raw), 0, 0)
    yield exact("row sums", (a.sum(-1) - 1).abs().max())
    yield compare("smallest", a.min(), ">")
    yield compare("hull", reach.max(), "<")


@check(attention_example)
def suppressed_scores(e: AttentionExample) -> Comparisons:
    """The sentence before Eq. S15: softmax sees differences of scores, not their signs or magnitudes."""
    raw = e.raw()
    a, negative = softmax_rows(raw), raw - raw.amax(-1, keepdim=True) - 1
    ratios = a.log()[..., :, None] - a.log()[..., None, :] - (raw[..., :, None] - raw[..., None, :])
    yield exact("ratio", ratios.abs().max())
    yield exact("shifted", (softmax_rows(negative) - a).abs().max())
    yield compare("largest of negatives", len(e.x) * softmax_rows(negative).amax(-1).min(), ">", 1)


def attended(n: int) -> Tensor:
    """Which position (row) attends to which (column) in a decoder, (n, n)."""
    return torch.ones(n, n).tril().bool()


@check(attention_example, n_tokens=24)
def order_with_a_causal_mask(e: AttentionExample) -> Comparisons:
    """Equation 5 in a decoder: the order is kept among the tokens that a row may attend to, and only there."""
    raw = e.raw()
    a = softmax_rows(raw.masked_fill(torch.ones(raw.shape[1:]).triu(1).bool(), float("-inf")))
    yield exact("within", order_violations(a, raw, attended(len(e.x)).expand_as(raw)), 0, 0)
    yield compare("all", order_violations(a, raw), ">")


def summand(x: Tensor, wv: Tensor) -> Tensor:
    """``x_j^T W_v``: what one token, a column x_j, adds to another."""
    return x @ wv


@check(attention_example, n_heads=1)
def values_enter_as_rows(e: AttentionExample) -> Judgement:
    """Equations 3, S16: the summand is ``x_j^T W_v``."""
    a = softmax_rows(e.raw()[0] * e.form.d_model**-0.5)
    whole = e.x + a @ e.x @ e.wv[0]  # Eq. S11
    rows = e.x + a @ torch.stack([summand(x, e.wv[0]) for x in e.x])
    columns = e.x + a @ torch.stack([e.wv[0] @ x for x in e.x])
    return Judgement(exact("rows", distance(rows, whole)), compare("columns", distance(columns, whole), "≠", 0, 0.1))


class Embedded(NamedTuple):
    """Tokens, and the embeddings of a vocabulary."""

    tokens: Tensor  # (N,)
    we: Tensor  # (V, d)


def embedded_tokens(vocabulary: int = 50, n_tokens: int = 12, d: int = 8, seed: int = 0) -> Embedded:
    """Uniform tokens and normal embeddings."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocabulary, (n_tokens,), generator=generator)
    return Embedded(tokens, torch.randn(vocabulary, d, generator=generator, dtype=torch.float64))


def rows_of_positions(example: Embedded) -> int:
    """Rows of W_p: one per position."""
    return len(example.tokens)


@check(embedded_tokens)
def shape_of_the_positions(e: Embedded) -> Comparisons:
    """Equation S1: ``W_p`` has one row per position."""
    embedded = torch.nn.functional.one_hot(e.tokens, len(e.we)).double() @ e.we
    yield exact("chosen", distance(embedded, e.we[e.tokens]))
    yield exact("rows", rows_of_positions(e) - len(embedded), 0, 0)
    yield compare("as printed", len(e.we) - len(embedded), "≠")


def bilinear(m: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """``M(x, y) = x^T M y``."""
    return x @ m @ y


@check(attention_example, d=16, n_tokens=3, n_heads=1)
def form_is_linear_in_each_argument(e: AttentionExample) -> Comparisons:
    """Definition S1.2: ``M(x, y) = x^T M y`` is linear in x and in y, and its matrix has the entries M(e_i, e_j)."""
    m, (x, y, z), a, b = e.form.dense(), e.x[:3], 1.5, -0.7
    unit = torch.eye(len(m), dtype=m.dtype)
    entries = torch.stack([torch.stack([bilinear(m, u, v) for v in unit]) for u in unit])
    first = bilinear(m, a * x + b * y, z) - a * bilinear(m, x, z) - b * bilinear(m, y, z)
    second = bilinear(m, x, a * y + b * z) - a * bilinear(m, x, y) - b * bilinear(m, x, z)
    yield exact("first argument", first)
    yield exact("second argument", second)
    yield exact("entries", distance(entries, m))
