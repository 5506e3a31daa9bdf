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
# Training never touches $W_{qk} = W_q W_k^\top$ directly: it moves $W_q$ and $W_k$, and $W_{qk}$ follows. Section 2.2
# of the paper {cite}`saponati2025` asks what shape that movement has. Its answer, Proposition 2.2, is a weighted sum of
# outer products $x_i x_j^\top$ of embeddings, one for every pair of positions that attention connects. Everything that
# the paper later says about symmetry and about rows and columns starts from this sum.
#
# This page derives the sum for attention as it is computed, softmax and scale included, and compares every step of the
# proof with automatic differentiation in float64. The form of the result holds. Its coefficients, as printed, are those
# of attention without softmax, and the last step, from the gradient of $W_{qk}$ to the update of $W_q$ and $W_k$,
# changes the direction.

# %% tags=["parameters"]
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

from attngeo.chapters.implicit_gradient import beyond_the_definition, chain_rule, figures
from attngeo.chapters.implicit_gradient import forward_backward, gradient, implicit_update
from attngeo.chapters.implicit_gradient.gradient import exact_beta, paper_beta
from attngeo.display.page import glue, show
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer
from attngeo.chapters.implicit_gradient.through_factors import (
    alignment_at_random_factors,
    sample_alignment,
    symmetry_at_random_factors,
)
from attngeo.updates.rank_one import cosine, gradient_sum

sizes = {"d": d, "n_heads": n_heads, "n_tokens": n_tokens, "seed": seed}

# %% [markdown]
# ## The model
#
# The reference is a Transformer small enough to differentiate everything in it: {glue:text}`layers` layers of width
# {glue:text}`d`, {glue:text}`heads` heads of width {glue:text}`d-head`, sequences of {glue:text}`tokens` tokens, random
# weights. With rows $x_i^\top$ of $X$ as the input of a layer, a head computes
#
# $$
# a_{ij} = \tfrac{1}{\sqrt{d_h}}\, x_i^\top W_{qk} x_j, \quad
# \alpha_{ij} = \frac{e^{a_{ij}}}{\sum_{k \in A_i} e^{a_{ik}}}, \quad
# o_i = \sum_{j \in A_i} \alpha_{ij} v_j ,
# $$ (eq-2-2-head)
#
# where $v_j = W_o^\top W_v^\top x_j$, and $A_i$ is the set of positions that position $i$ attends to. The sum of the heads' outputs $o_i$ is added to
# $x_i$, which gives $\hat x_i$; a feedforward layer may follow. Two objectives are run: *autoregressive*, where
# $A_i = \{j \le i\}$ and position $i$ predicts the token at $i + 1$, and *masked*, where every position attends to
# every position and the positions that hold the mask token predict what it hides.

# %%
config = ToyConfig(d=d, n_heads=n_heads, n_layers=n_layers, n_tokens=n_tokens)
model = ToyTransformer.random(config, seed)
passes = {name: model.example(name, seed) for name in ("autoregressive", "masked")}

# %% tags=["remove-cell"]
glue("d", d)
glue("heads", n_heads)
glue("layers", n_layers)
glue("tokens", n_tokens)
glue("d-head", config.d_head)

# %% [markdown]
# Equation 1 of the paper divides the scores by $\sqrt d$, also for several heads (Eq. S18). Implementations divide by
# $\sqrt{d_h}$, the width of a head. The two agree for a single head, and a factor on all scores changes neither score
# of a matrix, but gradients carry it.

# %%
show(forward_backward.attention_scale(d=d, n_heads=n_heads, n_tokens=n_tokens, seed=seed))

# %% [markdown]
# ## The gradient of $W_{qk}$
#
# ````{prf:proposition} 2.2, the gradient of $W_{qk}$ is a sum of rank-1 matrices
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
# The paper states the first equation for $i$ over predicted tokens and $j \in C_i$, and takes
# $\beta_{ij} = \delta_i^\top x_j$. The statement here is the corrected one.
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
# The check differentiates the whole model by every head's $W_{qk}$, with and without feedforward layers.

# %%
show(gradient.gradient_is_sum_of_rank_one(n_layers=n_layers, **sizes))

# %% [markdown]
# In matrix form the sum is $X^\top B X$ with $[B]_{ij} = \beta_{ij}$: all of training's pressure on a head, from one
# sequence, is an $N \times N$ table of numbers between two copies of the embeddings. A few pairs carry most of it.

# %%
layer = passes["autoregressive"].gradient(0)
beta = exact_beta(layer, config.score_scale)
figures.rank_one_build_up(beta[0], layer.layer.x, layer.w_qk[0])

