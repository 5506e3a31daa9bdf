# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: Theorems on why query-key matrices become symmetric
#
# On this page, we prove the theorems behind the page [Why?](why.py), and we describe what each theorem leaves open. The
# theorems answer four questions. How does the symmetry of a layer follow from its heads? Why is the matrix of a head or a
# layer nearly symmetric on position embeddings that vary slowly from one position to the next? Why does an encoder have no
# reason to prefer one side of a token? And why is an update not necessarily symmetric even if any two positions help to
# predict each other equally well?
#
# :::{admonition} How sure is this
# All statements on this page are proven, and every check compares a formula with an independent computation. The statements
# about heads hold for every layer, whether trained or not. The other statements hold for kernels, texts and updates that
# satisfy the stated assumptions. Whether trained models satisfy these assumptions is an empirical question, which no proof
# on this page answers. We report our measurements on the page about [the planned experiments](why_plans.py).
# :::

# %% tags=["parameters", "remove-input"]
n_positions: int = 256  # sequence length in the figure and in the checks on ends and on decoders; in [128, 512]
n_tokens: int = 6  # sequence length in the check of the four blocks; in [3, 12]
seed: int = 1  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import math
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
import torch
from jaxtyping import Complex, Float
from torch import Tensor

from attngeo.bilinear.coherence import head_coherence
from attngeo.bilinear.form import BilinearForm
from attngeo.bilinear.scores import symmetry_score
from attngeo.bilinear.waves import waves
from livingpaper.claims.claim import Verdict, claim, compare, exact
from livingpaper.display.page import show, table
from attngeo.plot.style import CROSS, DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.gradients.random_updates import correlated_coefficients, signs
from attngeo.gradients.rank_one import relative_error
from attngeo.gradients.token_counts import MarkovChain, kernel

# %% [markdown]
# ## Heads that agree on a direction, and heads that do not
#
# The matrix of a layer is the sum of the matrices of its heads, $M = \sum_h M_h$. We write $M_h = S_h + N_h$, where $S_h$ is
# the symmetric and $N_h$ the skew-symmetric part. We call $N_h$ the *direction* of the head, because transposing $M_h$
# exchanges the roles of queries and keys, and changes only the sign of $N_h$. The score of a layer depends on two
# properties of its heads. The first property is how symmetric the individual heads are. The second property is how strongly
# different heads reinforce or cancel each other, both in their symmetric parts and in their skew-symmetric parts.
#
# For a layer with $H$ heads, let
#
# $$
# s_h = \frac{\sum_h \|S_h\|^2 - \sum_h \|N_h\|^2}{\sum_h \|S_h\|^2 + \sum_h \|N_h\|^2}, \qquad
# c_S = \frac{\|\sum_h S_h\|^2}{\sum_h \|S_h\|^2}, \qquad c_N = \frac{\|\sum_h N_h\|^2}{\sum_h \|N_h\|^2} .
# $$ (eq-coherences)
#
# We call $s_h$ the score of the individual heads. We call $c_S$ the *coherence* of the symmetric parts and $c_N$ the
# coherence of the skew-symmetric parts. All norms are Frobenius norms.
#
# ````{prf:proposition} the score of a layer, from its heads and their directions
# :label: prop-head-directions
#
# Let at least one $S_h$ and at least one $N_h$ be different from zero, and let $M \neq 0$.
#
# 1. The score of the layer is
#
#    $$
#    s = \frac{c_S (1 + s_h) - c_N (1 - s_h)}{c_S (1 + s_h) + c_N (1 - s_h)} .
#    $$ (eq-head-directions)
#
#    Both coherences lie between 0 and $H$. A coherence equals $H$ if and only if the corresponding parts of all heads are
#    equal.
# 2. If any of the heads are transposed, $s_h$, $c_S$ and the norms of all $S_h$ and $N_h$ remain the same, and $s$ changes
#    only through $c_N$. If $c_S > 0$, then $s$ decreases as $c_N$ increases. If each head is transposed with probability
#    1/2, independently of the other heads, the expectation of $c_N$ is 1, and if $c_S > 0$, the expectation of $s$ is at
#    least the value of {eq}`eq-head-directions` at $c_N = 1$.
# 3. Let the heads be random and independent of each other, and let $\mathbb{E} M_h = 0$ for all heads except at most one.
#    Then $\mathbb{E} \|\sum_h S_h\|^2 = \mathbb{E} \sum_h \|S_h\|^2$, and the same holds for the $N_h$.
# 4. Suppose that the joint distribution of the heads does not change if any single head is multiplied by $-1$, and that
#    $\sum_h\|S_h\|$ and $\sum_h \|N_h\|$ are almost surely positive. Then $\mathbb{E}\, c_S = \mathbb{E}\, c_N = 1$. The
#    condition on the joint distribution is met if all weights are independent and each weight has a distribution that is
#    symmetric about 0, even if heads share their keys.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Symmetric matrices are orthogonal to skew-symmetric matrices. Therefore, $\|M\|^2 = \|\sum S_h\|^2 + \|\sum N_h\|^2$ and
# $s = (\|\sum S_h\|^2 - \|\sum N_h\|^2)/\|M\|^2$. Let $E = \sum_h \|M_h\|^2$. By the definition of $s_h$, we have
# $\sum \|S_h\|^2 = E(1 + s_h)/2$ and $\sum \|N_h\|^2 = E(1 - s_h)/2$. Hence $\|\sum S_h\|^2 = c_S E (1 + s_h)/2$ and
# $\|\sum N_h\|^2 = c_N E(1 - s_h)/2$, which gives {eq}`eq-head-directions` after division by $E/2$. By the Cauchy–Schwarz
# inequality, $\|\sum_h S_h\|^2 \le H \sum_h \|S_h\|^2$, with equality if and only if all parts are equal. The same holds for
# the $N_h$.
#
# For part 2, note that $M_h^\top = S_h - N_h$. Let $\epsilon_h = -1$ if head $h$ is transposed, and $\epsilon_h = 1$
# otherwise. Then $\|\sum \epsilon_h N_h\|^2 = \sum_{g,h} \epsilon_g \epsilon_h \langle N_g, N_h\rangle$. The expectation of
# $\epsilon_g\epsilon_h$ is 0 for $g \neq h$ and 1 for $g = h$. Hence $c_N$ has expectation 1.  With $A = c_S(1 + s_h)$ and
# $B = 1 - s_h$, the score is $2A/(A + B c_N) - 1$, which is a decreasing and convex function of $c_N$. The statement about
# the expectation of $s$ follows from Jensen's inequality.
#
# For part 3, let $g \neq h$. Then $\mathbb{E}\langle S_g, S_h \rangle = \langle \mathbb{E} S_g, \mathbb{E} S_h \rangle = 0$,
# because at least one of the two expectations is 0.  Only the terms with $g = h$ therefore contribute to
# $\mathbb{E}\|\sum_h S_h\|^2$.
#
# For part 4, multiply the heads by independent random signs $\epsilon_h = \pm 1$ with equal probabilities. This changes
# neither the joint distribution of the heads nor any norm $\|S_h\|$. Therefore, $\mathbb{E}\, c_S = \mathbb{E} \sum_{g,h}
# \epsilon_g \epsilon_h \langle S_g, S_h \rangle / \sum_h \|S_h\|^2$. We first take the expectation over the signs for given
# heads. Only the terms with $g = h$ remain, so the ratio is 1.  The same argument applies to $c_N$. Finally, suppose that
# the query weights of each head are independent of all other weights and have the same distribution as their negatives. Then
# changing the sign of these query weights changes the sign of $M_h = W_{q,h} W_{k,h}^\top$ but does not change the joint
# distribution of the heads.
# ```
# ````
#
# {prf:ref}`prop-sum-over-heads` states the first part in the form of a ratio. Part 3 is weaker than part 4, because the
# expectation of a ratio is not the ratio of the expectations. This difference matters for layers with few heads. For
# example, let two heads be $x_1 F$ and $x_2 F$ with the same matrix $F$, where $x_1$ and $x_2$ are independent and equal
# $-1$ with probability 2/3 and 2 with probability 1/3. Both heads have mean 0, so part 3 holds, but both coherences are 6/5
# on average.


# %% tags=["remove-cell"]
def score_by_directions(of_heads: float, symmetric: float, skew: float) -> float:
    """``s = (c_S (1 + s_h) - c_N (1 - s_h)) / (c_S (1 + s_h) + c_N (1 - s_h))``."""
    ahead = symmetric * (1 + of_heads)
    behind = skew * (1 - of_heads)
    return (ahead - behind) / (ahead + behind)


def coherences(heads: Float[Tensor, "*outcomes h d d"]) -> tuple[Tensor, Tensor]:
    """c_S and c_N of layers whose heads are given as dense matrices."""
    symmetric, skew = (heads + heads.mT) / 2, (heads - heads.mT) / 2
    of_symmetric = symmetric.sum(-3).square().sum((-2, -1)) / symmetric.square().sum((-3, -2, -1))
    of_skew = skew.sum(-3).square().sum((-2, -1)) / skew.square().sum((-3, -2, -1))
    return of_symmetric, of_skew


def related_layer(n_heads: int = 4, n_kv_heads: int = 4, seed: int = 0) -> BilinearForm:
    """Normal factors with a part that all heads share, so that the heads overlap."""
    generator = torch.Generator().manual_seed(seed)
    shared = torch.randn(1, 9, 3, generator=generator, dtype=torch.float64)
    q = torch.randn(n_heads, 9, 3, generator=generator, dtype=torch.float64)
    k = torch.randn(n_kv_heads, 9, 3, generator=generator, dtype=torch.float64)
    return BilinearForm(q + shared, k + shared)


