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
# Slips, variants and further statements behind the [chapter on symmetric updates](symmetric_updates.py), in its notation: an
# update is $\Delta W = \sum_{ij} \beta_{ij}\, x_i x_j^\top$ with embeddings $x_i$ of width $d$, and $\rho$ says how far
# $\beta_{ij}$ and $\beta_{ji}$ agree.

# %% tags=["parameters", "remove-input"]
d: int = 48  # width of the embedding; in [16, 128]
mask_rate: float = 0.15  # share of masked tokens; in [0.05, 0.5]
rho: float = 0.8  # correlation of the coefficients of a pair in the masked examples; in [0.3, 1]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from collections import Counter
from dataclasses import replace
from itertools import product

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from livingpaper.display.page import glue, show
from attngeo.bilinear.scores import symmetry_score
from livingpaper.claims.claim import Verdict, claim, compare, exact
from attngeo.gradients.first_update import (
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
from attngeo.gradients.toy_transformer import ToyConfig, ToyTransformer, one_layer

BEFORE = "Section S1.4.5, before Theorem S1.14"
LONG = 200  # tokens after which a chain that mixes has forgotten where it was
MASK_RATES = (0.15, 0.3)  # the range that Remark S1.15 names

# %% [markdown]
# ## A pair's score depends on its coefficients and its angle
#
# A pair with equal coefficients adds $2 \beta_{ij} S_{ij}$ by {prf:ref}`thm-s1-14`. (Eq. S114 in its proof loses the 2 and sets a
# sum over all pairs against a single one.) How symmetric is a pair whose coefficients are not equal?
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
# With $X = \|x\|^2$, $Y = \|y\|^2$ and $x^\top y = c\sqrt{XY}$,
#
# $$
# \|M\|^2 = a^2 XY + b^2 XY + 2ab\,(x^\top y)^2 = XY\,(a^2 + b^2 + 2ab\,c^2), \\
# \mathrm{Tr}(MM) = a^2 (x^\top y)^2 + b^2 (x^\top y)^2 + 2ab\, XY = XY\,(2ab + (a^2+b^2)\,c^2).
# $$
#
# The score is $\mathrm{Tr}(MM)/\|M\|^2$. Divide numerator and denominator by $XY (a^2+b^2)$. ($M \neq 0$ excludes $a = -b$
# with parallel vectors, the only case in which the denominator vanishes.)
# ```
# ````
#
# So $1 - s = (1 - \rho)(1 - c^2) / (1 + \rho c^2)$. Coefficients that agree are enough: $1 - s \le 1 - \rho$ for $\rho \ge 0$.
# Embeddings that are nearly parallel are enough only if the coefficients are not nearly opposite: $a = -b$ gives $s = -1$ at every
# angle. A pair of autoregressive training has $b = 0$, and its score is $c^2$, near 0 for embeddings in general position.


# %%
@claim(
    "S1.14",
    "Eq. S109",
    "the term of a pair is approximately symmetric",
    Verdict.STATED,
    printed=""""[W]e assume that predicting the $i$-th token from the $j$-th token is correlated to predicting the $j$-th token
    from the $i$-th token.\"""",
    place=BEFORE,
    holds=r"""The symmetry score of a pair is $s = (\rho + c^2)/(1 + \rho c^2)$ with $\rho = 2\beta_{ij}\beta_{ji} /
    (\beta_{ij}^2 + \beta_{ji}^2)$ and $c = \cos(x_i, x_j)$. It is near 1 if $\beta_{ij} \approx \beta_{ji}$, which the proof
    assumes, or if $1 - c^2 \ll 1 + \rho$. Opposite coefficients give $-1$ at every angle.""",
    remark=r"""The condition is the paper's own, stated before the theorem; the training objective does not imply it. A pair of
    autoregressive training has $\beta_{ji} = 0$ and the score $c^2$.""",
)
def symmetry_of_a_pair(d=16, seed=0):
    x, y = random_sequence(d, 2, seed)[0]
    along = x / x.norm()
    across = y - (y @ along) * along
    pairs = (1.0, 0.9, 0.0), (1.0, 0.9, 0.6), (1.0, 0.0, 0.3), (1.0, -0.5, 0.5), (1.0, -0.9, 0.999), (0.3, -0.3, 0.999)
    for a, b, c in pairs:
        k = torch.outer(x, y.norm() * (c * along + (1 - c**2) ** 0.5 * across / across.norm()))  # at this cosine
        words = rf"$s$ of a pair, $\beta$ = {a:g} and {b:g}, cosine {c:g}"
        yield exact(words, symmetry_score(a * k + b * k.T), pair_score(agreement(a, b), c))


show(symmetry_of_a_pair(d=d, seed=seed))

# %% [markdown]
# ## In linear attention, symmetric values are enough
#
# Where the coefficients are known, we can say when the assumption of Section S1.4.5 is met.
#
# ````{prf:proposition} the first update of linear attention with tied embeddings
# :label: prop-s1-14-linear
#
# Let attention have no softmax, $\alpha_{ij} = x_i^\top W_{qk} x_j$, let the residual stream receive
# $\sum_j \alpha_{ij} V x_j$, let the output weights be the embeddings $e_a$, of mean zero over the vocabulary, and let
# position $i$ hold the token that it predicts, $x_i = e_{t_i}$. At $W_{qk} = 0$, for small embeddings and to leading order,
# the negative gradient has $\beta_{ij} = x_i^\top V x_j$. With all pairs, itself included, and $S = \sum_i x_i x_i^\top$, the
# update of a sequence is
#
# $$
# \Delta W = S V S .
# $$ (eq-s1-14-linear)
#
# It is symmetric exactly if $u^\top V u' = u'^\top V u$ for all $u, u'$ in the span of the embeddings of the sequence.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The logits at position $i$ are $E(x_i + \sum_j \alpha_{ij} V x_j)$ with $E$ the matrix of embeddings. For small embeddings
# the predicted probabilities are $1/n$ for each of the $n$ tokens up to higher orders, so that the negative gradient of
# the loss in the residual stream is $E^\top(\text{one-hot}(t_i) - \text{probabilities}) = e_{t_i} - \bar e = x_i$. The
# score $\alpha_{ij}$ enters the residual stream with $V x_j$, hence $\beta_{ij} = x_i^\top V x_j$. Summing
# $x_i (x_i^\top V x_j) x_j^\top$ over $i$ and $j$ gives {eq}`eq-s1-14-linear`. $S V S - (SVS)^\top = S(V - V^\top)S$, which
# vanishes exactly if $u^\top(V - V^\top)u' = 0$ for all $u, u'$ in the range of $S$, the span of the embeddings.
# ```
# ````


# %% tags=["remove-cell"]
def first_gradients(softmax: bool = False, seed: int = 0) -> tuple[Tensor, Tensor, Tensor, dict[Objective, Tensor]]:
    """Tokens, small embeddings that are the output weights too, V and -dL/dW_qk by autograd for scores of scale 1."""
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
    "linear attention with tied embeddings at $W_{qk} = 0$",
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
        yield exact(f"{objective}: formula against autograd, relative error", error, 0, 1e-6)
    symmetric = first_update(tokens[None], e, values + values.T, everything)[0]
    yield exact("s of the bidirectional update, V symmetric", symmetry_score(symmetric), 1, 1e-9)
    any_values = symmetry_score(first_update(tokens[None], e, values, everything)[0])
    yield compare("s of the bidirectional update, V of normal entries", any_values, "<", 1, 0.1)


show(first_update_of_linear_attention(seed=seed))

# %% [markdown]
# ## With a softmax, the mean of a sequence breaks the symmetry
#
# At $W_{qk} = 0$ a softmax can be treated exactly, because all attention weights of a position are equal.
#
# ````{prf:proposition} the first update with softmax
# :label: prop-s1-14-softmax
#
# In the setting of {prf:ref}`prop-s1-14-linear`, but with a softmax over the positions that are attended, let
# $x_1, \dots, x_N$ be the embeddings of a sequence, $m$ their mean and $\Gamma = \frac1N \sum_j (x_j - m)(x_j - m)^\top$. At
# $W_{qk} = 0$, for small embeddings and to leading order, the bidirectional negative gradient with scores of scale 1 is
# $\Delta W = N\,[\,\Gamma V \Gamma + m\,(\Gamma V^\top m)^\top\,]$. For a symmetric $V$ it is symmetric exactly if $m$ and
# $\Gamma V m$ are parallel.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# With all scores 0, $\alpha_{ij} = 1/N$ and the residual stream has $h_i = x_i + V m$. The derivative of the softmax gives
# $\beta_{ij} = \alpha_{ij}\, g_i^\top (V x_j - V m)$ ({prf:ref}`prop-2-2`), where $g_i$ is the negative gradient of the loss at
# $h_i$. As in {prf:ref}`prop-s1-14-linear`, $g_i = x_i$ to leading order. So
#
# $$
# \Delta W = \sum_i x_i\, x_i^\top V\, \frac{1}{N} \sum_j (x_j - m)\, x_j^\top = \sum_i x_i x_i^\top V \Gamma ,
# $$
#
# because $\sum_j (x_j - m)\, m^\top = 0$, and $\sum_i x_i x_i^\top = N(\Gamma + m m^\top)$.
#
# For symmetric $V$ the skew-symmetric part is $\frac{N}{2}(m u^\top - u m^\top)$ with $u = \Gamma V m$.
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
    "softmax attention with tied embeddings at $W_{qk} = 0$",
    Verdict.HOLDS,
    ours=True,
)
def first_update_through_softmax(seed=0):
    tokens, embeddings, values, gradients = first_gradients(softmax=True, seed=seed)
    x = embeddings[tokens]
    error = relative_error(softmax_update(x, values), gradients[Objective.BIDIRECTIONAL])
    yield exact("formula against autograd, relative error", error, 0, 1e-6)
    update = softmax_update(x, values + values.T)
    yield compare("s of the bidirectional update, V symmetric", symmetry_score(update), "<", 1, 1e-6)


