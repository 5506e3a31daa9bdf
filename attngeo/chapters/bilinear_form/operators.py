"""Remark S1.4: the terms of the raw decomposition as operators."""

import torch
from torch import Tensor

from attngeo.chapters.bilinear_form.attention_example import AttentionExample, attention_example, distance, softmax_rows
from attngeo.forms.bilinear import BilinearForm
from attngeo.paper.checks import Comparisons, check, compare, exact


def matrix_of(form: BilinearForm) -> Tensor:
    """The matrix that is judged as an inner product, ``W_qk``."""
    return form.dense()


@check(attention_example, d=16, n_tokens=3, n_heads=1)
def linearity_cannot_fail(e: AttentionExample) -> Comparisons:
    """Remark S1.4: of the axioms of an inner product W_qk can miss symmetry and positivity, never linearity."""
    m, (x, y, z) = matrix_of(e.form), e.x[:3]
    yield exact("linearity", (2 * x - 3 * y) @ m @ z - 2 * (x @ m @ z) + 3 * (y @ m @ z))
    yield compare("symmetry", x @ m @ y - y @ m @ x, "≠", 0, 1e-6)
    yield compare("positivity", torch.linalg.eigvalsh((m + m.T) / 2).min(), "<", 0, 1e-6)


def factor(m: Tensor, x: Tensor) -> Tensor:
    """``P_j P_j = c P_j`` with ``c = x_j^T W_qk x_j``."""
    return x @ m @ x


@check(attention_example, d=16, n_heads=1)
def operators_are_not_idempotent(e: AttentionExample) -> Comparisons:
    """Remark S1.4: ``P_j(x) = (x^T W_qk x_j) x_j`` gives ``P_j P_j = (x_j^T W_qk x_j) P_j``."""
    m, x = e.form.dense(), e.x[0]
    p = torch.outer(x, m @ x)  # P(y) = x (W x)^T y = <y, W x> x
    c = factor(m, x)
    yield exact("product", distance(p @ p, c * p))
    yield compare("idempotent", distance(p @ p, p), "≠", 0, 0.1)
    yield exact("divided", distance(p @ p / c**2, p / c))


def coefficients(raw: Tensor) -> Tensor:
    """Of the decomposition: the raw scores themselves."""
    return raw


@check(attention_example, d=16, n_tokens=8, n_heads=1)
def raw_scores_in_the_decomposition(e: AttentionExample) -> Comparisons:
    """Equation S17: the coefficients of the decomposition are the raw scores, not the attention weights."""
    raw, m = e.raw()[0], e.form.head(0)
    total = torch.stack([sum((x @ m @ y) * y for y in e.x) for x in e.x])
    yield exact("raw", distance(coefficients(raw) @ e.x, total))
    yield compare("weights", distance(softmax_rows(raw) @ e.x, total), "≠", 0, 0.1)
