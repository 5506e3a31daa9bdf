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
# # Details: Two scores
#
# Slips of proofs, laws at random and further checks of the [chapter on the two scores](two_scores.py).

# %% tags=["parameters"]
gamma: float = 2.0  # threshold of directionality in the figures, in standard deviations; in [0, 4]
n_strong: int = 768  # rows of the matrix with one strong column; in [128, 2048]
sizes: list[int] = [16, 64, 256]  # rows of the random matrices, three sizes or more; in [4, 2048]
draws: int = 400  # random matrices of each size; in [20, 10000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch

from attngeo.chapters.two_scores import directionality, figures, heads, random_matrices, symmetry, symmetry_law
from attngeo.display.page import glue, show
from attngeo.forms.random_matrices import sample_dense

generator = torch.Generator().manual_seed(seed)
glue("n-positive", directionality.first_positive_limit())
glue("positive-256", 100 * directionality.positive_share(256), ".0f")

# %% [markdown]
# ## The two parts of a matrix
#
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
# ## Bounds on the trace
#
# The printed proof of the range of $s$ ({prf:ref}`prop-s1-17`) bounds $\tr(M M)$ by $\norm{M}^2 / 2$ (Eqs. S127, S129),
# half of what it can be, and this half cancels the 2 of the definition.

# %%
show(symmetry.bounds_on_the_trace(seed=seed))

# %% [markdown]
# ## Where the printed rate comes from
#
# For the symmetry of random matrices the paper has $8 / n$ instead of $1 / n$ ({prf:ref}`prop-s1-17-3`). The proof loses the
# halves of $M_s$ and $M_n$ (Eq. S133, a factor 4), on top of the factor 2 of the definition. It also says that $s$ vanishes
# from the positive side; its mean does.

# %%
show(symmetry.parts_without_their_halves(seed=seed))

# %% tags=["remove-input"]
samples = {size: sample_dense(size, draws, seed + size, gamma) for size in sorted(sizes)}
figures.symmetry_at_random(samples, sorted(sizes)[1])

# %% [markdown]
# ## The spread of symmetry
#
# ````{prf:proposition} Spread of symmetry for given singular values (ours)
# :label: prop-spread-of-symmetry
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
# $\tr(M M) = \sum_{i, j} D_i D_j Q_{ij} Q_{ji}$ with $Q = V\T U$ uniform. Sign changes of
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
# Divide by $\norm{M}^4 = S_2^2$ and subtract $1 / n^2$, the square of the mean ({prf:ref}`prop-s1-17-3`).
# ```
# ````

# %%
show(symmetry_law.spread_of_symmetry(seed=seed))

# %% [markdown]
# ## Range and extremes of directionality
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
# ## One strong column, norm by norm
#
# Where one column dominates, many rows exceed their threshold by chance, and the sums count their norms in full, not what
# they have above the threshold.

# %% tags=["remove-input"]
figures.norms_and_thresholds(directionality.with_strong_column(n_strong, 100.0, generator), gamma)

# %% [markdown]
# The formula of {prf:ref}`prop-one-column` is a limit, and one matrix scatters around it. If $V$ is the variance of
# $\bar r / \sqrt n$ to first order, the error of the threshold included
# (`attngeo.chapters.two_scores.directionality.positive_share`), then
# $\Pr[d > 0] \approx \Phi\bigl((a \sqrt n - 1) / \sqrt V\bigr)$. At {glue:text}`n-positive` rows the sign of $d$ is a
# toss-up; at 256 rows it is positive in {glue:text}`positive-256` % of the matrices. This is a derivation to first
# order, checked by simulation, and no proof.
#
# ## Directionality of random matrices
#
# The proof in the paper of what {prf:ref}`prop-s1-18-3` proves compares the means of $\bar r$ and $\bar c$ and concludes
# that "their ratio, the directionality score of a random matrix, is zero" (after Eq. S145). A ratio of means is not the
# score of a matrix. It also takes $M$ and $M\T$ to have the same law because all entries have the same (Eq. S142). For
# independent entries that is so; in general equal laws of the entries are not enough, and $d$ need not vanish.

# %%
show(
    random_matrices.one_random_matrix_has_a_direction(seed=seed),
    random_matrices.equal_marginals_are_not_enough(seed=seed),
)

# %% [markdown]
# ## The spread of directionality
#
# How far the score of a single matrix is from 0 follows, for large $n$, from the variance of the two counts. The norms that
# exceed are judged against the mean and standard deviation of the same norms, which takes away part of their variance:
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
#
# The median over the layers of a model scatters less. For $L$ independent normal scores of standard deviation $\sigma$
# its variance is near $1 / (4 L p^2)$, where $p = 1 / (\sigma \sqrt{2 \pi})$ is the density at the centre
# {cite}`vandervaart1998`; so its standard deviation is near $\sqrt{\pi / 2}\, \sigma / \sqrt L$ when $L$ is large.
#
# ## Heads
#
# A head $\Wq \Wk\T$ has few dimensions. Its symmetry has the same mean and nearly the same spread as that of a matrix of
# full rank; its norms are not close to normal however many rows it has. For the directionality of heads there is a
# theorem.
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
# For a trained model this is the scatter that a head's $d$ has to leave before it says anything.
# `attngeo.forms.random_matrices.sample_forms` simulates any shape.

# %%
show(heads.directionality_of_heads(seed=seed))
