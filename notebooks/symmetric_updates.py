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
# # Why updates would be symmetric
#
# The paper's second theorem says that bidirectional training makes the updates of $W_{qk}$ approximately symmetric
# {cite}`saponati2025`. The idea: every pair of positions occurs in both orders, token $i$ predicted with the help of
# token $j$ and the other way round, and if both predictions are alike, the two rank-1 terms form a symmetric matrix.
#
# An update is a sum $\Delta W = \sum_{ij} \beta_{ij}\, x_i x_j^\top$, where $x_i$ is the embedding at position $i$ and the
# coefficient $\beta_{ij}$ says how much token $j$ helps to predict token $i$ ({prf:ref}`prop-2-2`). The sum over pairs is
# exact. That the two terms of a pair agree is an assumption, which the paper states before the theorem; the objective
# does not imply it. This page measures what the assumption brings: for orthonormal embeddings the symmetry score of an
# update *is* the correlation of $\beta_{ij}$ with $\beta_{ji}$. The page then asks where such a correlation could come
# from, adds updates up over a corpus, compares rows with columns, and ends with masked training, where only some tokens
# are predicted.

# %% tags=["parameters"]
d: int = 48  # width of the embedding; in [16, 128]
n_tokens: int = 24  # tokens of a sequence; in [8, 64]
n_vocab: int = 48  # tokens in the vocabulary of the corpus; in [16, 256]
n_sequences: int = 2000  # sequences of the largest corpus; in [500, 20000]
n_draws: int = 200  # random updates drawn for each setting; in [100, 2000]
mask_rate: float = 0.15  # share of masked tokens; in [0.05, 0.5]
rho: float = 0.8  # correlation of the coefficients of a pair in the masked examples; in [0.3, 1]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from attngeo.chapters.symmetric_updates import (
    corpus,
    figures,
    first_gradients,
    masked,
    pairs,
    shifted_queries,
    transposed_laws,
)
from attngeo.chapters.symmetric_updates.first_update import random_corpus
from attngeo.display.page import glue, show
from attngeo.chapters.symmetric_updates.pair_symmetry import agreement, both_to_one_masked, masked_score, pair_score

# %% [markdown]
# ## Pairs
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
#
# The first part is an identity of algebra. The condition of the second part is assumed before the theorem in the paper
# ("the term $\beta_{ij}$ and $\beta_{ji}$ from Proposition 2.2 are correlated", Section S1.4.5) and, stronger, in its
# proof: the same sign and nearly the same size. Under it the theorem holds. Eq. S114 in the proof loses the factor 2 and
# sets a sum over all pairs against a single one.

# %%
show(
    pairs.pair_decomposition(d=d, n_tokens=min(n_tokens, 24), seed=seed),
    pairs.equal_coefficients(d=d, seed=seed),
)

# %% [markdown]
# How symmetric is a pair when the coefficients are not equal?
#
# ````{prf:proposition} score of a pair
# :label: prop-s1-14-pair
#
# Let $M = a\, x y^\top + b\, y x^\top \neq 0$ with $x, y \neq 0$, $\rho = 2ab/(a^2+b^2)$ and $c = \cos(x, y)$. Then
#
# $$
# s(M) = \frac{\rho + c^2}{1 + \rho c^2} .
# $$ (eq-s1-14-pair)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# With $X = \|x\|^2$, $Y = \|y\|^2$ and $x^\top y = c\sqrt{XY}$,
#
# $$
# \|M\|^2 = a^2 XY + b^2 XY + 2ab\,(x^\top y)^2 = XY\,(a^2 + b^2 + 2ab\,c^2), \\
# \mathrm{Tr}(MM) = a^2 (x^\top y)^2 + b^2 (x^\top y)^2 + 2ab\, XY = XY\,(2ab + (a^2+b^2)\,c^2).
# $$
#
# The score is $\mathrm{Tr}(MM)/\|M\|^2$. Divide numerator and denominator by $XY (a^2+b^2)$. ($M \neq 0$ excludes $a = -b$
# with parallel vectors, the only case in which the denominator vanishes.)
# ```
# ````
#
# The distance of the score from 1 is
#
# $$
# 1 - s = \frac{(1 - \rho)(1 - c^2)}{1 + \rho c^2} .
# $$
#
# Coefficients that agree are enough: $1 - s \le 1 - \rho$ for $\rho \ge 0$. Embeddings that are nearly parallel are enough
# only if the coefficients are not nearly opposite: for $\rho \le 0$ the denominator is $(1 + \rho) + |\rho|(1 - c^2)$, so that
# $s$ is near 1 if and only if $1 - c^2$ is small against $1 + \rho$. Opposite coefficients, $a = -b$, give $s = -1$ at every
# angle. A pair of autoregressive training has $b = 0$, and its score is $c^2$, near 0 for embeddings in general position.
# For orthogonal embeddings a ratio of one half between the two coefficients still gives {glue:text}`half`; with opposite
# signs it gives {glue:text}`minus-half`.

