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
# Is the [query-key matrix](bilinear_form.py) of a model symmetric, and do its columns outweigh its rows? The paper
# {cite}`saponati2025` answers with two numbers: the *symmetry score* $s$ weighs the symmetric against the skew-symmetric
# part of a matrix, and the *directionality score* $d$, meant to be negative where columns dominate, its long rows against
# its long columns. Do they say what they are meant to say?
#
# Symmetry does, once a printed factor 2 is dropped. Directionality does not always: where one column outgrows all
# others, the extreme of what the paper's theory is about, it tends to {glue:text}`limit` in the matrices below, as if rows
# dominated.

# %% tags=["parameters"]
gamma: float = 2.0  # threshold of directionality in the figures, in standard deviations; in [0, 4]
n_strong: int = 768  # rows of the matrices with one strong column; in [128, 2048]
sizes: list[int] = [16, 64, 256]  # rows of the random matrices, three sizes or more; in [4, 2048]
draws: int = 400  # random matrices of each size; in [20, 10000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch

from attngeo.chapters.two_scores import directionality, figures, heads, random_matrices, symmetry
from attngeo.chapters.two_scores.build_a_matrix import build_a_matrix
from attngeo.chapters.two_scores.null_ruler import null_ruler
from attngeo.display.page import glue, show, table
from attngeo.forms.random_matrices import directionality_sd, sample_dense
from attngeo.forms.scores import GAMMA, score_batch

generator = torch.Generator().manual_seed(seed)

# %% tags=["hide-input"]
factors = [2.0**k for k in range(10)]
found = []
for factor in factors:
    matrices = [directionality.with_strong_column(n_strong, factor, generator) for _ in range(6)]
    found.append(score_batch(torch.stack(matrices), gamma))
limit = directionality.one_column_limit(n_strong, gamma)
figures.one_strong_column(factors, found, limit, n_strong)

# %% tags=["remove-cell"]
rows = directionality.RowsBehindOneColumn.at(GAMMA)
glue("limit", limit, "+.2f")
glue("a", rows.norms, ".3f")
glue("share-over", 100 * rows.share, ".1f")
glue("n-positive", directionality.first_positive_limit())
glue("spread-256", directionality_sd(256), ".2f")
glue("head-spread", heads.head_directionality_sd(768, 64), ".2f")

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
# The paper prints twice this number; its own bounds, and its printed tables, need the score without the 2.

# %%
show(symmetry.factor_of_the_symmetry_score(seed=seed))

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

# %%
show(
    symmetry.symmetry_lies_between_minus_one_and_one(seed=seed),
    symmetry.extremes_of_the_symmetry_score(seed=seed),
)

# %% [markdown]
# With the printed 2 both points fail: scores reach 2, and some matrices have the score 1 without being symmetric. The
# printed proof arrives at $[-1, 1]$ all the same, [by a second slip](two_scores_details.py#bounds-on-the-trace).
#
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
# The text gives no value of $\gamma$, on which the score depends; the released code, by an audit of it (not read here), has
# $\gamma = 2$, and so have we where nothing else is said. The score lies in $[-1, 1]$, and [it is 1 or
# $-1$](two_scores_details.py#range-and-extremes-of-directionality) where only rows, or only columns, exceed.

# %%
show(directionality.directionality_as_defined(seed=seed))

# %% [markdown]
# Three formulas of this kind are in use. Sums of *norms* are the definition. Sums of the *excess* of norms over the
# threshold, with the divisor $n - 1$ in the standard deviation, are what the released code computes. Sums of the excess of
# the *logarithms* of the norms are behind the printed Table S3 ([The printed scores](printed_scores.py)). The package has
# all three, by the names `definition`, `released` and `tables`. All ignore the scale of the matrix, the order of its rows
# and columns, and signs; all change their sign with transposition. None is a property of the bilinear form alone: a
# rotation of the basis leaves $s$ as it is and changes $d$.

# %% tags=["remove-input"]
build_a_matrix(generator, gamma)

# %% [markdown]
# ## What the sign says
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

# %%
show(directionality.sign_of_directionality(seed=seed))

# %% [markdown]
# The column raises its own threshold, and it spreads the norms of *all* rows, since every row has one large entry. Of the
# rows {glue:text}`share-over` % then exceed by chance, and [each counts with its whole
# norm](two_scores_details.py#one-strong-column-norm-by-norm). The excess over the threshold, as in the released code, stays
# negative here; the excess of logarithms tends to $-1$, but need not be negative on its way there. In
# matrices of a few hundred rows, a $d$ clearly below its range at random takes several strong columns by the definition;
# one makes it positive.
#
# ## Random matrices
#
# Weights start at random, and a score of trained weights says something only where it leaves the range of random ones.
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
# ```
# ````

# %%
show(
    random_matrices.symmetry_of_random_matrices(draws=max(draws, 500), seed=seed),
    random_matrices.side_from_which_symmetry_vanishes(draws=max(draws, 500), seed=seed),
)

# %% [markdown]
# The printed rate is $8 / n$; [the lost factors](two_scores_details.py#where-the-printed-rate-comes-from) explain it. One
# random matrix in four has $s < 0$, but none of a few hundred rows is far from 0. Directionality is different.
#
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

# %%
show(random_matrices.directionality_of_random_matrices(draws=max(draws // 2, 100), seed=seed))

# %% tags=["remove-input"]
samples = {size: sample_dense(size, draws, seed + size, gamma) for size in sorted(sizes)}
figures.directionality_at_random(samples, sorted(sizes)[-1], gamma)

# %% [markdown]
# It tends to 0 slowly. One random matrix of 256 rows has a $d$ that [scatters by](two_scores_details.py#the-spread-of-directionality)
# {glue:text}`spread-256`, and one head of width 64 with 768 rows, as in BERT-base, [by](two_scores_details.py#heads)
# {glue:text}`head-spread`. So where Section 4.1 of the paper says that both scores of every layer are zero at
# initialisation, that is true of their means, up to $1/n$ in symmetry, and not of a layer.

# %%
show(random_matrices.scores_at_initialisation(seed=seed))

# %% tags=["remove-input"]
expected = random_matrices.closed_forms([64, 128, 256, 768, 1024, 4096], gamma)
table(
    expected,
    name="tab-expected-at-random",
    caption=f"Scores of random matrices, closed forms, $\\gamma = {gamma:g}$.",
    formats={"rows": "d"} | dict.fromkeys(expected.columns[1:3], ".2g") | dict.fromkeys(expected.columns[3:], ".2f"),
)

# %% tags=["remove-input"]
null_ruler(gamma)

# %% [markdown]
# ## What it means for you
#
# - Trust $s$: in a matrix of a few hundred rows a value of a few hundredths is already far from chance.
# - Before you read a $d$, say which of the three formulas and which $\gamma$ it comes from, and set it beside its value at
#   random; `attngeo score` prints both.
# - In a matrix of a few hundred rows, a $d$ clearly below its range at random speaks of several strong columns. Whether one
#   column dominates is seen from the norms themselves.