# %% [markdown]
# Figure 1 of the paper draws one such pair: a score goes forwards as $x_i^\top W_{qk} x_j$, and an error comes back and
# scales $K_{ij}$. The drawing shows the error as a dot product, which is the case without softmax.

# %%
show(forward_backward.forward_and_backward(**sizes))

# %% [markdown]
# ## What the softmax does to the coefficients
#
# The proof in the paper leaves the softmax out at Eq. S33 and arrives at $\beta_{ij} = g_i^\top v_j$ (S36). That is the
# gradient of attention whose weights *are* the scores. With softmax two factors enter: a pair counts in proportion to
# its weight $\alpha_{ij}$, and its value counts against the mean value $o_i$ of its row. A pair whose value helps, but
# less than the average, is pushed down.
#
# The sum over a row being zero has a consequence that the printed coefficients do not have: one vector added to all
# keys' embeddings changes nothing,
#
# $$
# \sum_j \beta_{ij}\, x_i (x_j + c)^\top = \sum_j \beta_{ij}\, x_i x_j^\top .
# $$ (eq-2-2-shift)
#
# What the embeddings have in common is thus absent from the *column* side of the gradient, while it stays on the *row*
# side.

# %%
show(gradient.coefficients_without_softmax(d=d, n_heads=n_heads, n_tokens=n_tokens, seed=seed))

# %%
pairs, cosines = [], {}
for objective, one_pass in passes.items():
    g = one_pass.gradient(0)
    exact, paper = exact_beta(g, config.score_scale), paper_beta(g)
    attended = g.layer.mask.expand_as(exact)
    values = {"paper": paper[attended].numpy(), "exact": exact[attended].numpy()}
    pairs.append(pd.DataFrame({"objective": objective} | values))
    cosines[objective] = cosine(gradient_sum(paper, g.layer.x), g.w_qk)

figures.coefficient_alignment(pd.concat(pairs), cosines)

# %% tags=["remove-cell"]
for objective, value in cosines.items():
    glue(f"cos-{objective}", value, ".2f")

# %% [markdown]
# In this model the sum with the printed coefficients makes a cosine of {glue:text}`cos-autoregressive` (autoregressive)
# and {glue:text}`cos-masked` (masked) with the gradient. These are random weights; the number changes with training,
# the formula does not.
#
# ## Which positions $i$ and $j$ are
#
# The paper lets $i$ run over predicted tokens and $j$ over $C_i$, the tokens that the objective conditions on. In the
# gradient, $i$ is the position of the *query* and $j$ runs over everything it attends to, itself included. The
# difference is not one of names:
#
# - With a causal mask the query that predicts token $i + 1$ stands at $i$. The row side of $W_{qk}$ collects the
#   embedding of the last token before the predicted one, never the embedding of the predicted token.
# - In masked training the query holds the embedding of the mask token (in the first layer, up to its position).
# - The first position of a causal model attends to itself alone: its row of coefficients is zero.

# %%
show(gradient.pairs_that_count(d=d, n_heads=n_heads, n_tokens=n_tokens + 1, seed=seed))

# %% [markdown]
# Equation S36 gives the loss of one token a single row of coefficients, in every layer. In the last layer that is
# right, as $x_n^L$ depends on no other $\hat x_i^L$. In the layers below, the loss at $n$ reaches every position that
# $n$ attends to later on.

# %%
show(gradient.rows_of_one_loss(**sizes))

# %%
causal = passes["autoregressive"]
positions = list(range(1, n_tokens - 1))  # the first has no coefficients, the last predicts nothing
squares = {}
for index in range(n_layers):
    betas = [exact_beta(causal.gradient(index, causal.losses[n]), 1.0) for n in positions]
    squares[f"layer {index + 1}"] = torch.stack([b.square().sum((0, 2)) for b in betas])

figures.rows_of_losses(squares, positions)

# %% [markdown]
# Summed over all losses the statement keeps its form, with $i$ a query position: this is Eq. S37. The same sum grouped
# by context is Eq. 9; there, and in S38, the two summation signs stand in the wrong order, as $P_j$ needs its $j$.

# %%
show(gradient.regrouping(n_tokens=n_tokens, seed=seed))

# %% [markdown]
# ## The steps of the proof
#
# The proof of the paper passes through Eqs. S23 to S32. Five of its steps need a correction; none of them changes the
# form of {eq}`eq-2-2-sum`.
#
# **The model (S23 to S25).** The loss lacks its minus sign, and so does its gradient, so that the two agree with each
# other. Read literally, S24 predicts token $i$ from the embedding of token $i$, which the residual connection carries
# to the output. S25 adds attention to $\hat x_i^{l-1}$ instead of $x_i^{l-1}$.

