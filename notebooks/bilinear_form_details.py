# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: The bilinear form
#
# This page contains the definitions and the remaining checks for [the page on symmetric query-key
# matrices](bilinear_form.py), as well as a theorem on how rotary position embeddings affect symmetry. We also point out
# slips in the paper, none of which affects its conclusions.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding, a multiple of n_heads; in [8, 512]
n_heads: int = 4  # attention heads; in [2, 16]
n_tokens: int = 12  # tokens of a sequence; in [4, 64]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import symmetry_score
from attngeo.gradients.rank_one import relative_error
from chapters.bilinear_form import order_violations, random_layer
from chapters.bilinear_form.forward_pass import forward_pass
from livingpaper.claims.claim import Verdict, claim, compare, exact
from livingpaper.display.page import glue, show

one_head = {"d": d, "n_tokens": n_tokens, "seed": seed}
several = one_head | {"n_heads": n_heads}
layer = random_layer(d, n_tokens, n_heads, seed)
forms = torch.stack(list(layer.form.heads()))  # (n_heads, d, d)
by_head, by_mean = (
    torch.softmax(layer.form.d_head**-0.5 * (layer.x @ m @ layer.x.T), -1)
    for m in (forms, forms.mean(0).expand_as(forms))
)
glue("gap", float((by_head - by_mean).abs().max()), ".2f")

# %% [markdown]
# ## The architecture
#
# ````{prf:definition} Def. S1.1 of the paper: Transformer
# :label: def-s1-1
#
# Let each row of $U \in \{0, 1\}^{N \times V}$ be the one-hot vector of one token. A Transformer with $L$ layers maps
#
# $$
# X_0 = U W_e + W_p, \qquad \hat X_l = X_{l-1} + a_l(X_{l-1}), \qquad X_l = \hat X_l + m_l(\hat X_l),
# $$ (eq-s1-1)
#
# for $l = 1, \dots, L$, to the distributions $\sigma(X_L W_u)$ over the vocabulary. Here, $\sigma$ is the softmax of each
# row, $m_l$ is a feedforward layer that is applied to each row, and $a_l$ is attention with the matrices $\Wq, \Wk, W_v \in
# \R^{d \times d}$,
#
# $$
# a(X) = A(X)\, X W_v, \qquad A(X) = \sigma\bigl(d^{-1/2}\, X \Wq (X \Wk)\T\bigr) .
# $$ (eq-s1-3)
#
# We omit biases and layer normalisation.
# ````
#
# In the paper, the matrix of position embeddings has the shape $V \times d$, where $V$ is the size of the vocabulary.
# However, this matrix is added to a matrix with one row per position, so it must also have one row per position.


# %%
def rows_of_positions(tokens: Tensor, embeddings: Tensor) -> int:
    """Rows of W_p: one per position."""
    return len(tokens)


@claim(
    "S1.1",
    "Eq. S1",
    "the matrix of position embeddings has one row per position",
    Verdict.MISPRINT,
    printed=r'"$W_p \in \mathbb{R}^{V,d}$ represents the positional encoding" in $X_0 = U W_e + W_p$.',
    place="Definition S1.1, Eq. S1",
    holds=r"$W_p \in \mathbb{R}^{N, d}$ has one row per position.",
    maybe_copying=True,
)
def shape_of_the_positions(vocabulary=50, n_tokens=12, d=8, seed=0):
    generator = torch.Generator().manual_seed(seed)
    tokens = torch.randint(vocabulary, (n_tokens,), generator=generator)
    we = torch.randn(vocabulary, d, generator=generator, dtype=torch.float64)
    embedded = torch.nn.functional.one_hot(tokens, len(we)).double() @ we
    chosen = relative_error(embedded, we[tokens])
    yield exact("distance of $U W_e$ from the rows of $W_e$ that belong to the tokens", chosen)
    yield exact(
        "number of rows of $W_p$ minus number of rows of $U W_e$", rows_of_positions(tokens, we) - len(embedded), 0, 0
    )
    yield compare("number of rows of $W_p$ as printed minus number of rows of $U W_e$", len(we) - len(embedded), "≠")


show(shape_of_the_positions(n_tokens=n_tokens, seed=seed))

# %% [markdown]
# {numref}`fig-forward-pass` shows what a single layer of this kind computes for a sentence of six words. Choose a token and
# move the first slider to follow this token from its embedding to the prediction. Then change the mask and observe which of
# the steps change.

# %% tags=["remove-input"]
forward_pass(seed)

