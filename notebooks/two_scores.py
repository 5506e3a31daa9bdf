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
# # Two scores
#
# The paper {cite}`saponati2025` sums up a square matrix in two numbers. The *symmetry score* $s$ weighs its symmetric
# against its skew-symmetric part (Def. 3.1 of the paper). The *directionality score* $d$ weighs its long rows against its
# long columns (Def. 3.2 of the paper). Appendices S1.5 and S1.6 state their ranges, their extremes, and their values for
# random matrices.
#
# The symmetry score does what it is meant to do, once a factor 2 is dropped and its value at random is set to $1/n$
# instead of $8/n$. Directionality needs more care. Its threshold has a parameter that the paper does not state; it
# scatters widely at random, by {glue:text}`spread-256` at 256 rows; and in one case that the theory is about, a
# single column that outgrows all others, it has the wrong sign once there are a few hundred rows. The printed numbers
# of Table S3 come from another formula, as [the survey of pretrained models](pretrained_survey.py) shows.

# %% tags=["parameters"]
gamma: float = 2.0  # threshold of directionality in the figures, in standard deviations; in [0, 4]
n_strong: int = 768  # rows of the matrices with one strong column; in [128, 2048]
sizes: list[int] = [16, 64, 256]  # rows of the random matrices, three sizes or more; in [4, 2048]
draws: int = 400  # random matrices of each size; in [20, 10000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch

from attngeo.chapters.two_scores import directionality, figures, heads, random_matrices, symmetry, symmetry_law
from attngeo.chapters.two_scores.build_a_matrix import build_a_matrix
from attngeo.display.page import glue, show, table
from attngeo.forms.random_matrices import directionality_sd, sample_dense
from attngeo.forms.scores import GAMMA, score_batch

generator = torch.Generator().manual_seed(seed)
glue("spread-256", directionality_sd(256), ".2f")

# %% [markdown]
# ## Symmetry
#
# ````{prf:definition} Def. 3.1 of the paper: symmetry score, without the printed factor 2
# :label: def-3-1
#
# A square matrix $M \ne 0$ has the parts $M_s = (M + M\T) / 2$ and $M_n = (M - M\T) / 2$. Its *symmetry score* is
#
# $$
# s = \frac{\norm{M_s}^2 - \norm{M_n}^2}{\norm{M}^2} = \frac{\tr(M M)}{\norm{M}^2},
# $$ (eq-3-1)
#
# with Frobenius norms. For $M = 0$ we set $s = 0$.
# ````
#
# The paper prints twice this number. Its own Proposition S1.17 gives the range $[-1, 1]$ and the score 1 to symmetric
# matrices, both of which hold only without the 2.

# %%
show(symmetry.factor_of_the_symmetry_score(seed=seed))

# %% [markdown]
# ````{prf:lemma} Lemma S1.16 of the paper: the squared norm splits
# :label: lem-s1-16
#
# $\norm{M}^2 = \norm{M_s}^2 + \norm{M_n}^2$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $\langle A, B \rangle = \tr(A\T B)$ is the inner product behind the norm. For symmetric $A$ and skew-symmetric $B$,
# $\tr(A\T B) = \tr(A B)$, and also $\tr(A\T B) = \tr(B\T A) = -\tr(B A) = -\tr(A B)$, so it is 0. Apply this to
# $M = M_s + M_n$.
# ```
# ````

# %%
show(symmetry.squared_norm_splits(seed=seed))

# %% [markdown]
# ````{prf:proposition} Prop. S1.17 (1) and (2) of the paper: range and extremes of symmetry
# :label: prop-s1-17
#
# For $M \ne 0$ the score {eq}`eq-3-1` lies in $[-1, 1]$. It is 1 if and only if $M = M\T$, and $-1$ if and only if
# $M = -M\T$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# By {prf:ref}`lem-s1-16`,
#
# $$
# 1 - s = \frac{2 \norm{M_n}^2}{\norm{M}^2} \ge 0, \qquad 1 + s = \frac{2 \norm{M_s}^2}{\norm{M}^2} \ge 0 ,
# $$
#
# with equality if and only if $M_n = 0$, or $M_s = 0$. The trace form of {eq}`eq-3-1` follows from
# $\norm{M \pm M\T}^2 = 2 \norm{M}^2 \pm 2 \tr(M M)$.
# ```
# ````
#
# So both points fail as printed, for a score with the factor 2: its range is $[-2, 2]$, and a matrix with
# $\norm{M_s}^2 = 3 \norm{M_n}^2$ has the score 1 without being symmetric. The printed proof reaches $[-1, 1]$ all the
# same: it bounds $\tr(M M)$ by $\norm{M}^2 / 2$ (Eqs. S127, S129), half
# of what it can be, and this half cancels the 2 of the definition.

