# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: Symmetric updates
#
# When is an update of $\Wqk$ symmetric, and what do symmetric updates do to the matrix? On this page, we prove the paper's
# theorem on symmetric updates. We also collect the remaining statements and all the checks on which the page [*What do the
# paper's theorems explain?*](symmetric_updates.py) relies.
#
# Throughout this page, the update from a sequence is a sum over pairs of positions, $\Delta W = \sum_{ij} \beta_{ij}\, x_i
# x_j^\top$. The vector $x_i$ is the embedding at position $i$ and has $d$ coordinates. The coefficient $\beta_{ij}$
# describes how much token $j$ helps to predict token $i$. In a real Transformer, $x_i$ is the embedding at the position of
# the query ({prf:ref}`prop-2-2`), and a training step changes $W_q$ and $W_k$ rather than their product
# ({prf:ref}`rem-s1-6`). The [symmetry score](two_scores_details.py) $s$ is 1 for a symmetric matrix, −1 for a skew-symmetric
# matrix and close to 0 for a random matrix.

# %% tags=["parameters", "remove-input"]
d: int = 48  # width of the embeddings; in [16, 128]
n_tokens: int = 24  # number of tokens in a sequence; in [8, 64]
n_vocab: int = 48  # number of tokens in the vocabulary of the corpus; in [16, 256]
n_sequences: int = 2000  # number of sequences in the corpus; in [500, 20000]
mask_rate: float = 0.15  # share of masked tokens; in [0.05, 0.5]
rho: float = 0.8  # correlation between the two coefficients of a pair in the examples of masking; in [0.3, 1]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from collections import Counter
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import one_hot

from chapters.symmetric_updates import coefficients, masked_in_turn, of_pairs, random_gradients
from livingpaper.display.page import glue, show
from attngeo.bilinear.scores import symmetry_score
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from attngeo.gradients.first_update import (
    ChainCorpus,
    expected_update,
    first_coefficients,
    first_update,
    random_corpus,
    tied_embeddings,
)
from attngeo.gradients.token_counts import MarkovChain
from attngeo.gradients.random_updates import (
    squared_norms,
    agreement,
    correlated_coefficients,
    pair_score,
    random_sequence,
    signs,
)
from attngeo.gradients.objectives import Objective, attended_matrix, context_matrix
from attngeo.gradients.rank_one import cosine, exact_coefficients, gradient_sum, relative_error
from attngeo.gradients.toy_transformer import LayerGradient, ToyConfig, ToyTransformer, one_layer
from attngeo.plot.style import ENCODER, NEUTRAL, PALETTE, CaptionedFigure, house_style, new_figure
from attngeo.plot.typeset import typeset

BEFORE = "Section S1.4.5, before Theorem S1.14"
LONG = 200  # tokens after which a chain that mixes has forgotten where it was
MASK_RATES = (0.15, 0.3)  # the range that Remark S1.15 names
MASKED_BOTH_CAUSAL = (Objective.MASKED, Objective.BIDIRECTIONAL, Objective.AUTOREGRESSIVE)

# %% [markdown]
# ## Equal coefficients make a symmetric update
#
# ````{prf:theorem} Thm. S1.14 (informally 2.4) of the paper: bidirectional training induces symmetry
# :label: thm-s1-14
#
# *Decomposition.* Let $S_{ij}$ and $N_{ij}$ be the symmetric and the skew-symmetric part of $K_{ij} = x_i x_j^\top$. For any
# coefficients, we have
#
# $$
# \sum_{i,j=1}^N \beta_{ij} K_{ij} = \sum_i \beta_{ii} K_{ii}
# + \sum_{i<j} \bigl[ (\beta_{ij} + \beta_{ji}) S_{ij} + (\beta_{ij} - \beta_{ji}) N_{ij} \bigr] .
# $$ (eq-s1-14-pairs)
#
# *Symmetry.* If $\beta_{ij} \approx \beta_{ji}$, then every pair contributes approximately $2\beta_{ij} S_{ij}$, which is a
# symmetric matrix.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# We split the double sum into the parts with $i = j$, $i < j$ and $i > j$, and we swap the two indices in the last part.
# Each pair with $i < j$ then contributes $\beta_{ij} K_{ij} + \beta_{ji} K_{ji}$. Since $K_{ij} = S_{ij} + N_{ij}$ and
# $K_{ji} = K_{ij}^\top = S_{ij} - N_{ij}$, this contribution equals the expression in brackets. If the two coefficients are
# equal, the second term in the brackets vanishes.
# ```
# ````
#
# The decomposition is an algebraic identity. The condition that $\beta_{ij}$ and $\beta_{ji}$ are approximately equal is
# stated in the paper (Section S1.4.5). In Eq. S114, the paper's proof omits the factor 2 and equates a sum over all pairs
# with the term of a single pair.


# %%
def pair_by_parts(
    forward: Float[Tensor, "pairs 1 1"], backward: Float[Tensor, "pairs 1 1"], k: Float[Tensor, "pairs d d"]
) -> Float[Tensor, "pairs d d"]:
    """``(beta_ij + beta_ji) S_ij + (beta_ij - beta_ji) N_ij`` (Eq. S113), ``K_ij = S_ij + N_ij``."""
    s = (k + k.mT) / 2
    return (forward + backward) * s + (forward - backward) * (k - s)


@claim(
    "S1.14",
    "Eqs. S107-S113",
    "the update is a sum over pairs of positions",
    Verdict.HOLDS,
    remark="In the text of the paper, the indices of the pairs run from 0 to $N$, whereas in the equations, they run"
    " from 1 to $N$.",
)
def pair_decomposition(d=16, n_tokens=9, seed=0):
    x, beta, _ = random_sequence(d, n_tokens, seed)
    i, j = torch.triu_indices(n_tokens, n_tokens, 1)
    k = x[i, :, None] * x[j, None]  # (pairs, d, d)
    forward, backward = beta[i, j, None, None], beta[j, i, None, None]
    total, diagonal = gradient_sum(beta, x), gradient_sum(beta.diagonal().diag(), x)
    pairs, parts = (forward * k + backward * k.mT).sum(0), pair_by_parts(forward, backward, k).sum(0)
    yield exact("Eqs. S111, S112: relative error", relative_error(diagonal + pairs, total))
    yield exact("Eq. S113: relative error", relative_error(diagonal + parts, total))


show(pair_decomposition(d=d, n_tokens=min(n_tokens, 24), seed=seed))

# %% [markdown]
# ## The score of a pair depends on its coefficients and on the angle between its embeddings
#
# If the two coefficients of a pair differ, the contribution of the pair is only partly symmetric.
#
# ````{prf:proposition} score of a pair
# :label: prop-s1-14-pair
#
# Let $M = a\, x y^\top + b\, y x^\top \neq 0$ with $x, y \neq 0$, $\rho = 2ab/(a^2+b^2)$ and $c = \cos(x, y)$. Then
#
# $$
# s(M) = \frac{\rho + c^2}{1 + \rho c^2} .
# $$ (eq-s1-14-pair)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $X = \|x\|^2$ and $Y = \|y\|^2$, so that $x^\top y = c\sqrt{XY}$. Then we have
#
# $$
# \|M\|^2 = a^2 XY + b^2 XY + 2ab\,(x^\top y)^2 = XY\,(a^2 + b^2 + 2ab\,c^2), \\
# \mathrm{Tr}(MM) = a^2 (x^\top y)^2 + b^2 (x^\top y)^2 + 2ab\, XY = XY\,(2ab + (a^2+b^2)\,c^2).
# $$
#
# The score is $s(M) = \mathrm{Tr}(MM)/\|M\|^2$. Dividing the numerator and the denominator by $XY (a^2+b^2)$ gives
# {eq}`eq-s1-14-pair`. The denominator vanishes only if $a = -b$ and the two vectors are parallel, and the assumption $M \neq
# 0$ excludes this case.
# ```
# ````
#
# It follows that $1 - s = (1 - \rho)(1 - c^2) / (1 + \rho c^2)$. The score can therefore be close to 1 for two reasons:
#
# - The coefficients are nearly equal. In this case, we have $1 - s \le 1 - \rho$ for $\rho \ge 0$, whatever the embeddings
#   are.
# - The embeddings are nearly parallel. This is not sufficient if the two coefficients nearly cancel each other, because for
#   $a = -b$, the score is $-1$, whatever the angle between the embeddings is.
#
# In a single autoregressive sequence, one of the two coefficients of each pair is zero. The score of such a pair is $c^2$, which is
# close to 0 if the embeddings are nearly orthogonal.


