# ---
# jupyter:
#   attngeo:
#     variants:
#       seed: [0, 1, 2]
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # What does it mean for a query-key matrix to be symmetric?
#
# When a Transformer reads *the dog met my old cat*, attention decides how much information *dog* receives from *cat*, and
# how much *cat* receives from *dog*. If these two decisions are related, the weights of a model reveal something about how
# the model was trained. This book is about a paper by {cite:t}`saponati2025`, who claim that training creates such a
# relation in encoders.
#
# **In each attention head, the scores of all pairs of tokens are determined by a single matrix, the query-key matrix $\Wqk$.
# This matrix is symmetric if, for every pair of tokens, the two tokens give each other exactly the same score.** The
# *symmetry score* $s$ measures how close a matrix is to being symmetric. The score is 1 for a symmetric matrix and close to
# 0 for a random matrix. {glue:md}`strength:myst` (This label is explained on the [front
# page](introduction.py#what-we-found).)
#
# Even if the query-key matrix is symmetric, the attention *weights* that two tokens give each other can differ, because the
# softmax normalises the scores of each attending token separately. Moreover, the heads of a symmetric layer need not be
# symmetric, because the score of a layer is usually computed from the sum of its heads.

# %% tags=["parameters", "remove-input"]
symmetry: float = 1.0  # symmetry score at which the first figure opens; in [-1, 1]
d: int = 32  # width of the embeddings in the first figure and in the check; in [8, 512]
n_heads: int = 2  # heads in the figure of heads and their sum; in [2, 10]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch
from torch import Tensor

from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.scores import GAMMA, symmetry_score
from attngeo.experiments.runs.numbers_in_words import number
from chapters.bilinear_form.heads_of_words import heads_and_their_sum, heads_of_words
from chapters.bilinear_form.word_scores import random_parts, random_tokens, word_scores
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from livingpaper.display.page import glue, show
from livingpaper.display.strength import strength

law = laws_of_shape(768, 768, GAMMA)["symmetry"]
summed = symmetry_score(heads_of_words(n_heads).sum(0))
glue("strength", strength("proven"))
glue("random-low", law.mean - law.half_width, "+.3f")
glue("random-high", law.mean + law.half_width, "+.3f")
glue("n-heads", n_heads, "d")
glue("s-of-head", number(symmetry_score(heads_of_words(n_heads)[0]), 2))
glue("s-of-sum", number(summed, 2))
glue("outcome-of-sum", "symmetric" if summed == 1 else "more symmetric than each of them")

# %% tags=["remove-input"]
word_scores(d, seed, symmetry)

