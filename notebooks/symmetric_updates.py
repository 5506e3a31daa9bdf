# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Updates are symmetric if two predictions agree, which the paper assumes
#
# *Bidirectional* training meets each pair of tokens in both orders: in *the dog met my old cat*, *dog* is predicted with the help
# of *cat*, and *cat* with that of *dog*. So the updates of $\Wqk$ are approximately symmetric, says the paper's second theorem
# {cite}`saponati2025`.
#
# **They are symmetric if *dog* helps to predict *cat* as much as *cat* helps to predict *dog*. The paper assumes that these two
# contributions are correlated.** Between positions, this is [proven](positions_theory.py) under conditions, for one layer at the
# start of training. For pairs of tokens, the correlation is {glue:text}`agreement` in small untrained models, and we have not
# measured it in models that are being trained, where it may be another. Masked training at random weights still gives a
# [symmetry score](two_scores.py) of {glue:text}`score-masked`, because masked positions share an embedding.

# %% tags=["parameters", "remove-input"]
d: int = 48  # width of the embedding; in [16, 128]
n_tokens: int = 24  # tokens of a sequence; in [8, 64]
n_vocab: int = 48  # tokens in the vocabulary of the corpus; in [16, 256]
n_sequences: int = 2000  # sequences of the largest corpus; in [500, 20000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from functools import cache
from itertools import product
from typing import NamedTuple

import numpy as np
import pandas as pd
import seaborn as sns
import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import one_hot

from livingpaper.display.page import glue, show
from attngeo.plot.style import DECODER, NEUTRAL, PALETTE, CaptionedFigure, house_style, new_figure
from attngeo.plot.typeset import typeset
from attngeo.bilinear.scores import symmetry_score
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from attngeo.gradients.first_update import ChainCorpus, expected_update, first_update, random_corpus
from attngeo.gradients.objectives import Objective, attended_matrix, context_matrix
from attngeo.gradients.random_updates import agreement, correlated_coefficients, pair_score, random_sequence, signs
from attngeo.gradients.rank_one import exact_coefficients, gradient_sum, relative_error
from attngeo.gradients.toy_transformer import LayerGradient, one_layer

ASSUMED = """"[W]e assume that predicting the $i$-th token from the $j$-th token is correlated to predicting the $j$-th token
from the $i$-th token.\""""
MASKED_BOTH_CAUSAL = (Objective.MASKED, Objective.BIDIRECTIONAL, Objective.AUTOREGRESSIVE)
BEFORE = "Section S1.4.5, before Theorem S1.14"


class RandomUpdates(NamedTuple):
    """Coefficients whose two orders of a pair correlate, and embeddings to go with them."""

    rho: float
    beta: Float[Tensor, "draws n n"]
    orthonormal: Float[Tensor, "n wide"]  # as wide as the larger of N and d
    gaussian: Float[Tensor, "draws n d"]


def correlated_updates(d=48, n_tokens=40, n_draws=24, correlations=(-1.0, -0.6, 0.0, 0.6, 1.0), seed=0):
    """Updates for every correlation, and in the end those with autoregressive coefficients, of correlation 0."""
    generator = torch.Generator().manual_seed(seed)

    def draw(rho: float) -> RandomUpdates:
        beta = correlated_coefficients(rho, n_draws, n_tokens, generator)
        frame = torch.linalg.qr(torch.randn(max(d, n_tokens), n_tokens, generator=generator, dtype=torch.float64))[0]
        x = torch.randn(n_draws, n_tokens, d, generator=generator, dtype=torch.float64)
        return RandomUpdates(rho, beta, frame.T, x)

    *correlated, last = [draw(rho) for rho in (*correlations, 0.0)]
    return [*correlated, last._replace(beta=last.beta.tril())]


def isotropic_score(rho: float, d: int) -> float:
    """``(rho + 1/d) / (1 + rho/d)``: the score of a pair at the mean squared cosine 1/d."""
    return pair_score(rho, d**-0.5)


class MaskedInTurn(NamedTuple):
    """A sequence in which every position alone is masked, one after the other: both orders of every pair are met."""

    beta: Float[Tensor, "n n"]  # row i of the pass in which i is masked (Eq. S9)
    gradient: Float[Tensor, "d d"]  # the sum of all passes


