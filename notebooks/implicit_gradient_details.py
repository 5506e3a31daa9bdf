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
# # Details: The implicit gradient
#
# What the [chapter on the implicit gradient](implicit_gradient.py) leaves out: slips of the paper's proof, the rows that
# one loss fills, and updates of models beyond the paper's definition. The model is that of the chapter, with the notation
# of {eq}`eq-2-2-head` and {eq}`eq-2-2-beta`.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding of the toy Transformers, a multiple of n_heads; in [8, 256]
n_heads: int = 4  # attention heads; in [2, 16]
n_layers: int = 3  # layers of the toy Transformers; in [2, 6]
n_tokens: int = 8  # tokens of a sequence; in [4, 32]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import pandas as pd
import torch

from attngeo.chapters.implicit_gradient import beyond_the_definition, chain_rule, figures
from attngeo.chapters.implicit_gradient import forward_backward, gradient, implicit_update
from attngeo.chapters.implicit_gradient.gradient import exact_beta, paper_beta
from attngeo.display.page import show
from attngeo.updates.rank_one import cosine, gradient_sum
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

sizes = {"d": d, "n_heads": n_heads, "n_tokens": n_tokens, "seed": seed}
config = ToyConfig(d=d, n_heads=n_heads, n_layers=n_layers, n_tokens=n_tokens)
model = ToyTransformer.random(config, seed)
passes = {name: model.example(name, seed) for name in ("autoregressive", "masked")}

# %% [markdown]
# ## The scale of the scores
#
# Equation 1 of the paper divides the scores by $\sqrt d$, also for several heads (its Eq. S18). Implementations divide by
# $\sqrt{d_h}$, the width of a head. The two agree for a single head, and a factor on all scores changes neither score of
# a matrix: a convention, but for gradients, which carry the factor.

# %%
show(forward_backward.attention_scale(**sizes))

# %% [markdown]
# ## Figure 1 of the paper
#
# The figure draws one pair of {prf:ref}`prop-2-2`: a score goes forwards as $x_i^\top W_{qk} x_j$, and an error comes
# back and scales $K_{ij}$. It shows the error as a dot product, which is the case without softmax;
# {numref}`fig-one-pair` draws the exact one.

# %%
show(forward_backward.forward_and_backward(**sizes))

# %% [markdown]
# ## Printed and exact coefficients
#
# The coefficients as printed leave the softmax out. The figure says in how many pairs even the sign is
# another.

# %% tags=["hide-input"]
pairs, cosines = [], {}
for objective, one_pass in passes.items():
    g = one_pass.gradient(0)
    exact, paper = exact_beta(g, config.score_scale), paper_beta(g)
    attended = g.layer.mask.expand_as(exact)
    values = {"paper": paper[attended].numpy(), "exact": exact[attended].numpy()}
    pairs.append(pd.DataFrame({"objective": objective} | values))
    cosines[objective] = cosine(gradient_sum(paper, g.layer.x), g.w_qk)

figures.coefficient_alignment(pd.concat(pairs), cosines)

# %% [markdown]
# These are random weights; the numbers change with training, the formula does not.
#
# ## The loss of one token
#
# Equation S36 of the paper gives the loss of one token a single row of coefficients, in every layer. In the last layer that is
# right, as $x_n^L$ depends on no other $\hat x_i^L$. In the layers below, the loss at $n$ reaches every position that
# $n$ attends to later on.

# %%
show(gradient.rows_of_one_loss(**sizes))

# %% tags=["hide-input"]
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
# The paper prints $1 + \sum_m F_m'$ in place of the product. With $F_m'$ the Jacobian of what a block adds, that is its
# first-order part, exact for a single layer above; with the $\mathcal F_l$ of the paper's S24 and S25, which contains the
# residual connection, the 1 is one too many. It also writes the derivative along one token; with full attention the other positions pass information on as
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
# ## The two terms of one pair
#
# By {prf:ref}`rem-s1-6` the pair $(i, j)$ adds $W_q W_q^\top K_{ij} + K_{ij} W_k W_k^\top$ to the update, up to its
# coefficient. Equation S41 of the paper lacks a transpose in the first of the two.

# %%
show(implicit_update.terms_of_the_step(seed=seed))

# %% [markdown]
# ## Biases, rotary positions, shared layers
#
# {prf:ref}`rem-s1-6` is about a layer of {prf:ref}`def-s1-1`. There queries and keys have no biases, positions are added
# to the embeddings, and every layer has factors of its own. BERT has biases, many later models rotate queries and keys by
# their positions, and the layers of ALBERT share one $W_q$ and one $W_k$.
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
# ## Several heads, and Adam
#
# With several heads the loss is no function of the summed form $\sum_h W_{qk,h}$: every head has its own softmax and
# its own values. The update of the layer is the sum of the heads' updates, each with its own $G_h$; replacing these by
# one common gradient gives another matrix. And the models of the paper are trained with AdamW, whose first step is, but
# for weight decay, the sign of the gradients of $W_q$ and $W_k$: at random weights it points farther from $G$ than the step
# of gradient descent.

# %%
show(implicit_update.step_of_several_heads(**sizes), implicit_update.first_adam_step(**sizes))