# %%
show(
    symmetry.symmetry_lies_between_minus_one_and_one(seed=seed),
    symmetry.extremes_of_the_symmetry_score(seed=seed),
    symmetry.bounds_on_the_trace(seed=seed),
)

# %% [markdown]
# ## Directionality
#
# ````{prf:definition} Def. 3.2 of the paper: directionality score
# :label: def-3-2
#
# Let $r_k = \norm{m_{k, \cdot}}$ be the row norms of an $n \times n$ matrix and $\mu_r, \sigma_r$ their mean and
# standard deviation (with divisor $n$); $c_k, \mu_c, \sigma_c$ likewise for columns. With a threshold of $\gamma$
# standard deviations,
#
# $$
# d = \frac{\bar r - \bar c}{\bar r + \bar c}, \qquad \bar r = \sum_{k :\, r_k > \mu_r + \gamma \sigma_r} r_k , \qquad
# \bar c = \sum_{k :\, c_k > \mu_c + \gamma \sigma_c} c_k ,
# $$ (eq-3-2)
#
# and $d = 0$ where no row and no column exceeds its threshold. Negative values are read as dominance of columns.
# ````
#
# The text gives no value of $\gamma$; the released code has $\gamma = 2$, and so have we where nothing else is said.
# The score depends on it.

# %%
show(directionality.directionality_as_defined(seed=seed))

# %% [markdown]
# Three formulas of this kind are in use, and they are not interchangeable. Sums of *norms* are the definition. Sums
# of the *excess* of norms over the threshold, with the divisor $n - 1$ in the standard deviation, are what the
# released code computes. Sums of the excess of the *logarithms* of the norms are behind the printed Table S3. The
# package has all three, by the names `definition`, `released` and `tables`. All three ignore the scale of the matrix,
# the order of its rows and columns, and signs; all change their sign with transposition. None is a property of the
# bilinear form alone: a rotation of the basis, which leaves $s$ as it is, changes $d$.

# %% tags=["remove-input"]
build_a_matrix(generator, gamma)

# %% [markdown]
# The first matrix is random: whatever its directionality says, it says by chance.
#
# ````{prf:proposition} Prop. S1.18 (1) and (2) of the paper: range and extremes of directionality
# :label: prop-s1-18
#
# For every $\gamma > 0$ the score {eq}`eq-3-2` lies in $[-1, 1]$. It is 1 if and only if some row and no column
# exceeds its threshold, and $-1$ if and only if some column and no row does.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $\bar r, \bar c \ge 0$, so $|\bar r - \bar c| \le \max(\bar r, \bar c) \le \bar r + \bar c$. The second step is an
# equality if and only if one of the two is 0, and so is the first. A sum is 0 if and only if nothing exceeds, since a
# norm above its threshold $\mu + \gamma \sigma \ge 0$ is positive. Where both are 0 the score is 0 by definition.
# ```
# ````
#
# The printed proof rests on $|\bar c - \bar r| < \bar c < \bar c + \bar r$, which fails wherever rows outweigh
# columns twice over, or a sum is empty; as a strict inequality it would also exclude the two extremes.

# %%
show(
    directionality.directionality_lies_between_minus_one_and_one(seed=seed),
    directionality.extremes_of_directionality(seed=seed),
    directionality.inequality_between_the_sums(seed=seed),
)