show(first_update_through_softmax(seed=seed))

# %% [markdown]
# ## Symmetric updates never remove what was skew, they outgrow it
#
# Suppose that every update is symmetric. How symmetric does the matrix become to which they are added?
#
# ````{prf:proposition} symmetric updates freeze the skew-symmetric part
# :label: prop-2-4-frozen
#
# Let $M(t) = M_0 + \Delta_1 + \dots + \Delta_t \neq 0$ with symmetric matrices $\Delta_1, \dots, \Delta_t$, let $N_0$ be the
# skew-symmetric part of $M_0 \neq 0$ and $s_0$ its symmetry score. Then
#
# $$
# s(t) = 1 - \frac{2\|N_0\|_F^2}{\|M(t)\|_F^2} = 1 - (1 - s_0)\, \frac{\|M_0\|_F^2}{\|M(t)\|_F^2} .
# $$ (eq-2-4-frozen)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Taking the skew-symmetric part is linear, and that of every $\Delta$ is 0, so $M(t)$ has the skew-symmetric part $N_0$
# for all $t$. The score is $s = (\|S\|^2 - \|N\|^2)/\|M\|^2$ with $\|S\|^2 + \|N\|^2 = \|M\|^2$, hence
# $1 - s = 2\|N\|^2/\|M\|^2$, at time $t$ with $N = N_0$. At time 0 this reads $2\|N_0\|^2 = (1 - s_0)\|M_0\|^2$.
# ```
# ````