# %%
show(
    forward_backward.loss_sign(seed=seed),
    forward_backward.prediction_from_its_own_input(seed=seed),
    forward_backward.residual_input(seed=seed),
)

# %% [markdown]
# **The chain rule (S27 to S32).** The derivative by *one* weight has one value in it; the sum over $j$ belongs to the
# chain rule. And the layers above a layer multiply: with $F_m'$ the Jacobian of what block $m$ adds to the residual
# stream, taken over the whole sequence, and $m_l'$ that of the feedforward layer,
#
# $$
# \frac{\partial X^L}{\partial \hat X^l} = (I + F_L') (I + F_{L-1}') \cdots (I + F_{l+1}') (I + m_l') .
# $$ (eq-2-2-jacobian)
#
# The paper prints $1 + \sum_m F_m'$ in place of the product. That is its first-order part, exact for a single layer
# above. It also writes the derivative along one token; with full attention the other positions pass information on as
# well.
#
# ````{dropdown} Proof of the product
# ```{prf:proof}
# Block $m$ maps $X^{m-1}$ to $X^m = X^{m-1} + f_m(X^{m-1})$, so that its Jacobian is $I + F_m'$ with
# $F_m' = \partial f_m / \partial X^{m-1}$. Within block $l$ the feedforward layer maps $\hat X^l$ to
# $X^l = \hat X^l + m_l(\hat X^l)$, with Jacobian $I + m_l'$. The chain rule for a composition multiplies the Jacobians,
# the later ones on the left. Multiplying out, the terms with a single $F_m'$ make up the printed sum; the terms with
# two or more are missing from it.
# ```
# ````

# %%
show(
    chain_rule.single_weight_derivative(seed=seed),
    chain_rule.jacobian_of_later_layers(seed=seed),
)

# %% [markdown]
# ## From the gradient to the update
#
# ````{prf:remark} S1.6, the update through $W_q$ and $W_k$
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
# The first order is that of Eq. S39. The remainder is exactly quadratic in $\eta$, where the paper writes $o(\eta^2)$.
# The check takes the step with the gradients that automatic differentiation gives for $W_q$ and $W_k$.

# %%
show(
    implicit_update.step_through_factors(**sizes),
    implicit_update.terms_of_the_step(seed=seed),
)

# %% [markdown]
# The remark is about a layer of Definition S1.1. There queries and keys have no biases, positions are added to the
# embeddings, and every layer has factors of its own. BERT has biases, many later models rotate queries and keys by their
# positions, and the layers of ALBERT share one $W_q$ and one $W_k$.
#
# ````{prf:proposition} The update with biases, rotary positions and shared layers (ours)
# :label: prop-s1-6-beyond
#
# Let $\beta_{ij}$ be the exact coefficients {eq}`eq-2-2-beta`, $G = \sum \beta_{ij} K_{ij}$, and let one step of gradient
# descent with rate $\eta$ move $W_q$ and $W_k$. To first order in $\eta$:
#
# 1. With queries $W_q^\top x_i + b_q$ and keys $W_k^\top x_j + b_k$,
#
# $$
# \Delta W_{qk} = -\eta\, \Bigl( W_q W_q^\top G + G\, W_k W_k^\top + W_q b_q \Bigl( \sum_{i,j} \beta_{ij} x_j \Bigr)^{\!\top} \Bigr) ,
# $$ (eq-s1-6-biases)
#
# whatever $b_k$ is.
#
# 2. With queries $R_i W_q^\top x_i$ and keys $R_j W_k^\top x_j$, where $R_i = R_1^i$ and $R_1$ is a rotation,
#
# $$
# \Delta W_{qk} = -\eta \sum_{i,j} \beta_{ij} \bigl( W_q R_{j-i}^\top W_q^\top K_{ij} + K_{ij} W_k R_{j-i}^\top W_k^\top \bigr) .
# $$ (eq-s1-6-rotary)
#
# 3. If several layers share $W_q$ and $W_k$, the first order of {eq}`eq-s1-6-step` holds with $G = \sum_l G_l$, the sum of
#    the gradients by each layer's $W_{qk}$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *1.* Biases are one more coordinate. With $\tilde x = (x, 1)$ and $\tilde W_q$, $\tilde W_k$ the factors with $b_q^\top$
# and $b_k^\top$ as an additional row, the scores are $\tilde x_i^\top \tilde W_q \tilde W_k^\top \tilde x_j$, and the loss
# depends on $W_q$ and $W_k$ through them alone. So $\partial L / \partial \tilde W_q = \tilde G \tilde W_k$ and
# $\partial L / \partial \tilde W_k = \tilde G^\top \tilde W_q$ with $\tilde G = \sum \beta_{ij} \tilde x_i \tilde x_j^\top$.
# The upper $d$ rows are
#
# $$
# \frac{\partial L}{\partial W_q} = G W_k + u\, b_k^\top, \qquad
# \frac{\partial L}{\partial W_k} = G^\top W_q + v\, b_q^\top, \qquad
# u = \sum_i x_i \sum_j \beta_{ij}, \qquad v = \sum_{i,j} \beta_{ij} x_j .
# $$
#
# By {prf:ref}`prop-2-2`, whose proof holds for any scores under a softmax, $\sum_j \beta_{ij} = 0$, so $u = 0$. The first
# order of the change of $W_q W_k^\top$ is
# $-\eta \bigl( W_q (\partial L / \partial W_k)^\top + (\partial L / \partial W_q) W_k^\top \bigr)$, which is
# {eq}`eq-s1-6-biases`. The coefficients themselves do not depend on $b_k$ either, which adds $q_i^\top b_k$ to all scores
# of row $i$.
#
# *2.* The score, before its scale, is $x_i^\top W_q R_{j-i} W_k^\top x_j$, as $R_i^\top R_j = R_{j-i}$. Its derivatives are
# $K_{ij} W_k R_{j-i}^\top$ by $W_q$ and $K_{ij}^\top W_q R_{j-i}$ by $W_k$. Sum with $\beta_{ij}$ and insert as before.
#
# *3.* By the chain rule $\partial L / \partial W_q = \sum_l G_l W_k$ and $\partial L / \partial W_k = \sum_l G_l^\top W_q$.
# ```
# ````
#
# What this means for trained models: in BERT the term of the biases has, at each step, the same left factor $W_q b_q$
# for every sequence, a direction of the column space that does not depend on the tokens. With rotations the update is
# no function of $G$: pairs at different distances are turned before they are added. And what the paper says of the
# gradient of one layer is, in ALBERT, a statement about a sum over all layers.

