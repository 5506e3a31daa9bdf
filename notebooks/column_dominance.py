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
# # Why columns would dominate
#
# In many trained decoders, which predict every token from those before it, large norms are found among the columns of
# $W_{qk}$ more often than among its rows. The paper offers a theorem: such *autoregressive* training has this effect on
# its updates {cite}`saponati2025`. Does it follow from what the theorem assumes?
#
# It does not: where no token occurs twice and the coefficients treat the two tokens of a pair alike, rows and columns of
# an update follow the same law, and *directionality*, the paper's measure of which side dominates, averages
# {glue:text}`ar-d` ± {glue:text}`ar-d-error` in our simulation. With independent Gaussian coefficients for all pairs of
# queries and keys, columns are the more uneven side exactly where keys lie closer to the coordinate axes than queries do,
# and the theorem assumes no such difference.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding; in [16, 96]
n_tokens: int = 16  # tokens of a sequence; in [8, 64]
n_sequences: int = 8  # sequences that add to one update; in [2, 32]
n_draws: int = 800  # updates drawn under each set of assumptions; in [60, 4000]
exponent: float = 1.0  # variances of the embedding's coordinates fall like that power of 1/k; in [0.5, 1.5]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch

from attngeo.chapters.column_dominance import condition, figures, norm_ratios, repeated_tokens, theorem
from attngeo.chapters.column_dominance.assumptions import (
    CONTEXTS,
    MASK_RATE,
    alignment_sweep,
    dominance_table,
    updates_by_assumption,
)
from attngeo.chapters.column_dominance.measures import axis_alignment
from attngeo.display.page import glue, show, table
from attngeo.updates.random_updates import power_profile

profile = {"d": d, "exponent": exponent, "seed": seed}
generator = torch.Generator().manual_seed(seed)

# %% tags=["hide-input"]
kinds = updates_by_assumption(d, n_tokens, n_sequences, exponent, n_draws, generator)
shown = {
    "isotropic context tokens": "isotropic\ncontext tokens",
    "autoregressive": "autoregressive,\nno token twice",
    "errors, autoregressive": "coefficients linear\nin the key",
    "first token": "outlying\nfirst token",
}
figures.norm_histograms({title: kinds[name] for name, title in shown.items()})

