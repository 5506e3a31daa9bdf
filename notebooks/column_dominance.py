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
# # Why columns would dominate
#
# The paper's first theorem says that autoregressive training makes columns of $W_{qk}$ dominate: large norms are found
# among columns more often than among rows {cite}`saponati2025`. A token is *context* where other tokens are predicted
# from it, and *predicted* where it is the target. The argument runs in four steps. A token that serves as context adds
# more to a typical column than to a typical row (Proposition S1.8). In autoregressive training most tokens serve as
# context more often than they are predicted (Proposition S1.10). Hence the norms of rows and the norms of columns come
# to have different variances (Eq. S101). The larger variance has the heavier tail (Lemma S1.11).
#
# This page follows these steps. The first step holds under assumptions that the theorem itself does not meet: it needs a
# context token whose coordinates have equal variances, and the theorem draws all tokens from one law. Where no token
# occurs twice and the coefficients are independent of the embeddings, rows and columns of the update have *the same
# law*, so that neither side dominates. Where tokens repeat, the counts of the second step do act, but the law of the embeddings decides which side they favour:
# coordinates with heavier tails than a Gaussian favour one side, coordinates with lighter tails the other. The third
# step points to rows rather than columns, and the fourth does not hold. None of this contradicts the measurements, in
# which many trained decoders do show column dominance. It leaves them without the offered explanation, so the last part
# asks which conditions would provide one.

# %% tags=["parameters"]
d: int = 32  # width of the embedding; in [16, 96]
n_tokens: int = 16  # tokens of a sequence; in [8, 64]
n_sequences: int = 8  # sequences that add to one update; in [2, 32]
n_draws: int = 200  # updates drawn under each set of assumptions; in [60, 1000]
exponent: float = 1.0  # variances of the embedding's coordinates fall like k^-exponent; in [0.5, 1.5]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch

from attngeo.chapters.column_dominance import (
    condition,
    figures,
    initial_norms,
    norm_ratios,
    repeated_tokens,
    shared_mean,
    tails,
    theorem,
)
from attngeo.chapters.column_dominance.assumptions import alignment_sweep, dominance_table, updates_by_assumption
from attngeo.chapters.column_dominance.measures import axis_alignment
from attngeo.chapters.column_dominance.models import context_updates
from attngeo.display.page import glue, show, table
from attngeo.updates.random_updates import power_profile

profile = {"d": d, "exponent": exponent, "seed": seed}
generator = torch.Generator().manual_seed(seed)

# %% [markdown]
# ## What is compared
#
# By {prf:ref}`prop-2-2` an update of $W_{qk}$ is
#
# $$
# \Delta W = \sum_i \sum_{j \in C_i} \beta_{ij}\, x_i x_j^\top ,
# $$ (eq-s1-8-update)
#
# up to a constant. Its row $m$ collects the $m$-th coordinates of the query (predicted) side, its column $k$ the $k$-th
# coordinates of the key (context) side. The embeddings $x_i$ are random with mean zero and covariance $\Sigma$; in the
# simulations $\Sigma$ is diagonal with variances that fall like $k^{-a}$, here with $a$ = {glue:text}`exponent`. The
# letter $d$ is the width of the embedding on this page. Three measures are used: the tails
# $\Pr[\|w_{\cdot,k}\| > w]$ and $\Pr[\|w_{m,\cdot}\| > w]$ themselves; the *directionality* of Def. 3.2 of the paper, which is
# negative where columns dominate; and the *unevenness* of rows or of columns, which is the mean of the fourth powers of
# their norms over the square of the mean of the squares, and 1 when all norms are equal.
#
# One fact limits from the start what can be shown.
#
# ````{prf:lemma} the missing identity: rows and columns share one sum
# :label: lem-s1-12-sum
#
# $\sum_k \|w_{\cdot,k}\|^2 = \sum_m \|w_{m,\cdot}\|^2 = \|W\|_F^2$ for every matrix $W$. With $R = \sum_m \|w_{m,\cdot}\|$
# and $C = \sum_k \|w_{\cdot,k}\|$ the variances of the $d$ row norms and of the $d$ column norms therefore differ by
#
# $$
# \mathrm{Var}_m \|w_{m,\cdot}\| - \mathrm{Var}_k \|w_{\cdot,k}\| = (C^2 - R^2) / d^2 .
# $$ (eq-s1-12-spread)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Both sums are the sum of all squared entries. A variance is the mean of the squares less the square of the mean; the
# means of the squares are equal.
# ```
# ````
#
# After Eq. S98 the proof of Theorem S1.12 says that "the net increase of the norm of the columns" is bigger than that of
# the rows. Read as squared norms this is impossible. Read as norms it can be true, and in the check it is true for one
# context token of Proposition S1.8; for a sequence whose tokens have one law and occur once, both sums are equal on
# average. But the side of the larger sum is by {eq}`eq-s1-12-spread` the side of the *smaller* variance: if columns as a
# whole gain more, they are the more even side. Column dominance means the opposite: a few large
# columns against rows of middling size.