@cache
def masked_in_turn(d: int = 32, n_tokens: int = 32, n_draws: int = 30, seed: int = 0) -> list[MaskedInTurn]:
    """The models of `random_gradients`, each on a sequence of its own."""
    sequences = []
    for draw in range(seed, seed + n_draws):
        model = one_layer(d, n_tokens, draw)
        tokens = torch.randint(model.config.n_vocab, (n_tokens,), generator=torch.Generator().manual_seed(draw))
        passes = [model.run(tokens, Objective.MASKED, m).gradient(0) for m in torch.eye(n_tokens, dtype=torch.bool)]
        beta = torch.stack([coefficients(g)[i] for i, g in enumerate(passes)])
        sequences.append(MaskedInTurn(beta, torch.stack([g.w_qk[0] for g in passes]).sum(0)))
    return sequences


@cache
def random_gradients(objective: Objective, n_draws: int = 30, seed: int = 0) -> list[LayerGradient]:
    """Exact gradients of models of one layer at random weights."""
    return [one_layer(seed=draw).example(objective, draw).gradient(0) for draw in range(seed, seed + n_draws)]


def coefficients(gradient: LayerGradient) -> Float[Tensor, "n n"]:
    """Exact ``beta_ij``, up to the scale of the scores, which no correlation sees."""
    return exact_coefficients(gradient.layer.weights[0], gradient.layer.values[0], gradient.errors, scale=1.0)


def of_pairs(beta: Float[Tensor, "n n"]) -> float:
    """``sum beta_ij beta_ji / sum beta_ij^2`` without the pairs of a position with itself."""
    return symmetry_score(beta - beta.diagonal().diag())


def of_positions(beta: Float[Tensor, "n n"]) -> float:
    """The same with them."""
    return symmetry_score(beta)


def with_shared_embeddings(gradient: LayerGradient) -> float:
    """``s(U^T B U)``, row i of U one-hot by the embedding at i: orthonormal, but shared as in the model."""
    beta = coefficients(gradient)
    shared = one_hot(torch.unique(gradient.layer.x, dim=0, return_inverse=True)[1]).to(beta)
    return symmetry_score(shared.T @ beta @ shared)


def of_gradient(gradient: LayerGradient) -> float:
    """``s(dL/dW_qk)``."""
    return symmetry_score(gradient.w_qk[0])


@house_style()
def score_by_correlation(updates: list[RandomUpdates], measured: float, score_masked: float, d: int) -> CaptionedFigure:
    """Score of simulated updates against the correlation of beta_ij with beta_ji, and the one measured."""
    pairs = [pair for u in updates for pair in zip(u.beta, u.gaussian, strict=True)]
    rows = [(f"N = {len(b)} tokens", symmetry_score(b), symmetry_score(gradient_sum(b, x))) for b, x in pairs]
    frame = pd.DataFrame(rows, columns=["sequence", "rho", "s"])
    figure, panel = new_figure(6.4, 4.2)
    sns.scatterplot(frame, x="rho", y="s", hue="sequence", style="sequence", alpha=0.6, ax=panel, palette=PALETTE[:6:4])
    grid = np.linspace(-1, 1, 101)
    panel.plot(grid, grid, "--", color=NEUTRAL, linewidth=1, label="orthonormal embeddings: s = ρ")
    panel.plot(grid, [isotropic_score(r, d) for r in grid], color="black", label=f"random embeddings, d = {d}")
    cross = (measured, isotropic_score(measured, d))
    panel.plot(*cross, "X", color=DECODER, markersize=13, markeredgecolor="white")
    words = f"measured at random\nweights: ρ = {typeset(f'{measured:.3f}')}"
    panel.annotate(words, cross, (0.25, -0.42), color=DECODER, arrowprops={"arrowstyle": "->"})
    panel.set(xlabel="ρ: correlation of the two coefficients of a pair", ylabel="symmetry score s of the update")
    panel.legend(fontsize="small")
    caption = r"""An update is as symmetric as its coefficients $\beta_{ij}$ and $\beta_{ji}$ agree. The cross marks the
    $\rho$ of exact gradients of masked training at random weights, mean over models; of other causes of symmetry it says
    nothing: with every third position masked at once, such gradients have $s$ = %s. Single draws scatter about the line."""
    alt = """Scatter plot of the symmetry score of updates against the correlation of the two coefficients of a pair. The
    points follow the diagonal from -1 to 1. A marked point, measured at random weights, lies near the middle, at a
    correlation of about 0."""
    return CaptionedFigure(figure, "fig-update-scores", caption % f"{score_masked:.2f}", alt)


