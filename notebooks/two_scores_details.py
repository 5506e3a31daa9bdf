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
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import math
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import binom, chi, halfnorm
from torch import Tensor

from attngeo.chapters.two_scores.laws import (
    first_positive_limit,
    head_directionality_sd,
    influence,
    mean_square,
    outlying_norm,
    positive_share,
    sum_influence,
    symmetry_law,
    threshold,
    uneven_matrices,
)
from attngeo.display.page import glue, show
from attngeo.bilinear.random_matrices import directionality_sd, sample_dense, sample_forms, symmetry_mean, symmetry_sd
from attngeo.bilinear.scores import GAMMA, Scores, directionality_score, score, score_batch
from attngeo.claims.claim import Verdict, claim, compare, exact, monte_carlo

BOUND = 1.0  # of |Tr(MM)| over ||M||^2
LOST_HALVES = 4.0  # the sums of Eq. S133 over the norms that they are printed for
glue("n-positive", first_positive_limit())
glue("positive-256", 100 * positive_share(256), ".0f")


@cache
def normal_matrices(n: int, draws: int, seed: int) -> Float[Tensor, "draws n n"]:
    """Standard normal entries."""
    return torch.randn(draws, n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parts(m: Float[Tensor, "*draws n n"]) -> tuple[Float[Tensor, "*draws n n"], Float[Tensor, "*draws n n"]]:
    """Symmetric and skew-symmetric part (Eq. 16)."""
    return (m + m.mT) / 2, (m - m.mT) / 2


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
@claim("S1.16", "", "the squared norm splits into two shares", Verdict.HOLDS)
def squared_norm_splits(n=16, draws=50, seed=0):
    m = normal_matrices(n, draws, seed)
    s, k = parts(m)
    square = m.square().sum((1, 2))
    gap = (s.square() + k.square()).sum((1, 2)) / square - 1
    mixed = (s * k).sum((1, 2)) / square  # Tr(M_s M_n^T)
    yield exact("largest relative gap between the two sides", gap.abs().max())
    yield exact(r"largest $|\operatorname{Tr}(M_s M_n^\top)| / \|M\|^2$", mixed.abs().max())


show(squared_norm_splits(seed=seed))

# %% [markdown]
# ## Bounds on the trace
#
# The printed proof of the range of $s$ ({prf:ref}`prop-s1-17`) bounds $\tr(M M)$ by $\norm{M}^2 / 2$ (Eqs. S127, S129),
# half of what it can be, and this half cancels the 2 of the definition.


# %%
@claim(
    "S1.17",
    "Eqs. S127, S129",
    "bounds on the trace of the square",
    Verdict.MISPRINT,
    printed=r"""
    "$-\frac{1}{2} \|M\|_F^2 \leq \mathrm{Tr}(M M)$" and "$\mathrm{Tr}(M M) \leq \frac{1}{2} \|M\|_F^2$".""",
    place="Section S1.5, Eqs. S127 and S129",
    holds=r"$-\|M\|^2 \le \operatorname{Tr}(MM) \le \|M\|^2$, with equality for skew-symmetric and symmetric matrices.",
    remark="""Eq. S131 comes out right because this 1/2 meets the 2 of Def. 3.1 of the paper. The term that is bounded
    stands on the right-hand side of Eq. S126, not on the left.""",
    repeats="factor_of_the_symmetry_score",
)
def bounds_on_the_trace(n=8, draws=200, seed=0):
    m = normal_matrices(n, draws, seed)
    ratios = [float(torch.trace(x @ x) / x.square().sum()) for x in (*m, *parts(m[0]))]
    yield exact(r"largest $\operatorname{Tr}(MM) / \|M\|^2$", max(ratios), BOUND)
    yield exact(r"smallest $\operatorname{Tr}(MM) / \|M\|^2$", min(ratios), -BOUND)
    yield compare(
        r"largest $\operatorname{Tr}(MM) / \|M\|^2$, against the printed 1/2",
        max(ratios),
        ">",
        0.5,
        1e-6,
        paper="< 0.5",
    )


show(bounds_on_the_trace(seed=seed))

# %% [markdown]
# ## Where the printed rate comes from
#
# For the symmetry of random matrices the paper has $8 / n$ instead of $1 / n$ ({prf:ref}`prop-s1-17-3`). The proof loses the
# halves of $M_s$ and $M_n$ (Eq. S133, a factor 4), on top of the factor 2 of the definition. It also says that $s$ vanishes
# from the positive side; its mean does.


# %%
@claim(
    "S1.17",
    "Eq. S133",
    "norms of the two parts, entry by entry",
    Verdict.MISPRINT,
    printed=r"""
    "$\|M_s\|_F^2 = \sum_{i \neq j} (M_{ij} + M_{ji})^2$ $+ \sum_i (2 M_{ii})^2$", "$\|M_n\|_F^2 = \sum_{i \neq j}
    (M_{ij} - M_{ji})^2$".""",
    place="Section S1.5, Eq. S133",
    holds=r"Both right-hand sides carry a factor $\tfrac14$.",
    remark="The halves of Eq. 16 are lost here; this is where the $8/n$ of Eq. S137 comes from.",
)
def parts_without_their_halves(n=16, seed=0):
    (m,) = normal_matrices(n, 1, seed)
    symmetric, skew = parts(m)
    off = 1 - torch.eye(len(m), dtype=m.dtype)
    printed_s = ((m + m.T).square() * off).sum() + (2 * m.diagonal()).square().sum()
    printed_n = ((m - m.T).square() * off).sum()
    yield exact(r"printed sum over $\|M_s\|^2$", printed_s / symmetric.square().sum(), LOST_HALVES, paper="= 1")
    yield exact(r"printed sum over $\|M_n\|^2$", printed_n / skew.square().sum(), LOST_HALVES, paper="= 1")


show(parts_without_their_halves(seed=seed))

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


# %% tags=["remove-cell"]
def rotations() -> Float[Tensor, "nodes 2 2"]:
    """Rotations and reflections of the plane: polynomials of their entries, of degree 4, have the exact mean."""
    angles = torch.arange(8, dtype=torch.float64) * torch.pi / 4
    turns = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], 1).view(8, 2, 2)
    return torch.cat([turns, turns * torch.tensor([1.0, -1.0], dtype=torch.float64)])