# %% [markdown]
# ## What is compared
#
# This chapter takes the paper's own setting: a sequence of tokens changes $W_{qk}$ by
#
# $$
# \Delta W = \sum_i \sum_{j \in C_i} \beta_{ij}\, x_i x_j^\top ,
# $$ (eq-s1-8-update)
#
# up to a constant. Here $x_i \in \mathbb{R}^d$ is the embedding of the token that is predicted,
# $x_j$ that of a token in its *context* $C_i$, and the coefficient $\beta_{ij}$ tells how much $j$ helps to predict $i$.
# (Exact gradients have the query's embedding and all attended positions instead, by {prf:ref}`prop-2-2`, and a step on
# $W_q$ and $W_k$ moves $W_{qk}$ by another matrix, by {prf:ref}`rem-s1-6`.)
# Row $m$ of $\Delta W$ collects the $m$-th coordinates of the predicted (query) side, column $k$ the $k$-th coordinates
# of the context (key) side. The embeddings are random with mean zero and covariance $\Sigma$. Unless said otherwise,
# $\Sigma$ is diagonal in the simulations, with variances that fall like $k^{-a}$, here with $a$ = {glue:text}`exponent`.
#
# Rows and columns of a matrix have the same sum of squares ({prf:ref}`lem-s1-12-sum`), so one side can only be more
# *uneven* than the other: a few large norms, the rest small. Three measures tell which. The *tails* are the
# probabilities $\Pr[\|w_{\cdot,k}\| > w]$ and $\Pr[\|w_{m,\cdot}\| > w]$. The *directionality* of Def. 3.2 of the paper is
# negative where columns dominate. The *unevenness* of a side is the mean of the fourth powers of its norms over the
# square of the mean of their squares, and 1 when all are equal.
#
# The paper argues in four steps.
#
# 1. A token that serves as context adds more to a typical column than to a typical row. *This needs a context token
#    whose coordinates have equal variances. The theorem draws all tokens from one law.*
# 2. Most tokens serve as context more often than they are predicted ({prf:ref}`prop-s1-10`). *The counts act on the two
#    sides only where tokens repeat, and the law of the embeddings decides which side they favour.*
# 3. Hence the norms of rows and of columns have different variances. *In step 1 it is the rows that vary more, as the
#    paper prints it; for its conclusion it would have to be the columns.*
# 4. The larger variance has the heavier tail. *This is false for general laws* ({prf:ref}`lem-s1-11`).
#
# ## One context token
#
# ````{prf:proposition} Prop. S1.8 of the paper: growth by a context token
# :label: prop-s1-8
#
# Let one token with embedding $y$ be the only context of $N$ tokens with embeddings $x_1, \dots, x_N$. Let all these
# vectors be independent with mean zero, $x_i$ with covariance $\Sigma$, $y$ with covariance $\sigma_y^2 I$, **and let the
# coefficients $\beta_i$ be independent of all embeddings**. Then for every column $k$ and row $m$ of
# $\Delta W = \sum_i \beta_i x_i y^\top$
#
# $$
# \frac{\mathbb{E}\|\Delta w_{\cdot,k}\|^2}{\mathbb{E}\|\Delta w_{m,\cdot}\|^2} = \frac{\mathrm{Tr}(\Sigma)}{d\,\Sigma_{mm}} ,
# $$ (eq-s1-8-ratio)
#
# which exceeds 1 exactly for the rows of below-average variance.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# With $u = \sum_i \beta_i x_i$ the update is $u y^\top$, so $\|\Delta w_{\cdot,k}\|^2 = y_k^2 \|u\|^2$ and
# $\|\Delta w_{m,\cdot}\|^2 = u_m^2 \|y\|^2$. As $u$ is made of the $x_i$ and of the coefficients, it is independent of $y$,
# and the expectations factor. First, $\mathbb{E} y_k^2 = \sigma_y^2$ and $\mathbb{E}\|y\|^2 = d \sigma_y^2$. Second,
#
# $$
# \mathbb{E} u_m^2 = \sum_{i,i'} \mathbb{E}[\beta_i \beta_{i'}]\, \mathbb{E}[[x_i]_m [x_{i'}]_m]
# = \Sigma_{mm} \sum_i \mathbb{E}\beta_i^2 ,
# $$
#
# since $\mathbb{E}[[x_i]_m [x_{i'}]_m] = 0$ for $i \neq i'$: independent *vectors* of mean zero. (Eq. S57 names the
# entries instead.) Summed over $m$, $\mathbb{E}\|u\|^2 = \mathrm{Tr}(\Sigma) \sum_i \mathbb{E}\beta_i^2$. Division gives
# {eq}`eq-s1-8-ratio`.
# ```
# ````
#
# The condition in bold is ours: the paper takes the coefficients out of the expectation without it.

# %%
show(norm_ratios.context_ratio(n_tokens=n_tokens, **profile))

# %% [markdown]
# The isotropic $y$ is what makes the columns alike. In the theorem all tokens have one law.
#
# ````{prf:proposition} the same when all tokens have one law
# :label: prop-s1-8-one-law
#
# Under the assumptions of {prf:ref}`prop-s1-8`, but with $y$ of covariance $\Sigma$ too,
#
# $$
# \frac{\mathbb{E}\|\Delta w_{\cdot,k}\|^2}{\mathbb{E}\|\Delta w_{m,\cdot}\|^2} = \frac{\Sigma_{kk}}{\Sigma_{mm}} ,
# $$ (eq-s1-8-one-law)
#
# whether the token of embedding $y$ is the context of all others or predicted from all others.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# With $u$ as in the proof of {prf:ref}`prop-s1-8`, $\mathbb{E}\|\Delta w_{\cdot,k}\|^2 = \mathbb{E} y_k^2\, \mathbb{E}\|u\|^2$ is
# $\Sigma_{kk} \mathrm{Tr}(\Sigma) \sum_i \mathbb{E}\beta_i^2$, and
# $\mathbb{E}\|\Delta w_{m,\cdot}\|^2 = \mathbb{E} u_m^2\, \mathbb{E}\|y\|^2 = \Sigma_{mm} \mathrm{Tr}(\Sigma) \sum_i \mathbb{E}\beta_i^2$. For a predicted
# token the update is $y u^\top$, so that $\mathbb{E}\|\Delta w_{\cdot,k}\|^2 = \mathbb{E} u_k^2\, \mathbb{E}\|y\|^2$ and
# $\mathbb{E}\|\Delta w_{m,\cdot}\|^2 = \mathbb{E} y_m^2\, \mathbb{E}\|u\|^2$: the same two values.
# ```
# ````

