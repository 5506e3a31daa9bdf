# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: Serving as context more often does not make columns dominate
#
# The paper {cite}`saponati2025` states that, in trained decoders, large norms occur among the columns of $\Wqk$ more often
# than among its rows. According to the paper, the reason is that most tokens serve as context more often than they are
# predicted (see Theorem 2.3 of the paper and, for details, Theorem S1.12 of the paper). On this page, we examine this argument
# and collect all related proofs and checks. Their consequences are explained on [page 7](directionality.py).
#
# **The theorem does not follow from this argument. If no token occurs twice and the coefficients are drawn independently
# from one distribution, the rows and the columns of an update have the same distribution. Columns can dominate under other
# conditions, for example if the *keys*, which are the embeddings of the context, are more closely aligned with the
# coordinate axes than the embeddings of the predicted tokens. Columns can also dominate if attention uses a softmax with a
# causal mask, because the first keys then contribute most.**

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding; in [16, 96]
n_tokens: int = 16  # sequence length; in [8, 64]
n_sequences: int = 8  # number of sequences in one update; in [2, 32]
n_draws: int = 800  # number of updates for each set of assumptions; in [60, 4000]
exponent: float = 1.0  # the variances of the embedding's coordinates fall like this power of 1/k; in [0.5, 1.5]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import norm, rv_discrete
from torch import Tensor

from attngeo.bilinear.scores import score_batch
from attngeo.gradients.objectives import Objective, attended_matrix, context_matrix
from attngeo.gradients.random_updates import (
    TAIL,
    Coefficients,
    Law,
    Outcomes,
    UpdateModel,
    context_tokens,
    coordinates,
    log_unevenness,
    power_profile,
    ratio_samples,
    signs,
    squared_norms,
    tail_gap,
    unevenness,
    uniform_softmax_squared_norms,
)
from attngeo.gradients.rank_one import exact_coefficients
from attngeo.gradients.toy_transformer import ToyConfig, ToyTransformer
from attngeo.plot.typeset import typeset
from chapters.column_dominance import (
    THEOREM,
    UNEVENNESS,
    early_keys,
    errors_times_keys,
    updates_by_assumption,
    which_side,
)
from chapters.introduction.sentence import recorded
from livingpaper.claims.claim import Comparisons, Verdict, claim, compare, exact, monte_carlo
from livingpaper.display.page import glue, show

profile = {"d": d, "exponent": exponent, "seed": seed}

BOTH = (Objective.AUTOREGRESSIVE, Objective.BIDIRECTIONAL)
ROOT = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)  # of a covariance with correlated coordinates
COUNTED = r"""If "$\frac{\mathbb{E}[\mu_c(t^*)]}{\mathbb{E}[\mu_p(t^*)]} > 1$" is true "for most $t^* \in \mathcal{V}$", then, by
Proposition S1.8, the number of times that a column gains more than a row "is on average higher than the number of times" that
it gains less."""
LARGE_NORMS = f"norms in the top {100 - 100 * TAIL:g} %, columns minus rows"


def of_two_coordinates(words: str, measured: Iterable[Tensor], expected: Iterable[Tensor]) -> Comparisons:
    """Mean squared norms of both rows and both columns, beside their formulas."""
    for side, norms, values in zip(("row", "column"), measured, expected, strict=True):
        yield from (exact(f"{words}squared norm of {side} {k + 1}", norms[k], values[k]) for k in (0, 1))


kinds = updates_by_assumption(n_tokens, n_sequences, n_draws, **profile)
directionality = score_batch(kinds[THEOREM]).directionality
glue("errors-times-keys", typeset(errors_times_keys(kinds)))
glue("exponent", exponent)
glue("ar-d", directionality.mean(), "+.2f")
glue("ar-d-error", directionality.std() / n_draws**0.5, ".2f")

# %% [markdown]
# ## Rows and columns can differ only in how uneven they are
#
# When the sentence *the dog met my old cat* is read from left to right, the word *met* is predicted from the words *the* and
# *dog*. Up to a constant factor, a training step on this sequence changes $\Wqk$ by the *update*
#
# $$
# \Delta W = \sum_i \sum_{j \in C_i} \beta_{ij}\, x_i x_j^\top .
# $$ (eq-s1-8-update)
#
# Here $x_i \in \mathbb{R}^d$, called a *query*, is the embedding of a predicted token, and $x_j$, called a *key*, is the
# embedding of a token in the context $C_i$ of this predicted token. The *coefficient* $\beta_{ij}$ measures how much token
# $j$ helps to predict token $i$. The rows of $\Delta W$ correspond to the coordinates of the queries, and the columns
# correspond to the coordinates of the keys. The squared norms of the rows have the same sum as the squared norms of the
# columns ({prf:ref}`lem-s1-12-sum`). Rows and columns can therefore differ only in how *uneven* their norms are. The rows
# (or the columns) are uneven if a few of their norms are large and the other norms are small. We define their *unevenness*
# as the mean of the fourth powers of their norms, divided by the square of the mean of the squared norms. The unevenness is
# 1 if all norms are equal.
#
# {numref}`fig-which-side` shows simulated updates with random embeddings that have mean zero and covariance $\Sigma$. Unless
# stated otherwise, $\Sigma$ is diagonal, and its variances decrease like $k^{-a}$ with $a$ = {glue:text}`exponent`.
# {glue:md}`errors-times-keys:myst`

# %% tags=["remove-input"]
which_side(kinds)

# %% [markdown]
# :::{admonition} How sure is this?
# We prove our statements on this page, except where we report observations. For all updates on this page, we assume random
# embeddings and specify the coefficients ourselves. The gradients of trained models contain additional terms
# ({prf:ref}`prop-2-2`). The theorem on the softmax is about expected squared norms, and it assumes that the errors are
# uncorrelated with mean zero. For the effect of positions, see [the theorem on positions](positions_theory.py).
# :::
#
# ## The theorem does not follow
#
# The theorem compares the *tails* of two distributions of norms. The tail is the probability that a norm exceeds a given value.
# The [directionality score $d$](two_scores_details.py) of the paper is negative if columns dominate.
#
# ````{prf:conjecture} Thm. S1.12 (informally 2.3) of the paper, not proven: autoregressive training induces directionality
# :label: thm-s1-12
#
# Let the embeddings of the vocabulary be drawn independently from one distribution with mean zero, whose covariance is not a
# multiple of $I$. Let $\Delta W$ be the update for an autoregressive objective. Then there is a $\gamma$ such that
# $\Pr[\|w_{\cdot,k}\| > w] > \Pr[\|w_{m,\cdot}\| > w]$ for all $w > \gamma$.
#
# *What is known.* The proof in the paper is not correct, because the lemma on which its last step is based implies the
# opposite conclusion. Under the conditions of {prf:ref}`prop-s1-12-law`, where no token occurs twice, we prove that the two
# probabilities are equal for $k = m$. For the coefficients of a trained model, the question is open.
# ````
#
# The argument in the paper has four steps. After each step, we state in italics what is missing.
#
# 1. A context token adds more to a typical column than to a typical row. *This is true if the variances of its coordinates
#    are equal ({prf:ref}`prop-s1-8`). In the theorem, however, all tokens are drawn from one distribution. In this case,
#    columns do not gain more than rows ({prf:ref}`prop-s1-8-one-law`).*
# 2. Most tokens serve as context more often than they are predicted ({prf:ref}`prop-s1-10`). *These counts affect rows and
#    columns differently only if tokens occur repeatedly. The effect then depends on the squares of the counts and on the
#    tails of the distribution of the coordinates. If the coordinates are Gaussian, the counts have no effect
#    ({prf:ref}`thm-s1-12-counts`).*
# 3. Therefore, the norms of the rows vary more than the norms of the columns (Eq. S101). *This is true under the assumptions
#    of step 1, where the expected squared norm is proportional to $\mathrm{Tr}(\Sigma)$ for every column and to
#    $\Sigma_{mm}$ for row $m$.*
# 4. The norms that vary more have the heavier tail, so the columns have the heavier tail (Eq. S102). *According to step 3,
#    however, the rows would have the heavier tail. Moreover, a larger variance does not always imply a heavier tail
#    ({prf:ref}`lem-s1-11`).*


# %%
@claim(
    "S1.12",
    "Eqs. S101, S102",
    "the norms that vary more have the heavier tail",
    Verdict.CHANGES,
    printed=r'''"under the same assumptions as in Proposition S1.8", "$\mathrm{Var}(\|w_{m,\cdot}\|) >
    \mathrm{Var}(\|w_{\cdot,k}\|)$ $\forall k, m$", hence "$\Pr[\|w_{\cdot,k}\| > w] > \Pr[\|w_{m,\cdot}\| > w]$
    $\forall w > \gamma$"''',
    place="Section S1.4.4 and in the proof of Theorem S1.12, Eqs. S101 and S102",
    holds="""Under the assumptions of Prop. S1.8, the rows are more uneven than the columns, so that large norms occur
    among the rows and the directionality score is positive. By the lemma, Eq. S101 leads to the same conclusion, which
    contradicts Eq. S102. If rows and columns were exchanged in Eq. S101, it would lead to Eq. S102, but it would not be
    true.""",
    remark="""This refutes the reason given in the paper, but not column dominance as such. Suppose that each
    coefficient is the inner product of an error and a key, as in Prop. 2.2 of the paper, that the errors are
    independent of the embeddings, and that the coordinates are uncorrelated. Then the columns are more uneven than the
    rows for either objective. Moreover, the threshold of Eq. S102 contains variances instead of the standard deviations
    in Lemma S1.11.""",
)
def variance_of_norms(d=48, n_tokens=8, exponent=1.0, n_draws=40, seed=0):
    updates = context_tokens(d, n_tokens, exponent, n_draws, seed, n_contexts=150)
    rows, columns = (squared.sqrt().var(-1) for squared in squared_norms(updates))
    words = "log of the ratio of the variances of row and column norms, context tokens of Prop. S1.8"
    yield monte_carlo(words, (rows / columns).log(), 0, ">", paper="> 0")
    yield monte_carlo(LARGE_NORMS, tail_gap(updates), 0, "<", paper="> 0")
    d_of_updates = score_batch(updates).directionality
    yield monte_carlo("directionality (negative: columns)", d_of_updates, 0, ">", paper="< 0")


show(variance_of_norms(n_tokens=n_tokens, **profile))

# %% [markdown]
# In a sequence, tokens act both as context and as predicted tokens. In this case, row $k$ and column $k$ of the update have
# the same expected squared norm for any order and any frequency of the tokens ({prf:ref}`prop-s1-12-expectation`). Under an
# additional condition, the norms of row $k$ and column $k$ even have the same distribution.
#
# ````{prf:proposition} the autoregressive update is distributed like its transpose if no order is preferred
# :label: prop-s1-12-law
#
# Let the embeddings $(x_1, \dots, x_N)$ of a sequence and $(x_N, \dots, x_1)$ be equal in distribution. This condition is
# satisfied if the embeddings are independent and identically distributed, which follows from the assumptions of
# {prf:ref}`thm-s1-12` if *no token of the sequence occurs twice*. Suppose that one of the following conditions is satisfied:
# (a) the coefficients are independent of the embeddings, and $(\beta_{ij})$ and $(\beta_{N+1-j,\,N+1-i})$ are equal in
# distribution (for example, the coefficients are independent and identically distributed), or (b)
# $\beta_{ij} = x_i^\top B x_j$, where $B$ is independent of the embeddings, and $B$ and $B^\top$ are equal in distribution.
# Then $\Delta W = \sum_{j<i} \beta_{ij} x_i x_j^\top$ and $\Delta W^\top$ are equal in distribution. Therefore,
#
# $$
# \Pr[\|w_{\cdot,k}\| > w] = \Pr[\|w_{k,\cdot}\| > w] \quad \text{for all } k \text{ and all } w .
# $$ (eq-s1-12-law)
#
# The same is true for a sum over independent sequences with independent embeddings and the same $B$. It is also true for
# $W_0 + \eta \Delta W$ if $W_0$ is independent of $\Delta W$ and equal in distribution to its transpose, for example if the
# entries of $W_0$ are independent and identically distributed.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $\pi(i) = N + 1 - i$. Reversing the sequence of embeddings does not change its distribution. In case (a),
#
# $$
# \Delta W^\top = \sum_{j<i} \beta_{ij}\, x_j x_i^\top \;\sim\; \sum_{j<i} \beta_{ij}\, x_{\pi(j)} x_{\pi(i)}^\top
# = \sum_{j'<i'} \beta_{\pi(j')\,\pi(i')}\, x_{i'} x_{j'}^\top , \qquad i' = \pi(j),\; j' = \pi(i),
# $$
#
# because $j < i$ is equivalent to $i' > j'$. By assumption, the coefficients on the right-hand side have the same
# distribution as $\beta_{i'j'}$ and are independent of the embeddings. The right-hand side therefore has the same
# distribution as $\Delta W$.
#
# In case (b), for given $B$, the same reversal gives $\sum_{j'<i'} (x_{j'}^\top B x_{i'})\, x_{i'} x_{j'}^\top =
# \sum_{j'<i'} (x_{i'}^\top B^\top x_{j'})\, x_{i'}
# x_{j'}^\top$, which is the update with $B^\top$ instead of $B$. This argument applies to a single sequence and to several sequences that are independent given $B$.
#
# Column $k$ of $\Delta W$ is row $k$ of $\Delta W^\top$, which gives {eq}`eq-s1-12-law`. If independent matrices are equal
# in distribution to their transposes, their sum is also equal in distribution to its transpose.
# ```
# ````
#
# If no token occurs twice, the inequality in the theorem is therefore an equality for a randomly chosen column and a randomly
# chosen row. In the simulation under the assumptions of the theorem ({numref}`fig-which-side`), the mean directionality score
# is {glue:text}`ar-d` ± {glue:text}`ar-d-error`.


