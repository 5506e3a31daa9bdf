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
# A Transformer turns every token of a text into a vector, its *embedding*, and attention mixes these vectors: token $i$
# takes up token $j$ with a weight between 0 and 1. Which learned numbers decide the weights? Section 2.1 of the paper
# {cite}`saponati2025` puts them into one matrix, $\Wqk = \Wq \Wk\T$, and everything later is a statement about it.
#
# In one head this matrix gives the raw score of every pair of tokens, and the weights of a row keep the order of its
# scores. In a layer of several heads the sum of their matrices does not give the weights: in the two layers below it is
# the same, and their weights differ by up to {glue:text}`gap`.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding, a multiple of n_heads; in [8, 512]
n_heads: int = 4  # attention heads; in [2, 16]
n_tokens: int = 12  # tokens of a sequence; in [4, 64]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch

from attngeo.chapters.bilinear_form import figures, heads, rotary, scores
from attngeo.chapters.bilinear_form.attention_example import attention_example, softmax_rows
from attngeo.chapters.bilinear_form.forward_pass import forward_pass
from attngeo.display.page import glue, show

several = {"d": d, "n_tokens": n_tokens, "n_heads": n_heads, "seed": seed}

# %% tags=["hide-input"]
example = attention_example(d, n_tokens, n_heads, seed)
forms = torch.stack(list(example.form.heads()))  # (n_heads, d, d)
scale = example.form.d_head**-0.5
separate = softmax_rows(scale * (example.x @ forms @ example.x.T))
averaged = softmax_rows(scale * (example.x @ forms.mean(0) @ example.x.T)).expand_as(separate)
figures.heads_of_equal_sum(separate, averaged)

# %% tags=["remove-cell"]
glue("gap", float((separate - averaged).abs().max()), ".2f")

# %% [markdown]
# ## One number for a pair of tokens
#
# Attention turns the embedding $x_i \in \R^d$ of token $i$ into a *query* $q_i = \Wq\T x_i$, and that of token $j$ into
# a *key* $k_j = \Wk\T x_j$. Their dot product is the *raw score* of the pair,
#
# $$
# \hat\alpha_{ij} = q_i \cdot k_j = (\Wq\T x_i) \cdot (\Wk\T x_j) = x_i\T\, \Wqk\, x_j, \qquad \Wqk = \Wq \Wk\T .
# $$ (eq-1)
#
# So the two embeddings enter a *bilinear form*, a map that is linear in each of them, and its matrix is $\Wqk$. Rows of
# $\Wqk$ belong to the query side $i$, columns to the key side $j$. The view is not new
# {cite}`elhage2021,olsson2022,dar2023`. The [details](bilinear_form_details.py) define the whole Transformer.

# %%
show(scores.scores_are_a_bilinear_form(d=d, n_tokens=n_tokens, seed=seed))

# %% [markdown]
# ## Softmax keeps the order
#
# A softmax turns the raw scores of a row, divided by some $\tau$, into weights $\alpha_{ij}$.
#
# ````{prf:proposition} Prop. 2.1 of the paper: attention weights keep the order of the raw scores
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
# So the largest raw score of a row names the token that is attended to most. Weights of two rows cannot be compared,
# since $Z_i$ is the row's own. [Which scores a softmax suppresses](bilinear_form_details.py#the-order-of-scores-row-by-row),
# and what a causal mask does to the statement, are among the details.
#
# {numref}`fig-forward-pass` plays one layer step by step, from embeddings to predictions; one token can be followed.

# %% tags=["hide-input"]
forward_pass(seed)

# %% [markdown]
# ## Several heads
#
# A layer has $H$ heads, each with a query and a key matrix of its own.
#
# ````{prf:remark} Remark S1.5 of the paper: the forms of the heads add up
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
show(heads.heads_add_up(d=d, n_heads=n_heads, seed=seed), heads.heads_do_not_share_one_softmax(**several))

# %% [markdown]
# Each head has its own softmax and its own values, and a sum of softmaxes is not the softmax of a sum. In the figure
# above every head's form is replaced by the mean of all: the sum stays, the weights and the output do not. A layer's
# $\Wqk$ can be symmetric while no head is, if the skew parts of its heads cancel; and heads that are nearly symmetric can
# add up to a matrix that is not, if their symmetric parts cancel.
#
# ## What the matrix leaves out
#
# Biases of queries and keys, rotations that encode positions, the gains of a layer normalisation before it, and a
# normalisation of queries and keys change what a model attends to and are not in $\Wqk$. How much this leaves out can be
# said for rotations. Many of the models that the paper scores, such as ModernBERT, LLaMA and Mistral, turn queries and
# keys by an angle proportional to their position.
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
# 2. If this holds for $N = d_h + 1$, then $\Wqk$ is symmetric. For $N = 2$ it need not be.
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
# *2.* By Cayley and Hamilton $\sum_{m=0}^{d_h} p_m R_1^m = 0$ with the coefficients of the characteristic polynomial of
# $R_1$, and $p_0 = \det(-R_1) \neq 0$. So $\Wqk - \Wqk\T$ is the sum of $-p_m / p_0$ times
# $\Wq R_m \Wk\T - \Wk R_m \Wq\T$ over $m = 1, \dots, d_h$, and 0 if all of these are. For $N = 2$ let
# $\Wk = \Wq S R_1$ with a symmetric $S$: then $\Wq R_1 \Wk\T = \Wq S \Wq\T$ is symmetric, while
# $\Wqk = \Wq R_1\T S \Wq\T$ in general is not.
#
# *3.* $\Wq S \Wq\T$ is symmetric. The condition reads $\Wq R_m S \Wq\T = \Wq S R_m \Wq\T$; as $\Wq$ has full column
# rank it can be cancelled on both sides.
# ```
# ````
#

# %%
show(rotary.rotary_scores(seed=seed))

# %% [markdown]
# In a model with rotations the symmetry score of $\Wqk$ therefore describes the form at offset 0. A score of 1 does not
# say that two distant tokens give each other the same raw score; a score below 1 says that some tokens, at an offset of
# at most $d_h$, do not, if sequences are long enough for it.
#
# ## What it means for you
#
# - Look at the heads beside the layer: `attngeo score bert-base-uncased --per-head` gives both.
# - With rotary positions, read a score of $\Wqk$ as one of tokens at the same place.
# - All scores here are of $\Wqk$ alone, as in the paper; the [notation page](../notation.md) lists the conventions.
