# ---
# jupyter:
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
# # The implicit gradient
#
# Training never touches $W_{qk} = W_q W_k^\top$ directly: it moves $W_q$ and $W_k$, and $W_{qk}$ follows. In which
# direction? Section 2.2 of the paper {cite}`saponati2025` answers with a weighted sum of outer products
# $x_i x_j^\top$ of embeddings, one for every pair of tokens that attention connects (Prop. 2.2 of the paper). All that it
# later says about symmetry and about rows and columns starts from this sum.
#
# The gradient of $W_{qk}$ is such a sum, exactly, once the weights of the sum account for the softmax. The step that
# training takes is not along it: with random factors as narrow as the heads of BERT-base, the cosine of the angle
# between the two is near {glue:text}`bert-cos`, where 1 would be the same direction.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding of the toy Transformers, a multiple of n_heads; in [8, 256]
n_heads: int = 4  # attention heads; in [2, 16]
n_layers: int = 3  # layers of the toy Transformers; in [2, 6]
n_tokens: int = 8  # tokens of a sequence; in [4, 32]
d_wide: int = 64  # width for the alignment of update and gradient, a multiple of 16; in [16, 256]
draws: int = 60  # random factors drawn per head width; in [10, 300]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import pandas as pd
import torch

from attngeo.chapters.implicit_gradient import figures, gradient, implicit_update
from attngeo.chapters.implicit_gradient.gradient import exact_beta
from attngeo.chapters.implicit_gradient.one_pair import one_pair
from attngeo.chapters.implicit_gradient.through_factors import (
    alignment_at_random_factors,
    sample_alignment,
    symmetry_at_random_factors,
)
from attngeo.chapters.implicit_gradient.through_factors import implicit_update as step_of
from attngeo.chapters.implicit_gradient.toy_passes import toy_pass
from attngeo.display.page import glue, show
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

sizes = {"d": d, "n_heads": n_heads, "n_tokens": n_tokens, "seed": seed}

# %% tags=["hide-input"]
config = ToyConfig(d=d, n_heads=n_heads, n_layers=n_layers, n_tokens=n_tokens)
model = ToyTransformer.random(config, seed)
layer = model.example("autoregressive", seed).gradient(0)  # dL/dW_qk of every head of the first layer, by autograd
beta = exact_beta(layer, config.score_scale)
step = step_of(model.form(0), layer.w_qk, -1.0).first_order  # what descent subtracts, over the learning rate
figures.rank_one_build_up(beta[0], layer.layer.x, layer.w_qk[0], step[0])

# %% tags=["remove-cell"]
glue("d", d)
glue("heads", n_heads)
glue("layers", n_layers)
glue("tokens", n_tokens)
glue("d-head", config.d_head)
glue("bert-cos", alignment_at_random_factors(768, 64), ".2f")
glue("bert-s", symmetry_at_random_factors(768, 64), ".2f")