# %% [markdown]
# ## What the sign says
#
# The theory of the paper predicts a few columns of disproportionately high norm. The extreme of this is one column
# that outgrows all others, and there the definition has the wrong sign.
#
# ````{prf:proposition} One dominant column (ours)
# :label: prop-one-column
#
# Let $M = g e_k\T$ with $n$ independent normal entries in $g$, so that all columns but one are 0. With $\gamma = 2$,
#
# $$
# d \approx \frac{a \sqrt n - 1}{a \sqrt n + 1}, \qquad a = 2 \varphi(t), \quad t = \sqrt{2 / \pi} + \gamma \sqrt{1 - 2 / \pi},
# $$ (eq-one-column)
#
# up to terms that vanish as $n \to \infty$ (in probability); $\varphi$ is the normal density. So $d \to 1$. Here $a$ is
# {glue:text}`a`, and the formula changes its sign at {glue:text}`n-positive` rows.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# One column norm is $L = \norm{g}$, the others are 0. Their mean is $L / n$ and their standard deviation
# $L \sqrt{n - 1} / n$, so the column exceeds if $\sqrt{n - 1} > \gamma$, and $\bar c = L$, with $L / \sqrt n \to 1$
# by the law of large numbers. Row $i$ has the norm $|g_i|$, with mean $\sqrt{2/\pi}$ and variance $1 - 2 / \pi$; mean
# and standard deviation of the sample tend to these, so
# $\bar r / n \to \E[|g_1|;\, |g_1| > t] = 2 \int_t^\infty x \varphi(x)\, dx = 2 \varphi(t) = a$. Divide numerator and
# denominator of $d$ by $\sqrt n$.
# ```
# ````
#
# The formula is a limit, and one matrix scatters around it. If $V$ is the variance of $\bar r / \sqrt n$ to first order,
# the error of the threshold included (`attngeo.chapters.two_scores.directionality.positive_share`), then
# $\Pr[d > 0] \approx \Phi\bigl((a \sqrt n - 1) / \sqrt V\bigr)$. At {glue:text}`n-positive` rows the sign of $d$ is a
# toss-up; at 256 rows it is positive in {glue:text}`positive-256` % of the matrices. This is a derivation to first
# order, checked by simulation, and no proof.
#
# Two things work together. The column raises its own threshold, and it spreads the norms of *all* rows, since every
# row has one large entry. Of the rows {glue:text}`share-over` % then exceed by chance, and there are many of them.
# The sums count norms in full, not what they have above the threshold.

# %% tags=["remove-cell"]
rows = directionality.RowsBehindOneColumn.at(GAMMA)
glue("a", rows.norms, ".3f")
glue("share-over", 100 * rows.share, ".1f")
glue("n-positive", directionality.first_positive_limit())
glue("positive-256", 100 * directionality.positive_share(256), ".0f")

# %%
figures.norms_and_thresholds(directionality.with_strong_column(n_strong, 100.0, generator), gamma)

# %%
show(directionality.sign_of_directionality(seed=seed))

# %%
factors = [2.0**k for k in range(10)]
found = []
for factor in factors:
    matrices = [directionality.with_strong_column(n_strong, factor, generator) for _ in range(6)]
    found.append(score_batch(torch.stack(matrices), gamma))
limit = directionality.one_column_limit(n_strong, gamma)
figures.one_strong_column(factors, found, limit, n_strong)

