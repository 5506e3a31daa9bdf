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
# # Why updates would be symmetric
#
# Training that fills in tokens from both sides, *bidirectional* training, meets every pair of tokens in both orders:
# token $i$ is predicted with the help of token $j$, and $j$ with the help of $i$. The paper's second theorem says that the
# updates of $W_{qk}$ are therefore approximately symmetric {cite}`saponati2025`. Are they?
#
# They are as far as the two predictions of a pair agree, which the paper assumes before the theorem and the objective does
# not imply: for orthonormal embeddings the symmetry score of an update *is* the correlation of the two coefficients of a
# pair. In the exact gradients of a small Transformer at random weights this correlation is {glue:text}`agreement`.

# %% tags=["parameters", "remove-input"]
d: int = 48  # width of the embedding; in [16, 128]
n_tokens: int = 24  # tokens of a sequence; in [8, 64]
n_vocab: int = 48  # tokens in the vocabulary of the corpus; in [16, 256]
n_sequences: int = 2000  # sequences of the largest corpus; in [500, 20000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from attngeo.chapters.symmetric_updates import corpus, figures, first_gradients, pairs, shifted_queries
from attngeo.chapters.symmetric_updates.first_update import random_corpus
from attngeo.chapters.symmetric_updates.pair_symmetry import agreement, pair_score
from attngeo.display.page import glue, show

# %% tags=["hide-input"]
correlations = (-0.9, -0.5, 0.0, 0.5, 0.9)
updates = [u for n in (n_tokens, 4 * n_tokens) for u in pairs.correlated_updates(d, n, 6, correlations, seed)[:-1]]
figures.score_by_correlation(pairs.update_scores(updates), d)

# %% [markdown]
# ## Pairs
#
# In the paper's setting, which this chapter takes over, the update of a sequence is a sum
# $\Delta W = \sum_{ij} \beta_{ij}\, x_i x_j^\top$, where $x_i$ is the embedding of token $i$ and the coefficient $\beta_{ij}$
# says how much token $j$ helps to predict it. (In exact gradients $x_i$ is the query's embedding, by {prf:ref}`prop-2-2`,
# and a step on $W_q$ and $W_k$ moves $W_{qk}$ by another matrix, by {prf:ref}`rem-s1-6`.)
#
# ````{prf:theorem} Thm. S1.14 (informally 2.4) of the paper: bidirectional training induces symmetry
# :label: thm-s1-14
#
# *Decomposition.* For any coefficients, with $K_{ij} = x_i x_j^\top$ and its symmetric and skew-symmetric parts $S_{ij}$ and
# $N_{ij}$,
#
# $$
# \sum_{i,j=1}^N \beta_{ij} K_{ij} = \sum_i \beta_{ii} K_{ii}
# + \sum_{i<j} \bigl[ (\beta_{ij} + \beta_{ji}) S_{ij} + (\beta_{ij} - \beta_{ji}) N_{ij} \bigr] .
# $$ (eq-s1-14-pairs)
#
# *Symmetry.* If $\beta_{ij} \approx \beta_{ji}$, then every pair contributes approximately $2\beta_{ij} S_{ij}$, a symmetric
# matrix.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Split the double sum into $i = j$, $i < j$ and $i > j$, and rename the indices in the last part. The pair $i < j$ then
# has $\beta_{ij} K_{ij} + \beta_{ji} K_{ji}$ with $K_{ji} = K_{ij}^\top = S_{ij} - N_{ij}$, which is the bracket. For equal
# coefficients the second term of the bracket vanishes.
# ```
# ````

# %%
show(pairs.pair_decomposition(d=d, n_tokens=min(n_tokens, 24), seed=seed))