# %%
def frozen_score(start: Float[Tensor, "d d"], now: Float[Tensor, "d d"]) -> float:
    """``s(t) = 1 - 2 ||N_0||^2 / ||M(t)||^2``."""
    return float(1 - (start - start.T).square().sum() / 2 / now.square().sum())


@claim(
    "2.4",
    "(what symmetric updates do to a matrix)",
    "symmetric updates induce symmetric structures",
    Verdict.HOLDS,
    printed="""Every pair contributes "a term that is approximately symmetric, ... thereby inducing symmetric structures".""",
    place="Theorem 2.4",
    holds=r"""Symmetric updates of $M$ leave its skew-symmetric part $N_0$ as it was: $s(t) = 1 - 2\|N_0\|^2 / \|M(t)\|^2 = 1 -
    (1 - s_0)\|M_0\|^2 / \|M(t)\|^2$. The score rises exactly as far as the norm grows.""",
)
def frozen_skew_part(d=12, n_tokens=6, n_updates=3, seed=0):
    generator = torch.Generator().manual_seed(seed)
    beta = correlated_coefficients(1.0, n_updates, n_tokens, generator)  # beta_ij = beta_ji
    start = torch.randn(d, d, generator=generator, dtype=torch.float64)
    x = torch.randn(n_updates, n_tokens, d, generator=generator, dtype=torch.float64)
    matrices = start + (x.mT @ beta @ x).cumsum(0)
    for n, m in enumerate(matrices, 1):
        yield exact(f"s after {n} updates, against the formula", symmetry_score(m), frozen_score(start, m), paper="")


show(frozen_skew_part(seed=seed))