def heads_of_signs(n_heads: int, n_kv_heads: int) -> Float[Tensor, "outcomes h 2 2"]:
    """Every outcome of heads ``q_h k_h^T`` whose weights have random signs, equally likely. No part of a head is zero."""
    weights = signs(n_heads + n_kv_heads, 2).double()
    q = weights[:, :n_heads] * torch.tensor([2.0, 1.0])
    k = weights[:, n_heads:] * torch.tensor([1.0, 2.0])
    k = k.repeat_interleave(n_heads // n_kv_heads, 1)
    return q[..., :, None] * k[..., None, :]


def skewed_pair() -> tuple[Float[Tensor, "9 2 2 2"], Float[Tensor, " 9"]]:
    """Two heads of mean 0 whose law is not that of their negatives, in nine equally likely outcomes; their c_S too."""
    values = torch.tensor([-1.0, -1.0, 2.0]).double()
    pairs = torch.cartesian_prod(values, values)
    shape = torch.tensor([[1.0, 1.0], [0.0, 1.0]]).double()
    heads = pairs[:, :, None, None] * shape
    return heads, coherences(heads)[0]


# %%
@claim(
    "S1.5",
    "(heads and their directions)",
    "the score of a layer follows from the scores of its heads and from the coherences of their parts",
    Verdict.HOLDS,
    ours=True,
)
def heads_and_directions(seed=0):
    for n_heads, n_kv_heads in ((4, 4), (4, 2), (6, 1)):
        layer = related_layer(n_heads, n_kv_heads, seed)
        c = head_coherence(layer)
        dense = coherences(torch.stack(list(layer.heads())))
        words = f"query heads: {n_heads}, key heads: {n_kv_heads}"
        s = score_by_directions(c.heads, c.symmetric, c.skew)
        yield exact(f"{words}: $s$ of the layer minus the value of the formula", symmetry_score(layer) - s)
        yield exact(f"{words}: $c_S$ computed by the package minus $c_S$ of the dense matrices", c.symmetric - dense[0])
        yield exact(f"{words}: $c_N$ computed by the package minus $c_N$ of the dense matrices", c.skew - dense[1])


show(heads_and_directions(seed=seed))


# %%
@claim(
    "S1.5",
    "(coherence of random heads)",
    "for random weights, both coherences are 1 on average",
    Verdict.HOLDS,
    ours=True,
)
def coherence_of_random_heads():
    for n_heads, n_kv_heads in ((2, 2), (3, 1), (4, 2)):
        found = coherences(heads_of_signs(n_heads, n_kv_heads))
        words = f"weights with random signs, query heads: {n_heads}, key heads: {n_kv_heads}"
        for name, values in zip(("c_S", "c_N"), found, strict=True):
            yield exact(f"{words}: mean of ${name}$", values.mean(), 1)
    heads, c_s = skewed_pair()
    symmetric = (heads + heads.mT) / 2
    ratio = symmetric.sum(1).square().sum() / symmetric.square().sum()
    yield exact("two heads with mean 0 and an asymmetric distribution: ratio of the two expectations", ratio, 1)
    yield exact("two heads with mean 0 and an asymmetric distribution: mean of $c_S$", c_s.mean(), 6 / 5)


show(coherence_of_random_heads())

# %% [markdown]
# In part 2, one could toss a fair coin for each head to decide whether the head is transposed. These coin tosses provide an
# exact null model, because they change only the directions of the heads. Transposing *all* heads replaces $M$ by $M^\top$,
# which has the same score. For a layer with $H$ heads, the tosses therefore have $2^{H-1}$ different outcomes, one of which
# is the layer itself. We define the *rank* of the layer as the share of these outcomes for which $\|\sum_h \pm N_h\|$ is at
# least $\|\sum_h N_h\|$. For every outcome that is counted in the rank, the score is at most as high as the score of the
# layer itself.
#
# ````{prf:proposition} the rank of a layer among all outcomes of the coin tosses
# :label: prop-coin-rank
#
# 1. Suppose that the joint distribution of $(N_1, \dots, N_H)$ does not change if any single $N_h$ changes its sign. Then
#    $\Pr[\text{rank} \le k/2^{H-1}] \le k/2^{H-1}$ for every $k = 1, \dots, 2^{H-1}$. If, almost surely, no two outcomes
#    have equal norms, then equality holds. In this case, the rank is uniformly distributed on
#    $1/2^{H-1}, 2/2^{H-1}, \dots, 1$, and its mean is $(1 + 2^{1-H})/2$.
# 2. The condition of part 1 is met if the joint distribution of the heads does not change when any single head is
#    transposed. The condition is also met under the assumptions of part 4 of {prf:ref}`prop-head-directions`, even for heads
#    that share keys.
# 3. If $\langle N_g, N_h \rangle > 0$ for all pairs of heads, the rank is $2^{1-H}$, which is the lowest possible value.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The sign changes form a group. For all signs $\epsilon'_h$, the norms $\|\sum \epsilon_h N_h\|$ over all elements
# $\epsilon$ of this group therefore form the same set for $(N_h)$ as for $(\epsilon'_h N_h)$. Since $\epsilon$ and
# $-\epsilon$ give the same norm, we count them once. By assumption, given this set of norms, the layer is therefore
# equally likely to be any of the $2^{H-1}$ elements. The rank of the layer is its place among the norms in descending
# order, divided by $2^{H-1}$. If there are no ties, each place has probability $2^{1-H}$. Ties can only raise ranks,
# because outcomes with equal norms are counted.
#
# For part 2, transposing $M_h$ and multiplying $M_h$ by $-1$ both change the sign of $N_h$. For part 3, note that
# $\|\sum \epsilon_h N_h\|^2 = \sum_{g,h} \epsilon_g\epsilon_h\langle N_g, N_h\rangle$ takes its maximum if and only if all
# signs are equal.
# ```
# ````


# %% tags=["remove-cell"]
def transposed(layer: BilinearForm, turned: tuple[bool, ...]) -> BilinearForm:
    """The layer with some of its heads transposed."""
    q, k = layer.per_head()
    choose = torch.tensor(turned)[:, None, None]
    return BilinearForm(torch.where(choose, k, q), torch.where(choose, q, k))


def negated(layer: BilinearForm, turned: tuple[bool, ...]) -> BilinearForm:
    """The layer with some of its heads multiplied by -1, by their queries, so that heads may share keys."""
    sign = torch.where(torch.tensor(turned), -1.0, 1.0)[:, None, None]
    return BilinearForm(layer.wq * sign, layer.wk)


def turns(n_heads: int) -> list[tuple[bool, ...]]:
    """Every way to turn some of the heads other than the first."""
    return [(False, *others) for others in product((False, True), repeat=n_heads - 1)]


# %%
@claim(
    "S1.5",
    "(coins)",
    "transposing heads at random changes only their directions, and ranks are uniformly distributed",
    Verdict.HOLDS,
    ours=True,
)
def tossed_heads(n_heads=4, seed=0):
    ranks = torch.arange(1, 2 ** (n_heads - 1) + 1).double() / 2 ** (n_heads - 1)
    layer = related_layer(n_heads, n_heads, seed)
    start = head_coherence(layer)
    tosses = [head_coherence(transposed(layer, turned)) for turned in turns(n_heads)]
    yield exact("largest change of $s_h$ in any outcome", max(abs(c.heads - start.heads) for c in tosses))
    yield exact("largest change of $c_S$ in any outcome", max(abs(c.symmetric - start.symmetric) for c in tosses))
    yield exact("mean of $c_N$ over all outcomes", sum(c.skew for c in tosses) / len(tosses), 1)
    mean = sum(symmetry_score(transposed(layer, turned)) for turned in turns(n_heads)) / len(tosses)
    at_one = score_by_directions(start.heads, start.symmetric, 1.0)
    yield compare("mean of $s$ over all outcomes, compared with $s$ at $c_N = 1$", mean, ">", at_one)
    found = torch.tensor([c.rank for c in tosses]).double().sort().values
    yield exact(
        "largest difference between the ranks of all outcomes and $1/8, 2/8, \\dots, 1$", (found - ranks).abs().max()
    )
    shared = related_layer(n_heads, n_heads // 2, seed)
    found = torch.tensor([head_coherence(negated(shared, turned)).rank for turned in turns(n_heads)]).double()
    words = "heads that share keys, with all combinations of signs: the same difference"
    yield exact(words, (found.sort().values - ranks).abs().max())
    copies = BilinearForm(layer.wq[:1].repeat(n_heads, 1, 1), layer.wk[:1].repeat(n_heads, 1, 1))
    yield exact("$c_N$ of identical copies of one head", head_coherence(copies).skew, n_heads)
    yield exact("rank of identical copies of one head", head_coherence(copies).rank, 2.0 ** (1 - n_heads))


show(tossed_heads(seed=seed))

# %% [markdown]
# **Role in the argument.** The two propositions make no assumptions about training, so they apply to every layer with
# several heads. We can use them to distinguish two reasons for a symmetric layer: the individual heads are symmetric ($s_h$
# is high), or the directions of the heads cancel ($c_N$ is low compared with $c_S$). A low rank shows that the heads of a
# layer have similar directions, and this conclusion does not depend on the choice of a basis. A low rank shows neither what
# this common direction is nor why the heads share it. An intermediate rank does not prove that the directions are
# independent. Moreover, with few heads the rank can take only a few values.
#
# ## Short kernels act symmetrically on slow waves
#
# Consider a matrix with a row and a column for each position. If its entries depend only on the offset between the two
# positions, how symmetric is this matrix? Let $g(m)$ be the coefficient between a position and the position that lies $m$
# places to its right, or $|m|$ places to its left if $m$ is negative. We call $g$ a *kernel*, and we call the matrix with
# the entries $c_{ij} = g(j - i)$ the matrix of this kernel. Two examples are the coefficients in
# {prf:ref}`thm-position-block` and the scores between positions in a trained model. A position embedding is a mixture of
# waves over the positions, some slow and some fast. A kernel shifts a wave along the text, and a shift rotates the plane
# that is spanned by the cosine and the sine of the wave. A rotation by a small angle is close to the identity, which is
# symmetric. A matrix that is far from symmetric can therefore act on slow waves like a symmetric matrix.
#
# Let $w = 2\pi f/n$ be the frequency of a wave with $f$ periods on $n$ positions, where $0 < f < n/2$. Let $B_f$ be the
# matrix with the two orthonormal columns $\sqrt{2/n}\cos(wi)$ and $\sqrt{2/n}\sin(wi)$. The score $s(w)$ on this wave is the
# symmetry score of the $2 \times 2$ matrix $B_f^\top C B_f$. Let
#
# $$
# G(w) = \sum_m g(m)\, e^{\mathrm{i} w m}, \qquad \mu = \sum_m |m\, g(m)|, \qquad \bar m = \sum_m m\, g(m) \Big/ \sum_m g(m),
# $$ (eq-transfer)
#
# and let $\mu$ and $\sum_m|g(m)|$ be finite. On a *circle* of $n$ positions, $c_{ij}$ is the sum of $g(m)$ over all offsets
# $m$ that lead from $i$ to $j$. These offsets differ from $j - i$ by a multiple of $n$.
#
# ````{prf:theorem} short kernels act symmetrically on slow waves
# :label: thm-slow-waves
#
# Let $C$ be the matrix of the kernel $g$ on a circle of $n$ positions, and let $\varphi = \arg G(w)$.
#
# 1. The matrix $B_f^\top C B_f$ is $|G(w)|$ times a rotation by the angle $\varphi$, and $B_f^\top C B_{f'} = 0$ for
#    $f \neq f'$. Hence $s(w) = \cos 2\varphi$ if $G(w) \neq 0$.
# 2. Let the table of position embeddings be $P = \sum_f a_f B_f U_f^\top$, where the columns of all $U_f$ together are
#    orthonormal. Then $s(P^\top C P) = \sum_f a_f^4 |G(w_f)|^2 s(w_f) \big/ \sum_f a_f^4 |G(w_f)|^2$, unless all terms
#    vanish.
# 3. If $G(w) \neq 0$, then $1 - s(w) \le 2 w^2 \mu^2 / |G(w)|^2$. If $w\mu < |G(0)|$, then also
#    $1 - s(w) \le 2\,\bigl(w\mu/(|G(0)| - w\mu)\bigr)^2$. If $G(0) \neq 0$, then $(1 - s(w))/w^2$ tends to $2\bar m^2$ as
#    $w \to 0$.
# 4. If the kernel is non-zero only at a single offset $m$, then $s(w) = \cos 2wm$. This score is negative for periods
#    between $8|m|/3$ and $8|m|$.
# 5. If $G(0) = 0$, let $k$ be the smallest number for which $\sum_m m^k g(m) \neq 0$, and let $\sum_m |m|^k |g(m)|$ be
#    finite. Then $s(w)$ tends to $(-1)^k$ as $w \to 0$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $z_j = e^{\mathrm{i}wj}$, which is periodic on the circle. Row $i$ of $Cz$ is
# $\sum_m g(m) e^{\mathrm{i}w(i + m)} = G(w) z_i$. Hence $Cz = Gz$. Let $\cos$ and $\sin$ denote the two columns of $B_f$
# before scaling. The real part of the equation is $C\cos = |G|(\cos\varphi \cos - \sin\varphi \sin)$, and its imaginary part
# is $C \sin = |G|(\sin\varphi\cos + \cos\varphi\sin)$. In this basis, we therefore have
#
# $$
# B_f^\top C B_f = |G| \begin{pmatrix} \cos\varphi & \sin\varphi \\ -\sin\varphi & \cos\varphi \end{pmatrix} = |G|\, R .
# $$ (eq-wave-rotation)
#
# The matrix $C$ maps the plane of each wave into itself, and the planes of different waves are orthogonal. Since
# $\mathrm{Tr}(RR) = 2\cos 2\varphi$ and $\|R\|^2 = 2$, the score is $s(w) = \cos 2\varphi$. For part 2, note that
# $P^\top C P = \sum_f a_f^2 U_f (B_f^\top C B_f) U_f^\top$. For blocks in orthogonal planes, both $\mathrm{Tr}(MM)$ and
# $\|M\|^2$ are sums over the blocks.
#
# For part 3, we have $1 - \cos 2\varphi = 2\sin^2\varphi = 2 (\operatorname{Im} G)^2/|G|^2$. Moreover, $|\operatorname{Im}
# G| = |\sum g(m) \sin wm| \le \sum |g(m)|\,w|m| = w\mu$, which gives the first bound. Since $|e^{\mathrm{i}wm} - 1| \le
# w|m|$, we also have $|G(w)| \ge |G(0)| - w\mu$, which gives the second bound. Now let $w \to 0$. The terms of
# $\operatorname{Im} G(w)/w = \sum g(m) \sin(wm)/w$ are bounded by $|m\,g(m)|$, so this sum tends to $\sum m\,g(m)$. Since
# $G(w)$ tends to $G(0)$, the limit follows.
#
# For part 4, $G(w) = g(m) e^{\mathrm{i}wm}$. If $g(m)$ is negative, $\varphi$ increases by $\pi$, which does not change
# $\cos 2\varphi$. In terms of the period $p = 2\pi/w$, the score $\cos(4\pi |m|/p)$ is negative for
# $\pi/2 < 4\pi|m|/p < 3\pi/2$.
#
# For part 5, subtract from $e^{\mathrm{i}wm}$ its Taylor polynomial of degree $k - 1$. This polynomial contributes nothing
# to $G(w)$, because $\sum_m m^j g(m) = 0$ for all $j < k$. The absolute value of the remainder is at most $|wm|^k/k!$, and
# the remainder divided by $w^k$ tends to $(\mathrm{i}m)^k/k!$. By dominated convergence, $G(w)/w^k$ tends to
# $\mathrm{i}^k \sum m^k g(m)/k! \neq 0$. Hence $2\varphi$ tends to $k\pi$ up to multiples of $2\pi$.
# ```
# ````
#
# We do not assume that $g$ is even. The kernel may even be zero on one side. However, the bounds in part 3 are useful only
# if the sum of the kernel is not 0 and the kernel is short compared with the period. Part 5 shows why the sum matters. A
# kernel that computes a difference between left and right, such as $g(1) = 1$ and $g(-1) = -1$, is called a *slope*. On slow
# waves, it acts like a skew-symmetric matrix. A kernel that computes a difference between the middle and both sides is
# called a *peak*. On slow waves, it acts like a symmetric matrix.


# %% tags=["remove-cell"]
def offsets(g: Float[Tensor, " both"]) -> Float[Tensor, " both"]:
    """m of the entries of a kernel: 0 is in the middle."""
    return torch.arange(len(g)).double() - len(g) // 2


def transfer(g: Float[Tensor, " both"], w: float) -> Complex[Tensor, ""]:
    """``G(w) = sum_m g(m) e^{iwm}``."""
    return (g * torch.exp(1j * w * offsets(g))).sum()


def wave_score(g: Float[Tensor, " both"], w: float) -> float:
    """``s(w) = cos(2 arg G(w))``."""
    return math.cos(2 * float(transfer(g, w).angle()))


def reach(g: Float[Tensor, " both"]) -> float:
    """``mu = sum_m |m g(m)|``."""
    return float((offsets(g) * g).abs().sum())


def on_a_block(g: Float[Tensor, " both"], n: int) -> Float[Tensor, "n n"]:
    """``c_ij = g(j - i)`` for i and j from 1 to n."""
    i, j = torch.arange(n)[:, None], torch.arange(n)
    place = j - i + len(g) // 2
    inside = (place >= 0) & (place < len(g))
    return torch.where(inside, g[place.clamp(0, len(g) - 1)], 0.0)


def on_a_circle(g: Float[Tensor, " both"], n: int) -> Float[Tensor, "n n"]:
    """``c_ij``, the sum of g(m) over all m that lead from i to j on a circle of n positions."""
    row = torch.zeros(n).double()
    row.index_add_(0, (offsets(g) % n).long(), g)
    return torch.stack([row.roll(i) for i in range(n)])


def rotation(g: Float[Tensor, " both"], w: float) -> Float[Tensor, "2 2"]:
    """``|G(w)| R``, what the theorem says of ``B^T C B``."""
    of = transfer(g, w)
    return torch.stack([torch.stack([of.real, of.imag]), torch.stack([-of.imag, of.real])])


def on_wave(c: Float[Tensor, "n n"], f: int) -> Float[Tensor, "2 2"]:
    """``B_f^T C B_f``."""
    basis = waves(len(c), f, f)
    return basis.T @ c @ basis


def uneven_kernel(seed: int = 0, longest: int = 5) -> Float[Tensor, " both"]:
    """A kernel of positive numbers, three times as large on the left as on the right."""
    generator = torch.Generator().manual_seed(seed)
    g = torch.rand(2 * longest + 1, generator=generator, dtype=torch.float64)
    return torch.where(offsets(g) < 0, 3 * g, g)


def bound_by_transfer(g: Float[Tensor, " both"], w: float) -> float:
    """``2 w^2 mu^2 / |G(w)|^2``."""
    return 2 * (w * reach(g) / float(transfer(g, w).abs())) ** 2


def bound(g: Float[Tensor, " both"], error: float) -> float:
    """``2 (error / (|G(0)| - error))^2``, where error is ``w mu`` on a circle; infinite where the error is too large."""
    left = float(g.sum().abs()) - error
    return 2 * (error / left) ** 2 if left > 0 else math.inf


def single_offset_error(n: int, offset: int = 3) -> float:
    """Largest difference over all waves between s of a kernel of one offset, to the left, and ``cos 2wm``."""
    g = torch.zeros(2 * offset + 1).double()
    g[0] = -2.0
    frequencies = [2 * math.pi * f / n for f in range(1, n // 2)]
    scores = [symmetry_score(on_wave(on_a_circle(g, n), f)) for f in range(1, n // 2)]
    return max(abs(s - math.cos(2 * w * offset)) for s, w in zip(scores, frequencies, strict=True))


def mean_over_waves(g: Float[Tensor, " both"], strengths: Tensor, periods: tuple[int, ...], n: int) -> float:
    """``sum_f a_f^4 |G_f|^2 s(w_f) / sum_f a_f^4 |G_f|^2``."""
    frequencies = [2 * math.pi * f / n for f in periods]
    weights = strengths**4 * torch.stack([transfer(g, w).abs() ** 2 for w in frequencies])
    scores = torch.tensor([wave_score(g, w) for w in frequencies], dtype=torch.float64)
    return float(weights @ scores / weights.sum())


KERNELS = {  # offsets -2 to 2
    "slope, $k = 1$": (torch.tensor([0.0, -1.0, 0.0, 1.0, 0.0]).double(), 1),
    "peak, $k = 2$": (torch.tensor([0.0, -1.0, 2.0, -1.0, 0.0]).double(), 2),
    "third difference, $k = 3$": (torch.tensor([0.0, -1.0, 3.0, -3.0, 1.0]).double(), 3),
}


# %%
@claim(
    "S1.14",
    "(slow waves)",
    "on a wave, a kernel acts as a scaled rotation, and the angle of this rotation vanishes for slow waves",
    Verdict.HOLDS,
    ours=True,
)
def kernel_on_a_wave(n_positions=64, seed=0):
    g = uneven_kernel(seed)
    c = on_a_circle(g, n_positions)
    for f in (1, 5, n_positions // 3):
        w = 2 * math.pi * f / n_positions
        error = relative_error(on_wave(c, f), rotation(g, w))
        yield exact(f"asymmetric kernel, periods: {f}: $B^\\top C B$ compared with $|G| R$, relative difference", error)
        s = symmetry_score(on_wave(c, f))
        yield exact(f"asymmetric kernel, periods: {f}: $s$ minus $\\cos 2\\varphi$", s - wave_score(g, w))
    w = 2 * math.pi / n_positions
    distance = 1 - symmetry_score(on_wave(c, 1))
    yield compare(
        "slowest wave: $1 - s$ compared with the bound that contains $G(w)$", distance, "<", bound_by_transfer(g, w)
    )
    yield compare(
        "slowest wave: $1 - s$ compared with the bound that contains $G(0)$", distance, "<", bound(g, w * reach(g))
    )
    small = 1e-4
    centre = (offsets(g) * g).sum() / g.sum()
    curvature = (1 - wave_score(g, small)) / small**2
    yield exact(r"$(1 - s)/w^2$ for a small $w$, divided by $2\bar m^2$", curvature / (2 * centre**2), 1, 1e-5)
    yield exact(r"a single offset of 3, all waves: largest $|s - \cos 2wm|$", single_offset_error(n_positions))
    for name, (compared, order) in KERNELS.items():
        yield exact(f"{name}: $s(w)$ for a small $w$", wave_score(compared, small), (-1) ** order, 1e-6)
    strengths, periods = torch.tensor([1.0, 0.5, 2.0]).double(), (1, 4, 9)
    rows = torch.cat([a * waves(n_positions, f, f) for a, f in zip(strengths, periods, strict=True)], 1)
    words = "a table of position embeddings that consists of three waves: $s$ minus the weighted mean"
    yield exact(words, symmetry_score(rows.T @ c @ rows) - mean_over_waves(g, strengths, periods, n_positions))


show(kernel_on_a_wave(seed=seed))

# %% [markdown]
# A sequence of text is not a circle, because it has ends. Moreover, the softmax subtracts from each coefficient the mean of
# its row. If the model attends to both sides, the conclusion nevertheless remains the same.
#
# ````{prf:theorem} slow waves on a sequence with ends
# :label: thm-wave-ends
#
# Let $T$ be the matrix of the kernel $g$ on a sequence of $n$ positions, with the entries $t_{ij} = g(j - i)$, and let
# $0 < f < n/2$.
#
# 1. The matrix $B_f^\top T B_f$ differs from its value on the circle by at most $2\mu/n$ in the Frobenius norm. Subtracting
#    each row's mean from the entries of $T$ leaves $B_f^\top T B_f$ unchanged.
# 2. Let $\nu = \bigl(1 + \tfrac{\sqrt2}{2\pi f}\bigr)\, w\mu$, which is at most $1.23\, w\mu$. If $\nu < |G(0)|$, then
#    $1 - s(w) \le 2\,\bigl(\nu/(|G(0)| - \nu)\bigr)^2$.
# 3. Consider masked training as in part 1 of {prf:ref}`thm-position-block`, and let $N$ grow while $\gamma$ and the number
#    $f$ of periods are fixed. If $\sum_m |m\,\gamma(m)|$ is finite and $\sum_{m \neq 0} \gamma(m) \neq 0$, then the part of
#    the update that compares positions has a score $s(w)$ on this wave with $1 - s(w) = O(N^{-2})$. This holds for every
#    stationary text and every read-out.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The matrix on the circle differs from $T$ by those terms $g(m)$ for which the position $i + m$ lies outside the sequence.
# For each offset $m$, this is the case for at most $|m|$ positions $i$. The absolute values of these terms therefore sum to
# at most $\mu$. The row $b_i$ of $B_f$ has norm $\sqrt{2/n}$. For every matrix $X$, the norm of $B_f^\top X B_f = \sum_{ij}
# x_{ij} b_i b_j^\top$ is therefore at most $\frac2n \sum_{ij} |x_{ij}|$. This proves the bound. Subtracting the row means
# from $T$ means subtracting $r\,1^\top$ for a vector $r$. Since $1^\top B_f = 0$, this does not change $B_f^\top T B_f$.
#
# For part 2, the skew-symmetric part of $|G|R$ has norm $\sqrt2\,|\operatorname{Im} G|$, and $|G|R$ itself has norm
# $\sqrt2\,|G|$. On a sequence with ends, the norm of the skew-symmetric part is therefore at most
# $\sqrt2\,|\operatorname{Im} G| + 2\mu/n$, and the norm of the matrix is at least $\sqrt2\,|G| - 2\mu/n$. The quantity
# $1 - s$ is twice the squared ratio of these two norms. Dividing both by $\sqrt2$ and inserting
# $|\operatorname{Im} G| \le w\mu$, $|G| \ge |G(0)| - w\mu$ and $\sqrt2\mu/n = \sqrt2\, w\mu/(2\pi f)$ gives the bound.
#
# For part 3, let $g(m) = \gamma(m)$ for $m \neq 0$ and $g(0) = 0$. The matrix $C$ is a multiple of the matrix of this kernel
# after subtraction of the row means. The statement follows from parts 1 and 2.
# ```
# ````
#
# {prf:ref}`thm-position-masked` shows that the whole update is symmetric, but it requires an even $\gamma$. In contrast, the
# theorem on sequences with ends does not require an even $\gamma$, but it shows only that the update is symmetric on slow
# waves. For $G(0) = 0$, the theorem says nothing, because the contribution of the ends is then as large as $G(w)$ itself.


# %% tags=["remove-cell"]
def kernel_of_text(seed: int = 4, longest: int = 48) -> Float[Tensor, " both"]:
    """``gamma(m)`` of a text that is not reversible and a random read-out that is not symmetric; 0 at offset 0."""
    generator = torch.Generator().manual_seed(seed)
    rows = torch.rand(5, 5, generator=generator, dtype=torch.float64) ** 4
    chain = MarkovChain(torch.ones(5).double() / 5, rows / rows.sum(1, keepdim=True)).stationary()
    read_out = torch.randn(5, 5, generator=generator, dtype=torch.float64)
    gamma = kernel(read_out, chain.pair_covariances(longest))
    gamma[longest - 1] = 0
    return gamma


def masked_block(gamma: Float[Tensor, " both"], n: int) -> Float[Tensor, "n n"]:
    """``gamma(j - i)`` minus the mean of row i: C of `thm-position-block`, part 1, up to a factor."""
    c = on_a_block(gamma, n)
    return c - c.mean(1, keepdim=True)


def error_of_ends(f: int, w: float, mu: float) -> float:
    """``nu = (1 + sqrt(2) / (2 pi f)) w mu``."""
    return (1 + 2**0.5 / (2 * math.pi * f)) * w * mu


# %%
@claim(
    "S1.14",
    "(slow waves on a block)",
    "despite the ends of a sequence and the subtraction of row means, masked updates are nearly symmetric on slow waves",
    Verdict.HOLDS,
    ours=True,
)
def ends_of_a_block(n_positions=256):
    for name, g in {"asymmetric kernel": uneven_kernel(), "text and read-out": kernel_of_text()}.items():
        block, circle = on_a_block(g, n_positions), on_a_circle(g, n_positions)
        centred = masked_block(g, n_positions)
        for f in (1, 3):
            w = 2 * math.pi * f / n_positions
            words = f"{name}, periods: {f}"
            lacking = (on_wave(block, f) - on_wave(circle, f)).norm()
            yield compare(
                f"{words}: change due to the ends, compared with $2\\mu/n$", lacking, "<", 2 * reach(g) / n_positions
            )
            means = (on_wave(block, f) - on_wave(centred, f)).norm()
            yield exact(f"{words}: change due to the row means", means)
            distance = 1 - symmetry_score(on_wave(centred, f))
            most = bound(g, error_of_ends(f, w, reach(g)))
            yield compare(f"{words}: $1 - s$ compared with its bound", distance, "<", most)
        longer = 1 - symmetry_score(on_wave(masked_block(g, 4 * n_positions), 1))
        shorter = 1 - symmetry_score(on_wave(masked_block(g, 2 * n_positions), 1))
        yield exact(
            f"{name}, slowest wave: $1 - s$ on twice as many positions, relative to $1 - s$ before",
            longer / shorter,
            0.25,
            0.01,
        )
    whole = symmetry_score(masked_block(kernel_of_text(), n_positions))
    yield compare("text and read-out: $s$ of the whole update", whole, "<", 0.9)


show(ends_of_a_block(n_positions))

# %% [markdown]
# For a decoder, the conclusion is different. The reason is not that all entries of its matrix above the diagonal are 0. Such
# a matrix has a kernel with $g(m) = 0$ for $m > 0$. Both theorems above cover these kernels, which are therefore also nearly
# symmetric on slow waves. The difference comes from the mean that the softmax subtracts in each row. In a decoder, this mean
# is taken over the position itself and the positions to its left, and it is subtracted only there. The entries above the
# diagonal therefore remain 0.
#
# ````{prf:theorem} slow waves of a decoder
# :label: thm-causal-waves
#
# Let $C$ be the matrix of the coefficients of causal training in part 2 of {prf:ref}`thm-position-block`. Let
# $\sum_m |m\,\gamma(m)|$ be finite, and let $\Gamma = \sum_{m \le -1}\gamma(m) \neq 0$. As $N$ grows while $\gamma$ and the
# number $f$ of periods are fixed,
#
# $$
# \frac{N}{\lambda\Gamma}\, B_f^\top C B_f \to K_f = 2\int_0^{2\pi f} \frac1u\, z(u)\,\bigl(z(u) - \bar z(u)\bigr)^\top du, \\
# z(u) = \begin{pmatrix}\cos u \\ \sin u\end{pmatrix}, \qquad
# \bar z(u) = \frac1u \begin{pmatrix}\sin u \\ 1 - \cos u\end{pmatrix} .
# $$ (eq-causal-waves)
#
# Hence the score on this wave tends to $s(K_f)$, which is the same for every text and every read-out.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let the vector $z_j$ of norm 1 be the value of the wave at position $j$, and let $\bar z_i$ be the mean of $z_1,
# \dots, z_i$. The coefficients of each row $i < N$ sum to 0.  Row $i$ of $Cz$ is therefore
#
# $$
# \sum_{j \le i} c_{ij}(z_j - z_i) = \frac\lambda i \Bigl[\sum_{j \le i}\gamma(j - i - 1)(z_j - z_i) + i\, r_i\,(z_i - \bar z_i)\Bigr] .
# $$
#
# Since $\|z_j - z_i\| \le w|j - i|$, the norm of the first sum is at most $w\mu$ with $\mu = \sum_m |m\,\gamma(m)|$. In the
# second term, we have $i\,r_i = \Gamma - \tau_i$, where $\tau_i$ is the sum of $\gamma(m)$ over all $m < -i$. Hence
# $i\,|\tau_i| \le \mu$. Moreover, $\|z_i - \bar z_i\| \le wi/2$. Row $i$ therefore equals
# $\frac{\lambda\Gamma}{i}(z_i - \bar z_i)$ up to an error of at most $\frac{3\lambda}{2i} w\mu$.
#
# We multiply by $\frac2N z_i$ and sum over $i < N$. The errors sum to at most $\frac{3\lambda}{N} w\mu(1 + \ln N)$. Since
# $w = 2\pi f/N$, this bound tends to 0 even after multiplication by $N$. The main term, multiplied by $N/(\lambda\Gamma)$,
# is $\sum_{i<N}\frac2i z_i(z_i - \bar z_i)^\top$. Since $\|z_i - \bar z_i\|/i \le w/2$, this is a Riemann sum of a bounded
# and continuous function of $u = wi$ between 0 and $2\pi f$. It therefore tends to $K_f$. The matrix $K_f$ is not 0, because
# its trace is $2\int_0^{2\pi f} (1 - \sin(u)/u)\,du/u > 0$. Since the score is a continuous function of a non-zero matrix,
# the score tends to $s(K_f)$.
# ```
# ````
#
# Hence, on the slowest waves, the first update of a decoder is far from symmetric for every read-out, whereas the first
# update of an encoder is close to symmetric for every read-out. {numref}`tab-why-causal` lists the limits for long
# sequences, and {numref}`fig-why-waves` shows the scores on all waves for one sequence length.


# %% tags=["remove-cell"]
def causal_block(gamma: Float[Tensor, " both"], n: int) -> Float[Tensor, "n n"]:
    """C of `thm-position-block`, part 2, with a scale of 1: ``(gamma(j - i - 1) - r_i) / i`` for ``j <= i < n``."""
    i, j = torch.arange(1, n + 1)[:, None], torch.arange(1, n + 1)
    seen = (j <= i) & (i < n)
    ahead = on_a_block(gamma, n + 1)[1:, :-1]  # entry (i, j) has the offset j - i - 1
    c = torch.where(seen, ahead, 0.0)
    c = c - seen * c.sum(1, keepdim=True) / i
    return c / i


def causal_limit(f: int, points: int = 40) -> Float[Tensor, "2 2"]:
    """``K_f = 2 int_0^{2 pi f} z(u) (z(u) - mean of z up to u)^T du / u``, by Gauss and Legendre's rule."""
    nodes, weights = (torch.from_numpy(x) for x in np.polynomial.legendre.leggauss(points))
    starts = math.pi / 2 * torch.arange(4 * f).double()[:, None]  # quarters of a period
    u = (starts + math.pi / 4 * (nodes + 1)).flatten()
    du = (math.pi / 4 * weights).repeat(4 * f)
    z = torch.stack([u.cos(), u.sin()], 1)
    mean = torch.stack([u.sin() / u, (1 - u.cos()) / u], 1)
    return 2 * (z * (du / u)[:, None]).T @ (z - mean)


def left_kernel(longest: int = 40, ratio: float = 0.5) -> Float[Tensor, " both"]:
    """``ratio^|m|`` on the left side, 0 elsewhere."""
    m = torch.arange(-longest, longest + 1).double()
    return torch.where(m < 0, ratio ** m.abs(), 0.0)


def left_of(gamma: Float[Tensor, " both"]) -> Float[Tensor, " both"]:
    """A kernel without its right side, which a decoder does not see."""
    return torch.where(offsets(gamma) < 0, gamma, 0.0)


def causal_error(gamma: Float[Tensor, " both"], n: int, f: int) -> float:
    """Relative distance of the update of a decoder on a wave, in units of ``Gamma / n``, from the limit."""
    return relative_error(n / left_of(gamma).sum() * on_wave(causal_block(gamma, n), f), causal_limit(f))


# %%
@claim(
    "S1.12",
    "(slow waves of a decoder)",
    "on slow waves, the scores of the first updates of all decoders tend to the same low limits",
    Verdict.HOLDS,
    ours=True,
)
def causal_waves(n_positions=256):
    kernels = {"halved at each step to the left": left_kernel(), "text and read-out": kernel_of_text()}
    for (name, gamma), f in product(kernels.items(), (1, 2)):
        near, far = (causal_error(gamma, n, f) for n in (4 * n_positions, 2 * n_positions))
        words = (
            f"{name}, periods: {f}: distance from the limit on twice as many positions, relative to the distance before"
        )
        yield compare(words, near / far, "<", 0.6)  # log(n) / n
    circle = symmetry_score(on_wave(on_a_circle(left_kernel(), 2 * n_positions), 1))
    yield compare("halved at each step to the left, on a circle, slowest wave: $1 - s$", 1 - circle, "<", 0.01)
    yield compare("$s$ of the limit on the slowest wave", symmetry_score(causal_limit(1)), "<", 0.05)
    error = relative_error(causal_limit(3, points=20), causal_limit(3, points=40))
    yield exact("the integral with half as many points, relative difference", error)


show(causal_waves(n_positions))

# %% tags=["remove-input"]
limits = [
    {"periods in the sequence": f, "encoder": 1.0, "decoder": symmetry_score(causal_limit(f))} for f in (1, 2, 4, 8, 16)
]
table(
    pd.DataFrame(limits),
    name="tab-why-causal",
    caption="Symmetry $s$ of the first update on a wave, in the limit of long sequences, according to the two theorems. The limits "
    "depend neither on the text nor on the read-out.",
    formats={"encoder": ".2f", "decoder": ".2f"},
)


# %% tags=["remove-cell"]
@house_style()
def scores_by_period(n: int) -> CaptionedFigure:
    """s on every wave of a block of n positions against its period, for kernels and for first updates."""
    periods = {f: n / f for f in range(1, n // 2)}
    offset_four = torch.zeros(9).double()
    offset_four[0] = 1.0
    curves = {
        "only 4 positions to the left": on_a_circle(offset_four, n),
        "halved at each step to the left": on_a_circle(left_kernel(), n),
        "first update of an encoder": masked_block(kernel_of_text(), n),
        "first update of a decoder": causal_block(kernel_of_text(), n),
    }
    rows = [
        {"kernel": name, "period": period, "s": symmetry_score(on_wave(c, f))}
        for name, c in curves.items()
        for f, period in periods.items()
    ]
    frame = pd.DataFrame(rows)
    figure, panel = new_figure(6.4, 3.4)
    colours = dict(zip(curves, (CROSS, NEUTRAL, ENCODER, DECODER), strict=True))
    sns.lineplot(frame, x="period", y="s", hue="kernel", style="kernel", palette=colours, ax=panel)
    panel.set_xscale("log", base=2)
    ticks = [2**k for k in range(1, int(math.log2(n)) + 1)]
    panel.set_xticks(ticks, [str(tick) for tick in ticks])
    panel.axhline(0, color=NEUTRAL, linewidth=0.8)
    panel.set(xlabel="period of the wave (positions)", ylabel="symmetry $s$ on the wave", ylim=(-1.05, 1.05))
    sns.move_legend(panel, "center left", bbox_to_anchor=(1, 0.5), title=None)
    slowest = frame[frame["period"] == n].set_index("kernel")["s"]
    encoder, decoder = slowest["first update of an encoder"], slowest["first update of a decoder"]
    words = f"{encoder:.2f} for the encoder and {decoder:.2f} for the decoder"
    caption = f"""Symmetry $s$ on the waves over {n} positions. The first two kernels extend only to the left and are shown on a
        circle. The first updates of the encoder and of the decoder are shown on a sequence with ends, for the same text and the
        same read-out, which is not symmetric. On the slowest wave, $s$ is {words}."""
    alt = f"""Line plot of symmetry against the period. For long periods, all curves approach 1 except the curve of the decoder,
        which falls. On the slowest wave, s is {words}."""
    return CaptionedFigure(figure, "fig-why-waves", caption, alt)


# %% tags=["remove-input"]
scores_by_period(n_positions)

# %% [markdown]
# **Role in the argument.** We assume that the entries of a matrix between positions depend only on the offset, that the
# kernel is short compared with the period, and that the sum of the kernel is not 0.  We need no assumptions about the
# read-out or the heads, and the only assumption about the text is that it is stationary. Where the assumptions are met, the
# theorems explain why the part of $W_{qk}$ that acts on slow waves of the position embeddings is symmetric in an encoder,
# both in individual heads and in the sum over heads. They also explain why a head that attends to a single offset has a
# negative score on waves whose period is a few times this offset. They explain neither why learned position embeddings
# consist of slow waves nor how $W_{qk}$ acts outside position space. The last theorem is about the first update of a
# decoder. The limits in this theorem are positive, so the theorem does not explain the negative scores on the slowest waves
# of a trained decoder.
#
# ## Both sides of a token are equally informative about it
#
# Why should an encoder attend to the left as much as to the right? Word order matters in language, so the two sides of a
# token might seem to be unequally informative about it. However, both sides contain the same *amount* of information about
# the token.
#
# Let $\dots, t_{-1}, t_0, t_1, \dots$ be a stationary text over a finite vocabulary. This means that the distribution of $k$
# consecutive tokens does not depend on where they stand in the text. Let $h_k$ be the entropy of $k$ consecutive tokens.
#
# ````{prf:theorem} both sides of a token are equally informative about it
# :label: thm-both-sides
#
# Let $L = (t_{-w}, \dots, t_{-1})$ and $R = (t_1, \dots, t_w)$ be the $w$ tokens on either side of $t_0$ in a stationary text.
#
# 1. $I(t_0; L) = I(t_0; R) = h_1 + h_w - h_{w+1}$.
# 2. $I(t_0; L \mid R) = I(t_0; R \mid L)$. For windows of different widths,
#    $I(t_0; L \mid R) - I(t_0; R \mid L) = I(t_0; L) - I(t_0; R)$.
# 3. $I(t_0; t_m) = I(t_0; t_{-m})$ for every offset $m$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# By definition, $I(t_0; L) = H(t_0) + H(L) - H(L, t_0)$, and the same holds for $R$. Both $L$ and $R$ consist of $w$
# consecutive tokens, and both $(L, t_0)$ and $(t_0, R)$ consist of $w + 1$ consecutive tokens. Part 1 follows from
# stationarity.
#
# By the chain rule, $I(t_0; L, R) = I(t_0; L) + I(t_0; R \mid L) = I(t_0; R) + I(t_0; L \mid R)$. This gives the second
# statement in part 2.  Together with part 1, it also gives the first statement. For part 3, note that $(t_{-m}, t_0)$ has
# the same distribution as $(t_0, t_m)$, and that mutual information does not depend on the order of its two arguments.
# ```
# ````
#
# The theorem holds for windows that are adjacent to $t_0$ and for single tokens, but not for every set of offsets. For
# example, in the second-order Markov chain that we use in the next check, $(t_1, t_3)$ and $(t_{-1}, t_{-3})$ contain
# different amounts of information about $t_0$.
#
# How much can attention gain from this information? Suppose that a model predicts $t_0$ from the token at offset $m$ with
# the logits $b + A\,\delta_{t_m}$. As in the setting of [the theorem on positions](positions_theory.py#the-setting), $K_m$
# contains the covariances of pairs of tokens at offset $m$, and $\pi$ contains the frequencies of the tokens. In that
# setting, all offsets share one read-out $A$. Here, each offset may have its own read-out.
#
# ````{prf:proposition} the largest gain from an offset is even
# :label: prop-even-gain
#
# Let every token have a positive frequency. To second order in $A$ and for the optimal $b$, the loss changes by
# $-\langle A, K_m\rangle + \frac12\mathrm{Tr}(A^\top K_0 A K_0)$. The minimum is attained at $A_m = K_0^+ K_m K_0^+$. There,
# the loss is reduced by $\frac12\gamma^*(m)$, where
#
# $$
# \gamma^*(m) = \langle A_m, K_m \rangle = \bigl\|(K_0^+)^{1/2} K_m (K_0^+)^{1/2}\bigr\|^2 = \sum_{a,b} \frac{K_m(a, b)^2}{\pi_a\pi_b} .
# $$ (eq-even-gain)
#
# Hence $\gamma^*(-m) = \gamma^*(m)$ for every stationary text.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# At $A = 0$, the optimal logits are $b = \log\pi$. Since $b$ can absorb the mean of $A\delta_{t_m}$, the first-order term of
# the cross-entropy is $-\langle A, K_m\rangle$. The Hessian of the cross-entropy with respect to the logits is
# $\mathrm{diag}(\pi) - \pi\pi^\top = K_0$. The covariance matrix of $\delta_{t_m}$ is also $K_0$. Together, these give the
# quadratic form.
#
# This form is convex, and it is minimal where $K_0 A K_0 = K_m$. Since every token has a positive frequency, the null space
# of $K_0$ is spanned by the vector 1.  Both $K_m$ and $K_m^\top$ map this vector to 0.  Hence $A_m$ solves the equation, and
# the loss is reduced by $\langle A_m, K_m\rangle - \frac12\langle A_m, K_m\rangle$. Let $D = \mathrm{diag}(\pi)$. Since
# $K_0 D^{-1} K_m = (I - \pi 1^\top)K_m = K_m$, the matrix $D^{-1} K_m D^{-1}$ also solves the equation. Two solutions differ
# by constants in rows or columns, which do not change $\langle \cdot, K_m \rangle$. This gives the last expression in
# {eq}`eq-even-gain`. Replacing $K_m$ by $K_{-m} = K_m^\top$ leaves this expression unchanged.
# ```
# ````


# %% tags=["remove-cell"]
def random_steps(order: int, n_vocab: int = 3) -> Float[Tensor, "v v v"]:
    """``Pr[t_i = c | t_{i-2} = a, t_{i-1} = b]`` of a random chain of first or second order, not reversible."""
    generator = torch.Generator().manual_seed(1)
    steps = torch.rand(n_vocab, n_vocab, n_vocab, generator=generator, dtype=torch.float64) ** 3
    steps = steps / steps.sum(-1, keepdim=True)
    return steps if order == 2 else steps[:1].expand(n_vocab, -1, -1)


def stationary_pairs(steps: Float[Tensor, "v v v"]) -> Float[Tensor, "v v"]:
    """The law of two neighbouring tokens that stays the same from place to place."""
    n = len(steps)
    of_pairs = torch.zeros(n, n, n, n).double()  # from (a, b) to (b, c)
    for b in range(n):
        of_pairs[:, b, b] = steps[:, b]
    balance = torch.eye(n * n).double() - of_pairs.reshape(n * n, n * n).T
    return torch.linalg.solve(balance + 1, torch.ones(n * n).double()).view(n, n)


def block_law(steps: Float[Tensor, "v v v"], n: int) -> Float[Tensor, "..."]:
    """Probability of every block of n tokens, a dimension for each token."""
    law = stationary_pairs(steps)
    if n == 1:
        return law.sum(1)
    for _ in range(n - 2):
        law = law[..., None] * steps
    return law


def around(steps: Float[Tensor, "v v v"], w: int) -> Float[Tensor, "..."]:
    """The law of a token, at place w, with w tokens on either side."""
    return block_law(steps, 2 * w + 1)


def entropy(law: Float[Tensor, "..."], places: list[int]) -> float:
    """``H`` of the tokens at these places of a block, in nats."""
    others = [place for place in range(law.ndim) if place not in places]
    of = law.sum(others) if others else law
    return float(-torch.xlogy(of, of).sum())


def information(law: Float[Tensor, "..."], one: list[int], other: list[int], given: list[int] | None = None) -> float:
    """``I(one; other | given)`` in nats, of the tokens at some places of a block."""
    given = given or []
    apart = entropy(law, one + given) + entropy(law, other + given)
    together = entropy(law, one + other + given)
    return apart - together - (entropy(law, given) if given else 0.0)


def covariance(law: Float[Tensor, "..."], one: int, other: int) -> Float[Tensor, "v v"]:
    """``Pr[t_one = a, t_other = b] - Pr[t_one = a] Pr[t_other = b]``."""
    of_one, of_other = (law.sum([i for i in range(law.ndim) if i != place]) for place in (one, other))
    if one == other:
        return of_one.diag() - torch.outer(of_one, of_one)
    pair = law.sum([i for i in range(law.ndim) if i not in (one, other)])
    return (pair if one < other else pair.T) - torch.outer(of_one, of_other)


# %%
@claim(
    "S1.14",
    "(both sides)",
    "the tokens to the left of a token are as informative about it as the tokens to its right",
    Verdict.HOLDS,
    ours=True,
)
def both_sides_tell_alike():
    for order, w in product((1, 2), (1, 2, 3)):
        steps = random_steps(order)
        law, token = around(steps, w), [w]
        left, right = list(range(w)), list(range(w + 1, 2 * w + 1))
        words = f"chain of order {order}, width {w}"
        h_1, h_w, h_more = (entropy(block_law(steps, k), list(range(k))) for k in (1, w, w + 1))
        yield exact(
            f"{words}: $I(t_0; L)$ minus the formula with entropies",
            information(law, token, left) - (h_1 + h_w - h_more),
        )
        yield exact(
            f"{words}: $I(t_0; R)$ minus $I(t_0; L)$", information(law, token, right) - information(law, token, left)
        )
        one_way = information(law, token, left, right)
        yield exact(
            f"{words}: $I(t_0; R \\mid L)$ minus $I(t_0; L \\mid R)$", information(law, token, right, left) - one_way
        )
    law = around(random_steps(2), 3)
    for m in (2, 3):
        alone = information(law, [3], [3 + m]) - information(law, [3], [3 - m])
        yield exact(f"order 2, the token at offset {m}: information on the right minus information on the left", alone)
    uneven = information(law, [3], [4, 6]) - information(law, [3], [2, 0])
    yield compare(
        "order 2, offsets 1 and 3 together: absolute difference between right and left", abs(uneven), ">", 1e-3
    )
    order_of_tokens = symmetry_score(covariance(law, 3, 4))
    yield compare("order 2: $s$ of $K_1$, which would be 1 for a reversible text", order_of_tokens, "<", 0.5)


show(both_sides_tell_alike())


# %% tags=["remove-cell"]
def pseudo_inverse(m: Float[Tensor, "n n"]) -> Float[Tensor, "n n"]:
    """``M^+`` of a symmetric matrix, of whose zero eigenvalues rounding leaves about 1e-17."""
    return torch.linalg.pinv(m, hermitian=True, rtol=1e-10)


def best_gain(law: Float[Tensor, "..."], token: int, seen: list[int]) -> float:
    """``Tr(K_0^+ C S^+ C^T)``: twice what the loss falls to second order if the tokens seen have read-outs of their own."""
    to_seen = torch.cat([covariance(law, token, place) for place in seen], 1)
    among = torch.cat([torch.cat([covariance(law, a, b) for b in seen], 1) for a in seen], 0)
    of_token = covariance(law, token, token)
    return float((pseudo_inverse(of_token) @ to_seen @ pseudo_inverse(among) @ to_seen.T).trace())


def slopes_of_loss(law: Float[Tensor, "..."], token: int, place: int) -> tuple[float, float]:
    """First and second derivative at 0 of the cross-entropy of logits ``b + x A delta``, by automatic differentiation.

    A is the best read-out of the proposition, and x the number by which it is multiplied.
    """
    inverse = pseudo_inverse(covariance(law, token, token))
    read_out = inverse @ covariance(law, token, place) @ inverse
    frequencies = law.sum([i for i in range(law.ndim) if i != token])
    pair = covariance(law, token, place) + torch.outer(frequencies, frequencies)

    def loss(x: Tensor) -> Tensor:
        logits = frequencies.log()[:, None] + x * (read_out - (read_out @ frequencies)[:, None])
        return -(pair * logits.log_softmax(0)).sum()

    at = torch.zeros((), dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad(loss(at), at, create_graph=True)
    (second,) = torch.autograd.grad(first, at)
    return float(first.detach()), float(second)


# %%
@claim(
    "S1.14",
    "(the best gain at an offset)",
    "with a separate read-out for each offset, the largest gain is an even function of the offset",
    Verdict.HOLDS,
    ours=True,
)
def best_gain_is_even():
    w = 3
    law = around(random_steps(2), w)
    frequencies = law.sum([i for i in range(law.ndim) if i != w])
    for m in (1, 2, 3):
        right, left = best_gain(law, w, [w + m]), best_gain(law, w, [w - m])
        yield exact(f"offset {m}: $\\gamma^*$ on the right minus $\\gamma^*$ on the left", right - left)
        ratio = covariance(law, w, w + m).square() / torch.outer(frequencies, frequencies)
        yield exact(f"offset {m}: $\\gamma^*$ minus the sum of squares divided by frequencies", right - ratio.sum())
        first, second = slopes_of_loss(law, w, w + m)
        yield exact(f"offset {m}: first derivative of the loss along $A_m$, plus $\\gamma^*$", first + right)
        yield exact(f"offset {m}: second derivative of the loss along $A_m$ minus $\\gamma^*$", second - right)
    both = best_gain(law, w, [w + 1, w + 2]) - best_gain(law, w, [w - 1, w - 2])
    yield compare("offsets 1 and 2 together: absolute difference between right and left", abs(both), ">", 1e-3)


show(best_gain_is_even())

# %% [markdown]
# **Role in the argument.** The theorem assumes only that the text is stationary. The text need not be reversible, and no
# read-out is involved. An encoder that attends to both sides therefore finds equal amounts of information on both sides, so
# the text itself makes neither side more useful. The theorem does not imply that a *model* with one read-out for all offsets
# gains equally on both sides. This would follow from {prf:ref}`thm-position-masked`, which requires a symmetric read-out or
# a reversible text. The theorem also does not predict which of two equally informative sides a head attends to. To second
# order, attending to two offsets on one side may even give a larger gain than attending to the two opposite offsets on the
# other side, as the last line of the check shows. The theorem suggests an experiment in which the model still attends to
# both sides, but one side is made less informative, for example by replacing some of its tokens by random tokens. Such a
# text is not stationary around the predicted token. As a test of our two checks, we verified that they fail for such a text.
#
# ## Queries and keys must share their embeddings
#
# According to {prf:ref}`thm-s1-14`, an update is symmetric if $\beta_{ij} = \beta_{ji}$, which means that position $i$
# contributes as much to the prediction at position $j$ as position $j$ contributes to the prediction at position $i$. In
# masked training, this condition is not sufficient. At a predicted position, the input is the embedding $e_*$ of the mask,
# whereas at a position that helps to predict it, the input is the embedding of a token.
#
# ````{prf:theorem} queries and keys must share their embeddings
# :label: thm-who-asks
#
# Consider the first layer, and let each position of a sequence be hidden in turn. The query at $i$ is computed from
# $e_* + p_i$, and the key at $j \neq i$ is computed from $e_{t_j} + p_j$. Let $\beta_{ij} = \beta_{ji}$ exactly, and define
# $\beta_{ii} = 0$, $B = (\beta_{ij})$, $b_j = \sum_i \beta_{ij}$, $v = \sum_j b_j e_{t_j}$ and $r = \sum_j b_j p_j$. Let $P$
# be the matrix with the rows $p_j$, and $E$ the matrix with the rows $e_{t_j}$. Then
#
# $$
# \Delta W = \sum_{i \neq j} \beta_{ij}\,(e_* + p_i)(e_{t_j} + p_j)^\top = e_* v^\top + e_* r^\top + P^\top B E + P^\top B P .
# $$ (eq-who-asks)
#
# 1. The last block, $P^\top B P$, is symmetric. The skew-symmetric part of $\Delta W$ is therefore the skew-symmetric part
#    of the sum of the first three blocks.
# 2. Let $e_*$, the token embeddings and the position embeddings lie in three subspaces that are orthogonal to each other,
#    and let $\Delta W \neq 0$. Then
#
#    $$
#    s = \frac{\|P^\top B P\|^2}{\|P^\top B P\|^2 + \|P^\top B E\|^2 + \|e_*\|^2 (\|v\|^2 + \|r\|^2)} ,
#    $$ (eq-who-asks-score)
#
#    which is 0 without position embeddings. The formula also holds for a sum over sequences if each block is replaced by its
#    sum over the sequences.
# 3. In addition, let all tokens be different, let the token embeddings be orthogonal to each other with norm $\ell_t$, let
#    the position embeddings be orthogonal to each other with norm $\ell_p$, and let $\|e_*\| = \ell_*$. With
#    $\kappa = \sum_j b_j^2/\sum_{ij}\beta_{ij}^2$, we have
#
#    $$
#    s = \frac{\ell_p^2}{\ell_p^2 + \ell_t^2} \cdot \frac{\ell_p^2}{\ell_p^2 + \kappa\,\ell_*^2} .
#    $$ (eq-who-asks-lengths)
#
# 4. If the query at $i$ is computed from $e_{t_i}$ instead of $e_*$, then $s = 1$, with or without position embeddings.
# 5. Suppose that the query at $i$ is computed from a token that is drawn independently of the text and of the coefficients,
#    where token $a$ has probability $q_a$. Then the expectation of $\Delta W$ over these draws is {eq}`eq-who-asks` with
#    $e_* = \sum_a q_a e_a$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Expanding the product gives {eq}`eq-who-asks`. The sum of the first two blocks is
# $\sum_j \bigl(\sum_i \beta_{ij}\bigr) e_* (e_{t_j} + p_j)^\top$. Since $B$ is symmetric, so is $P^\top B P$, which proves
# part 1.
#
# For part 2, the four blocks map between the pairs of subspaces (mask, tokens), (mask, positions), (positions, tokens) and
# (positions, positions). The blocks are therefore orthogonal to each other, and $\|\Delta W\|^2$ is the sum of their squared
# norms, which is the denominator. The transposes of the first three blocks belong to pairs of subspaces that do not occur in
# this list. Hence $\mathrm{Tr}(\Delta W \Delta W) = \langle \Delta W, \Delta W^\top \rangle = \|P^\top B P\|^2$. For part 3,
# we have $\|P^\top B P\|^2 = \ell_p^4 \|B\|^2$, $\|P^\top B E\|^2 = \ell_p^2\ell_t^2\|B\|^2$,
# $\|v\|^2 = \ell_t^2 \sum b_j^2$ and $\|r\|^2 = \ell_p^2 \sum b_j^2$. The denominator of {eq}`eq-who-asks-score` is
# therefore $\|B\|^2(\ell_p^2 + \ell_t^2)(\ell_p^2 + \kappa\,\ell_*^2)$.
#
# For part 4, note that $\Delta W = (E + P)^\top B (E + P)$ is symmetric. For part 5, $\Delta W$ is linear in the embedding
# of the drawn token, and the draw is independent of all factors by which this embedding is multiplied.
# ```
# ````
#
# The theorem leaves out the pairs in which a position is paired with itself. For these pairs, the key is also computed
# from the embedding of the mask. They would add $\sum_i \beta_{ii}(e_* + p_i)(e_* + p_i)^\top$, which is symmetric and
# contains no token embedding.


# %% tags=["remove-cell"]
class Embeddings(NamedTuple):
    """What the places of a sequence hold: the mask, their tokens and their positions."""

    mask: Float[Tensor, " d"]
    tokens: Float[Tensor, "n d"]
    positions: Float[Tensor, "n d"]


class Blocks(NamedTuple):
    """The four blocks of an update by what queries hold, and then by what keys hold."""

    mask_token: Float[Tensor, "d d"]
    mask_position: Float[Tensor, "d d"]
    position_token: Float[Tensor, "d d"]
    position_position: Float[Tensor, "d d"]


def orthogonal_embeddings(n: int, lengths: tuple[float, float, float], repeated: bool, seed: int) -> Embeddings:
    """Orthogonal directions with the lengths of the mask, of tokens and of positions; all tokens different, or not."""
    generator = torch.Generator().manual_seed(seed)
    square = torch.randn(2 * n + 1, 2 * n + 1, generator=generator, dtype=torch.float64)
    directions = torch.linalg.qr(square).Q
    of_mask, of_tokens, of_positions = lengths
    chosen = torch.arange(n) // 2 if repeated else torch.arange(n)
    tokens = of_tokens * directions[1 : n + 1][chosen]
    return Embeddings(of_mask * directions[0], tokens, of_positions * directions[n + 1 :])


def random_embeddings(n: int, d: int, seed: int) -> Embeddings:
    """Normal embeddings, in no particular directions."""
    generator = torch.Generator().manual_seed(seed)
    draw = torch.randn(2 * n + 1, d, generator=generator, dtype=torch.float64)
    return Embeddings(draw[0], draw[1 : n + 1], draw[n + 1 :])


def agreeing(n: int, seed: int) -> Float[Tensor, "n n"]:
    """Random coefficients with ``beta_ij = beta_ji`` exactly, and 0 on the diagonal."""
    return correlated_coefficients(1.0, 1, n, torch.Generator().manual_seed(seed))[0]


def update(
    beta: Float[Tensor, "n n"], queries: Float[Tensor, "n d"], keys: Float[Tensor, "n d"]
) -> Float[Tensor, "d d"]:
    """``sum_ij beta_ij q_i k_j^T``."""
    return queries.T @ beta @ keys


def hidden(of: Embeddings) -> Float[Tensor, "n d"]:
    """What queries are: the mask and their positions."""
    return of.mask + of.positions


def blocks(beta: Float[Tensor, "n n"], of: Embeddings) -> Blocks:
    """The four blocks of the update."""
    arriving = beta.sum(0)
    return Blocks(
        torch.outer(of.mask, arriving @ of.tokens),
        torch.outer(of.mask, arriving @ of.positions),
        of.positions.T @ beta @ of.tokens,
        of.positions.T @ beta @ of.positions,
    )


def score_by_blocks(of: Blocks) -> float:
    """``s``: the share of the block between positions in the squared norms of all four."""
    squares = [float(block.square().sum()) for block in of]
    return squares[-1] / sum(squares)


def score_by_lengths(beta: Float[Tensor, "n n"], lengths: tuple[float, float, float]) -> float:
    """``s`` of different tokens, from the lengths of the mask, of tokens and of positions."""
    mask, token, position = (length**2 for length in lengths)
    kappa = float(beta.sum(0).square().sum() / beta.square().sum())
    return position / (position + token) * position / (position + kappa * mask)


def skew(m: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """The skew-symmetric part."""
    return (m - m.T) / 2


def mean_over_drawn_queries(beta: Float[Tensor, "n n"], of: Embeddings, vocabulary: Float[Tensor, "v d"]) -> Tensor:
    """The update if each query holds any token of a vocabulary, averaged over all ways to draw them."""
    n = len(beta)
    total = torch.zeros_like(torch.outer(of.mask, of.mask))
    ways = torch.cartesian_prod(*[torch.arange(len(vocabulary))] * n)
    for drawn in ways:
        total = total + update(beta, vocabulary[drawn] + of.positions, of.tokens + of.positions)
    return total / len(ways)


# %%
@claim(
    "S1.15",
    "(queries and keys)",
    "equal coefficients make only that block symmetric whose embeddings queries and keys share",
    Verdict.HOLDS,
    ours=True,
)
def who_asks_must_answer(n_tokens=6, seed=1):
    beta, anywhere = agreeing(n_tokens, seed), random_embeddings(n_tokens, 8, seed)
    keys = anywhere.tokens + anywhere.positions
    masked = update(beta, hidden(anywhere), keys)
    parts = blocks(beta, anywhere)
    yield exact(
        "any embeddings: update compared with the sum of its four blocks, relative difference",
        relative_error(masked, sum(parts[1:], parts[0])),
    )
    others = parts.mask_token + parts.mask_position + parts.position_token
    yield exact(
        "any embeddings: skew-symmetric part compared with that of three blocks, relative difference",
        relative_error(skew(masked), skew(others)),
    )
    yield exact(
        "any embeddings, queries computed from their own tokens: $s$", symmetry_score(update(beta, keys, keys)), 1
    )
    lengths = (1.5, 1.0, 0.7)
    for words, repeated in (("different tokens", False), ("repeated tokens", True)):
        apart = orthogonal_embeddings(n_tokens, lengths, repeated, seed)
        s = symmetry_score(update(beta, hidden(apart), apart.tokens + apart.positions))
        yield exact(
            f"three subspaces, {words}: $s$ minus the formula of the blocks", s - score_by_blocks(blocks(beta, apart))
        )
    apart = orthogonal_embeddings(n_tokens, lengths, False, seed)
    s = symmetry_score(update(beta, hidden(apart), apart.tokens + apart.positions))
    yield exact(
        "three subspaces, different tokens: $s$ minus the formula of the lengths", s - score_by_lengths(beta, lengths)
    )
    alone = apart._replace(positions=torch.zeros_like(apart.positions))
    yield exact(
        "three subspaces, no position embeddings: $s$", symmetry_score(update(beta, hidden(alone), alone.tokens))
    )
    few, vocabulary = random_embeddings(3, 8, seed), anywhere.tokens[:3]
    drawn = mean_over_drawn_queries(agreeing(3, seed), few, vocabulary)
    of_mean = few._replace(mask=vocabulary.mean(0))
    expected = update(agreeing(3, seed), hidden(of_mean), few.tokens + few.positions)
    yield exact(
        "queries computed from randomly drawn tokens: mean update compared with the formula, relative difference",
        relative_error(drawn, expected),
    )


show(who_asks_must_answer(n_tokens, seed))

# %% [markdown]
# **Role in the argument.** {prf:ref}`thm-s1-14` assumes that the coefficients satisfy $\beta_{ij} = \beta_{ji}$. In masked
# training, this assumption makes the block between positions symmetric, but no other block. Equation
# {eq}`eq-who-asks-lengths` quantifies the consequence: if position and token embeddings have equal norms, $s$ is at most
# 1/2. In this theorem, position embeddings are the only component shared by queries and keys. Under its assumptions, the
# update of the first layer has a score of 0 if there are no position embeddings. If several positions of a sequence are
# masked, or if tokens at other positions also act as queries, the score can be positive even without position embeddings.
#
# The theorem applies only under narrow conditions. It is limited to the first layer, because in higher layers the
# representation of a hidden position also contains information from other positions. The formulas for $s$ require three
# orthogonal subspaces, but trained embeddings are not orthogonal. According to the last part, random tokens have no
# advantage over the mask as long as the coefficients do not depend on the drawn token. Hence the theorem does not predict
# that training with random tokens makes $W_{qk}$ symmetric. If such training does make $W_{qk}$ symmetric, either the
# coefficients depend on the drawn tokens, or the reason lies in the higher layers.