# %% [markdown]
# The excess over the threshold, as in the released code, stays negative here. The excess of logarithms tends to $-1$,
# but need not be negative on its way there. So the three variants do not differ in scale only. A negative $d$ by the
# definition says that the columns over their threshold weigh more than the rows that exceed theirs by chance; it
# takes several strong columns, not one.
#
# ## Random matrices
#
# Weights start at random, and a score of trained weights says something only where it leaves the range of random
# ones.
#
# ````{prf:proposition} Prop. S1.17 (3) of the paper: symmetry of random matrices, corrected
# :label: prop-s1-17-3
#
# Let the law of an $n \times n$ matrix $M$, almost surely not 0, stay the same when a row changes its sign and when
# rows and columns are permuted independently. Then $\E\, s = 1 / n$. This covers matrices of independent, identically
# distributed, symmetric entries, and products $\Wq \Wk\T$ of such matrices, summed over heads or not.
#
# For independent normal entries $(1 + s) / 2$ has the distribution
# Beta$\bigl(\tfrac{n (n + 1)}{4}, \tfrac{n (n - 1)}{4}\bigr)$, so that
# $\Var s = 2 (n^2 - 1) / \bigl(n^2 (n^2 + 2)\bigr)$ and $\Pr[s < 0] \to \Phi(-1 / \sqrt 2)$.
#
# For $M = U D V\T$ with $U$ and $V$ independent and uniform over the orthogonal matrices, and
# $c = \sum_i D_i^4 / (\sum_i D_i^2)^2$,
#
# $$
# \Var s = \frac{3 (n + 1) - 6 c}{n (n - 1) (n + 2)} - \frac{1}{n^2} \approx \frac{2}{n^2} .
# $$ (eq-s1-17-spread)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *Mean.* $\E\, s = \sum_{i, j} \E[m_{ij} m_{ji} / \norm{M}^2]$. For $i \ne j$ a change of the sign of row $i$ changes
# that of the numerator and nothing else, so the term is 0. The $n$ terms $i = j$ are $\E[m_{ii}^2 / \norm{M}^2]$. By
# the permutations $\E[m_{ij}^2 / \norm{M}^2]$ is the same for all $n^2$ entries, and these sum to 1, so each is
# $1 / n^2$. A product $\Wq \Wk\T$ inherits the sign change from a row of $\Wq$, and the permutations from the rows of
# $\Wq$ and of $\Wk$.
#
# *Normal entries.* In an orthonormal basis of the symmetric and one of the skew-symmetric matrices $M$ has
# independent normal coordinates, $n (n + 1) / 2$ and $n (n - 1) / 2$ of them. So
# $(1 + s) / 2 = \norm{M_s}^2 / \norm{M}^2$ is a ratio of $\chi^2$ variables with that distribution. Mean and variance
# of a Beta variable give the rest; for large $n$ it is normal with mean $1 / n$ and standard deviation $\sqrt 2 / n$,
# hence the limit of $\Pr[s < 0]$.
#
# *Given singular values.* $\tr(M M) = \sum_{i, j} D_i D_j Q_{ij} Q_{ji}$ with $Q = V\T U$ uniform. Sign changes of
# rows of $Q$ remove every mixed moment but $\E[Q_{ii}^4]$, $\E[Q_{ii}^2 Q_{jj}^2]$ and $\E[Q_{ij}^2 Q_{ji}^2]$. A row
# of $Q$ is uniform on the sphere, so $\E[Q_{11}^4] = 3 / (n (n + 2))$ and $\E[Q_{11}^2 Q_{21}^2] = 1 / (n (n + 2))$.
# From $\sum_j Q_{2j}^2 = 1$ follows $\E[Q_{11}^2 Q_{21}^2] + (n - 1) \E[Q_{11}^2 Q_{22}^2] = 1 / n$, so
# $\E[Q_{11}^2 Q_{22}^2] = (n + 1) / (n (n - 1) (n + 2))$, and $\E[Q_{12}^2 Q_{21}^2]$ is the same. With
# $S_2 = \sum_i D_i^2$ and $S_4 = \sum_i D_i^4$,
#
# $$
# \E[\tr(M M)^2] = \frac{3 S_4}{n (n + 2)} + \frac{(1 + 2)(S_2^2 - S_4)(n + 1)}{n (n - 1) (n + 2)}
# = \frac{3 (n + 1) S_2^2 - 6 S_4}{n (n - 1) (n + 2)} .
# $$
#
# Divide by $\norm{M}^4 = S_2^2$ and subtract $1 / n^2$.
# ```
# ````
#
# The printed rate is $8 / n$. The proof loses the halves of $M_s$ and $M_n$ (Eq. S133, a factor 4), on top of the
# factor 2 of the definition. It also says that $s$ vanishes from the positive side. Its mean does; one random matrix
# in four has $s < 0$.

# %%
show(
    symmetry.parts_without_their_halves(seed=seed),
    random_matrices.symmetry_of_random_matrices(draws=max(draws, 500), seed=seed),
    random_matrices.side_from_which_symmetry_vanishes(draws=max(draws, 500), seed=seed),
    symmetry_law.spread_of_symmetry(seed=seed),
)

# %%
samples = {size: sample_dense(size, draws, seed + size, gamma) for size in sorted(sizes)}
figures.symmetry_at_random(samples, sorted(sizes)[1])