turns = masked_in_turn(seed=seed)
rho_in_turn, s_in_turn = (
    pd.Series(values) for values in zip(*((of_pairs(t.beta), symmetry_score(t.gradient)) for t in turns), strict=True)
)
score_masked = np.mean([of_gradient(g) for g in random_gradients(Objective.MASKED, seed=seed)])
simulated = [
    u for n in (n_tokens, 4 * n_tokens) for u in correlated_updates(d, n, 6, (-0.9, -0.5, 0.0, 0.5, 0.9), seed)[:-1]
]

# %% tags=["remove-input"]
score_by_correlation(simulated, rho_in_turn.mean(), score_masked, d)

# %% tags=["remove-cell"]
assert abs(rho_in_turn.mean()) < 0.05 and rho_in_turn.abs().max() < 0.5  # "they do not"
glue("agreement", f"{typeset(f'{rho_in_turn.mean():.3f}')} ± {rho_in_turn.sem():.3f}")
glue("models", len(turns))
assert score_masked > 0.3 > 0.15 > s_in_turn.mean()
glue("score-masked", score_masked, ".2f")
glue("score-in-turn", s_in_turn.mean(), ".2f")
glue("half", pair_score(agreement(1.0, 0.5), 0.0), ".2f")
glue("minus-half", pair_score(agreement(1.0, -0.5), 0.0), ".2f")