# %% [markdown]
# The first part is an identity of algebra. The condition of the second is assumed in the paper ("the term $\beta_{ij}$ and
# $\beta_{ji}$ from Proposition 2.2 are correlated", Section S1.4.5) and, stronger, in the proof: the same sign and nearly
# the same size. Under it the theorem holds, and much less will do. For orthogonal embeddings a pair whose coefficients
# are in the ratio of two to one still has the score {glue:text}`half`; with opposite signs it has {glue:text}`minus-half`
# ([score of a pair](symmetric_updates_details.py#the-score-of-a-pair)).
#
# ## The score of an update is a correlation
#
# ````{prf:proposition} the score of an update is a correlation
# :label: prop-s1-14-update
#
# Let $\Delta W = X^\top B X$ with the embeddings in the rows of $X$ and the coefficients in $B$, and let
# $\rho = \mathrm{Tr}(BB)/\|B\|_F^2 = \sum_{ij} \beta_{ij}\beta_{ji} / \sum_{ij} \beta_{ij}^2$.
#
# 1. For orthonormal embeddings, $s(\Delta W) = \rho$.
# 2. For independent embeddings of mean 0 and covariance $I/d$ and given $B$ without diagonal,
#    $\mathbb{E}\,\mathrm{Tr}(\Delta W \Delta W) / \mathbb{E}\|\Delta W\|_F^2 = (\rho + 1/d)/(1 + \rho/d)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $G = X X^\top$. Then $\mathrm{Tr}(\Delta W \Delta W) = \mathrm{Tr}(B G B G)$ and
# $\|\Delta W\|_F^2 = \mathrm{Tr}(B G B^\top G)$. For orthonormal rows $G = I$, which is the first claim.
#
# For the second, $\mathrm{Tr}(BGBG) = \sum B_{ij} G_{jk} B_{kl} G_{li}$ with $i \neq j$ and $k \neq l$. The entries of
# $G$ have $\mathbb{E}[G_{ii} G_{jj}] = 1$, $\mathbb{E} G_{ij}^2 = 1/d$ for $i \neq j$, and a product of two entries has
# mean 0 if some index occurs in it only once, because the embeddings are independent with mean 0. So
# $\mathbb{E}[G_{jk} G_{li}]$ is 1 for $(k, l) = (j, i)$, $1/d$ for $(k, l) = (i, j)$ and 0 otherwise, and
# $\mathbb{E}\,\mathrm{Tr}(BGBG) = \mathrm{Tr}(BB) + \|B\|_F^2/d$. Replacing the second $B$ by $B^\top$ gives
# $\mathbb{E}\,\mathrm{Tr}(BGB^\top G) = \|B\|_F^2 + \mathrm{Tr}(BB)/d$.
# ```
# ````

# %%
show(pairs.symmetry_of_an_update(d=d, seed=seed))

# %% [markdown]
# With coefficients of mean zero, $\rho$ is the correlation of $\beta_{ij}$ with $\beta_{ji}$. Autoregressive pairs, which
# occur in one order only, have $\rho = 0$ in every single sequence. Nothing else about the objective enters. (Exact
# gradients have the pair of a position with itself, too, which is in both orders at once. With it, $\rho$ at random
# weights is {glue:text}`rho-autoregressive` in autoregressive training and {glue:text}`rho-bidirectional` in
# bidirectional: the coefficients of a decoder's first gradient agree more.)
#
# ## Is the correlation there?
#
# The paper assumes that "predicting one token from the other gives similar predictions" (Section S1.4.5). At random weights
# this is not so. By {prf:ref}`prop-2-2`, up to what the softmax adds, $\beta_{ij} = g_i^\top V x_j$ with $g_i$ the gradient
# of the loss at the output of the layer and $V$ a random matrix, so that $\beta_{ij}$ and $\beta_{ji}$ are two different
# entries of a random bilinear form.

# %%
show(found := pairs.agreement_at_random_weights(seed=seed))

# %% [markdown]
# So the symmetry has to be learned, or built into the weights, before the updates can be symmetric. In one model it can
# be said what it takes.
#
# ````{prf:proposition} the first update of linear attention with tied embeddings
# :label: prop-s1-14-linear
#
# Let attention have no softmax, $\alpha_{ij} = x_i^\top W_{qk} x_j$, let the residual stream receive
# $\sum_j \alpha_{ij} V x_j$, let the output weights be the embeddings $e_a$, of mean zero over the vocabulary, and let
# position $i$ hold the token that it predicts, $x_i = e_{t_i}$. At $W_{qk} = 0$, for small embeddings and to leading order,
# the negative gradient has $\beta_{ij} = x_i^\top V x_j$. With all pairs, itself included, the update of a sequence is
#
# $$
# \Delta W = S V S, \qquad S = \sum_i x_i x_i^\top ,
# $$ (eq-s1-14-linear)
#
# which is symmetric if $V$ is, and only if $V$ is on the span of the embeddings.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The logits at position $i$ are $E(x_i + \sum_j \alpha_{ij} V x_j)$ with $E$ the matrix of embeddings. For small embeddings
# the predicted probabilities are $1/n$ for each of the $n$ tokens up to higher orders, so that the negative gradient of
# the loss in the residual stream is $E^\top(\text{one-hot}(t_i) - \text{probabilities}) = e_{t_i} - \bar e = x_i$. The
# score $\alpha_{ij}$ enters the residual stream with $V x_j$, hence $\beta_{ij} = x_i^\top V x_j$. Summing
# $x_i (x_i^\top V x_j) x_j^\top$ over $i$ and $j$ gives {eq}`eq-s1-14-linear`. $S V S - (SVS)^\top = S(V - V^\top)S$, which
# vanishes exactly if $u^\top(V - V^\top)u' = 0$ for all $u, u'$ in the range of $S$, the span of the embeddings.
# ```
# ````