# %% [markdown]
# ## A small form takes its first direction from the gradient, and decay keeps it in the gradient's directions
#
# A form can end symmetric though few of its updates were. Where it starts small, one pair of singular vectors decides.
#
# ````{prf:proposition} the first direction, and forms at rest
# :label: prop-2-4-first-direction
#
# Let $G = \partial L / \partial W_{qk}$ for a loss that hangs on the factors by $W_{qk} = W_q W_k^\top$ alone.
#
# 1. Let $-G$ be fixed, with a simple largest singular value $\sigma_1$ and its vectors $u_1, v_1$. Under gradient flow
#    of $W_q$ and $W_k$, $W_{qk}$ over its norm tends to $u_1 v_1^\top$, and $s$ to $(u_1^\top v_1)^2$, if
#    $a = W_q(0)^\top u_1 + W_k(0)^\top v_1 \neq 0$.
# 2. Where gradient flow with weight decay $\lambda > 0$ of both factors rests, other than at 0, $W_q^\top W_q = W_k^\top W_k$ and
#    $W_{qk} = U C V^\top$ with $C$ positive semidefinite, the columns of $U$ and $V$ singular vectors of $-G$ whose singular value is
#    $\lambda$. So $s = \mathrm{Tr}(C R\, C R) / \|C\|_F^2$ with $R = V^\top U$; of one direction it is $(u^\top v)^2$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The flow is $\dot W_q = -G W_k - \lambda W_q$ and $\dot W_k = -G^\top W_q - \lambda W_k$, with $\lambda = 0$ in 1. There the stacked
# factors follow a symmetric matrix with eigenvalues $\pm\sigma_k$ and eigenvectors $(u_k, \pm v_k)/\sqrt 2$, and 0. So
# $W_q e^{-\sigma_1 t} \to u_1 a^\top / 2$ and $W_k e^{-\sigma_1 t} \to v_1 a^\top / 2$: the form over $e^{2 \sigma_1 t}$ tends to
# $\|a\|^2 u_1 v_1^\top / 4$, and $s(u v^\top) = (u^\top v)^2$ for unit vectors.
#
# At rest $\lambda W_q = -G W_k$ and $\lambda W_k = -G^\top W_q$. Hence $\lambda W_q^\top W_q = -W_q^\top G W_k$, whose transpose is
# $\lambda W_k^\top W_k$; the left side is symmetric. Also $\lambda^2 W_q = G G^\top W_q$: the columns of $W_q$ are left singular
# vectors of that value, $W_q = U B$ with $U$ an orthonormal basis of them. With $V = -G^\top U / \lambda$, $W_k = V B$, and
# $C = B B^\top$.
# ```
# ````
#
# So $s$ is then not a matter of how far $\beta_{ij}$ and $\beta_{ji}$ agree. It asks whether what is read by queries and what
# is read by keys is the same direction of the data. Optimisers such as AdamW follow another flow; there this is a guide.


# %% tags=["remove-cell"]
def grown(factors: Float[Tensor, "2 d r"], minus_g: Float[Tensor, "d d"], time: float) -> Float[Tensor, "d d"]:
    """The form under the flow of part 1."""
    zero = torch.zeros_like(minus_g)
    flow = torch.cat([torch.cat([zero, minus_g], 1), torch.cat([minus_g.T, zero], 1)])
    q, k = (torch.linalg.matrix_exp(time * flow) @ factors.flatten(0, 1)).chunk(2)
    return q @ k.T