# %%
@claim(
    "S1.17",
    "(3), spread",
    "how far the symmetry of a random matrix scatters",
    Verdict.HOLDS,
    remark="""S1.17 (3) says that $s$ tends to zero, and gives no spread. It follows from the mean and the variance, which
    both vanish. The variance is close to $2/n^2$ whatever the singular values are.""",
    ours=True,
)
def spread_of_symmetry(seed=0):
    some = torch.rand(2, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    for values in (some, some.new_tensor([1, 1]), some.new_tensor([1, 0])):
        s = score_batch(rotations() * values).symmetry  # V may be left out of U D V^T: s sees V^T U alone
        c = min(1.0, float((values**4).sum() / (values**2).sum() ** 2))
        given = f"over all rotations of two singular values, $c$ = {c:.2f}"
        yield exact(f"mean of $s$ {given}", s.mean(), symmetry_mean(2))
        yield exact(f"standard deviation of $s$ {given}", s.std(correction=0), symmetry_sd(2, c))
    for n in (3, 64):
        words = f"standard deviation of $s$ for normal entries, $n$ = {n}, against that of the Beta law"
        yield exact(words, symmetry_sd(n), symmetry_law(n).std())


show(spread_of_symmetry(seed=seed))

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
# The printed proof rests on $|\bar c - \bar r| < \bar c < \bar c + \bar r$ (Eq. S138), which fails wherever rows outweigh
# columns twice over, or a sum is empty. With $\max(\bar r, \bar c)$ in the middle, and $\le$, it holds.


# %%
@claim(
    "S1.18",
    "(1)",
    "the range of the directionality score",
    Verdict.HOLDS,
    remark="""The proposition names the score $d$ a symmetry score; Eqs. S139 and S140 show strict inequalities for $-d$,
    which exclude the values of point (2).""",
)
def directionality_lies_between_minus_one_and_one(seed=0):
    values = [directionality_score(m) for m in uneven_matrices(seed=seed)]
    yield exact("largest score", max(values), 1)
    yield exact("smallest score", min(values), -1)


show(directionality_lies_between_minus_one_and_one(seed=seed))


# %%
def end_reached(n_rows: int, n_columns: int) -> int:
    """1 and -1 where only rows, only columns exceed their threshold, and 0 otherwise."""
    return (n_rows > 0) - (n_columns > 0)


@claim("S1.18", "(2)", "when directionality is 1 or -1", Verdict.HOLDS)
def extremes_of_directionality(draws=300, seed=0):
    scores = [score(m) for m in uneven_matrices(draws=draws, seed=seed)]
    expected = [end_reached(int(x.n_rows_over), int(x.n_columns_over)) for x in scores]
    at_ends = [float(x.directionality) if abs(x.directionality) == 1 else 0.0 for x in scores]
    differ = sum(a != b for a, b in zip(expected, at_ends, strict=True))
    yield exact(f"matrices, of {draws}, where the two sides of the equivalence differ", differ, 0, 0)
    yield compare("matrices with $d = 1$", at_ends.count(1.0), ">")
    yield compare("matrices with $d = -1$", at_ends.count(-1.0), ">")


show(extremes_of_directionality(seed=seed))

# %% [markdown]
# ## One strong column, norm by norm
#
# Where one column dominates, many rows exceed their threshold by chance, and the sums count their norms in full, not what
# they have above the threshold.
#
# The formula of {prf:ref}`prop-one-column` is a limit, and one matrix scatters around it. If $V$ is the variance of
# $\bar r / \sqrt n$ to first order, the error of the threshold included
# (`attngeo.chapters.two_scores.laws.positive_share`), then
# $\Pr[d > 0] \approx \Phi\bigl((a \sqrt n - 1) / \sqrt V\bigr)$. At {glue:text}`n-positive` rows the sign of $d$ is a
# toss-up. At 256 rows it is positive in {glue:text}`positive-256` % of the matrices. This is a derivation to first
# order, checked by simulation, and no proof.
#
# ## Directionality of random matrices
#
# The proof in the paper of what {prf:ref}`prop-s1-18-3` proves compares the means of $\bar r$ and $\bar c$ and concludes
# that "their ratio, the directionality score of a random matrix, is zero" (after Eq. S145). A ratio of means is not the
# score of a matrix.


# %% tags=["remove-cell"]
@cache
def dense(n: int, draws: int, seed: int) -> Scores:
    """Scores of matrices of independent normal entries."""
    return sample_dense(n, draws, seed)


# %%
@claim(
    "S1.18",
    "Eqs. S144, S145",
    "from the means of both sums to their ratio",
    Verdict.MISPRINT,
    printed=r"""The mean of $\bar r - \bar c$ is 0, and "the expected value of $\bar r_M + \bar c_M$ is strictly positive,
    since both values are positive. Thus, their ratio, the directionality score of a random matrix, is zero." """,
    place="Section S1.6, proof of Proposition S1.18, after Eq. S145",
    holds=r"""$\mathbb{E}\, d = 0$, because $d(M^\top) = -d(M)$ and $M^\top$ has the law of $M$. That $d \to 0$ follows from
    the law of large numbers for the rows and for the columns.""",
    remark="""A ratio of means is no mean of ratios, and neither is the score of one matrix. The mean value theorem, which
    the proof names, does not enter.""",
)
def one_random_matrix_has_a_direction(n=128, draws=300, seed=0):
    d = dense(n, draws, seed).directionality
    typical = halfnorm.mean() * directionality_sd(n)  # mean magnitude of a normal variable
    yield monte_carlo("mean of $d$", d, 0)
    yield monte_carlo(r"mean of $\lvert d \rvert$, against 0", d.abs(), 0, "≠")
    yield monte_carlo(r"mean of $\lvert d \rvert$, against half its limit form", d.abs(), typical / 2, ">")
    yield monte_carlo(r"mean of $\lvert d \rvert$, against twice its limit form", d.abs(), typical * 2, "<")


show(one_random_matrix_has_a_direction(seed=seed))

# %% [markdown]
# It also takes $M$ and $M\T$ to have the same law because all entries have the same (Eq. S142). For independent entries that
# is so; in general equal laws of the entries are not enough, and $d$ need not vanish.


# %% tags=["remove-cell"]
def every_pattern_of_lengths(n: int, seed: int) -> tuple[Float[Tensor, "patterns n n"], Float[Tensor, " patterns"]]:
    """Matrices ``r_i e_ij``, signs e and every pattern of lengths r_i in {1, 10}, with the chance of each pattern.

    A length is 10 with probability 1/n, independently; norms of rows and columns do not depend on the signs.
    """
    signs = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).sign()
    long = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * n)
    return (1 + 9 * long)[:, :, None] * signs, (long / n + (1 - long) * (1 - 1 / n)).prod(1)


