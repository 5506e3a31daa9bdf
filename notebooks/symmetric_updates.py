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
# The decomposition into pairs is exact. That the two terms of a pair agree is an assumption of the theorem and not a
# consequence of the objective. This page measures what the assumption buys: the symmetry score of an update *is* the
# correlation of $\beta_{ij}$ with $\beta_{ji}$. It then asks where such a correlation could come from, follows it over a
# corpus, where autoregressive pairs can reach the same symmetry, and ends with masked training, where only some tokens
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
from attngeo.chapters.symmetric_updates import corpus, figures, masked, pairs
from attngeo.chapters.symmetric_updates.first_update import random_corpus
from attngeo.display.page import glue, show
from attngeo.chapters.symmetric_updates.pair_symmetry import agreement, masked_ratio, masked_score, pair_score

# %% [markdown]
# ## Pairs
#
# ````{prf:theorem} S1.14 (informally 2.4), bidirectional training induces symmetry
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
# The first part is an identity of algebra. The paper states the second part without its condition and puts the condition
# into the proof. Eq. S114 loses the factor 2 and sets a sum over all pairs against a single one.

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
# The score is $\mathrm{Tr}(MM)/\|M\|^2$. Divide numerator and denominator by $XY (a^2+b^2)$.
# ```
# ````
#
# The formula is that of adding velocities: $\operatorname{artanh} s = \operatorname{artanh} \rho + \operatorname{artanh} c^2$.
# Agreement of the coefficients and alignment of the embeddings both help, and either alone is enough. A pair of
# autoregressive training has $b = 0$: its score is $c^2$, near 0 for embeddings in general position. A ratio of one half
# between the two coefficients still gives {glue:text}`half`; with opposite signs it gives {glue:text}`minus-half`.

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
# 2. For independent Gaussian embeddings of covariance $I/d$ and given $B$ without diagonal,
#    $\mathbb{E}\,\mathrm{Tr}(\Delta W \Delta W) / \mathbb{E}\|\Delta W\|_F^2 = (\rho + 1/d)/(1 + \rho/d)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $G = X X^\top$. Then $\mathrm{Tr}(\Delta W \Delta W) = \mathrm{Tr}(B G B G)$ and
# $\|\Delta W\|_F^2 = \mathrm{Tr}(B G B^\top G)$. For orthonormal rows $G = I$, which is the first claim.
#
# For the second, $\mathrm{Tr}(BGBG) = \sum B_{ij} G_{jk} B_{kl} G_{li}$ with $i \neq j$ and $k \neq l$. The entries of $G$ have
# $\mathbb{E}[G_{ii} G_{jj}] = 1$, $\mathbb{E} G_{ij}^2 = 1/d$ for $i \neq j$, and a product of two entries has mean 0 if some
# index occurs in it an odd number of times. So $\mathbb{E}[G_{jk} G_{li}]$ is 1 for $(k, l) = (j, i)$, $1/d$ for
# $(k, l) = (i, j)$ and 0 otherwise, and $\mathbb{E}\,\mathrm{Tr}(BGBG) = \mathrm{Tr}(BB) + \|B\|_F^2/d$. Replacing the
# second $B$ by $B^\top$ gives $\mathbb{E}\,\mathrm{Tr}(BGB^\top G) = \|B\|_F^2 + \mathrm{Tr}(BB)/d$.
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
figures.update_scores(pairs.update_scores(updates), d)

# %% [markdown]
# ## Is the correlation there?
#
# Section S1.4.5 argues that predicting one token from the other gives similar predictions. At random weights it does
# not. With $\beta_{ij} = g_i^\top V x_j$ and $V$ random, $\beta_{ij}$ and $\beta_{ji}$ are two different entries of a random
# bilinear form. The check takes the exact coefficients of {prf:ref}`prop-2-2` in a small Transformer with the
# bidirectional objective.

# %%
show(pairs.agreement_at_random_weights(seed=seed))

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
show(corpus.first_update_of_linear_attention(seed=seed))

# %% [markdown]
# ### Over a corpus the autoregressive objective does the same
#
# Coefficients that depend on the two tokens alone, $\beta_{ij} = \beta(t_i, t_j)$, add up to
# $\sum_{ab} C_{ab}\, \beta(a, b)\, e_a e_b^\top$, where $C_{ab}$ counts how often token $a$ is predicted with $b$ in its
# context. Bidirectional training has $C_{ab} = C_{ba}$ in every sequence. Autoregressive training counts how often $b$
# comes before $a$. In one sequence that is lopsided; over a corpus both orders of most pairs occur, and the autoregressive
# update becomes as symmetric as $C$ is. The contrast between the objectives, which the paper takes from
# {prf:ref}`thm-s1-14`, is lost.
#
# It returns with a detail that the theorem leaves out. Autoregressive models do not hold the predicted token at the query
# position: position $i$ holds $t_i$ and predicts $t_{i+1}$. Then $\beta_{ij} = x_{i+1}^\top V x_j$ in the model above, and
# for a stationary process whose correlations decay the expected update is to leading order in the length of the sequence
# proportional to
#
# $$
# A V \Sigma, \qquad A = \mathbb{E}[x_i x_{i+1}^\top], \quad \Sigma = \mathbb{E}[x_i x_i^\top] ,
# $$ (eq-s1-14-shift)
#
# because $(x_{i+1}^\top V x_j)\, x_i x_j^\top = x_i x_{i+1}^\top V x_j x_j^\top$ and most $j$ are far from $i$. Even for a
# symmetric $V$ this is not symmetric, as $A$ is not: which token follows which has a direction. (The terms in which a
# position attends to itself are symmetric whatever their coefficients; in short sequences they count.) In this model it
# is the shift between query and target that separates the objectives, not the number of pairs in either order.