# %% [markdown]
# :::{admonition} How sure is this
# Theorems and propositions are proven. The measured correlation is a mean over {glue:text}`models` models of one layer at random
# weights, on random tokens, with its standard error. It says nothing about training: for pairs of tokens, the correlation in
# models that are being trained has not been measured, and we plan to measure it. Between positions,
# [it has been](positions_theory.py#in-training-the-read-out-comes-first), as the evenness of what is read out. These
# models leave positions out; [a chapter on trained models](positions.py) has them.
# :::
#
# {numref}`fig-update-scores` shows how the symmetry score of a simulated update follows the correlation of its coefficients. At a
# correlation of 1 the entries of the update are equal in pairs across the diagonal, and at −1 they are opposite.
#
# ## Equal coefficients make a symmetric update
#
# The update of a sequence is a sum $\Delta W = \sum_{ij} \beta_{ij}\, x_i x_j^\top$: $x_i$ is the embedding of token $i$, and
# $\beta_{ij}$ says how much token $j$ helps to predict it. The [symmetry score](two_scores.py) $s$ is 1 for a symmetric matrix,
# −1 for a skew-symmetric one, near zero for a random one. A real step differs in two ways: $x_i$ is the embedding at the query
# ({prf:ref}`prop-2-2`), and what is stepped are $W_q$ and $W_k$ ({prf:ref}`rem-s1-6`).
#
# ````{prf:theorem} Thm. S1.14 (informally 2.4) of the paper: bidirectional training induces symmetry
# :label: thm-s1-14
#
# *Decomposition.* For any coefficients, with $K_{ij} = x_i x_j^\top$ and its symmetric and skew-symmetric parts $S_{ij}$ and
# $N_{ij}$,
#
# $$
# \sum_{i,j=1}^N \beta_{ij} K_{ij} = \sum_i \beta_{ii} K_{ii}
# + \sum_{i<j} \bigl[ (\beta_{ij} + \beta_{ji}) S_{ij} + (\beta_{ij} - \beta_{ji}) N_{ij} \bigr] .
# $$ (eq-s1-14-pairs)
#
# *Symmetry.* If $\beta_{ij} \approx \beta_{ji}$, then every pair contributes approximately $2\beta_{ij} S_{ij}$, a symmetric
# matrix.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Split the double sum into $i = j$, $i < j$ and $i > j$, and rename the indices in the last part. The pair $i < j$ then
# has $\beta_{ij} K_{ij} + \beta_{ji} K_{ji}$ with $K_{ji} = K_{ij}^\top = S_{ij} - N_{ij}$, which is the bracket. For equal
# coefficients the second term of the bracket vanishes.
# ```
# ````


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
    "the update as a sum over pairs",
    Verdict.HOLDS,
    remark="The text speaks of pairs from 0 to $N$, the sums run from 1 to $N$.",
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
# The decomposition is algebra; the condition on $\beta_{ij}$ and $\beta_{ji}$ is the paper's own (Section S1.4.5). Less will do: for
# orthogonal embeddings and a ratio of two to one a pair still has the score {glue:text}`half`, with opposite signs
# {glue:text}`minus-half` ([score of a pair](symmetric_updates_details.py#a-pairs-score-depends-on-its-coefficients-and-its-angle)).
#
# ## The score of an update is a correlation
#
# If the coefficients agree only in part, the update is about as symmetric as they agree.
#
# ````{prf:proposition} the score of an update is a correlation
# :label: prop-s1-14-update
#
# Let $\Delta W = X^\top B X$ with the embeddings in the rows of $X$ and the coefficients in $B$, and let
# $\rho = \mathrm{Tr}(BB)/\|B\|_F^2 = \sum_{ij} \beta_{ij}\beta_{ji} / \sum_{ij} \beta_{ij}^2$.
#
# 1. For orthonormal embeddings, $s(\Delta W) = \rho$.
# 2. For independent embeddings of mean 0 and covariance $I/d$ and given $B$ without diagonal,
#    $\mathbb{E}\,\mathrm{Tr}(\Delta W \Delta W) / \mathbb{E}\|\Delta W\|_F^2 = (\rho + 1/d)/(1 + \rho/d)$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $G = X X^\top$. Then $\mathrm{Tr}(\Delta W \Delta W) = \mathrm{Tr}(B G B G)$ and
# $\|\Delta W\|_F^2 = \mathrm{Tr}(B G B^\top G)$. For orthonormal rows $G = I$, which is the first claim.
#
# For the second, $\mathrm{Tr}(BGBG) = \sum B_{ij} G_{jk} B_{kl} G_{li}$ with $i \neq j$ and $k \neq l$. The entries of
# $G$ have $\mathbb{E}[G_{ii} G_{jj}] = 1$, $\mathbb{E} G_{ij}^2 = 1/d$ for $i \neq j$, and a product of two entries has
# mean 0 if some index occurs in it only once, because the embeddings are independent with mean 0. So
# $\mathbb{E}[G_{jk} G_{li}]$ is 1 for $(k, l) = (j, i)$, $1/d$ for $(k, l) = (i, j)$ and 0 otherwise, and
# $\mathbb{E}\,\mathrm{Tr}(BGBG) = \mathrm{Tr}(BB) + \|B\|_F^2/d$. Replacing the second $B$ by $B^\top$ gives
# $\mathbb{E}\,\mathrm{Tr}(BGB^\top G) = \|B\|_F^2 + \mathrm{Tr}(BB)/d$.
# ```
# ````


# %%
def mean_score(beta: Float[Tensor, "n n"], d: int) -> float:
    """``E Tr(dW dW) / E ||dW||^2`` of given coefficients; coordinates are random signs, whose scale cancels."""
    x = signs(len(beta), d).to(beta)
    updates = x.mT @ beta @ x
    return float((updates * updates.mT).sum() / updates.square().sum())


@claim("S1.14", "(score of the whole update)", "how symmetric the update of a sequence is", Verdict.HOLDS, ours=True)
def symmetry_of_an_update(d=48, seed=0):
    *correlated, autoregressive = correlated_updates(d, seed=seed)
    for u in correlated:
        gaps = [symmetry_score(gradient_sum(b, u.orthonormal)) - symmetry_score(b) for b in u.beta[:4]]
        words = rf"orthonormal embeddings, correlation {u.rho:g}: $s(\Delta W) - s(\beta)$"
        yield exact(words, max(map(abs, gaps)))
    for u, width in product((*correlated, autoregressive), (2, 3)):
        beta = u.beta[0, :3, :3]
        rho = symmetry_score(beta)
        words = f"all sign embeddings, $d$ = {width}, correlation {rho:.2f}: ratio of means"
        if u is autoregressive:
            words = f"all sign embeddings, autoregressive pairs, $d$ = {width}, correlation {rho:g}: ratio of means"
        yield exact(words, mean_score(beta, width), isotropic_score(rho, width))


show(symmetry_of_an_update(d=d, seed=seed))