# %%
show(pairs.symmetry_of_a_pair(d=d, seed=seed))

# %%
figures.pair_scores()

# %% tags=["remove-cell"]
glue("half", pair_score(agreement(1.0, 0.5), 0.0), ".2f")
glue("minus-half", pair_score(agreement(1.0, -0.5), 0.0), ".2f")

# %% [markdown]
# ## The update of a sequence
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
#
# With coefficients of mean zero, $\rho$ is the correlation of $\beta_{ij}$ with $\beta_{ji}$. Autoregressive pairs have
# $\rho = 0$ in every single sequence. Nothing else about the objective enters.

# %%
show(pairs.symmetry_of_an_update(d=d, seed=seed))

# %%
correlations = (-0.9, -0.5, 0.0, 0.5, 0.9)
updates = [u for n in (n_tokens, 4 * n_tokens) for u in pairs.correlated_updates(d, n, 6, correlations, seed)[:-1]]
figures.score_by_correlation(pairs.update_scores(updates), d)

# %% [markdown]
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
#
# For a trained model this means: symmetric updates never remove what was skew at the start, they only outgrow it. From a
# random start with $s_0 = 0$, the score is $s$ when the squared norm of $W_{qk}$ has become $1/(1-s)$ times as large. A layer
# whose norm grew less has updates of $W_{qk}$ that are not symmetric, or weight decay. (Optimisers update $W_q$ and $W_k$;
# a symmetric gradient of $W_{qk}$ alone does not make the change of $W_q W_k^\top$ symmetric.)

# %%
show(pairs.frozen_skew_part(seed=seed))

# %% [markdown]
# ## Is the correlation there?
#
# Section S1.4.5 assumes that "predicting one token from the other gives similar predictions". At random weights the
# assumption is not met. With $\beta_{ij} = g_i^\top V x_j$, where $g_i$ is the gradient of the loss at the output of the
# layer and $V$ a random matrix, $\beta_{ij}$ and $\beta_{ji}$ are two different entries of a random bilinear form. The check
# takes the exact coefficients of {prf:ref}`prop-2-2` in a small Transformer with the bidirectional objective.

# %%
show(found := pairs.agreement_at_random_weights(seed=seed))
glue("agreement", found.comparisons[0].measured, "+.2f")