# %%
show(first_gradients.first_update_of_linear_attention(seed=seed))

# %% [markdown]
# A softmax adds a term in which the mean of the sequence stands on the query side alone ({prf:ref}`prop-s1-14-softmax`).
# For a model that starts near $W_{qk} = 0$ even symmetric values then do not make the first steps exactly symmetric, except
# where the embeddings of a sequence average out; how far from it they are depends on that mean.
#
# ## Over a corpus the autoregressive objective does the same
#
# Coefficients that depend on the two tokens alone, $\beta_{ij} = \beta(t_i, t_j)$, add up to
# $\sum_{ab} C_{ab}\, \beta(a, b)\, e_a e_b^\top$, where $C_{ab}$ counts how often token $a$ is predicted with $b$ in its
# context. Bidirectional training has $C_{ab} = C_{ba}$ in every sequence. Autoregressive training counts how often $b$
# comes before $a$: lopsided in one sequence, but over a corpus both orders of most pairs occur. In the model above its
# update reaches a score of {glue:text}`end-target`, and the contrast that the paper takes from {prf:ref}`thm-s1-14` is
# lost.

# %% tags=["hide-input"]
sizes = sorted({1, 4, 16, 64, 256, 1024, n_sequences})
sample = random_corpus(d, n_vocab, n_tokens, n_sequences, seed)
growth = corpus.corpus_symmetry(sample, [n for n in sizes if n <= n_sequences])
figures.score_by_sequences(growth)

# %%
show(corpus.symmetry_over_a_corpus(n_sequences=max(n_sequences, 1500), seed=seed))

# %% [markdown]
# A contrast returns with a detail that the theorem leaves out: a decoder holds token $t_i$ at the query position $i$ and
# predicts $t_{i+1}$. With this shift the score stays at {glue:text}`end-behind`.
#
# ````{prf:proposition} the expected update if queries stand one position before their targets
# :label: prop-s1-14-shift
#
# Let the tokens be a stationary process over a finite vocabulary that mixes: the tokens at $i$ and $i+1$ become
# independent of the token at $i - m$ as $m \to \infty$. Then the update
# $\Delta W_N = \sum_{i<N} \sum_{j \le i} (x_{i+1}^\top V x_j)\, x_i x_j^\top$ has
#
# $$
# \frac{2}{N^2}\, \mathbb{E}[\Delta W_N] \to A V \Sigma, \qquad
# A = \mathbb{E}[x_i x_{i+1}^\top], \quad \Sigma = \mathbb{E}[x_i x_i^\top] .
# $$ (eq-s1-14-shift)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# A term is $x_i x_{i+1}^\top V x_j x_j^\top$. By stationarity its expectation depends on $m = i - j$ alone; call it $F_m$.
# There are $N - 1 - m$ pairs of the distance $m$, so $\mathbb{E}[\Delta W_N] = \sum_{m=0}^{N-2} (N - 1 - m) F_m$. As the
# vocabulary is finite, $F_m$ is a finite sum over the values of three tokens, and mixing gives
# $F_m \to \mathbb{E}[x_i x_{i+1}^\top]\, V\, \mathbb{E}[x_j x_j^\top] = A V \Sigma$. The weights $2(N-1-m)/N^2$ add up to
# $(N-1)/N \to 1$ and each of them tends to 0, so that their average of the $F_m$ has the same limit.
# ```
# ````

# %%
show(shifted_queries.expected_update_one_behind(seed=seed))