# %%
show(theorem.net_growth(seed=seed))

# %% tags=["remove-cell"]
glue("exponent", exponent)

# %% [markdown]
# ## One context token
#
# ````{prf:proposition} Prop. S1.8 of the paper: asymmetric growth for a context token
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
# The condition in bold is ours: the paper takes the coefficients out of the expectation without it.
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

# %%
show(
    norm_ratios.context_ratio(n_tokens=n_tokens, **profile),
    norm_ratios.independence_of_vectors(),
    norm_ratios.non_isotropic_covariance(d=d),
)

# %% [markdown]
# Three conditions of the proposition matter for what follows: independent coefficients, unequal *variances*, and an
# isotropic context token $y$. The last is at odds with Theorem S1.12, which draws all tokens from one law.
#
# ````{prf:proposition} S1.8 and S1.9 when all tokens have one law
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
#
# Then the role makes no difference, and Eqs. S97 and S98 are true for equally many pairs $(k, m)$, since exchanging
# $k$ and $m$ inverts the ratio.

# %%
show(norm_ratios.ratio_when_all_tokens_have_one_law())

# %% [markdown]
# The check of non-isotropic covariances concerns the step from *non-isotropic* to *of unequal variances*. A covariance
# with equal variances and correlated coordinates is not isotropic, and {eq}`eq-s1-8-ratio` is then 1 for every row.
# What counts is the diagonal of $\Sigma$ in the basis of the coordinates. The statement also has a second half, which
# the paper leaves out: rows of *above*-average variance outgrow every column.
#
# ### The coefficients of Prop. 2.2 of the paper
#
# The coefficient of a pair is made from the embeddings: $\beta_{it^*}$ contains $y$ and the error at position $i$, which
# depends on $x_i$. For $\beta_i = x_i^\top B y$ the expectations can still be computed.
#
# ````{prf:proposition} S1.8 for coefficients that follow the embeddings
# :label: prop-s1-8-bilinear
#
# Let $\beta_i = x_i^\top B y$ with a fixed $B$, Gaussian embeddings and $\sigma_y = 1$. With
# $G = B^\top [N(N+1)\Sigma^2 + N\,\mathrm{Tr}(\Sigma)\,\Sigma] B$,
#
# $$
# \begin{aligned}
# \mathbb{E}\|\Delta w_{\cdot,k}\|^2 &= \mathrm{Tr}(G) + 2 G_{kk}, \\
# \mathbb{E}\|\Delta w_{m,\cdot}\|^2 &= (d+2) \bigl[ N(N+1) \|(\Sigma B)_{m,\cdot}\|^2
# + N \Sigma_{mm} \mathrm{Tr}(B^\top \Sigma B) \bigr] .
# \end{aligned}
# $$ (eq-s1-8-bilinear)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Now $\Delta W = S B y y^\top$ with $S = \sum_i x_i x_i^\top$. For Gaussian vectors and a symmetric $A$, splitting
# $S A S$ into equal and unequal indices and using
# $\mathbb{E}[x x^\top A x x^\top] = 2 \Sigma A \Sigma + \mathrm{Tr}(A \Sigma) \Sigma$ gives
#
# $$
# \mathbb{E}[S A S] = N(N+1)\, \Sigma A \Sigma + N\, \mathrm{Tr}(A\Sigma)\, \Sigma .
# $$
#
# For a standard normal $y$, $\mathbb{E}[y_k^2\, y^\top C y] = \mathrm{Tr}(C) + 2 C_{kk}$, and summed over $k$,
# $\mathbb{E}[\|y\|^2\, y^\top C y] = (d+2)\, \mathrm{Tr}(C)$.
#
# Column $k$ has squared norm $y_k^2\, y^\top B^\top S S B y$. The first formula with $A = I$ has the mean
# $B^\top \mathbb{E}[SS] B = G$, the second gives the result. Row $m$ has squared norm
# $\|y\|^2\, y^\top B^\top S e_m e_m^\top S B y$. The first formula with $A = e_m e_m^\top$ has the mean
# $C = B^\top [N(N+1) \Sigma e_m e_m^\top \Sigma + N \Sigma_{mm} \Sigma] B$, whose trace is the bracket in
# {eq}`eq-s1-8-bilinear`.
# ```
# ````
#
# The ratio now depends on the column too. For generic $B$ and many tokens it approaches
# $\mathrm{Tr}(\Sigma^2) / (d\,\Sigma_{mm}^2)$, twice as steep in the variance as {eq}`eq-s1-8-ratio`, and for some $B$ the
# inequality of the proposition turns round.