# %%
@claim(
    "S1.14",
    "Eq. S109",
    "the term of a pair is approximately symmetric if its coefficients are approximately equal",
    Verdict.STATED,
    printed=""""[W]e assume that predicting the $i$-th token from the $j$-th token is correlated to predicting the $j$-th token
    from the $i$-th token.\"""",
    place=BEFORE,
    holds=r"""The symmetry score of a pair is $s = (\rho + c^2)/(1 + \rho c^2)$ with $\rho = 2\beta_{ij}\beta_{ji} /
    (\beta_{ij}^2 + \beta_{ji}^2)$ and $c = \cos(x_i, x_j)$. This score is close to 1 if $\beta_{ij} \approx \beta_{ji}$, which the
    proof assumes, or if $1 - c^2 \ll 1 + \rho$. If $\beta_{ij} = -\beta_{ji}$, the score is $-1$, whatever the
    angle between the embeddings is.""",
    remark=r"""The paper states this condition before the theorem, but the condition does not follow from the training
    objective. In a single autoregressive sequence, for example, $\beta_{ji} = 0$ for every pair, so every pair has the
    score $c^2$.""",
)
def symmetry_of_a_pair(d=16, seed=0):
    x, y = random_sequence(d, 2, seed)[0]
    along = x / x.norm()
    across = y - (y @ along) * along
    pairs = (1.0, 0.9, 0.0), (1.0, 0.9, 0.6), (1.0, 0.0, 0.3), (1.0, -0.5, 0.5), (1.0, -0.9, 0.999), (0.3, -0.3, 0.999)
    for a, b, c in pairs:
        k = torch.outer(x, y.norm() * (c * along + (1 - c**2) ** 0.5 * across / across.norm()))  # at this cosine
        words = rf"$s$ of a pair with the coefficients {a:g} and {b:g} and the cosine {c:g}"
        yield exact(words, symmetry_score(a * k + b * k.T), pair_score(agreement(a, b), c))


show(symmetry_of_a_pair(d=d, seed=seed))

# %% [markdown]
# ## The score of a whole update is a correlation
#
# ````{prf:proposition} the score of an update is a correlation
# :label: prop-s1-14-update
#
# Let $\Delta W = X^\top B X$, where the rows of $X$ are the embeddings and the entries of $B$ are the coefficients, and let
# $\rho = \mathrm{Tr}(BB)/\|B\|_F^2 = \sum_{ij} \beta_{ij}\beta_{ji} / \sum_{ij} \beta_{ij}^2$.
#
# 1. If the embeddings are orthonormal, then $s(\Delta W) = \rho$.
# 2. If $B$ is fixed and has zero diagonal, and the embeddings are independent with mean 0 and covariance $I/d$, then
#    $\mathbb{E}\,\mathrm{Tr}(\Delta W \Delta W) / \mathbb{E}\|\Delta W\|_F^2 = (\rho + 1/d)/(1 + \rho/d)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $G = X X^\top$. Then we have $\mathrm{Tr}(\Delta W \Delta W) = \mathrm{Tr}(B G B G)$ and $\|\Delta W\|_F^2 =
# \mathrm{Tr}(B G B^\top G)$. If the rows of $X$ are orthonormal, then $G = I$, which proves the first claim.
#
# For the second claim, we write $\mathrm{Tr}(BGBG) = \sum B_{ij} G_{jk} B_{kl} G_{li}$, where only terms with $i \neq j$ and
# $k \neq l$ contribute. For $i \neq j$, we have $\mathbb{E}[G_{ii} G_{jj}] = 1$ and $\mathbb{E} G_{ij}^2 = 1/d$. Since the
# embeddings are independent and have mean 0, a product of two entries of $G$ has mean 0 if some index occurs in the product
# only once. Hence $\mathbb{E}[G_{jk} G_{li}]$ is 1 for $(k, l) = (j, i)$, $1/d$ for $(k, l) = (i, j)$ and 0 otherwise. It
# follows that $\mathbb{E}\,\mathrm{Tr}(BGBG) = \mathrm{Tr}(BB) + \|B\|_F^2/d$. If we replace the second $B$ by $B^\top$, the
# same argument gives $\mathbb{E}\,\mathrm{Tr}(BGB^\top G) = \|B\|_F^2 + \mathrm{Tr}(BB)/d$.
# ```
# ````
#
# If the coefficients have mean zero, $\rho$ is the correlation between $\beta_{ij}$ and $\beta_{ji}$. In a single autoregressive
# sequence, every pair occurs in only one order, so $\rho = 0$. {numref}`fig-update-scores` shows that the symmetry score of simulated
# updates follows $\rho$.


# %% tags=["remove-cell"]
class RandomUpdates(NamedTuple):
    """Coefficients with a given correlation between the two orders of a pair, and embeddings to go with them."""

    rho: float
    beta: Float[Tensor, "draws n n"]
    orthonormal: Float[Tensor, "n wide"]  # as wide as the larger of N and d
    gaussian: Float[Tensor, "draws n d"]


def correlated_updates(d=48, n_tokens=40, n_draws=24, correlations=(-1.0, -0.6, 0.0, 0.6, 1.0), seed=0):
    """Updates for every correlation. The last element has autoregressive coefficients, of correlation 0."""
    generator = torch.Generator().manual_seed(seed)

    def draw(rho: float) -> RandomUpdates:
        beta = correlated_coefficients(rho, n_draws, n_tokens, generator)
        frame = torch.linalg.qr(torch.randn(max(d, n_tokens), n_tokens, generator=generator, dtype=torch.float64))[0]
        x = torch.randn(n_draws, n_tokens, d, generator=generator, dtype=torch.float64)
        return RandomUpdates(rho, beta, frame.T, x)

    *correlated, last = [draw(rho) for rho in (*correlations, 0.0)]
    return [*correlated, last._replace(beta=last.beta.tril())]


def isotropic_score(rho: float, d: int) -> float:
    """``(rho + 1/d) / (1 + rho/d)``: the score of a pair whose embeddings have the mean squared cosine 1/d."""
    return pair_score(rho, d**-0.5)


@house_style()
def score_by_correlation(updates: list[RandomUpdates], measured: float, d: int) -> CaptionedFigure:
    """Symmetry score of simulated updates against the correlation of beta_ij with beta_ji, and the measured one."""
    pairs = [pair for u in updates for pair in zip(u.beta, u.gaussian, strict=True)]
    rows = [(f"N = {len(b)} tokens", symmetry_score(b), symmetry_score(gradient_sum(b, x))) for b, x in pairs]
    frame = pd.DataFrame(rows, columns=["sequence", "rho", "s"])
    figure, panel = new_figure(6.4, 4.2)
    sns.scatterplot(frame, x="rho", y="s", hue="sequence", style="sequence", alpha=0.6, ax=panel, palette=PALETTE[2:4])
    grid = np.linspace(-1, 1, 101)
    panel.plot(grid, grid, "--", color=NEUTRAL, linewidth=1, label="orthonormal embeddings: s = ρ")
    panel.plot(grid, [isotropic_score(r, d) for r in grid], color="black", label=f"random embeddings, d = {d}")
    cross = (measured, isotropic_score(measured, d))
    words = f"measured in untrained models: ρ = {typeset(f'{measured:.3f}')}"
    panel.plot(*cross, "X", color=ENCODER, markersize=11, markeredgecolor="white", label=words)
    panel.set(xlabel="ρ: correlation between the two coefficients of a pair", ylabel="symmetry score s of the update")
    panel.legend(fontsize="small")
    caption = r"""Symmetry score of simulated updates against the correlation $\rho$ between $\beta_{ij}$ and
    $\beta_{ji}$. Each point represents one update with random embeddings. The cross marks the mean correlation that we
    measured in untrained models with the masked objective."""
    alt = f"""Scatter plot of the symmetry score of updates against the correlation between the two coefficients of a pair.
    The points follow the diagonal from −1 to 1. A cross marks the correlation {typeset(f"{measured:.3f}")}, which we measured in
    untrained models."""
    return CaptionedFigure(figure, "fig-update-scores", caption, alt)


turns = masked_in_turn(seed=seed)
rho_in_turn = pd.Series([of_pairs(t.beta) for t in turns])
simulated = [
    u for n in (n_tokens, 4 * n_tokens) for u in correlated_updates(d, n, 6, (-0.9, -0.5, 0.0, 0.5, 0.9), seed)[:-1]
]

# %% tags=["remove-input"]
score_by_correlation(simulated, rho_in_turn.mean(), d)


