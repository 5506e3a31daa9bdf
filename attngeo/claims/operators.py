"""Remark S1.4: the terms of the raw decomposition as operators."""

from collections.abc import Callable

import torch
from torch import Tensor

from attngeo.bilinear import BilinearForm
from attngeo.claims.attention_example import CHAPTER, attention_example, distance, softmax_rows
from attngeo.claims.result import Comparison, Flaw, Result, Verdict, claim, exact


@claim
def linearity_cannot_fail(
    d: int = 16, seed: int = 0, matrix: Callable[[BilinearForm], Tensor] = lambda form: form.dense()
) -> Result:
    """Remark S1.4: of the axioms of an inner product W_qk can miss symmetry and positivity, never linearity."""
    e = attention_example(d, 3, 1, seed)
    m, (x, y, z) = matrix(e.form), e.x
    lowest = torch.linalg.eigvalsh((m + m.T) / 2).min()
    return Result(
        statement="S1.4",
        part="(axioms)",
        title="which axioms of an inner product can fail",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("departure from linearity", (2 * x - 3 * y) @ m @ z - 2 * (x @ m @ z) + 3 * (y @ m @ z), 0),
            Comparison("$x^\\top W_{qk} y - y^\\top W_{qk} x$", float(x @ m @ y - y @ m @ x), "≠", 0.0, 1e-6),
            Comparison("smallest $x^\\top W_{qk} x$ for $|x| = 1$", float(lowest), "<", 0.0, 1e-6),
        ),
        printed="$W_{qk}$ may miss the axioms of an inner product: linearity, symmetry, positive definiteness.",
        corrected="It may miss symmetry and positive definiteness; linear in each argument it is by Definition S1.2.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def operators_are_not_idempotent(
    d: int = 16, seed: int = 0, factor: Callable[[Tensor, Tensor], Tensor] = lambda m, x: x @ m @ x
) -> Result:
    """Remark S1.4: ``P_j(x) = (x^T W_qk x_j) x_j`` gives ``P_j P_j = (x_j^T W_qk x_j) P_j``."""
    e = attention_example(d, 2, 1, seed)
    m, x = e.form.dense(), e.x[0]
    p = torch.outer(x, m @ x)  # P(y) = x (W x)^T y = <y, W x> x
    c = factor(m, x)
    return Result(
        statement="S1.4",
        part="(operators)",
        title="the terms of the sum are no projections",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("distance of $P_j P_j$ from $(x_j^\\top W_{qk} x_j) P_j$", distance(p @ p, c * p), 0),
            Comparison("distance of $P_j P_j$ from $P_j$", distance(p @ p, p), "≠", 0.0, 0.1),
            exact("the same after division by $x_j^\\top W_{qk} x_j$", distance(p @ p / c**2, p / c), 0),
        ),
        printed="The $P_j$ are not projections since they are not nilpotent ($P_j \\circ P_j \\ne P_j$).",
        corrected="They are not *idempotent*: $P_j \\circ P_j = (x_j^\\top W_{qk} x_j)\\, P_j$, an oblique projection "
        "up to this factor.",
        remark="The formula in the remark is right; the word means $P^k = 0$ for some $k$.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def raw_scores_in_the_decomposition(
    d: int = 16,
    n_tokens: int = 8,
    seed: int = 0,
    coefficients: Callable[[Tensor], Tensor] = lambda raw: raw,
) -> Result:
    """Equation S17: the coefficients of the decomposition are the raw scores, not the attention weights."""
    e = attention_example(d, n_tokens, 1, seed)
    raw, m = e.raw()[0], e.form.dense()
    total = torch.stack([sum((x @ m @ y) * y for y in e.x) for x in e.x])
    return Result(
        statement="S1.4",
        part="Eq. S17",
        title="coefficients of the decomposition",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact(
                "distance of $\\sum_j \\hat\\alpha_{ij} x_j$ from the sum", distance(coefficients(raw) @ e.x, total), 0
            ),
            Comparison("the same with $\\alpha_{ij}$", distance(softmax_rows(raw) @ e.x, total), "≠", 0.0, 0.1),
        ),
        printed="$\\sum_j \\alpha_{ij} x_j = \\sum_j (x_i^\\top W_{qk} x_j)\\, x_j$.",
        corrected="$\\sum_j \\hat\\alpha_{ij} x_j = \\sum_j (x_i^\\top W_{qk} x_j)\\, x_j$, as in Eq. S14.",
        flaw=Flaw.MISPRINT,
        maybe_copying=True,
        chapter=CHAPTER,
    )