# %%
show(norm_ratios.context_ratio_of_dependent_coefficients(n_tokens=n_tokens, **profile))

# %%
covariance = torch.diag(power_profile(d, exponent))
form = torch.randn(d, d, generator=generator, dtype=torch.float64) / d**0.5
figures.growth_ratios(
    covariance,
    context_updates(covariance, n_tokens, 20 * n_draws, generator),
    context_updates(covariance, n_tokens, 20 * n_draws, generator, form),
    form,
    n_tokens,
)

# %% [markdown]
# ### One predicted token
#
# ````{prf:corollary} Cor. S1.9 of the paper: asymmetric growth for a predicted token
# :label: cor-s1-9
#
# Exchange the roles in {prf:ref}`prop-s1-8`: one token with embedding $y$ is predicted from $x_1, \dots, x_N$. Under the
# same assumptions
#
# $$
# \frac{\mathbb{E}\|\Delta w_{\cdot,k}\|^2}{\mathbb{E}\|\Delta w_{m,\cdot}\|^2} = \frac{d\,\Sigma_{kk}}{\mathrm{Tr}(\Sigma)} .
# $$ (eq-s1-9-ratio)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The update $y u^\top$ is the transpose of the one in {prf:ref}`prop-s1-8`: rows and columns change places.
# ```
# ````
#
# Equation S66 replaces the squared norm of a sum of embeddings by the sum of their squared norms and leaves the
# coefficients out. That is wrong for every single update; the expectations agree if all $\beta = 1$.

# %%
show(
    norm_ratios.prediction_ratio(n_tokens=n_tokens, **profile),
    norm_ratios.prediction_row_norm(),
)

# %% [markdown]
# ## From spread to tails
#
# The theorem needs a statement about probabilities of large norms, and takes it from the variance of the norms. Its
# starting point is the initial matrix, with independent entries of mean $\mu$ and variance $\sigma^2$. Rows and columns
# of such a matrix are alike, which is all the proof uses; the moments that the paper prints for them need correction.
# For $W_q W_k^\top$ the entries are uncorrelated, not independent.

# %%
show(
    initial_norms.initial_rows(),
    initial_norms.initial_norms(n=d, seed=seed),
    initial_norms.factored_initial_norms(),
)

# %% [markdown]
# ````{prf:lemma} Lemma S1.11 of the paper: larger variance and heavier tail; corrected
# :label: lem-s1-11
#
# Let $X_a = \mu + \sigma_a Z$ and $X_b = \mu + \sigma_b Z'$, where $Z$ and $Z'$ have the same law, and
# $\sigma_a > \sigma_b > 0$. Then $\Pr[X_a > z] \ge \Pr[X_b > z]$ for all $z \ge \mu$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $\Pr[X_a > z] = \Pr[Z > (z - \mu)/\sigma_a]$, and $(z - \mu)/\sigma_a \le (z - \mu)/\sigma_b$ for $z \ge \mu$.
# ```
# ````
#
# The paper states it for *any* two laws of equal mean and for all $z > \sqrt{\sigma_a \sigma_b} - \mu$. Two moments do
# not order tails: $\pm 1$ with equal probability has a larger variance than $\pm 3$ with probability 1/20 each and 0
# otherwise, and never exceeds 2. The proof divides by the wrong second moment, applies the second-moment inequality to
# a variable of negative mean, where it says nothing, and arrives at 4 or more for a probability in the check below.
# Row and column norms are positive, skewed and of different shapes, so the corrected lemma does not cover them.