# %%
def mean_score(beta: Float[Tensor, "n n"], d: int) -> float:
    """``E Tr(dW dW) / E ||dW||^2`` of given coefficients; coordinates are random signs, whose scale cancels."""
    x = signs(len(beta), d).to(beta)
    updates = x.mT @ beta @ x
    return float((updates * updates.mT).sum() / updates.square().sum())


@claim(
    "S1.14",
    "(score of the whole update)",
    "the symmetry score of an update is the correlation between the two coefficients of a pair",
    Verdict.HOLDS,
    ours=True,
)
def symmetry_of_an_update(d=48, seed=0):
    *correlated, autoregressive = correlated_updates(d, seed=seed)
    for u in correlated:
        gaps = [symmetry_score(gradient_sum(b, u.orthonormal)) - symmetry_score(b) for b in u.beta[:4]]
        words = rf"orthonormal embeddings, correlation {u.rho:g}: $s(\Delta W) - s(\beta)$"
        yield exact(words, max(map(abs, gaps)))
    for u, width in product((*correlated, autoregressive), (2, 3)):
        beta = u.beta[0, :3, :3]
        rho = symmetry_score(beta)
        words = f"ratio of means over all embeddings with entries ±1 ($d$ = {width}, correlation {rho:.2f})"
        if u is autoregressive:
            words = f"the same ratio for autoregressive pairs ($d$ = {width}, correlation {rho:g})"
        yield exact(words, mean_score(beta, width), isotropic_score(rho, width))


show(symmetry_of_an_update(d=d, seed=seed))

# %% [markdown]
# ## Gradients can be symmetric for other reasons
#
# In models with random weights, the coefficients $\beta_{ij}$ and $\beta_{ji}$ of a pair are [not
# correlated](symmetric_updates.py#in-untrained-models-two-tokens-do-not-help-each-other-equally). Nevertheless, the gradient
# of $\Wqk$ can be partly symmetric for the following three reasons:
#
# - Each position also forms a pair with itself, and the contribution of such a pair is always symmetric.
# - Different positions can have the same embedding.
# - The embeddings are not orthogonal.
#
# In models with random weights and the masked objective, the second reason is the most important one, because all masked
# positions have the embedding of the mask token. If we mask every third position, the gradients of our untrained models have
# a mean symmetry score of {glue:text}`score-masked`, although the two tokens of a pair do not help equally to predict each
# other. If we mask one position at a time, fewer positions share an embedding, and the mean symmetry score of the summed
# gradients drops to {glue:text}`score-in-turn`.


# %% tags=["remove-cell"]
def of_positions(beta: Float[Tensor, "n n"]) -> float:
    """`of_pairs`, but including the pairs of a position with itself."""
    return symmetry_score(beta)


def with_shared_embeddings(gradient: LayerGradient) -> float:
    """``s(U^T B U)``, where row i of U is one-hot by the embedding at i: orthonormal, but shared as in the model."""
    beta = coefficients(gradient)
    shared = one_hot(torch.unique(gradient.layer.x, dim=0, return_inverse=True)[1]).to(beta)
    return symmetry_score(shared.T @ beta @ shared)


def of_gradient(gradient: LayerGradient) -> float:
    """``s(dL/dW_qk)``."""
    return symmetry_score(gradient.w_qk[0])


score_masked = np.mean([of_gradient(g) for g in random_gradients(Objective.MASKED, seed=seed)])
score_in_turn = np.mean([symmetry_score(t.gradient) for t in turns])
assert score_masked > 0.3 > 0.15 > score_in_turn  # "drops"
glue("score-masked", score_masked, ".2f")
glue("score-in-turn", score_in_turn, ".2f")


# %%
@claim(
    "2.4",
    "(other causes)",
    "gradients of models with random weights can be symmetric for other reasons",
    Verdict.HOLDS,
    ours=True,
)
def other_causes_of_symmetry(seed=0):
    in_turn = masked_in_turn(seed=seed)
    masked, both, causal = (random_gradients(o, seed=seed) for o in MASKED_BOTH_CAUSAL)
    s = np.array([of_gradient(g) for g in masked])
    words = "every third position masked: $s$ of the exact gradients minus the correlation"
    yield monte_carlo(words, s - [of_pairs(coefficients(g)) for g in masked], 0.2, ">")
    words = "this score minus the score with one position masked at a time"
    yield monte_carlo(words, s - [symmetry_score(t.gradient) for t in in_turn], 0.1, ">")
    shared = [with_shared_embeddings(g) - of_positions(coefficients(g)) for g in masked]
    yield monte_carlo("every third position masked: what shared embeddings add to the score", shared, 0.2, ">")
    words = "including pairs of a position with itself: correlation in autoregressive training"
    both, causal = (np.array([of_positions(coefficients(g)) for g in gs]) for gs in (both, causal))
    yield monte_carlo(f"{words} minus correlation in bidirectional training", causal - both, 0, ">")


show(other_causes_of_symmetry(seed=seed))

# %% [markdown]
# ## Symmetric updates outgrow a skew-symmetric part, but never remove it
#
# How symmetric does a matrix become if all its updates are symmetric?
#
# ````{prf:proposition} symmetric updates freeze the skew-symmetric part
# :label: prop-2-4-frozen
#
# Let $M(t) = M_0 + \Delta_1 + \dots + \Delta_t \neq 0$ with symmetric matrices $\Delta_1, \dots, \Delta_t$. Let $N_0$ be the
# skew-symmetric part of $M_0 \neq 0$, and let $s_0$ be the symmetry score of $M_0$. Then
#
# $$
# s(t) = 1 - \frac{2\|N_0\|_F^2}{\|M(t)\|_F^2} = 1 - (1 - s_0)\, \frac{\|M_0\|_F^2}{\|M(t)\|_F^2} .
# $$ (eq-2-4-frozen)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The skew-symmetric part of a matrix depends linearly on the matrix, and the skew-symmetric part of every $\Delta_i$ is 0.
# Hence the skew-symmetric part of $M(t)$ is $N_0$ for all $t$. The score of a matrix $M$ with symmetric part $S$ and
# skew-symmetric part $N$ is $s = (\|S\|^2 - \|N\|^2)/\|M\|^2$, and we have $\|S\|^2 + \|N\|^2 = \|M\|^2$. It follows that
# $1 - s = 2\|N\|^2/\|M\|^2$. At time $t$, this gives the first equality, because $N = N_0$. At time 0, it gives
# $2\|N_0\|^2 = (1 - s_0)\|M_0\|^2$, and the second equality follows.
# ```
# ````
#
# The score can therefore increase only if the norm of the matrix grows. To judge whether symmetric updates can explain the symmetry of
# a trained matrix, compare the norm of the matrix with its norm at initialisation.


# %%
def frozen_score(start: Float[Tensor, "d d"], now: Float[Tensor, "d d"]) -> float:
    """``s(t) = 1 - 2 ||N_0||^2 / ||M(t)||^2``."""
    return float(1 - (start - start.T).square().sum() / 2 / now.square().sum())