# %% tags=["remove-cell"]
@cache
def autoregressive(kind: Coefficients, d: int, exponent: float, n_draws: int, seed: int, start: float = 0.0) -> Tensor:
    """Updates (draws, d, d) under the theorem's assumptions on a Gaussian W_0, entries ``start`` times as large."""
    generator = torch.Generator().manual_seed(seed)
    model = UpdateModel(power_profile(d, exponent), n_tokens=16, n_sequences=4, coefficients=kind)
    updates = model.draw(n_draws, generator)
    size = start * float(updates.square().mean().sqrt())
    return updates + size * torch.randn(updates.shape, generator=generator, dtype=torch.float64)


# %%
@claim(
    "S1.12",
    "",
    "autoregressive training induces column dominance",
    Verdict.CHANGES,
    printed=r""""[T]here exists a value $\gamma \in \mathbb{R}$ such that, $\Pr[\|w_{\cdot,k}\| > w] >
    \Pr[\|w_{m,\cdot}\| > w]$ $\forall w > \gamma$".""",
    place="Theorem S1.12, Eq. S94",
    holds=r"""Suppose that no token occurs twice, either within one sequence or in two different sequences. Suppose also
    that the coefficients are independent and identically distributed, or that they are $x_i^\top B x_j$ with $B$ and
    $B^\top$ equal in distribution. Then $\Delta W$ and $\Delta W^\top$ have the same distribution, and the two
    probabilities are equal for $k = m$ and every $w$.""",
    remark="The derivation does not show that columns dominate in trained decoders. Whether columns dominate in trained decoders can only be determined by measurements.",
)
def autoregressive_directionality(d=32, exponent=1.0, n_draws=300, seed=0):
    for kind in (Coefficients.INDEPENDENT, Coefficients.BILINEAR):  # (a) and (b)
        updates = autoregressive(kind, d, exponent, n_draws, seed)
        directionality, of = score_batch(updates).directionality, f"{kind.value} coefficients"
        yield monte_carlo(f"{of}: {LARGE_NORMS}", tail_gap(updates), 0, paper="> 0")
        yield monte_carlo(f"{of}: {UNEVENNESS}", log_unevenness(updates), 0, paper="> 0")
        yield monte_carlo(f"{of}: directionality", directionality, 0, paper="< 0")


show(autoregressive_directionality(**profile), unfolded=True)


# %%
@claim(
    "2.3",
    "",
    "autoregressive training leads to more columns than rows with large norms",
    Verdict.CHANGES,
    printed='"There are, on average, more columns with high norms than rows with high norms".',
    place="Theorem 2.3, Eq. 13",
    holds="""If every token occurs once, rows and columns have the same distribution (see Theorem S1.12). If tokens occur repeatedly,
    either the rows or the columns can have more large norms. Rows and columns can also differ for other reasons, for example because the embeddings of queries and keys
    differ, or because the coefficients depend on the embeddings.""",
)
def directionality_during_training(d=32, exponent=1.0, n_draws=300, seed=1):
    updates = autoregressive(Coefficients.INDEPENDENT, d, exponent, n_draws, seed, start=0.5)
    yield monte_carlo(f"independent coefficients: {LARGE_NORMS}", tail_gap(updates), 0, paper="> 0")
    yield monte_carlo(f"independent coefficients: {UNEVENNESS}", log_unevenness(updates), 0, paper="> 0")
    directionality = score_batch(updates).directionality
    yield monte_carlo("independent coefficients: directionality", directionality, 0, paper="< 0")


show(directionality_during_training(**profile | {"seed": seed + 1}))

# %% [markdown]
# Coefficients as in (b) occur, for example, in attention without a softmax and with tied embeddings. At $W_{qk} = 0$, the
# coefficients of such a model have this form to leading order for small embeddings ({prf:ref}`prop-s1-14-linear`).
#
# ## Keys along the coordinate axes make columns dominate
#
# The norms of the rows reflect the queries, and the norms of the columns reflect the keys. In the simplest case, the
# coefficients of all pairs of a query $q_i$ and a key $k_j$ are independent and Gaussian. Let the second moments of the
# queries and keys be $S_Q = \sum_i q_i q_i^\top$ and $S_K = \sum_j k_j k_j^\top$.
#
# ````{prf:proposition} a condition for column dominance
# :label: prop-s1-12-condition
#
# Let $\Delta W = \sum_{ij} \beta_{ij} q_i k_j^\top$ with independent standard normal $\beta_{ij}$ and fixed $q_i$ and $k_j$. Let
#
# $$
# D(S) = \frac{(d+2) \sum_k S_{kk}^2}{\mathrm{Tr}(S)^2 + 2\,\mathrm{Tr}(S^2)}
# $$ (eq-s1-12-alignment)
#
# Then the columns are more uneven than the rows if and only if $D(S_K) > D(S_Q)$, because
#
# $$
# \frac{\mathbb{E}\sum_k \|w_{\cdot,k}\|^4}{\mathbb{E}\sum_m \|w_{m,\cdot}\|^4} = \frac{D(S_K)}{D(S_Q)} .
# $$ (eq-s1-12-fourth)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Row $m$ is $\sum_{ij} \beta_{ij} [q_i]_m k_j^\top$, which is Gaussian with mean zero and covariance
# $\sum_{ij} [q_i]_m^2\, k_j k_j^\top = (S_Q)_{mm} S_K$. For a Gaussian vector $g$ with mean zero and covariance $C$,
# $\mathbb{E}\|g\|^4 = \mathrm{Tr}(C)^2 + 2\,\mathrm{Tr}(C^2)$. Hence
#
# $$
# \mathbb{E} \sum_m \|w_{m,\cdot}\|^4 = \sum_m (S_Q)_{mm}^2 \, \bigl( \mathrm{Tr}(S_K)^2 + 2\,\mathrm{Tr}(S_K^2) \bigr) ,
# $$
#
# and the same formula holds for the columns if $Q$ and $K$ are exchanged. The quotient of the two formulas is
# {eq}`eq-s1-12-fourth`. By {prf:ref}`lem-s1-12-sum`, the sums of the *squares* are always equal. Therefore, the larger sum
# of fourth powers corresponds to the larger unevenness.
# ```
# ````
#
# The quantity $D$ measures how closely a second moment is aligned with the coordinate axes. For $S = I$, $D$ is 1.  In a
# random basis, the mean of $D$ is 1 for every spectrum (see [the proof](#alignment-in-a-random-basis)). Unequal variances
# alone are therefore not sufficient for column dominance.


# %% tags=["remove-cell"]
def axis_alignment(moment: Float[Tensor, "d d"]) -> float:
    """``D(S) = (d + 2) sum_k S_kk^2 / (Tr(S)^2 + 2 Tr(S^2))``: how far a second moment lies on coordinate axes."""
    d, trace, square = len(moment), moment.trace(), (moment @ moment).trace()
    return float((d + 2) * moment.diagonal().square().sum() / (trace**2 + 2 * square))


def fourth_moments(query_moment: Float[Tensor, "d d"], key_moment: Float[Tensor, "d d"]) -> tuple[float, float]:
    """``sum_m (S_Q)_mm^2 (Tr(S_K)^2 + 2 Tr(S_K^2))`` of the rows, and with Q and K exchanged of the columns."""
    pairs = (query_moment, key_moment), (key_moment, query_moment)
    return tuple(float(a.diagonal().square().sum() * (b.trace() ** 2 + 2 * (b @ b).trace())) for a, b in pairs)


# %%
@claim(
    "S1.12",
    "(a condition that suffices)",
    "columns dominate if keys are more axis-aligned than queries",
    Verdict.HOLDS,
    ours=True,
)
def directionality_condition(d=48, exponent=0.5, n_draws=120, seed=0):
    q, k, z = torch.tensor([[1, 0], [0.5, 0.5]]).double(), torch.tensor([[1, 2], [-0.5, 1]]).double(), coordinates(2, 2)
    fourth = [z.mean(squared.square().sum(-1)) for squared in squared_norms(q.T @ z.values @ k)]
    for side, measured, expected in zip(("row", "column"), fourth, fourth_moments(q.T @ q, k.T @ k), strict=True):
        yield exact(f"sum of fourth powers of the {side} norms, two queries and two keys", measured, expected)
    words = "ratio of these sums, columns to rows, compared with $D(S_K) / D(S_Q)$"
    yield exact(words, fourth[1] / fourth[0], axis_alignment(k.T @ k) / axis_alignment(q.T @ q))
    variances, generator = power_profile(d, exponent), torch.Generator().manual_seed(seed)
    even = torch.randn(n_draws, d, d, generator=generator, dtype=torch.float64)
    for side, updates, sign in (("keys", even * variances.sqrt(), "<"), ("queries", (even * variances.sqrt()).mT, ">")):
        yield monte_carlo(f"uneven {side}: directionality", score_batch(updates).directionality, 0, sign)
    bases = torch.linalg.qr(torch.randn(even.shape, generator=generator, dtype=torch.float64)).Q
    generic = bases * variances @ bases.mT
    yield monte_carlo("axis alignment D, mean over generic bases", [axis_alignment(s) for s in generic], 1)


show(directionality_condition(d=d, seed=seed))