# %% [markdown]
# :::{admonition} How sure is this?
# - The statements about attention scores, attention weights and the symmetry score are mathematical results. We prove them
#   on this page or on the [details page](bilinear_form_details.py).
# - The matrices in the two figures are artificial, so that we can show every value of $s$. The [next
#   page](pretrained_survey.py) reports the symmetry scores of trained models.
# - This page describes attention without biases and without rotary position embeddings. Biases and rotary position
#   embeddings also affect the scores of a model, although neither is part of $\Wqk$ ([see
#   below](#what-the-query-key-matrix-leaves-out)).
# :::
#
# ## One score for each ordered pair of tokens
#
# A Transformer represents token $i$ by a vector $x_i \in \R^d$, its *embedding*. An attention head computes two vectors from each
# embedding. The *query* $q_i = \Wq\T x_i$ represents what token $i$ looks for, and the *key* $k_j = \Wk\T x_j$ represents what
# token $j$ offers. The product of query and key is the *raw score* that token $i$ gives token $j$:
#
# $$
# \hat\alpha_{ij} = q_i \cdot k_j = (\Wq\T x_i) \cdot (\Wk\T x_j) = x_i\T\, \Wqk\, x_j, \qquad \Wqk = \Wq \Wk\T .
# $$ (eq-1)
#
# The two matrices $\Wq$ and $\Wk$ therefore affect the scores only through their product $\Wqk$, which is called the
# *query-key matrix*. Its rows correspond to the tokens that attend, and its columns to the tokens that are attended to.
# Other authors have studied this matrix before {cite}`elhage2021,olsson2022,dar2023`.
#
# If we exchange the two tokens, we get $x_j\T \Wqk x_i$, which equals $x_i\T \Wqk\T x_j$. So the two scores are equal for all
# embeddings if and only if $\Wqk\T = \Wqk$, that is, if the matrix is *symmetric*. The two scores are negatives of each other
# for all embeddings if and only if $\Wqk\T = -\Wqk$. Such a matrix is called *skew-symmetric*.
#
# ## The symmetry score is a correlation
#
# Trained matrices are neither exactly symmetric nor exactly skew-symmetric. Every matrix $M$ is the sum of a symmetric part
# $M_s = (M + M\T) / 2$ and a skew-symmetric part $M_n = (M - M\T) / 2$, and the symmetry score compares the squared sizes of these
# parts:
#
# $$
# s = \frac{\norm{M_s}^2 - \norm{M_n}^2}{\norm{M}^2} .
# $$ (eq-symmetry-score)
#
# The score is 1 if the skew-symmetric part is zero and −1 if the symmetric part is zero. The formula on the [front
# page](introduction.py#what-does-symmetric-mean), $s = \sum_{ij} m_{ij} m_{ji} / \sum_{ij} m_{ij}^2$, is equivalent to this
# one, because $\norm{M_s}^2 - \norm{M_n}^2 = \sum_{ij} m_{ij} m_{ji}$ and $\norm{M}^2 = \sum_{ij} m_{ij}^2$. For a random
# matrix, both parts have about the same size, so $s$ is close to 0. For example, 95 % of random layers as wide as those of
# BERT-base have a symmetry score between {glue:text}`random-low` and {glue:text}`random-high`. In the paper, the formula for
# this score has an additional factor of 2, but the scores printed in the paper do not contain this factor (see [why we leave
# it out](two_scores_details.py#the-printed-factor-of-2-in-the-symmetry-score-is-wrong)).
#
# Values between 0 and 1 also have a simple meaning. Draw two random vectors whose coordinates are uncorrelated, with mean 0 and
# variance 1, and write down the score that the first vector gives the second and the score that the second vector gives the
# first. If you repeat this for many pairs of vectors, the correlation between the two scores is $s$. The coordinates of real
# token embeddings are correlated, so for real tokens the correlation can differ from $s$. At $s = 0.5$, for example, the score in one direction explains a quarter of the
# variance of the score in the other direction.
#
# ````{prf:proposition} What the symmetry score means (ours)
# :label: prop-meaning-of-s
#
# Let $M \ne 0$ be a square matrix with symmetry score $s$.
#
# 1. The scores $x\T M y$ and $y\T M x$ are equal for all $x$ and $y$ if and only if $s = 1$. They are negatives of each other
#    for all $x$ and $y$ if and only if $s = -1$.
# 2. If $x$ and $y$ are independent random vectors with mean zero and identity covariance, the correlation between $x\T M y$ and
#    $y\T M x$ is $s$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *1.* The difference between the two scores is $x\T (M - M\T) y = 2\, x\T M_n\, y$. It vanishes for all $x$ and $y$ if and
# only if $M_n = 0$. Since $\norm{M}^2 = \norm{M_s}^2 + \norm{M_n}^2$, this means $s = 1$. The sum of the two scores is $2\,
# x\T M_s\, y$, and by the same argument it vanishes for all $x$ and $y$ if and only if $s = -1$.
#
# *2.* Let $A$ and $B$ be matrices. The covariance of $x\T A y$ and $x\T B y$ is $\sum_{ijkl} A_{ij} B_{kl}\, \mathbb{E}[x_i
# x_k]\, \mathbb{E}[y_j y_l] = \sum_{ij} A_{ij} B_{ij} = \tr(A\T B)$. Both scores have mean zero, and $y\T M x = x\T M\T y$.
# Each score therefore has variance $\norm{M}^2$, and their covariance is $\tr(M\T M\T) = \tr(M M)$. The quotient $\tr(M M) /
# \norm{M}^2$ equals $s$, because $\norm{M_s}^2 - \norm{M_n}^2 = \tr(M M)$.
# ```
# ````
#
# We check both parts on matrices with a known symmetry score. The check also shows that the attention weights need not be
# symmetric even if the query-key matrix is.