# %% [markdown]
# So the symmetry has to be learned, or built into the weights, before the updates can be symmetric. There is a model in
# which one can say what it takes.
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
# At $W_{qk} = 0$ a softmax can be treated exactly, because all attention weights of a position are equal.
#
# ````{prf:proposition} the first update with softmax
# :label: prop-s1-14-softmax
#
# In the setting of {prf:ref}`prop-s1-14-linear`, but with a softmax over the positions that are attended, let
# $x_1, \dots, x_N$ be the embeddings of a sequence, $m$ their mean and $C = \frac1N \sum_j (x_j - m)(x_j - m)^\top$. At
# $W_{qk} = 0$, for small embeddings and to leading order, the negative gradient with scores of scale 1 is the following.
#
# 1. Bidirectional, where position $i$ sees all positions and holds the token that it predicts:
#    $\Delta W = N\,[\,C V C + m\,(C V^\top m)^\top\,]$.
# 2. Autoregressive, where position $i$ sees the positions up to $i$ and predicts token $i + 1$:
#    $\Delta W = \sum_{i<N} x_i\,(C_i V^\top x_{i+1})^\top$ with $C_i$ the covariance of $x_1, \dots, x_i$.
#
# For a symmetric $V$ the first update has $\|\Delta W\|_F^2\,(1 - s) = N^2 (\|m\|^2 \|u\|^2 - (m^\top u)^2)$ with $u = C V m$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $n_i$ be the number of positions that $i$ sees. With all scores 0, $\alpha_{ij} = 1/n_i$ and the residual stream
# has $h_i = x_i + V m_i$ with $m_i$ the mean of what $i$ sees. The derivative of the softmax gives
# $\beta_{ij} = \alpha_{ij}\, g_i^\top (V x_j - V m_i)$ ({prf:ref}`prop-2-2`), where $g_i$ is the negative gradient of
# the loss at $h_i$. If the embeddings are of size $\epsilon$ and $V$ is fixed, the logits $E h_i$ are of size
# $\epsilon^2$, every token has the probability $1/n + O(\epsilon^2)$, and
# $g_i = e - \bar e + O(\epsilon^3) = e + O(\epsilon^3)$ with $e$ the embedding of the predicted token. So to leading
# order, with a relative error of order $\epsilon^2$ where this order does not vanish,
#
# $$
# \Delta W = \sum_i x_i\, e^\top V\, \frac{1}{n_i} \sum_j (x_j - m_i)\, x_j^\top = \sum_i x_i\, e^\top V C_i ,
# $$
#
# because $\sum_j (x_j - m_i)\, m_i^\top = 0$. In the autoregressive case $e = x_{i+1}$, and the last position predicts nothing.
# In the bidirectional case $C_i = C$ and $e = x_i$, and $\sum_i x_i x_i^\top = N(C + m m^\top)$ gives
# $N(C V C + m\, m^\top V C)$.
#
# For symmetric $V$ the skew-symmetric part is $\frac{N}{2}(m u^\top - u m^\top)$, of squared norm
# $\frac{N^2}{2}(\|m\|^2\|u\|^2 - (m^\top u)^2)$, and $1 - s$ is twice this over $\|\Delta W\|^2$.
# ```
# ````
#
# So a softmax adds a term in which the mean of the sequence stands on the query side alone. For a model that starts near
# $W_{qk} = 0$ this means that even symmetric values do not make the first steps symmetric, except where the embeddings of a
# sequence average out.

# %%
show(first_gradients.first_update_through_softmax(seed=seed))

# %% [markdown]
# ### Over a corpus the autoregressive objective does the same
#
# Coefficients that depend on the two tokens alone, $\beta_{ij} = \beta(t_i, t_j)$, add up to
# $\sum_{ab} C_{ab}\, \beta(a, b)\, e_a e_b^\top$, where $C_{ab}$ counts how often token $a$ is predicted with $b$ in its
# context. Bidirectional training has $C_{ab} = C_{ba}$ in every sequence. Autoregressive training counts how often $b$
# comes before $a$. In one sequence that is lopsided; over a corpus both orders of most pairs occur, and the autoregressive
# update becomes as symmetric as the weighted counts $C_{ab}\,\beta(a,b)$ allow. For such coefficients the contrast between
# the objectives, which the paper takes from {prf:ref}`thm-s1-14`, is lost.
#
# It returns with a detail that the theorem leaves out. Autoregressive models do not hold the predicted token at the query
# position: position $i$ holds $t_i$ and predicts $t_{i+1}$. In the model above, $\beta_{ij} = x_{i+1}^\top V x_j$ then.
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
#
# Even for a symmetric $V$ the limit is in general not symmetric: which token follows which has a direction, and a product
# of two different matrices has one too. In this model it is the shift between query and target that separates the
# objectives, not the number of pairs in either order. For a trained decoder this names a source of asymmetry that needs no
# assumption on how often tokens occur; how large it is away from $W_{qk} = 0$ is open.