def rested(target: Float[Tensor, "d d"], decay: float, rank: int, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """Factors, and -G, where descent on ``||W_qk - target||^2 / 2`` with decay has come to rest."""
    q, k = torch.randn(2, len(target), rank, generator=torch.Generator().manual_seed(seed)).double()
    for _ in range(20_000):
        minus_g = target - q @ k.T
        q, k = q + 0.05 * (minus_g @ k - decay * q), k + 0.05 * (minus_g.T @ q - decay * k)
    return q, k, target - q @ k.T


# %%
@claim(
    "2.4",
    "(the first direction, and forms at rest)",
    "a small form takes the first direction of the gradient",
    Verdict.HOLDS,
    ours=True,
)
def first_direction(d=8, rank=2, decay=0.1, seed=0):
    generator = torch.Generator().manual_seed(seed)
    start, (minus_g, target) = (torch.randn(2, d, n, generator=generator).double() for n in (rank, d))
    u, sigma, vh = torch.linalg.svd(minus_g)
    late = symmetry_score(grown(start, minus_g, 20 / float(sigma[0] - sigma[1])))
    yield exact(r"$s$ after long growth, against $(u_1^\top v_1)^2$", late, (u[:, 0] @ vh[0]) ** 2, 1e-6)
    q, k, minus_g = rested(target, decay, rank, seed)
    yield exact(r"at rest, $W_q^\top W_q$ less $W_k^\top W_k$, relative", relative_error(q.T @ q, k.T @ k), 0, 1e-6)
    error = relative_error(minus_g @ minus_g.T @ q, decay**2 * q)
    yield exact(r"at rest, $G G^\top W_q$ against $\lambda^2 W_q$", error, 0, 1e-6)
    u = torch.linalg.qr(q).Q
    v = minus_g.T @ u / decay
    r, c = v.T @ u, u.T @ q @ k.T @ v
    s = (c @ r @ c @ r).trace() / c.square().sum()
    yield exact("at rest, $s$ against the singular vectors' angle", symmetry_score(q @ k.T), s, 1e-6)


show(first_direction(seed=seed))

# %% [markdown]
# ## A query one position behind its target breaks the symmetry
#
# A decoder holds token $t_i$ at the query position $i$ and predicts $t_{i+1}$. The expected update then has another matrix on
# its query side than on its key side.
#
# ````{prf:proposition} the expected update if queries stand one position before their targets
# :label: prop-s1-14-shift
#
# Let the tokens be a stationary process over a finite vocabulary that mixes: the tokens at $i$ and $i+1$ become
# independent of the token at $i - m$ as $m \to \infty$. Then the update
# $\Delta W_N = \sum_{i<N} \sum_{j \le i} (x_{i+1}^\top V x_j)\, x_i x_j^\top$ has
#
# $$
# \frac{2}{N^2}\, \mathbb{E}[\Delta W_N] \to A V \Sigma, \qquad
# A = \mathbb{E}[x_i x_{i+1}^\top], \quad \Sigma = \mathbb{E}[x_i x_i^\top] .
# $$ (eq-s1-14-shift)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# A term is $x_i x_{i+1}^\top V x_j x_j^\top$. By stationarity its expectation depends on $m = i - j$ alone; call it $F_m$.
# There are $N - 1 - m$ pairs of the distance $m$, so $\mathbb{E}[\Delta W_N] = \sum_{m=0}^{N-2} (N - 1 - m) F_m$. As the
# vocabulary is finite, $F_m$ is a finite sum over the values of three tokens, and mixing gives
# $F_m \to \mathbb{E}[x_i x_{i+1}^\top]\, V\, \mathbb{E}[x_j x_j^\top] = A V \Sigma$. The weights $2(N-1-m)/N^2$ add up to
# $(N-1)/N \to 1$ and each of them tends to 0, so that their average of the $F_m$ has the same limit.
# ```
# ````


# %%
def shifted_limit(
    chain: MarkovChain, embeddings: Float[Tensor, "vocab d"], values: Float[Tensor, "d d"]
) -> Float[Tensor, "d d"]:
    """``A V Sigma``, ``A = E[x_i x_{i+1}^T]``, ``Sigma = E[x_i x_i^T]``: limit of 2/N^2 times the expected update."""
    weighted = chain.start[:, None] * chain.transition
    return embeddings.T @ weighted @ embeddings @ values @ embeddings.T @ (chain.start[:, None] * embeddings)


@claim(
    "2.4",
    "(queries one position behind)",
    "the expected update of autoregressive linear attention",
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
    yield exact("expected update against all sequences, relative error", error)
    before, here, after = (expected_update(chain, *weights, n) for n in (LONG - 1, LONG, LONG + 1))
    error = relative_error(after - 2 * here + before, shifted_limit(chain, *weights))
    yield exact(rf"what {LONG} tokens add to the growth of the expected update, against $A V \Sigma$", error, 0, 1e-8)


show(expected_update_one_behind(seed=seed))

# %% [markdown]
# Even for a symmetric $V$ the limit is in general not symmetric: its query side carries $A$, its key side $\Sigma$. That
# $A \neq A^\top$, as which token follows which has a direction, adds to it and is not needed. In this model it is the shift
# between query and target that separates a decoder from an encoder whose queries hold what they predict. The number of pairs
# in either order does not.
#
# ## Norms of rows and columns vary alike in law, not in one matrix
#
# The paper says that bidirectional training gives row norms and column norms the same variance. That is so on average.
#
# ````{prf:corollary} Cor. S1.13 of the paper: bidirectional training gives row and column norms of equal variance
# :label: cor-s1-13
#
# Let $\Delta W = \sum_{i,j} \beta_{ij}\, x_i x_j^\top$ over all pairs $i \neq j$. Let the embeddings have any joint law: tokens
# may repeat, depend on each other or be fixed. Given the embeddings, let the matrices $(\beta_{ij})$ and $(\beta_{ji})$ be
# equal in law; this is so if the coefficients are independent of the embeddings and have this property. Then $\Delta W$
# and $\Delta W^\top$ are equal in law, also for a sum over sequences under the same condition on all their coefficients
# together. In particular the variance over $m$ of the row norms and the variance over $k$ of the column norms have the
# same law.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $\Delta W^\top = \sum_{i \neq j} \beta_{ij} x_j x_i^\top = \sum_{i \neq j} \beta_{ji} x_i x_j^\top$, which is $\Delta W$ with
# $(\beta_{ji})$ in the place of $(\beta_{ij})$. Given the embeddings, the two have the same law; averaging over the
# embeddings keeps this. The set of pairs is used once: with $(i, j)$ it contains $(j, i)$. The rows of $\Delta W^\top$ are
# the columns of $\Delta W$.
# ```
# ````
#
# The paper states equality of the two variances and derives it from the counts of {prf:ref}`prop-s1-10`. It holds in law
# and not for a single matrix. In autoregressive training repeated tokens can set columns apart from rows. In the check below, the
# sequence $(a, a, b)$ with all signs of the coordinates 2 and 1, rows are the more uneven side, against {prf:ref}`thm-s1-12`.
#
# For a trained model the condition on the coefficients is the weak point. The exact coefficients of a softmax have
# $\sum_j \beta_{ij} = 0$ for every $i$ ({prf:ref}`prop-2-2`). If $(\beta_{ij})$ and $(\beta_{ji})$, diagonal included, had one
# law, then $\sum_i \beta_{ij} = 0$ for every $j$ would hold almost surely too; it does not.


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
    "rows and columns have the same law in bidirectional training",
    Verdict.ASSUMPTION,
    missing=("same law",),
    printed='"Importantly, the column dominance is present only during autoregressive training."',
    place="Section S1.4.5, before Corollary S1.13",
    holds=r"""With coefficients of the same law in both orders, $\Delta W$ and $\Delta W^\top$ are equal in law for any tokens in
    bidirectional training. In autoregressive training they are if the order of the positions can be reversed without a
    change of either law, as for i.i.d. embeddings and coefficients, and not in general: for the sequence $(a, a, b)$ with
    coordinates $\pm 2$ and $\pm 1$ and coefficients of random signs the two laws differ by 1/4. There rows are the more
    uneven side.""",
)
def law_of_the_transpose():
    both, causal, laws = Objective.BIDIRECTIONAL, Objective.AUTOREGRESSIVE, sign_embeddings()
    for name, x in laws.items():
        distance = distance_to_transposed(updates_by_signs(x, both))
        yield exact(f"bidirectional, {name} tokens: distance of the two laws", distance, 0, 0, paper="= 0")
    for name, expected in {"different": 0, "repeated": 1 / 4}.items():
        distance = distance_to_transposed(updates_by_signs(laws[name], causal))
        yield exact(f"autoregressive, {name} tokens: distance of the two laws", distance, expected, 0, paper="")
    sides = squared_norms(updates_by_signs(laws["repeated"], causal).double())
    rows, columns = (norms.square().sum(-1).mean() for norms in sides)
    fourth = r"$\mathbb{E}\sum_k \|w_{\cdot,k}\|^4 - \mathbb{E}\sum_m \|w_{m,\cdot}\|^4$"
    yield exact(f"autoregressive, the sequence $(a, a, b)$: {fourth}", columns - rows, -1088)


show(law_of_the_transpose())

# %% [markdown]
# The next check takes the difference of the two variances in every outcome of a small model; its mean is 0 where
# $\Delta W$ and $\Delta W^\top$ are equal in law.


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
    "bidirectional training gives row and column norms of equal variance",
    Verdict.ASSUMPTION,
    missing=("same law",),
    printed='"[T]he variance of the norm of the rows and the columns at the end of training is equal".',
    place="Corollary S1.13, Eq. S103",
    holds=r"""The two have equal laws if, given the embeddings, $(\beta_{ij})$ and $(\beta_{ji})$ have the same law, whatever the
    embeddings are.""",
    remark="""For one matrix, equality needs more: it is exact for a symmetric one. In this check's model, every outcome of
    three tokens in two dimensions, column norms vary more with errors independent of the embeddings. The exact coefficients
    of a softmax, whose sums over $j$ are 0 and whose sums over $i$ are not, do not have the same law in both orders.""",
)
def variances_of_norms():
    gaps = {name: variance_gaps(updates) for name, updates in every_update().items()}
    words = "mean of Var(row norms) - Var(column norms)"
    yield exact(f"bidirectional, independent coefficients: {words}", gaps["bidirectional"].mean(), paper="= 0")
    yield compare("its mean absolute value: single updates", gaps["bidirectional"].abs().mean(), ">", 0, 0.1)
    yield exact(f"autoregressive, all tokens different: {words}", gaps["autoregressive"].mean())
    errors = "bidirectional, errors independent of the embeddings"
    yield compare(f"{errors}: {words}", gaps["errors"].mean(), "<", 0, 0.1, paper="= 0")
    g = one_layer(seed=0).example(Objective.BIDIRECTIONAL, 0).gradient(0)
    beta = exact_coefficients(g.layer.weights[0], g.layer.values[0], g.errors, scale=1.0)
    over_j, over_i = (float(beta.sum(axis).norm() / beta.norm()) for axis in (1, 0))
    yield exact("coefficients of a softmax: sums over j, relative to all", over_j)
    yield compare("coefficients of a softmax: sums over i", over_i, ">", 0, 0.1, paper="")