# %% [markdown]
# ## Bilinear forms
# ````{prf:definition} Def. S1.2 of the paper: bilinear form
# :label: def-s1-2
#
# A map $M : \R^d \times \R^d \to \R$ is a *bilinear form* if it is linear in each argument. Given a basis $e_1, \dots, e_d$,
# the form is described by the matrix with the entries $M(e_i, e_j)$. If we denote this matrix by $M$ as well, then $M(x,
# y) = x\T M y$ in coordinates.
# ````


# %%
def bilinear(m: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """``M(x, y) = x^T M y``."""
    return x @ m @ y


@claim("S1.2", "", "a bilinear form is linear in each argument and is described by a matrix", Verdict.HOLDS)
def form_is_linear_in_each_argument(d=16, seed=0):
    layer = random_layer(d, 3, 1, seed)
    m, (x, y, z), a, b = layer.form.dense(), layer.x, 1.5, -0.7
    unit = torch.eye(len(m), dtype=m.dtype)
    entries = torch.stack([torch.stack([bilinear(m, u, v) for v in unit]) for u in unit])
    first = bilinear(m, a * x + b * y, z) - a * bilinear(m, x, z) - b * bilinear(m, y, z)
    second = bilinear(m, x, a * y + b * z) - a * bilinear(m, x, y) - b * bilinear(m, x, z)
    yield exact("departure from linearity in the first argument", first)
    yield exact("departure from linearity in the second argument", second)
    yield exact("distance of the entries $M(e_i, e_j)$ from $W_{qk}$", relative_error(entries, m))


show(form_is_linear_in_each_argument(d=d, seed=seed))

# %% [markdown]
# The raw score $\hat\alpha_{ij} = x_i\T \Wqk x_j$ in {eq}`eq-1` is a bilinear form of the two embeddings, and $\Wqk$ is the matrix of this form.


# %%
def query_key_matrix(wq: Tensor, wk: Tensor) -> Tensor:
    """``W_qk = W_q W_k^T`` (Eq. 2)."""
    return wq @ wk.T


@claim("Eq. 1", "", "scores are a bilinear form of the embeddings", Verdict.HOLDS)
def scores_are_a_bilinear_form(d=32, n_tokens=12, seed=0):
    x, form, *_ = random_layer(d, n_tokens, 1, seed)
    wq, wk = form.wq[0], form.wk[0]
    w_qk, raw_scores = query_key_matrix(wq, wk), (x @ wq) @ (x @ wk).T
    everything = r"relative distance of $X W_{qk} X^\top$ from $Q K^\top$"
    yield exact(everything, relative_error(x @ w_qk @ x.T, raw_scores))
    pair = r"one pair: $x_i^\top W_{qk} x_j - q_i \cdot k_j$"
    yield exact(pair, x[0] @ w_qk @ x[1] - raw_scores[0, 1])


show(scores_are_a_bilinear_form(d=d, n_tokens=n_tokens, seed=seed), unfolded=True)

# %% [markdown]
# ## The softmax keeps the order within a row
#
# ````{prf:proposition} Prop. 2.1 of the paper: attention weights keep the order of the raw scores
# :label: prop-2-1
#
# Let $\hat\alpha_{ij} = x_i\T \Wqk x_j$ for embeddings $x_1, \dots, x_N \in \R^d$, and $\alpha_{ij} = \exp(\hat\alpha_{ij} /
# \tau) / Z_i$ where $Z_i = \sum_k \exp(\hat\alpha_{ik} / \tau)$ and $\tau > 0$. Then the following statements are true for
# every row $i$:
#
# 1. The weights are the coefficients of a convex combination: $\alpha_{ij} > 0$ and $\sum_j \alpha_{ij} = 1$.
# 2. The weights have the same order as the raw scores:
#    $\alpha_{ij} < \alpha_{ij'} \Leftrightarrow \hat\alpha_{ij} < \hat\alpha_{ij'}$.
# 3. To each embedding, attention adds a convex combination of all embeddings, mapped by $W_v$:
#
# $$
# \hat x_i\T = x_i\T + \sum_{j=1}^N \alpha_{ij}\, x_j\T W_v .
# $$ (eq-2-1)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The map $t \mapsto \exp(t / \tau) / Z_i$ is positive and strictly increasing, and $\alpha_{ij}$ is its value at
# $\hat\alpha_{ij}$. This proves statement 2 and the first half of statement 1. The second half of statement 1 follows from
# the definition of $Z_i$. To prove statement 3, we note that row $i$ of $\hat X = X + A X W_v$ is $x_i\T + \sum_j
# \alpha_{ij} (x_j\T W_v)$. By statement 1, the vector $\sum_j \alpha_{ij} x_j$ lies in the convex hull of the $x_j$. The
# proof is the same for every $\tau$, so the scale of the scores does not matter.
# ```
# ````


# %%
@claim(
    "2.1",
    "",
    "attention weights keep the order of the raw scores",
    Verdict.HOLDS,
    remark="The statement is true within each row. Different rows have different denominators, so their weights are not comparable.",
)
def order_of_scores_is_kept(d=32, n_tokens=24, n_heads=4, seed=0):
    layer = random_layer(d, n_tokens, n_heads, seed)
    raw, x, directions = layer.raw(), layer.x, layer.directions
    weights, small = torch.softmax(raw, -1), torch.softmax(raw / 100, -1)
    # a point is in the convex hull if no direction shows it further out than every token
    reach = ((weights @ x) @ directions).amax((0, 1)) - (x @ directions).amax(0)
    yield exact(
        "number of triples $(i, j, j')$ whose weights and scores differ in order, all heads",
        order_violations(weights, raw),
        0,
        0,
    )
    yield exact("number of such triples if the scores are divided by 100", order_violations(small, raw), 0, 0)
    yield exact("largest distance of a row sum from 1", (weights.sum(-1) - 1).abs().max())
    yield compare("smallest weight", weights.min(), ">")
    yield compare(
        "largest distance by which a weighted mean lies beyond all tokens, in 256 directions", reach.max(), "<"
    )


show(order_of_scores_is_kept(**several))

# %% [markdown]
# The weights of two different rows cannot be compared, because each row has its own denominator $Z_i$.
#
# ## The order of scores, row by row
#
# According to {prf:ref}`prop-2-1`, the attention weights of a row increase with its raw scores. In a decoder, row $i$
# attends only to positions $j \le i$. Later positions receive the weight 0, regardless of their raw scores. The equivalence
# in the proposition is therefore true only for the positions that a row may attend to.


# %%
def attended(n: int) -> Tensor:
    """Which position (row) attends to which (column) in a decoder, (n, n)."""
    return torch.ones(n, n).tril().bool()


@claim(
    "2.1",
    "(causal rows)",
    "in a decoder, attention weights keep the order of the raw scores",
    Verdict.ASSUMPTION,
    printed=r""""$\alpha_{ij} < \alpha_{ij'} \Leftrightarrow \hat\alpha_{ij} < \hat\alpha_{ij'} \quad \forall i, j, j'$".""",
    place="Proposition 2.1, Eq. 5",
    holds="The equivalence is true for all $i$ and all $j, j'$ that $i$ may attend to. With a causal mask, these are the positions $j, j' \\le i$.",
    remark="The proposition describes attention without a mask, as in encoders.",
    missing=("causal mask", "attend to"),
)
def order_with_a_causal_mask(d=32, n_tokens=24, n_heads=4, seed=0):
    raw = random_layer(d, n_tokens, n_heads, seed).raw()
    weights = torch.softmax(raw.masked_fill(torch.ones(raw.shape[1:]).triu(1).bool(), float("-inf")), -1)
    within = order_violations(weights, raw, attended(n_tokens).expand_as(raw))
    yield exact(
        "number of triples whose weights and scores differ in order, among tokens that may be attended to", within, 0, 0
    )
    yield compare(
        "number of triples whose weights and scores differ in order, among all tokens",
        order_violations(weights, raw),
        ">",
        paper="= 0",
    )


show(order_with_a_causal_mask(**several))

# %% [markdown]
# In the sum in the proposition, each token contributes the row $x_j\T W_v$. The paper writes $x_j W_v$, which multiplies a
# column by a square matrix from the wrong side.


# %%
def summand(x: Tensor, wv: Tensor) -> Tensor:
    """``x_j^T W_v``: what one token, a column x_j, adds to another."""
    return x @ wv


@claim(
    "2.1",
    "Eqs. 3, S16",
    r"each token contributes the row $x_j^\top W_v$",
    Verdict.MISPRINT,
    printed=r'"$\hat x_i^\top = x_i^\top + \sum_{j=1}^N \alpha_{ij} x_j W_v$", with $x_j$ a column.',
    place="Section 2.1, Eq. 3, and Section S1.2, Eq. S16",
    holds=r"$\hat x_i^\top = x_i^\top + \sum_j \alpha_{ij} x_j^\top W_v$.",
    remark="""The printed product is not defined, because $x_j$ is a column. The product $W_v x_j$ is defined, but it
    is a different vector. Moreover, the paper counts the tokens $x_0$ to $x_N$ as $N$ tokens.""",
)
def values_enter_as_rows(d=32, n_tokens=12, seed=0):
    layer = random_layer(d, n_tokens, 1, seed)
    x, wv, weights = layer.x, layer.wv[0], torch.softmax(layer.raw()[0] * d**-0.5, -1)
    whole = x + weights @ x @ wv  # Eq. S11
    rows = x + weights @ torch.stack([summand(token, wv) for token in x])
    columns = x + weights @ torch.stack([wv @ token for token in x])
    yield exact(r"distance of the sum of $\alpha_{ij} x_j^\top W_v$ from Eq. S11", relative_error(rows, whole))
    printed = relative_error(columns, whole)
    yield compare(r"distance of the sum of $\alpha_{ij} W_v x_j$ from Eq. S11", printed, "≠", 0, 0.1)


show(values_enter_as_rows(**one_head))

# %% [markdown]
# The paper's proof also states that the softmax suppresses negative and near-zero scores. However, the softmax does not
# depend on whether a score is negative, because no weight changes if the same number is added to all scores of a row.
# Instead, the softmax suppresses the scores that are much lower than the largest score of their row.


# %%
@claim(
    "2.1",
    "(before Eq. S15)",
    "the softmax suppresses negative and near-zero scores",
    Verdict.ASSUMPTION,
    printed=r"""The coefficients "preserve the order of the coefficients $\{\hat\alpha_{ij}\}$ while exponentially suppressing
    negative and near-zero values".""",
    place="Section S1.2, before Eq. S15",
    holds=r"""The softmax suppresses scores that are much lower than the largest score of their row, because $\alpha_{ij} =
    e^{\hat\alpha_{ij} - \hat\alpha_{ij'}} \alpha_{ij'}$. If the largest score of a row is well above 0, the suppressed scores are the
    negative and near-zero scores.""",
    missing=("largest score",),
)
def suppressed_scores(d=32, n_tokens=12, n_heads=4, seed=0):
    raw = random_layer(d, n_tokens, n_heads, seed).raw()
    logs, negative = torch.softmax(raw, -1).log(), raw - raw.amax(-1, keepdim=True) - 1
    ratios = logs[..., :, None] - logs[..., None, :] - (raw[..., :, None] - raw[..., None, :])
    shifted = torch.softmax(negative, -1)
    largest = n_tokens * shifted.amax(-1).min()
    ratio = r"largest distance of $\log(\alpha_{ij} / \alpha_{ij'})$ from $\hat\alpha_{ij} - \hat\alpha_{ij'}$"
    yield exact(ratio, ratios.abs().max())
    change = "largest change of a weight if all scores of the row are shifted below 0"
    yield exact(change, (shifted - torch.softmax(raw, -1)).abs().max())
    words = "N times the largest weight of a row, smallest value over all rows, if all scores are negative"
    yield compare(words, largest, ">", 1, paper="< 1")


show(suppressed_scores(**several))

# %% [markdown]
# ## Each term as an operator
#
# ````{prf:remark} Remark S1.4 of the paper: a decomposition that is no projection
# :label: rem-s1-4
#
# If raw scores replace the weights, the sum in {eq}`eq-2-1` becomes $\sum_j \hat\alpha_{ij} x_j = \sum_j P_j(x_i)$, where
#
# $$
# P_j(x) = (x\T \Wqk x_j)\, x_j = x_j\, (\Wqk x_j)\T x .
# $$ (eq-s1-4)
#
# The map $P_j$ is linear and has rank 1. Its image is spanned by $x_j$, and we have $P_j P_j = (x_j\T \Wqk x_j)\, P_j$. The
# map is therefore *idempotent* (that is, a projection) only if $x_j\T \Wqk x_j = 1$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The matrix of $P_j$ is $x_j (\Wqk x_j)\T$. The square of this matrix is $x_j\, \bigl[(\Wqk x_j)\T x_j\bigr]\, (\Wqk x_j)\T$,
# and the term in brackets is the number $x_j\T \Wqk\T x_j = x_j\T \Wqk x_j$.
# ```
# ````
#
# The paper's conclusion is correct, but the paper uses the wrong name for the property. An operator with $P \circ P \ne P$
# is not *idempotent*. An operator is *nilpotent* if one of its powers is 0. For $P_j$, this is the case if $x_j\T \Wqk x_j =
# 0$.


# %%
def factor(m: Tensor, x: Tensor) -> Tensor:
    """``P_j P_j = c P_j`` with ``c = x_j^T W_qk x_j``."""
    return x @ m @ x


def coefficients(raw: Tensor) -> Tensor:
    """Of the decomposition: the raw scores themselves."""
    return raw


@claim(
    "S1.4",
    "(operators)",
    "the terms of the sum are not projections",
    Verdict.MISPRINT,
    printed=r"""The $P_j$ "are not formal projection operators since they are not nilpotent" ($P_j \circ P_j \ne P_j$).""",
    place="Remark S1.4",
    holds=r"""The $P_j$ are not *idempotent*, because $P_j \circ P_j = (x_j^\top W_{qk} x_j)\, P_j$. Up to this factor, $P_j$ is an
    oblique projection.""",
    remark="The formula in the remark is correct, but *nilpotent* means that $P^k = 0$ for some $k$.",
)
def operators_are_not_idempotent(d=16, seed=0):
    layer = random_layer(d, 12, 1, seed)
    m, x = layer.form.dense(), layer.x[0]
    p, c = torch.outer(x, m @ x), factor(m, x)  # P(y) = x (W x)^T y = <y, W x> x
    yield exact(r"distance of $P_j P_j$ from $(x_j^\top W_{qk} x_j) P_j$", relative_error(p @ p, c * p))
    yield compare("distance of $P_j P_j$ from $P_j$", relative_error(p @ p, p), "≠", 0, 0.1, paper="≠ 0")
    divided = r"distance of $P P$ from $P$ for $P = P_j / (x_j^\top W_{qk} x_j)$"
    yield exact(divided, relative_error(p @ p / c**2, p / c))


show(operators_are_not_idempotent(d=d, seed=seed))

# %% [markdown]
# Equation S17 contains the weight $\alpha$ instead of the raw score $\hat\alpha$. The remark also states that $\Wqk$ may not
# satisfy all axioms of an inner product, namely linearity, symmetry and positive definiteness. However, every bilinear form
# is linear in each argument, so $\Wqk$ can violate only symmetry and positive definiteness.
#
# ## Heads: rank, scale, span
#
# ````{prf:remark} Remark S1.5 of the paper: the forms of the heads add up
# :label: rem-s1-5
#
# Let a layer have $H$ heads of width $d_h = d / H$. Let the matrices $\Wq = [W_{q,1} | \dots | W_{q,H}]$ and $\Wk$ consist
# of blocks of shape $(d, d_h)$, one for each head. Then
#
# $$
# \Wqk = \Wq \Wk\T = \sum_{h=1}^H W_{q,h} W_{k,h}\T = \sum_{h=1}^H W_{qk,h}, \qquad \operatorname{rank} W_{qk,h} \le d_h .
# $$ (eq-s1-20)
#
# If several query heads share a key head, $W_{k,h}$ is the matrix of this shared head. The output of attention is
#
# $$
# \hat X = X + \sum_{h=1}^H \sigma\bigl(d_h^{-1/2}\, X W_{qk,h} X\T\bigr)\, X W_{v,h} W_{o,h} .
# $$ (eq-s1-18)
# ````
#
# Grouping the columns of both factors by head gives {eq}`eq-s1-20`, and grouping the rows of the output matrix by head gives
# {eq}`eq-s1-18`. The rank of the matrix of a single head is at most $d_h$, whereas the sum over heads can have rank $d$.


# %%
def summed_heads(wq: Tensor, wk: Tensor) -> Tensor:
    """``sum_h W_q,h W_k,h^T``: factors (H, d, d_head), sum (d, d)."""
    return torch.einsum("hic,hjc->ij", wq, wk)


def multi_head_output(x: Tensor, forms: Tensor, values: Tensor, scale: float) -> Tensor:
    """``sum_h softmax(scale X W_qk,h X^T) X W_v,h W_o,h``: forms and values (H, d, d), output (N, d)."""
    return (torch.softmax(scale * (x @ forms @ x.T), -1) @ x @ values).sum(0)


@claim("S1.5", "Eqs. S19, S20", "the forms of the heads add up to the form of the layer", Verdict.HOLDS)
def heads_add_up(d=32, n_heads=4, seed=0):
    form = random_layer(d, 12, n_heads, seed).form
    wq, wk = form.wq, form.wk
    side_by_side = wq.transpose(0, 1).flatten(1) @ wk.transpose(0, 1).flatten(1).T  # [W_q,1 | W_q,2 | ...] (Eq. S19)
    shared = BilinearForm(wq, wk[: max(1, len(wk) // 2)])
    ranks = [int(torch.linalg.matrix_rank(w)) for w in form.heads()]
    whole = relative_error(summed_heads(wq, wk), side_by_side)
    yield exact(r"distance of the sum over heads from $W_q W_k^\top$", whole)
    yield exact("largest rank of a head, minus $d_h$", max(ranks) - form.d_head, 0, 0)
    words = f"distance, {shared.n_kv_heads} key heads shared by {shared.n_heads} query heads"
    yield exact(words, relative_error(summed_heads(*shared.per_head()), shared.dense()))


show(heads_add_up(d=d, n_heads=n_heads, seed=seed))


# %% [markdown]
# The matrices of the heads can be added, but attention cannot be computed from their sum, because each head has its own
# softmax and its own values. For example, if we replace every head of a random layer by the mean of all heads, the sum over
# heads remains the same, but the attention weights change by up to {glue:text}`gap`.


# %%
@claim(
    "S1.5",
    "Eq. S21",
    "the raw decompositions of the heads add up",
    Verdict.HOLDS,
    remark="""Like Eq. S14, Eq. S21 is an identity for raw scores. This identity does not describe attention, because
    each head has its own softmax and its own values. The scores of individual heads should therefore be reported
    together with the scores of the sum.""",
)
def heads_do_not_share_one_softmax(d=32, n_tokens=12, n_heads=4, seed=0):
    x, form, wv, wo, _ = random_layer(d, n_tokens, n_heads, seed)
    forms, values, scale = torch.stack(list(form.heads())), wv @ wo, form.d_head**-0.5
    heads = scaled_dot_product_attention(x @ form.wq, x @ form.wk, x @ wv)
    attention = heads.transpose(0, 1).flatten(1) @ wo.flatten(0, 1)  # concat(A_1 V_1, ...) W_o (Eq. S18)
    one_softmax = torch.softmax(scale * (x @ forms.sum(0) @ x.T), -1) @ x @ values.sum(0)
    own_softmax, averaged = (multi_head_output(x, m, values, scale) for m in (forms, forms.mean(0).expand_as(forms)))
    raw = relative_error(sum((x @ w @ x.T) @ x for w in forms), x @ forms.sum(0) @ x.T @ x)
    yield exact("distance of the raw decompositions, head by head and summed first", raw)
    own, one = (f"distance of one softmax {of} from multi-head attention" for of in ("per head", "of the summed form"))
    yield exact(own, relative_error(own_softmax, attention), paper="")
    yield compare(one, relative_error(one_softmax, attention), "≠", 0, 0.1, paper="")
    change = relative_error(averaged, attention)
    yield compare(
        "change of the output if every head is replaced by the mean of the heads", change, "≠", 0, 0.1, paper=""
    )


show(heads_do_not_share_one_softmax(**several))

# %% [markdown]
# In Equation S18 of the paper, the scores of a head are divided by $\sqrt d$. In practice, Transformers divide the scores by
# $\sqrt{d_h}$ {cite}`vaswani2017`, which equals $\sqrt d$ if there is only a single head. This factor affects neither the
# order of the attention scores nor the symmetry score or the directionality score, but it appears in the gradients.
#
# Equation S14 of the paper decomposes the raw output of a single head, and Eq. S21 adds up these decompositions over the
# heads. Each of the decompositions lies in the span of the tokens. According to the paper, the decompositions lie in the
# convex hull of the tokens. They would do so if the coefficients were non-negative and added up to 1. Attention weights have
# these two properties, but raw scores do not.


# %%
def outside_the_hull(points: Tensor, x: Tensor) -> int:
    """Points (..., d) beyond the convex hull of x (N, d): ``p . p > max_j p . x_j``, which no point of it can be."""
    return int((points.square().sum(-1) > (points @ x.T).amax(-1) + 1e-10).sum())


@claim(
    "S1.5",
    "(convex hull)",
    "the raw decomposition of each head lies in the span of the tokens",
    Verdict.MISPRINT,
    printed=r"""
    "[E]ach head perform independent projections onto $\operatorname{Conv}(X)$ that are then summed together".""",
    place="Remark S1.5, before Eq. S21",
    holds=r"""The raw sums $\sum_j \hat\alpha_{ij} x_j$ in Eq. S21 lie in $\operatorname{span}(X)$, as is stated in the
    text before Eq. S14. The coefficients of these sums may be negative and need not add up to 1, so the sums can lie
    outside $\operatorname{Conv}(X)$. With attention weights instead of raw scores, the result for each head lies in
    $\operatorname{Conv}(X)$.""",
)
def raw_sums_leave_the_hull(d=32, n_tokens=8, n_heads=4, seed=0):
    layer = random_layer(d, n_tokens, n_heads, seed)
    x, raw = layer.x, layer.raw()
    sums, means = coefficients(raw) @ x, torch.softmax(raw, -1) @ x
    onto_span = torch.linalg.pinv(x) @ x
    n_sums = n_heads * n_tokens
    yield exact(r"distance of the raw sums from $\operatorname{span}(X)$", relative_error(sums @ onto_span, sums))
    yield compare(
        f"number of raw sums (of {n_sums}) outside the convex hull", outside_the_hull(sums, x), ">", paper="= 0"
    )
    yield exact("number of sums with attention weights outside the convex hull", outside_the_hull(means, x), 0, 0)


show(raw_sums_leave_the_hull(**several))

# %% [markdown]
# ## Rotary positions
#
# With rotary position embeddings, queries and keys are rotated by angles that are proportional to their positions. The score
# of two tokens then depends on the distance between the tokens. The following proposition states when such scores are
# symmetric.
#
# ````{prf:proposition} Symmetric attention under rotary positions (ours)
# :label: prop-rotary
#
# Let a layer have one head with queries $q_i = R_i \Wq\T x_i$ and keys $k_j = R_j \Wk\T x_j$, where $R_i = R_1^i$ and $R_1$
# is a rotation. Then
#
# $$
# \hat\alpha_{ij} = q_i \cdot k_j = x_i\T\, \Wq R_{j-i} \Wk\T\, x_j .
# $$ (eq-rotary)
#
# 1. In sequences of $N \ge 2$ tokens, $\hat\alpha_{ij} = \hat\alpha_{ji}$ for all $i \ne j$ and all embeddings if and only if
#    $\Wq R_m \Wk\T = \Wk R_m \Wq\T$ for every offset $m = 1, \dots, N - 1$.
# 2. Suppose that $\Wq$ has full column rank and that $R_1$ rotates $d_h / 2$ planes by different angles in $(0, \pi/2)$.
#    Then it suffices to consider neighbouring positions ($N = 2$). The condition of part 1 is satisfied for $m = 1$ if and
#    only if $\Wk = \Wq \operatorname{diag}(r_1, r_1, r_2, r_2, \dots)$ with one real number $r_c$ for each plane $c$. In
#    this case, the condition is satisfied for every $m$, and $\Wqk$ is symmetric.
# 3. Conversely, a symmetric $\Wqk$ does not imply symmetric scores. Let $\Wk = \Wq S$, where $S$ is symmetric and $\Wq$ has
#    rank $d_h$. Then $\Wqk$ is symmetric, but the condition of part 1 is satisfied if and only if $S R_m = R_m S$ for every
#    offset $m = 1, \dots, N - 1$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Since $R_i\T R_j = R_{j-i}$, we obtain {eq}`eq-rotary`.
#
# *Part 1.* Since a number equals its transpose and $R_{i-j}\T = R_{j-i}$, we have
# $\hat\alpha_{ji} = x_j\T \Wq R_{i-j} \Wk\T x_i = x_i\T \Wk R_{j-i} \Wq\T x_j$. Two bilinear forms agree for all $x_i, x_j$ if
# and only if their matrices are equal. For $i \ne j$, the offset $m = j - i$ takes the values $\pm 1, \dots, \pm (N - 1)$, and
# the condition for $-m$ is the transpose of the condition for $m$.
#
# *Part 2.* For $m = 1$, the condition is $\Wq R_1 \Wk\T = \Wk R_1 \Wq\T$. The columns of the right-hand side span the same
# space as the columns of $\Wk$, because $\Wq\T$ is onto and $R_1$ is invertible. The columns of the left-hand side lie in
# the span of the columns of $\Wq$. Hence $\Wk = \Wq B$ for some matrix $B$. Since $\Wq$ has full column rank, we can cancel
# it on both sides, which gives $R_1 B\T = B R_1$. With $X = B R_1$, this equation becomes $X = R_1^2 X\T$, and its transpose
# is $X\T = X R_1^{-2}$. It follows that $X = R_1^2 X R_1^{-2}$, so $X$ commutes with $R_1^2$. Since $R_1^2$ rotates the
# planes by different angles in $(0, \pi)$, the matrix $X$ maps each plane to itself and acts on plane $c$ as multiplication
# by a complex number $z_c$. On this plane, $X = R_1^2 X\T$ means that $z_c = e^{2 i \theta_c} \bar z_c$, where $\theta_c$ is
# the angle by which $R_1$ rotates plane $c$. This is true if and only if $z_c = r_c e^{i \theta_c}$ with a real number
# $r_c$. Hence $B = X R_1^{-1}$ multiplies plane $c$ by $r_c$. Conversely, such a matrix $B$ is symmetric and commutes with
# every $R_m$. Hence $\Wq R_m B \Wq\T = \Wq B R_m \Wq\T$ for every $m$, including $m = 0$, for which the equation states that
# $\Wqk$ is symmetric.
#
# *Part 3.* The matrix $\Wqk = \Wq S \Wq\T$ is symmetric. The condition of part 1 is $\Wq R_m S \Wq\T = \Wq S R_m \Wq\T$.
# Since $\Wq$ has full column rank, we can cancel it on both sides, which gives $R_m S = S R_m$.
# ```
# ````


# %%
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


def symmetric_neighbours(wq: Tensor) -> Tensor:
    """A basis (n, d, d_head) of the W_k with which ``a_12 = a_21`` for all embeddings."""
    n, turn = wq.numel(), rotation(1, wq.shape[1])
    every = torch.eye(n, dtype=wq.dtype).view(n, *wq.shape)
    skew = wq @ turn @ every.mT - every @ turn @ wq.T  # of every W_k with a single entry
    _, sizes, directions = torch.linalg.svd(skew.flatten(1).T)
    return directions[sizes < 1e-9 * sizes[0]].view(-1, *wq.shape)


def rotary_sample(d: int, d_head: int, n_tokens: int, seed: int) -> list[Tensor]:
    """Normal tokens, factors of a head, a matrix, and a number for each plane."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (n_tokens, d), (d, d_head), (d, d_head), (d_head, d_head), (d_head // 2,)
    return [torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes]


def asymmetry(a: Tensor) -> Tensor:
    """The largest ``|a_ij - a_ji|``."""
    return (a - a.T).abs().max()


@claim(
    "Eq. 1",
    "(rotary positions)",
    "with rotary positions, the score of two tokens depends on their distance, and a symmetric matrix is not enough for symmetric scores",
    Verdict.HOLDS,
    printed=r""""$\sigma\big(\frac{1}{\sqrt{d}} X W_{qk} X^\top\big)$", with the position added to the embedding, "$X_0(U) = U W_e
    + W_p$".""",
    place="Section 2.1, Eq. 1, and Definition S1.1, Eq. S1",
    holds=r"""If queries and keys are rotated by their positions, as in ModernBERT, LLaMA and Mistral, the score is
    $\hat\alpha_{ij} = x_i^\top W_q R_{j-i} W_k^\top x_j$. The matrix $W_{qk}$ corresponds to the special case $i = j$.
    Even if $W_{qk}$ is symmetric ($s = 1$), the scores $\hat\alpha_{ij}$ and $\hat\alpha_{ji}$ can differ.""",
    ours=True,
)
def rotary_scores(d=16, d_head=6, n_tokens=8, seed=0):
    x, wq, wk, s, planes = rotary_sample(d, d_head, n_tokens, seed)
    a, offsets = scores(x, wq, wk), range(1 - n_tokens, n_tokens)
    skew = torch.stack([form_at_offset(wq, wk, m) - form_at_offset(wk, wq, m) for m in offsets])
    predicted = [[x[i] @ skew[j - i + n_tokens - 1] @ x[j] for j in range(n_tokens)] for i in range(n_tokens)]
    difference = r"distance of $\hat\alpha_{ij} - \hat\alpha_{ji}$ from the form of the offset"
    yield exact(difference, relative_error(torch.tensor(predicted), a - a.T))
    largest = r"largest $|\hat\alpha_{ij} - \hat\alpha_{ji}|$"
    commuting = scores(x, wq, wq @ planes.repeat_interleave(2).diag())
    yield exact(f"{largest}, $W_k = W_q S$, $S$ symmetric and commuting with rotations", asymmetry(commuting))
    thinner = wq @ (s + s.T)
    yield compare(f"{largest}, $S$ symmetric only", asymmetry(scores(x, wq, thinner)), ">", 0, 0.1)
    yield exact("symmetry score of that $W_{qk}$", symmetry_score(form_at_offset(wq, thinner, 0)), 1)
    basis = symmetric_neighbours(wq)
    dimension = r"dimension of the space of $W_k$ with $\hat\alpha_{12} = \hat\alpha_{21}$ for all embeddings"
    yield exact(dimension, len(basis), d_head // 2, 0)
    factors = (torch.linalg.pinv(wq) @ basis).diagonal(dim1=1, dim2=2).unflatten(1, (-1, 2)).mean(2)  # W_k = W_q B
    by_planes = wq @ factors.repeat_interleave(2, 1).diag_embed()
    planes_words = r"distance of these $W_k$ from $W_q \operatorname{diag}(r_1, r_1, r_2, r_2, \dots)$"
    yield exact(planes_words, relative_error(by_planes, basis))
    yield exact(f"{largest} with them, all offsets", max(asymmetry(scores(x, wq, k)) for k in basis))


show(rotary_scores(seed=seed))