# %%
show(
    corpus.symmetry_over_a_corpus(n_sequences=max(n_sequences, 1500), seed=seed),
    shifted_queries.expected_update_one_behind(seed=seed),
)

# %%
sizes = sorted({1, 4, 16, 64, 256, 1024, n_sequences})
sample = random_corpus(d, n_vocab, n_tokens, n_sequences, seed)
growth = corpus.corpus_symmetry(sample, [n for n in sizes if n <= n_sequences])
figures.score_by_sequences(growth)

# %% [markdown]
# ## Norms of rows and columns
#
# ````{prf:corollary} Cor. S1.13 of the paper: bidirectional training gives row and column norms of equal variance
# :label: cor-s1-13
#
# Let $\Delta W = \sum_{i,j} \beta_{ij}\, x_i x_j^\top$ over all pairs $i \neq j$. Let the embeddings have any joint law: tokens
# may repeat, depend on each other or be fixed. Given the embeddings, let the matrices $(\beta_{ij})$ and $(\beta_{ji})$ be
# equal in law; this is so if the coefficients are independent of the embeddings and have this property. Then $\Delta W$
# and $\Delta W^\top$ are equal in law, also for a sum over sequences under the same condition on all their coefficients
# together. In particular the variance over $m$ of the row norms and the variance over $k$ of the column norms have the
# same law.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $\Delta W^\top = \sum_{i \neq j} \beta_{ij} x_j x_i^\top = \sum_{i \neq j} \beta_{ji} x_i x_j^\top$, which is $\Delta W$ with
# $(\beta_{ji})$ in the place of $(\beta_{ij})$. Given the embeddings, the two have the same law; averaging over the
# embeddings keeps this. The set of pairs is used once: with $(i, j)$ it contains $(j, i)$. The rows of $\Delta W^\top$ are
# the columns of $\Delta W$.
# ```
# ````
#
# The paper states equality of the two variances and derives it from the counts of {prf:ref}`prop-s1-10`. It holds in law
# and not for a single matrix. The proof uses nothing of the tokens, and there it differs from autoregressive training.
#
# ````{prf:proposition} autoregressive updates need not have the law of their transposes
# :label: prop-s1-13-contrast
#
# Let the sequence be $(a, a, b)$, and let the coordinates of the embeddings $a, b \in \{-1, 1\}^2$ and the coefficients of
# $\Delta W = \sum_{j<i} \beta_{ij}\, x_i x_j^\top$ be independent random signs. Then the laws of $\Delta W$ and $\Delta W^\top$ have
# the total variation distance $1/4$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $\Delta W = (\beta_{21} a + \gamma b)\, a^\top$ with $\gamma = \beta_{31} + \beta_{32} \in \{-2, 0, 2\}$. If $\gamma = 0$ or
# $b = \pm a$, this is a multiple of $a a^\top$ and symmetric. Otherwise, with probability $\frac12 \cdot \frac12$, the
# coordinates of $\beta_{21} a + \gamma b$ have the sizes 1 and 3: the two columns are equally long and the two rows are
# not. For the transposes it is the other way round, so that exactly this part of the law, $1/4$ of it, has no
# counterpart in the other.
# ```
# ````
#
# They have the same law where the order of the positions can be reversed, as {prf:ref}`prop-s1-12-law` (a) says; in
# $(a, a, b)$ it cannot.
#
# So there is a contrast between the objectives. With such coefficients no choice of tokens can set columns apart from rows
# in bidirectional training; in autoregressive training repeated tokens can. Which side becomes uneven depends on the law
# of the embeddings: in the example it is the rows, against {prf:ref}`thm-s1-12`.
#
# For a trained model the condition on the coefficients is the weak point. The exact coefficients of a softmax have
# $\sum_j \beta_{ij} = 0$ for every $i$ ({prf:ref}`prop-2-2`). If $(\beta_{ij})$ and $(\beta_{ji})$, diagonal included, had one
# law, then $\sum_i \beta_{ij} = 0$ for every $j$ would hold almost surely too; it does not. Errors independent of the
# embeddings break the condition as well.