# %% [markdown]
# ````{prf:proposition} Prop. S1.18 (3) of the paper: directionality of random matrices
# :label: prop-s1-18-3
#
# 1. If $M$ and $M\T$ have the same law, then $\E\, d = 0$.
# 2. Let $M$ have independent, identically distributed entries $m$ of mean 0, variance $v$ and finite fourth moment
#    with $\E\, m^4 > v^2$. Then $d \to 0$ in probability, and $\E\, |d| \to 0$, as $n \to \infty$. If
#    $\E\, m^4 = v^2$, then $d = 0$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *1.* Transposition exchanges $\bar r$ and $\bar c$, so $d(M\T) = -d(M)$, and $\E\, d(M) = \E\, d(M\T) = -\E\, d(M)$.
# The mean exists as $|d| \le 1$.
#
# *2.* If $\E\, m^4 = v^2$, then $m^2 = v$ almost surely, all norms are equal, and nothing exceeds. Otherwise take
# $v = 1$, let $\tau^2 = \Var m^2 > 0$, and write the row norms as $r_k^2 = n + \sqrt n\, \tau z_k$. The $z_k$ are
# independent and identically distributed for each $n$, with mean 0 and variance 1, and tend to a normal variable $z$
# in law. Since their second moments also converge (they are all 1), the $z_k^2$ are uniformly integrable, so that
# averages over the rows of $z_k$, $z_k^2$ and indicators of $z_k > t$ tend to $0$, $1$ and $\Pr[z > t]$ in
# probability.
#
# Put $y_k = (r_k - \sqrt n) \cdot 2 / \tau$. From $\sqrt{1 + u} - 1 = u / (1 + \sqrt{1 + u})$ one finds that $y_k$
# lies between 0 and $2 z_k$ and $|y_k - z_k| \le \min(|z_k|,\, z_k^2 \tau / \sqrt n)$. So the averages of $y_k$ and
# $y_k^2$ have the same limits: the mean of $|y_k - z_k|$ is at most $\tau / \sqrt n$ times the mean of $z_k^2$, and
# $|y_k^2 - z_k^2| \le 3 z_k^2 \min(1, |z_k| \tau / \sqrt n)$, whose mean vanishes by uniform integrability.
#
# Row $k$ exceeds if and only if $y_k$ exceeds the mean plus $\gamma$ standard deviations of $y_1, \dots, y_n$. These
# thresholds tend to $\gamma$, so the share of rows that exceed tends to $p = \Pr[z > \gamma] > 0$. Their norms are
# $\sqrt n + \tau y_k / 2$, and $\sum_k |y_k| = O(n)$ in probability, so $\bar r / n^{3/2} \to p$. The columns of $M$
# are the rows of $M\T$, which has the same law, so $\bar c / n^{3/2} \to p$ too. Both are limits in probability to a
# constant, so no statement on their joint law is needed: $d \to (p - p) / (p + p) = 0$. As $|d| \le 1$,
# $\E\, |d| \to 0$ as well.
# ```
# ````
#
# The proof in the paper compares the means of $\bar r$ and $\bar c$ and concludes that "their ratio, the
# directionality score of a random matrix, is zero" (after Eq. S145). A ratio of means is not the score of a matrix. It also takes $M$ and $M\T$ to have the same law because all entries have
# the same (Eq. S142). For independent entries that is so; in general equal laws of the entries are not enough, and $d$
# need not vanish.
#
# How far a single one is from 0 follows, for large $n$, from the
# variance of the two counts. The norms that exceed are judged against the mean and standard deviation of the same
# norms, which takes away part of their variance:
#
# $$
# \sqrt{\Var d} \approx \frac{1}{p} \sqrt{\frac{V}{2 n}}, \qquad V = p (1 - p) - \varphi(\gamma)^2 \Bigl(1 + \frac{\gamma^2}{2}\Bigr), \qquad
# p = \Pr[z > \gamma] .
# $$ (eq-s1-18-spread)
#
# ````{dropdown} Derivation
# To first order $\bar r$ is $\sqrt{n v}$ times the number of rows that exceed. With $t = \gamma$ shifted by the
# errors of mean and standard deviation, that number over $n$ is the average of
# $1[z_k > \gamma] - \varphi(\gamma) \bigl(z_k + \gamma (z_k^2 - 1) / 2\bigr)$. Its variance follows from
# $\operatorname{Cov}(1[z > \gamma], z) = \varphi(\gamma)$ and
# $\operatorname{Cov}(1[z > \gamma], z^2) = \gamma \varphi(\gamma)$, and is $V$. This average has no component along
# $z$, through which alone a row and a column, which share one entry, are correlated at order $1 / n$; so rows and
# columns count as independent, and $\Var d \approx 2 n V / (2 n p)^2$. With the excess $(z - \gamma)^+$ in place of
# the indicator the same steps give the spread of the released variant (`attngeo.forms.random_matrices.directionality_sd`). This is a
# derivation to first order, checked by simulation; it is not a proof.
# ````

