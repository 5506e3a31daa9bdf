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
# # Details: Self-attention as a bilinear form
#
# Definitions, slips and further checks of the [chapter on attention as a bilinear form](bilinear_form.py). No conclusion
# of the paper hangs on them.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding, a multiple of n_heads; in [8, 512]
n_heads: int = 4  # attention heads; in [2, 16]
n_tokens: int = 12  # tokens of a sequence; in [4, 64]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch

from attngeo.chapters.bilinear_form import figures, heads, operators, scores
from attngeo.chapters.bilinear_form.attention_example import attention_example, softmax_rows
from attngeo.display.page import show

one = {"d": d, "n_tokens": n_tokens, "seed": seed}
several = one | {"n_heads": n_heads}
example = attention_example(d, n_tokens, n_heads, seed)

# %% [markdown]
# ## The architecture
#
# ````{prf:definition} Def. S1.1 of the paper: Transformer
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
# ## Bilinear forms
#
# ````{prf:definition} Def. S1.2 of the paper: bilinear form
# :label: def-s1-2
#
# A map $M : \R^d \times \R^d \to \R$ is a *bilinear form* if it is linear in each argument. Its matrix in a basis
# $e_1, \dots, e_d$ has the entries $M(e_i, e_j)$, and in coordinates $M(x, y) = x\T M y$.
# ````

# %%
show(scores.form_is_linear_in_each_argument(d=d, seed=seed))

# %% [markdown]
# ## The order of scores, row by row
#
# By {prf:ref}`prop-2-1` the weights of a row rise with its raw scores. Between rows they do not compare.

# %% tags=["hide-input"]
raw = example.raw()[0] / example.form.d_head**0.5
figures.order_within_rows(raw, softmax_rows(raw))

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
# ````{prf:remark} Remark S1.4 of the paper: a decomposition that is no projection
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
# ## Heads: rank, scale, span
#
# The form of a head has rank $d_h$ at most ({prf:ref}`rem-s1-5`), their sum up to $d$.

# %% tags=["hide-input"]
forms = torch.stack(list(example.form.heads()))
figures.rank_of_heads(torch.linalg.svdvals(forms), torch.linalg.svdvals(forms.sum(0)))

# %% [markdown]
# Equation S18 of the paper divides the scores of a head by $\sqrt d$; Transformers as they are built divide by
# $\sqrt{d_h}$ {cite}`vaswani2017`. That is a convention: no order of scores depends on it, and neither score of this book
# does. Gradients do, so that the [details of the next chapter](implicit_gradient_details.py#the-scale-of-the-scores)
# check it.
#
# Equation S21 of the paper sums the raw decompositions of the heads; this performs the same operation as Eq. S14, which
# is about raw scores too. Each sum lies in the span of the tokens. The text says convex hull, which needs coefficients
# that are positive and add up to 1, as attention weights are and raw scores are not.

# %%
show(heads.raw_sums_leave_the_hull(**several))
