# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: The two scores
#
# On this page, we collect the definitions, proofs and checks for two scores. The symmetry score is introduced on [page
# 1](bilinear_form.py), and the sign of the directionality score is the topic of [page 7](directionality.py). We also correct
# several misprints in the paper {cite}`saponati2025`. For example, the factor of 2 in the paper's definition of the symmetry
# score should be omitted, and the expected scores that the paper gives for random matrices are wrong.

# %% tags=["parameters"]
gamma: float = 2.0  # threshold of directionality in the figures, in standard deviations; in [0, 4]
n_strong: int = 768  # number of rows of the matrices with one strong column; in [128, 2048]
draws: int = 400  # number of random matrices of each size; in [20, 10000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import math
from functools import cache

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float
from scipy.stats import binom, chi, halfnorm, norm
from torch import Tensor

from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.random_matrices import directionality_sd, sample_dense, sample_forms, symmetry_mean, symmetry_sd
from attngeo.bilinear.scores import (
    GAMMA,
    Convention,
    Scores,
    directionality_of,
    directionality_score,
    score,
    score_batch,
    symmetry_score,
)
from attngeo.experiments.runs.numbers_in_words import as_score
from attngeo.plot.typeset import typeset
from chapters.two_scores import told
from chapters.two_scores.build_a_matrix import build_a_matrix
from chapters.two_scores.figures import FORMULAS, one_strong_column, scores_by_factor
from chapters.two_scores.laws import (
    first_positive_limit,
    head_directionality_sd,
    influence,
    mean_square,
    negative_symmetry_share,
    norms_with_strong_column,
    outlying_norm,
    positive_share,
    rows_behind_one_column,
    sum_influence,
    symmetry_law,
    threshold,
    uneven_matrices,
)
from chapters.two_scores.thresholds import COMPARED, one_column_by_threshold, one_column_scores
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from livingpaper.display.page import glue, show, table

BOUND = 1.0  # of |Tr(MM)| over ||M||^2
LOST_HALVES = 4.0  # the sums of Eq. S133 over the norms that they are printed for