show(variances_of_norms())

# %% [markdown]
# ## One masking keeps a share of the symmetry, many keep most
#
# An encoder predicts only the tokens that are masked. How many pairs are then met in both orders?
#
# ````{prf:remark} Remark S1.15 of the paper: the share of pairs when a share $p$ of the tokens is predicted
# :label: rem-s1-15
#
# Let a random set $M$ of $pN$ out of $N$ positions be predicted, each from all positions. Of the terms with $i \neq j$, the
# share $(pN-1)/(N-1) \approx p$ belongs to pairs that occur in both orders, and the ratio of these terms to the others is
# $(pN-1)/(N-pN) \approx p/(1-p)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# There are $pN(N-1)$ terms with $i \in M$ and $j \neq i$. A pair occurs in both orders if both positions are in $M$, which
# makes $pN(pN-1)$ terms. The other $pN(N-pN)$ terms have $j \notin M$.
# ```
# ````
#
# Remark S1.15 of the paper gives the second number as "$\approx 25\%$ of symmetric weight updates on average" for $p$
# between 15 % and 30 %. Over this range it runs from {glue:text}`low` % to {glue:text}`high` %. As a share of all terms it is
# simply $p$.


# %%
def both_to_one_masked(mask_rate: float) -> float:
    """``p / (1 - p)`` (Eq. S119): terms of Eq. S116 with both positions masked to those with one, in a long sequence."""
    return mask_rate / (1 - mask_rate)