# %%
show(beyond_the_definition.step_beyond_the_definition(seed=seed))

# %% [markdown]
# Equation S40 concludes that $\Delta W_{qk}$ is proportional to $G$. It is not. The two matrices $A = W_q W_q^\top$ and
# $B = W_k W_k^\top$ have rank at most $d_h$; they keep the part of $G$ that lies in the span of the current factors and
# drop the rest. How much survives follows from the widths alone.
#
# ````{prf:proposition} S1.6 corrected, alignment of update and gradient
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

# %%
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

# %% tags=["remove-cell"]
glue("bert-cos", alignment_at_random_factors(768, 64), ".2f")
glue("bert-s", symmetry_at_random_factors(768, 64), ".2f")

# %% [markdown]
# For a head of width 64 in a model of width 768, as in BERT-base, the closed forms give a cosine of
# {glue:text}`bert-cos`, and a symmetry score of {glue:text}`bert-s` for the update of a gradient that is itself
# perfectly symmetric. Two situations keep the direction: $W_q W_q^\top$ and $W_k W_k^\top$ multiples of the identity,
# which needs $d_h = d$; and, for symmetry alone, $W_q = W_k$, since then $AG + GA$ is symmetric with $G$. The second is
# the symmetric initialisation of Section 4.2.
#
# ### Several heads, and Adam
#
# With several heads the loss is no function of the summed form $\sum_h W_{qk,h}$: every head has its own softmax and
# its own values. The update of the layer is the sum of the heads' updates, each with its own $G_h$; replacing these by
# one common gradient gives another matrix. And the models of the paper are trained with AdamW, whose first step is, but
# for weight decay, the sign of the gradients of $W_q$ and $W_k$: it points farther from $G$ than the step of gradient
# descent.

# %%
show(implicit_update.step_of_several_heads(**sizes), implicit_update.first_adam_step(**sizes))

# %% [markdown]
# ## What follows
#
# - The gradient of $W_{qk}$ is a sum of rank-1 terms $\beta_{ij} x_i x_j^\top$ over the pairs that attention connects.
#   This holds exactly, for every head and layer.
# - The coefficients carry the softmax. They add up to zero over each row, so that the common part of the context's
#   embeddings leaves no trace on the column side.
# - $x_i$ is the embedding at the query position, not the embedding of the predicted token.
# - The update of $W_{qk}$ by a step on its factors is not proportional to that sum, and the less so the narrower the
#   heads. Statements about the symmetry of the sum carry over to the update of $W_{qk}$ only in part.
