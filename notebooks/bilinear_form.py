# ---
# jupyter:
#   attngeo:
#     reads: []
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Self-attention as a bilinear form
#
# Attention compares a token with another by a number, the raw score. Section 2.1 of the paper {cite}`saponati2025`
# reads this number as a bilinear form of the two embeddings, whose matrix is $\Wqk = \Wq \Wk\T$. Everything later is
# a statement about this matrix. The view is not new {cite}`elhage2021,olsson2022,dar2023`; what the section adds is a
# proposition on the order of the scores before and after the softmax (Proposition 2.1), and two remarks on projections
# and on several heads (Appendix S1.2).
#
# The proposition holds. A few lines around it need mending. Two things that the section leaves open matter later: the
# matrix of a layer, summed over heads, does not determine what the layer attends to; and where positions rotate the
# queries and keys, a symmetric matrix does not make attention symmetric.

# %% tags=["parameters"]
d: int = 32  # width of the embedding, a multiple of n_heads; in [8, 512]
n_heads: int = 4  # attention heads; in [2, 16]
n_tokens: int = 12  # tokens of a sequence; in [4, 64]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch

from attngeo.chapters.bilinear_form import heads, operators, rotary, scores
from attngeo.chapters.bilinear_form.attention_example import attention_example, softmax_rows
from attngeo.display.page import show
from attngeo.chapters.bilinear_form import figures

one = {"d": d, "n_tokens": n_tokens, "seed": seed}
several = one | {"n_heads": n_heads}

# %% [markdown]
# ## The architecture
#
# ````{prf:definition} S1.1, Transformer
# :label: def-s1-1
#
# Let $U \in \{0, 1\}^{N \times V}$ hold one token a row, one-hot. A Transformer with $L$ layers maps
#
# $$
# X_0 = U W_e + W_p, \qquad \hat X_l = X_{l-1} + a_l(X_{l-1}), \qquad X_l = \hat X_l + m_l(\hat X_l),
# $$ (eq-s1-1)
#
# for $l = 1, \dots, L$, to the distributions $\sigma(X_L W_u)$ over the vocabulary, where $\sigma$ is the softmax of
# each row, $m_l$ a feedforward layer applied to each row, and $a_l$ attention with matrices
# $\Wq, \Wk, W_v \in \R^{d \times d}$,
#
# $$
# a(X) = A(X)\, X W_v, \qquad A(X) = \sigma\bigl(d^{-1/2}\, X \Wq (X \Wk)\T\bigr) .
# $$ (eq-s1-3)
#
# Biases and layer normalisation are left out.
# ````
#
# The paper gives the positional embedding the shape $V \times d$. It is added to a matrix with one row per position.

# %%
show(scores.shape_of_the_positions(n_tokens=n_tokens, seed=seed))

# %% [markdown]
# ## Scores as a bilinear form
#
# ````{prf:definition} S1.2, bilinear form
# :label: def-s1-2
#
# A map $M : \R^d \times \R^d \to \R$ is a *bilinear form* if it is linear in each argument. Its matrix in a basis
# $e_1, \dots, e_d$ has the entries $M(e_i, e_j)$, and in coordinates $M(x, y) = x\T M y$.
# ````
#
# The raw score of the pair $(i, j)$, before scale and softmax, is one:
#
# $$
# \hat\alpha_{ij} = q_i \cdot k_j = (\Wq\T x_i) \cdot (\Wk\T x_j) = x_i\T\, \Wqk\, x_j, \qquad \Wqk = \Wq \Wk\T .
# $$ (eq-1)
#
# Rows of $\Wqk$ belong to the query side $i$, columns to the key side $j$.

# %%
show(
    scores.scores_are_a_bilinear_form(**one),
    scores.form_is_linear_in_each_argument(d=d, seed=seed),
)

# %% [markdown]
# ## The order of the scores before and after softmax
#
# ````{prf:proposition} 2.1, attention weights keep the order of the raw scores
# :label: prop-2-1
#
# Let $\hat\alpha_{ij} = x_i\T \Wqk x_j$ for embeddings $x_1, \dots, x_N \in \R^d$, and
# $\alpha_{ij} = \exp(\hat\alpha_{ij} / \tau) / \sum_k \exp(\hat\alpha_{ik} / \tau)$ with some $\tau > 0$. Then for
# every row $i$
#
# 1. the weights are convex coefficients: $\alpha_{ij} > 0$ and $\sum_j \alpha_{ij} = 1$;
# 2. they are ordered as the raw scores are:
#    $\alpha_{ij} < \alpha_{ij'} \Leftrightarrow \hat\alpha_{ij} < \hat\alpha_{ij'}$;
# 3. attention adds an image of a point in the convex hull of the embeddings,
#
# $$
# \hat x_i\T = x_i\T + \sum_{j=1}^N \alpha_{ij}\, x_j\T W_v .
# $$ (eq-2-1)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $Z_i = \sum_k \exp(\hat\alpha_{ik} / \tau) > 0$. The map $t \mapsto \exp(t / \tau) / Z_i$ is positive and
# strictly increasing, and $\alpha_{ij}$ is its value at $\hat\alpha_{ij}$. This gives 2 and the first half of 1; the
# second half is the definition of $Z_i$. Row $i$ of $\hat X = X + A X W_v$ is
# $x_i\T + \sum_j \alpha_{ij} (x_j\T W_v)$, and by 1 the vector $\sum_j \alpha_{ij} x_j$ lies in the convex hull of
# the $x_j$. Nothing in this depends on $\tau$, so every scale of the scores will do.
# ```
# ````