@claim(
    "2.4",
    "(what symmetric updates do to a matrix)",
    "symmetric updates do not change the skew-symmetric part of a matrix",
    Verdict.HOLDS,
    printed="""Every pair contributes "a term that is approximately symmetric, ... thereby inducing symmetric structures".""",
    place="Theorem 2.4",
    holds=r"""Symmetric updates of a matrix $M$ do not change its skew-symmetric part $N_0$, so that $s(t) = 1 - 2\|N_0\|^2 / \|M(t)\|^2 = 1 -
    (1 - s_0)\|M_0\|^2 / \|M(t)\|^2$. The score can increase only if the norm of the matrix grows.""",
)
def frozen_skew_part(d=12, n_tokens=6, n_updates=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    beta = correlated_coefficients(1.0, n_updates, n_tokens, generator)  # beta_ij = beta_ji
    start = torch.randn(d, d, generator=generator, dtype=torch.float64)
    x = torch.randn(n_updates, n_tokens, d, generator=generator, dtype=torch.float64)
    matrices = start + (x.mT @ beta @ x).cumsum(0)
    for n, m in enumerate(matrices, 1):
        yield exact(
            f"$s$ after update {n}, compared with the formula", symmetry_score(m), frozen_score(start, m), paper=""
        )


show(frozen_skew_part(seed=seed))

# %% [markdown]
# ## A small matrix first follows one direction of the gradient
#
# A matrix can become symmetric even if few of its updates are symmetric. If the matrix is small at initialisation, its
# symmetry is determined by a single pair of singular vectors of the gradient.
#
# ````{prf:proposition} the first direction, and fixed points
# :label: prop-2-4-first-direction
#
# Let $G = \partial L / \partial W_{qk}$ for a loss that depends on the factors only through $W_{qk} = W_q W_k^\top$.
#
# 1. Suppose that $-G$ is fixed and has a simple largest singular value $\sigma_1$ with singular vectors $u_1$ and $v_1$, and that
#    $a = W_q(0)^\top u_1 + W_k(0)^\top v_1 \neq 0$. Under gradient flow of $W_q$ and $W_k$, the matrix $W_{qk}$ divided by its norm
#    then tends to $u_1 v_1^\top$, and $s$ tends to $(u_1^\top v_1)^2$.
# 2. Consider gradient flow with weight decay $\lambda > 0$ applied to both factors. At every fixed point other than 0, we
#    have $W_q^\top W_q = W_k^\top W_k$ and $W_{qk} = U C V^\top$. Here, $C$ is positive semidefinite, and the columns of
#    $U$ and $V$ are left and right singular vectors of $-G$ with singular value $\lambda$. It follows that $s =
#    \mathrm{Tr}(C R\, C R) / \|C\|_F^2$ with $R = V^\top U$. If there is only a single direction, this score is $(u^\top
#    v)^2$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The flow is $\dot W_q = -G W_k - \lambda W_q$ and $\dot W_k = -G^\top W_q - \lambda W_k$, where $\lambda = 0$ in the first
# part. In the first part, the stacked factors evolve under a symmetric matrix, which has the eigenvalues $\pm\sigma_k$ with
# the eigenvectors $(u_k, \pm v_k)/\sqrt 2$. All other eigenvalues of this matrix are 0. Hence $W_q e^{-\sigma_1 t} \to u_1
# a^\top / 2$ and $W_k e^{-\sigma_1 t} \to v_1 a^\top / 2$. It follows that $W_{qk} e^{-2 \sigma_1 t} \to \|a\|^2 u_1
# v_1^\top / 4$. Since $s(u v^\top) = (u^\top v)^2$ for unit vectors $u$ and $v$, this proves the first part.
#
# At a fixed point, we have $\lambda W_q = -G W_k$ and $\lambda W_k = -G^\top W_q$. Hence $\lambda W_q^\top W_q = -W_q^\top G
# W_k$, and the transpose of the right-hand side is $\lambda W_k^\top W_k$. Since the left-hand side is symmetric, the two
# Gram matrices are equal. Moreover, we have $\lambda^2 W_q = G G^\top W_q$, so the columns of $W_q$ lie in the space of the
# left singular vectors of $-G$ with singular value $\lambda$. Let the columns of $U$ be an orthonormal basis of this space.
# Then $W_q = U B$ for some matrix $B$. With $V = -G^\top U / \lambda$, it follows that $W_k = V B$, and hence $W_{qk} = U C
# V^\top$ with $C = B B^\top$.
# ```
# ````
#
# In both parts of the proposition, the symmetry of $W_{qk}$ does not depend on whether $\beta_{ij}$ and $\beta_{ji}$ are
# equal. Instead, it depends on whether queries and keys read the same direction of the embeddings. Optimisers such as AdamW
# do not follow gradient flow, so the proposition describes training with these optimisers only roughly.


# %% tags=["remove-cell"]
def grown(factors: Float[Tensor, "2 d r"], minus_g: Float[Tensor, "d d"], time: float) -> Float[Tensor, "d d"]:
    """W_qk under the flow of part 1."""
    zero = torch.zeros_like(minus_g)
    flow = torch.cat([torch.cat([zero, minus_g], 1), torch.cat([minus_g.T, zero], 1)])
    q, k = (torch.linalg.matrix_exp(time * flow) @ factors.flatten(0, 1)).chunk(2)
    return q @ k.T


def rested(target: Float[Tensor, "d d"], decay: float, rank: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """The factors and -G where descent on ``||W_qk - target||^2 / 2`` with decay has come to rest."""
    q, k = torch.randn(2, len(target), rank, generator=torch.Generator().manual_seed(seed)).double()
    of_q = of_k = torch.ones(())  # minus the gradients
    while max(of_q.abs().max(), of_k.abs().max()) > 1e-12:
        minus_g = target - q @ k.T
        of_q, of_k = minus_g @ k - decay * q, minus_g.T @ q - decay * k
        q, k = q + 0.05 * of_q, k + 0.05 * of_k
    return q, k, target - q @ k.T


# %%
@claim(
    "2.4",
    "(the first direction, and fixed points)",
    "a small matrix first follows the leading direction of the gradient",
    Verdict.HOLDS,
    ours=True,
)
def first_direction(d=8, rank=2, decay=0.1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    start, (minus_g, target) = (torch.randn(2, d, n, generator=generator).double() for n in (rank, d))
    u, sigma, vh = torch.linalg.svd(minus_g)
    late = symmetry_score(grown(start, minus_g, 20 / float(sigma[0] - sigma[1])))
    yield exact(r"$s$ after long growth, compared with $(u_1^\top v_1)^2$", late, (u[:, 0] @ vh[0]) ** 2, 1e-6)
    q, k, minus_g = rested(target, decay, rank, seed)
    yield exact(
        r"at a fixed point, relative difference between $W_q^\top W_q$ and $W_k^\top W_k$",
        relative_error(q.T @ q, k.T @ k),
        0,
        1e-6,
    )
    error = relative_error(minus_g @ minus_g.T @ q, decay**2 * q)
    yield exact(r"at a fixed point, relative difference between $G G^\top W_q$ and $\lambda^2 W_q$", error, 0, 1e-6)
    u = torch.linalg.qr(q).Q
    v = minus_g.T @ u / decay
    r, c = v.T @ u, u.T @ q @ k.T @ v
    s = (c @ r @ c @ r).trace() / c.square().sum()
    yield exact(
        "at a fixed point, $s$ compared with the score from the singular vectors", symmetry_score(q @ k.T), s, 1e-6
    )


show(first_direction(seed=seed))

# %% [markdown]
# ## In linear attention, symmetric values are enough
#
# In the following special case, the coefficients are known, so we can state when the assumption of Theorem 2.4 is met.
#
# ````{prf:proposition} the first update of linear attention with tied embeddings
# :label: prop-s1-14-linear
#
# Consider attention without a softmax, where $\alpha_{ij} = x_i^\top W_{qk} x_j$ and attention adds $\sum_j \alpha_{ij} V
# x_j$ to the residual stream at position $i$. Let the output weights be the embeddings $e_a$, which have mean zero over the
# vocabulary. Let the input at position $i$ be the embedding of the token that is predicted there, $x_i = e_{t_i}$. At
# $W_{qk} = 0$, for small embeddings and to leading order, the coefficients of the negative gradient are $\beta_{ij} =
# x_i^\top V x_j$. If the sum includes all pairs, also the pairs of a position with itself, the update from a sequence is
#
# $$
# \Delta W = S V S .
# $$ (eq-s1-14-linear)
#
# where $S = \sum_i x_i x_i^\top$. This update is symmetric if and only if $u^\top V u' = u'^\top V u$ for all $u, u'$ in the
# span of the embeddings of the sequence.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The logits at position $i$ are $E(x_i + \sum_j \alpha_{ij} V x_j)$, where $E$ is the matrix whose rows are the embeddings.
# For small embeddings, the predicted probability of each of the $n$ tokens in the vocabulary is $1/n$ up to higher orders.
# The negative gradient of the loss with respect to the residual stream is therefore $E^\top(\text{one-hot}(t_i) -
# \text{probabilities}) = e_{t_i} - \bar e = x_i$. Since the score $\alpha_{ij}$ multiplies the vector $V x_j$ in the
# residual stream, we have $\beta_{ij} = x_i^\top V x_j$. Summing $x_i (x_i^\top V x_j) x_j^\top$ over $i$ and $j$ gives
# {eq}`eq-s1-14-linear`. The difference $S V S - (SVS)^\top = S(V - V^\top)S$ vanishes if and only if $u^\top(V - V^\top)u' =
# 0$ for all $u, u'$ in the range of $S$, which is the span of the embeddings.
# ```
# ````
#
# In this special case, if the value matrix $V$ is symmetric, the two tokens of every pair help equally to predict each
# other, whatever the text is.


# %% tags=["remove-cell"]
def first_gradients(softmax: bool = False, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, dict[Objective, Tensor]]:
    """Tokens, small embeddings that are also the output weights, V, and -dL/dW_qk by autograd for scores of scale 1."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = tied_embeddings(24, 16, generator, size=1e-4)  # small enough for the leading order
    config = ToyConfig(d=16, n_heads=1, n_layers=1, n_tokens=12, d_mlp=0, softmax=softmax)
    model = ToyTransformer.random(config, seed)
    nothing = torch.zeros_like(model.wq, requires_grad=True)
    mask = torch.zeros(1, 16).double()
    model = replace(model, wq=nothing, we=torch.cat([embeddings, mask]), wp=0 * model.wp, wu=embeddings.T.clone())
    values = (model.wv[0, 0] @ model.wo[0, 0]).detach().T  # v_j = V x_j
    tokens = torch.randint(24, (12,), generator=generator)
    objectives = Objective.BIDIRECTIONAL, Objective.AUTOREGRESSIVE
    gradients = {o: -model.run(tokens, o).gradient(0).w_qk[0] / config.score_scale for o in objectives}
    return tokens, embeddings, values, gradients


# %%
@claim(
    "S1.14",
    "(a case in which the coefficients are known)",
    "the first update of linear attention with tied embeddings is $S V S$",
    Verdict.HOLDS,
    ours=True,
)
def first_update_of_linear_attention(seed=0):
    tokens, e, values, gradients = first_gradients(seed=seed)
    x, everything = e[tokens], torch.ones(len(tokens), len(tokens), dtype=torch.bool)
    for objective, gradient in gradients.items():
        ahead = int(objective is Objective.AUTOREGRESSIVE)
        beta = first_coefficients(tokens[None], e, values, ahead)[0] * attended_matrix(objective, len(x))
        error = relative_error(gradient_sum(beta, x), gradient)
        yield exact(
            f"{objective}: relative error of the formula compared with automatic differentiation", error, 0, 1e-6
        )
    symmetric = first_update(tokens[None], e, values + values.T, everything)[0]
    yield exact("$s$ of the bidirectional update if $V$ is symmetric", symmetry_score(symmetric), 1, 1e-9)
    any_values = symmetry_score(first_update(tokens[None], e, values, everything)[0])
    yield compare("$s$ of the bidirectional update if $V$ has normal entries", any_values, "<", 1, 0.1)


show(first_update_of_linear_attention(seed=seed))

# %% [markdown]
# ## With a softmax, the mean of a sequence breaks the symmetry
#
# At $W_{qk} = 0$, a softmax can be treated exactly, because all attention weights of a position are equal.
#
# ````{prf:proposition} the first update with softmax
# :label: prop-s1-14-softmax
#
# Consider the setting of {prf:ref}`prop-s1-14-linear`, but with a softmax over the attended positions. Let $x_1, \dots, x_N$
# be the embeddings of a sequence, let $m$ be their mean, and let $\Gamma = \frac1N \sum_j (x_j - m)(x_j - m)^\top$ be their
# covariance. At $W_{qk} = 0$, for small embeddings and to leading order, the negative gradient of bidirectional training is
# $\Delta W = N\,[\,\Gamma V \Gamma + m\,(\Gamma V^\top m)^\top\,]$ if the scores $x_i^\top W_{qk} x_j$ are not multiplied by
# a scale factor. If $V$ is symmetric, this matrix is symmetric if and only if $m$ and $\Gamma V m$ are parallel.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Since all scores are 0, we have $\alpha_{ij} = 1/N$, and the residual stream at position $i$ is $h_i = x_i + V m$. The
# derivative of the softmax gives $\beta_{ij} = \alpha_{ij}\, g_i^\top (V x_j - V m)$ ({prf:ref}`prop-2-2`), where $g_i$ is
# the negative gradient of the loss at $h_i$. As in {prf:ref}`prop-s1-14-linear`, we have $g_i = x_i$ to leading order. Hence
#
# $$
# \Delta W = \sum_i x_i\, x_i^\top V\, \frac{1}{N} \sum_j (x_j - m)\, x_j^\top = \sum_i x_i x_i^\top V \Gamma ,
# $$
#
# because $\sum_j (x_j - m)\, m^\top = 0$. Inserting $\sum_i x_i x_i^\top = N(\Gamma + m m^\top)$ gives the formula.
#
# If $V$ is symmetric, the skew-symmetric part of $\Delta W$ is $\frac{N}{2}(m u^\top - u m^\top)$ with $u = \Gamma V m$.
# This matrix vanishes if and only if $m$ and $u$ are parallel.
# ```
# ````


# %%
def softmax_update(x: Float[Tensor, "n d"], values: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """``N [C V C + m (C V^T m)^T]``, m and C mean and covariance of the embeddings: every position sees every position."""
    mean, covariance = x.mean(0), torch.cov(x.T, correction=0)
    return len(x) * (covariance @ values @ covariance + torch.outer(mean, covariance @ values.T @ mean))


@claim(
    "S1.14",
    "(the same case with softmax)",
    "with a softmax, symmetric values do not make the first update symmetric",
    Verdict.HOLDS,
    ours=True,
)
def first_update_through_softmax(seed=0):
    tokens, embeddings, values, gradients = first_gradients(softmax=True, seed=seed)
    x = embeddings[tokens]
    error = relative_error(softmax_update(x, values), gradients[Objective.BIDIRECTIONAL])
    yield exact("relative error of the formula compared with automatic differentiation", error, 0, 1e-6)
    update = softmax_update(x, values + values.T)
    yield compare("$s$ of the bidirectional update if $V$ is symmetric", symmetry_score(update), "<", 1, 1e-6)


show(first_update_through_softmax(seed=seed))

# %% [markdown]
# ## Over a corpus, tokens lose the contrast between the objectives, but positions keep it
#
# Suppose that each coefficient depends only on the two tokens of the pair, so that $\beta_{ij} = \beta(t_i, t_j)$. The
# update is then $\sum_{ab} C_{ab}\, \beta(a, b)\, e_a e_b^\top$, where $C_{ab}$ counts how often token $a$ is predicted with
# token $b$ in its context. In autoregressive training, $C_{ab}$ counts how often $b$ precedes $a$. In a single sequence,
# these counts are far from symmetric, but over a whole corpus, most pairs of tokens occur in both orders.
#
# For a simulated corpus of {glue:text}`n-sequences` sequences, we computed the first update of linear attention with a
# symmetric value matrix ({prf:ref}`prop-s1-14-linear`). The symmetry score of this update is {glue:text}`end-both` for
# bidirectional training. For autoregressive training, the symmetry score is {glue:text}`end-target` if the input at each
# query position is the token that is predicted there.


# %% tags=["remove-cell"]
def pair_counts(corpus: ChainCorpus, contexts: Bool[Tensor, "n n"]) -> Float[Tensor, "vocab vocab"]:
    """``C_ab``: how often token a is predicted with token b in its context, over all sequences."""
    (i, j), n_vocab = contexts.nonzero().T, len(corpus.embeddings)
    pairs = (corpus.tokens[:, i] * n_vocab + corpus.tokens[:, j]).flatten()
    return torch.bincount(pairs, minlength=n_vocab**2).double().view(n_vocab, n_vocab)


def corpus_symmetry(corpus: ChainCorpus) -> dict[str, float]:
    """s of the first update over a corpus with symmetric values, and s of the counts of ordered pairs."""
    embeddings, values, _, tokens = corpus
    n, symmetric = tokens.shape[1], values + values.T
    both, before = context_matrix(Objective.BIDIRECTIONAL, n), context_matrix(Objective.AUTOREGRESSIVE, n)
    cases = {
        "bidirectional": (both,),
        "autoregressive, query holds the target": (before,),
        "autoregressive, query one behind": (attended_matrix(Objective.AUTOREGRESSIVE, n), 1),
    }
    scores = {k: symmetry_score(first_update(tokens, embeddings, symmetric, *case).sum(0)) for k, case in cases.items()}
    return scores | {"order of the pairs": symmetry_score(pair_counts(corpus, before))}


at_end = corpus_symmetry(random_corpus(d, n_vocab, n_tokens, n_sequences, seed))
glue("n-sequences", n_sequences, ",")
glue("end-both", at_end["bidirectional"], ".2f")
glue("end-target", at_end["autoregressive, query holds the target"], ".2f")
glue("end-behind", at_end["autoregressive, query one behind"], ".2f")


# %%
@claim(
    "2.4",
    "(contrast with autoregressive training)",
    "over a corpus of tokens without positions, autoregressive updates also become nearly symmetric",
    Verdict.HOLDS,
    ours=True,
)
def symmetry_over_a_corpus(n_sequences=1500, seed=0):
    corpus = random_corpus(n_sequences=n_sequences, seed=seed)
    one, every = (corpus_symmetry(corpus._replace(tokens=corpus.tokens[:n])) for n in (1, n_sequences))
    yield exact("bidirectional, one sequence: $s$", one["bidirectional"], 1, 1e-9)
    target, behind = "autoregressive, query holds the target", "autoregressive, query one behind"
    yield compare("autoregressive, one sequence: $s$", one[target], "<", 0.7)
    yield compare(f"autoregressive, {n_sequences} sequences: $s$", every[target], ">", 0.9)
    yield compare("$s$ of the counts of how often token $a$ precedes token $b$", every["order of the pairs"], ">", 0.9)
    yield compare("autoregressive, queries one position before their targets: $s$", every[behind], "<", 0.7)
    embeddings, values, chain, tokens = corpus._replace(values=corpus.values + corpus.values.T)
    n = tokens.shape[1]
    updates = first_update(tokens, embeddings, values, attended_matrix(Objective.AUTOREGRESSIVE, n), 1)
    expected = expected_update(chain, embeddings, values, n)
    along = (updates * expected).sum((1, 2)) / expected.square().sum()
    yield monte_carlo(
        "autoregressive, queries one position before their targets: relative component along the expected update",
        along,
        1,
    )


show(symmetry_over_a_corpus(n_sequences=max(n_sequences, 1500), seed=seed))

# %% [markdown]
# Two properties of real decoders restore the contrast between the objectives.
#
# The first property is that tokens have positions. In Def. S1.1 of the paper, $x_i = e + p_i$ is the sum of a token
# embedding and a position embedding. Over a corpus, the pairs of positions contribute $\sum_{ij} c_{ij}\, p_i p_j^\top$ with
# $c_{ij} = \mathbb{E}\,\beta_{ij}$. With a causal mask, the coefficients with $j > i$ are 0 in every sequence. Hence
# $c_{ij} = 0$ for all $j > i$, so no corpus can make this part symmetric ({prf:ref}`thm-position-causal`). For models that
# attend to both sides, [the theorem on positions](positions_theory.py) gives conditions under which this part is symmetric.
# Under these conditions, the assumption of Theorem 2.4 of the paper is proven for pairs of positions, provided that the
# coefficients are averaged over texts.
#
# The second property is that the input at the query position $i$ of a decoder is the token $t_i$, whereas the prediction at
# this position is the next token $t_{i+1}$. If we include this shift in our simulation, the symmetry score of the
# autoregressive update is only {glue:text}`end-behind`, for a reason that we explain in the next section. In an encoder, the
# input at a query position also differs from the predicted token, because it is the mask token ({prf:ref}`prop-s1-15-mask`).
# We do not know how large these effects are if $W_{qk}$ is not 0.
#
# ## A query one position before its target breaks the symmetry
#
# At position $i$ of a decoder, the input is token $t_i$, and the prediction is token $t_{i+1}$. As a result, the expected
# update is a product in which the query side and the key side contain different matrices.
#
# ````{prf:proposition} the expected update if queries stand one position before their targets
# :label: prop-s1-14-shift
#
# Let the tokens be a stationary and mixing process over a finite vocabulary, so that the tokens at $i$ and $i+1$ become
# independent of the token at $i - m$ as $m \to \infty$. Then the update
# $\Delta W_N = \sum_{i<N} \sum_{j \le i} (x_{i+1}^\top V x_j)\, x_i x_j^\top$ satisfies
#
# $$
# \frac{2}{N^2}\, \mathbb{E}[\Delta W_N] \to A V \Sigma, \qquad
# A = \mathbb{E}[x_i x_{i+1}^\top], \quad \Sigma = \mathbb{E}[x_i x_i^\top] .
# $$ (eq-s1-14-shift)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Each term of the sum is $x_i x_{i+1}^\top V x_j x_j^\top$. By stationarity, the expectation of a term depends only on the
# distance $m = i - j$. We denote this expectation by $F_m$. There are $N - 1 - m$ pairs at distance $m$, so
# $\mathbb{E}[\Delta W_N] = \sum_{m=0}^{N-2} (N - 1 - m) F_m$. Since the vocabulary is finite, $F_m$ is a finite sum over the
# values of three tokens, and mixing implies that $F_m \to \mathbb{E}[x_i x_{i+1}^\top]\, V\, \mathbb{E}[x_j x_j^\top] = A V
# \Sigma$. The weights $2(N-1-m)/N^2$ add up to $(N-1)/N \to 1$, and each weight tends to 0, so the weighted average of the
# $F_m$ has the same limit.
# ```
# ````
#
# Even if $V$ is symmetric, the limit is in general not symmetric, because the query side contains $A$ and the key side
# contains $\Sigma$. In natural text, $A$ is not symmetric either, because the order of neighbouring tokens matters. However,
# even if $A$ is symmetric, the limit is in general not symmetric. In this model, the asymmetry of a decoder is therefore
# caused by the shift between query and target, and not by the number of pairs that occur in only one order.


# %%
def shifted_limit(
    chain: MarkovChain, embeddings: Float[Tensor, "vocab d"], values: Float[Tensor, "d d"]
) -> Float[Tensor, "d d"]:
    """``A V Sigma``, ``A = E[x_i x_{i+1}^T]``, ``Sigma = E[x_i x_i^T]``: limit of 2/N^2 times the expected update."""
    weighted = chain.start[:, None] * chain.transition
    return embeddings.T @ weighted @ embeddings @ values @ embeddings.T @ (chain.start[:, None] * embeddings)


@claim(
    "2.4",
    "(queries one position before their targets)",
    "with queries one position before their targets, the expected update tends to $A V \\Sigma$",
    Verdict.HOLDS,
    ours=True,
)
def expected_update_one_behind(seed=0):
    embeddings, values, chain, _ = random_corpus(4, 3, 4, 1, seed)
    tokens = torch.cartesian_prod(*[torch.arange(3)] * 4)  # each sequence once
    n, weights = tokens.shape[1], (embeddings, values)
    updates = first_update(tokens, *weights, attended_matrix(Objective.AUTOREGRESSIVE, n), ahead=1)
    enumerated = torch.einsum("s,skm->km", chain.probability(tokens), updates)
    error = relative_error(expected_update(chain, *weights, n), enumerated)
    yield exact("relative error of the expected update compared with the mean over all sequences", error)
    before, here, after = (expected_update(chain, *weights, n) for n in (LONG - 1, LONG, LONG + 1))
    error = relative_error(after - 2 * here + before, shifted_limit(chain, *weights))
    yield exact(
        rf"relative difference between the growth of the expected update after {LONG} tokens and $A V \Sigma$",
        error,
        0,
        1e-8,
    )


show(expected_update_one_behind(seed=seed))

# %% [markdown]
# ## Row norms and column norms have equal variance on average, but not in every matrix
#
# According to the paper, row norms and column norms have the same variance in bidirectional training. This is true on
# average under the condition on the coefficients that we state in the following corollary.
#
# ````{prf:corollary} Cor. S1.13 of the paper: bidirectional training gives row and column norms of equal variance
# :label: cor-s1-13
#
# Let $\Delta W = \sum_{i,j} \beta_{ij}\, x_i x_j^\top$ be a sum over all pairs $i \neq j$. The embeddings may have any joint
# distribution, so tokens may repeat, may depend on each other, or may be fixed. Suppose that, given the embeddings, the
# matrices $(\beta_{ij})$ and $(\beta_{ji})$ are identically distributed. This is the case, for example, if they are
# identically distributed and independent of the embeddings. Then $\Delta W$ and $\Delta W^\top$ are identically distributed.
# The same is true for a sum over sequences if the coefficients of all sequences jointly satisfy this condition. In
# particular, the variance over $m$ of the row norms and the variance over $k$ of the column norms have the same
# distribution.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The transposed update is $\Delta W^\top = \sum_{i \neq j} \beta_{ij} x_j x_i^\top = \sum_{i \neq j} \beta_{ji} x_i
# x_j^\top$. The second equality uses the fact that the set of pairs contains $(j, i)$ whenever it contains $(i, j)$. The
# transposed update is thus $\Delta W$ with $(\beta_{ji})$ in place of $(\beta_{ij})$. Given the embeddings, $\Delta W$ and
# $\Delta W^\top$ are therefore identically distributed, and this remains true if we average over the embeddings. Since the
# rows of $\Delta W^\top$ are the columns of $\Delta W$, the last claim follows.
# ```
# ````
#
# The paper states that the two variances are equal and derives this statement from the counts in {prf:ref}`prop-s1-10`.
# However, the two variances are equal only in distribution and not for a single matrix. In autoregressive training, even the
# distributions of columns and rows can differ if tokens repeat. The sequence $(a, a, b)$ in the following check is an
# example. The embeddings of the tokens $a$ and $b$ have two coordinates, which are $\pm 2$ and $\pm 1$, and all
# combinations of signs are equally likely. In this example, the row norms are more uneven than the column norms, in
# contrast to {prf:ref}`thm-s1-12`.
#
# Trained models may violate the condition on the coefficients. With a softmax, the exact coefficients satisfy
# $\sum_j \beta_{ij} = 0$ for every $i$ ({prf:ref}`prop-2-2`). If $(\beta_{ij})$ and $(\beta_{ji})$, including the diagonal, were
# identically distributed, then $\sum_i \beta_{ij}$ would also have to be 0 almost surely for every $j$, which is not the case.


# %% tags=["remove-cell"]
def sign_embeddings() -> dict[str, Int[Tensor, "outcomes 3 2"]]:
    """Equally likely embeddings of three tokens: all signs."""
    sizes = torch.tensor([2, 1])
    return {"different": signs(3, 2) * sizes, "repeated": signs(2, 2)[:, [0, 0, 1]] * sizes}


def updates_by_signs(embeddings: Tensor, objective: Objective) -> Tensor:
    """``sum_i sum_{j in C_i} beta_ij x_i x_j^T`` for all signs beta_ij and embeddings (outcomes, N, d)."""
    i, j = context_matrix(objective, embeddings.shape[1]).nonzero().T
    terms = embeddings[:, i, :, None] * embeddings[:, j, None]  # x_i x_j^T, (outcomes, pairs, d, d)
    return torch.einsum("bp,opkm->obkm", signs(len(i)).to(terms), terms).flatten(0, 1)


def distance_to_transposed(updates: Int[Tensor, "outcomes 2 2"]) -> float:
    """``1/2 sum_w |Pr[w] - Pr[w^T]|``: total variation distance to the law of the transpose; 0 for equal laws."""
    law, transposed = (Counter(map(tuple, u.flatten(1).tolist())) for u in (updates, updates.mT))
    return sum(abs(law[w] - transposed[w]) for w in law | transposed) / 2 / law.total()


# %%
@claim(
    "S1.13",
    "(any tokens, and the contrast)",
    "rows and columns have the same distribution in bidirectional training",
    Verdict.ASSUMPTION,
    missing=("same law",),
    printed='"Importantly, the column dominance is present only during autoregressive training."',
    place="Section S1.4.5, before Corollary S1.13",
    holds=r"""In bidirectional training, $\Delta W$ and $\Delta W^\top$ are identically distributed, whatever the tokens
    are, if $(\beta_{ij})$ and $(\beta_{ji})$ have the same law given the embeddings. In autoregressive training,
    $\Delta W$ and $\Delta W^\top$ are identically distributed if reversing the order of the positions changes neither the
    distribution of the embeddings nor the distribution of the coefficients, for example if both are i.i.d. In general,
    however, $\Delta W$ and $\Delta W^\top$ are not identically distributed. As an example, let the embeddings of the
    sequence $(a, a, b)$ have the coordinates $\pm 2$ and $\pm 1$, and let the coefficients have random signs. The total
    variation distance between the distributions of $\Delta W$ and $\Delta W^\top$ is then 1/4, and the row norms are more
    uneven than the column norms.""",
)
def law_of_the_transpose():
    both, causal, laws = Objective.BIDIRECTIONAL, Objective.AUTOREGRESSIVE, sign_embeddings()
    for name, x in laws.items():
        distance = distance_to_transposed(updates_by_signs(x, both))
        yield exact(
            f"bidirectional, {name} tokens: distance between the two distributions", distance, 0, 0, paper="= 0"
        )
    for name, expected in {"different": 0, "repeated": 1 / 4}.items():
        distance = distance_to_transposed(updates_by_signs(laws[name], causal))
        yield exact(
            f"autoregressive, {name} tokens: distance between the two distributions", distance, expected, 0, paper=""
        )
    sides = squared_norms(updates_by_signs(laws["repeated"], causal).double())
    rows, columns = (norms.square().sum(-1).mean() for norms in sides)
    fourth = r"$\mathbb{E}\sum_k \|w_{\cdot,k}\|^4 - \mathbb{E}\sum_m \|w_{m,\cdot}\|^4$"
    yield exact(f"autoregressive, the sequence $(a, a, b)$: {fourth}", columns - rows, -1088)


show(law_of_the_transpose())

# %% [markdown]
# In the next check, we compute the difference between the two variances for every possible outcome of a small random model.
# The mean difference is 0 if $\Delta W$ and $\Delta W^\top$ are identically distributed.


# %% tags=["remove-cell"]
def every_update() -> dict[str, Float[Tensor, "outcomes 2 2"]]:
    """Equally likely updates of three tokens with coordinates ±2 and ±1."""
    x, contexts = signs(3, 2) * torch.tensor([2.0, 1.0]).double(), context_matrix(Objective.BIDIRECTIONAL, 3)
    beta = torch.einsum("eid,ojd->oeij", signs(3, 2).double(), x) * contexts  # of errors that are independent signs
    return {
        "bidirectional": updates_by_signs(x, Objective.BIDIRECTIONAL),
        "autoregressive": updates_by_signs(x, Objective.AUTOREGRESSIVE),
        "errors": torch.einsum("oik,oeij,ojm->oekm", x, beta, x).flatten(0, 1),
    }


# %%
def variance_gaps(updates: Float[Tensor, "outcomes d d"]) -> Float[Tensor, " outcomes"]:
    """``Var(row norms) - Var(column norms)`` of every update; 0 where Eq. S103 holds."""
    rows, columns = squared_norms(updates)
    return rows.sqrt().var(-1, correction=0) - columns.sqrt().var(-1, correction=0)


@claim(
    "S1.13",
    "",
    "in bidirectional training, row norms and column norms have equal variance",
    Verdict.ASSUMPTION,
    missing=("same law",),
    printed='"[T]he variance of the norm of the rows and the columns at the end of training is equal".',
    place="Corollary S1.13, Eq. S103",
    holds=r"""For embeddings with any joint distribution, the two variances are identically distributed if $(\beta_{ij})$
    and $(\beta_{ji})$ have the same law given the embeddings.""",
    remark="""For a single matrix, the two variances are equal only under a stronger condition, for example if the
    matrix is symmetric. In this check, we enumerate all possible outcomes for three tokens in two dimensions. If the
    errors are independent of the embeddings, the column norms vary more than the row norms. With a softmax, the exact
    $(\\beta_{ij})$ and $(\\beta_{ji})$ do not have the same law, because the sums of the coefficients over $j$ are 0,
    whereas the sums over $i$ are not.""",
)
def variances_of_norms():
    gaps = {name: variance_gaps(updates) for name, updates in every_update().items()}
    words = "mean of Var(row norms) - Var(column norms)"
    yield exact(f"bidirectional, independent coefficients: {words}", gaps["bidirectional"].mean(), paper="= 0")
    yield compare(
        "bidirectional, independent coefficients: mean of the absolute difference",
        gaps["bidirectional"].abs().mean(),
        ">",
        0,
        0.1,
    )
    yield exact(f"autoregressive, all tokens different: {words}", gaps["autoregressive"].mean())
    errors = "bidirectional, errors independent of the embeddings"
    yield compare(f"{errors}: {words}", gaps["errors"].mean(), "<", 0, 0.1, paper="= 0")
    g = one_layer(seed=0).example(Objective.BIDIRECTIONAL, 0).gradient(0)
    beta = exact_coefficients(g.layer.weights[0], g.layer.values[0], g.errors, scale=1.0)
    over_j, over_i = (float(beta.sum(axis).norm() / beta.norm()) for axis in (1, 0))
    yield exact("coefficients of a softmax: norm of the sums over $j$ divided by the norm of all coefficients", over_j)
    yield compare(
        "coefficients of a softmax: norm of the sums over $i$ divided by the norm of all coefficients",
        over_i,
        ">",
        0,
        0.1,
        paper="",
    )


show(variances_of_norms())

# %% [markdown]
# ## One masking keeps a share of the symmetry, and many maskings keep most of it
#
# An encoder predicts only masked tokens. What share of the pairs then occurs in both orders?
#
# ````{prf:remark} Remark S1.15 of the paper: the share of pairs when a share $p$ of the tokens is predicted
# :label: rem-s1-15
#
# Let $M$ be a random set of $pN$ out of $N$ positions, and let each position in $M$ be predicted from all positions. Among
# the terms with $i \neq j$, a share of $(pN-1)/(N-1) \approx p$ belongs to pairs that occur in both orders, and the ratio of
# these terms to the remaining terms is $(pN-1)/(N-pN) \approx p/(1-p)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# There are $pN(N-1)$ terms with $i \in M$ and $j \neq i$. A pair occurs in both orders if both of its positions are in $M$.
# There are $pN(pN-1)$ terms of this type. In the remaining $pN(N-pN)$ terms, we have $j \notin M$.
# ```
# ````
#
# Remark S1.15 of the paper states this ratio as "$\approx 25\%$ of symmetric weight updates on average" for $p$ between 15 %
# and 30 %. Over this range of $p$, the ratio increases from {glue:text}`low` % to {glue:text}`high` %. The share of these
# pairs among all terms is simply $p$.


# %%
def both_to_one_masked(mask_rate: float) -> float:
    """``p / (1 - p)`` (Eq. S119): terms of Eq. S116 with both positions masked to those with one, in a long sequence."""
    return mask_rate / (1 - mask_rate)


@claim(
    "S1.15",
    "Eqs. S115-S119",
    "if a share $p$ of the tokens is predicted, a share $p$ of the terms belongs to pairs that occur in both orders",
    Verdict.HOLDS,
)
def masked_shares(n_tokens=20_000):
    for p in (*MASK_RATES, 0.2):
        m = round(p * n_tokens)
        both, one = m * (m - 1), m * (n_tokens - m)  # terms with both positions masked, and with one
        yield compare(
            f"$p$ = {p:g}: ratio of terms with both positions masked to terms with one position masked",
            both / one,
            "=",
            both_to_one_masked(p),
            1e-3,
        )
    low, high = (100 * both_to_one_masked(p) for p in MASK_RATES)
    return {
        "remark": rf"""The "$\approx 25\%$ of symmetric weight updates on average" in the paper is the ratio $p/(1-p)$. This
        ratio compares the number of terms from pairs that occur in both orders with the number of all other terms. It is
        {low:.0f} % for $p = 15$ %, 25 % for $p = 20$ % and {high:.0f} % for $p = 30$ %. The paper does not specify over
        what the average is taken. Among all terms, a share of $p$ belongs to pairs that occur in both orders. In the text
        of the remark, the context runs from $0$ to $N$, whereas in Eq. S115, it runs from $1$ to $N$."""
    }


show(masked_shares())

# %% [markdown]
# ````{prf:proposition} score of a masked update
# :label: prop-s1-15-score
#
# Let the embeddings be orthonormal, and let the coefficients of all pairs $i \neq j$ satisfy $\mathrm{Tr}(BB)/\|B\|_F^2 =
# \rho$. Let the sequence be masked $R$ times independently, where every position is masked with probability $p$ and the
# coefficients are the same each time. Then
#
# $$
# \frac{\mathbb{E}\,\mathrm{Tr}(\Delta W \Delta W)}{\mathbb{E}\|\Delta W\|_F^2} = \frac{\rho R p}{1 - p + R p} ,
# $$ (eq-s1-15-score)
#
# This ratio is $\rho p$ for a single masking, and it tends to $\rho$ as $R$ grows.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The coefficient of $K_{ij}$ is $n_{ij} \beta_{ij}$, where $n_{ij}$ is the number of maskings in which the pair is used. By
# {prf:ref}`prop-s1-14-update`, the ratio is $\sum \mathbb{E}[n_{ij} n_{ji}] \beta_{ij} \beta_{ji} / \sum
# \mathbb{E}[n_{ij}^2] \beta_{ij}^2$, and the two expectations do not depend on the pair. The count $n_{ij} = n_i$ is the
# number of maskings in which position $i$ is masked. It has a binomial distribution and is independent of $n_j$. Hence
# $\mathbb{E}[n_i n_j] = R^2p^2$ and $\mathbb{E}[n_i^2] = Rp(1-p) + R^2p^2$. Inserting these expectations gives
# {eq}`eq-s1-15-score`.
# ```
# ````
#
# Although the update from a single masking has only a low score, the sum of many such updates can have a higher score. For
# a mask rate of $p$ = {glue:text}`mask-rate` and a correlation of $\rho$ = {glue:text}`rho`, a single masking leads to a
# score of {glue:text}`score-1`, whereas thirty-two maskings of the same sequence lead to a score of {glue:text}`score-32`.


# %%
def masked_score(rho: float, p: float, rounds: int = 1) -> float:
    """``rho R p / (1 - p + R p)``."""
    return rho * rounds * p / (1 - p + rounds * p)


@claim(
    "S1.15",
    "(score of the update)",
    "repeated masking brings the score close to the correlation",
    Verdict.HOLDS,
    ours=True,
)
def masked_update_score(seed=0):
    beta = random_sequence(n_tokens=3, seed=seed)[1]
    beta = beta - beta.diagonal().diag()
    for p, rounds in product(MASK_RATES, (1, 3)):
        masked = signs(rounds, len(beta)) > 0  # all ways to mask
        probability = torch.where(masked, *beta.new_tensor([p, 1 - p])).flatten(1).prod(1)
        b = beta * masked.double().sum(1)[:, :, None]
        measured = (probability @ (b * b.mT).sum((1, 2))) / (probability @ b.square().sum((1, 2)))
        words = f"ratio of means for $p$ = {p:g} and {rounds} masking{'s' if rounds > 1 else ''}"
        yield exact(words, measured, masked_score(symmetry_score(beta), p, rounds))


show(masked_update_score(seed=seed))

# %% [markdown]
# In the paper's remark, masked positions can serve as context. With the contexts of {prf:ref}`def-s1-3`, which exclude
# masked positions, no pair would occur in both orders in a single masking. In practice, other positions do attend to masked
# positions, where the input is the embedding $e$ of the mask token.
#
# ````{prf:proposition} masked positions in a first layer
# :label: prop-s1-15-mask
#
# Let the embeddings at all masked positions be the same vector $e$, as in a first layer without position embeddings. Then
# the part of the update whose queries are masked is $\sum_{i \in M} \sum_j \beta_{ij}\, x_i x_j^\top = e\, v^\top$ with $v =
# \sum_{i \in M} \sum_j \beta_{ij} x_j$. This is true for any coefficients, and a sum over sequences has the same form. If
# this part is not 0, its rank is 1, its row norms are $|e_m| \|v\|$, its column norms are $|v_k| \|e\|$, and its symmetry
# score is $\cos^2(e, v)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Since $x_i = e$ for every $i \in M$, we can factor $e$ out of the sum. The entry of $e v^\top$ in row $m$ and column $k$ is
# $e_m v_k$, which gives the norms of the rows and columns. The symmetry score is $\mathrm{Tr}(e v^\top e v^\top)/\|e
# v^\top\|^2 = (e^\top v)^2/(\|e\|^2\|v\|^2)$.
# ```
# ````
#
# The column norms are therefore more uneven than the row norms if and only if the absolute values of the coordinates of $v$
# are more uneven than those of $e$. In a model with one layer, this part is the whole update. In the lower layers of a
# deeper model, [visible positions also act as queries](implicit_gradient_details.py#the-loss-of-one-token).


# %%
def first_layer(x: Float[Tensor, "n d"], masked: Bool[Tensor, " n"], mask: Float[Tensor, " d"]) -> Float[Tensor, "n d"]:
    """The inputs of a first layer without positions: every masked position holds the embedding of the mask."""
    return torch.where(masked[:, None], mask, x)


@claim(
    "S1.15",
    "(the mask's embedding)",
    "in a first layer without position embeddings, the update from masked queries has rank 1",
    Verdict.HOLDS,
    ours=True,
)
def masked_positions_hold_the_mask(d=16, n_tokens=12, seed=0):
    x, beta, mask = random_sequence(d, n_tokens, seed)
    masked = torch.arange(n_tokens) % 3 == 1
    x, beta = first_layer(x, masked, mask), beta * masked[:, None]
    update, arriving = gradient_sum(beta, x), beta.sum(0) @ x
    singular = torch.linalg.svdvals(update)
    yield exact("second singular value of the update divided by the first", singular[1] / singular[0])
    words = r"$s$ compared with the squared cosine between the mask's embedding and $\sum_{ij} \beta_{ij} x_j$"
    yield exact(words, symmetry_score(update), cosine(mask, arriving) ** 2)
    words = "relative error of the row norms predicted from the coordinates of the mask's embedding"
    yield exact(words, relative_error(update.norm(dim=1), mask.abs() * arriving.norm()))


show(masked_positions_hold_the_mask(d=d, seed=seed))

# %% tags=["remove-cell"]
glue("low", 100 * both_to_one_masked(MASK_RATES[0]), ".0f")
glue("high", 100 * both_to_one_masked(MASK_RATES[1]), ".0f")
glue("mask-rate", mask_rate)
glue("rho", rho)
glue("score-1", masked_score(rho, mask_rate, 1), ".2f")
glue("score-32", masked_score(rho, mask_rate, 32), ".2f")