# %%
show(norm_ratios.ratio_when_all_tokens_have_one_law())

# %% [markdown]
# Exchanging $k$ and $m$ inverts the ratio, so a token's role as context gives columns no lead over rows. The
# [details](column_dominance_details.py#more-on-one-context-token) have the mirror statement for a predicted token and
# the ratio for coefficients that are made from the embeddings.
#
# ## The theorem
#
# ````{prf:theorem} Thm. S1.12 (informally 2.3) of the paper: autoregressive training induces directionality
# :label: thm-s1-12
#
# Let the embeddings of the vocabulary be drawn independently from one law with mean zero and a covariance other than a
# multiple of $I$, and let $\Delta W$ come from an autoregressive objective. Then there is a $\gamma$ such that
# $\Pr[\|w_{\cdot,k}\| > w] > \Pr[\|w_{m,\cdot}\| > w]$ for all $w > \gamma$.
# ````
#
# No proof stands here, because the statement does not follow from its assumptions. The paper's proof prints that the
# norms of rows have the larger variance (S101) and concludes that *columns* have the heavier tail (S102), against its own
# lemma. If S101 is a slip of indices, it is the columns that must vary more. But "under the same assumptions as in
# Proposition S1.8", for which Section S1.4.4 of the paper claims column dominance, it is the rows: all columns receive the same
# $\mathrm{Tr}(\Sigma)$ and row $m$ receives $\Sigma_{mm}$. Large norms are then found among rows, and the mean directionality
# of such updates is {glue:text}`context-d`. (The isotropic context token of that proposition is itself at odds with the
# theorem, which draws all tokens from one law. Before the proposition, Section S1.4.2 also posits a partial alignment
# between embeddings; no statement or proof takes it up.)

# %%
show(theorem.variance_of_norms(n_tokens=n_tokens, **profile))

# %% [markdown]
# In a sequence tokens have both roles, and then two statements can be proved.
#
# ````{prf:proposition} equal expected norms, whatever the objective
# :label: prop-s1-12-expectation
#
# Let the embeddings $e_a$ of the vocabulary be independent with one law of mean zero and finite fourth moments, and let
# $B_{ab}$, the sum of the coefficients of all pairs in which token $a$ is predicted from token $b$, be independent of
# them. Then $\Delta W = \sum_{ab} B_{ab}\, e_a e_b^\top$ satisfies
#
# $$
# \mathbb{E}[\Delta W \Delta W^\top] = \mathbb{E}[\Delta W^\top \Delta W] ,
# $$ (eq-s1-12-expectation)
#
# so that $\mathbb{E}\|w_{k,\cdot}\|^2 = \mathbb{E}\|w_{\cdot,k}\|^2$ for every $k$. Without pairs of equal tokens both are
# $\mathrm{Tr}(\Sigma)\Sigma_{kk}\|B\|_F^2 + (\Sigma^2)_{kk}\mathrm{Tr}(BB)$ for given $B$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Take $B$ as given. Then
#
# $$
# \mathbb{E}[\Delta W^\top \Delta W] = \sum_{ab,a'b'} B_{ab} B_{a'b'}\, \mathbb{E}[(e_a^\top e_{a'})\, e_b e_{b'}^\top],
# \qquad
# \mathbb{E}[\Delta W \Delta W^\top] = \sum_{ab,a'b'} B_{ab} B_{a'b'}\, \mathbb{E}[(e_b^\top e_{b'})\, e_a e_{a'}^\top] .
# $$
#
# A term is zero if some token occurs in it exactly once, as the embeddings are independent with mean zero. What remains,
# with $a \neq b$ where two tokens are involved:
#
# | tokens | factor | $\Delta W^\top \Delta W$ | $\Delta W \Delta W^\top$ |
# |---|---|---|---|
# | $a' = a$, $b' = b$ | $B_{ab}^2$ | $\mathrm{Tr}(\Sigma)\,\Sigma$ | $\mathrm{Tr}(\Sigma)\,\Sigma$ |
# | $a' = b$, $b' = a$ | $B_{ab} B_{ba}$ | $\Sigma^2$ | $\Sigma^2$ |
# | $b = a$, $b' = a'$, $a' \neq a$ | $B_{aa} B_{a'a'}$ | $\Sigma^2$ | $\Sigma^2$ |
# | all equal | $B_{aa}^2$ | $\mathbb{E}[\lVert e\rVert^2 e e^\top]$ | $\mathbb{E}[\lVert e\rVert^2 e e^\top]$ |
#
# The two columns agree line by line. The last sentence keeps the first two lines.
# ```
# ````