@claim(
    "S1.15", "Eqs. S115-S119", "the share of symmetric terms when a share p of the tokens is predicted", Verdict.HOLDS
)
def masked_shares(n_tokens=20_000):
    for p in (*MASK_RATES, 0.2):
        m = round(p * n_tokens)
        both, one = m * (m - 1), m * (n_tokens - m)  # terms with both positions masked, and with one
        yield compare(f"$p$ = {p:g}: both masked to one masked", both / one, "=", both_to_one_masked(p), 1e-3)
    low, high = (100 * both_to_one_masked(p) for p in MASK_RATES)
    return {
        "remark": rf"""The "$\approx 25\%$ of symmetric weight updates on average" are pairs over remaining terms, $p/(1-p)$:
        {low:.0f} % at $p = 15$ %, {high:.0f} % at 30 %, and 25 % at 20 %; over what the average is taken, the remark
        does not say. Of all terms the pairs are the share $p$. The context is written $[0, \dots, N]$ in the remark and $1$ to
        $N$ in Eq. S115."""
    }


show(masked_shares())

# %% [markdown]
# ````{prf:proposition} score of a masked update
# :label: prop-s1-15-score
#
# Let the embeddings be orthonormal, let the coefficients of all pairs $i \neq j$ have $\mathrm{Tr}(BB)/\|B\|_F^2 = \rho$, and
# let the sequence be masked $R$ times independently, every position with probability $p$, with the same coefficients every
# time. Then
#
# $$
# \frac{\mathbb{E}\,\mathrm{Tr}(\Delta W \Delta W)}{\mathbb{E}\|\Delta W\|_F^2} = \frac{\rho R p}{1 - p + R p} ,
# $$ (eq-s1-15-score)
#
# which is $\rho p$ for one masking and tends to $\rho$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The coefficient of $K_{ij}$ is $n_{ij} \beta_{ij}$, where $n_{ij}$ counts the maskings in which the pair is used. By
# {prf:ref}`prop-s1-14-update` the ratio is
# $\sum \mathbb{E}[n_{ij} n_{ji}] \beta_{ij} \beta_{ji} / \sum \mathbb{E}[n_{ij}^2] \beta_{ij}^2$, and the two expectations do
# not depend on the pair. $n_{ij} = n_i$ is the number of times that $i$ is masked: binomial, independent of $n_j$. So
# $\mathbb{E}[n_i n_j] = R^2p^2$, $\mathbb{E}[n_i^2] = Rp(1-p) + R^2p^2$, and the ratio is {eq}`eq-s1-15-score`.
# ```
# ````
#
# The share of one masking does not limit what training adds up. Take $p$ = {glue:text}`mask-rate` and $\rho$ =
# {glue:text}`rho`. One masking gives a score of {glue:text}`score-1` and thirty-two give {glue:text}`score-32`.