# %% [markdown]
# ## The model
#
# Every statement is compared with automatic differentiation, in float64, of a Transformer small enough for it:
# {glue:text}`layers` layers of width {glue:text}`d`, {glue:text}`heads` heads of width {glue:text}`d-head`, sequences of
# {glue:text}`tokens` tokens, random weights. With rows $x_i^\top$ of $X$ as the input of a layer, a head computes
#
# $$
# a_{ij} = \tfrac{1}{\sqrt{d_h}}\, x_i^\top W_{qk} x_j, \quad
# \alpha_{ij} = \frac{e^{a_{ij}}}{\sum_{k \in A_i} e^{a_{ik}}}, \quad
# o_i = \sum_{j \in A_i} \alpha_{ij} v_j ,
# $$ (eq-2-2-head)
#
# where $v_j = W_o^\top W_v^\top x_j$ is the *value* of token $j$, and $A_i$ is the set of positions that position $i$
# attends to. The sum of the heads' outputs $o_i$ is added to $x_i$, which gives $\hat x_i$; a feedforward layer may
# follow. The model has one of two objectives. *Autoregressive*: $A_i = \{j \le i\}$, and position $i$ predicts the token
# at $i + 1$. *Masked*: every position attends to every position, and the positions that hold the mask token predict what
# it hides. The paper [divides by](implicit_gradient_details.py#the-scale-of-the-scores) $\sqrt d$ instead of
# $\sqrt{d_h}$.
#
# ## The gradient is a sum over pairs
#
# ````{prf:proposition} Prop. 2.2 of the paper, corrected: the gradient of $W_{qk}$ is a sum of rank-1 matrices
# :label: prop-2-2
#
# Let $L$ be any differentiable function of the outputs of a Transformer on one sequence, such as the sum of its
# negative log-likelihoods. For a head with form $W_{qk}$ in a layer with inputs $x_i$,
#
# $$
# \frac{\partial L}{\partial W_{qk}} = \sum_i \sum_{j \in A_i} \beta_{ij} K_{ij}, \qquad K_{ij} = x_i x_j^\top ,
# $$ (eq-2-2-sum)
#
# with
#
# $$
# \beta_{ij} = \tfrac{1}{\sqrt{d_h}}\, \alpha_{ij}\; g_i^\top (v_j - o_i), \qquad
# g_i = \frac{\partial L}{\partial \hat x_i} .
# $$ (eq-2-2-beta)
#
# Consequently $\sum_{j \in A_i} \beta_{ij} = 0$ for every $i$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The inputs $x_i$ of the layer do not depend on its own $W_{qk}$, and the loss depends on $W_{qk}$ through the scores
# alone.
#
# *One weight.* The output $\hat x_i = x_i + \sum_h o_i^h$ is linear in the weights of its row, and no other output of
# the layer contains them. So $\partial L / \partial \alpha_{ij} = g_i^\top v_j$: a single value $v_j$, with no sum over
# $j$. All that happens above the layer, attention between positions included, is in $g_i$.
#
# *One score.* For a softmax over $A_i$,
# $\partial \alpha_{ik} / \partial a_{ij} = \alpha_{ik} (\delta_{jk} - \alpha_{ij})$. Hence
#
# $$
# \frac{\partial L}{\partial a_{ij}} = \sum_{k \in A_i} g_i^\top v_k\, \alpha_{ik} (\delta_{jk} - \alpha_{ij})
# = \alpha_{ij} \Bigl( g_i^\top v_j - \sum_{k \in A_i} \alpha_{ik}\, g_i^\top v_k \Bigr)
# = \alpha_{ij}\, g_i^\top (v_j - o_i) .
# $$
#
# *The form.* $a_{ij}$ is linear in $W_{qk}$ with $\partial a_{ij} / \partial W_{qk} = x_i x_j^\top / \sqrt{d_h}$. The
# chain rule over all scores gives {eq}`eq-2-2-sum` with {eq}`eq-2-2-beta`.
#
# *The sum of a row.* $\sum_j \alpha_{ij} (v_j - o_i) = o_i - o_i = 0$, as the weights of a row add up to 1.
# ```
# ````
#
# The paper states the first equation for $i$ over predicted tokens and $j \in C_i$, the tokens that $i$ is predicted
# from, and takes $\beta_{ij} = \delta_i^\top x_j$, an error times an embedding. Its proof
# [needs five corrections](implicit_gradient_details.py#the-steps-of-the-proof); none of them changes the form of the sum.
# The check differentiates the whole model by every head's $W_{qk}$.

# %%
show(gradient.gradient_is_sum_of_rank_one(n_layers=n_layers, **sizes))

# %% [markdown]
# All of training's pressure on a head, from one sequence, is thus an $N \times N$ table of numbers $\beta_{ij}$ between
# two copies of the embeddings, and a few pairs carry most of it. {numref}`fig-one-pair` follows one of them there and back.

# %% tags=["hide-input"]
one_pair(toy_pass(d=8, n_heads=1, n_layers=1, n_tokens=6, seed=seed))

# %% [markdown]
#
# ## What the softmax does to the coefficients
#
# The proof in the paper leaves the softmax out (Eq. S33 of the paper) and arrives at $\beta_{ij} = g_i^\top v_j$. That is
# the gradient of attention whose weights *are* the scores. With softmax two factors enter: a pair counts in proportion
# to its weight $\alpha_{ij}$, and its value counts against the mean value $o_i$ of its row. A pair whose value helps, but
# less than the average, is pushed down. So the sum with the printed coefficients points elsewhere than the
# gradient; [pair by pair](implicit_gradient_details.py#printed-and-exact-coefficients) even signs differ.

# %%
show(gradient.coefficients_without_softmax(**sizes))

