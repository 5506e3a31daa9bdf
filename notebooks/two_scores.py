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
# # The directionality score can point the wrong way
#
# The paper {cite}`saponati2025` reads a query-key matrix by two numbers. The *symmetry score* $s$ says how symmetric it is. The
# *directionality score* $d$ says whether its rows or its columns are the long ones; below 0, columns dominate.
#
# **The symmetry score says what it should, once a printed factor 2 is dropped. The directionality score need not.** Where one
# of {glue:text}`n-strong` columns outgrows all others it ends at {glue:text}`limit`, as if rows dominated.

# %% tags=["parameters"]
gamma: float = 2.0  # threshold of directionality in the figures, in standard deviations; in [0, 4]
n_strong: int = 768  # rows of the matrices with one strong column; in [128, 2048]
draws: int = 400  # random matrices of each size; in [20, 10000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import math
from functools import cache

import pandas as pd
import seaborn as sns
import torch
from jaxtyping import Float
from scipy.stats import norm
from torch import Tensor

from attngeo.chapters.two_scores.build_a_matrix import build_a_matrix
from attngeo.chapters.two_scores.laws import (
    first_positive_limit,
    head_directionality_sd,
    negative_symmetry_share,
    one_column_limit,
    positive_share,
    rows_behind_one_column,
    uneven_matrices,
    with_strong_column,
)
from attngeo.display.page import glue, show, table
from attngeo.display.style import CROSS, DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.null_laws import laws_of_shape
from attngeo.bilinear.random_matrices import directionality_sd, sample_dense, sample_forms, symmetry_mean
from attngeo.bilinear.scores import (
    GAMMA,
    Convention,
    Scores,
    directionality_score,
    score_batch,
    score_heads,
    symmetry_score,
)
from attngeo.claims.claim import Verdict, claim, compare, exact, monte_carlo

FORMULAS = {  # field of `Scores`, in words
    "directionality": "sum of norms (Def. 3.2)",
    "directionality_released": "excess (released code)",
    "directionality_tables": "excess of logarithms (Table S3)",
}
PALETTE = dict(zip(FORMULAS.values(), (ENCODER, DECODER, CROSS), strict=True))
generator = torch.Generator().manual_seed(seed)


# %% tags=["remove-cell"]
def by_formula(scores: Scores, **more: float | int) -> pd.DataFrame:
    """Directionality by each formula, a row per matrix and formula."""
    values = pd.DataFrame({words: getattr(scores, field).numpy() for field, words in FORMULAS.items()})
    return values.melt(var_name="formula", value_name="directionality d").assign(**more)


@house_style()
def one_strong_column(frame: pd.DataFrame, limit: float, n: int) -> CaptionedFigure:
    """Directionality against the factor on one column, by each formula, and the limit of Def. 3.2."""
    figure, panel = new_figure(8, 3.0)
    style = {"palette": PALETTE, "style": "formula", "dashes": False, "markers": ["o", "s", "^"], "errorbar": "sd"}
    sns.lineplot(frame, x="factor", y="directionality d", hue="formula", ax=panel, **style)
    panel.axhline(limit, color=ENCODER, linestyle=":", linewidth=1, label=f"limit of Def. 3.2, {limit:+.2f}")
    panel.axhline(0, color=NEUTRAL, linewidth=1)
    panel.set(xscale="log", xlabel="factor on one column", ylim=(-1.1, 1.1))
    for y, side in ((1.02, "read as: rows dominate"), (-1.02, "read as: columns dominate")):
        panel.text(1, y, side, color=NEUTRAL, fontsize="small", va="center")
    panel.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    last = frame[frame["factor"] == frame["factor"].max()].groupby("formula")["directionality d"].mean()
    ends = "; ".join(f"{last[words]:+.2f} ({words})" for words in PALETTE)
    caption = f"One column of a random matrix of {n} rows grows; three formulas score it. Mean $d$ at the end: {ends}."
    alt = f"Three curves of directionality against the factor on one column. They start near 0 and end at {ends}."
    return CaptionedFigure(figure, "fig-one-strong-column", f"{caption} Bands: ± one standard deviation.", alt)