# %%
def masked_score(rho: float, p: float, rounds: int = 1) -> float:
    """``rho R p / (1 - p + R p)``."""
    return rho * rounds * p / (1 - p + rounds * p)


@claim("S1.15", "(score of the update)", "what the masked share means for the score", Verdict.HOLDS, ours=True)
def masked_update_score(seed=0):
    beta = random_sequence(n_tokens=3, seed=seed)[1]
    beta = beta - beta.diagonal().diag()
    for p, rounds in product(MASK_RATES, (1, 3)):
        masked = signs(rounds, len(beta)) > 0  # all ways to mask
        probability = torch.where(masked, *beta.new_tensor([p, 1 - p])).flatten(1).prod(1)
        b = beta * masked.double().sum(1)[:, :, None]
        measured = (probability @ (b * b.mT).sum((1, 2))) / (probability @ b.square().sum((1, 2)))
        words = f"$p$ = {p:g}, maskings: {rounds}: ratio of means"
        yield exact(words, measured, masked_score(symmetry_score(beta), p, rounds))


show(masked_update_score(seed=seed))

# %% [markdown]
# The paper's remark lets masked positions stand in the contexts. With the contexts of {prf:ref}`def-s1-3`, which leave them out,
# no pair of one masking occurs in both orders. In practice they do stand there, and hold the embedding $e$ of the mask.
#
# ````{prf:proposition} masked positions in a first layer
# :label: prop-s1-15-mask
#
# Let the embeddings at all masked positions be one vector $e$, as in a first layer without position embeddings. Then the
# part of the update whose queries are masked, $\sum_{i \in M} \sum_j \beta_{ij}\, x_i x_j^\top$, is $e\, v^\top$ with
# $v = \sum_{i \in M} \sum_j \beta_{ij} x_j$, for any coefficients, and a sum over sequences has the same form. If it is not
# 0, it has rank 1, row norms $|e_m| \|v\|$, column norms $|v_k| \|e\|$ and the score $\cos^2(e, v)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# $x_i = e$ for every $i \in M$ comes out of the sum. Entry $(m, k)$ of $e v^\top$ is $e_m v_k$, which gives the norms, and
# $\mathrm{Tr}(e v^\top e v^\top)/\|e v^\top\|^2 = (e^\top v)^2/(\|e\|^2\|v\|^2)$.
# ```
# ````
#
# So columns are the more uneven side exactly if the coordinates of $v$ are more uneven in size than those of $e$. In a model of one
# layer this part is the whole update. With layers above, [visible positions are queries
# too](implicit_gradient_details.py#the-loss-of-one-token).


# %%
def first_layer(x: Float[Tensor, "n d"], masked: Bool[Tensor, " n"], mask: Float[Tensor, " d"]) -> Float[Tensor, "n d"]:
    """The mask's embedding at every masked position: what a first layer without positions has there."""
    return torch.where(masked[:, None], mask, x)


@claim("S1.15", "(the mask's embedding)", "the embeddings of masked tokens", Verdict.HOLDS, ours=True)
def masked_positions_hold_the_mask(d=16, n_tokens=12, seed=0):
    x, beta, mask = random_sequence(d, n_tokens, seed)
    masked = torch.arange(n_tokens) % 3 == 1
    x, beta = first_layer(x, masked, mask), beta * masked[:, None]
    update, arriving = gradient_sum(beta, x), beta.sum(0) @ x
    singular = torch.linalg.svdvals(update)
    yield exact("second singular value of the update, relative", singular[1] / singular[0])
    words = r"$s$ against the squared cosine of the mask's embedding with $\sum_{ij} \beta_{ij} x_j$"
    yield exact(words, symmetry_score(update), cosine(mask, arriving) ** 2)
    words = "row norms against the sizes of the mask's coordinates, relative error"
    yield exact(words, relative_error(update.norm(dim=1), mask.abs() * arriving.norm()))


show(masked_positions_hold_the_mask(d=d, seed=seed))

# %% tags=["remove-cell"]
glue("low", 100 * both_to_one_masked(MASK_RATES[0]), ".0f")
glue("high", 100 * both_to_one_masked(MASK_RATES[1]), ".0f")
glue("mask-rate", mask_rate)
glue("rho", rho)
glue("score-1", masked_score(rho, mask_rate, 1), ".2f")
glue("score-32", masked_score(rho, mask_rate, 32), ".2f")