# %%
show(theorem.equal_expected_norms())

# %% [markdown]
# This covers every order and every frequency of tokens: however often a token is context and however often it is
# predicted, row $k$ and column $k$ have the same expected *squared* norm. The second statement concerns the whole law, and
# with it the tails.
#
# ````{prf:proposition} the autoregressive update has the law of its transpose if no order is preferred
# :label: prop-s1-12-law
#
# Let the embeddings $(x_1, \dots, x_N)$ of a sequence and $(x_N, \dots, x_1)$ be equal in law. This is so if they are
# independent with one law, which the assumptions of {prf:ref}`thm-s1-12` give when *no token of the sequence occurs
# twice*. Let the coefficients be either
# (a) independent of the embeddings, with $(\beta_{ij})$ and $(\beta_{N+1-j,\,N+1-i})$ equal in law, for instance
# independent and identically distributed, or (b) $\beta_{ij} = x_i^\top B x_j$ with $B$ independent of the embeddings
# and $B$ and $B^\top$ equal in law. Then $\Delta W = \sum_{j<i} \beta_{ij} x_i x_j^\top$ and $\Delta W^\top$ are equal in
# law. Hence
#
# $$
# \Pr[\|w_{\cdot,k}\| > w] = \Pr[\|w_{k,\cdot}\| > w] \quad \text{for all } k \text{ and all } w .
# $$ (eq-s1-12-law)
#
# The same holds for a sum over sequences that are independent of each other, embeddings included, with one $B$ for all,
# and for $W_0 + \eta \Delta W$ if $W_0$ is independent of $\Delta W$
# and equal in law to its transpose, such as a matrix of independent entries.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $\pi(i) = N + 1 - i$. Reversing the sequence of embeddings does not change its law. In case (a)
#
# $$
# \Delta W^\top = \sum_{j<i} \beta_{ij}\, x_j x_i^\top \;\sim\; \sum_{j<i} \beta_{ij}\, x_{\pi(j)} x_{\pi(i)}^\top
# = \sum_{j'<i'} \beta_{\pi(j')\,\pi(i')}\, x_{i'} x_{j'}^\top , \qquad i' = \pi(j),\; j' = \pi(i),
# $$
#
# because $j < i$ is $i' > j'$. The coefficients on the right have the law of $\beta_{i'j'}$ by assumption and are
# independent of the embeddings, so that the right-hand side has the law of $\Delta W$.
#
# In case (b), for given $B$, the same reversal leads to
# $\sum_{j'<i'} (x_{j'}^\top B x_{i'})\, x_{i'} x_{j'}^\top = \sum_{j'<i'} (x_{i'}^\top B^\top x_{j'})\, x_{i'} x_{j'}^\top$,
# the update with $B^\top$ in place of $B$, for one sequence or for several that are independent given $B$.
#
# Column $k$ of $\Delta W$ is row $k$ of $\Delta W^\top$, which gives {eq}`eq-s1-12-law`. Adding independent matrices, each
# equal in law to its transpose, keeps the property.
# ```
# ````

# %%
show(
    theorem.autoregressive_directionality(**profile),
    theorem.directionality_during_training(**profile | {"seed": seed + 1}),
)