# %%
show(
    transposed_laws.law_of_the_transpose(seed=seed),
    transposed_laws.sums_of_exact_coefficients(seed=seed),
)

# %% [markdown]
# The next check takes the difference of the two variances in every outcome of a small model; its mean is 0 where
# $\Delta W$ and $\Delta W^\top$ are equal in law.

# %%
show(transposed_laws.variances_of_norms())

# %% [markdown]
# ## When only some tokens are predicted
#
# ````{prf:remark} S1.15, the share of pairs when a share $p$ of the tokens is predicted
# :label: rem-s1-15
#
# Let a random set $M$ of $pN$ out of $N$ positions be predicted, each from all positions. Of the terms with $i \neq j$, the
# share $(pN-1)/(N-1) \approx p$ belongs to pairs that occur in both orders, and the ratio of these terms to the others is
# $(pN-1)/(N-pN) \approx p/(1-p)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# There are $pN(N-1)$ terms with $i \in M$ and $j \neq i$. A pair occurs in both orders if both positions are in $M$, which
# makes $pN(pN-1)$ terms. The other $pN(N-pN)$ terms have $j \notin M$.
# ```
# ````
#
# The paper gives the second number as "$\approx 25\%$ of symmetric weight updates on average" (Remark S1.15) for $p$
# between 15 % and 30 %. Over this range it runs from {glue:text}`low` to {glue:text}`high`; it is 25 % at $p$ =
# {glue:text}`middle`. As a share of all terms it is simply $p$.

# %%
show(masked.masked_shares())

# %% [markdown]
# ````{prf:proposition} score of a masked update
# :label: prop-s1-15-score
#
# Let the embeddings be orthonormal, let the coefficients of all pairs $i \neq j$ have $\mathrm{Tr}(BB)/\|B\|_F^2 = \rho$, and
# let the sequence be masked $R$ times independently, every position with probability $p$, with the same coefficients every
# time. Then
#
# $$
# \frac{\mathbb{E}\,\mathrm{Tr}(\Delta W \Delta W)}{\mathbb{E}\|\Delta W\|_F^2} = \frac{\rho R p}{1 - p + R p} ,
# $$ (eq-s1-15-score)
#
# which is $\rho p$ for one masking and tends to $\rho$. If masked positions are left out of all contexts, it is
# $\rho q / (1 - q + R q)$ with $q = p(1-p)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The coefficient of $K_{ij}$ is $n_{ij} \beta_{ij}$, where $n_{ij}$ counts the maskings in which the pair is used. By
# {prf:ref}`prop-s1-14-update` the ratio is
# $\sum \mathbb{E}[n_{ij} n_{ji}] \beta_{ij} \beta_{ji} / \sum \mathbb{E}[n_{ij}^2] \beta_{ij}^2$, and the two expectations do
# not depend on the pair.
#
# With masked positions in the contexts, $n_{ij} = n_i$ is the number of times that $i$ is masked: binomial, independent
# of $n_j$. So $\mathbb{E}[n_i n_j] = R^2p^2$, $\mathbb{E}[n_i^2] = Rp(1-p) + R^2p^2$, and the ratio is
# {eq}`eq-s1-15-score`.
#
# Without them, $n_{ij}$ counts the maskings with $i$ masked and $j$ visible: binomial with rate $q = p(1-p)$. In one
# masking $(i,j)$ and $(j,i)$ exclude one another, so only different maskings contribute to
# $\mathbb{E}[n_{ij} n_{ji}] = R(R-1)q^2$, while $\mathbb{E}[n_{ij}^2] = Rq(1-q) + R^2q^2$.
# ```
# ````
#
# The share of one masking does not limit what training adds up: at $p$ = {glue:text}`mask-rate` and
# $\rho$ = {glue:text}`rho`, one masking gives a score of {glue:text}`score-1` and thirty-two give {glue:text}`score-32`.
#
# Two remarks on the setting. The paper's remark lets masked positions stand in the contexts. With the contexts of
# {prf:ref}`def-s1-3`, which leave them out (as Eq. S77 does), no pair of one masking occurs in both orders, and the second
# sum of Eq. S116 is empty. With masked positions in the contexts, as in practice, these positions hold the embedding $e$ of
# the mask.
#
# ````{prf:proposition} masked positions in a first layer (ours)
# :label: prop-s1-15-mask
#
# Let the embeddings at all masked positions be one vector $e$, as in a first layer without position embeddings. Then
# $\Delta W = \sum_{i \in M} \sum_j \beta_{ij}\, x_i x_j^\top$ is $e\, v^\top$ with $v = \sum_{i \in M} \sum_j \beta_{ij} x_j$, for
# any coefficients, and a sum over sequences has the same form. If it is not 0, it has rank 1, row norms $|e_m| \|v\|$,
# column norms $|v_k| \|e\|$ and the score $\cos^2(e, v)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $x_i = e$ for every $i \in M$ comes out of the sum. Entry $(m, k)$ of $e v^\top$ is $e_m v_k$, which gives the norms, and
# $\mathrm{Tr}(e v^\top e v^\top)/\|e v^\top\|^2 = (e^\top v)^2/(\|e\|^2\|v\|^2)$.
# ```
# ````
#
# Pairs of two tokens appear where the query has come to resemble the token to be predicted: in later layers, or at the
# positions that are predicted but left unmasked.