# %% [markdown]
# Even for a symmetric $V$ the limit is in general not symmetric: its query side carries $A$, its key side $\Sigma$. (That
# $A \neq A^\top$, as which token follows which has a direction, adds to it and is not needed.) In this model it is the shift
# between query and target that separates a decoder from an encoder whose queries hold what they predict, not the number of
# pairs in either order. But an encoder's queries do not: with the mask's embedding at masked positions, the update of a
# model of one layer, as this one, has rank 1 whatever $V$ is ({prf:ref}`prop-s1-15-mask`), and no agreement of two
# predictions shows in it. How large these effects are away from $W_{qk} = 0$ is open.
#
# ## What symmetric updates do to a matrix
#
# Suppose that every update is symmetric. How symmetric does the matrix become to which they are added?
#
# ````{prf:proposition} symmetric updates freeze the skew-symmetric part
# :label: prop-2-4-frozen
#
# Let $M(t) = M_0 + \Delta_1 + \dots + \Delta_t \neq 0$ with symmetric matrices $\Delta_1, \dots, \Delta_t$, let $N_0$ be the
# skew-symmetric part of $M_0 \neq 0$ and $s_0$ its symmetry score. Then
#
# $$
# s(t) = 1 - \frac{2\|N_0\|_F^2}{\|M(t)\|_F^2} = 1 - (1 - s_0)\, \frac{\|M_0\|_F^2}{\|M(t)\|_F^2} .
# $$ (eq-2-4-frozen)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Taking the skew-symmetric part is linear, and that of every $\Delta$ is 0, so $M(t)$ has the skew-symmetric part $N_0$
# for all $t$. The score is $s = (\|S\|^2 - \|N\|^2)/\|M\|^2$ with $\|S\|^2 + \|N\|^2 = \|M\|^2$, hence
# $1 - s = 2\|N\|^2/\|M\|^2$, at time $t$ with $N = N_0$. At time 0 this reads $2\|N_0\|^2 = (1 - s_0)\|M_0\|^2$.
# ```
# ````

# %%
show(pairs.frozen_skew_part(seed=seed))

# %% [markdown]
# Symmetric updates never remove what was skew at the start, they only outgrow it.
#
# ## Rows, columns and masks
#
# Two more statements of the paper belong here. Cor. S1.13 of the paper says that bidirectional training gives the norms of
# rows and of columns the same variance. This holds in law if $\beta_{ij}$ and $\beta_{ji}$ have one law in both orders,
# whatever the tokens ({prf:ref}`cor-s1-13`); exact coefficients of a softmax do not meet the condition. Remark S1.15 of the
# paper counts the pairs that occur in both orders when only a share $p$ of the tokens is predicted ({prf:ref}`rem-s1-15`).
# One masking lowers the score of an update to $\rho p$. The sum over many maskings of the same text approaches $\rho$ again
# ({prf:ref}`prop-s1-15-score`).

# %% tags=["remove-cell"]
glue("agreement", found.comparisons[0].measured, "+.2f")
glue("half", pair_score(agreement(1.0, 0.5), 0.0), ".2f")
glue("minus-half", pair_score(agreement(1.0, -0.5), 0.0), ".2f")
glue("end-target", growth.query("setting == 'autoregressive, query holds the target'")["symmetry"].iloc[-1], ".2f")
for objective, gradients in pairs.gradients_by_objective(seed=seed).items():
    found_with_itself = pairs.agreements(gradients, with_itself=True)
    glue(f"rho-{objective.value}", sum(found_with_itself) / len(found_with_itself), ".2f")
glue("end-behind", growth.query("setting == 'autoregressive, query one behind'")["symmetry"].iloc[-1], ".2f")

# %% [markdown]
# ## What it means for you
#
# - A bidirectional objective alone does not make updates symmetric. If `attngeo score MODEL` finds your encoder symmetric,
#   the theorem does not say why: where the agreement of the two predictions would come from in training is open.
# - From a random start, where $s_0 = 0$, symmetric updates lead to the score $s$ exactly when the squared norm of $W_{qk}$
#   has become $1/(1-s)$ times as large. A layer whose norm grew less had updates that are not symmetric, or weight
#   decay. (Optimisers step $W_q$ and $W_k$: a symmetric gradient of $W_{qk}$ does not make the change of
#   $W_q W_k^\top$ symmetric.)
# - In the linear model above the shift between query and target keeps a decoder's updates from becoming symmetric. How far
#   it does in a trained decoder is open; how symmetric trained models are is measured in the
#   [survey of pretrained models](pretrained_survey.py).