# %% [markdown]
# The coefficients of a row add up to zero, which the printed ones do not. So one vector $c$ added to all keys' embeddings
# changes nothing,
#
# $$
# \sum_j \beta_{ij}\, x_i (x_j + c)^\top = \sum_j \beta_{ij}\, x_i x_j^\top :
# $$ (eq-2-2-shift)
#
# what the embeddings have in common is absent from the *column* side of the gradient and stays on its *row* side.
#
# ## Which tokens $i$ and $j$ are
#
# In the gradient, $i$ is the position of the *query*, and $j$ runs over everything it attends to, itself included. With a
# causal mask the query that predicts token $i + 1$ stands at $i$: the row side of $W_{qk}$ collects the embedding of the
# last token before the predicted one, never that of the predicted token. In masked training of a single layer the queries
# that count hold the embedding of the mask token, up to their positions. Below the last layer the loss reaches visible
# positions as well, and these are queries with embeddings of their own. The first position of a causal model attends to
# itself alone, so its coefficients are zero.

# %%
show(gradient.pairs_that_count(d=d, n_heads=n_heads, n_tokens=n_tokens + 1, seed=seed))

# %% [markdown]
# Summed over all losses the statement keeps its form, with $i$ a query position. The
# [loss of one token](implicit_gradient_details.py#the-loss-of-one-token) fills one row of coefficients in the last layer
# only.
#
# ## From the gradient to the update
#
# ````{prf:remark} Remark S1.6 of the paper: the update through $W_q$ and $W_k$
# :label: rem-s1-6
#
# Let $G = \partial L / \partial W_{qk}$ and let one step of gradient descent with rate $\eta$ move $W_q$ and $W_k$.
# Then $W_{qk} = W_q W_k^\top$ changes by
#
# $$
# \Delta W_{qk} = -\eta\, (W_q W_q^\top G + G\, W_k W_k^\top) + \eta^2\, G\, W_k W_q^\top G .
# $$ (eq-s1-6-step)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# As $L$ depends on $W_q$ and $W_k$ through $W_q W_k^\top$ alone, $\partial L / \partial W_q = G W_k$ and
# $\partial L / \partial W_k = G^\top W_q$. The moved product is $(W_q - \eta\, G W_k)(W_k - \eta\, G^\top W_q)^\top$.
# Multiply out.
# ```
# ````
#

# %%
show(implicit_update.step_through_factors(**sizes))

# %% [markdown]
# The last term is exactly quadratic in $\eta$, where the paper writes $o(\eta^2)$ (its Eq. S39). From the first order it
# concludes that $\Delta W_{qk}$ is proportional to $G$ (its Eq. S40). It is not. The matrices
# $A = W_q W_q^\top$ and $B = W_k W_k^\top$ have rank at most $d_h$; they keep the part of $G$ that lies in the span of the
# current factors and drop the rest. For random factors that do not depend on $G$, the widths say how much of its direction
# survives; of its symmetry, the widths and its trace. (Section S1.3 of the paper says before the remark that $W_{qk}$ "is
# implicitly updated with a combination of the weight updates of $W_q$ and $W_k$ having the same form as in Proposition 2.2".
# Of the form that is right: each pair adds two matrices of rank 1.)
#
# ````{prf:proposition} Remark S1.6 of the paper, corrected: alignment of update and gradient
# :label: rem-s1-6-alignment
#
# Let the entries of $W_q$ and $W_k$, $d \times d_h$, be independent, Gaussian, of mean zero and equal variance, and let
# $G$ be independent of them. To first order in $\eta$, with expectations over the factors,
#
# $$
# \frac{\mathrm{E}\,\langle \Delta W_{qk}, -G \rangle}{\sqrt{\mathrm{E}\,\|\Delta W_{qk}\|^2}\; \|G\|}
# = \sqrt{\frac{2 d_h}{d + 2 d_h + 1}} ,
# $$ (eq-s1-6-alignment)
#
# and for a symmetric $G$, with $t = \operatorname{Tr}(G)^2 / \|G\|^2$,
#
# $$
# \frac{\mathrm{E} \operatorname{Tr}(\Delta W_{qk} \Delta W_{qk})}{\mathrm{E}\, \|\Delta W_{qk}\|^2}
# = \frac{2 d_h + 1 + t}{d + 2 d_h + 1} .
# $$ (eq-s1-6-symmetry)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Take unit variance. $A = \sum_{c=1}^{d_h} w_c w_c^\top$ with independent standard Gaussian columns $w_c$, and $B$
# alike and independent. For one column and a fixed matrix $M$, Wick's rule gives
# $\mathrm{E}[w w^\top M w w^\top] = M + M^\top + \operatorname{Tr}(M) I$. For two different columns
# $\mathrm{E}[w_c w_c^\top M w_{c'} w_{c'}^\top] = M$. Hence $\mathrm{E} A = d_h I$,
#
# $$
# \mathrm{E}[A M A] = d_h^2 M + d_h \bigl(M^\top + \operatorname{Tr}(M) I\bigr), \qquad
# \mathrm{E} A^2 = d_h (d + d_h + 1) I .
# $$
#
# Let $D = AG + GB = -\Delta W_{qk} / \eta$. As $A$ and $B$ are independent,
#
# $$
# \begin{aligned}
# \mathrm{E} \langle D, G \rangle
# &= \operatorname{Tr}(\mathrm{E}[A]\, G G^\top) + \operatorname{Tr}(G^\top G\, \mathrm{E}[B]) = 2 d_h \|G\|^2 , \\
# \mathrm{E} \|D\|^2
# &= \operatorname{Tr}(G^\top \mathrm{E}[A^2] G) + \operatorname{Tr}(G\, \mathrm{E}[B^2] G^\top)
# + 2 \operatorname{Tr}(\mathrm{E}[A]\, G\, \mathrm{E}[B]\, G^\top) \\
# &= 2 d_h (d + d_h + 1) \|G\|^2 + 2 d_h^2 \|G\|^2 = 2 d_h (d + 2 d_h + 1) \|G\|^2 .
# \end{aligned}
# $$
#
# The first over the root of the second and $\|G\|$ is {eq}`eq-s1-6-alignment`. For $G = G^\top$,
#
# $$
# \begin{aligned}
# \mathrm{E} \operatorname{Tr}(D D)
# &= \operatorname{Tr}(G\, \mathrm{E}[A G A]) + \operatorname{Tr}(G\, \mathrm{E}[B G B])
# + 2 \operatorname{Tr}(\mathrm{E}[A]\, G\, G\, \mathrm{E}[B]) \\
# &= 2 (d_h^2 + d_h) \|G\|^2 + 2 d_h \operatorname{Tr}(G)^2 + 2 d_h^2 \|G\|^2 = 2 d_h (2 d_h + 1 + t) \|G\|^2 ,
# \end{aligned}
# $$
#
# and dividing by $\mathrm{E} \|D\|^2$ gives {eq}`eq-s1-6-symmetry`.
# ```
# ````