# %% [markdown]
# With coefficients of mean zero, $\rho$ is the correlation of $\beta_{ij}$ with $\beta_{ji}$. Autoregressive pairs, which
# occur in one order only, have $\rho = 0$ in every single sequence.
#
# ## At random weights the two predictions do not agree
#
# The paper assumes that "predicting one token from the other gives similar predictions" (Section S1.4.5). At random weights
# this is not so. By {prf:ref}`prop-2-2`, up to what the softmax adds, $\beta_{ij} = g_i^\top V x_j$. Here $g_i$ is the gradient
# of the loss at the output of the layer, and $V$ is a random matrix. So $\beta_{ij}$ and $\beta_{ji}$ are two different entries
# of a random bilinear form. This is the state before the first step, on text without structure. Training on real text may change
# it, so it is no evidence against the theorem.


# %%
@claim(
    "2.4",
    "",
    "bidirectional training leads to symmetric weight updates, informally",
    Verdict.STATED,
    printed=ASSUMED,
    place=BEFORE,
    remark="""The assumption carries the content. Between positions it is proven on another page, under conditions, for one
    layer at the start. For two different tokens it is not met at random weights on text without structure, and it has not
    been measured in models that are being trained.""",
)
def agreement_at_random_weights(seed=0):
    bidirectional = random_gradients(Objective.BIDIRECTIONAL, seed=seed)
    agreements = {
        "masked, each position in turn": [of_pairs(m.beta) for m in masked_in_turn(seed=seed)],
        "bidirectional": [of_pairs(coefficients(g)) for g in bidirectional],
    }
    pair = r"$\beta_{ij}$ with $\beta_{ji}$"
    for objective, rho in agreements.items():
        words = f"correlation of {pair} at random weights, {objective}"
        yield monte_carlo(words, rho, 0.1, "<")
        yield monte_carlo(f"that correlation from below, {objective}", rho, -0.1, ">")


show(agreement_at_random_weights(seed=seed), unfolded=True)

# %% [markdown]
# The gradient $G$ of $\Wqk$ can be symmetric all the same, by pairs of a position with itself, positions that share an embedding, and
# embeddings that are not orthogonal. With masks it is the shared embedding that counts, as all masked positions have one. So
# masked training at random weights has the score {glue:text}`score-masked` without any agreement of two predictions. Masked one
# at a time, fewer positions share an embedding, and the score is {glue:text}`score-in-turn`.


# %%
@claim("2.4", "(other causes)", "gradients at random weights are symmetric for other reasons", Verdict.HOLDS, ours=True)
def other_causes_of_symmetry(seed=0):
    in_turn = masked_in_turn(seed=seed)
    masked, both, causal = (random_gradients(o, seed=seed) for o in MASKED_BOTH_CAUSAL)
    s = np.array([of_gradient(g) for g in masked])
    words = "every third position masked: s of the exact gradients, less the correlation"
    yield monte_carlo(words, s - [of_pairs(coefficients(g)) for g in masked], 0.2, ">")
    words = "that s, less s where each position alone is masked in turn"
    yield monte_carlo(words, s - [symmetry_score(t.gradient) for t in in_turn], 0.1, ">")
    shared = [with_shared_embeddings(g) - of_positions(coefficients(g)) for g in masked]
    yield monte_carlo("masked, what it adds that positions share an embedding", shared, 0.2, ">")
    words = "pairs of a position with itself included, agreement in autoregressive training"
    both, causal = (np.array([of_positions(coefficients(g)) for g in gs]) for gs in (both, causal))
    yield monte_carlo(f"{words} less that in bidirectional", causal - both, 0, ">")


show(other_causes_of_symmetry(seed=seed))

# %% [markdown]
# ## Over a corpus, tokens lose the contrast of the two objectives, and positions keep it
#
# Coefficients that depend on the two tokens alone, $\beta_{ij} = \beta(t_i, t_j)$, add up to
# $\sum_{ab} C_{ab}\, \beta(a, b)\, e_a e_b^\top$, where $C_{ab}$ counts how often token $a$ is predicted with $b$ in its
# context. Autoregressive training counts how often $b$ comes before $a$: lopsided in one sequence, but over a corpus both orders
# of most pairs occur. In linear attention at $W_{qk} = 0$ with symmetric values ({prf:ref}`prop-s1-14-linear`) its update over
# a corpus of {glue:text}`n-sequences` sequences has a symmetry score of {glue:text}`end-target`. The update of bidirectional
# training has {glue:text}`end-both`.