# %%
def in_both_orders(w: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """For each pair of rows x and y, the score ``x^T W y`` and the score ``y^T W x``."""
    return torch.einsum("ni,ij,nj->n", x, w, y), torch.einsum("ni,ij,nj->n", y, w, x)


@claim(
    "3.1",
    "(meaning)",
    "the symmetry score is the correlation between the two scores that a pair of random vectors give each other",
    Verdict.HOLDS,
    remark="The matrices have norm 1, so each score has variance 1 and the correlation is the mean of the product of the two"
    " scores.",
    ours=True,
)
def meaning_of_the_symmetry_score(d=32, n_pairs=4000, seed=0):
    generator = torch.Generator().manual_seed(seed)
    parts = random_parts(d, generator)
    x, y = (random_tokens(n_pairs, d, generator) for _ in range(2))
    symmetric, skew = (in_both_orders(parts.at(s), x, y) for s in (1.0, -1.0))
    gap, total = (symmetric[0] - symmetric[1]).abs(), (skew[0] + skew[1]).abs()
    yield exact("s = 1: largest difference between the two scores of a pair", gap.max())
    yield exact("s = −1: largest sum of the two scores of a pair", total.max())
    for s in (0.9, 0.5, 0.0, -0.5):
        there, back = in_both_orders(parts.at(s), x, y)
        words = f"the matrix made to have s = {number(s, 1)}"
        yield exact(f"symmetry score of {words}", symmetry_score(parts.at(s)), s)
        yield monte_carlo(f"correlation of the two scores, {words}", there * back, s)
    weights = torch.softmax(x[:6] @ parts.at(1.0) @ x[:6].T, -1)
    words = "s = 1: largest difference between the attention weights of a pair, 6 tokens"
    yield compare(words, (weights - weights.T).abs().max(), ">", 0.01)


show(meaning_of_the_symmetry_score(d=d, seed=seed))

# %% [markdown]
# ## Equal scores do not give equal attention weights
#
# Attention layers do not use the scores directly. They first apply a softmax, which converts the scores that token $i$
# gives to all tokens into positive weights that add up to 1. The softmax normalises each row of scores separately. Suppose
# that *dog* and *cat* give each other the same score, but *dog* gives other words even higher scores. Then *dog* pays
# little attention to *cat*, whereas *cat* may pay a lot of attention to *dog*. In a decoder, this difference is extreme,
# because no token attends to the tokens after it.
#
# The symmetry of a query-key matrix is therefore a property of scores, not of attention weights. Because the softmax
# normalises each row separately, it may break the symmetry. However, it preserves the order within each row: the highest
# score of a row still receives the largest weight ({prf:ref}`prop-2-1` on the [details page](bilinear_form_details.py)).
#
# ## A layer can be symmetric although its heads are not
#
# A layer has several heads, and each head has its own query-key matrix and its own softmax. The paper studies the sum of
# these matrices over the heads of a layer ({prf:ref}`rem-s1-5`). However, a model never applies a softmax to this sum. The
# sum of the heads can be symmetric even if none of the individual heads is symmetric. In {numref}`fig-heads-of-words`, each
# of the {glue:text}`n-heads` heads attends in only one direction and has a symmetry score of {glue:text}`s-of-head`. The sum
# of the heads is {glue:text}`outcome-of-sum`: its symmetry score is {glue:text}`s-of-sum`.

# %% tags=["remove-input"]
heads_and_their_sum(n_heads)

# %% [markdown]
# For a trained layer, there are therefore two questions: are its heads symmetric, and is the sum of its heads symmetric? The
# [next page](pretrained_survey.py#are-the-heads-symmetric-or-only-their-sum) answers both questions.
#
# ## What the query-key matrix leaves out
#
# The query-key matrix does not account for the biases of queries and keys, the gains of a preceding layer normalisation, any
# normalisation of queries and keys, or rotary position embeddings (RoPE). All of these change which tokens a model attends
# to. The most important of these omissions are rotary position embeddings, which rotate queries and keys by angles
# proportional to the position of the token. If $R_m$ denotes the rotation by a distance of $m$ positions, the score that
# token $i$ gives token $j$ becomes
#
# $$
# \hat\alpha_{ij} = x_i\T\, \Wq R_{j-i} \Wk\T\, x_j .
# $$ (eq-rotary-score)
#
# So a different matrix applies to each distance between two tokens, and $\Wqk$ is only the matrix for distance 0
# ({prf:ref}`prop-rotary`). The matrix $\Wqk$ of such a model can be symmetric even if two neighbouring tokens give each
# other different scores.
#
# The paper reports scores of several models with rotary position embeddings. Only one of these models, ModernBERT, is an
# encoder, and its printed score is not the score of its query-key matrix. According to [a second-hand
# report](../notation.md#the-audit) on the authors' code, which we have not read ourselves, the query and key weights of
# ModernBERT [were multiplied along the wrong dimension](printed_scores_details.py#what-an-incorrect-extraction-does). We
# could not download these weights to compute the score ourselves.
#
# ## What it means for you
#
# - Read a symmetry score as the correlation between the two scores of a pair of random vectors. A score of 0.5 does not mean that half of the pairs agree.
# - Do not conclude from a symmetric query-key matrix that two tokens attend to each other equally.
# - Score the individual heads of a layer as well as their sum. The command `attngeo score bert-base-uncased --per-head` computes both
#   kinds of scores.
# - If your model uses rotary position embeddings, remember that $\Wqk$ alone determines only the scores at distance 0, that
#   is, the score that each token gives itself.
#
# The [details page](bilinear_form_details.py) describes the architecture, lets you step through the computation of one
# layer, and discusses what the paper states about scores and heads. The [notation page](../notation.md) lists all
# conventions.
#
# Next: [Are encoders symmetric while decoders are not?](pretrained_survey.py)