# %%
show(tails.tail_order(), tails.tail_bounds())

# %%
figures.tails(tails.example_laws())

# %% [markdown]
# ## The theorem
#
# ````{prf:theorem} Thm. S1.12 (informally 2.3) of the paper: autoregressive training induces directionality; as stated by the paper
# :label: thm-s1-12
#
# Let the embeddings of the vocabulary be drawn independently from one law with mean zero and a covariance other than a
# multiple of $I$, and let $\Delta W$ come from an autoregressive objective. Then there is a $\gamma$ such that
# $\Pr[\|w_{\cdot,k}\| > w] > \Pr[\|w_{m,\cdot}\| > w]$ for all $w > \gamma$.
# ````
#
# *No proof is given here, because the statement does not follow from its assumptions.* The paper's proof needs
# Eq. S101, rows of larger variance, and the lemma, and concludes that *columns* have the heavier tail. But the lemma's
# own logic gives the heavier tail to the side of larger variance. Equation S101 is right for context tokens as
# {prf:ref}`prop-s1-8` describes them: every column receives the same $\mathrm{Tr}(\Sigma)$, while row $m$ receives
# $\Sigma_{mm}$. Added up over many context tokens, rows are the uneven side, and the large norms are found among them.

# %%
show(theorem.variance_of_norms(n_tokens=n_tokens, **profile))

# %% [markdown]
# A sequence contains both roles, and then two statements can be proved.
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
#
# This covers every order and every frequency of tokens, hence every ratio $\mu_c / \mu_p$ of
# {prf:ref}`prop-s1-10`: how often a token is context and how often it is predicted makes no difference between the
# expected *squared* norms of row $k$ and column $k$.

# %%
show(theorem.equal_expected_norms())

# %% [markdown]
# The second statement concerns the whole law, and with it the tails.
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
#
# So the inequality of {prf:ref}`thm-s1-12` is an equality for $k = m$, and for a column and a row picked at random,
# although most tokens may be context more often than predicted, as Eq. S96 asks: let one token always stand last and
# the others before it in random order. Then every token but that one has $\mu_c / \mu_p > 1$, and no token occurs twice.
# The directionality has a law symmetric about 0. The checks measure the three signs of dominance in autoregressive
# updates; each is 0 within its error.

# %%
show(
    theorem.autoregressive_directionality(**profile),
    theorem.directionality_during_training(**profile | {"seed": seed + 1}),
)

# %%
kinds = updates_by_assumption(d, n_tokens, n_sequences, exponent, n_draws, generator)
shown = {
    "one context token": "context tokens\nof Prop. S1.8",
    "autoregressive": "autoregressive,\nno token twice",
    "errors, autoregressive": "errors independent\nof embeddings",
    "first token": "outlying\nfirst token",
}
figures.norm_histograms({title: kinds[name] for name, title in shown.items()})

# %% [markdown]
# ### Tokens that repeat
#
# The theorem draws one embedding per token of the *vocabulary*. A token that occurs again brings the same embedding
# with it, and if it recurs late in the sequence, or at the end of every sequence, the update no longer has the law of its
# transpose. The expected squared norms are still equal, by {prf:ref}`prop-s1-12-expectation`. The next moment is not.
#
# ````{prf:theorem} counts act through the kurtosis (ours)
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
# \mathbb{E}\sum_k \|w_{\cdot,k}\|^4 - \mathbb{E}\sum_m \|w_{m,\cdot}\|^4
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
#
# The counts enter squared: one token that is predicted very often outweighs many that are context a little more often
# than predicted, which is all that Eq. S96 says of most tokens. Which side they favour is decided by the kurtosis. The
# check computes both sides without any error, in all outcomes of short sequences. The second check lets one token close
# every sequence. All other tokens then have $\mu_c / \mu_p > 1$, and still large norms are found among rows or among
# columns as the law of the embedding's coordinates has it.
#
# For a trained model this means: a token that opens or closes most sequences acts on one side of $W_{qk}$ alone. It makes
# that side the more uneven one if the coordinates of the embeddings have heavier tails than a Gaussian, and the other
# side if they have lighter ones.

