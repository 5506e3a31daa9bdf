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
# # Details: Why updates would be symmetric
#
# This page has the slips, variants and further statements behind the [chapter on symmetric updates](symmetric_updates.py).
# The notation is the chapter's: an update is $\Delta W = \sum_{ij} \beta_{ij}\, x_i x_j^\top$ with embeddings $x_i$ of width
# $d$, and $\rho$ measures how far $\beta_{ij}$ and $\beta_{ji}$ agree.

# %% tags=["parameters", "remove-input"]
d: int = 48  # width of the embedding; in [16, 128]
n_tokens: int = 24  # tokens of a sequence; in [8, 64]
n_draws: int = 200  # random updates drawn for each setting; in [100, 2000]
mask_rate: float = 0.15  # share of masked tokens; in [0.05, 0.5]
rho: float = 0.8  # correlation of the coefficients of a pair in the masked examples; in [0.3, 1]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from attngeo.chapters.symmetric_updates import (
    figures,
    first_gradients,
    masked,
    pairs,
    transposed_laws,
)
from attngeo.chapters.symmetric_updates.pair_symmetry import both_to_one_masked, masked_score
from attngeo.display.page import glue, show

# %% [markdown]
# ## The score of a pair
#
# Eq. S114 in the proof of {prf:ref}`thm-s1-14` loses the factor 2 and sets a sum over all pairs against a single one.

# %%
show(pairs.equal_coefficients(d=d, seed=seed))

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

# %%
show(pairs.symmetry_of_a_pair(d=d, seed=seed))

# %% tags=["hide-input"]
figures.pair_scores()

# %% [markdown]
# ## The first update through a softmax
#
# At $W_{qk} = 0$ a softmax can be treated exactly, because all attention weights of a position are equal.
#
# ````{prf:proposition} the first update with softmax
# :label: prop-s1-14-softmax
#
# In the setting of {prf:ref}`prop-s1-14-linear`, but with a softmax over the positions that are attended, let
# $x_1, \dots, x_N$ be the embeddings of a sequence, $m$ their mean and $\Gamma = \frac1N \sum_j (x_j - m)(x_j - m)^\top$. At
# $W_{qk} = 0$, for small embeddings and to leading order, the negative gradient with scores of scale 1 is the following.
#
# 1. Bidirectional, where position $i$ sees all positions and holds the token that it predicts:
#    $\Delta W = N\,[\,\Gamma V \Gamma + m\,(\Gamma V^\top m)^\top\,]$.
# 2. Autoregressive, where position $i$ sees the positions up to $i$ and predicts token $i + 1$:
#    $\Delta W = \sum_{i<N} x_i\,(\Gamma_i V^\top x_{i+1})^\top$ with $\Gamma_i$ the covariance of $x_1, \dots, x_i$.
#
# For a symmetric $V$ the first update has $\|\Delta W\|_F^2\,(1 - s) = N^2 (\|m\|^2 \|u\|^2 - (m^\top u)^2)$ with $u = \Gamma V m$.
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
# \Delta W = \sum_i x_i\, e^\top V\, \frac{1}{n_i} \sum_j (x_j - m_i)\, x_j^\top = \sum_i x_i\, e^\top V \Gamma_i ,
# $$
#
# because $\sum_j (x_j - m_i)\, m_i^\top = 0$. In the autoregressive case $e = x_{i+1}$, and the last position predicts nothing.
# In the bidirectional case $\Gamma_i = \Gamma$ and $e = x_i$, and $\sum_i x_i x_i^\top = N(\Gamma + m m^\top)$ gives
# $N(\Gamma V \Gamma + m\, m^\top V \Gamma)$.
#
# For symmetric $V$ the skew-symmetric part is $\frac{N}{2}(m u^\top - u m^\top)$, of squared norm
# $\frac{N^2}{2}(\|m\|^2\|u\|^2 - (m^\top u)^2)$, and $1 - s$ is twice this over $\|\Delta W\|^2$.
# ```
# ````