# %%
show(scores.order_of_scores_is_kept(**several))

# %% [markdown]
# The order holds within a row. The denominator $Z_i$ is the row's own, so weights of two rows cannot be compared.

# %%
example = attention_example(d, n_tokens, n_heads, seed)
raw = example.raw() / example.form.d_head**0.5
figures.order_within_rows(raw[0], softmax_rows(raw[0]))

# %% [markdown]
# Two readings of the printed statement need care. In a decoder row $i$ attends to positions $j \le i$ only; later
# positions get weight 0 whatever their raw score, so the equivalence holds for the positions that a row may attend
# to. And the summand is $x_j\T W_v$, a row; the printed $x_j W_v$ multiplies a column by a square matrix from the
# wrong side.

# %%
show(scores.order_with_a_causal_mask(**several), scores.values_enter_as_rows(**one))

# %% [markdown]
# The proof adds that softmax suppresses negative and near-zero scores. It does not see whether a score is negative:
# a number added to all scores of a row changes no weight. It suppresses the scores that lie far below the largest one
# of their row.

# %%
show(scores.suppressed_scores(**several))

# %% [markdown]
# ## Each term as an operator
#
# ````{prf:remark} S1.4, a decomposition that is no projection
# :label: rem-s1-4
#
# With raw scores in place of weights the sum of {eq}`eq-2-1` is $\sum_j \hat\alpha_{ij} x_j = \sum_j P_j(x_i)$, where
#
# $$
# P_j(x) = (x\T \Wqk x_j)\, x_j = x_j\, (\Wqk x_j)\T x .
# $$ (eq-s1-4)
#
# $P_j$ is linear, of rank 1, with image spanned by $x_j$, and $P_j P_j = (x_j\T \Wqk x_j)\, P_j$. So it is
# *idempotent*, a projection, only where $x_j\T \Wqk x_j = 1$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $P_j$ has the matrix $x_j (\Wqk x_j)\T$. Its square is $x_j\, \bigl[(\Wqk x_j)\T x_j\bigr]\, (\Wqk x_j)\T$, and the
# bracket is the number $x_j\T \Wqk\T x_j = x_j\T \Wqk x_j$.
# ```
# ````
#
# The paper draws the right conclusion under another name: an operator with $P \circ P \ne P$ is not idempotent;
# nilpotent means that some power vanishes, which here is the case where $x_j\T \Wqk x_j = 0$. Equation S17 prints
# $\alpha$ where the raw $\hat\alpha$ is meant. And the remark says that $\Wqk$ may not satisfy all axioms of an inner
# product: linearity, symmetry and positive definiteness. That is right. As a bilinear form $\Wqk$ is linear, so that it
# can miss the last two, and symmetry is what the later chapters measure.

# %%
show(
    operators.operators_are_not_idempotent(d=d, seed=seed),
    operators.raw_scores_in_the_decomposition(**one),
    operators.linearity_cannot_fail(d=d, seed=seed),
)

# %% [markdown]
# ## Several heads
#
# ````{prf:remark} S1.5, the forms of the heads add up
# :label: rem-s1-5
#
# With $H$ heads of width $d_h = d / H$, $\Wq = [W_{q,1} | \dots | W_{q,H}]$ and $\Wk$ likewise, blocks of shape
# $(d, d_h)$,
#
# $$
# \Wqk = \Wq \Wk\T = \sum_{h=1}^H W_{q,h} W_{k,h}\T = \sum_{h=1}^H W_{qk,h}, \qquad \operatorname{rank} W_{qk,h} \le d_h .
# $$ (eq-s1-20)
#
# Where several query heads share a key head, $W_{k,h}$ is the shared one. Attention itself is
#
# $$
# \hat X = X + \sum_{h=1}^H \sigma\bigl(d_h^{-1/2}\, X W_{qk,h} X\T\bigr)\, X W_{v,h} W_{o,h} .
# $$ (eq-s1-18)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Column $c$ of a product of block matrices: $\Wq \Wk\T = \sum_c (\Wq)_{\cdot c} (\Wk)_{\cdot c}\T$, a sum over all
# $H d_h$ columns, which grouped by head is {eq}`eq-s1-20`. A product of a $(d, d_h)$ and a $(d_h, d)$ matrix has rank
# $d_h$ at most. For {eq}`eq-s1-18` split the output matrix into blocks of rows $W_{o,h}$: the concatenation of the
# heads' outputs times $W_o$ is the sum of the heads' outputs times their blocks.
# ```
# ````