# %% tags=["remove-input"]
factors = [2.0**k for k in range(10)]
grown = {f: torch.stack([with_strong_column(n_strong, f, generator) for _ in range(6)]) for f in factors}
limit = one_column_limit(n_strong, gamma)
one_strong_column(pd.concat(by_formula(score_batch(m, gamma), factor=f) for f, m in grown.items()), limit, n_strong)

# %% tags=["remove-cell"]
share_over, norms_over = rows_behind_one_column()
assert one_column_limit(n_strong) > 0
glue("n-strong", n_strong)
glue("limit", one_column_limit(n_strong), "+.2f")
glue("a", norms_over, ".3f")
glue("share-over", 100 * share_over, ".1f")
glue("n-positive", first_positive_limit())
glue("spread-256", directionality_sd(256), ".2f")
glue("head-spread", head_directionality_sd(768, 64), ".2f")

# %% [markdown]
# ## Both scores, in code
#
# A matrix is symmetric if token $i$ scores token $j$ as $j$ scores $i$. Its columns are long where a few coordinates of the
# context token decide the score.


# %%
def symmetry(m):
    return float(torch.trace(m @ m) / m.square().sum())  # 1 if m = m.T, -1 if m = -m.T


def length_of_the_long(norms, gamma):
    threshold = norms.mean() + gamma * ((norms - norms.mean()) ** 2).mean().sqrt()
    return float(norms[norms > threshold].sum())


def directionality(m, gamma=2.0):
    r, c = (length_of_the_long(m.square().sum(side).sqrt(), gamma) for side in (1, 0))  # of rows, of columns
    return (r - c) / (r + c) if r + c else 0.0  # negative if columns are the long ones


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


