"""Sections 2.1, S1.1 and S1.2: attention scores as a bilinear form, and what softmax leaves of their order."""

from collections.abc import Callable

import torch
from torch import Tensor

from attngeo.claims.attention_example import CHAPTER, attention_example, distance, order_violations, softmax_rows
from attngeo.claims.result import Comparison, Flaw, Result, Verdict, claim, exact


@claim
def scores_are_a_bilinear_form(
    d: int = 32,
    n_tokens: int = 12,
    seed: int = 0,
    predicted: Callable[[Tensor, Tensor], Tensor] = lambda wq, wk: wq @ wk.T,
) -> Result:
    """Equations 1, 2: ``q_i . k_j = x_i^T W_qk x_j``."""
    e = attention_example(d, n_tokens, 1, seed)
    wq, wk = e.form.wq[0], e.form.wk[0]
    w = predicted(wq, wk)
    dots = (e.x @ wq) @ (e.x @ wk).T
    return Result(
        statement="Eq. 1",
        part="",
        title="scores are a bilinear form of the embeddings",
        verdict=Verdict.HOLDS,
        comparisons=(
            exact("relative distance of $X W_{qk} X^\\top$ from $Q K^\\top$", distance(e.x @ w @ e.x.T, dots), 0),
            exact("one pair: $x_i^\\top W_{qk} x_j - q_i \\cdot k_j$", e.x[0] @ w @ e.x[1] - dots[0, 1], 0),
        ),
        chapter=CHAPTER,
    )


@claim
def order_of_scores_is_kept(
    d: int = 32,
    n_heads: int = 4,
    n_tokens: int = 24,
    seed: int = 0,
    weights: Callable[[Tensor], Tensor] = softmax_rows,
) -> Result:
    """Proposition 2.1: within a row, weights are ordered as raw scores are, and they are convex coefficients."""
    e = attention_example(d, n_tokens, n_heads, seed)
    raw, a = e.raw(), weights(e.raw())
    # a point is in the convex hull if no direction shows it further out than every token
    directions = torch.randn(d, 256, generator=torch.Generator().manual_seed(seed + 1), dtype=e.x.dtype)
    reach = ((a @ e.x) @ directions).amax((0, 1)) - (e.x @ directions).amax(0)
    return Result(
        statement="2.1",
        part="",
        title="attention weights keep the order of the raw scores",
        verdict=Verdict.HOLDS,
        comparisons=(
            exact("triples (i, j, j') out of order, all heads", order_violations(a, raw), 0, 0),
            exact("the same with scores divided by 100", order_violations(weights(raw / 100), raw), 0, 0),
            exact("largest distance of a row sum from 1", (a.sum(-1) - 1).abs().max(), 0),
            Comparison("smallest weight", float(a.min()), ">", 0.0, 0.0),
            Comparison(
                "how far any mean lies outside the tokens, of 256 directions", float(reach.max()), "<", 0.0, 0.0
            ),
        ),
        remark="Within one row i. Rows have different denominators, so weights of different rows are not comparable.",
        chapter=CHAPTER,
    )