# %% [markdown]
# So the inequality of {prf:ref}`thm-s1-12` is an equality for a column and a row picked at random. Most tokens may
# be context more often than predicted all the same: let one token always stand last and the others before it in random
# order. Coefficients as in (b) are no invention: with tied embeddings, in attention without softmax, as the paper's proof
# has it, they are what an autoregressive objective gives at $W_{qk} = 0$, to leading order for small embeddings, with $B$
# the values ({prf:ref}`prop-s1-14-linear`; the mean over the vocabulary is 0 there). Exact softmax gradients at random
# weights do give uneven columns where variances differ, but with bidirectional training too
# ([details](column_dominance_details.py#coefficients-that-are-linear-in-the-key)).
#
# ## Tokens that repeat
#
# A token that occurs again brings the same embedding with it, and if it recurs at the end of every sequence, the update
# no longer has the law of its transpose. The expected squared norms stay equal. The fourth powers need not; for Gaussian
# embeddings they do.
#
# ````{prf:theorem} counts act through the kurtosis
# :label: thm-s1-12-counts
#
# Let the embeddings $e_a$ of the vocabulary have the coordinates $[e_a]_k = \sqrt{\lambda_k}\, z_{ak}$, where the
# $z_{ak}$ are independent with one law of mean 0, variance 1, kurtosis $\kappa = \mathbb{E} z^4$ and finite
# $m_6 = \mathbb{E} z^6$. Let $n_{ab}$ pairs predict token $a$ from token $b$, so that $\mu_c(b) = \sum_a n_{ab}$ and
# $\mu_p(a) = \sum_b n_{ab}$. Let the coefficients $\beta_p$ of all pairs $p$ be independent of each other and of the
# embeddings, with mean 0, variance 1 and finite fourth moments. With $s_r = \sum_k \lambda_k^r$ the update
# $W = \sum_p \beta_p e_{a_p} e_{b_p}^\top$ satisfies
#
# $$
# \begin{aligned}
# \mathbb{E}\sum_k \|w_{\cdot,k}\|^4 &- \mathbb{E}\sum_m \|w_{m,\cdot}\|^4 \\
# &= (\kappa - 3)\, s_2 (s_1^2 - s_2) \sum_a \bigl( \mu_c(a)^2 - \mu_p(a)^2 \bigr) \\
# &\quad + 2\, (m_6 - 7\kappa + 6)\, (s_1 s_3 - s_4) \sum_a n_{aa} \bigl( \mu_c(a) - \mu_p(a) \bigr) .
# \end{aligned}
# $$ (eq-s1-12-counts)
#
# For $\lambda_k = 1$ the first line is $d^2 (d - 1) (\kappa - 3) \sum_a (\mu_c(a)^2 - \mu_p(a)^2)$ and the second is of order
# $d^2$. For Gaussian embeddings, $\kappa = 3$ and $m_6 = 15$, both lines are 0 whatever the counts.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Take the expectation over the coefficients first. For independent $\beta_p$ of mean 0 and variance 1,
# $\mathbb{E}[\beta_p \beta_q \beta_r \beta_s]$ is the number of ways to split $p, q, r, s$ into two pairs of equal indices, and
# $\mathbb{E}\beta_p^4 - 3$ more where all are equal. Write $p = (a, b)$ and $q = (a', b')$ for the tokens of two pairs.
# Column $k$ is $\sum_p \beta_p [e_b]_k e_a$, hence
#
# $$
# \mathbb{E}_\beta \sum_k \|w_{\cdot,k}\|^4 = \sum_{p,q} \sum_k [e_b]_k^2 [e_{b'}]_k^2
# \bigl( \|e_a\|^2 \|e_{a'}\|^2 + 2 (e_a^\top e_{a'})^2 \bigr)
# + \sum_p (\mathbb{E}\beta_p^4 - 3) \sum_k [e_b]_k^4 \|e_a\|^4 .
# $$
#
# The rows have the same formula with $a$, $b$ and $a'$, $b'$ exchanged. In the last sum the exchange changes nothing in
# expectation: for $a \ne b$ the two embeddings are independent with one law. Let $F$ be the expectation of the term of
# $p, q$ in the first sum, and $G$ that with $a, b$ and $a', b'$ exchanged. Which of the four tokens are equal decides:
#
# - $\{a, b\}$ and $\{a', b'\}$ have no token in common; or $a = a'$ and $b = b'$; or $a = b'$ and $b = a'$: $F = G$, because
#   renaming independent embeddings of one law turns one into the other.
# - $a = b'$ and the tokens $b$, $a'$ differ from it and from each other: renaming $b$ and $a'$ turns $F$ into $G$. The
#   same for $b = a'$.
# - $a = a'$, and $b \neq b'$ both differ from $a$: $F = 3 s_2\, \mathbb{E}\|e\|^4 = 3 s_2 (s_1^2 + (\kappa - 1) s_2)$ and
#   $G = \sum_k \mathbb{E}[e]_k^4\, (s_1^2 + 2 s_2) = \kappa s_2 (s_1^2 + 2 s_2)$, so $F - G = -A$ with
#   $A = (\kappa - 3) s_2 (s_1^2 - s_2)$. For $b = b'$, and $a \ne a'$ both different from $b$, $F - G = A$.
# - $a = b = a' \neq b'$: $F = 3 \sum_k \lambda_k \mathbb{E}[[e]_k^2 \|e\|^4]
#   = 3 [ s_2 s_1^2 + (\kappa - 1)(s_2^2 + 2 s_1 s_3) + (m_6 - 3\kappa + 2) s_4 ]$ and
#   $G = \sum_k \mathbb{E}[[e]_k^4 (s_1 \|e\|^2 + 2 \sum_l \lambda_l [e]_l^2)]
#   = \kappa s_1^2 s_2 + (m_6 - \kappa) s_1 s_3 + 2 \kappa s_2^2 + 2 (m_6 - \kappa) s_4$, so $F - G = -A - D$ with
#   $D = (m_6 - 7\kappa + 6)(s_1 s_3 - s_4)$; the same for $a' = b' = a \neq b$. For $a = b = b' \neq a'$ and for
#   $a' = b' = b \neq a$, $F - G = A + D$.
#
# It remains to count. Let $c_t = \mu_c(t) - n_{tt}$ and $r_t = \mu_p(t) - n_{tt}$ leave out the pairs of equal tokens. The
# third case occurs $\sum_t (r_t^2 - \sum_{b \ne t} n_{tb}^2)$ times with $-A$ and $\sum_t (c_t^2 - \sum_{a \ne t} n_{at}^2)$ times
# with $A$; the sums of squares cancel. The fourth occurs $2 \sum_t n_{tt} r_t$ times with $-A - D$ and
# $2 \sum_t n_{tt} c_t$ times with $A + D$. Together
# $A \sum_t (c_t^2 - r_t^2 + 2 n_{tt} (c_t - r_t)) + 2 D \sum_t n_{tt} (c_t - r_t)$, which is {eq}`eq-s1-12-counts`, since
# $c_t^2 + 2 n_{tt} c_t = \mu_c(t)^2 - n_{tt}^2$ and $c_t - r_t = \mu_c(t) - \mu_p(t)$.
# ```
# ````