# %%
show(corpus.symmetry_over_a_corpus(n_sequences=max(n_sequences, 1500), seed=seed))

# %%
sizes = sorted({1, 4, 16, 64, 256, 1024, n_sequences})
sample = random_corpus(d, n_vocab, n_tokens, n_sequences, seed)
growth = corpus.corpus_symmetry(sample, [n for n in sizes if n <= n_sequences])
figures.corpus_symmetry(growth)

# %% [markdown]
# ## Norms of rows and columns
#
# ````{prf:corollary} S1.13, bidirectional training gives row and column norms of equal variance
# :label: cor-s1-13
#
# Let the embeddings of a sequence be independent with one law, let the coefficients of all pairs $i \neq j$ be independent
# of them, and let $(\beta_{ij})$ and $(\beta_{ji})$ be equal in law. Then $\Delta W$ and $\Delta W^\top$ are equal in law.
# In particular the variance over $m$ of the row norms and the variance over $k$ of the column norms have the same law.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $\Delta W^\top = \sum_{i \neq j} \beta_{ij} x_j x_i^\top = \sum_{i \neq j} \beta_{ji} x_i x_j^\top$, which differs from
# $\Delta W$ only in the order of the indices of $\beta$. The embeddings are independent of the coefficients, and these
# have the same law in both orders.
# ```
# ````
#
# The paper states equality of the two variances and derives it from the counts of {prf:ref}`prop-s1-10`. Equality holds
# in law, not for a single matrix. Under the same assumptions autoregressive updates are equal in law to their transposes
# too ({prf:ref}`prop-s1-12-law`), so the corollary does not tell the objectives apart. It fails where queries and keys
# differ: with errors independent of the embeddings, or with one mask embedding on the query side.

# %%
show(corpus.variances_of_norms(n_draws=max(n_draws, 200), seed=seed))

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
# The paper gives the second number as "about 25 %" for $p$ between 15 % and 30 %. Over this range it runs from
# {glue:text}`low` to {glue:text}`high`. As a share of all terms, the natural measure, it is simply $p$.

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
# Two remarks on the setting. With the contexts of {prf:ref}`def-s1-3`, which leave masked positions out (as Eq. S77
# does), no pair of one masking occurs in both orders, and the second sum of Eq. S116 is empty. With masked positions in
# the contexts, as in practice, these positions hold the mask's embedding: in a first layer without positions all their
# queries are the same vector, and the update has rank 1. The pairs of the theorem appear where the query has come to
# resemble the token to be predicted: in later layers, or at the positions that are predicted but left unmasked.

# %%
show(
    masked.masked_update_score(rho=rho, seed=seed),
    masked.masked_positions_hold_the_mask(d=d, seed=seed),
)

# %%
rates = sorted({0.05, 0.3, 0.5, mask_rate})
cases = [masked.MaskedCase(p, rounds, True) for rounds in (1, 4, 32) for p in rates]
updates = masked.masked_updates(n_tokens, rho, n_draws, cases, seed)
figures.masked_scores(masked.masked_scores(updates), rho)

# %% tags=["remove-cell"]
glue("low", masked_ratio(masked.MASK_RATES[0]), ".0%")
glue("high", masked_ratio(masked.MASK_RATES[1]), ".0%")
glue("mask-rate", mask_rate)
glue("rho", rho)
glue("score-1", masked_score(rho, mask_rate, 1), ".2f")
glue("score-32", masked_score(rho, mask_rate, 32), ".2f")
glue("end-target", growth.query("setting == 'autoregressive, query holds the target'")["symmetry"].iloc[-1], ".2f")
glue("end-behind", growth.query("setting == 'autoregressive, query one behind'")["symmetry"].iloc[-1], ".2f")

# %% [markdown]
# ## What follows
#
# - The decomposition into pairs holds. That the two terms of a pair agree is assumed, and the score of an update measures
#   exactly this: $s(\Delta W)$ is the correlation of $\beta_{ij}$ with $\beta_{ji}$.
# - Exact gradients at random weights show no such correlation. In linear attention with tied embeddings the first
#   update is symmetric if and only if the value matrix is.
# - With coefficients that depend on the tokens alone, autoregressive training reaches the same symmetry over a corpus,
#   {glue:text}`end-target` in the simulation. With the query one position behind the target it stays at
#   {glue:text}`end-behind`. This shift is a candidate for the measured difference between encoders and decoders; the
#   paper's theorem does not contain it.
# - Predicting only some tokens lowers the symmetry of a single update to $\rho p$, and not that of the sum over many
#   maskings.
# - None of this says whether trained encoders are symmetric: that is measured, and the survey of pretrained models shows
#   it. It says which part of the explanation is a theorem.