# %% tags=["remove-cell"]
def pair_counts(corpus: ChainCorpus, contexts: Bool[Tensor, "n n"]) -> Float[Tensor, "vocab vocab"]:
    """``C_ab``: how often token a is predicted with token b in its context, over all sequences."""
    (i, j), n_vocab = contexts.nonzero().T, len(corpus.embeddings)
    pairs = (corpus.tokens[:, i] * n_vocab + corpus.tokens[:, j]).flatten()
    return torch.bincount(pairs, minlength=n_vocab**2).double().view(n_vocab, n_vocab)


def corpus_symmetry(corpus: ChainCorpus) -> dict[str, float]:
    """s of the first update over a corpus, its values made symmetric, and of the counts of ordered pairs."""
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
    "what a corpus makes of the pairs, embeddings without positions",
    Verdict.HOLDS,
    ours=True,
)
def symmetry_over_a_corpus(n_sequences=1500, seed=0):
    corpus = random_corpus(n_sequences=n_sequences, seed=seed)
    one, every = (corpus_symmetry(corpus._replace(tokens=corpus.tokens[:n])) for n in (1, n_sequences))
    yield exact("bidirectional, one sequence: s", one["bidirectional"], 1, 1e-9)
    target, behind = "autoregressive, query holds the target", "autoregressive, query one behind"
    yield compare("autoregressive, one sequence: s", one[target], "<", 0.7)
    yield compare(f"autoregressive, {n_sequences} sequences: s", every[target], ">", 0.9)
    yield compare("how often a precedes b and b precedes a: s of the counts", every["order of the pairs"], ">", 0.9)
    yield compare("autoregressive, queries one position behind: s", every[behind], "<", 0.7)
    embeddings, values, chain, tokens = corpus._replace(values=corpus.values + corpus.values.T)
    n = tokens.shape[1]
    updates = first_update(tokens, embeddings, values, attended_matrix(Objective.AUTOREGRESSIVE, n), 1)
    expected = expected_update(chain, embeddings, values, n)
    along = (updates * expected).sum((1, 2)) / expected.square().sum()
    yield monte_carlo("the same: component along the expected update, relative", along, 1)


show(symmetry_over_a_corpus(n_sequences=max(n_sequences, 1500), seed=seed))

# %% [markdown]
# Two things bring the contrast back. One is positions. Def. S1.1 of the paper has $x_i = e + p_i$: a position is added to the
# embedding of the token. Over a corpus the pairs of positions then add $\sum_{ij} c_{ij}\, p_i p_j^\top$ with
# $c_{ij} = \mathbb{E}\,\beta_{ij}$. With a causal mask $c_{ij} = 0$ for $j > i$ in every sequence, and no corpus fills this in
# ({prf:ref}`thm-position-causal`). With a window on both sides [the theorem on positions](positions_theory.py) says when this part
# is symmetric. There the assumption of Theorem 2.4 of the paper is proven for pairs of positions, on average over texts.
#
# The other is the place of the query. A decoder's query holds $t_i$ and predicts $t_{i+1}$, and the score stays at
# {glue:text}`end-behind`
# ([expected update](symmetric_updates_details.py#a-query-one-position-behind-its-target-breaks-the-symmetry)). An encoder's masked
# query does not hold its target either; it holds the mask ({prf:ref}`prop-s1-15-mask`). How large these effects are away from
# $W_{qk} = 0$ is open.
#
# ## What it means for you
#
# - Do not take a symmetric encoder for a proof of the theorem, or our number at random weights for a refutation. Whether the two
#   predictions of a pair of tokens agree during training has not been measured. Look at [where the symmetry of an encoder
#   sits](positions.py) first.
# - Compare the norm of the updates with that of the start. Symmetric updates never remove what was skew at the start, they outgrow it ({prf:ref}`prop-2-4-frozen`).
# - Ask what queries and keys read first: a small form follows one direction of the gradient, on both sides or on one
#   ({prf:ref}`prop-2-4-first-direction`).
# - Do not call a decoder's updates asymmetric because each pair comes in one order: a corpus has both.