@cache
def normal_matrices(n: int, draws: int, seed: int) -> Float[Tensor, "draws n n"]:
    """Standard normal entries."""
    return torch.randn(draws, n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parts(m: Float[Tensor, "*draws n n"]) -> tuple[Float[Tensor, "*draws n n"], Float[Tensor, "*draws n n"]]:
    """Symmetric and skew-symmetric part (Eq. 16)."""
    return (m + m.mT) / 2, (m - m.mT) / 2


glue("a", rows_behind_one_column()[1], ".3f")
glue("n-positive", first_positive_limit())
glue("positive-256", 100 * positive_share(256), ".0f")
glue("gamma", gamma, "g")
glue("layer-sd", directionality_sd(768, gamma), ".2f")
assert laws_of_shape(768, 768, 3.0)["directionality"].half_width > 0.95  # "almost any score"
glue("head-sd", head_directionality_sd(768, 64, gamma), ".2f")
for name, law in laws_of_shape(768, 768, gamma).items():
    for side, end in (("low", law.mean - law.half_width), ("high", law.mean + law.half_width)):
        within = max(-1.0, min(1.0, end))  # neither score leaves [-1, 1]
        glue(f"{name}-{side}", within, "+.2f" if name == "directionality" else "+.3f")

# %% [markdown]
# ## Both scores in a few lines of code
#
# A query-key matrix is symmetric if any two tokens give each other the same score. With a symmetric matrix, for example, the
# word *dog* in the sentence *the dog met my old cat* gives the word *cat* the same score as *cat* gives *dog*. Each column
# of the matrix corresponds to one coordinate of the token to which the score is given. Therefore, if a few columns have
# large norms, the corresponding coordinates dominate the scores.


# %%
def symmetry(m):
    return float(torch.trace(m @ m) / m.square().sum())  # 1 if m = m.T, -1 if m = -m.T


def length_of_the_long(norms, gamma):
    threshold = norms.mean() + gamma * ((norms - norms.mean()) ** 2).mean().sqrt()
    return float(norms[norms > threshold].sum())


def directionality(m, gamma=2.0):
    rows, columns = m.square().sum(1).sqrt(), m.square().sum(0).sqrt()
    r, c = length_of_the_long(rows, gamma), length_of_the_long(columns, gamma)
    return (r - c) / (r + c) if r + c else 0.0  # negative if columns are the long ones


# %% [markdown]
# Both scores lie between $-1$ and 1.  A score is informative about training only if it lies outside the range of random
# matrices. For example, 95 % of random layers with the width of BERT base have symmetry scores between
# {glue:text}`symmetry-low` and {glue:text}`symmetry-high`. With $\gamma$ = {glue:text}`gamma`, 95 % of these layers have
# directionality scores between {glue:text}`directionality-low` and {glue:text}`directionality-high`.
# {numref}`tab-expected-at-random` lists the ranges for other widths.
#
# ## The printed factor of 2 in the symmetry score is wrong
#
# ````{prf:definition} Def. 3.1 of the paper: symmetry score, without the printed factor 2
# :label: def-3-1
#
# For a square matrix $M \ne 0$, let $M_s = (M + M\T) / 2$ be the symmetric part and $M_n = (M - M\T) / 2$ the skew-symmetric
# part. The *symmetry score* of $M$ is
#
# $$
# s = \frac{\norm{M_s}^2 - \norm{M_n}^2}{\norm{M}^2} = \frac{\tr(M M)}{\norm{M}^2},
# $$ (eq-3-1)
#
# where all norms are Frobenius norms. For $M = 0$ we set $s = 0$.
# ````
#
# The definition in the paper gives twice this value. However, the bounds and the tables in the paper are correct only
# without the factor of 2.  Without this factor, the score [lies between $-1$ and 1](#range-and-extremes-of-symmetry). It is
# 1 if and only if $M\T = M$, and it is $-1$ if and only if $M\T = -M$.


# %%
@claim(
    "3.1",
    "",
    "the symmetry score contains a factor of 2",
    Verdict.MISPRINT,
    printed=r'"$s = 2 \frac{\|M_s\|_F^2 - \|M_n\|_F^2}{\|M\|_F^2}$".',
    place="Section 3, Definition 3.1, Eq. 15",
    holds=r"$s = (\|M_s\|^2 - \|M_n\|^2) / \|M\|^2 = \operatorname{Tr}(MM) / \|M\|^2$.",
    remark="Proposition S1.17 (1) and (2) and the printed tables are correct only without the factor of 2.",
)
def factor_of_the_symmetry_score(n=16, seed=0):
    m = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    symmetric, skew = (m + m.T) / 2, (m - m.T) / 2
    printed = [symmetry_score(part, Convention.PRINTED) for part in (symmetric, skew)]
    yield exact("score of a symmetric matrix, as printed", printed[0], 2, paper="= 1")  # Eq. S132
    yield exact("score of a skew-symmetric matrix, as printed", printed[1], -2, paper="= -1")
    yield exact("score of a symmetric matrix, corrected", symmetry(symmetric), 1)
    yield exact("score of a skew-symmetric matrix, corrected", symmetry(skew), -1)
    yield exact("corrected score of a random matrix minus `symmetry_score`", symmetry(m) - symmetry_score(m))


show(factor_of_the_symmetry_score(seed=seed))

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
# The norm is defined by the inner product $\langle A, B \rangle = \tr(A\T B)$. Let $A$ be symmetric and $B$ skew-symmetric.
# Then $\tr(A\T B) = \tr(A B)$, but also $\tr(A\T B) = \tr(B\T A) = -\tr(B A) = -\tr(A B)$. The inner product is therefore 0.
# The lemma follows from $M = M_s + M_n$.
# ```
# ````


# %%
@claim("S1.16", "", "the squared norm is the sum of the squared norms of both parts", Verdict.HOLDS)
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
# ## Range and extremes of symmetry
#
# ````{prf:proposition} Prop. S1.17 (1) and (2) of the paper: range and extremes of symmetry
# :label: prop-s1-17
#
# For $M \ne 0$, the score {eq}`eq-3-1` lies in $[-1, 1]$. It equals 1 if and only if $M = M\T$, and $-1$ if and only if
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
# with equality if and only if $M_n = 0$ in the first case, and if and only if $M_s = 0$ in the second case. The trace form
# of {eq}`eq-3-1` follows from $\norm{M \pm M\T}^2 = 2 \norm{M}^2 \pm 2 \tr(M M)$.
# ```
# ````


# %%
def distance_from_the_end(part: Float[Tensor, "n n"], m: Float[Tensor, "n n"]) -> Tensor:
    """``2 ||M_n||^2 / ||M||^2 = 1 - s``, and with M_s ``1 + s``."""
    return 2 * part.square().sum() / m.square().sum()


@claim(
    "S1.17",
    "(1), (2)",
    "the symmetry score lies between -1 and 1 and is 1 or -1 only for symmetric or skew-symmetric matrices",
    Verdict.MISPRINT,
    printed=r'''"The symmetry score $s$ is a scalar value bounded in the range $[-1, 1]$." "A symmetry score $s = \pm 1$ indicates a
    fully symmetric or skew-symmetric matrix, respectively."''',
    place="Section S1.5, Proposition S1.17 (1), (2)",
    holds=r"""Without the factor of 2 in Def. 3.1 of the paper, every matrix $M \ne 0$ has a score between $-1$ and 1. The score is 1 if
    and only if $M_n = 0$, and $-1$ if and only if $M_s = 0$. With the factor, the range is $[-2, 2]$.""",
    remark=r"""With the factor, every matrix with $\|M_s\|^2 = 3 \|M_n\|^2$ has the score 1. The proof is correct if both the factor
    and the bounds in Eqs. S127 and S129 are corrected.""",
    repeats="factor_of_the_symmetry_score",
)
def symmetry_lies_between_minus_one_and_one(n=8, draws=50, seed=0):
    pairs = [(x, *parts(x), symmetry_score(x)) for x in normal_matrices(n, draws, seed)]
    below = max(abs(1 - s - distance_from_the_end(skew, x)) for x, _, skew, s in pairs)
    above = max(abs(1 + s - distance_from_the_end(symmetric, x)) for x, symmetric, _, s in pairs)
    _, symmetric, skew, _ = pairs[0]
    mixed = 3**0.5 * symmetric / symmetric.norm() + skew / skew.norm()
    most, least, of_mixed = (symmetry_score(x, Convention.PRINTED) for x in (symmetric, skew, mixed))
    yield exact(r"largest $|1 - s - 2 \|M_n\|^2 / \|M\|^2|$", below)
    yield exact(r"largest $|1 + s - 2 \|M_s\|^2 / \|M\|^2|$", above)
    yield exact("score of a symmetric matrix with the factor 2 of Def. 3.1 of the paper", most, 2, paper="= 1")
    yield exact("score of a skew-symmetric matrix with the factor 2", least, -2, paper="= -1")
    yield exact(r"score with the factor 2 of a matrix with $\|M_s\|^2 = 3 \|M_n\|^2$", of_mixed, 1, paper="< 1")


show(symmetry_lies_between_minus_one_and_one(seed=seed))

# %% [markdown]
# With the printed factor of 2, both statements are false. Scores can be as large as 2, and some matrices have a score of 1
# although they are not symmetric. The authors nevertheless obtain the range from $-1$ to 1 in their proof, because they use
# $\norm{M}^2 / 2$ as a bound for $\tr(M M)$ (Eqs. S127 and S129). This bound is half as large as the correct bound, and this
# error cancels the factor of 2 in the definition.


# %%
@claim(
    "S1.17",
    "Eqs. S127, S129",
    "the trace of the square is at most half of the squared norm",
    Verdict.MISPRINT,
    printed=r"""
    "$-\frac{1}{2} \|M\|_F^2 \leq \mathrm{Tr}(M M)$" and "$\mathrm{Tr}(M M) \leq \frac{1}{2} \|M\|_F^2$".""",
    place="Section S1.5, Eqs. S127 and S129",
    holds=r"$-\|M\|^2 \le \operatorname{Tr}(MM) \le \|M\|^2$, with equality for skew-symmetric and symmetric matrices.",
    remark="""Eq. S131 is correct because this factor of 1/2 cancels the factor of 2 in Def. 3.1 of the paper. Moreover, the term that
    the paper bounds is on the right-hand side of Eq. S126, not on the left-hand side.""",
    repeats="factor_of_the_symmetry_score",
)
def bounds_on_the_trace(n=8, draws=200, seed=0):
    m = normal_matrices(n, draws, seed)
    ratios = [float(torch.trace(x @ x) / x.square().sum()) for x in (*m, *parts(m[0]))]
    yield exact(r"largest $\operatorname{Tr}(MM) / \|M\|^2$", max(ratios), BOUND)
    yield exact(r"smallest $\operatorname{Tr}(MM) / \|M\|^2$", min(ratios), -BOUND)
    words = r"largest $\operatorname{Tr}(MM) / \|M\|^2$, compared with the printed 1/2"
    yield compare(words, max(ratios), ">", 0.5, 1e-6, paper="< 0.5")


show(bounds_on_the_trace(seed=seed))

# %% [markdown]
# ## Symmetry of random matrices
#
# ````{prf:proposition} Prop. S1.17 (3) of the paper: symmetry of random matrices, corrected
# :label: prop-s1-17-3
#
# Let $M$ be a random $n \times n$ matrix that is almost surely not 0.  Suppose that the distribution of $M$ is invariant
# under a change of the sign of any row and under independent permutations of the rows and the columns. Then $\E\, s = 1 /
# n$. Examples are matrices with independent, identically distributed, symmetric entries, and products $\Wq \Wk\T$ of such
# matrices, with or without a sum over heads.
#
# If the entries are independent and normal, $(1 + s) / 2$ has the distribution
# Beta$\bigl(\tfrac{n (n + 1)}{4}, \tfrac{n (n - 1)}{4}\bigr)$. Hence $\Var s = 2 (n^2 - 1) / \bigl(n^2 (n^2 + 2)\bigr)$ and
# $\Pr[s < 0] \to \Phi(-1 / \sqrt 2)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *Mean.* By definition, $\E\, s = \sum_{i, j} \E[m_{ij} m_{ji} / \norm{M}^2]$. For $i \ne j$, changing the sign of row $i$
# reverses the sign of $m_{ij} m_{ji}$ and leaves $\norm{M}$ unchanged, so the corresponding term of the sum is zero.  The
# $n$ terms with $i = j$ are $\E[m_{ii}^2 / \norm{M}^2]$. Because rows and columns can be permuted, $\E[m_{ij}^2 /
# \norm{M}^2]$ is the same for all $n^2$ entries. These $n^2$ values sum to 1, so each of them is $1 / n^2$. A product $\Wq
# \Wk\T$ inherits the invariance under sign changes from the rows of $\Wq$, and the invariance under permutations from the
# rows of $\Wq$ and $\Wk$.
#
# *Normal entries.* Choose an orthonormal basis of the symmetric matrices and an orthonormal basis of the skew-symmetric
# matrices. In these bases, $M_s$ has $n (n + 1) / 2$ coordinates and $M_n$ has $n (n - 1) / 2$ coordinates, and all
# coordinates are independent and normal. Therefore, $(1 + s) / 2 = \norm{M_s}^2 / \norm{M}^2$ is the ratio of a $\chi^2$
# variable to the sum of this variable and an independent $\chi^2$ variable, and has the stated Beta distribution. The
# variance of $s$ follows from the variance of a Beta variable. For large $n$, $s$ is approximately normal with mean $1 / n$
# and standard deviation $\sqrt 2 / n$, which gives the limit of $\Pr[s < 0]$.
# ```
# ````


# %%
@cache
def dense(n: int, draws: int, seed: int) -> Scores:
    """Scores of matrices of independent normal entries."""
    return sample_dense(n, draws, seed)


@cache
def every_matrix(*shape: int) -> Tensor:
    """All matrices of a shape with entries -2, -1, 1, 2."""
    values = torch.tensor([-2.0, -1.0, 1.0, 2.0], dtype=torch.float64)
    return torch.cartesian_prod(*[values] * math.prod(shape)).view(-1, *shape)


@claim(
    "S1.17",
    "(3), Eq. S137",
    "the symmetry score of random matrices tends to zero as 8/n",
    Verdict.MISPRINT,
    printed=r"""The score of a random matrix "with zero mean and finite variance tends to zero as $8/n$ in the limit $n
    \rightarrow \infty$"; "[T]he symmetry score is zero in the limit $n \rightarrow \infty$ with convergence from the positive
    side." """,
    place="Section S1.5, Proposition S1.17 (3), and after Eq. S137",
    holds=r"""For independent symmetric entries and for products of such matrices, the mean is exactly $\mathbb{E}\, s = 1 / n$, or $2 / n$
    with the factor of 2 in Def. 3.1 of the paper. The mean becomes $8 / n$ if the factors of 1/2 are omitted as in Eq. S133. The standard
    deviation $\sqrt{2}/n$ is larger than the mean, so that $\Pr[s < 0] \to \Phi(-1/\sqrt{2}) \approx 0.24$.""",
    repeats="parts_without_their_halves",
)
def symmetry_of_random_matrices(n=32, draws=1000, seed=0):
    s, limit, large = dense(n, draws, seed).symmetry, norm.cdf(-(2**-0.5)), 4096
    yield monte_carlo("mean of $n s$, normal entries", n * s, n * symmetry_mean(n))
    mean = score_batch(every_matrix(3, 3)).symmetry.mean()
    yield exact("mean of $s$ over all matrices of 3 rows with entries -2, -1, 1, 2", mean, symmetry_mean(3))
    wq, wk = every_matrix(2, 3, 1).unbind(1)
    mean = score_batch(wq @ wk.mT).symmetry.mean()
    yield exact(r"mean of $s$ over all $W_q W_k^\top$ of 3 rows and rank 1 with such factors", mean, symmetry_mean(3))
    yield monte_carlo("mean of $n s$, normal entries, compared with the printed rate", n * s, 8, "≠")
    yield monte_carlo(
        "mean of $n s$ with the factor 2 of Def. 3.1 of the paper, compared with the printed rate", 2 * n * s, 8, "≠"
    )
    negative, share = (s < 0).double(), negative_symmetry_share(large)
    yield monte_carlo(f"share of matrices with $s < 0$, $n$ = {n}", negative, negative_symmetry_share(n), paper="= 0")
    yield compare(f"exact share of matrices with $s < 0$, $n$ = {large}", share, "=", limit, 1e-4, paper="= 0")


show(symmetry_of_random_matrices(draws=max(draws, 500), seed=seed))

# %% [markdown]
# The paper states a mean of $8 / n$ instead of $1 / n$. This value includes the factor of 2 in the definition. It also
# includes a factor of 4, because the authors omit the factors of 1/2 in $M_s$ and $M_n$ (Eq. S133). The paper also states
# that $s$ approaches 0 from the positive side. This is true for the mean of $s$, but about a quarter of all large random
# matrices have a negative $s$.


# %%
@claim(
    "S1.17",
    "Eq. S133",
    "the squared norms of both parts are sums over squared sums and differences of entries",
    Verdict.MISPRINT,
    printed=r"""
    "$\|M_s\|_F^2 = \sum_{i \neq j} (M_{ij} + M_{ji})^2$ $+ \sum_i (2 M_{ii})^2$", "$\|M_n\|_F^2 = \sum_{i \neq j}
    (M_{ij} - M_{ji})^2$".""",
    place="Section S1.5, Eq. S133",
    holds=r"Both right-hand sides must be multiplied by $\tfrac14$.",
    remark="The equation omits the factors of 1/2 in Eq. 16, which leads to the $8/n$ in Eq. S137.",
)
def parts_without_their_halves(n=16, seed=0):
    (m,) = normal_matrices(n, 1, seed)
    symmetric, skew = parts(m)
    off = 1 - torch.eye(len(m), dtype=m.dtype)
    printed_s = ((m + m.T).square() * off).sum() + (2 * m.diagonal()).square().sum()
    printed_n = ((m - m.T).square() * off).sum()
    yield exact(r"printed sum, divided by $\|M_s\|^2$", printed_s / symmetric.square().sum(), LOST_HALVES, paper="= 1")
    yield exact(r"printed sum, divided by $\|M_n\|^2$", printed_n / skew.square().sum(), LOST_HALVES, paper="= 1")


show(parts_without_their_halves(seed=seed))

# %% [markdown]
# ## The standard deviation of symmetry
#
# ````{prf:proposition} Variance of symmetry for given singular values (ours)
# :label: prop-spread-of-symmetry
#
# Let $M = U D V\T$, where $U$ and $V$ are independent and uniformly distributed over the orthogonal matrices and $D$ is the
# diagonal matrix of the singular values. Let $c = \sum_i D_i^4 / (\sum_i D_i^2)^2$. Then
#
# $$
# \Var s = \frac{3 (n + 1) - 6 c}{n (n - 1) (n + 2)} - \frac{1}{n^2} \approx \frac{2}{n^2} .
# $$ (eq-s1-17-spread)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# We have $\tr(M M) = \sum_{i, j} D_i D_j Q_{ij} Q_{ji}$, where $Q = V\T U$ is uniformly distributed over the orthogonal
# matrices. Because the sign of each row of $Q$ can be changed, the only moments that contribute to $\E[\tr(M M)^2]$ are
# $\E[Q_{ii}^4]$, $\E[Q_{ii}^2 Q_{jj}^2]$ and $\E[Q_{ij}^2 Q_{ji}^2]$. The rows and the columns of $Q$ are uniformly
# distributed on the sphere. Hence $\E[Q_{11}^4] = 3 / (n (n + 2))$ and $\E[Q_{11}^2 Q_{21}^2] = 1 / (n (n + 2))$. From
# $\sum_j Q_{2j}^2 = 1$, it follows that $\E[Q_{11}^2 Q_{21}^2] + (n - 1) \E[Q_{11}^2 Q_{22}^2] = 1 / n$. Therefore,
# $\E[Q_{11}^2 Q_{22}^2] = (n + 1) / (n (n - 1) (n + 2))$, and $\E[Q_{12}^2 Q_{21}^2]$ has the same value. Let
# $S_2 = \sum_i D_i^2$ and $S_4 = \sum_i D_i^4$. Then
#
# $$
# \E[\tr(M M)^2] = \frac{3 S_4}{n (n + 2)} + \frac{(1 + 2)(S_2^2 - S_4)(n + 1)}{n (n - 1) (n + 2)}
# = \frac{3 (n + 1) S_2^2 - 6 S_4}{n (n - 1) (n + 2)} .
# $$
#
# Dividing by $\norm{M}^4 = S_2^2$ and subtracting the square of the mean, which is $1 / n^2$ by {prf:ref}`prop-s1-17-3`,
# gives the variance.
# ```
# ````


# %%
def rotations() -> Float[Tensor, "nodes 2 2"]:
    """Rotations and reflections of the plane: polynomials of their entries, of degree 4, have the exact mean."""
    angles = torch.arange(8, dtype=torch.float64) * torch.pi / 4
    turns = torch.stack([angles.cos(), -angles.sin(), angles.sin(), angles.cos()], 1).view(8, 2, 2)
    return torch.cat([turns, turns * torch.tensor([1.0, -1.0], dtype=torch.float64)])


@claim(
    "S1.17",
    "(3), spread",
    "the standard deviation of the symmetry score of random matrices is about the square root of 2, divided by n",
    Verdict.HOLDS,
    remark="""S1.17 (3) states that $s$ tends to zero, but does not give the variance of $s$. Because the mean and the variance both tend
    to zero, $s$ also tends to zero. The variance is close to $2/n^2$ for any singular values.""",
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
        words = f"standard deviation of $s$ for normal entries, $n$ = {n}, compared with that of the Beta distribution"
        yield exact(words, symmetry_sd(n), symmetry_law(n).std())


show(spread_of_symmetry(seed=seed))

# %% [markdown]
# ## The directionality score depends on the basis
#
# ````{prf:definition} Def. 3.2 of the paper: directionality score
# :label: def-3-2
#
# Let $r_k = \norm{m_{k, \cdot}}$ be the row norms of an $n \times n$ matrix, and let $\mu_r$ and $\sigma_r$ be their mean and
# their standard deviation (with divisor $n$). Let $c_k$, $\mu_c$ and $\sigma_c$ be the same quantities for the columns. For a
# threshold of $\gamma$ standard deviations, the *directionality score* is
#
# $$
# d = \frac{\bar r - \bar c}{\bar r + \bar c}, \qquad \bar r = \sum_{k :\, r_k > \mu_r + \gamma \sigma_r} r_k , \qquad
# \bar c = \sum_{k :\, c_k > \mu_c + \gamma \sigma_c} c_k ,
# $$ (eq-3-2)
#
# and $d = 0$ if no row and no column exceeds its threshold. The paper interprets negative values as dominance of columns.
# ````
#
# The paper gives no value of $\gamma$, although the score depends on $\gamma$. Unless stated otherwise, we use $\gamma = 2$.
# According to [a second-hand report](../notation.md#the-audit) on the authors' code, the authors use the same value. The
# score lies between $-1$ and 1. It equals [1 if only rows exceed their threshold, and $-1$ if only columns
# do](#range-and-extremes-of-directionality).


# %%
def released_directionality(m: Float[Tensor, "n n"], gamma: float) -> float:
    """``(r - c) / (r + c)`` of the authors' code: r, c add up the excesses over mean + gamma sd, squares over n - 1."""
    norms = torch.stack([m.square().sum(1).sqrt(), m.square().sum(0).sqrt()])
    mean = norms.mean(1, keepdim=True)
    sd = ((norms - mean).square().sum(1, keepdim=True) / (len(m) - 1)).sqrt()
    r, c = (norms - mean - gamma * sd).clamp_min(0).sum(1).tolist()
    return (r - c) / (r + c) if r + c else 0.0


@claim(
    "3.2",
    "",
    "the directionality score depends on a threshold",
    Verdict.ASSUMPTION,
    printed=r'"$\gamma$ is a scaling factor"; no value is given.',
    place="Section 3, Definition 3.2, Eqs. 18 and 19",
    missing=(r"$\gamma =$",),
)
def directionality_as_defined(n=48, draws=40, seed=0):
    matrices = uneven_matrices(n, draws, seed)
    worst = max(abs(directionality_score(m, g) - directionality(m, g)) for m in matrices for g in (1.0, 2.0, 3.0))
    gaps = [directionality_score(m, 2.0, "released") - released_directionality(m, 2.0) for m in matrices]
    moved = max(abs(directionality_score(m, 1.0) - directionality_score(m, 2.0)) for m in matrices)
    yield exact("largest difference between `directionality_score` and the definition, for γ = 1, 2 and 3", worst)
    released = "largest difference between the variant of the authors' code, with divisor $n - 1$, and its formula"
    yield exact(released, max(map(abs, gaps)))
    zero = directionality_score(torch.zeros(4, 4))
    yield exact("score of the zero matrix, whose norms do not exceed the threshold", zero)
    yield compare(r"largest change of a score from $\gamma = 1$ to $\gamma = 2$", moved, ">", 0.1)
    where = "as the paper states in the proof of Proposition S1.18"
    otherwise = f"If no row and no column exceeds its threshold, $d = 0$, {where}"
    return {"holds": rf"The authors' code uses $\gamma = {GAMMA:g}$. {otherwise}."}


show(directionality_as_defined(seed=seed))

# %% [markdown]
# Three different formulas have been used for this score. According to the paper's definition, the *norms* of the rows and
# columns that exceed the threshold are summed. In the authors' code, the amounts by which these norms *exceed* the threshold
# are summed, and the standard deviation is computed with the divisor $n - 1$. The numbers in Table S3 follow from a formula
# that sums the amounts by which the *logarithms* of the norms exceed the threshold (see the page on the [printed
# scores](printed_scores_details.py)). In our package, these formulas are called `definition`, `released` and `tables`. The
# values of all three formulas depend on the basis in which the embeddings are expressed. If you rotate the basis in the
# following figure, the symmetry score does not change, whereas the directionality scores do.

# %% tags=["remove-input"]
build_a_matrix(torch.Generator().manual_seed(seed), gamma)

# %% [markdown]
# ## Range and extremes of directionality
#
# ````{prf:proposition} Prop. S1.18 (1) and (2) of the paper: range and extremes of directionality
# :label: prop-s1-18
#
# For every $\gamma > 0$, the score {eq}`eq-3-2` lies in $[-1, 1]$. It equals 1 if and only if at least one row but no column
# exceeds its threshold. It equals $-1$ if and only if at least one column but no row exceeds its threshold.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Since $\bar r, \bar c \ge 0$, we have $|\bar r - \bar c| \le \max(\bar r, \bar c) \le \bar r + \bar c$. In each of these
# inequalities, equality holds if and only if at least one of the two sums is 0.  Any norm above the threshold $\mu + \gamma
# \sigma \ge 0$ is positive, so a sum is 0 if and only if no norm exceeds the threshold. If both sums are 0, the score is 0
# by definition.
# ```
# ````
#
# The printed proof uses $|\bar c - \bar r| < \bar c < \bar c + \bar r$ (Eq. S138). This is wrong if $\bar r$ is at least
# twice as large as $\bar c$, or if one of the sums is empty. The proof becomes correct if we replace the middle term by
# $\max(\bar r, \bar c)$ and if we also replace $<$ by $\le$.


# %%
@claim(
    "S1.18",
    "(1)",
    "the directionality score lies between -1 and 1",
    Verdict.HOLDS,
    remark="""In the proposition, the score $d$ is called a symmetry score. The inequalities for $-d$ in Eqs. S139 and S140 are strict, so
    they exclude the values $-1$ and 1 that point (2) considers.""",
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


@claim(
    "S1.18",
    "(2)",
    "the directionality score is 1 or -1 if only rows or only columns exceed their threshold",
    Verdict.HOLDS,
)
def extremes_of_directionality(draws=300, seed=0):
    scores = [score(m) for m in uneven_matrices(draws=draws, seed=seed)]
    expected = [end_reached(int(x.n_rows_over), int(x.n_columns_over)) for x in scores]
    at_ends = [float(x.directionality) if abs(x.directionality) == 1 else 0.0 for x in scores]
    differ = sum(a != b for a, b in zip(expected, at_ends, strict=True))
    yield exact(f"number of matrices (of {draws}) for which the two sides of the equivalence differ", differ, 0, 0)
    yield compare("number of matrices with $d = 1$", at_ends.count(1.0), ">")
    yield compare("number of matrices with $d = -1$", at_ends.count(-1.0), ">")


show(extremes_of_directionality(seed=seed))

# %% [markdown]
# ## One strong column, norm by norm
#
# If one column of a random matrix is multiplied by an increasing factor, the score should decrease towards $-1$. Instead,
# the score can become positive ({numref}`fig-one-column-by-threshold`). We explain this behaviour and check our explanation
# on [page 7](directionality.py#why-one-long-column-can-look-like-many-long-rows).

# %% tags=["remove-input"]
scores = one_column_scores(n_strong, gamma, seed)
one_column_by_threshold(scores, n_strong, gamma)

# %% tags=["remove-cell"]
glue("one-column", typeset(told.one_column(scores[gamma].mean(1).tolist(), n_strong, gamma)))

# %% [markdown]
# {glue:md}`one-column:myst` {numref}`tab-first-wrong` lists, for several thresholds, the smallest number of rows for which a
# matrix with one column of very large norm has a positive score.

# %% tags=["remove-input"]
table(
    pd.DataFrame({"γ": f"{g:g}", "rows": f"{first_positive_limit(g):,}"} for g in sorted({*COMPARED, 1.5, 2.5, gamma})),
    name="tab-first-wrong",
    caption="Smallest number of rows for which a matrix with one column of very large norm has a positive score, for several"
    " thresholds, according to the limit for large matrices.",
)

# %% [markdown]
# {numref}`fig-one-strong-column` shows the scores of a matrix with one growing column according to the three formulas.

# %% tags=["remove-input"]
frame = scores_by_factor(n_strong, gamma, seed)
one_strong_column(frame, n_strong, gamma)


# %% tags=["remove-cell"]
def at_a_factor_of_2(definition: float, released: float, tables: float) -> str:
    """What the three formulas give where one column is twice as long as the others."""
    given = f"""If one column is multiplied by 2, the mean score is {as_score(definition)} with the paper's definition,
        {as_score(released)} with the formula that uses the excess of the norms, and {as_score(tables)} with the formula
        that uses the excess of the logarithms."""
    if definition > 0 and max(released, tables) < 0:
        return f"{given} Only the last two scores therefore have the sign that indicates a dominant column."
    if max(definition, released, tables) < 0:
        return f"{given} All three scores have the sign that indicates a dominant column."
    return given


at_two = frame[frame["factor"] == 2].groupby("formula")["directionality d"].mean()
glue("at-two", typeset(at_a_factor_of_2(*(at_two[words] for words in FORMULAS))))

# %% [markdown]
# {glue:md}`at-two:myst`
#
# ````{prf:proposition} One dominant column (ours)
# :label: prop-one-column
#
# Let $M = g e_k\T$, where $g$ has $n$ independent standard normal entries. All columns of $M$ except one are then 0.  For
# $\gamma = 2$,
#
# $$
# d \approx \frac{a \sqrt n - 1}{a \sqrt n + 1}, \qquad a = 2 \varphi(t), \quad t = \sqrt{2 / \pi} + \gamma \sqrt{1 - 2 / \pi},
# $$ (eq-one-column)
#
# up to terms that vanish in probability as $n \to \infty$, where $\varphi$ is the normal density. Therefore $d \to 1$. The
# value of $a$ is {glue:text}`a`, and the right-hand side is positive for {glue:text}`n-positive` rows or more.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# One column has norm $L = \norm{g}$, and all other columns have norm 0.  The column norms have mean $L / n$ and standard
# deviation $L \sqrt{n - 1} / n$. The norm $L$ therefore exceeds the threshold if $\sqrt{n - 1} > \gamma$. In this case,
# $\bar c = L$, and $L / \sqrt n \to 1$ by the law of large numbers. Row $i$ has norm $|g_i|$, which has mean $\sqrt{2/\pi}$
# and variance $1 - 2 / \pi$. The empirical mean and variance of the row norms tend to these values. Hence
# $\bar r / n \to \E[|g_1|;\, |g_1| > t] = 2 \int_t^\infty x \varphi(x)\, dx = 2 \varphi(t) = a$. Dividing the numerator and
# the denominator of $d$ by $\sqrt n$ gives the claim.
# ```
# ````
#
# The proposition describes the limit of large $n$. The scores of individual matrices vary around this limit. Let $V$ be the
# variance of $\bar r / \sqrt n$ to first order, including the effect of the estimated threshold. Then $\Pr[d > 0] \approx
# \Phi\bigl((a \sqrt n - 1) / \sqrt V\bigr)$, which we compute with the function `chapters.two_scores.laws.positive_share`.
# With {glue:text}`n-positive` rows, half of the matrices have a positive score. With 256 rows, this is the case for
# {glue:text}`positive-256` % of the matrices. We derived this formula to first order and checked it by simulation, but we
# have not proven it. For the following check, we use 768 rows and $\gamma = 2$.


# %%
@claim(
    "3.2",
    "(other formulas)",
    "the excess of the norms and the excess of the logarithms give negative scores for a very strong column",
    Verdict.HOLDS,
    ours=True,
)
def other_formulas(n=768, factor=1000.0, draws=16, seed=0):
    factors = {rf"a factor of {factor:g}": factor, r"a factor of $\sqrt n$": n**0.5}
    norms = norms_with_strong_column(n, list(factors.values()), draws, torch.Generator().manual_seed(seed))
    released, tables = (directionality_of(norms, GAMMA, c)[0] for c in (Convention.RELEASED, Convention.TABLES))
    strong, moderate = factors
    yield monte_carlo(f"mean $d$ from the excess of the norms, for {strong}", released[0], 0, "<")
    yield monte_carlo(f"mean $d$ from the excess of the logarithms, for {strong}", tables[0], -0.9, "<")
    yield monte_carlo(f"mean $d$ from the excess of the logarithms, for {moderate}", tables[1], 0, ">")
    return {
        "remark": rf"""With $n = {n}$, the score that is computed from the logarithms of the norms has the wrong sign if the norm of one column is about
        $\sqrt n$ times as large as the norms of the other columns."""
    }


show(other_formulas(seed=seed))

# %% tags=["remove-cell"]
glue("separated", typeset(told.separated(gamma)))
glue("at-other-thresholds", typeset(told.separated_at_other_thresholds()))

# %% [markdown]
# ## Encoders and decoders by three formulas
#
# {glue:md}`separated:myst` {glue:md}`at-other-thresholds:myst` {numref}`tab-separation-by-formula` compares the three formulas.

# %% tags=["remove-input"]
table(
    told.separation_table(gamma),
    name="tab-separation-by-formula",
    caption=f"Share of all pairs of an encoder family and a decoder family in which the encoder family has the higher directionality"
    f" score at $\\gamma = {gamma:g}$, with 95 % confidence intervals. If an interval includes 50 %, encoders and decoders do not differ"
    " significantly.",
)

# %% [markdown]
# ## Random matrices
#
# A score of trained weights is informative only if it lies outside the range of scores of random matrices.
#
# - The [symmetry score](#symmetry-of-random-matrices) has mean $1 / n$, not the printed $8 / n$. For normal entries, its
#   standard deviation is about $\sqrt 2 / n$. About one in four random matrices has a negative symmetry score, but for
#   matrices with a few hundred rows, the symmetry score is never far from 0.
# - The [directionality score](#directionality-of-random-matrices) has mean 0 and a [large standard
#   deviation](#the-standard-deviation-of-directionality). With $\gamma$ = {glue:text}`gamma`, this standard deviation is
#   {glue:text}`layer-sd` for a random layer of width 768 and {glue:text}`head-sd` for a [head](#heads) of width 64 in this
#   layer. The standard deviation increases with the threshold. At $\gamma = 3$, almost any score between $-1$ and 1 can occur
#   in a random layer of width 768, because very few rows and columns of such a layer exceed the threshold.
#
# Section 4.1 of the paper states that both scores of every layer are zero at initialisation. For the symmetry score, this is
# true to within about $1/n$. For the directionality score, the statement is true for the mean, but not for a single layer.
# For the following check, we use $\gamma = 2$.


# %%
@cache
def untrained_layers(d: int, n_heads: int, draws: int, seed: int) -> Scores:
    """Layers with normal weights, heads summed."""
    return sample_forms(n_heads, d, d // n_heads, draws, seed)


@claim(
    "Section 4.1",
    "(initialisation)",
    "the directionality score of a layer is zero at initialisation",
    Verdict.MISPRINT,
    printed='"At initialization, the symmetry and directionality score of the matrix $W_{qk}$ at any layer is zero".',
    place="Section 4.1",
    repeats="one_random_matrix_has_a_direction",
)
def scores_at_initialisation(d=256, n_heads=4, draws=150, seed=0):
    layers = untrained_layers(d, n_heads, draws, seed)
    s, direction = layers.symmetry, layers.directionality
    rate, scatter = d * symmetry_mean(d), float(direction.std())
    yield monte_carlo("mean symmetry of a layer, multiplied by $d$", d * s, rate, paper="")
    yield monte_carlo("variance of a layer's symmetry, multiplied by $d^2$", (d * s - rate).square(), 2, paper="")
    yield monte_carlo(rf"mean directionality of a layer, $\gamma = {GAMMA:g}$", direction, 0)
    magnitude = r"mean magnitude of directionality, compared with $1/\sqrt{d}$"
    yield monte_carlo(magnitude, direction.abs(), d**-0.5, ">", paper="= 0")
    holds = rf"""The mean of the directionality score is zero, and the score of a single layer has a standard deviation
        of about ${scatter * d**0.5:.1f}\, d^{{-1/2}}$. The mean of the symmetry score is zero to within $1/d$, and the
        score of a single layer has a standard deviation of about $\sqrt{{2}}/d$."""
    remark = f"""A directionality score with a magnitude below its standard deviation at initialisation is not informative about
        training. At width {d}, this standard deviation is about {scatter:.1f}."""
    return {"holds": holds, "remark": remark}


show(scores_at_initialisation(seed=seed))


# %% tags=["remove-cell"]
def bands(widths: list[int], n_heads: int, gamma: float) -> pd.DataFrame:
    """Half the width of the band that holds 95 % of random weights: of layers, and of one of some heads."""
    layers, heads = ([laws_of_shape(d, d // k, gamma) for d in widths] for k in (1, n_heads))
    columns = {
        "$s$, mean": [law["symmetry"].mean for law in layers],
        "$s$, ±": [law["symmetry"].half_width for law in layers],
        "$d$, ±": [min(1.0, law["directionality"].half_width) for law in layers],  # d does not leave [-1, 1]
        "$d$ of a head, ±": [min(1.0, law["directionality"].half_width) for law in heads],
    }
    return pd.DataFrame(columns, index=pd.Index(widths, name="width"))


# %% tags=["remove-input"]
table(
    bands([128, 256, 512, 768, 1024, 2048, 4096], 8, gamma),
    name="tab-expected-at-random",
    caption=f"The ranges that contain 95 % of the scores of untrained weights with $\\gamma = {gamma:g}$, by width, for a layer and for"
    " one of its 8 heads. A score in this range is not informative about training.",
    formats={"$s$, mean": ".2g", "$s$, ±": ".2g", "$d$, ±": ".2f", "$d$ of a head, ±": ".2f"},
    folded="Scores of untrained weights by width",
)

# %% [markdown]
# ## Directionality of random matrices
#
# ````{prf:proposition} Prop. S1.18 (3) of the paper: directionality of random matrices
# :label: prop-s1-18-3
#
# 1. If $M$ and $M\T$ have the same distribution, then $\E\, d = 0$.
# 2. Let the entries $m$ of $M$ be independent and identically distributed with mean 0, variance $v$ and finite fourth
#    moment. If $\E\, m^4 > v^2$, then $d \to 0$ in probability and $\E\, |d| \to 0$ as $n \to \infty$. If $\E\, m^4 = v^2$,
#    then $d = 0$ almost surely.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *1.* Transposition exchanges $\bar r$ and $\bar c$. Hence $d(M\T) = -d(M)$, and $\E\, d(M) = \E\, d(M\T) = -\E\, d(M)$. The
# mean exists because $|d| \le 1$.
#
# *2.* If $\E\, m^4 = v^2$, then $m^2 = v$ almost surely. All norms are then equal, so that no norm exceeds the threshold.
# Otherwise, we may assume $v = 1$. Let $\tau^2 = \Var m^2 > 0$, and write the row norms as $r_k^2 = n + \sqrt n\, \tau z_k$.
# For each $n$, the $z_k$ are independent and identically distributed with mean 0 and variance 1.  As $n \to \infty$, they
# converge in distribution to a normal variable $z$. Since their second moments are all 1 and therefore also converge, the
# $z_k^2$ are uniformly integrable. Hence, if we average $z_k$, $z_k^2$ and the indicator of $z_k > t$ over all rows, the
# three averages tend to $0$, $1$ and $\Pr[z > t]$ in probability.
#
# Let $y_k = (r_k - \sqrt n) \cdot 2 / \tau$. Using $\sqrt{1 + u} - 1 = u / (1 + \sqrt{1 + u})$, we find that $y_k$ lies
# between 0 and $2 z_k$ and that $|y_k - z_k| \le \min(|z_k|,\, z_k^2 \tau / \sqrt n)$. The mean of $|y_k - z_k|$ is
# therefore at most $\tau / \sqrt n$ times the mean of $z_k^2$. Moreover,
# $|y_k^2 - z_k^2| \le 3 z_k^2 \min(1, |z_k| \tau / \sqrt n)$, and the mean of this bound vanishes in the limit by uniform
# integrability. Hence, the averages of $y_k$ and $y_k^2$ have the same limits as the averages of $z_k$ and $z_k^2$.
#
# The norm of row $k$ exceeds the threshold if and only if $y_k$ exceeds the mean of $y_1, \dots, y_n$ by more than $\gamma$
# standard deviations. In terms of the $y_k$, this threshold tends to $\gamma$, so that the share of rows above the threshold
# tends to $p = \Pr[z > \gamma] > 0$. The norms of these rows are $\sqrt n + \tau y_k / 2$. Since $\sum_k |y_k| = O(n)$ in
# probability, $\bar r / n^{3/2} \to p$. The columns of $M$ are the rows of $M\T$, which has the same distribution as $M$.
# Hence, $\bar c / n^{3/2} \to p$ as well. Both ratios converge in probability to a constant, so that we need not know their
# joint distribution. It follows that $d \to (p - p) / (p + p) = 0$. Since $|d| \le 1$, we also have $\E\, |d| \to 0$.
# ```
# ````


# %%
@claim(
    "S1.18",
    "(3)",
    "the directionality score of random matrices tends to zero",
    Verdict.ASSUMPTION,
    printed=r"""
    "The directionality score of a random matrix $M \in \mathbb{M}_n$ with entries $M_{ij} \sim p(0, \sigma)$ from a
    probability distribution with zero mean and a variance that scales as $O(n^{-1})$ tends to zero in the limit $n
    \rightarrow \infty$." """,
    place="Section S1.6, Proposition S1.18 (3)",
    holds="The score tends to zero if the entries are independent and identically distributed. We prove this for entries with a finite fourth moment.",
    missing=("fourth moment",),
)
def directionality_of_random_matrices(n=256, draws=200, seed=0):
    small, large = (dense(k, draws, seed + k).directionality for k in (n // 4, n))
    signs = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).sign()
    spread = directionality_sd(n)
    yield monte_carlo(f"mean of $d$, $n$ = {n // 4}", small, 0)
    yield monte_carlo(f"mean of $d$, $n$ = {n}", large, 0)
    yield monte_carlo(f"mean of $d^2$, divided by its limiting form, $n$ = {n}", (large / spread).square(), 1)
    half = float(small.square().mean()) / 2
    yield monte_carlo(
        f"mean of $d^2$, $n$ = {n}, compared with half of its value for $n$ = {n // 4}", large.square(), half, "<"
    )
    yield exact(
        "$d$ of a matrix of random signs, whose rows and columns all have equal norms", directionality_score(signs)
    )
    slowly = rf"For $\gamma = {GAMMA:g}$, its standard deviation is ${spread * n**0.5:.1f}\, n^{{-1/2}}$"
    at = f"which is {spread:.2f} for {n} rows and {directionality_sd(768):.2f} for 768 rows"
    return {"remark": f"The score $d$ tends to 0 slowly. {slowly}, {at}."}


show(directionality_of_random_matrices(draws=max(draws // 2, 100), seed=seed))

# %% [markdown]
# In their proof, the authors compare the means of $\bar r$ and $\bar c$ and conclude that "their ratio, the directionality
# score of a random matrix, is zero" (after Eq. S145). However, a ratio of means is not the score of a matrix.


# %%
@claim(
    "S1.18",
    "Eqs. S144, S145",
    "the score of a random matrix is the ratio of two means",
    Verdict.MISPRINT,
    printed=r"""The mean of $\bar r - \bar c$ is 0, and "the expected value of $\bar r_M + \bar c_M$ is strictly positive,
    since both values are positive. Thus, their ratio, the directionality score of a random matrix, is zero." """,
    place="Section S1.6, in the proof of Proposition S1.18, after Eq. S145",
    holds=r"""$\mathbb{E}\, d = 0$, because $d(M^\top) = -d(M)$ and $M^\top$ has the distribution of $M$. The law of large numbers for the rows and for
    the columns implies that $d \to 0$.""",
    remark="""A ratio of means is not a mean of ratios, and neither of them is the score of a single matrix. The mean value
    theorem, which the proof mentions, is not used.""",
)
def one_random_matrix_has_a_direction(n=128, draws=300, seed=0):
    d = dense(n, draws, seed).directionality
    typical = halfnorm.mean() * directionality_sd(n)  # mean magnitude of a normal variable
    yield monte_carlo("mean of $d$", d, 0)
    yield monte_carlo(r"mean of $\lvert d \rvert$, compared with 0", d.abs(), 0, "≠")
    yield monte_carlo(r"mean of $\lvert d \rvert$, compared with half of its limiting form", d.abs(), typical / 2, ">")
    yield monte_carlo(r"mean of $\lvert d \rvert$, compared with twice its limiting form", d.abs(), typical * 2, "<")


show(one_random_matrix_has_a_direction(seed=seed))

# %% [markdown]
# The authors also conclude that $M$ and $M\T$ have the same distribution because all entries have the same distribution (Eq.
# S142). This is true for independent entries. In general, however, it is not sufficient that all entries have the same
# distribution, and the mean of $d$ need not vanish.


# %%
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


@claim(
    "S1.18",
    "Eq. S142",
    "a random matrix whose entries have the same distribution has the distribution of its transpose",
    Verdict.ASSUMPTION,
    printed=r""""[A]ll entries are drawn from the same distribution. Hence, $\Pr[M_{ij} = x] = \Pr[M_{ji} = x]$ $\Rightarrow
    \Pr[M = X] = \Pr[M = X^T]$".""",
    place="Section S1.6, in the proof of Proposition S1.18, Eq. S142",
    holds=r"""The conclusion follows if the entries are also independent, or if $M$ and $M^\top$ have the same joint distribution. It is not
    sufficient that all entries have the same distribution. As a counterexample, let $M_{ij} = r_i \varepsilon_{ij}$ with independent random signs
    $\varepsilon_{ij}$ and independent factors $r_i$, which are 10 with probability $\tfrac1n$ and 1 otherwise. All entries then have the
    same distribution with mean zero, but $d$ is 1 or 0, and its mean tends to $1 - 1/e$.""",
    missing=("independent", "joint distribution"),
)
def equal_marginals_are_not_enough(n=9, seed=0):
    m, chances = every_pattern_of_lengths(n, seed)
    d, of_transpose = (score_batch(x).directionality for x in (m, m.mT))
    at_ten = torch.einsum("p,pij->ij", chances, (m.abs() == 10).double())
    yield exact("largest difference of $\\Pr[|M_{ij}| = 10]$ between two entries", at_ten.max() - at_ten.min())
    words = rf"$\mathbb{{E}}\, d$ of these matrices, by enumeration, $n$ = {n}"
    yield exact(words, chances @ d, chance_of_outlying_rows(n), paper="= 0")
    words = r"$\mathbb{E}\, d$ if each of these matrices is transposed with probability ½"
    yield exact(words, chances @ (d + of_transpose) / 2)


show(equal_marginals_are_not_enough(seed=seed))

# %% [markdown]
# ## The standard deviation of directionality
#
# For large $n$, the standard deviation of the score follows from the variances of the numbers of rows and columns above the
# threshold. These variances are smaller than for a fixed threshold, because the threshold is computed from the same norms.
# To first order,
#
# $$
# \sqrt{\Var d} \approx \frac{1}{p} \sqrt{\frac{V}{2 n}}, \qquad V = p (1 - p) - \varphi(\gamma)^2 \Bigl(1 + \frac{\gamma^2}{2}\Bigr), \qquad
# p = \Pr[z > \gamma] .
# $$ (eq-s1-18-spread)
#
# ````{dropdown} Derivation
# To first order, $\bar r$ is $\sqrt{n v}$ times the number of rows above the threshold. The threshold $\gamma$ is shifted by
# the errors of the estimated mean and standard deviation. Up to a constant, the number of rows above the threshold, divided
# by $n$, is therefore the average of $1[z_k > \gamma] - \varphi(\gamma) \bigl(z_k + \gamma (z_k^2 - 1) / 2\bigr)$. The
# variance of each summand is $V$, because $\operatorname{Cov}(1[z > \gamma], z) = \varphi(\gamma)$ and
# $\operatorname{Cov}(1[z > \gamma], z^2) = \gamma \varphi(\gamma)$. The norms of a row and a column are correlated at order
# $1 / n$, because a row and a column share one entry. However, this correlation involves only the component along $z$. Since
# the average has no such component, we may treat rows and columns as independent, which gives $\Var d \approx 2 n V / (2 n
# p)^2$. If the indicator is replaced by the excess $(z - \gamma)^+$, the same steps give the standard deviation of the score
# in the authors' code, which we compute with the function `attngeo.bilinear.random_matrices.directionality_sd`. The
# derivation is correct to first order. We checked it by simulation, but it is not a proof.
# ````
#
# ## Heads
#
# A head $\Wq \Wk\T$ has low rank. The symmetry score of a random head has the same mean and nearly the same standard
# deviation as the symmetry score of a random matrix of full rank. However, the row norms of a head do not approach a normal
# distribution, no matter how many rows the head has. We prove the following theorem about the directionality score of
# heads.
#
# ````{prf:theorem} Directionality of random heads (ours)
# :label: thm-heads
#
# Let $M = \Wq \Wk\T$, where $\Wq$ and $\Wk$ are $n \times k$ matrices with independent standard normal entries. For the sum
# over $H$ heads of width $d_h$, the factors of the heads are placed side by side, so that $k = H d_h$.
#
# 1. Given the singular values of $M$, the sums $\bar r$ and $\bar c$ are independent and identically distributed.
# 2. Let $k$ be fixed and $n \to \infty$. Then $\sqrt n\, d$ converges in distribution to a normal variable with mean 0 and
#    variance $V / (2 m^2)$. Here, let $\chi$ be a chi variable with $k$ degrees of freedom, density $f$, mean $\mu$ and
#    standard deviation $\sigma$. Then $t = \mu + \gamma \sigma$, $m = \E[\chi;\, \chi > t]$, and
#
# $$
# V = \Var \psi(\chi), \qquad \psi(x) = x\, 1[x > t] - t f(t) \Bigl( x - \mu + \gamma\, \frac{(x - \mu)^2 - \sigma^2}{2 \sigma} \Bigr)
# - \frac m2\, \frac{x^2}{k} .
# $$ (eq-heads)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *1.* Let $O$ and $P$ be uniformly distributed orthogonal matrices that are independent of each other and of $M$. Since
# $O \Wq$ and $P \Wk$ have the same distributions as $\Wq$ and $\Wk$, the matrix $O M P\T$ has the same distribution as $M$.
# If $M = U D V\T$, then $O M P\T = (O U) D (P V)\T$. Given $M$, the matrices $O U$ and $P V$ are independent and uniformly
# distributed over the $n \times k$ matrices with orthonormal columns. We may therefore assume that $U$ and $V$ are such
# matrices, independent of $D$. The squared row norms of $M$ are $r_i^2 = \sum_c D_c^2 U_{ic}^2$, and the squared column
# norms are $c_j^2 = \sum_c D_c^2 V_{jc}^2$. Given $D$, the sum $\bar r$ is therefore a function of $U$, and $\bar c$ is the
# same function of $V$.
#
# *2.* The score does not depend on the scale of $M$. We may therefore assume that $D^2 = n \Delta$ with a diagonal matrix
# $\Delta$ of trace $k$. The squares of the singular values are the eigenvalues of
# $(\Wq\T \Wq)^{1/2}\, \Wk\T \Wk\, (\Wq\T \Wq)^{1/2}$. Since $\Wq\T \Wq / n$ and $\Wk\T \Wk / n$ are $I + O(n^{-1/2})$ in
# probability, so is $\Delta$. By part 1, we may also assume that $U = Q (Q\T Q)^{-1/2}$, where the rows $q_i$ of $Q$ are
# standard normal and independent of $D$. With $S = Q\T Q / n$, we have
#
# $$
# r_i^2 = q_i\T A\, q_i, \qquad A = S^{-1/2} \Delta S^{-1/2} = I + O(n^{-1/2}), \qquad
# \tr A - k = \tr(S^{-1} \Delta) - k = -\tr(S - I) + O(n^{-1}) ,
# $$
#
# since $S^{-1} = 2 I - S + O(n^{-1})$ and $\tr \Delta = k$. Let $|q|_A = (q\T A q)^{1/2}$, let $P$ be the distribution of
# $q_1$, and let $P_n$ be the empirical distribution of the rows of $Q$. For $A$ near $I$ and $s$ near $t$, consider the
# functions $q \mapsto |q|_A 1[|q|_A > s]$, $|q|_A$ and $|q|_A^2$. Because they are given by polynomial inequalities of
# bounded degree, they form a VC class. This class has an envelope of finite variance, so that it is a Donsker class
# {cite}`vandervaart1998`. Since the functions depend on $(A, s)$ continuously in mean square, we may evaluate $P_n - P$ at
# $(I, t)$ instead of $(A, s)$ with an error of $o(n^{-1/2})$.
#
# It remains to compute the derivatives of the expectations under $P$. Because the distribution of $q$ is invariant under
# rotations, the derivative at $A = I$ in a direction $B$ is a multiple of $\tr B$. The factor follows from the case $B = I$,
# which is a change of scale. For the threshold $s$ of the rows, this gives
#
# $$
# s - t = (P_n - P)\, \ell + \frac{\tr A - k}{2 k}\, t + o(n^{-1/2}), \qquad
# \ell = |q| - \mu + \gamma\, \frac{(|q| - \mu)^2 - \sigma^2}{2 \sigma} .
# $$
#
# At $(I, t)$, the expectation $P |q|_A 1[|q|_A > s]$ equals $m$. Its derivative with respect to $s$ is $-t f(t)$, and its
# derivative in the direction $B$ is $(m + t^2 f(t)) / (2 k)$ times $\tr B$. The terms with $t^2 f(t)$ cancel. Since
# $\tr(S - I) = (P_n - P) |q|^2$, it follows that
#
# $$
# \frac{\bar r}{n} = m + (P_n - P) \bigl( |q| 1[|q| > t] - t f(t)\, \ell \bigr) + \frac{m}{2 k} (\tr A - k) + o(n^{-1/2})
# = m + (P_n - P)\, \psi(|q|) + o(n^{-1/2}) .
# $$
#
# The same formula holds for the columns with an independent sample, because $D$ does not appear in the first-order terms.
# Hence, $\sqrt n\, (\bar r / n - m)$ and $\sqrt n\, (\bar c / n - m)$ converge jointly to independent normal variables with
# variance $V$. Therefore, $\sqrt n\, d = \sqrt n\, (\bar r - \bar c) / (\bar r + \bar c)$ converges to a normal variable
# with variance $2 V / (2 m)^2$.
# ```
# ````
#
# The directionality score of a head in a trained model is informative about training only if its magnitude is clearly larger
# than this standard deviation. To simulate heads of any shape, use `attngeo.bilinear.random_matrices.sample_forms`.


# %%
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


@claim(
    "S1.18",
    "(3), heads",
    "the directionality score of a random head has a known limiting distribution",
    Verdict.HOLDS,
    ours=True,
)
def directionality_of_heads(n=1024, d_head=4, draws=2000, seed=0):
    d, at, step, gaps = random_heads(n, d_head, draws, seed), f"$d_h$ = {d_head}", 1e-6, []
    for x in np.array([0.1, 0.5, 0.9, 1.1, 2]) * threshold(d_head):
        ahead, behind = (np.array(contaminated_sum(x, share, d_head)) for share in (step, -step))
        expected = sum_influence(x, d_head), influence(x, d_head)
        gaps.append(np.abs((ahead - behind) / (2 * step) - expected).max())
    square = mean_square(lambda x, *_: x, d_head)
    yield exact(f"mean square of a chi variable, computed with the integral for $V$, {at}", square, d_head, 1e-6)
    yield exact(
        f"largest difference between the influence of one norm and a numerical derivative of the sum, {at}",
        max(gaps),
        0,
        1e-6,
    )
    yield monte_carlo(f"mean of $d$, {at}, $n$ = {n}", d, 0, paper="= 0")
    over = (d / head_directionality_sd(n, d_head)).square()
    yield monte_carlo(f"mean of $d^2$, divided by its limiting form, {at}, $n$ = {n}", over, 1)
    return {"remark": of_a_head(768, 64)}


def of_a_head(width: int, d_head: int) -> str:
    """What follows for one head."""
    spread = head_directionality_sd(width, d_head)
    return rf"""The proposition states that $d$ tends to zero. In their proof, the authors apply it to products of two random matrices. We added the
        distribution of the norms and the standard deviation of $d$. For a head of width $d_h$, the norms of rows and columns tend to chi
        variables with $d_h$ degrees of freedom. At width {d_head}, the standard deviation of $d$ is approximately
        ${spread * width**0.5:.1f}\, n^{{-1/2}}$ for large $n$, which is {spread:.2f} for {width} rows."""


show(directionality_of_heads(seed=seed))