def chance_of_outlying_rows(n: int, gamma: float = GAMMA) -> float:
    """``Pr[0 < k < n / (1 + gamma^2)]``, k of n long rows: so few exceed mean plus gamma standard deviations."""
    return float(binom.cdf(math.ceil(n / (1 + gamma**2)) - 1, n, 1 / n) - binom.pmf(0, n, 1 / n))


# %%
@claim(
    "S1.18",
    "Eq. S142",
    "which random matrices have the law of their transpose",
    Verdict.ASSUMPTION,
    printed=r""""[A]ll entries are drawn from the same distribution. Hence, $\Pr[M_{ij} = x] = \Pr[M_{ji} = x]$ $\Rightarrow
    \Pr[M = X] = \Pr[M = X^T]$".""",
    place="Section S1.6, proof of Proposition S1.18, Eq. S142",
    holds=r"""It follows if the entries are also independent, or if $M$ and $M^\top$ have the same joint law. Equal laws of
    the single entries are not enough: with $M_{ij} = r_i \varepsilon_{ij}$, independent signs $\varepsilon_{ij}$, and lengths
    $r_i$ that are 10 with probability $\tfrac1n$ and else 1, all entries have one law with mean zero, yet $d$ is 1 or 0, and
    its mean tends to $1 - 1/e$.""",
    missing=("independent", "joint law"),
)
def equal_marginals_are_not_enough(n=9, seed=0):
    m, chances = every_pattern_of_lengths(n, seed)
    d, of_transpose = (score_batch(x).directionality for x in (m, m.mT))
    at_ten = torch.einsum("p,pij->ij", chances, (m.abs() == 10).double())
    yield exact("largest difference of $\\Pr[|M_{ij}| = 10]$ between two entries", at_ten.max() - at_ten.min())
    words = rf"$\mathbb{{E}}\, d$ of these matrices, by enumeration, $n$ = {n}"
    yield exact(words, chances @ d, chance_of_outlying_rows(n), paper="= 0")
    words = r"$\mathbb{E}\, d$ of the same law or its transpose, with probability ½ each"
    yield exact(words, chances @ (d + of_transpose) / 2)


