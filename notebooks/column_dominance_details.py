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
# # Details: Why columns would dominate
#
# This page has the slips, variants and further conditions behind the [chapter on columns](column_dominance.py). The
# notation is the chapter's: an update is $\Delta W = \sum_{ij} \beta_{ij}\, x_i x_j^\top$ with embeddings $x_i$ of width
# $d$ and covariance $\Sigma$, and *unevenness* compares the fourth powers of norms with their squares.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding; in [16, 96]
n_tokens: int = 16  # tokens of a sequence; in [8, 64]
n_draws: int = 4000  # updates drawn for the figure of ratios; in [1000, 20000]
exponent: float = 1.0  # variances of the embedding's coordinates fall like that power of 1/k; in [0.5, 1.5]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch

from attngeo.chapters.column_dominance import (
    condition,
    figures,
    initial_norms,
    norm_ratios,
    shared_mean,
    tails,
    theorem,
)
from attngeo.chapters.column_dominance.models import context_updates
from attngeo.display.page import show
from attngeo.updates.random_updates import power_profile

profile = {"d": d, "exponent": exponent, "seed": seed}
generator = torch.Generator().manual_seed(seed)

# %% [markdown]
# ## One sum of squares
#
# ````{prf:lemma} rows and columns share one sum of squares
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
# After Eq. S98 the proof of Theorem S1.12 of the paper says that "the net increase of the norm of the columns" is bigger
# than that of the rows. Read as squared norms this is impossible. Read as norms it is true in the check for one context
# token of {prf:ref}`prop-s1-8`; for a sequence whose tokens have one law and occur once, both sums are equal on average.
# But the side of the larger sum is by {eq}`eq-s1-12-spread` the side of the *smaller* variance: if columns as a whole
# gain more, they are the more even side. Column dominance means the opposite, a few large columns against rows of
# middling size.

# %%
show(theorem.net_growth(seed=seed))

# %% [markdown]
# ## More on one context token
#
# Two steps in the proof of {prf:ref}`prop-s1-8` are named wrongly in the paper. What removes the cross terms is the
# independence of the *vectors*, not of their entries. And a covariance that is *not isotropic* need not have unequal
# variances: with equal variances and correlated coordinates {eq}`eq-s1-8-ratio` is 1 for every row. What counts is the
# diagonal of $\Sigma$ in the basis of the coordinates. The statement also has a second half, which the paper leaves out:
# rows of *above*-average variance outgrow every column.

# %%
show(norm_ratios.independence_of_vectors(), norm_ratios.non_isotropic_covariance(d=d))

# %% [markdown]
# ### Coefficients made from the embeddings
#
# By {prf:ref}`prop-2-2` the coefficient $\beta_{it^*}$ of a pair contains $y$ and the error at position $i$, which depends
# on $x_i$. For $\beta_i = x_i^\top B y$ the expectations can still be computed.
#
# ````{prf:proposition} coefficients that follow the embeddings
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

# %%
show(norm_ratios.context_ratio_of_dependent_coefficients(n_tokens=n_tokens, **profile))

# %% [markdown]
# The ratio now depends on the column too. For generic $B$, diagonal $\Sigma$ and many tokens it approaches
# $\mathrm{Tr}(\Sigma^2) / (d\,\Sigma_{mm}^2)$, twice as steep in the variance as {eq}`eq-s1-8-ratio`, and for some $B$ the
# inequality of the proposition turns round.

# %% tags=["hide-input"]
covariance = torch.diag(power_profile(d, exponent))
form = torch.randn(d, d, generator=generator, dtype=torch.float64) / d**0.5
figures.growth_ratios(
    covariance,
    context_updates(covariance, n_tokens, n_draws, generator),
    context_updates(covariance, n_tokens, n_draws, generator, form),
    form,
    n_tokens,
)

# %% [markdown]
# ### One predicted token
#
# ````{prf:corollary} Cor. S1.9 of the paper: growth by a predicted token
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
# Equation S66 of the paper replaces the squared norm of a sum of embeddings by the sum of their squared norms and leaves
# the coefficients out. That is wrong for every single update; the expectations agree if all $\beta = 1$.

# %%
show(norm_ratios.prediction_ratio(n_tokens=n_tokens, **profile), norm_ratios.prediction_row_norm())