# %%
show(repeated_tokens.counts_and_kurtosis(), repeated_tokens.repeated_tokens(seed=seed))

# %% [markdown]
# ## What would make columns dominate
#
# Rows take the spread of what stands on the query side, columns that of what arrives from the key side. The cleanest
# case has independent Gaussian coefficients on all pairs of some queries and some keys, whose second moments are
# $S_Q = \sum_i q_i q_i^\top$ and $S_K = \sum_j k_j k_j^\top$.
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
#
# $D$ measures how far a second moment is concentrated on *coordinate axes*. It is 1 for $S = I$, and 1 on average for
# *every* spectrum in a random basis: for a random unit vector $q$, $\mathbb{E} q_i^4 = 3 / (d(d+2))$ and
# $\mathbb{E} q_i^2 q_j^2 = 1 / (d(d+2))$, hence
# $\mathbb{E} (q^\top S q)^2 = (\mathrm{Tr}(S)^2 + 2\,\mathrm{Tr}(S^2)) / (d(d+2))$ for each of the $d$ diagonal entries.
# Anisotropy alone is therefore not enough: it has to show along the axes. For a single vector, $S = e e^\top$, $D$ is a
# third of the kurtosis of its entries, up to the factor $(d+2)/d$.

# %%
show(condition.directionality_condition(d=d, seed=seed))