# %% [markdown]
# Four other conditions can make queries and keys differ ({numref}`fig-which-side`). Three of these conditions make the
# columns uneven: coefficients that are inner products of errors and keys ({prf:ref}`prop-s1-12-errors`), [a first token that
# is always present](#a-first-token-that-is-always-present), and masked positions, which share an embedding
# ({prf:ref}`prop-s1-15-mask`). The fourth condition is a mean that is shared by all embeddings, which makes the rows rather
# than the columns uneven ({prf:ref}`prop-s1-12-mean`).
#
# ## With a causal softmax, early keys contribute most
#
# The objective itself causes a difference between queries and keys. Suppose first that all coefficients have the same size.
# Then position $i$ contributes $i - 1$ terms as a query, and position $j$ contributes $N - j$ terms as a key. These two
# lists of numbers are mirror images of each other, so that queries and keys are equally uneven. A softmax breaks this
# symmetry, because at $W_{qk} = 0$, a query at position $i$ assigns the weight $1/i$ to each of the $i$ positions to which
# it attends.
#
# ````{prf:theorem} queries and keys at uniform attention
# :label: thm-uniform-softmax
#
# Let query $i$ assign the weight $1/n_i$ to each of the $n_i$ positions in a set $A_i$, and let the inputs $x_i$ be given.
# Let $\beta_{ij} = \frac{1}{n_i}\bigl(e_{ij} - \frac{1}{n_i}\sum_{l \in A_i} e_{il}\bigr)$ for $j \in A_i$, as in
# {prf:ref}`prop-2-2` with $e_{ij} = g_i^\top v_j$, where the $e_{ij}$ are uncorrelated and have mean 0 and variance 1.  Let
# $\bar x_i$ be the mean of the inputs in $A_i$, and let
# $K_i = n_i^{-2} \sum_{j \in A_i} (x_j - \bar x_i)(x_j - \bar x_i)^\top$. Then
#
# $$
# \begin{aligned}
# \mathbb{E}\|w_{m,\cdot}\|^2 &= (S_Q)_{mm} , & S_Q &= \textstyle\sum_i \mathrm{Tr}(K_i)\, x_i x_i^\top , \\
# \mathbb{E}\|w_{\cdot,k}\|^2 &= (S_K)_{kk} , & S_K &= \textstyle\sum_i \|x_i\|^2 K_i .
# \end{aligned}
# $$ (eq-uniform-softmax)
#
# Let the $N$ inputs be the unit vectors of the coordinate axes. With a causal mask, the expected squared norm of row $i$ is
# then $(i-1)/i^2$, and the expected squared norm of column $j$ is $\sum_{i=j}^N (i-1)/i^3$. The expected squared norms of
# the rows and of the columns have the same sum. For $N \geq 2$, the expected squared norms of the columns are more uneven
# than those of the rows if and only if $N \geq 5$. Without a mask, the expected squared norm of every row and every column
# is $(N-1)/N^2$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The update is $\sum_i x_i c_i^\top$ with
# $c_i = \sum_j \beta_{ij} x_j = \frac{1}{n_i} \sum_{j \in A_i} e_{ij} (x_j - \bar x_i)$. The $c_i$ are uncorrelated, and
# $\mathbb{E}\, c_i c_i^\top = K_i$. Hence $\mathbb{E}\,\Delta W \Delta W^\top = S_Q$ and
# $\mathbb{E}\,\Delta W^\top \Delta W = S_K$. If the inputs are the unit vectors of the axes, $(K_i)_{jj}$ equals
# $(n_i - 1)/n_i^3$ for $j \in A_i$ and 0 otherwise, which gives the stated values.
#
# For the causal mask, let $r_i = (i-1)/i^3$. The value of row $i$ is then $i r_i$, the value of column $j$ is
# $\sum_{i \geq j} r_i$, and the values of the rows and of the columns both sum to $Q_N = \sum_{i \leq N} i r_i$. Let
# $\Delta_N$ be the sum of the squared values of the columns minus the sum of the squared values of the rows. Because
# $\sum_j (\sum_{i \geq j} r_i)^2 = \sum_{i,i'} \min(i, i')\, r_i r_{i'}$, we have
#
# $$
# \Delta_{N+1} - \Delta_N = r_{N+1} \Bigl( 2 Q_N - \frac{N^2}{(N+1)^2} \Bigr) .
# $$
#
# The term in brackets is positive for all $N \geq 2$: for $N = 2$, it is $\frac12 - \frac49$; for $N = 3$,
# $2 Q_N = \frac{17}{18}$ exceeds $\frac{9}{16}$; and for $N \geq 4$, $2 Q_N$ is at least 1.  Therefore, $\Delta_N$ increases
# with $N$ for $N \geq 2$. It is negative for $N = 4$ and positive for $N = 5$.
# ```
# ````
#
# The two objectives therefore differ, as the paper states, but not for the reason that the paper gives. The difference is
# caused not by the number of queries that attend to a key, but by the weights $1/n_i$ that these queries assign to the key.
# This effect does not require that tokens occur repeatedly.