# %%
show(repeated_tokens.counts_and_kurtosis(), repeated_tokens.repeated_tokens(seed=seed))

# %% [markdown]
# The counts enter squared, so that one token that is predicted very often outweighs many that are context a little more
# often than predicted. Which side they favour is decided by the kurtosis, a measure of how heavy the tails of the
# coordinates are. It is 3 for a Gaussian, and the side that gains above 3 loses below it.
#
# ## What would make columns dominate
#
# Rows take the spread of what stands on the query side, columns that of what arrives from the key side. In the cleanest
# case all pairs of some queries and keys have independent Gaussian coefficients. Let $S_Q = \sum_i q_i q_i^\top$ and
# $S_K = \sum_j k_j k_j^\top$.
#
# ````{prf:proposition} a condition for column dominance
# :label: prop-s1-12-condition
#
# Let $\Delta W = \sum_{ij} \beta_{ij} q_i k_j^\top$ with independent standard normal $\beta_{ij}$ and given $q_i$, $k_j$. With
#
# $$
# D(S) = \frac{(d+2) \sum_k S_{kk}^2}{\mathrm{Tr}(S)^2 + 2\,\mathrm{Tr}(S^2)}
# $$ (eq-s1-12-alignment)
#
# the columns are more uneven than the rows exactly if $D(S_K) > D(S_Q)$:
#
# $$
# \frac{\mathbb{E}\sum_k \|w_{\cdot,k}\|^4}{\mathbb{E}\sum_m \|w_{m,\cdot}\|^4} = \frac{D(S_K)}{D(S_Q)} .
# $$ (eq-s1-12-fourth)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Row $m$ is $\sum_{ij} \beta_{ij} [q_i]_m k_j^\top$: Gaussian with mean zero and covariance
# $\sum_{ij} [q_i]_m^2\, k_j k_j^\top = (S_Q)_{mm} S_K$. A Gaussian vector $g$ of covariance $C$ has
# $\mathbb{E}\|g\|^4 = \mathrm{Tr}(C)^2 + 2\,\mathrm{Tr}(C^2)$. Hence
#
# $$
# \mathbb{E} \sum_m \|w_{m,\cdot}\|^4 = \sum_m (S_Q)_{mm}^2 \, \bigl( \mathrm{Tr}(S_K)^2 + 2\,\mathrm{Tr}(S_K^2) \bigr) ,
# $$
#
# and the same with $Q$ and $K$ exchanged for the columns. Dividing gives {eq}`eq-s1-12-fourth`. By
# {prf:ref}`lem-s1-12-sum` the sums of *squares* are equal in every draw, so the fourth powers compare the unevenness.
# ```
# ````