# %%
show(implicit_update.update_is_not_proportional(d=d_wide, draws=draws, seed=seed))

# %% tags=["hide-input"]
G = torch.randn(d_wide, d_wide, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
S = G + G.T
share = float(S.trace() ** 2 / S.square().sum())
samples = []
for d_head in (d_wide // 16, d_wide // 8, d_wide // 4, d_wide // 2, d_wide):
    cosines, _ = sample_alignment(G, d_head, draws, seed)
    _, scores = sample_alignment(S, d_head, draws, seed + 1)
    rows = {"d_head": d_head, "cosine": cosines.numpy(), "symmetry": scores.numpy()}
    samples.append(pd.DataFrame(rows))
curve = pd.DataFrame({"d_head": range(d_wide // 16, d_wide + 1)})
curve["cosine"] = [alignment_at_random_factors(d_wide, w) for w in curve["d_head"]]
curve["symmetry"] = [symmetry_at_random_factors(d_wide, w, share) for w in curve["d_head"]]
figures.alignment_by_head_width(pd.concat(samples), curve, d_wide)

# %% [markdown]
# For a head of width 64 in a model of width 768, as in BERT-base, the closed forms give a cosine of {glue:text}`bert-cos`,
# and for the update of a perfectly symmetric gradient a symmetry score of {glue:text}`bert-s` where its trace is small
# ($t = 0$), up to 1 where it is as large as it can be ($G = I$, $t = d$). Two situations keep the direction of any $G$: $A$ and
# $B$ multiples of the identity, which needs $d_h = d$; and, for symmetry alone, $W_q = W_k$, since then $AG + GA$ is
# symmetric with $G$. The second is the symmetric initialisation of Section 4.2 of the paper. The details treat [biases,
# rotary positions and shared layers](implicit_gradient_details.py#biases-rotary-positions-shared-layers), [several heads,
# and Adam](implicit_gradient_details.py#several-heads-and-adam).
#
# ## What it means for you
#
# - A pair counts in proportion to its attention weight: where a head does not attend, errors move nothing.
# - A vector that all embeddings share leaves no trace on the key side of the gradient, only on its query side.
# - What the gradient shows, its symmetry included, reaches $W_{qk}$ only in part, and the less the narrower the heads. Look
#   at the matrix itself: `attngeo train --picture-every` keeps it at steps of a run.