# %%
show(heads.heads_add_up(d=d, n_heads=n_heads, seed=seed))

# %%
forms = torch.stack(list(example.form.heads()))
figures.rank_of_heads(torch.linalg.svdvals(forms), torch.linalg.svdvals(forms.sum(0)))

# %% [markdown]
# Equation S18 divides the scores of a head by $\sqrt d$; Transformers as they are built divide by $\sqrt{d_h}$
# {cite}`vaswani2017`. That is a convention: no order of scores depends on it, and neither score of this book does.
# [The next chapter](implicit_gradient.py) checks it, since gradients do depend on it.
#
# Equation S21 then sums the raw decompositions of the heads; this performs the same operation as Eq. S14, which is about
# raw scores too. Each sum lies in the span of the tokens. The text says convex hull, which needs coefficients that are
# positive and add up to 1, as attention weights are and raw scores are not.
#
# Attention itself is another matter. Each head has its own softmax and its own values, and a sum of softmaxes is not the
# softmax of a sum. The check replaces every head's form by the mean of all of them: the sum is the same, the output is
# another.

# %%
show(heads.heads_do_not_share_one_softmax(**several), heads.raw_sums_leave_the_hull(**several))

# %%
mean = (example.x @ forms.mean(0) @ example.x.T / example.form.d_head**0.5).expand_as(raw)
figures.heads_of_equal_sum(softmax_rows(raw), softmax_rows(mean))

# %% [markdown]
# This is why the book gives scores per head beside those of the summed matrix: a layer's $\Wqk$ can be symmetric
# while no head is, and the other way round, if the skew parts of its heads cancel.
#
# ## What is outside the matrix
#
# $\Wqk$ does not contain the biases of queries and keys, rotations that encode positions, the gains of a layer
# normalisation before it, or a normalisation of queries and keys. All of them change what a model attends to. The
# scores in this book are those of $\Wqk$ alone, as in the paper. The [notation page](../notation.md) lists the
# conventions.
#
# How much this leaves out can be said for rotations. Many of the models that the paper scores, such as ModernBERT,
# LLaMA and Mistral, turn queries and keys by an angle proportional to their position.
#
# ````{prf:proposition} Symmetric attention under rotary positions (ours)
# :label: prop-rotary
#
# Let $q_i = R_i \Wq\T x_i$ and $k_j = R_j \Wk\T x_j$ with one head, $R_i = R_1^i$ and $R_1$ a rotation. Then
#
# $$
# \hat\alpha_{ij} = q_i \cdot k_j = x_i\T\, \Wq R_{j-i} \Wk\T\, x_j .
# $$ (eq-rotary)
#
# 1. In sequences of $N \ge 2$ tokens $\hat\alpha_{ij} = \hat\alpha_{ji}$ for all $i, j$ and all embeddings, if and only if
#    $\Wq R_m \Wk\T = \Wk R_m \Wq\T$ for every offset $m = 1, \dots, N - 1$.
# 2. If this holds for every $N$, then $\Wqk$ is symmetric.
# 3. The converse fails. Let $\Wk = \Wq S$ with a symmetric $S$ and $\Wq$ of rank $d_h$. Then $\Wqk$ is symmetric, but
#    the condition holds if and only if $S R_m = R_m S$ for these $m$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $R_i\T R_j = R_{j-i}$ gives {eq}`eq-rotary`. *1.* A number is its own transpose, and $R_{i-j}\T = R_{j-i}$, so
# $\hat\alpha_{ji} = x_j\T \Wq R_{i-j} \Wk\T x_i = x_i\T \Wk R_{j-i} \Wq\T x_j$. Two bilinear forms agree for all
# $x_i, x_j$ if and only if their matrices do; $m = j - i$ takes the values $\pm 1, \dots, \pm (N - 1)$ for $i \ne j$, and
# transposition turns the condition for $m$ into that for $-m$.
#
# *2.* The orthogonal matrices are a compact set, so for every $\varepsilon > 0$ there are $m < m'$ with
# $\norm{R_m - R_{m'}} < \varepsilon$, hence $\norm{R_{m'-m} - I} < \varepsilon$. The condition for these offsets $m' - m$,
# with $\varepsilon \to 0$, becomes $\Wq \Wk\T = \Wk \Wq\T$.
#
# *3.* $\Wq S \Wq\T$ is symmetric. The condition reads $\Wq R_m S \Wq\T = \Wq S R_m \Wq\T$; as $\Wq$ has full column
# rank it can be cancelled on both sides.
# ```
# ````
#
# For a trained model with rotations, the symmetry score of $\Wqk$ therefore describes the form at offset 0. A score of 1
# does not say that two distant tokens give each other the same raw score; a score below 1 says that at some offset they
# do not.

# %%
show(rotary.rotary_scores(seed=seed))