# %%
def normal_inputs(first: float, n: int = 64) -> Float[Tensor, "n n"]:
    """Inputs of normal coordinates, but for one of the first input."""
    x = torch.randn(n, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x[0, 0] = first
    return x


def turned_axes(n: int = 64, draws: int = 20) -> list[Float[Tensor, "n n"]]:
    """Orthonormal inputs in random directions."""
    drawn = torch.randn(draws, n, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return list(torch.linalg.qr(drawn)[0])


@claim(
    "S1.12",
    "(uniform softmax)",
    "along the axes, a causal softmax makes keys more uneven than queries",
    Verdict.HOLDS,
    ours=True,
)
def uneven_keys():
    causal, both, eye = Objective.AUTOREGRESSIVE, Objective.BIDIRECTIONAL, torch.eye(3).double()
    x = torch.tensor([[1, 2], [0.5, -1], [-1.5, 1]]).double()
    for objective in (causal, both):  # over all errors of ±1, values orthonormal
        weights = attended_matrix(objective, 3) / attended_matrix(objective, 3).sum(-1, keepdim=True).double()
        beta = torch.stack([exact_coefficients(weights, eye, e, 1.0) for e in signs(3, 3).double()])
        measured = torch.stack(squared_norms(x.T @ beta @ x)).mean(1)
        error = (measured - torch.stack(uniform_softmax_squared_norms(x, objective))).abs().max()
        yield exact(f"{objective}, three inputs: error of the expected squared norms", error)
    i = torch.arange(1, 17).double()
    on_axes = {n: uniform_softmax_squared_norms(torch.eye(n).double(), causal) for n in (4, 5, 16, 512)}
    of_rows, of_columns = (i - 1) / i**2, ((i - 1) / i**3).flip(0).cumsum(0).flip(0)
    error = (torch.stack(on_axes[16]) - torch.stack([of_rows, of_columns])).abs().max()
    yield exact("16 inputs along the axes: error of the values", error)
    for n, sign in zip(on_axes, "<>>>", strict=True):
        rows, columns = map(unevenness, on_axes[n])
        yield compare(
            f"{n} inputs along the axes: unevenness of the columns, compared with that of the rows", columns, sign, rows
        )
    rows, columns = map(unevenness, uniform_softmax_squared_norms(torch.eye(16).double(), both))
    yield exact("16 inputs along the axes, no mask: the larger unevenness of rows and columns", max(rows, columns), 1)
    outlying = map(unevenness, uniform_softmax_squared_norms(normal_inputs(30.0), causal))
    alike = map(unevenness, uniform_softmax_squared_norms(normal_inputs(30.0), both))
    for words, (rows, columns), sign in (("", outlying, ">"), (", no mask", alike, "=")):
        words = f"an outlying first input{words}: log ratio of the unevenness of columns and rows"
        yield compare(words, (columns / rows).log(), sign, 0, 0.1)
    turned = [map(unevenness, uniform_softmax_squared_norms(axes, causal)) for axes in turned_axes()]
    mean = sum((columns / rows).log() for rows, columns in turned) / len(turned)
    rows, columns = map(unevenness, uniform_softmax_squared_norms(torch.eye(64).double(), causal))
    yield compare(
        "64 inputs along randomly rotated axes: mean share of the log ratio that remains",
        mean / (columns / rows).log(),
        "<",
        0.25,
    )


show(uneven_keys())

# %% [markdown]
# {numref}`fig-early-keys` shows the contribution of each position as a query and as a key. The contribution of the first
# keys increases with the length of the sequence.

# %% tags=["remove-input"]
early_keys()

# %% [markdown]
# Unequal contributions from different positions lead to unequal column norms only if the inputs at early positions lie close
# to the coordinate axes. In a random basis, less than a quarter of the difference between keys and queries remains (measured
# on a logarithmic scale). A first token with outlying coordinates lies close to an axis. This token contributes nothing as a
# query, because it attends only to itself.
#
# In SmolLM2, a trained decoder, [the first token makes the keys uneven](#the-first-token-of-a-trained-decoder) if we
# subtract the mean of the inputs. If we do not subtract the mean, the queries are more uneven than the keys. There is
# therefore a mechanism that can produce columns with large norms in decoders but not in encoders. We do not know whether
# this mechanism produced the columns with large norms in trained decoders.
#
# ## What it means for you
#
# - If you find column dominance in your decoder with `attngeo score MODEL`, do not attribute it to how often tokens serve as
#   context.
# - Look for anything that treats queries and keys differently, for example a first token with outlying coordinates, or errors
#   that do not depend on the query.
# - Use the function `axis_alignment` to compute $D$ for the second moments of your queries and keys. The code of this
#   function is shown below, after the check of [the condition for column
#   dominance](#keys-along-the-coordinate-axes-make-columns-dominate).

# %% [markdown]
# ## One sum of squares
#
# ````{prf:lemma} rows and columns share one sum of squares
# :label: lem-s1-12-sum
#
# For every matrix $W$, we have $\sum_k \|w_{\cdot,k}\|^2 = \sum_m \|w_{m,\cdot}\|^2 = \|W\|_F^2$. Let $R = \sum_m
# \|w_{m,\cdot}\|$ and $C = \sum_k \|w_{\cdot,k}\|$. Then the difference between the variances of the $d$ row norms and of
# the $d$ column norms is
#
# $$
# \mathrm{Var}_m \|w_{m,\cdot}\| - \mathrm{Var}_k \|w_{\cdot,k}\| = (C^2 - R^2) / d^2 .
# $$ (eq-s1-12-spread)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Both sums are equal to the sum of all squared entries. The variance is the mean of the squares minus the square of the
# mean. Since the means of the squares are equal, only the squares of the means contribute to the difference.
# ```
# ````
#
# In the proof of Theorem S1.12, after Eq. S98, the authors state that "the net increase of the norm of the columns" is
# larger than the net increase of the norm of the rows. For squared norms, this is impossible. For norms, the statement is
# true in the setting of {prf:ref}`prop-s1-8`, that is, for a single context token. However, by {eq}`eq-s1-12-spread`, a
# larger sum of norms implies a *smaller* variance of the norms, whereas column dominance means that a few columns have large
# norms and all rows have norms of medium size.


# %% tags=["remove-cell"]
def spread_between_sides(row_sum: Float[Tensor, " n"], column_sum: Float[Tensor, " n"], d: int) -> Tensor:
    """Variance of the row norms minus that of the column norms, since both have one sum of squares."""
    return (column_sum.square() - row_sum.square()) / d**2


@cache
def one_sequence(d: int, exponent: float, n_draws: int, seed: int) -> Float[Tensor, "draws d d"]:
    """Autoregressive updates by sequences of tokens of one law that occur once."""
    model = UpdateModel(power_profile(d, exponent), n_tokens=16, n_sequences=1)
    return model.draw(n_draws, torch.Generator().manual_seed(seed))


# %%
@claim(
    "S1.12",
    "Eqs. S97, S98",
    "the norms of the columns grow more in total than the norms of the rows",
    Verdict.CHANGES,
    printed='"[T]he net increase of the norm of the columns is bigger than the net increase of the norm of the rows."',
    place="the proof of Theorem S1.12, after Eq. S98",
    holds=r"""For one context token of Prop. S1.8, the column norms do add up to more than the row norms. For sequences whose tokens
    have the same distribution and occur once, the two sums are equal on average. The squared norms of the rows and the
    squared norms of the columns always have the same sum, $\|W\|_F^2$.""",
    remark="""Because the squared norms have the same sum, a larger sum of the norms implies a smaller variance of the
    norms. Eq. S101 therefore follows from the quoted sentence, but Eq. S102 does not.""",
)
def net_growth(d=48, exponent=1.0, n_draws=500, seed=0):
    updates = context_tokens(d, 8, exponent, n_draws, seed)
    words = "log ratio of the sums of column norms and row norms"
    rows, columns = (squared.sqrt() for squared in squared_norms(updates))
    of_rows, of_columns = rows.sum(-1), columns.sum(-1)
    yield monte_carlo(f"one context token of Prop. S1.8: {words}", (of_columns / of_rows).log(), 0, ">", paper="> 0")
    spread = rows.var(-1, correction=0) - columns.var(-1, correction=0)
    distance = (spread - spread_between_sides(of_rows, of_columns, d)).abs().max()
    yield exact(
        "largest distance of Var(row norms) - Var(column norms) from the value given by the two sums", distance, 0, 1e-9
    )
    once = [squared.sqrt().sum(-1) for squared in squared_norms(one_sequence(d, exponent, n_draws, seed + 1))]
    yield monte_carlo(
        f"tokens of the same distribution that occur once: {words}", (once[1] / once[0]).log(), 0, paper="> 0"
    )


show(net_growth(seed=seed))

# %% [markdown]
# ## One context token
#
# ````{prf:proposition} Prop. S1.8 of the paper: growth by a context token
# :label: prop-s1-8
#
# Let one token with embedding $y$ be the only context of $N$ tokens with embeddings $x_1, \dots, x_N$. Let all these vectors be
# independent with mean zero. The covariance of each $x_i$ is $\Sigma$, and the covariance of $y$ is $\sigma_y^2 I$. **Let the
# coefficients $\beta_i$ be independent of all embeddings**. Then, for every column $k$ and every row $m$ of $\Delta W = \sum_i
# \beta_i x_i y^\top$,
#
# $$
# \frac{\mathbb{E}\|\Delta w_{\cdot,k}\|^2}{\mathbb{E}\|\Delta w_{m,\cdot}\|^2} = \frac{\mathrm{Tr}(\Sigma)}{d\,\Sigma_{mm}} ,
# $$ (eq-s1-8-ratio)
#
# which exceeds 1 if and only if the variance $\Sigma_{mm}$ is below average.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $u = \sum_i \beta_i x_i$. The update is $u y^\top$. Hence $\|\Delta w_{\cdot,k}\|^2 = y_k^2 \|u\|^2$ and
# $\|\Delta w_{m,\cdot}\|^2 = u_m^2 \|y\|^2$. Because $u$ depends only on the $x_i$ and on the coefficients, it is
# independent of $y$, and the expectations factorise. First, $\mathbb{E} y_k^2 = \sigma_y^2$ and
# $\mathbb{E}\|y\|^2 = d \sigma_y^2$. Second,
#
# $$
# \mathbb{E} u_m^2 = \sum_{i,i'} \mathbb{E}[\beta_i \beta_{i'}]\, \mathbb{E}[[x_i]_m [x_{i'}]_m]
# = \Sigma_{mm} \sum_i \mathbb{E}\beta_i^2 ,
# $$
#
# since the *vectors* are independent with mean zero, so that $\mathbb{E}[[x_i]_m [x_{i'}]_m] = 0$ for $i \neq i'$. (Before
# Eq. S57, the paper refers to independent entries instead.) The sum over $m$ is
# $\mathbb{E}\|u\|^2 = \mathrm{Tr}(\Sigma) \sum_i \mathbb{E}\beta_i^2$. The quotient of the two expected squared norms is
# {eq}`eq-s1-8-ratio`.
# ```
# ````
#
# We added the condition in bold. The authors use this condition implicitly when they take the coefficients out of the
# expectation.


# %%
def independent_ratio(covariance: Float[Tensor, "d d"], m: int) -> float:
    """``E ||column_k||^2 / E ||row_m||^2 = Tr(Sigma) / (d Sigma_mm)`` for independent beta and every k (Eq. S62)."""
    return float(covariance.trace() / (len(covariance) * covariance[m, m]))


@claim(
    "S1.8",
    "Eqs. S53-S63",
    "columns grow more than the rows whose coordinates have a below-average variance",
    Verdict.ASSUMPTION,
    printed=r"""The ratio is above 1 "$\forall k \in \{1, \dots, d\},$ $\forall m \text{ s.t. } \Sigma_{m,m} <
    \frac{\mathrm{Tr}(\Sigma)}{d}$"; $\beta$ is treated as a constant.""",
    place="Proposition S1.8, Eqs. S53 and S57 to S63",
    holds=r"""If the coefficients are independent of all embeddings and $y$ is isotropic, as stated,
    $\mathbb{E}\|\Delta w_{\cdot,k}\|^2 / \mathbb{E}\|\Delta w_{m,\cdot}\|^2 = \mathrm{Tr}(\Sigma) / (d\,\Sigma_{mm})$.""",
    missing=("independent of all embeddings",),
    remark=r"""By the same formula, rows whose coordinates have an above-average variance grow more than any column. In
    Theorem S1.12, $y$ has the distribution of all other tokens, which is not isotropic, and the ratio is then
    $\Sigma_{kk} / \Sigma_{mm}$. Eq. S61 contains $\beta_{i^*}$ instead of $\beta_{it^*}$. From Eq. S58 onwards,
    $\Gamma$ is the covariance of $y$.""",
)
def context_ratio(d=16, n_tokens=8, exponent=1.0, n_draws=8000, seed=0):
    covariance = torch.diag(power_profile(d, exponent))
    rows, columns = squared_norms(context_tokens(d, n_tokens, exponent, n_draws, seed))
    for k, m in (0, d - 1), (d - 1, d // 2), (d // 2, 0):
        ratio = ratio_samples(columns[:, k], rows[:, m])
        yield monte_carlo(f"ratio, column {k + 1} to row {m + 1}", ratio, independent_ratio(covariance, m))
    yield monte_carlo("ratio for the row of smallest variance", ratio_samples(columns[:, 0], rows[:, -1]), 1, ">")
    yield monte_carlo("ratio for the row of largest variance", ratio_samples(columns[:, 0], rows[:, 0]), 1, "<")


show(context_ratio(n_tokens=n_tokens, **profile))

# %% [markdown]
# In the theorem, all tokens have the same distribution. Under this assumption, the columns no longer grow more than the rows.
#
# ````{prf:proposition} growth if all tokens have the same distribution
# :label: prop-s1-8-one-law
#
# Suppose that the assumptions of {prf:ref}`prop-s1-8` are satisfied, except that $y$ also has covariance $\Sigma$. Then
#
# $$
# \frac{\mathbb{E}\|\Delta w_{\cdot,k}\|^2}{\mathbb{E}\|\Delta w_{m,\cdot}\|^2} = \frac{\Sigma_{kk}}{\Sigma_{mm}} ,
# $$ (eq-s1-8-one-law)
#
# whether the token with embedding $y$ is the context of all other tokens or is predicted from all other tokens.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The proof is the same as that of {prf:ref}`prop-s1-8`, but with $\mathbb{E} y_k^2 = \Sigma_{kk}$ and
# $\mathbb{E}\|y\|^2 = \mathrm{Tr}(\Sigma)$. If the token is predicted, $u$ and $y$ are exchanged, which does not change the
# two values.
# ```
# ````


# %%
@claim(
    "S1.12",
    "(use of Prop. S1.8)",
    "Prop. S1.8 applies to tokens that all have the same distribution",
    Verdict.CHANGES,
    printed=""""It follows from Proposition S1.8 that the number of times" Eq. S97 is true "is on average higher than
    the number of times" that Eq. S98 is.""",
    place="the proof of Theorem S1.12, Eqs. S97 and S98",
    holds=r"""Prop. S1.8 requires an isotropic $y$, but in Theorem S1.12, all tokens are drawn from one distribution. Then $\mathbb{E}\|\Delta
    w_{\cdot,k}\|^2 / \mathbb{E}\|\Delta w_{m,\cdot}\|^2 = \Sigma_{kk} / \Sigma_{mm}$ for a context token and for a predicted
    token. If $k$ and $m$ are exchanged, the ratio is inverted, so Eqs. S97 and S98 are true for equally many pairs.""",
)
def ratio_when_all_tokens_have_one_law():
    root = torch.tensor([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.3, 0.5]], dtype=torch.float64)
    z, sigma = coordinates(3, 3), root @ root.T
    x = z.values @ root.T  # two predicted tokens with the coefficients 1 and 1/2, and a context token
    updates = (x[:, 0] + x[:, 1] / 2).unsqueeze(2) * x[:, 2].unsqueeze(1)
    for role, of_role in (("context", updates), ("predicted", updates.mT)):
        rows, columns = map(z.mean, squared_norms(of_role))
        for k, m in ((0, 0), (0, 2), (2, 0)):
            words = f"token as {role}: ratio, column {k + 1} to row {m + 1}"
            yield exact(words, columns[k] / rows[m], ratio_of_one_law(sigma, k, m))
    words, printed = (
        "ratio for one distribution, column 3 to row 3, compared with that of Eq. S62",
        independent_ratio(sigma, 2),
    )
    yield compare(words, ratio_of_one_law(sigma, 2, 2), "≠", printed, 0.1)


def ratio_of_one_law(covariance: Float[Tensor, "d d"], k: int, m: int) -> float:
    """``E ||column_k||^2 / E ||row_m||^2 = Sigma_kk / Sigma_mm``, in either role."""
    return float(covariance[k, k] / covariance[m, m])


show(ratio_when_all_tokens_have_one_law())

# %% [markdown]
# ## More on one context token
#
# In the proof of {prf:ref}`prop-s1-8`, the cross terms vanish because the *vectors* are independent, not because their
# entries are independent. Moreover, only the diagonal of $\Sigma$ matters here, and a covariance that is *not isotropic* can
# have equal variances on its diagonal.


# %% tags=["remove-cell"]
def squared_norm_of_sum(covariance: Float[Tensor, "d d"], beta: Float[Tensor, " n"]) -> Tensor:
    """``E ||sum_i beta_i x_i||^2 = Tr(Sigma) sum_i beta_i^2`` of independent vectors (Eq. S57)."""
    return covariance.trace() * beta.square().sum()


# %%
@claim(
    "S1.8",
    "Eq. S57",
    "independent entries remove the cross terms",
    Verdict.MISPRINT,
    printed='"the statistical independence between the entries of $x_i$"',
    place="the proof of Proposition S1.8, before Eq. S57",
    holds="The argument uses the statistical independence between the vectors $x_i$ and $x_{i'}$.",
)
def independence_of_vectors():
    z, beta, sides = (
        coordinates(2, 2),
        torch.tensor([1.0, 0.5]).double(),
        "left-hand side of Eq. S57, divided by the right-hand side",
    )
    samples = (z.values @ ROOT.T, ROOT @ ROOT.T), (z.values[:, :1].expand(-1, 2, -1), torch.eye(2).double())
    apart, equal = (z.mean((beta @ x).square().sum(-1)) / squared_norm_of_sum(c, beta) for x, c in samples)
    yield exact(f"independent vectors with correlated entries: {sides}", apart, 1)
    yield compare(f"equal vectors with independent entries: {sides}", equal, "≠", 1, 0.1)


show(independence_of_vectors())

# %% [markdown]
# ### Coefficients that depend on the embeddings
#
# By {prf:ref}`prop-2-2`, the coefficient $\beta_{it^*}$ of a pair contains $y$ and the error at position $i$, which depends on
# $x_i$. The expectations can still be computed if $\beta_i = x_i^\top B y$.
#
# ````{prf:proposition} coefficients that depend on the embeddings
# :label: prop-s1-8-bilinear
#
# Let the embeddings be Gaussian, let $\sigma_y = 1$, and let $\beta_i = x_i^\top B y$ with a fixed $B$. With
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
# The update is $\Delta W = S B y y^\top$ with $S = \sum_i x_i x_i^\top$. Let $A$ be symmetric. For Gaussian vectors,
# $\mathbb{E}[x x^\top A x x^\top] = 2 \Sigma A \Sigma + \mathrm{Tr}(A \Sigma) \Sigma$. Splitting $S A S$ into terms with
# equal and with unequal indices therefore gives
#
# $$
# \mathbb{E}[S A S] = N(N+1)\, \Sigma A \Sigma + N\, \mathrm{Tr}(A\Sigma)\, \Sigma .
# $$
#
# For a standard normal $y$, $\mathbb{E}[y_k^2\, y^\top C y] = \mathrm{Tr}(C) + 2 C_{kk}$. The sum over $k$ is
# $\mathbb{E}[\|y\|^2\, y^\top C y] = (d+2)\, \mathrm{Tr}(C)$.
#
# The squared norm of column $k$ is $y_k^2\, y^\top B^\top S S B y$. We obtain its expectation by setting $A = I$ and $C =
# B^\top \mathbb{E}[SS] B = G$. The squared norm of row $m$ is $\|y\|^2\, y^\top B^\top S e_m e_m^\top S B y$. We obtain its
# expectation by setting $A = e_m e_m^\top$ and $C = B^\top [N(N+1) \Sigma e_m e_m^\top \Sigma + N \Sigma_{mm} \Sigma] B$,
# whose trace is the bracket in {eq}`eq-s1-8-bilinear`.
# ```
# ````
#
# The ratio now also depends on the column. If the coefficients are large for embeddings $x_i$ whose $m$-th entry is large,
# row $m$ grows more, and the inequality can be reversed.


# %% tags=["remove-cell"]
def bilinear_squared_norms(
    covariance: Float[Tensor, "d d"], form: Float[Tensor, "d d"], n_tokens: int
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Expected squared row and column norms with ``beta_i = x_i^T B y``, Gaussian: the proposition above."""
    d, n, twice = len(covariance), n_tokens, n_tokens * (n_tokens + 1)
    rows = (
        twice * (covariance @ form).square().sum(-1) + n * covariance.diagonal() * (form.T @ covariance @ form).trace()
    )
    g = form.T @ (twice * covariance @ covariance + n * covariance.trace() * covariance) @ form
    return (d + 2) * rows, g.trace() + 2 * g.diagonal()


# %%
@claim(
    "S1.8",
    "(coefficients of Prop. 2.2 of the paper)",
    "the ratio remains the same if the coefficients depend on the embeddings",
    Verdict.ASSUMPTION,
    printed=r"""The coefficient $\beta_{it^*}$ is taken out of the expectation: "$\sum_i \beta_{it^*}^2\,
    \mathbb{E}[x_i^\top x_i]$".""",
    place="the proof of Proposition S1.8, Eqs. S57 and S60",
    holds=r"""The ratio is correct if the coefficients are independent of all embeddings. With $\beta_i = x_i^\top B y$ and Gaussian
    embeddings, the ratio is $(\mathrm{Tr}\,G + 2 G_{kk}) / \big((d+2)[N(N+1)\|(\Sigma B)_{m,\cdot}\|^2 + N \Sigma_{mm}
    \mathrm{Tr}(B^\top \Sigma B)]\big)$ with $G = B^\top [N(N+1)\Sigma^2 + N\,\mathrm{Tr}(\Sigma)\,\Sigma] B$. This ratio also depends on $k$, and Eq. S53
    is false for some $B$.""",
    missing=("independent of all embeddings",),
    remark=r"""By Prop. 2.2 of the paper, $\beta_{it^*}$ is a function of $y$ and of the error at position $i$, and therefore of $x_i$.""",
)
def context_ratio_of_dependent_coefficients():
    z, covariance = coordinates(3, 2), ROOT @ ROOT.T
    x, y = z.values[:, :2] @ ROOT.T, z.values[:, 2:]
    for coefficients, b in {"generic $B$": [[1, -2], [0.5, 1]], "coefficients $x_2 y_1$": [[0, 0], [1, 0]]}.items():
        b = torch.tensor(b, dtype=torch.float64)
        norms, expected = squared_norms(x.mT @ (x @ b @ y.mT) @ y), bilinear_squared_norms(covariance, b, 2)
        yield from of_two_coordinates(f"{coefficients}, two predicted tokens: ", map(z.mean, norms), expected)
    words = f"{coefficients}: ratio, column 2 to row 2, of below-average variance"
    ratio = expected[1][1] / expected[0][1]
    yield compare(f"{words}, compared with Eq. S62", ratio, "≠", independent_ratio(covariance, 1), 0.1)
    yield compare(f"{words}, compared with Eq. S53", ratio, "<", 1, 0.1, paper="> 1")


show(context_ratio_of_dependent_coefficients())

# %% [markdown]
# ### One predicted token
#
# ````{prf:corollary} Cor. S1.9 of the paper: growth by a predicted token
# :label: cor-s1-9
#
# Let the roles in {prf:ref}`prop-s1-8` be exchanged, so that one token with embedding $y$ is predicted from
# $x_1, \dots, x_N$. Under the same assumptions,
#
# $$
# \frac{\mathbb{E}\|\Delta w_{\cdot,k}\|^2}{\mathbb{E}\|\Delta w_{m,\cdot}\|^2} = \frac{d\,\Sigma_{kk}}{\mathrm{Tr}(\Sigma)} .
# $$ (eq-s1-9-ratio)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The update $y u^\top$ is the transpose of the update in {prf:ref}`prop-s1-8`, so rows and columns are exchanged.
# ```
# ````
#
# In Equation S66 of the paper, the squared norm of a sum of embeddings is replaced by the sum of their squared norms, and the
# coefficients are omitted. The two expressions are different for individual updates, although their expectations agree if all
# $\beta = 1$.


# %%
def predicted_token_ratio(covariance: Float[Tensor, "d d"], k: int) -> float:
    """``E ||column_k||^2 / E ||row_m||^2 = d Sigma_kk / Tr(Sigma)`` for every m (Eq. S67)."""
    return float(len(covariance) * covariance[k, k] / covariance.trace())


@claim(
    "S1.9",
    "Eqs. S64, S67",
    "rows grow more than the columns whose coordinates have a below-average variance",
    Verdict.ASSUMPTION,
    printed=r"""The ratio is below 1 "$\forall m \in \{1, \dots, d\},$ $\forall k \text{ s.t. } \Sigma_{k,k} <
    \frac{\mathrm{Tr}(\Sigma)}{d}$"; the coefficients are left out.""",
    place="Corollary S1.9, Eqs. S64 to S67",
    holds=r"""If the coefficients are independent of all embeddings and $y$ is isotropic as in Prop. S1.8, the ratio is
    $d\,\Sigma_{kk} / \mathrm{Tr}(\Sigma)$.""",
    missing=("independent of all embeddings",),
    remark='The proof cites "Proposition S1.4.2" instead of Proposition S1.8.',
)
def prediction_ratio(d=16, n_tokens=8, exponent=1.0, n_draws=8000, seed=0):
    rows, columns = squared_norms(context_tokens(d, n_tokens, exponent, n_draws, seed).mT)
    covariance = torch.diag(power_profile(d, exponent))
    for k, m in (d - 1, 0), (d // 2, d - 1), (0, d // 2):
        ratio = ratio_samples(columns[:, k], rows[:, m])
        yield monte_carlo(f"ratio, column {k + 1} to row {m + 1}", ratio, predicted_token_ratio(covariance, k))


show(prediction_ratio(n_tokens=n_tokens, **profile))

# %% [markdown]
# ## Equal expected norms
#
# ````{prf:proposition} equal expected norms for every objective
# :label: prop-s1-12-expectation
#
# Let the embeddings $e_a$ of the vocabulary be independent and identically distributed with mean zero and finite fourth
# moments. Let $B_{ab}$ be the sum of the coefficients of all pairs in which token $a$ is predicted from token $b$. If $B$ is
# independent of the embeddings, the update $\Delta W = \sum_{ab} B_{ab}\, e_a e_b^\top$ satisfies
#
# $$
# \mathbb{E}[\Delta W \Delta W^\top] = \mathbb{E}[\Delta W^\top \Delta W] ,
# $$ (eq-s1-12-expectation)
#
# so that $\mathbb{E}\|w_{k,\cdot}\|^2 = \mathbb{E}\|w_{\cdot,k}\|^2$ for every $k$. If no token is paired with itself, both
# expectations are $\mathrm{Tr}(\Sigma)\Sigma_{kk}\|B\|_F^2 + (\Sigma^2)_{kk}\mathrm{Tr}(BB)$ for given $B$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# For given $B$,
#
# $$
# \mathbb{E}[\Delta W^\top \Delta W] = \sum_{ab,a'b'} B_{ab} B_{a'b'}\, \mathbb{E}[(e_a^\top e_{a'})\, e_b e_{b'}^\top],
# \qquad
# \mathbb{E}[\Delta W \Delta W^\top] = \sum_{ab,a'b'} B_{ab} B_{a'b'}\, \mathbb{E}[(e_b^\top e_{b'})\, e_a e_{a'}^\top] .
# $$
#
# Because the embeddings are independent with mean zero, a term is zero if a token occurs in it exactly once. The remaining
# terms are listed in the following table, where $a \neq b$ unless all tokens are equal:
#
# | tokens | factor | $\Delta W^\top \Delta W$ | $\Delta W \Delta W^\top$ |
# |---|---|---|---|
# | $a' = a$, $b' = b$ | $B_{ab}^2$ | $\mathrm{Tr}(\Sigma)\,\Sigma$ | $\mathrm{Tr}(\Sigma)\,\Sigma$ |
# | $a' = b$, $b' = a$ | $B_{ab} B_{ba}$ | $\Sigma^2$ | $\Sigma^2$ |
# | $b = a$, $b' = a'$, $a' \neq a$ | $B_{aa} B_{a'a'}$ | $\Sigma^2$ | $\Sigma^2$ |
# | all equal | $B_{aa}^2$ | $\mathbb{E}[\lVert e\rVert^2 e e^\top]$ | $\mathbb{E}[\lVert e\rVert^2 e e^\top]$ |
#
# The last two columns of the table agree in every row. If no token is paired with itself, only the terms in the first two
# rows remain, which gives the last statement.
# ```
# ````


# %%
def vocabulary_squared_norms(covariance: Float[Tensor, "d d"], beta: Float[Tensor, "v v"]) -> tuple[Tensor, Tensor]:
    """``E ||row_k||^2 = E ||column_k||^2`` where no pair is of equal tokens: the proposition's last sentence."""
    norms = covariance.trace() * covariance.diagonal() * beta.square().sum()
    norms = norms + (covariance @ covariance).diagonal() * (beta @ beta).trace()
    return norms, norms


@claim(
    "S1.12",
    "(expected norms)",
    "for independent embeddings with one distribution, columns gain more often than rows",
    Verdict.CHANGES,
    printed=COUNTED,
    place="the proof of Theorem S1.12, Eqs. S96 to S98",
    holds=r"""If the embeddings of the vocabulary are independent and identically distributed, and the coefficients are independent of the
    embeddings, $\mathbb{E}[\Delta W \Delta W^\top] = \mathbb{E}[\Delta W^\top \Delta W]$. Row $k$ and column $k$ therefore have the
    same expected squared norm for every objective and for any order and frequency of the tokens.""",
)
def equal_expected_norms():
    beta = torch.tensor([[0.0, 1.0, -0.5], [2.0, 0.0, 0.5], [3.0, 1.0, 0.0]], dtype=torch.float64)
    z = coordinates(3, 2, kurtosis=5.0)
    e, expected = z.values @ ROOT.T, vocabulary_squared_norms(ROOT @ ROOT.T, beta)
    yield from of_two_coordinates("", map(z.mean, squared_norms(e.mT @ beta @ e)), expected)
    of_equal = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64).diag()
    rows, columns = map(z.mean, squared_norms(e.mT @ (beta + of_equal) @ e))
    for k in (0, 1):
        words = f"with pairs of equal tokens: squared norm of column {k + 1} minus that of row {k + 1}"
        yield exact(words, columns[k] - rows[k], paper="> 0")


show(equal_expected_norms())

# %% [markdown]
# ## The matrix at initialisation
#
# In the proof of {prf:ref}`thm-s1-12`, the authors assume that the entries of the matrix at initialisation are independent
# with mean $\mu$ and variance $\sigma^2$. The moments that they derive are wrong, but the proof requires only that rows and
# columns have the same distribution, which is true. The entries of $W_q W_k^\top$ are uncorrelated, but not independent. The
# rows and columns of this product have the same distribution if $W_q$ and $W_k$ have the same distribution.


# %%
def squared_norm_variance(n: int, mu: float, sigma: float) -> float:
    """``n (2 sigma^4 + 4 mu^2 sigma^2)``: variance of the squared norm of n independent Gaussian entries."""
    return n * (2 * sigma**4 + 4 * mu**2 * sigma**2)


def initial_moments(n: int, sigma: float) -> tuple[float, float, float]:
    """``sigma^2 / n``, the variance of the mean of n centred Gaussian entries; mean and variance of their norm."""
    mean = sigma * math.sqrt(2) * math.exp(math.lgamma((n + 1) / 2) - math.lgamma(n / 2))
    return sigma**2 / n, mean, n * sigma**2 - mean**2


@claim(
    "S1.12",
    "(text before S1.11), Eqs. S99, S100",
    "rows and columns have the stated moments at initialisation",
    Verdict.MISPRINT,
    printed=r"""Columns and rows "have the same mean $\mu$ and variance $\sigma^2 / \sqrt{n}$", their squared norms "variance
    $n(2\sigma^4 + 4\mu^2)$"; "$\mathbb{E}[\|w_{m,\cdot}\|]\big|_{\text{init}}$ $=
    \mathbb{E}[\|w_{\cdot,k}\|]\big|_{\text{init}} = \mu$" and "$\mathrm{Var}(\|w_{m,\cdot}\|)\big|_{\text{init}}$ $=
    \mathrm{Var}(\|w_{\cdot,k}\|)\big|_{\text{init}} = \sigma^2$".""",
    place="Section S1.4.4, before Lemma S1.11, and in the proof of Theorem S1.12, Eqs. S99 and S100",
    holds=r"""The mean of the $n$ entries of a row has the variance $\sigma^2/n$. For Gaussian entries, the squared norm has the variance
    $n(2\sigma^4 + 4\mu^2\sigma^2)$, and $\mathbb{E}\|w\| \approx \sqrt{n(\sigma^2+\mu^2)}$, $\mathrm{Var}\|w\| \approx
    \sigma^2(\sigma^2 + 2\mu^2) / (2(\sigma^2+\mu^2))$.""",
    remark="The proof requires only that rows and columns have the same distribution at initialisation, which is true.",
)
def initial_rows(n=64, sigma=2.0, n_draws=300, seed=0):
    entries = sigma * torch.randn(n_draws, n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    of_mean, mean, of_norm = initial_moments(n, sigma)
    norms, printed = entries.norm(dim=-1), f"= {sigma**2 / math.sqrt(n)}"
    yield monte_carlo("variance of the mean entry", entries.mean(-1).square().mean(-1), of_mean, paper=printed)
    z, mu = coordinates(1, 4), 0.5
    squares = (mu + sigma * z.values).square().sum((1, 2))
    variance, printed = z.mean((squares - z.mean(squares)).square()), f"= {4 * (2 * sigma**4 + 4 * mu**2)}"
    words = rf"variance of the squared norm of 4 entries, $\mu$ = {mu}"
    yield exact(words, variance, squared_norm_variance(4, mu, sigma), paper=printed)
    yield monte_carlo("mean row norm", norms.mean(-1), mean, paper="= 0")
    yield monte_carlo("variance of row norms", (norms - mean).square().mean(-1), of_norm, paper=f"= {sigma**2}")


show(initial_rows(n=d, seed=seed))

# %% [markdown]
# ## From variance to tails
#
# ````{prf:lemma} Lemma S1.11 of the paper: larger variance and heavier tail; corrected
# :label: lem-s1-11
#
# Let $X_a = \mu + \sigma_a Z$ and $X_b = \mu + \sigma_b Z'$, where $Z$ and $Z'$ have the same distribution and
# $\sigma_a > \sigma_b > 0$. Then $\Pr[X_a > z] \ge \Pr[X_b > z]$ for all $z \ge \mu$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# We have $\Pr[X_a > z] = \Pr[Z > (z - \mu)/\sigma_a]$ and, likewise, $\Pr[X_b > z] = \Pr[Z > (z - \mu)/\sigma_b]$. For
# $z \ge \mu$, $(z - \mu)/\sigma_a \le (z - \mu)/\sigma_b$.
# ```
# ````
#
# The paper states this lemma for *any* two distributions with equal means and for all $z > \sqrt{\sigma_a \sigma_b} - \mu$. Both
# generalisations are wrong.
#
# - Two moments do not determine which tail is heavier. For example, the variable with the larger variance may be bounded by
#   a value that the variable with the smaller variance exceeds.
# - If the mean is large, the range of $z$ includes values below the mean. At such values, the distribution with the larger variance has the
#   *lighter* tail, even if both distributions have the same shape.
#
# In the proof, a square is divided by the wrong second moment. Moreover, the second-moment inequality is applied to a
# variable with a negative mean, for which the inequality does not hold. As a result, the lower bound on a probability
# exceeds 1 in our check. The corrected lemma does not apply to the norms of rows and columns, because these norms are
# positive and skewed, and their distributions have different shapes.


# %%
def printed_threshold(sigma_a: float, sigma_b: float, mu: float) -> float:
    """``sqrt(sigma_a sigma_b) - mu`` (Eq. S93 as printed)."""
    return math.sqrt(sigma_a * sigma_b) - mu


DISCRETE = rv_discrete(values=((-1, 1), (0.5, 0.5))), rv_discrete(values=((-3, 0, 3), (0.05, 0.9, 0.05)))
GAUSSIANS = norm(10.0, 2.0), norm(10.0, 1.0)


@claim(
    "S1.11",
    "",
    "a larger variance gives the heavier upper tail",
    Verdict.CHANGES,
    printed=r'''"$\Pr[X_a > z] \geq \Pr[X_b > z]$ $\forall z > \sqrt{\sigma_a \sigma_b} - \mu$" whenever the two "have
    the same mean $\mu$ and different variance $\sigma_a^2 > \sigma_b^2$"''',
    place="Lemma S1.11, Eq. S88",
    holds=r"""If $X_a$ and $X_b$ are $\mu + \sigma_a Z$ and $\mu + \sigma_b Z$ with the same $Z$, the inequality is true for
    all $z \geq \mu$. For two arbitrary distributions, nothing follows, because the distribution with the smaller variance may have
    the longer tail.""",
    remark=r"""Even with the same $Z$, if the threshold that is printed in the paper lies below $\mu$, the inequality is
    reversed for all $z$ between this threshold and $\mu$.""",
)
def tail_order(z=2.0):
    (wide, far), (a, b) = DISCRETE, GAUSSIANS
    yield exact("difference between the means of the discrete distributions a and b", wide.mean() - far.mean())
    yield compare("variance of a, compared with that of b", wide.var(), ">", far.var(), 1e-9)
    threshold = printed_threshold(wide.std(), far.std(), wide.mean())
    yield compare("z, compared with the threshold of Eq. S88", z, ">", threshold)
    words = rf"$\Pr[X_a > z]$, compared with $\Pr[X_b > z]$ at $z$ = {z:g}"
    yield compare(words, wide.sf(z), "<", far.sf(z), 1e-9, paper=f"> {far.sf(z)}")
    mu, z = a.mean(), a.mean() - a.std()
    threshold = printed_threshold(a.std(), b.std(), mu)
    yield compare(f"Gaussians with mean {mu:g}: $z$ = {z:g}, compared with the threshold", z, ">", threshold)
    words = rf"Gaussians: $\Pr[X_a > z]$, compared with $\Pr[X_b > z]$ at $z$ = {z:g}"
    yield compare(words, a.sf(z), "<", b.sf(z), 1e-9, paper=f"> {b.sf(z)}")
    beyond = mu + np.arange(80) / 8
    words = r"Gaussians: smallest difference between the tails for $z \ge \mu$"
    yield compare(words, (a.sf(beyond) - b.sf(beyond)).min(), ">", -1e-15)


show(tail_order())


# %%
def solved_threshold(sigma_a: float, sigma_b: float, mu: float) -> float:
    """``mu + sqrt(sigma_a sigma_b)``: from where on Eq. S92 holds, among z > mu."""
    return mu + math.sqrt(sigma_a * sigma_b)


@claim(
    "S1.11",
    "Eqs. S91, S93",
    "a lower bound on the tail leads to the printed threshold",
    Verdict.CHANGES,
    printed=r'''"$\Pr[X_a > z] = \Pr[X_a - z > 0]$ $\geq \frac{(\mathbb{E}[X_a - z])^2}{\mathbb{E}[(X_a - z)^2]}$ $=
    \big(\frac{\mu - z}{\sigma_a}\big)^2$"; hence "$z > \sqrt{\sigma_a \sigma_b} - \mu$"''',
    place="the proof of Lemma S1.11, Eqs. S91 and S93",
    holds=r"""The second-moment inequality bounds $\Pr[Y > 0]$ from below only if $\mathbb{E}Y \geq 0$, which means $z \leq \mu$
    here. The denominator of this bound is $\sigma_a^2 + (\mu - z)^2$. Eq. S92 as printed would give $z > \mu +
    \sqrt{\sigma_a\sigma_b}$.""",
)
def tail_bounds(sigma_a=4.0, sigma_b=2.0, mu=0.5):
    z = mu + 2 * sigma_a
    squared, solved = (mu - z) ** 2, solved_threshold(sigma_a, sigma_b, mu)
    between = (printed_threshold(sigma_a, sigma_b, mu) + solved) / 2

    def excess(x: float) -> float:  # right minus left side of Eq. S92
        return ((x - mu) / sigma_a) ** 2 - (sigma_b / (x - mu)) ** 2

    yield compare("lower bound of Eq. S91 on a probability", squared / sigma_a**2, ">", 1, 1e-9, paper="< 1")
    words = "this bound with the correct second moment, compared with the probability"
    yield compare(words, squared / (sigma_a**2 + squared), ">", norm.sf(z, mu, sigma_a), 1e-9)
    yield exact(r"right-hand minus left-hand side of Eq. S92 at $\mu + \sqrt{\sigma_a \sigma_b}$", excess(solved))
    yield compare(r"$\mu + \sqrt{\sigma_a \sigma_b}$, compared with $\mu$", solved, ">", mu, 1e-9)
    words = "right-hand minus left-hand side of Eq. S92 between this value and the printed threshold"
    yield compare(words, excess(between), "<", 0, 1e-9, paper="> 0")


show(tail_bounds())

# %% [markdown]
# ## Repeated tokens
#
# A token that occurs in several sequences has the same embedding in all of these sequences. If such a token is the last
# token of every sequence, the update no longer has the same distribution as its transpose. The expected squared norms of
# rows and columns remain equal. The expected fourth powers of the norms can differ, but not for Gaussian embeddings.
#
# ````{prf:theorem} the effect of counts depends on the kurtosis
# :label: thm-s1-12-counts
#
# Let the embeddings $e_a$ of the vocabulary have the coordinates $[e_a]_k = \sqrt{\lambda_k}\, z_{ak}$, where the $z_{ak}$ are
# independent and identically distributed with mean 0, variance 1 and finite kurtosis $\kappa = \mathbb{E} z^4$. Let $n_{ab}$ be
# the number of pairs in which token $a$ is predicted from token $b \neq a$, so that $\mu_c(b) = \sum_a n_{ab}$ and $\mu_p(a) =
# \sum_b n_{ab}$. Let the coefficients $\beta_p$ of all pairs $p$ be independent of each other and of the embeddings, with mean
# 0, variance 1 and finite fourth moments. Let $s_r = \sum_k \lambda_k^r$. Then the update $W = \sum_p \beta_p e_{a_p}
# e_{b_p}^\top$ satisfies
#
# $$
# \mathbb{E}\sum_k \|w_{\cdot,k}\|^4 - \mathbb{E}\sum_m \|w_{m,\cdot}\|^4
# = (\kappa - 3)\, s_2 (s_1^2 - s_2) \sum_a \bigl( \mu_c(a)^2 - \mu_p(a)^2 \bigr) .
# $$ (eq-s1-12-counts)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# We first take the expectation over the coefficients. For independent $\beta_p$ with mean 0 and variance 1,
# $\mathbb{E}[\beta_p \beta_q \beta_r \beta_s]$ is the number of ways to split $p, q, r, s$ into two pairs of equal indices.
# If all four indices are equal, $\mathbb{E}\beta_p^4 - 3$ is added to this number. We write $p = (a, b)$ and $q = (a', b')$
# for the tokens of two pairs. Column $k$ is $\sum_p \beta_p [e_b]_k e_a$, and therefore
#
# $$
# \mathbb{E}_\beta \sum_k \|w_{\cdot,k}\|^4 = \sum_{p,q} \sum_k [e_b]_k^2 [e_{b'}]_k^2
# \bigl( \|e_a\|^2 \|e_{a'}\|^2 + 2 (e_a^\top e_{a'})^2 \bigr)
# + \sum_p (\mathbb{E}\beta_p^4 - 3) \sum_k [e_b]_k^4 \|e_a\|^4 .
# $$
#
# The same formula holds for the rows if $a$ is exchanged with $b$ and $a'$ is exchanged with $b'$. The expectation of the
# last sum does not change under these exchanges, because the two embeddings are independent and identically distributed. Let
# $F$ be the expectation of the term for $p$ and $q$ in the first sum, and let $G$ be the same expectation after these
# exchanges. The difference $F - G$ depends on which of the four tokens are equal:
#
# - If $\{a, b\}$ and $\{a', b'\}$ have no token in common, or if $a = a'$ and $b = b'$, or if $a = b'$ and $b = a'$, then
#   $F = G$, because renaming independent and identically distributed embeddings turns $F$ into $G$.
# - If $a = b'$, and the tokens $b$ and $a'$ differ from this token and from each other, then $F = G$, because renaming $b$
#   and $a'$ turns $F$ into $G$. The same is true for $b = a'$.
# - If $a = a'$ and $b \neq b'$, then $F = 3 s_2\, \mathbb{E}\|e\|^4 = 3 s_2 (s_1^2 + (\kappa - 1) s_2)$ and
#   $G = \sum_k \mathbb{E}[e]_k^4\, (s_1^2 + 2 s_2) = \kappa s_2 (s_1^2 + 2 s_2)$, so that $F - G = -A$ with
#   $A = (\kappa - 3) s_2 (s_1^2 - s_2)$. Likewise, $F - G = A$ if $b = b'$ and $a \ne a'$.
#
# In the third case, $-A$ occurs $\sum_t (\mu_p(t)^2 - \sum_b n_{tb}^2)$ times, and $A$ occurs
# $\sum_t (\mu_c(t)^2 - \sum_a n_{at}^2)$ times. The sums of the squares $n_{tb}^2$ and $n_{at}^2$ cancel.
# ```
# ````
#
# Because the formula contains the squares of the counts, one token that is predicted very often outweighs many tokens that
# serve as context slightly more often than they are predicted. The sign of the difference depends on the kurtosis of the
# coordinates, which measures how heavy their tails are. The kurtosis of a Gaussian is 3. For the same counts, the
# difference has opposite signs for a kurtosis above 3 and for a kurtosis below 3: if the columns are more uneven than the
# rows in one of these two cases, the rows are more uneven than the columns in the other case.


# %% tags=["remove-cell"]
def fourth_power_difference(
    variances: Float[Tensor, " d"], pairs: Float[Tensor, "vocab vocab"], kurtosis: float
) -> float:
    """``E sum_k ||column_k||^4 - E sum_m ||row_m||^4``: the theorem above; ``pairs`` are n_ab, without a diagonal."""
    s1, s2 = float(variances.sum()), float(variances.square().sum())
    by_counts = float((pairs.sum(0).square() - pairs.sum(1).square()).sum())
    return (kurtosis - 3) * s2 * (s1**2 - s2) * by_counts


@cache
def every_update(pairs: tuple[tuple[int, int], ...], variances: tuple[float, ...], kurtosis: float) -> Outcomes:
    """All outcomes of the update by pairs (a, b), coefficients of independent signs, (outcomes, d, d)."""
    a, b = torch.tensor(pairs).T
    e = coordinates(1 + max(map(max, pairs)), len(variances), kurtosis)
    x = e.values * torch.tensor(variances, dtype=torch.float64).sqrt()
    beta = signs(len(pairs), 1).double()[..., 0]
    updates = torch.einsum("sp,epi,epj->esij", beta, x[:, a], x[:, b]).flatten(0, 1)
    return Outcomes(updates, e.probability.repeat_interleave(len(beta)) / len(beta))


# %%
@claim(
    "S1.12",
    "(counts and kurtosis)",
    "serving as context more often makes the columns more uneven",
    Verdict.CHANGES,
    printed=COUNTED,
    place="the proof of Theorem S1.12, Eqs. S96 to S98",
    holds=r"""Suppose that the coefficients are independent, that the embeddings have $d$ independent coordinates of
    variance 1 and kurtosis $\kappa$, and that no token occurs twice in a sequence. Then
    $\mathbb{E}\sum_k \|w_{\cdot,k}\|^4 - \mathbb{E}\sum_m \|w_{m,\cdot}\|^4 = d^2 (d - 1) (\kappa - 3) \sum_t
    (\mu_c(t)^2 - \mu_p(t)^2)$. This difference contains the squares of the counts, so one frequent token outweighs most
    other tokens. The sign of the difference depends on the kurtosis.""",
)
def counts_and_kurtosis():
    difference, variances = r"$\mathbb{E}\sum_k \|w_{\cdot,k}\|^4 - \mathbb{E}\sum_m \|w_{m,\cdot}\|^4$", (1.0, 0.5)
    for pairs, said, paper in (
        (((2, 0), (2, 1)), "two tokens are context of a third token, which ends both sequences", "> 0"),
        (((0, 2), (1, 2)), "one token begins both sequences", ""),
    ):
        counts = torch.zeros(3, 3).double().index_put(tuple(torch.tensor(pairs).T), torch.ones(2).double())
        for kurtosis in (2.0, 5.0):  # below a Gaussian's and above
            update = every_update(pairs, variances, kurtosis)
            rows, columns = (squared.square().sum(-1) for squared in squared_norms(update.values))
            formula = fourth_power_difference(torch.tensor(variances).double(), counts, kurtosis)
            words = f"{said}: {difference} for a kurtosis of {kurtosis:g}"
            yield exact(words, update.mean(columns - rows), formula, 1e-9, paper=paper)


show(counts_and_kurtosis())


# %%
@cache
def closed_sequences(d: int, n_draws: int, seed: int) -> dict[Law, Float[Tensor, "draws d d"]]:
    """Updates by eight sequences that end with the same token, all others once, by the law of the coordinates."""
    tokens = torch.cat([torch.arange(24).view(8, 3), torch.full((8, 1), 24)], dim=1)
    variances, generator = power_profile(d, 0.1), torch.Generator().manual_seed(seed)
    updates = {}
    for law in Law:
        x = (law.draw(n_draws, 25, d, generator=generator) * variances.sqrt())[:, tokens]
        beta = torch.randn(n_draws, 8, 4, 4, generator=generator, dtype=torch.float64)
        updates[law] = (x.mT @ (beta * context_matrix(Objective.AUTOREGRESSIVE, 4)) @ x).sum(1)
    return updates


@claim(
    "S1.12",
    "(repeated tokens)",
    "columns dominate if one token ends every sequence",
    Verdict.CHANGES,
    printed=r""""[T]here exists a value $\gamma \in \mathbb{R}$ such that, $\Pr[\|w_{\cdot,k}\| > w] >
    \Pr[\|w_{m,\cdot}\| > w]$ $\forall w > \gamma$".""",
    place="Theorem S1.12, Eq. S94",
    holds="""Let every sequence end with the same token, and let all other tokens occur once. The ratio in Eq. S96 is then above 1 for
    every other token. Large norms occur among the rows if the coordinates of the embeddings have a Laplace distribution, among the
    columns if they have a uniform distribution, and equally often among rows and columns if they have a Gaussian
    distribution.""",
)
def repeated_tokens(d=48, n_draws=600, seed=0):
    sides = {Law.GAUSSIAN: "=", Law.LAPLACE: "<", Law.UNIFORM: ">"}
    for law, updates in closed_sequences(d, n_draws, seed).items():
        words = f"{law.value} embeddings (kurtosis {law.kurtosis:g}): {LARGE_NORMS}"
        yield monte_carlo(words, tail_gap(updates), 0, sides[law], paper="> 0")


show(repeated_tokens(seed=seed))

# %% [markdown]
# ## Alignment in a random basis
#
# In a random basis, the mean of the alignment $D(S)$ in {prf:ref}`prop-s1-12-condition` is 1 for *every* spectrum. For a
# random unit vector $q$, we have $\mathbb{E} q_i^4 = 3 / (d(d+2))$ and $\mathbb{E} q_i^2 q_j^2 = 1 / (d(d+2))$. Therefore
# $\mathbb{E} (q^\top S q)^2 = (\mathrm{Tr}(S)^2 + 2\,\mathrm{Tr}(S^2)) / (d(d+2))$ for each of the $d$ diagonal entries. For
# a single vector $e$ and $S = e e^\top$, $D$ is one third of the kurtosis of the entries of $e$, up to the factor $(d+2)/d$.
#
# ## Coefficients that are linear in the key
#
# In Prop. 2.2 of the paper, as printed, the coefficients are $\beta_{ij} = \delta_i^\top x_j$, where $\delta_i$ is the
# error in predicting token $i$. Such a coefficient is linear in the key $x_j$.
#
# ````{prf:proposition} errors independent of the embeddings
# :label: prop-s1-12-errors
#
# Let the embeddings be Gaussian, and let $\beta_{ij} = \delta_i^\top x_j$, where the errors $\delta_i$ have mean zero and
# covariance $I/d$ and are independent of each other and of the embeddings. With $n_i = |C_i|$ and $K_i = \bigl(
# n_i(n_i+1)\Sigma^2 + n_i \mathrm{Tr}(\Sigma) \Sigma \bigr)/d$, for $i \notin C_i$,
#
# $$
# \mathbb{E}\|w_{m,\cdot}\|^2 = \Sigma_{mm} \sum_i \mathrm{Tr}(K_i), \qquad
# \mathbb{E}\|w_{\cdot,k}\|^2 = \mathrm{Tr}(\Sigma) \sum_i (K_i)_{kk} .
# $$ (eq-s1-12-errors)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The update is $\sum_i x_i (A_i \delta_i)^\top$ with $A_i = \sum_{j \in C_i} x_j x_j^\top$. The products of terms with
# different $i$ have expectation zero, because the errors are independent with mean zero. Because $i \notin C_i$, $x_i$ is
# independent of $A_i$, and $\mathbb{E}[A_i \delta_i \delta_i^\top A_i] = \mathbb{E}[A_i^2]/d$. Each pair of equal indices adds
# $\mathbb{E}[x x^\top x x^\top] = 2 \Sigma^2 + \mathrm{Tr}(\Sigma)\, \Sigma$ to $\mathbb{E}[A_i^2]$, and each pair of different
# indices adds $\Sigma^2$, which gives $K_i$.
# ```
# ````
#
# The expected squared norms of the rows are proportional to the diagonal of $\Sigma$, whereas those of the columns also
# depend on $\Sigma^2$. If $\Sigma$ is *diagonal* with unequal variances $\lambda_k$, the expected squared norms of the
# columns are therefore more uneven than those of the rows.
#
# ````{dropdown} Proof
# ```{prf:proof}
# We normalise the expected squared norms of the rows so that their sum is 1, and likewise those of the columns.  The rows
# then have the values $p_k \propto \lambda_k$, and the columns have the values $q_k = p_k h_k$, where $h_k$ increases with
# $\lambda_k$. Chebyshev's sum inequality gives $\sum_k p_k q_k \ge \sum_k p_k^2$, with equality only if all $\lambda_k$ are
# equal. By the Cauchy–Schwarz inequality, $(\sum_k p_k q_k)^2 \le \sum_k p_k^2 \sum_k q_k^2$. Together, the two inequalities
# imply $\sum_k q_k^2 \ge \sum_k p_k^2$.
# ```
# ````
#
# If the coordinates are correlated, the rows can be more uneven instead, because $(\Sigma^2)_{kk}$ contains the squared
# covariances of coordinate $k$ with all other coordinates.
#
# With uncorrelated coordinates, the *conclusion* of {prf:ref}`thm-s1-12` is therefore true for expected squared norms, but
# not for the reason given in the proof. Moreover, the conclusion is also true for bidirectional training, which contradicts
# Cor. S1.13 of the paper. We have not proven any statement about tails. If the error depends linearly on the embedding of
# the query, $\delta_i = B^\top x_i$, case (b) of {prf:ref}`prop-s1-12-law` applies. In simulations, the exact gradients of a
# small Transformer with random weights and a softmax behave as if the errors were independent of the embeddings, but we have
# no proof.


# %% tags=["remove-cell"]
def error_squared_norms(
    covariance: Float[Tensor, "d d"], context_sizes: Sequence[int]
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Expected squared row and column norms for ``beta_ij = delta_i^T x_j``: the proposition above."""
    linear = sum(context_sizes) * covariance.trace() * covariance
    square = sum(n * (n + 1) for n in context_sizes) * covariance @ covariance
    keys = (linear + square) / len(covariance)  # sum of the K_i
    return covariance.diagonal() * keys.trace(), covariance.trace() * keys.diagonal()


@cache
def every_error(objective: Objective, n_tokens: int = 3) -> Outcomes:
    """Updates of three tokens and independent errors; few, so that n (n + 1) is far from n^2, (outcomes, 2, 2)."""
    z, errors = coordinates(n_tokens, 2), signs(n_tokens, 2).double() / 2**0.5
    x = (z.values @ ROOT.T)[:, None]
    beta = errors @ x.mT * context_matrix(objective, n_tokens)
    probability = z.probability.repeat_interleave(len(errors)) / len(errors)
    return Outcomes((x.mT @ beta @ x).flatten(0, 1), probability)


def correlated_coordinates() -> Float[Tensor, "4 4"]:
    """A covariance of three correlated coordinates of small variance and one of large."""
    block = torch.full((3, 3), 0.9, dtype=torch.float64).fill_diagonal_(1.0)
    return torch.block_diag(torch.tensor([[2.0]]).double(), block)


# %%
@claim(
    "S1.12",
    "(errors independent of the embeddings)",
    "coefficients that are linear in the key make the columns more uneven if the coordinates are uncorrelated",
    Verdict.HOLDS,
    ours=True,
)
def independent_errors():
    for objective in BOTH:
        every, sizes = every_error(objective), context_matrix(objective, 3).sum(-1).tolist()
        norms, expected = map(every.mean, squared_norms(every.values)), error_squared_norms(ROOT @ ROOT.T, sizes)
        yield from of_two_coordinates(f"{objective}, three tokens: ", norms, expected)
    words = "unevenness of the expected columns, compared with that of the rows, for"
    for covariance, of, sign in (
        (torch.diag(power_profile(16, 1.0)), "unequal variances", ">"),
        (correlated_coordinates(), "correlated coordinates", "<"),
    ):
        rows, columns = map(unevenness, error_squared_norms(covariance, [1]))
        yield compare(f"{words} {of}", columns, sign, rows, 0.01)


show(independent_errors())


# %% tags=["remove-cell"]
@cache
def first_gradients(objective: Objective, d: int, n_tokens: int, exponent: float, n_draws: int, seed: int) -> Tensor:
    """Gradients (draws, d, d) of a Transformer of one head, one layer and no positions at random weights."""
    config = ToyConfig(d=d, n_heads=1, n_layers=1, n_tokens=n_tokens, n_vocab=4 * n_tokens, d_mlp=0)
    gradients = []
    for draw in range(seed, seed + n_draws):
        model = ToyTransformer.random(config, draw)
        embeddings = model.we.detach() * power_profile(d, exponent).sqrt()
        model = replace(model, we=embeddings, wp=torch.zeros_like(model.wp))
        gradients.append(model.example(objective, draw).gradient(0).w_qk[0])
    return torch.stack(gradients)


# %%
@claim(
    "S1.12",
    "(exact gradients at random weights)",
    "in the first update of a Transformer, the columns are more uneven than the rows if the variances differ",
    Verdict.HOLDS,
    ours=True,
)
def exact_gradients(d=32, n_tokens=48, exponent=1.0, n_draws=40, seed=0):
    equal = first_gradients(Objective.AUTOREGRESSIVE, d, n_tokens, 0.0, n_draws, seed)
    yield monte_carlo(f"autoregressive, equal variances: {UNEVENNESS}", log_unevenness(equal), 0)
    for objective in BOTH:
        unequal = first_gradients(objective, d, n_tokens, exponent, n_draws, seed)
        yield monte_carlo(f"{objective}, unequal variances: {UNEVENNESS}", log_unevenness(unequal), 0, ">")


show(exact_gradients(exponent=exponent, seed=seed))

# %% [markdown]
# ## A first token that is always present
#
# In autoregressive training, the first token of every sequence is in the context of all other tokens and is never predicted.
# With the exact coefficients, this token does not even act as a query, because it attends only to itself, and a softmax over
# a single score has no gradient. A constant first token with embedding $e$ therefore adds a term $u e^\top$ to the update,
# where $u$ is a sum over many queries.
#
# If the other embeddings are isotropic, the effect of the first token depends on the kurtosis of the entries of $e$ (see
# {eq}`eq-s1-12-alignment`). If $e$ is Gaussian and its coordinates have equal variances, the first token has no effect,
# although its ratio $\mu_c/\mu_p$ is infinite. In simulations, the columns are more uneven than the rows if the entries of
# $e$ have heavy tails or if a few coordinates of $e$ are outliers. The rows are more uneven than the columns if the entries
# have lighter tails than a Gaussian. (The directionality score hardly changes, because a few columns with very large norms
# also raise the threshold for the columns.)


# %% tags=["remove-cell"]
@cache
def first_tokens(d: int, n_tokens: int, strength: float, n_draws: int, seed: int) -> dict[Law, Tensor]:
    """Updates (draws, d, d) whose sequences begin with one token ``strength`` times as long, by the law of all tokens."""
    generator, even = torch.Generator().manual_seed(seed), torch.ones(d, dtype=torch.float64)
    updates = {}
    for law in Law:
        first = strength * law.draw(n_draws, d, generator=generator)
        updates[law] = UpdateModel(even, n_tokens=n_tokens, law=law, first_token=first).draw(n_draws, generator)
    return updates


# %%
@claim(
    "S1.12",
    "(a context token that is always there)",
    "a constant first token with heavy tails makes the columns more uneven",
    Verdict.HOLDS,
    ours=True,
)
def constant_context_token(d=48, n_tokens=16, strength=3.0, n_draws=200, seed=0):
    updates = first_tokens(d, n_tokens, strength, n_draws, seed)
    for law, sign in {Law.GAUSSIAN: "=", Law.LAPLACE: ">", Law.UNIFORM: "<"}.items():
        words = f"{law.value} embeddings (kurtosis {law.kurtosis:g}): {UNEVENNESS}"
        yield monte_carlo(words, log_unevenness(updates[law]), 0, sign)


show(constant_context_token(d=max(d, 32), seed=seed))

# %% [markdown]
# ## The first token of a trained decoder
#
# We recorded the inputs of all attention layers of SmolLM2, a decoder, and of MiniLM, an encoder, while both models read a
# short text, and we inserted these inputs into {eq}`eq-uniform-softmax`. In most layers of SmolLM2, the keys are more uneven
# than the queries if we subtract the mean of the inputs. Without the first token, keys and queries are about equally uneven.
# However, all inputs of SmolLM2 have a few large coordinates in common. These coordinates make the queries uneven, whereas
# the softmax removes any component that is common to all keys. If we do not subtract the mean, the queries are therefore
# more uneven than the keys in all layers. We obtained this result for one small decoder with 4-bit weights and one text, and
# we assumed uniform attention and random errors.


# %% tags=["remove-cell"]
def keys_over_queries(model: str) -> Float[np.ndarray, "layers 2 2"]:
    """Unevenness of columns over that of rows: inputs as they are or minus their mean, with the first token or without."""
    rows, columns = np.moveaxis(recorded(model), -1, 0)
    return columns / rows


# %%
@claim(
    "S1.12",
    "(first token, measured)",
    "in SmolLM2, the first token makes the keys uneven, but the mean of the inputs makes the queries even more uneven",
    Verdict.HOLDS,
    ours=True,
)
def first_token_of_a_decoder():
    decoder, encoder = (np.log(keys_over_queries(m)) for m in ("smollm2-135m-instruct-q4", "minilm-l6-v2"))
    words = "log ratio of the unevenness of keys and queries, median over layers"
    as_they_are, less_mean = np.median(decoder, 0)
    yield compare(f"SmolLM2, inputs minus their mean: {words}", less_mean[0], ">", np.log(2))
    yield compare(f"SmolLM2, same inputs without the first token: {words}", less_mean[1], "=", 0, 0.2)
    yield compare(f"SmolLM2, unchanged inputs: {words}", as_they_are[0], "<", -np.log(2))
    yield compare("SmolLM2, unchanged inputs: largest log ratio of all layers", decoder[:, 0].max(), "<", 0)
    yield exact(
        "MiniLM, inputs minus their mean: largest magnitude of the log ratio over all layers",
        abs(encoder[:, 1]).max(),
        0,
        1e-5,
    )


show(first_token_of_a_decoder())

# %% [markdown]
# ## A mean shared by all embeddings
#
# By {prf:ref}`prop-2-2`, the coefficients satisfy $\sum_j \beta_{ij} = 0$. A mean shared by all embeddings therefore cancels
# in the keys but not in the queries. The paper assumes that this mean is 0.
#
# ````{prf:proposition} the effect of a shared mean on rows and columns
# :label: prop-s1-12-mean
#
# Let $x_i = \mu + z_i$, where the $z_i$ are independent with mean 0 and covariance $\Sigma$. Let the coefficients be
# independent of the embeddings, let $\sum_j \beta_{ij} = 0$ and $\beta_{ii} = 0$ for every $i$, and let $b_j = \sum_i
# \beta_{ij}$. Then, for any objective and for given coefficients, the update $\Delta W = \sum_{ij} \beta_{ij} x_i x_j^\top$
# satisfies
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
# For $\Sigma = \sigma^2 I$, all columns have the same expected squared norm, whereas the expected squared norm of row $m$ increases with $\mu_m^2$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Because the entries of each row of $B$ sum to 0, we have $\sum_j \beta_{ij} x_j = \sum_j \beta_{ij} z_j$. Hence
# $\Delta W = \mu v^\top + Y$ with $v = \sum_j b_j z_j$ and $Y = \sum_{ij} \beta_{ij} z_i z_j^\top$. The expected squared
# norms of $Y$ follow from {prf:ref}`prop-s1-12-expectation`, with positions instead of tokens and without pairs of equal
# positions. The expected squared norms of the rows and columns of $\mu v^\top$ are
# $\mu_m^2\, \mathbb{E}\|v\|^2 = \mu_m^2 \|b\|^2 \mathrm{Tr}(\Sigma)$ and
# $\|\mu\|^2\, \mathbb{E} v_k^2 = \|\mu\|^2 \|b\|^2 \Sigma_{kk}$. Each product of a term of $\mu v^\top$ and a term of $Y$
# contains three of the vectors $z$. Two of these vectors, $z_i$ and $z_j$ with $i \ne j$, are different. Therefore, at least
# one vector occurs exactly once, and the expectation of the product is 0.
# ```
# ````
#
# If all embeddings share a mean, for example because a few coordinates are large in every embedding, the large norms
# therefore occur among the *rows*. This is true for every objective, provided that the coefficients do not depend on the
# embeddings.


# %% tags=["remove-cell"]
def shared_mean_squared_norms(
    covariance: Float[Tensor, "d d"], mean: Float[Tensor, " d"], beta: Float[Tensor, "n n"]
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Expected squared row and column norms of ``X^T B X``, ``x_i = mu + z_i``: the proposition above."""
    rows, columns = vocabulary_squared_norms(covariance, beta)
    size = beta.sum(0).square().sum()
    of_rows = rows + mean.square() * size * covariance.trace()
    return of_rows, columns + mean.square().sum() * size * covariance.diagonal()


CENTRED = torch.tensor([[0, 1, -1], [2, 0, -2], [-3, 3, 0]]).double()  # coefficients whose rows add up to 0


# %%
@claim(
    "S1.12",
    "(a mean that all embeddings share)",
    "a mean shared by all embeddings makes the rows uneven",
    Verdict.HOLDS,
    ours=True,
)
def common_mean():
    mean, z = torch.tensor([3.0, 1.0]).double(), coordinates(3, 2)
    x = mean + z.values @ ROOT.T
    expected = shared_mean_squared_norms(ROOT @ ROOT.T, mean, CENTRED)
    yield from of_two_coordinates("three tokens: ", map(z.mean, squared_norms(x.mT @ CENTRED @ x)), expected)


show(common_mean())