# %%
show(
    random_matrices.directionality_of_random_matrices(draws=max(draws // 2, 100), seed=seed),
    random_matrices.one_random_matrix_has_a_direction(seed=seed),
    random_matrices.equal_marginals_are_not_enough(seed=seed),
)

# %%
figures.directionality_at_random(samples, sorted(sizes)[-1], gamma)

# %% [markdown]
# A head $\Wq \Wk\T$ has few dimensions, and its norms are not close to normal however many rows it has. For heads there
# is a theorem.
#
# ````{prf:theorem} Directionality of random heads (ours)
# :label: thm-heads
#
# Let $M = \Wq \Wk\T$, where $\Wq$ and $\Wk$ are $n \times k$ with independent standard normal entries; for the sum over
# $H$ heads, set side by side, $k = H d_h$.
#
# 1. Given the singular values of $M$, the sums $\bar r$ and $\bar c$ are independent and have the same law.
# 2. Let $k$ be fixed and $n \to \infty$. Then $\sqrt n\, d$ tends in law to a normal variable of mean 0 and variance
#    $V / (2 m^2)$. Here $\chi$ is a chi variable with $k$ degrees of freedom, of density $f$, mean $\mu$ and standard
#    deviation $\sigma$, $t = \mu + \gamma \sigma$, $m = \E[\chi;\, \chi > t]$, and
#
# $$
# V = \Var \psi(\chi), \qquad \psi(x) = x\, 1[x > t] - t f(t) \Bigl( x - \mu + \gamma\, \frac{(x - \mu)^2 - \sigma^2}{2 \sigma} \Bigr)
# - \frac m2\, \frac{x^2}{k} .
# $$ (eq-heads)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *1.* Let $O$ and $P$ be uniform orthogonal matrices, independent of each other and of $M$. As $O \Wq$ and $P \Wk$ have
# the laws of $\Wq$ and $\Wk$, $O M P\T$ has the law of $M$. With $M = U D V\T$ it is $(O U) D (P V)\T$, and given $M$ the
# matrices $O U$ and $P V$ are independent and uniform over the $n \times k$ matrices with orthonormal columns. So in law
# $U$ and $V$ are such matrices, independent of $D$. The row norms of $M$ are $r_i^2 = \sum_c D_c^2 U_{ic}^2$ and its
# column norms $c_j^2 = \sum_c D_c^2 V_{jc}^2$: given $D$, $\bar r$ is one function of $U$, and $\bar c$ is the same
# function of $V$.
#
# *2.* The score ignores the scale of $M$, so we may take $D^2 = n \Delta$ with a diagonal $\Delta$ of trace $k$. The
# squares of the singular values are the eigenvalues of $(\Wq\T \Wq)^{1/2}\, \Wk\T \Wk\, (\Wq\T \Wq)^{1/2}$, and
# $\Wq\T \Wq / n$ and $\Wk\T \Wk / n$ are $I + O(n^{-1/2})$ in probability, so $\Delta = I + O(n^{-1/2})$ too. By 1 we may
# also take $U = Q (Q\T Q)^{-1/2}$ with normal rows $q_i$ in $Q$, independent of $D$. Then with $S = Q\T Q / n$
#
# $$
# r_i^2 = q_i\T A\, q_i, \qquad A = S^{-1/2} \Delta S^{-1/2} = I + O(n^{-1/2}), \qquad
# \tr A - k = \tr(S^{-1} \Delta) - k = -\tr(S - I) + O(n^{-1}) ,
# $$
#
# since $S^{-1} = 2 I - S + O(n^{-1})$ and $\tr \Delta = k$. Write $|q|_A = (q\T A q)^{1/2}$, $P$ for the law of $q_1$ and
# $P_n$ for the empirical law. The functions $q \mapsto |q|_A 1[|q|_A > s]$, $|q|_A$ and $|q|_A^2$, for $A$ near $I$ and $s$
# near $t$, form a VC class, as they are given by polynomial inequalities of bounded degree, with an envelope of finite
# variance. So they form a Donsker class {cite}`vandervaart1998`, and as they depend on $(A, s)$ continuously in mean
# square, $P_n - P$ may be taken at $(I, t)$ instead of $(A, s)$ at the cost of $o(n^{-1/2})$.
#
# What is left are derivatives of $P$. By the rotations of $q$ a derivative at $A = I$ in a direction $B$ is a multiple of
# $\tr B$, found from $B = I$, a change of scale. For the threshold $s$ of the rows this gives
#
# $$
# s - t = (P_n - P)\, \ell + \frac{\tr A - k}{2 k}\, t + o(n^{-1/2}), \qquad
# \ell = |q| - \mu + \gamma\, \frac{(|q| - \mu)^2 - \sigma^2}{2 \sigma} .
# $$
#
# $P |q|_A 1[|q|_A > s]$ is $m$ at $(I, t)$ and has the derivatives $-t f(t)$ by $s$ and $(m + t^2 f(t)) / (2 k)$ times
# $\tr B$. The terms with $t^2 f(t)$ cancel, and $\tr(S - I) = (P_n - P) |q|^2$, so
#
# $$
# \frac{\bar r}{n} = m + (P_n - P) \bigl( |q| 1[|q| > t] - t f(t)\, \ell \bigr) + \frac{m}{2 k} (\tr A - k) + o(n^{-1/2})
# = m + (P_n - P)\, \psi(|q|) + o(n^{-1/2}) .
# $$
#
# The columns give the same with an independent sample, since $D$ is in neither first-order term. So
# $\sqrt n\, (\bar r / n - m)$ and $\sqrt n\, (\bar c / n - m)$ tend jointly to independent normal variables of variance
# $V$, and $\sqrt n\, d = \sqrt n\, (\bar r - \bar c) / (\bar r + \bar c)$ to a normal one of variance $2 V / (2 m)^2$.
# ```
# ````
#
# For a trained model this is the scatter that a head's $d$ has to leave before it says anything. With heads of width 64
# and 768 rows, as in BERT-base, the limit form gives a standard deviation of {glue:text}`head-spread`.

# %% tags=["remove-cell"]
glue("head-spread", heads.head_directionality_sd(768, 64), ".2f")

# %%
show(heads.directionality_of_heads(seed=seed))

# %% [markdown]
# ## What to expect of untrained weights
#
# Section 4.1 of the paper says that both scores of every layer are zero at initialisation. In the mean they are, up
# to $1 / d$ in symmetry. Single layers scatter: little in symmetry, by a few tenths in directionality.

# %%
show(random_matrices.scores_at_initialisation(seed=seed))

# %%
expected = random_matrices.closed_forms([64, 128, 256, 768, 1024, 4096], gamma)
table(
    expected,
    name="tab-expected-at-random",
    caption=f"Scores of random matrices, closed forms, $\\gamma = {gamma:g}$.",
    formats={"rows": "d"} | dict.fromkeys(expected.columns[1:3], ".2g") | dict.fromkeys(expected.columns[3:], ".2f"),
)

# %% [markdown]
# The median over the layers of a model scatters less. For $L$ independent normal scores of standard deviation $\sigma$
# its variance is near $1 / (4 L p^2)$, where $p = 1 / (\sigma \sqrt{2 \pi})$ is the density at the centre
# {cite}`vandervaart1998`; so its standard deviation is near $\sqrt{\pi / 2}\, \sigma / \sqrt L$ when $L$ is large.
#
# A head of width 64 is a matrix of low rank; its symmetry has the same mean and nearly the same spread, and its
# directionality scatters as {prf:ref}`thm-heads` says.
# `attngeo.forms.random_matrices.sample_forms` simulates any shape. The later chapters set every measured score beside its random
# value.