# %%
sweep = alignment_sweep(d, (0.0, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5), n_draws // 2, generator)
figures.directionality_by_alignment(sweep)

# %% [markdown]
# Directionality saturates early, and its null range is wide at this width: with nothing uneven, single updates still
# spread over most of the scale (dotted lines). At $a$ = {glue:text}`exponent` the second moment of
# the embeddings has $D$ = {glue:text}`alignment` along the axes.
#
# Where can a difference between queries and keys come from, other than from repeated tokens
# ({prf:ref}`thm-s1-12-counts`)? Four sources follow.
#
# ### Coefficients that are linear in the key
#
# Prop. 2.2 of the paper as printed has $\beta_{ij} = \delta_i^\top x_j$: linear in the key, with an error $\delta_i$ that
# belongs to the query.
#
# ````{prf:proposition} errors independent of the embeddings
# :label: prop-s1-12-errors
#
# Let $\beta_{ij} = \delta_i^\top x_j$ with errors $\delta_i$ of mean zero and covariance $I/d$, independent of each other and
# of the embeddings, and Gaussian embeddings. With $n_i = |C_i|$ and
# $K_i = \bigl( n_i(n_i+1)\Sigma^2 + n_i \mathrm{Tr}(\Sigma) \Sigma \bigr)/d$, for $i \notin C_i$,
#
# $$
# \mathbb{E}\|w_{m,\cdot}\|^2 = \Sigma_{mm} \sum_i \mathrm{Tr}(K_i), \qquad
# \mathbb{E}\|w_{\cdot,k}\|^2 = \mathrm{Tr}(\Sigma) \sum_i (K_i)_{kk} .
# $$ (eq-s1-12-errors)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The update is $\sum_i x_i (A_i \delta_i)^\top$ with $A_i = \sum_{j \in C_i} x_j x_j^\top$. Terms of different $i$ do not mix
# in the expectation of squares, because the errors are independent with mean zero. As $i \notin C_i$, $x_i$ is
# independent of $A_i$, and
# $\mathbb{E}[A_i \delta_i \delta_i^\top A_i] = \mathbb{E}[A_i^2]/d = K_i$ by the formula for $\mathbb{E}[SAS]$ in the proof of
# {prf:ref}`prop-s1-8-bilinear` with $A = I$.
# ```
# ````
#
# The query side carries $\Sigma$, the key side partly $\Sigma^2$. If $\Sigma$ is *diagonal* with unequal variances
# $\lambda_k$, columns are the more uneven side in expected squared norms.
#
# ````{dropdown} Proof
# ```{prf:proof}
# Normalised to sum 1, the rows have $p_k \propto \lambda_k$ and the columns $q_k = p_k h_k$ with $h_k$ increasing in
# $\lambda_k$. By Chebyshev's sum inequality $\sum_k p_k q_k = \sum_k p_k\, (p_k h_k) \ge \sum_k p_k\, p_k \cdot \sum_k p_k h_k = \sum_k p_k^2$,
# strictly unless all $\lambda_k$ are equal, and by Cauchy's $(\sum_k p_k q_k)^2 \le \sum_k p_k^2 \sum_k q_k^2$. Hence
# $\sum_k q_k^2 > \sum_k p_k^2$.
# ```
# ````
#
# Correlated coordinates can turn this round: $(\Sigma^2)_{kk}$ contains the squared covariances of coordinate $k$ with
# all others, and is large for coordinates of small variance that are strongly correlated. With uncorrelated coordinates,
# then, the *conclusion* of {prf:ref}`thm-s1-12` holds here, in expectation of squares, for another reason than
# its proof. But nothing in it depends on the order of the tokens: bidirectional training gives the same.
# If the error follows the embedding of the query instead, $\delta_i = B^\top x_i$, both sides carry the same and
# {prf:ref}`prop-s1-12-law` (b) applies. The exact gradients of a small Transformer at random weights, softmax included,
# behave like independent errors.

# %%
show(
    condition.independent_errors(exponent=exponent, seed=seed),
    condition.exact_gradients(exponent=exponent, seed=seed),
)

# %% [markdown]
# ### A first token that is always there
#
# In autoregressive training the first token of every sequence is in the context of all others and is never predicted.
# With the exact coefficients it does not even act as a query: it attends to itself alone, and a softmax over one score
# has no gradient. A constant first token therefore adds $u e^\top$ with its own embedding $e$ on the key side and a
# sum $u$ over many tokens on the query side. By {eq}`eq-s1-12-alignment` its effect hangs on the kurtosis of the entries
# of $e$ where the other embeddings are isotropic. A Gaussian $e$ with coordinates of equal variance then does nothing,
# although its $\mu_c/\mu_p$ is infinite; heavy-tailed entries or a few
# outlying coordinates make columns the uneven side; entries flatter than a Gaussian do the same for rows. Where the
# other embeddings have *unequal* variances, the same Gaussian $e$ evens out the columns, and rows dominate. (Def.
# 3.2 of the paper is slow to notice: a few very large columns also raise the threshold that they have to exceed.)

# %%
show(condition.constant_context_token(d=max(d, 32), seed=seed))

# %% [markdown]
# ### A mean that all embeddings share
#
# {prf:ref}`prop-2-2` has $\sum_j \beta_{ij} = 0$. A mean that all embeddings share then drops out of the key side and
# stays on the query side. The paper assumes that it is 0.
#
# ````{prf:proposition} a shared mean shows in rows (ours)
# :label: prop-s1-12-mean
#
# Let $x_i = \mu + z_i$ with independent $z_i$ of mean 0 and covariance $\Sigma$. Let the coefficients be independent of
# them, with $\sum_j \beta_{ij} = 0$ and $\beta_{ii} = 0$ for every $i$, and let $b_j = \sum_i \beta_{ij}$. Then, for any
# objective and given coefficients, $\Delta W = \sum_{ij} \beta_{ij} x_i x_j^\top$ has
#
# $$
# \begin{aligned}
# \mathbb{E}\|w_{m,\cdot}\|^2 &= \mathrm{Tr}(\Sigma) \bigl( \Sigma_{mm} \|B\|_F^2 + \mu_m^2 \|b\|^2 \bigr)
# + (\Sigma^2)_{mm} \mathrm{Tr}(BB), \\
# \mathbb{E}\|w_{\cdot,k}\|^2 &= \Sigma_{kk} \bigl( \mathrm{Tr}(\Sigma) \|B\|_F^2 + \|\mu\|^2 \|b\|^2 \bigr)
# + (\Sigma^2)_{kk} \mathrm{Tr}(BB) .
# \end{aligned}
# $$ (eq-s1-12-mean)
#
# For $\Sigma = \sigma^2 I$ all columns have the same expected squared norm, and row $m$ has one that grows with $\mu_m^2$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# As the rows of $B$ add up to 0, $\sum_j \beta_{ij} x_j = \sum_j \beta_{ij} z_j$ and $\Delta W = \mu v^\top + Y$ with
# $v = \sum_j b_j z_j$ and $Y = \sum_{ij} \beta_{ij} z_i z_j^\top$. The squared norms of $Y$ are those of
# {prf:ref}`prop-s1-12-expectation`, with positions for tokens and no pairs of equal ones; those of $\mu v^\top$ have the means
# $\mu_m^2\, \mathbb{E}\|v\|^2 = \mu_m^2 \|b\|^2 \mathrm{Tr}(\Sigma)$ and $\|\mu\|^2\, \mathbb{E} v_k^2 = \|\mu\|^2 \|b\|^2 \Sigma_{kk}$.
# The products of $\mu v^\top$ with $Y$ contain three of the $z$, of which $z_i$ and $z_j$ with $i \ne j$ differ: one of them
# occurs once, and the mean is 0.
# ```
# ````
#
# For a trained model this means: what all embeddings have in common, such as a few outlying coordinates, makes *rows*
# dominate, with every objective. Without the condition on the coefficients both sides carry the mean alike, by
# {prf:ref}`prop-s1-12-law` (a).

# %%
show(shared_mean.common_mean(d=max(d, 32), seed=seed))

# %% [markdown]
# ### Masked positions
#
# In masked training the queries that count hold one and the same mask embedding $e$ in the first layer. The update is
# then $e v^\top$ with a $v$ from the other side ({prf:ref}`prop-s1-15-mask`), so that columns are the more uneven side
# exactly if the coordinates of $v$ are more uneven in size than those of $e$: column dominance from a bidirectional
# objective. {numref}`tab-dominance-settings` sets all cases side by side.

# %%
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
    f"over {n_draws} random updates of width {d}. *Errors*: coefficients $\\delta_i^\\top x_j$.",
    {"directionality": "+.2f", "± directionality": ".2f", "log ratio": "+.2f", "± log ratio": ".2f"},
)