# %%
show(condition.directionality_condition(d=d, seed=seed))

# %% tags=["hide-input"]
sweep = alignment_sweep(d, (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5), n_draws // 4, generator)
figures.directionality_by_alignment(sweep)

# %% [markdown]
# $D$ measures how far a second moment is concentrated on *coordinate axes*. It is 1 for $S = I$, and 1 on average for
# every spectrum in a random basis ([why](column_dominance_details.py#alignment-in-a-random-basis)), so anisotropy alone
# is not enough. The second moment of the simulated embeddings has $D$ = {glue:text}`alignment`.
#
# Four things can set queries and keys apart, besides tokens that repeat.
#
# - *Coefficients that are linear in the key*, with errors independent of the embeddings, make columns the uneven side
#   for every objective if the coordinates are uncorrelated ({prf:ref}`prop-s1-12-errors`).
# - *A first token that is always there* acts on the key side alone. Outlying coordinates of its embedding make columns
#   uneven in [simulations](column_dominance_details.py#a-first-token-that-is-always-there).
# - *A mean that all embeddings share* makes *rows* uneven, with every objective, where its coordinates differ in size and
#   the coefficients of a row add up to 0 and are otherwise independent of the embeddings ({prf:ref}`prop-s1-12-mean`).
# - *Masked positions* of a model of one layer hold one embedding on the query side ({prf:ref}`prop-s1-15-mask`). Columns
#   are the more uneven side where the key side is less even than that embedding: column dominance from a bidirectional
#   objective.

# %% tags=["remove-input"]
overview = dominance_table(kinds)
names = {
    "d": "directionality",
    "d_error": "± directionality",
    "log_unevenness": "log ratio",
    "log_unevenness_error": "± log ratio",
}
table(
    overview[["setting", *names]].rename(columns=names),
    "tab-dominance-settings",
    f"Mean directionality (negative: columns) and log ratio of unevenness, columns to rows, with their standard errors "
    f"over {n_draws} random updates of width {d}. *Errors*: coefficients $\\delta_i^\\top x_j$. *Isotropic "
    f"context tokens*: {CONTEXTS * n_sequences} of them. *First token* and *common mean*: $\\Sigma = I$. *Masked*: a share {MASK_RATE:g} of the positions, one layer.",
    {"directionality": "+.2f", "± directionality": ".2f", "log ratio": "+.2f", "± log ratio": ".2f"},
)

# %% tags=["remove-cell"]
glue("exponent", exponent)
glue("alignment", axis_alignment(torch.diag(power_profile(d, exponent))), ".2f")
by_name = overview.set_index("setting")
glue("ar-d", by_name.loc["autoregressive", "d"], "+.2f")
glue("ar-d-error", by_name.loc["autoregressive", "d_error"], ".2f")
glue("context-d", by_name.loc["isotropic context tokens", "d"], "+.2f")

# %% [markdown]
# ## What it means for you
#
# - Column dominance in your decoder is a measurement (`attngeo score MODEL`), and the paper's theorem does not explain
#   it. That the objective is autoregressive does not suffice, nor that most tokens are context more often than predicted.
# - Look for a difference between queries and keys: a token that opens most sequences and has outlying coordinates, or
#   errors that do not follow the query's embedding. A mean that all embeddings share works the other way. The function
#   `axis_alignment` of the package's folder for this chapter gives $D$ for the second moment of any embeddings you have.
# - Which of these conditions trained decoders meet is open: nothing on this page is measured on a trained model.