@claim
def order_with_a_causal_mask(
    d: int = 32,
    n_heads: int = 4,
    n_tokens: int = 24,
    seed: int = 0,
    allowed: Callable[[int], Tensor] = lambda n: torch.ones(n, n).tril().bool(),
) -> Result:
    """Equation 5 in a decoder: the order is kept among the tokens that a row may attend to, and only there."""
    e = attention_example(d, n_tokens, n_heads, seed)
    raw, mask = e.raw(), torch.ones(n_tokens, n_tokens).tril().bool()
    a = softmax_rows(raw.masked_fill(~mask, float("-inf")))
    within = order_violations(a, raw, allowed(n_tokens).expand_as(raw))
    return Result(
        statement="2.1",
        part="(causal rows)",
        title="the order of scores in a decoder",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            exact("triples out of order among tokens that may be attended to", within, 0, 0),
            Comparison("triples out of order among all tokens", float(order_violations(a, raw)), ">", 0.0, 0.0),
        ),
        printed="$\\alpha_{ij} < \\alpha_{ij'} \\Leftrightarrow \\hat\\alpha_{ij} < \\hat\\alpha_{ij'}$ for all $i, j, "
        "j'$.",
        corrected="For all $i$ and all $j, j'$ that $i$ may attend to; with a causal mask, $j, j' \\le i$.",
        remark="The proposition describes attention without a mask, which is that of encoders.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def values_enter_as_rows(
    d: int = 32,
    n_tokens: int = 12,
    seed: int = 0,
    predicted: Callable[[Tensor, Tensor], Tensor] = lambda x, wv: x @ wv,
) -> Result:
    """Equations 3, S16: the summand is ``x_j^T W_v``. ``predicted`` maps one column x_j and W_v to a row."""
    e = attention_example(d, n_tokens, 1, seed)
    a = softmax_rows(e.raw()[0] * d**-0.5)
    whole = e.x + a @ e.x @ e.wv[0]  # Eq. S11
    rows = e.x + a @ torch.stack([predicted(x, e.wv[0]) for x in e.x])
    columns = e.x + a @ torch.stack([e.wv[0] @ x for x in e.x])
    return Result(
        statement="2.1",
        part="Eqs. 3, S16",
        title="what one token adds to another",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("distance of the sum of $\\alpha_{ij} x_j^\\top W_v$ from Eq. S11", distance(rows, whole), 0),
            Comparison("the same with $W_v x_j$", distance(columns, whole), "≠", 0.0, 0.1),
        ),
        printed="$\\hat x_i^\\top = x_i^\\top + \\sum_j \\alpha_{ij} x_j W_v$, with $x_j$ a column.",
        corrected="$\\hat x_i^\\top = x_i^\\top + \\sum_j \\alpha_{ij} x_j^\\top W_v$.",
        remark="The product as printed does not exist; the one order in which a column fits, $W_v x_j$, is another "
        "vector. The statement also counts $x_0$ to $x_N$ as $N$ tokens.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def shape_of_the_positions(
    vocabulary: int = 50, n_tokens: int = 12, d: int = 8, seed: int = 0, rows: int | None = None
) -> Result:
    """Equation S1: ``W_p`` has one row per position. ``rows`` is how many it is given, N unless told."""
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocabulary, (n_tokens,), generator=generator)
    we = torch.randn(vocabulary, d, generator=generator, dtype=torch.float64)
    embedded = torch.nn.functional.one_hot(tokens, vocabulary).double() @ we
    return Result(
        statement="S1.1",
        part="Eq. S1",
        title="the shape of the positional embedding",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact(
                "distance of $U W_e$ from the rows of $W_e$ that the tokens choose", distance(embedded, we[tokens]), 0
            ),
            exact("rows of $W_p$ less rows of $U W_e$", (n_tokens if rows is None else rows) - len(embedded), 0, 0),
            Comparison("the same with the printed number of rows, V", float(vocabulary - len(embedded)), "≠", 0.0, 0.0),
        ),
        printed="$X_0 = U W_e + W_p$ with $W_p \\in \\mathbb{R}^{V, d}$.",
        corrected="$W_p \\in \\mathbb{R}^{N, d}$: one row per position.",
        flaw=Flaw.MISPRINT,
        maybe_copying=True,
        chapter=CHAPTER,
    )


@claim
def form_is_linear_in_each_argument(
    d: int = 16,
    seed: int = 0,
    form: Callable[[Tensor, Tensor, Tensor], Tensor] = lambda m, x, y: x @ m @ y,
) -> Result:
    """Definition S1.2: ``M(x, y) = x^T M y`` is linear in x and in y, and its matrix has the entries M(e_i, e_j)."""
    e = attention_example(d, 3, 1, seed)
    m, (x, y, z), a, b = e.form.dense(), e.x, 1.5, -0.7
    unit = torch.eye(d, dtype=m.dtype)
    entries = torch.stack([torch.stack([form(m, unit[i], unit[j]) for j in range(d)]) for i in range(d)])
    first = form(m, a * x + b * y, z) - a * form(m, x, z) - b * form(m, y, z)
    second = form(m, x, a * y + b * z) - a * form(m, x, y) - b * form(m, x, z)
    return Result(
        statement="S1.2",
        part="",
        title="a bilinear form and its matrix",
        verdict=Verdict.HOLDS,
        comparisons=(
            exact("departure from linearity in the first argument", first, 0),
            exact("departure from linearity in the second argument", second, 0),
            exact("distance of the entries $M(e_i, e_j)$ from $W_{qk}$", distance(entries, m), 0),
        ),
        chapter=CHAPTER,
    )