# %% tags=["remove-cell"]
glue("alignment", axis_alignment(torch.diag(power_profile(d, exponent))), ".2f")
by_name = overview.set_index("setting")
glue("context-d", by_name.loc["one context token", "d"], "+.2f")
glue("ar-d", by_name.loc["autoregressive", "d"], "+.2f")
glue("ar-d-error", by_name.loc["autoregressive", "d_error"], ".2f")

# %% [markdown]
# ## What follows
#
# - Context tokens as Proposition S1.8 describes them make *rows* uneven: the mean directionality is
#   {glue:text}`context-d` in the simulation. The proposition holds if the coefficients are independent of the embeddings
#   and the context token is isotropic. With all tokens from one law, context and predicted tokens give the same ratio.
# - Lemma S1.11 is false for general laws, and Eq. S102 does not follow from Eq. S101.
# - Where no token occurs twice, with coefficients independent of the embeddings, autoregressive training favours neither
#   side: the mean directionality is {glue:text}`ar-d` ± {glue:text}`ar-d-error`.
# - Where tokens repeat, the counts of Proposition S1.10 make one side more uneven. Which side depends on
#   $\sum_t (\mu_c(t)^2 - \mu_p(t)^2)$ and on whether the kurtosis of the embeddings is above or below 3. Gaussian
#   embeddings show no difference in fourth powers, whatever the counts.
# - Columns dominate if what arrives from the keys lies closer to the coordinate axes than the queries do. Coefficients
#   linear in the key do this for every objective if the coordinates are uncorrelated; a first token with outlying
#   coordinates does it in autoregressive training; a shared mean with outlying coordinates does the opposite.
# - A theorem on the contrast between objectives would have to assume, or derive from training, such a difference
#   between queries and keys. Whether it is what drives trained decoders is a question to their embeddings: $D(S_K)$ and
#   $D(S_Q)$ can be measured in every layer.