# %% [markdown]
# ## The matrix at the start
#
# The proof of {prf:ref}`thm-s1-12` starts from a matrix of independent entries of mean $\mu$ and variance $\sigma^2$. Its
# rows and columns are alike, which is all that the proof uses; the moments that the paper prints need correction. The
# entries of $W_q W_k^\top$ are uncorrelated and not independent.

# %%
show(
    initial_norms.initial_rows(),
    initial_norms.initial_norms(n=d, seed=seed),
    initial_norms.factored_initial_norms(),
)

# %% [markdown]
# ## From spread to tails
#
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
# otherwise, and never exceeds 2. The proof divides by the wrong second moment, and it applies the second-moment
# inequality to a variable of negative mean, where it says nothing; in the check it arrives at 4 or more for a
# probability. The corrected lemma does not cover row and column norms, which are positive, skewed and of different
# shapes.

# %%
show(tails.tail_order(), tails.tail_bounds())

# %% tags=["hide-input"]
figures.tails(tails.example_laws())

# %% [markdown]
# ## Alignment in a random basis
#
# The alignment $D(S)$ of {prf:ref}`prop-s1-12-condition` is 1 on average for *every* spectrum in a random basis. For a
# random unit vector $q$, $\mathbb{E} q_i^4 = 3 / (d(d+2))$ and $\mathbb{E} q_i^2 q_j^2 = 1 / (d(d+2))$, hence
# $\mathbb{E} (q^\top S q)^2 = (\mathrm{Tr}(S)^2 + 2\,\mathrm{Tr}(S^2)) / (d(d+2))$ for each of the $d$ diagonal entries.
# For a single vector, $S = e e^\top$, $D$ is a third of the kurtosis of its entries, up to the factor $(d+2)/d$.
#
# Directionality saturates early as $D$ grows, and its null range is wide at this width: with nothing uneven, single
# updates still spread over most of the scale ({numref}`fig-directionality-by-alignment`, dotted lines).
#
# ## Coefficients that are linear in the key
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
# ## A first token that is always there
#
# In autoregressive training the first token of every sequence is in the context of all others and is never predicted.
# With the exact coefficients it does not even act as a query: it attends to itself alone, and a softmax over one score
# has no gradient. A constant first token therefore adds $u e^\top$ with its own embedding $e$ on the key side and a
# sum $u$ over many tokens on the query side. By {eq}`eq-s1-12-alignment` its effect hangs on the kurtosis of the entries
# of $e$ where the other embeddings are isotropic. A Gaussian $e$ with coordinates of equal variance then does nothing,
# although its $\mu_c/\mu_p$ is infinite; heavy-tailed entries or a few
# outlying coordinates make columns the uneven side; entries flatter than a Gaussian do the same for rows. Where the
# other embeddings have *unequal* variances, the same Gaussian $e$ evens out the columns, and rows dominate. (Def. 3.2 of
# the paper is slow to notice: a few very large columns also raise the threshold that they have to exceed.)

# %%
show(condition.constant_context_token(d=max(d, 32), seed=seed))

# %% [markdown]
# ## A mean that all embeddings share
#
# {prf:ref}`prop-2-2` has $\sum_j \beta_{ij} = 0$. A mean that all embeddings share then drops out of the key side and
# stays on the query side. The paper assumes that it is 0.
#
# ````{prf:proposition} a shared mean shows in rows
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
# So what all embeddings have in common, such as a few outlying coordinates, makes *rows* dominate, with every objective, as
# long as the coefficients do not follow the embeddings. Whether it does in trained models we have not measured. Without
# the condition on the sums of coefficients both sides carry the mean alike, by {prf:ref}`prop-s1-12-law` (a).

# %%
show(shared_mean.common_mean(d=max(d, 32), seed=seed))

# %% [markdown]
# ## Masked positions
#
# In masked training of a model of one layer, without positions, the queries that count hold one and the same mask
# embedding $e$. The update is then $e v^\top$ with a $v$ from the other side ({prf:ref}`prop-s1-15-mask`), so that columns
# are the more uneven side exactly if the coordinates of $v$ are more uneven in size than those of $e$. With layers above,
# visible positions are queries too ([the loss of one token](implicit_gradient_details.py#the-loss-of-one-token)), and
# $e v^\top$ is only the part of the masked ones. {numref}`tab-dominance-settings` of the chapter has all cases side by
# side.