show(equal_marginals_are_not_enough(seed=seed))

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
# the indicator the same steps give the spread of the released variant (`attngeo.bilinear.random_matrices.directionality_sd`). This is a
# derivation to first order, checked by simulation; it is not a proof.
# ````
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
# `attngeo.bilinear.random_matrices.sample_forms` simulates any shape.


# %% tags=["remove-cell"]
@cache
def random_heads(n: int, d_head: int, draws: int, seed: int) -> Float[Tensor, " draws"]:
    """Directionality of heads with factors of independent normal entries."""
    return sample_forms(1, n, d_head, draws, seed).directionality


def contaminated_sum(x: float, share: float, d_head: int, gamma: float = GAMMA) -> tuple[float, float]:
    """The sum over the threshold, per row, when a share of the rows has the norm x; and over the root mean square."""
    mean = (1 - share) * chi.mean(d_head) + share * x
    square = (1 - share) * d_head + share * x**2
    t = mean + gamma * math.sqrt(square - mean**2)
    total = (1 - share) * outlying_norm(t, d_head) + share * x * (x > t)
    return float(total), float(total / math.sqrt(square / d_head))


# %%
@claim("S1.18", "(3), heads", "the directionality of a random head", Verdict.HOLDS, ours=True)
def directionality_of_heads(n=1024, d_head=4, draws=2000, seed=0):
    d, at, step, gaps = random_heads(n, d_head, draws, seed), f"$d_h$ = {d_head}", 1e-6, []
    for x in np.array([0.1, 0.5, 0.9, 1.1, 2]) * threshold(d_head):
        ahead, behind = (np.array(contaminated_sum(x, share, d_head)) for share in (step, -step))
        expected = sum_influence(x, d_head), influence(x, d_head)
        gaps.append(np.abs((ahead - behind) / (2 * step) - expected).max())
    square = mean_square(lambda x, *_: x, d_head)
    yield exact(f"mean square of a chi variable by the integral that makes $V$, {at}", square, d_head, 1e-6)
    yield exact(f"largest difference of the influence of one norm from a slope of the sum, {at}", max(gaps), 0, 1e-6)
    yield monte_carlo(f"mean of $d$, {at}, $n$ = {n}", d, 0, paper="= 0")
    over = (d / head_directionality_sd(n, d_head)).square()
    yield monte_carlo(f"mean of $d^2$ over its limit form, {at}, $n$ = {n}", over, 1)
    return {"remark": of_a_head(768, 64)}


def of_a_head(width: int, d_head: int) -> str:
    """What follows for one head."""
    spread = head_directionality_sd(width, d_head)
    return rf"""The proof applies the proposition, that $d$ tends to zero, to products of two random matrices; the law of the
        norms and the spread are ours. For a head of width $d_h$ the norms of rows and columns tend to chi variables with
        $d_h$ degrees of freedom; at width {d_head} the limit form of the spread of $d$ is ${spread * width**0.5:.1f}\,
        n^{{-1/2}}$, {spread:.2f} at {width} rows."""


show(directionality_of_heads(seed=seed))