# %%
show(
    masked.masked_update_score(seed=seed),
    masked.masked_positions_hold_the_mask(d=d, seed=seed),
)

# %%
rates = sorted({0.05, 0.3, 0.5, mask_rate})
cases = [masked.MaskedCase(p, rounds, True) for rounds in (1, 4, 32) for p in rates]
updates = masked.masked_updates(n_tokens, rho, n_draws, cases, seed)
figures.score_by_mask_rate(masked.masked_scores(updates), rho)

# %% tags=["remove-cell"]
glue("low", both_to_one_masked(masked.MASK_RATES[0]), ".0%")
glue("high", both_to_one_masked(masked.MASK_RATES[1]), ".0%")
glue("middle", masked.rate_of_ratio(masked.PRINTED_RATIO), ".0%")
glue("mask-rate", mask_rate)
glue("rho", rho)
glue("score-1", masked_score(rho, mask_rate, 1), ".2f")
glue("score-32", masked_score(rho, mask_rate, 32), ".2f")
glue("end-target", growth.query("setting == 'autoregressive, query holds the target'")["symmetry"].iloc[-1], ".2f")
glue("end-behind", growth.query("setting == 'autoregressive, query one behind'")["symmetry"].iloc[-1], ".2f")

# %% [markdown]
# ## What follows
#
# - The decomposition into pairs holds, and so does the theorem under the assumption that the paper states before it: the
#   two terms of a pair agree. The score of an update measures exactly this assumption: $s(\Delta W)$ is the correlation of
#   $\beta_{ij}$ with $\beta_{ji}$, for orthonormal embeddings.
# - Symmetric updates do not remove the skew-symmetric part of a matrix. The score rises as far as the norm grows.
# - Exact gradients at random weights show no such correlation. In linear attention with tied embeddings the first
#   update is symmetric if and only if the value matrix is; a softmax adds a term that is not.
# - With coefficients that depend on the tokens alone, autoregressive training reaches the same symmetry over a corpus,
#   {glue:text}`end-target` in the simulation. With the query one position behind the target it stays at
#   {glue:text}`end-behind`. This shift is a candidate for the measured difference between encoders and decoders; the
#   paper's theorem does not contain it.
# - In bidirectional training rows and columns have one law for any tokens, if the coefficients have one law in both
#   orders. In autoregressive training repeated tokens can make the two laws differ, in favour of either side.
# - Predicting only some tokens lowers the symmetry of a single update to $\rho p$, and not that of the sum over many
#   maskings.
# - None of this says whether trained encoders are symmetric: that is measured, and the survey of pretrained models shows
#   it. It says which part of the explanation is a theorem.