# %% tags=["remove-cell"]
@cache
def normal_matrices(n: int, draws: int, seed: int) -> Float[Tensor, "draws n n"]:
    """Standard normal entries."""
    return torch.randn(draws, n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def parts(m: Float[Tensor, "*draws n n"]) -> tuple[Float[Tensor, "*draws n n"], Float[Tensor, "*draws n n"]]:
    """Symmetric and skew-symmetric part (Eq. 16)."""
    return (m + m.mT) / 2, (m - m.mT) / 2


# %%
@claim(
    "3.1",
    "",
    "the factor of the symmetry score",
    Verdict.MISPRINT,
    printed=r'"$s = 2 \frac{\|M_s\|_F^2 - \|M_n\|_F^2}{\|M\|_F^2}$".',
    place="Section 3, Definition 3.1, Eq. 15",
    holds=r"$s = (\|M_s\|^2 - \|M_n\|^2) / \|M\|^2 = \operatorname{Tr}(MM) / \|M\|^2$.",
    remark="Proposition S1.17 (1) and (2) and the printed tables need the score without the 2.",
)
def factor_of_the_symmetry_score(n=16, seed=0):
    (m,) = normal_matrices(n, 1, seed)
    symmetric, skew = (m + m.T) / 2, (m - m.T) / 2
    printed = [symmetry_score(part, Convention.PRINTED) for part in (symmetric, skew)]
    yield exact("score of a symmetric matrix, as printed", printed[0], 2)
    yield compare("score of a symmetric matrix, as printed, against the 1 of Eq. S132", printed[0], "≠", 1, 1e-6)
    yield compare("score of a skew-symmetric matrix, as printed, against the -1 of S132", printed[1], "≠", -1, 1e-6)
    yield exact("score of a symmetric matrix, corrected", symmetry(symmetric), 1)
    yield exact("score of a skew-symmetric matrix, corrected", symmetry(skew), -1)
    yield exact("corrected score of a random matrix less `symmetry_score`", symmetry(m) - symmetry_score(m))


show(factor_of_the_symmetry_score(seed=seed))

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
def distance_from_the_end(part: Float[Tensor, "n n"], m: Float[Tensor, "n n"]) -> Tensor:
    """``2 ||M_n||^2 / ||M||^2 = 1 - s``, and with M_s ``1 + s``."""
    return 2 * part.square().sum() / m.square().sum()


@claim(
    "S1.17",
    "(1), (2)",
    "the range of the symmetry score, and where it is 1 and -1",
    Verdict.MISPRINT,
    printed=r'''"The symmetry score $s$ is a scalar value bounded in the range $[-1, 1]$." "A symmetry score $s = \pm 1$ indicates a
    fully symmetric or skew-symmetric matrix, respectively."''',
    place="Section S1.5, Proposition S1.17 (1), (2)",
    holds=r"""Without the factor 2 of Def. 3.1 of the paper: $s = 1$ if and only if $M_n = 0$, $s = -1$ if and only if
    $M_s = 0$ ($M \ne 0$). With it the range is $[-2, 2]$.""",
    remark=r"""With the factor, every matrix with $\|M_s\|^2 = 3 \|M_n\|^2$ has the score 1. The factor and the bounds of Eqs. S127
    and S129 are mended together, and the proof stands.""",
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
# With the printed 2 both points fail. Scores reach 2, and some matrices have the score 1 without being symmetric. The
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
# The text gives no value of $\gamma$, on which the score depends. We take $\gamma = 2$ where nothing else is said, as the
# released code does, by an audit that this project has not read. The score lies in $[-1, 1]$, and [it is 1 or
# $-1$](two_scores_details.py#range-and-extremes-of-directionality) where only rows, or only columns, exceed.


# %% tags=["remove-cell"]
def released_directionality(m: Float[Tensor, "n n"], gamma: float) -> float:
    """``(r - c) / (r + c)`` of the released code: r, c sum excesses over mean + gamma sd, squares over n - 1."""
    norms = torch.stack([m.square().sum(1).sqrt(), m.square().sum(0).sqrt()])
    mean = norms.mean(1, keepdim=True)
    sd = ((norms - mean).square().sum(1, keepdim=True) / (len(m) - 1)).sqrt()
    r, c = (norms - mean - gamma * sd).clamp_min(0).sum(1).tolist()
    return (r - c) / (r + c) if r + c else 0.0


# %%
@claim(
    "3.2",
    "",
    "the directionality score",
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
    yield exact("largest difference of `directionality_score` from the definition, γ of 1, 2 and 3", worst)
    released = "largest difference of the released variant, squares over $n - 1$, from its formula"
    yield exact(released, max(map(abs, gaps)))
    zero = directionality_score(torch.zeros(4, 4))
    yield exact("score of the zero matrix, where no norm exceeds", zero)
    yield compare(r"largest change of a score from $\gamma = 1$ to $\gamma = 2$", moved, ">", 0.1)
    where = "$d = 0$ where no row and no column exceeds (stated in the proof of Proposition S1.18)"
    return {"holds": rf"$\gamma = {GAMMA:g}$, as in the released code, and {where}."}


show(directionality_as_defined(seed=seed))

# %% [markdown]
# Three formulas of this kind are in use. Sums of *norms* are the definition. Sums of the *excess* over the threshold, with
# the divisor $n - 1$, are what the released code computes. Sums of the excess of the *logarithms* are behind the printed Table S3
# ([The printed scores](printed_scores.py)). The package names them `definition`, `released` and `tables`. None is a property of
# the bilinear form alone: turn the basis below, and $s$ stays while $d$ changes.

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


# %% tags=["remove-cell"]
def one_column_alone(n: int, draws: int, generator: torch.Generator) -> Float[Tensor, " draws"]:
    """Directionality of matrices whose other columns are 0."""
    column = torch.randn(draws, n, 1, generator=generator, dtype=torch.float64)
    return score_heads(BilinearForm(column, torch.eye(n, 1, dtype=torch.float64).expand_as(column))).directionality


@cache
def strong_columns(n: int, factor: float, draws: int, seed: int) -> tuple[Scores, Scores, dict[int, Tensor]]:
    """Scores with one column times a factor, and times sqrt(n); d of one column alone, by the rows it has."""
    generator, first = torch.Generator().manual_seed(seed), first_positive_limit()
    by = (torch.stack([with_strong_column(n, f, generator) for _ in range(draws)]) for f in (factor, n**0.5))
    return *map(score_batch, by), {rows: one_column_alone(rows, 30 * draws, generator) for rows in (first, 2 * first)}


# %%
@claim(
    "3.2",
    "(reading of the sign)",
    "what the sign of directionality says",
    Verdict.ASSUMPTION,
    printed='"[P]ositive and negative directionality scores indicate the dominance of high norm rows or columns, respectively".',
    place="Sections 3 and S1.6",
    missing=("by chance",),
)
def sign_of_directionality(n=768, factor=1000.0, draws=16, seed=0):
    strong, weaker, alone = strong_columns(n, factor, draws, seed)
    d, said = strong.directionality, f"one column {factor:g} times the others, $n$ = {n}"
    yield monte_carlo(f"mean $d$ with {said}", d, one_column_limit(n))
    yield monte_carlo(f"mean $d$ with {said}, against 0", d, 0, ">", paper="< 0")
    yield exact(f"share of matrices with $d > 0$, {said}", (d > 0).double().mean(), 1, 0, paper="= 0")
    for k, scores in alone.items():
        words = f"share of matrices with $d > 0$, one column alone, $n$ = {k}, against its limit form"
        yield monte_carlo(words, (scores > 0).double(), positive_share(k), paper="= 0")
    yield monte_carlo("mean $d$ from the excess (released code)", strong.directionality_released, 0, "<")
    yield monte_carlo("mean $d$ from the logarithms (Table S3)", strong.directionality_tables, -0.9, "<")
    yield monte_carlo(r"mean $d$ from the logarithms, the factor $\sqrt n$", weaker.directionality_tables, 0, ">")
    return in_words(n)


def in_words(n: int) -> dict[str, str]:
    """What holds instead, and which formulas read a strong column right."""
    (over, norms), first = rows_behind_one_column(), first_positive_limit()
    even, uneven = 100 * norm.sf(GAMMA), 100 * over  # norms of rows that nothing spreads are close to normal
    even_chance, almost_sure = 100 * positive_share(first), 100 * positive_share(256)
    holds = rf"""It does when the columns over their threshold add up to more than the {even:.0f} to {uneven:.0f} % of rows
        that exceed theirs by chance. One column that outgrows all others gives $d \to (a\sqrt n - 1)/(a\sqrt n + 1)$ with
        $a = {norms:.3f}$ at $\gamma = {GAMMA:g}$, a limit for large $n$. At $n = {first}$, where it changes its
        sign, {even_chance:.0f} % of the matrices have a positive $d$, at $n = 256$ {almost_sure:.0f} %."""
    remark = rf"""The norms add up, not their excess, and the column raises its own threshold and the spread of all row norms.
        The excess over the threshold reads this size of matrix right; the excess of logarithms reads very strong columns
        right and, at $n = {n}$, those of about $\sqrt n$ times the others wrong."""
    return {"holds": holds, "remark": remark}


show(sign_of_directionality(seed=seed), unfolded=True)

# %% [markdown]
# Why? The column raises its own threshold. It also spreads the norms of *all* rows, since each has one large entry. So
# {glue:text}`share-over` % of the rows exceed by chance, and [each counts with its whole
# norm](two_scores_details.py#one-strong-column-norm-by-norm). The excess over the threshold, as in the released code, stays
# negative here.
#
# ## Random matrices
#
# A score of trained weights says something only where it leaves the range of random ones.
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


# %% tags=["remove-cell"]
@cache
def dense(n: int, draws: int, seed: int) -> Scores:
    """Scores of matrices of independent normal entries."""
    return sample_dense(n, draws, seed)


@cache
def every_matrix(*shape: int) -> Tensor:
    """All matrices of a shape with entries -2, -1, 1, 2."""
    values = torch.tensor([-2.0, -1.0, 1.0, 2.0], dtype=torch.float64)
    return torch.cartesian_prod(*[values] * math.prod(shape)).view(-1, *shape)


# %%
@claim(
    "S1.17",
    "(3), Eq. S137",
    "the symmetry of random matrices",
    Verdict.MISPRINT,
    printed=r"""The score of a random matrix "with zero mean and finite variance tends to zero as $8/n$ in the limit $n
    \rightarrow \infty$"; "[T]he symmetry score is zero in the limit $n \rightarrow \infty$ with convergence from the positive
    side." """,
    place="Section S1.5, Proposition S1.17 (3), and after Eq. S137",
    holds=r"""$\mathbb{E}\, s = 1 / n$, exactly for independent symmetric entries and for products of such matrices; $2 / n$
    with the factor of Def. 3.1 of the paper. The halves lost in Eq. S133 make it $8 / n$. The spread $\sqrt{2}/n$ is larger than
    the mean, so that $\Pr[s < 0] \to \Phi(-1/\sqrt{2}) \approx 0.24$.""",
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
    yield monte_carlo("mean of $n s$, normal entries, against the printed rate", n * s, 8, "≠")
    yield monte_carlo("mean of $n s$ with the factor 2 of Def. 3.1 of the paper, against that rate", 2 * n * s, 8, "≠")
    negative, share = (s < 0).double(), negative_symmetry_share(large)
    yield monte_carlo(f"share of matrices with $s < 0$, $n$ = {n}", negative, negative_symmetry_share(n), paper="= 0")
    yield compare(f"the exact share at $n$ = {large}", share, "=", limit, 1e-4, paper="= 0")


show(symmetry_of_random_matrices(draws=max(draws, 500), seed=seed))

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
@claim(
    "S1.18",
    "(3)",
    "the directionality of random matrices",
    Verdict.ASSUMPTION,
    printed=r"""
    "The directionality score of a random matrix $M \in \mathbb{M}_n$ with entries $M_{ij} \sim p(0, \sigma)$ from a
    probability distribution with zero mean and a variance that scales as $O(n^{-1})$ tends to zero in the limit $n
    \rightarrow \infty$." """,
    place="Section S1.6, Proposition S1.18 (3)",
    holds="It does for independent entries with one law, as we prove for a finite fourth moment.",
    missing=("fourth moment",),
)
def directionality_of_random_matrices(n=256, draws=200, seed=0):
    small, large = (dense(k, draws, seed + k).directionality for k in (n // 4, n))
    signs = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).sign()
    spread = directionality_sd(n)
    yield monte_carlo(f"mean of $d$, $n$ = {n // 4}", small, 0)
    yield monte_carlo(f"mean of $d$, $n$ = {n}", large, 0)
    yield monte_carlo(f"mean of $d^2$ over its limit form, $n$ = {n}", (large / spread).square(), 1)
    half = float(small.square().mean()) / 2
    yield monte_carlo(f"mean of $d^2$, $n$ = {n}, against half that at {n // 4}", large.square(), half, "<")
    yield exact("$d$ of random signs, whose rows and columns are equally long", directionality_score(signs))
    slowly = rf"its spread is ${spread * n**0.5:.1f}\, n^{{-1/2}}$ for $\gamma = {GAMMA:g}$"
    at = f"that is {spread:.2f} at {n} rows and {directionality_sd(768):.2f} at 768"
    return {"remark": f"$d$ tends to 0 slowly: {slowly}, {at}."}


show(directionality_of_random_matrices(draws=max(draws // 2, 100), seed=seed))


# %% [markdown]
# One random matrix of 256 rows has a $d$ that [scatters by](two_scores_details.py#the-spread-of-directionality)
# {glue:text}`spread-256`. A random head of BERT-base [scatters by](two_scores_details.py#heads)
# {glue:text}`head-spread`. The paper says that both scores of every layer are zero at initialisation (Section 4.1). Of
# symmetry that is true, to within about $1/n$. Of directionality it is true of the mean, and not of a layer.


# %% tags=["remove-cell"]
@cache
def untrained_layers(d: int, n_heads: int, draws: int, seed: int) -> Scores:
    """Layers with normal weights, heads summed."""
    return sample_forms(n_heads, d, d // n_heads, draws, seed)


# %%
@claim(
    "Section 4.1",
    "(initialisation)",
    "the directionality of a layer starts at zero",
    Verdict.MISPRINT,
    printed='"At initialization, the symmetry and directionality score of the matrix $W_{qk}$ at any layer is zero".',
    place="Section 4.1",
    repeats="one_random_matrix_has_a_direction",
)
def scores_at_initialisation(d=256, n_heads=4, draws=150, seed=0):
    layers = untrained_layers(d, n_heads, draws, seed)
    s, direction = layers.symmetry, layers.directionality
    rate, scatter = d * symmetry_mean(d), float(direction.std())
    yield monte_carlo("mean symmetry of a layer, times d", d * s, rate, paper="")
    yield monte_carlo("squared spread of a layer's symmetry, times $d^2$", (d * s - rate).square(), 2, paper="")
    yield monte_carlo("mean directionality of a layer", direction, 0)
    magnitude = r"mean magnitude of directionality, against $1/\sqrt{d}$"
    yield monte_carlo(magnitude, direction.abs(), d**-0.5, ">", paper="= 0")
    holds = rf"""Of directionality the mean is zero; that of one layer scatters by about ${scatter * d**0.5:.1f}\, d^{{-1/2}}$.
        Of symmetry the sentence holds, to within $1/d$ in the mean and $\sqrt{{2}}/d$ in one layer."""
    trained = "Directionality below this scatter says nothing about training; at width"
    return {"holds": holds, "remark": f"{trained} {d} that is about {scatter:.1f}."}


show(scores_at_initialisation(seed=seed))


# %% tags=["remove-cell"]
def bands(widths: list[int], n_heads: int, gamma: float) -> pd.DataFrame:
    """Half the width of the band that holds 95 % of random weights: of layers, and of one of some heads."""
    layers, heads = ([laws_of_shape(d, d // k, gamma) for d in widths] for k in (1, n_heads))
    columns = {
        "$s$, mean": [law["symmetry"].mean for law in layers],
        "$s$, ±": [law["symmetry"].half_width for law in layers],
        "$d$, ±": [law["directionality"].half_width for law in layers],
        "$d$ of a head, ±": [law["directionality"].half_width for law in heads],
    }
    return pd.DataFrame(columns, index=pd.Index(widths, name="width"))


# %% tags=["remove-input"]
table(
    bands([128, 256, 512, 768, 1024, 2048, 4096], 8, gamma),
    name="tab-expected-at-random",
    caption="What untrained weights score: the band that holds 95 % of them, for a layer and for one of its 8 heads. A score"
    " inside its band says nothing about training.",
    formats={"$s$, mean": ".2g", "$s$, ±": ".2g", "$d$, ±": ".2f", "$d$ of a head, ±": ".2f"},
    folded="What untrained weights score, by width",
)

# %% [markdown]
# ## What it means for you
#
# - Trust $s$: in a matrix of a few hundred rows, a few hundredths are already far from chance.
# - Before you read a $d$, say which formula and which $\gamma$ it comes from. Set it beside its value at random;
#   `attngeo score` prints both.
# - Do not read a positive $d$ as long rows. Whether one column dominates is seen from the norms themselves.