# %%
show(first_gradients.first_update_through_softmax(seed=seed))

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
# Let the sequence be $(a, a, b)$, let the embeddings $a$ and $b$ have the coordinates $\pm 2$ and $\pm 1$ with independent
# random signs, and let the coefficients of $\Delta W = \sum_{j<i} \beta_{ij}\, x_i x_j^\top$ be independent random signs too.
# Then the laws of $\Delta W$ and $\Delta W^\top$ have the total variation distance $1/4$, and
# $\mathbb{E}\sum_k \|w_{\cdot,k}\|^4 < \mathbb{E}\sum_m \|w_{m,\cdot}\|^4$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $\Delta W = (\beta_{21} a + \gamma b)\, a^\top$ with $\gamma = \beta_{31} + \beta_{32} \in \{-2, 0, 2\}$. If $\gamma = 0$ or
# $b = \pm a$, this is a multiple of $a a^\top$ and symmetric. Otherwise, with probability $\frac12 \cdot \frac12$, the
# coordinates of $\beta_{21} a + \gamma b$ have the sizes 2 and 3 or 6 and 1: as those of $a$ have 2 and 1, the columns of
# $\Delta W$ are parallel to another direction than its rows. For the transposes it is the other way round, so that
# exactly this part of the law, $1/4$ of it, has no counterpart in the other. The fourth powers are those of
# {eq}`eq-s1-12-counts` with $\kappa = m_6 = 1$, $\lambda = (4, 1)$, $\sum (\mu_c^2 - \mu_p^2) = 4$: a difference of $-1088$.
# ```
# ````
#
# They have the same law where the order of the positions can be reversed, as {prf:ref}`prop-s1-12-law` (a) says; in
# $(a, a, b)$ it cannot. So there is a contrast between the objectives. With such coefficients no choice of tokens can set
# columns apart from rows in bidirectional training; in autoregressive training repeated tokens can. Which side becomes
# uneven depends on the law of the embeddings: in the example it is the rows, against {prf:ref}`thm-s1-12`, whose
# assumption of unequal variances it meets.
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
# ````{prf:remark} Remark S1.15 of the paper: the share of pairs when a share $p$ of the tokens is predicted
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
# Remark S1.15 of the paper gives the second number as "$\approx 25\%$ of symmetric weight updates on average" for $p$
# between 15 % and 30 %. Over this range it runs from {glue:text}`low` % to {glue:text}`high` %; it is 25 % at $p$ =
# {glue:text}`middle` %. As a share of all terms it is simply $p$.

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

# %% tags=["hide-input"]
rates = sorted({0.05, 0.3, 0.5, mask_rate})
cases = [masked.MaskedCase(p, rounds, True) for rounds in (1, 4, 32) for p in rates]
updates = masked.masked_updates(n_tokens, rho, n_draws, cases, seed)
figures.score_by_mask_rate(masked.masked_scores(updates), rho)

# %%
show(masked.masked_update_score(seed=seed))

# %% [markdown]
# Two remarks on the setting. The paper's remark lets masked positions stand in the contexts. With the contexts of
# {prf:ref}`def-s1-3`, which leave them out (as Eq. S77 does), no pair of one masking occurs in both orders, and the second
# sum of Eq. S116 is empty. With masked positions in the contexts, as in practice, these positions hold the embedding $e$ of
# the mask.
#
# ````{prf:proposition} masked positions in a first layer
# :label: prop-s1-15-mask
#
# Let the embeddings at all masked positions be one vector $e$, as in a first layer without position embeddings. Then the
# part of the update whose queries are masked, $\sum_{i \in M} \sum_j \beta_{ij}\, x_i x_j^\top$, is $e\, v^\top$ with
# $v = \sum_{i \in M} \sum_j \beta_{ij} x_j$, for any coefficients, and a sum over sequences has the same form. If it is not
# 0, it has rank 1, row norms $|e_m| \|v\|$,
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
# In a model of one layer this part is the whole update. With layers above, the loss reaches visible positions too, which
# are queries with embeddings of their own ({prf:ref}`prop-2-2` and the check on its pairs).
# Besides, pairs of two tokens appear where a masked query has come to resemble the token to be predicted, in later layers,
# or at positions that are predicted but left unmasked.

# %%
show(masked.masked_positions_hold_the_mask(d=d, seed=seed))

# %% tags=["remove-cell"]
glue("low", 100 * both_to_one_masked(masked.MASK_RATES[0]), ".0f")
glue("high", 100 * both_to_one_masked(masked.MASK_RATES[1]), ".0f")
glue("middle", 100 * masked.rate_of_ratio(masked.PRINTED_RATIO), ".0f")
glue("mask-rate", mask_rate)
glue("rho", rho)
glue("score-1", masked_score(rho, mask_rate, 1), ".2f")
glue("score-32", masked_score(rho, mask_rate, 32), ".2f")
