# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Being context more often does not make columns dominate
#
# In trained decoders, says the paper {cite}`saponati2025`, large norms are found among the columns of $\Wqk$ more often than
# among its rows, because most tokens are *context* more often than they are predicted.
#
# **That does not follow. If no token repeats and coefficients are drawn independently from one distribution, rows and columns of
# an update share a distribution. Columns can dominate where *keys*, the embeddings of context, lie closer to the coordinate axes than
# those of predicted tokens. A causal softmax lets the first keys add most.**

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding; in [16, 96]
n_tokens: int = 16  # tokens of a sequence; in [8, 64]
n_sequences: int = 8  # sequences that add to one update; in [2, 32]
n_draws: int = 800  # updates drawn under each set of assumptions; in [60, 4000]
exponent: float = 1.0  # variances of the embedding's coordinates fall like that power of 1/k; in [0.5, 1.5]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
from functools import cache

import numpy as np
import pandas as pd
import seaborn as sns
import torch
from jaxtyping import Float
from torch import Tensor

from livingpaper.display.page import glue, show
from attngeo.plot.style import DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.plot.typeset import typeset
from attngeo.bilinear.scores import score_batch
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from attngeo.gradients.random_updates import (
    TAIL,
    Coefficients,
    UpdateModel,
    context_tokens,
    context_updates,
    coordinates,
    log_unevenness,
    power_profile,
    signs,
    squared_norms,
    tail_gap,
    unevenness,
    uniform_softmax_squared_norms,
)
from attngeo.gradients.objectives import Objective, attended_matrix
from attngeo.gradients.rank_one import exact_coefficients

profile = {"d": d, "exponent": exponent, "seed": seed}

MASK_RATE = 0.3  # of the positions in the masked setting
CONTEXTS = 12  # isotropic context tokens in the place of a sequence
THEOREM = "autoregressive, the theorem's setting"
UNEVENNESS = "log unevenness, columns less rows"
LARGE_NORMS = f"norms in the top {100 - 100 * TAIL:g} %, columns less rows"


def updates_by_assumption(n_tokens: int, n_sequences: int, n_draws: int, d: int, exponent: float, seed: int):
    """Updates (draws, d, d) under each set of assumptions, by its name; ``n_sequences`` sequences add to one update."""
    generator = torch.Generator().manual_seed(seed)
    uneven, even = power_profile(d, exponent), torch.ones(d, dtype=torch.float64)
    outlying, mask = torch.randn(2, n_draws, d, generator=generator, dtype=torch.float64)
    outlying[:, : max(1, d // 16)] *= 8
    mean = 3.0 * (torch.arange(d) < max(1, d // 16)).double()
    size = {"n_tokens": n_tokens, "n_sequences": n_sequences}
    both, masked = Objective.BIDIRECTIONAL, Objective.MASKED
    models = {
        THEOREM: UpdateModel(uneven, **size),
        "bidirectional": UpdateModel(uneven, both, **size),
        "autoregressive, errors times keys": UpdateModel(uneven, coefficients=Coefficients.ERROR, **size),
        "bidirectional, errors times keys": UpdateModel(uneven, both, coefficients=Coefficients.ERROR, **size),
        "a first token of a few large coordinates": UpdateModel(even, first_token=outlying, **size),
        "masked, all masks one embedding": UpdateModel(uneven, masked, mask_token=mask, mask_rate=MASK_RATE, **size),
        "a mean that all embeddings share": UpdateModel(even, mean=mean, coefficients=Coefficients.CENTRED, **size),
    }
    context = context_updates(uneven, n_tokens, n_draws, generator, n_contexts=CONTEXTS * n_sequences)
    return {"context tokens alone": context} | {name: m.draw(n_draws, generator) for name, m in models.items()}


def heavier(updates: Float[Tensor, "draws d d"], n_errors: float = 4.0) -> str:
    """Which side is the more uneven one, by more than four standard errors."""
    ratio = log_unevenness(updates)
    lead = float(ratio.mean() / ratio.std()) * len(ratio) ** 0.5
    return "both alike" if abs(lead) < n_errors else "columns heavier" if lead > 0 else "rows heavier"


@house_style()
def which_side(kinds: dict[str, Float[Tensor, "draws d d"]]) -> CaptionedFigure:
    """Mean log ratio of unevenness, columns to rows, of every set of assumptions."""
    frame = pd.concat(pd.DataFrame({"setting": name, UNEVENNESS: log_unevenness(u)}) for name, u in kinds.items())
    order = frame.groupby("setting")[UNEVENNESS].mean().sort_values()
    figure, panel = new_figure(7.6, 2.9)
    panel.axvline(0, color=NEUTRAL, linewidth=1)
    style = {"errorbar": ("se", 2), "linestyle": "none", "color": NEUTRAL, "markersize": 5}
    sns.pointplot(frame, x=UNEVENNESS, y="setting", order=order.index, ax=panel, **style)
    for x, side, ends, colour in ((0.02, "rows", "left", ENCODER), (0.98, "columns", "right", DECODER)):
        words = f"{side} hold the\nlarge norms"
        panel.text(x, 1.02, words, transform=panel.transAxes, ha=ends, va="bottom", color=colour, fontweight="bold")
    panel.set(xlabel="unevenness of columns over that of rows, log", ylabel="")
    caption = rf"""Which side of an update holds the few large norms, by the assumptions on the left. Bars: two
    standard errors. The theorem would put its setting right of 0. *Errors times keys*: coefficients $\delta_i^\top x_j$, with
    $\delta_i$ the error of predicting $i$. A share {MASK_RATE:g} of the positions is masked. Context tokens: {CONTEXTS} for each sequence. Where an embedding has large
    coordinates or a mean, $\Sigma = I$."""
    alt = f"Dots on a line through 0, one a setting. From large rows to large columns: {', '.join(order.index)}."
    return CaptionedFigure(figure, "fig-which-side", caption, alt)


kinds = updates_by_assumption(n_tokens, n_sequences, n_draws, **profile)

# %% [markdown]
# ## Rows and columns can differ only in how uneven they are
#
# Read *the dog met my old cat* from the left: *met* is predicted from *the* and *dog*. Up to a constant, a sequence changes
# $\Wqk$ by the *update*
#
# $$
# \Delta W = \sum_i \sum_{j \in C_i} \beta_{ij}\, x_i x_j^\top .
# $$ (eq-s1-8-update)
#
# Here $x_i \in \mathbb{R}^d$ is the embedding of a predicted token, a *query*, and $x_j$ that of a token in its context $C_i$, a
# *key*. The *coefficient* $\beta_{ij}$ says how much $j$ helps to predict $i$. Rows of $\Delta W$ collect coordinates of queries,
# columns those of keys, and both have the same sum of squares ({prf:ref}`lem-s1-12-sum`). So one side can only be more *uneven*:
# a few large norms, the rest small. *Unevenness* is the mean of the fourth powers of the norms over the square of their mean
# square, 1 if all are equal.
#
# {numref}`fig-which-side` makes updates of random embeddings, of mean zero and covariance $\Sigma$. Unless we say otherwise
# $\Sigma$ is diagonal, and its variances fall like $k^{-a}$ with $a$ = {glue:text}`exponent`.
# {glue:text}`errors-times-keys`

# %% tags=["remove-input"]
which_side(kinds)


# %% tags=["remove-cell"]
def errors_times_keys(causal: Float[Tensor, "draws d d"], both: Float[Tensor, "draws d d"]) -> str:
    """What coefficients that are errors times keys do to the updates of either objective."""
    sides = heavier(causal), heavier(both)
    found = f"log unevenness {log_unevenness(causal).mean():+.2f} in the autoregressive setting and"
    found = f"{found} {log_unevenness(both).mean():+.2f} in the bidirectional one"
    if sides == ("columns heavier", "columns heavier"):
        return f"Errors times keys make columns the more uneven side ({found}), so this is no mark of decoders."
    return (
        "With the parameters of this run, errors times keys do not make columns the more uneven side in both settings by"
        f" more than four standard errors ({found})."
    )


causal, both = (
    kinds[f"{o}, errors times keys"] for o in (Objective.AUTOREGRESSIVE.value, Objective.BIDIRECTIONAL.value)
)
glue("errors-times-keys", typeset(errors_times_keys(causal, both)))
directionality = score_batch(kinds[THEOREM]).directionality
glue("exponent", exponent)
glue("ar-d", directionality.mean(), "+.2f")
glue("ar-d-error", directionality.std() / n_draws**0.5, ".2f")

# %% [markdown]
# :::{admonition} How sure is this
# What we state is proven unless we say that it is observed. All updates on this page are made of random embeddings and stated
# coefficients; the gradients of trained models have other terms ({prf:ref}`prop-2-2`). The theorem on the softmax is about
# expected squared norms, for errors that are uncorrelated and of mean 0. What positions change is in
# [the theorem on positions](positions_theory.py).
# :::
#
# ## The theorem does not follow
#
# The theorem compares *tails*, the shares of norms above a value. The paper's [score $d$](two_scores.py) is below 0 where columns
# dominate.
#
# ````{prf:conjecture} Thm. S1.12 (informally 2.3) of the paper, not proven: autoregressive training induces directionality
# :label: thm-s1-12
#
# Let the embeddings of the vocabulary be drawn independently from one law with mean zero and a covariance other than a
# multiple of $I$, and let $\Delta W$ come from an autoregressive objective. Then there is a $\gamma$ such that
# $\Pr[\|w_{\cdot,k}\| > w] > \Pr[\|w_{m,\cdot}\| > w]$ for all $w > \gamma$.
#
# *What is known.* The paper's proof fails: by its own lemma its last step should say the opposite. Under the conditions of
# {prf:ref}`prop-s1-12-law`, where no token occurs twice, we prove that the two probabilities are equal for $k = m$. For the
# coefficients of a trained model the question is open.
# ````
#
# The paper argues in four steps. In italics stands what each lacks.
#
# 1. A context token adds more to a typical column than to a typical row. *It does if the variances of its coordinates are
#    equal ({prf:ref}`prop-s1-8`). The theorem draws all tokens from one law, and then no side leads
#    ({prf:ref}`prop-s1-8-one-law`).*
# 2. Most tokens are context more often than they are predicted ({prf:ref}`prop-s1-10`). *Such counts act on the two sides only
#    where tokens repeat. They then enter squared, and the tails of the embedding's coordinates decide which side they favour; a
#    Gaussian favours neither ({prf:ref}`thm-s1-12-counts`).*
# 3. So the norms of rows vary more than those of columns (S101). *They do in step 1: every column receives the same
#    $\mathrm{Tr}(\Sigma)$, and row $m$ receives $\Sigma_{mm}$.*
# 4. The side that varies more has the heavier tail, so columns have it (S102). *By step 3 rows would. And in general the
#    larger variance need not have the heavier tail ({prf:ref}`lem-s1-11`).*


# %%
@claim(
    "S1.12",
    "Eqs. S101, S102",
    "from the variance of the norms to their tails",
    Verdict.CHANGES,
    printed=r'''"under the same assumptions as in Proposition S1.8", "$\mathrm{Var}(\|w_{m,\cdot}\|) >
    \mathrm{Var}(\|w_{\cdot,k}\|)$ $\forall k, m$", hence "$\Pr[\|w_{\cdot,k}\| > w] > \Pr[\|w_{m,\cdot}\| > w]$
    $\forall w > \gamma$"''',
    place="Section S1.4.4 and proof of Theorem S1.12, Eqs. S101, S102",
    holds="""Under the assumptions of Prop. S1.8 rows are the more uneven side, so that large norms are found among
    rows, and directionality is positive. By the lemma's own logic, Eq. S101 points the same way, against Eq. S102; with
    rows and columns exchanged it would lead to Eq. S102, and is not true.""",
    remark="""What falls is the reason, not columns as such: with coefficients like those of Prop. 2.2 of the paper,
    errors times keys, columns are the more uneven side, for either objective, where the errors are independent of the
    embeddings and coordinates uncorrelated. The threshold of Eq. S102 also puts variances where Lemma S1.11 has
    standard deviations.""",
)
def variance_of_norms(d=48, n_tokens=8, exponent=1.0, n_draws=40, seed=0):
    updates = context_tokens(d, n_tokens, exponent, n_draws, seed, n_contexts=150)
    rows, columns = (squared.sqrt().var(-1) for squared in squared_norms(updates))
    words = "log of the variance of row norms over that of column norms, context tokens of Prop. S1.8"
    yield monte_carlo(words, (rows / columns).log(), 0, ">", paper="> 0")
    yield monte_carlo(LARGE_NORMS, tail_gap(updates), 0, "<", paper="> 0")
    d_of_updates = score_batch(updates).directionality
    yield monte_carlo("directionality (negative: columns)", d_of_updates, 0, ">", paper="< 0")


show(variance_of_norms(n_tokens=n_tokens, **profile))

# %% [markdown]
# In a sequence tokens have both roles. Then row $k$ and column $k$ have the same expected squared norm, whatever the order and
# the frequency of the tokens ({prf:ref}`prop-s1-12-expectation`). With one condition more they have the same law.
#
# ````{prf:proposition} the autoregressive update has the law of its transpose if no order is preferred
# :label: prop-s1-12-law
#
# Let the embeddings $(x_1, \dots, x_N)$ of a sequence and $(x_N, \dots, x_1)$ be equal in law. This is so if they are
# independent with one law, which the assumptions of {prf:ref}`thm-s1-12` give when *no token of the sequence occurs
# twice*. Let the coefficients be either
# (a) independent of the embeddings, with $(\beta_{ij})$ and $(\beta_{N+1-j,\,N+1-i})$ equal in law, for instance
# independent and identically distributed, or (b) $\beta_{ij} = x_i^\top B x_j$ with $B$ independent of the embeddings
# and $B$ and $B^\top$ equal in law. Then $\Delta W = \sum_{j<i} \beta_{ij} x_i x_j^\top$ and $\Delta W^\top$ are equal in
# law. Hence
#
# $$
# \Pr[\|w_{\cdot,k}\| > w] = \Pr[\|w_{k,\cdot}\| > w] \quad \text{for all } k \text{ and all } w .
# $$ (eq-s1-12-law)
#
# The same holds for a sum over sequences that are independent of each other, embeddings included, with one $B$ for all,
# and for $W_0 + \eta \Delta W$ if $W_0$ is independent of $\Delta W$
# and equal in law to its transpose, such as a matrix of independent entries.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Let $\pi(i) = N + 1 - i$. Reversing the sequence of embeddings does not change its law. In case (a)
#
# $$
# \Delta W^\top = \sum_{j<i} \beta_{ij}\, x_j x_i^\top \;\sim\; \sum_{j<i} \beta_{ij}\, x_{\pi(j)} x_{\pi(i)}^\top
# = \sum_{j'<i'} \beta_{\pi(j')\,\pi(i')}\, x_{i'} x_{j'}^\top , \qquad i' = \pi(j),\; j' = \pi(i),
# $$
#
# because $j < i$ is $i' > j'$. The coefficients on the right have the law of $\beta_{i'j'}$ by assumption and are
# independent of the embeddings, so that the right-hand side has the law of $\Delta W$.
#
# In case (b), for given $B$, the same reversal leads to
# $\sum_{j'<i'} (x_{j'}^\top B x_{i'})\, x_{i'} x_{j'}^\top = \sum_{j'<i'} (x_{i'}^\top B^\top x_{j'})\, x_{i'} x_{j'}^\top$,
# the update with $B^\top$ in place of $B$, for one sequence or for several that are independent given $B$.
#
# Column $k$ of $\Delta W$ is row $k$ of $\Delta W^\top$, which gives {eq}`eq-s1-12-law`. Adding independent matrices, each
# equal in law to its transpose, keeps the property.
# ```
# ````
#
# So where no token occurs twice, the theorem's inequality is an equality, for a column and a row picked at random. In the simulation
# of {numref}`fig-which-side` the mean directionality is {glue:text}`ar-d` ± {glue:text}`ar-d-error`.


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
    holds=r"""If no token occurs twice, in one sequence or in two, and the coefficients are independent and identically
    distributed, or $x_i^\top B x_j$ with $B$ and $B^\top$ equal in law, $\Delta W$ and $\Delta W^\top$ have the same
    law: the two probabilities are equal for $k = m$ and every $w$.""",
    remark="Whether trained decoders show column dominance is for measurements to say; the derivation does not establish it.",
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
    "autoregressive training leads to directional weight updates, informally",
    Verdict.CHANGES,
    printed='"There are, on average, more columns with high norms than rows with high norms".',
    place="Theorem 2.3, Eq. 13",
    holds="""See Theorem S1.12: tokens that occur once give rows and columns the same law, and repeated tokens can
    favour either side. Something else has to set the two sides apart: the embeddings of queries and keys, or how the
    coefficients depend on them.""",
)
def directionality_during_training(d=32, exponent=1.0, n_draws=300, seed=1):
    updates = autoregressive(Coefficients.INDEPENDENT, d, exponent, n_draws, seed, start=0.5)
    yield monte_carlo(f"independent coefficients: {LARGE_NORMS}", tail_gap(updates), 0, paper="> 0")
    yield monte_carlo(f"independent coefficients: {UNEVENNESS}", log_unevenness(updates), 0, paper="> 0")
    directionality = score_batch(updates).directionality
    yield monte_carlo("independent coefficients: directionality", directionality, 0, paper="< 0")


show(directionality_during_training(**profile | {"seed": seed + 1}))

# %% [markdown]
# Coefficients as in (b) do occur: attention without softmax and with tied embeddings has them at $W_{qk} = 0$, to leading
# order for small embeddings ({prf:ref}`prop-s1-14-linear`).
#
# ## Keys along the coordinate axes make columns dominate
#
# Rows take the spread of what stands on the query side, columns that of what arrives from the key side. In the cleanest case
# all pairs of some queries $q_i$ and keys $k_j$ have independent Gaussian coefficients. Their second moments are
# $S_Q = \sum_i q_i q_i^\top$ and $S_K = \sum_j k_j k_j^\top$.
#
# ````{prf:proposition} a condition for column dominance
# :label: prop-s1-12-condition
#
# Let $\Delta W = \sum_{ij} \beta_{ij} q_i k_j^\top$ with independent standard normal $\beta_{ij}$ and given $q_i$, $k_j$. With
#
# $$
# D(S) = \frac{(d+2) \sum_k S_{kk}^2}{\mathrm{Tr}(S)^2 + 2\,\mathrm{Tr}(S^2)}
# $$ (eq-s1-12-alignment)
#
# the columns are more uneven than the rows exactly if $D(S_K) > D(S_Q)$:
#
# $$
# \frac{\mathbb{E}\sum_k \|w_{\cdot,k}\|^4}{\mathbb{E}\sum_m \|w_{m,\cdot}\|^4} = \frac{D(S_K)}{D(S_Q)} .
# $$ (eq-s1-12-fourth)
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Row $m$ is $\sum_{ij} \beta_{ij} [q_i]_m k_j^\top$: Gaussian with mean zero and covariance
# $\sum_{ij} [q_i]_m^2\, k_j k_j^\top = (S_Q)_{mm} S_K$. A Gaussian vector $g$ of covariance $C$ has
# $\mathbb{E}\|g\|^4 = \mathrm{Tr}(C)^2 + 2\,\mathrm{Tr}(C^2)$. Hence
#
# $$
# \mathbb{E} \sum_m \|w_{m,\cdot}\|^4 = \sum_m (S_Q)_{mm}^2 \, \bigl( \mathrm{Tr}(S_K)^2 + 2\,\mathrm{Tr}(S_K^2) \bigr) ,
# $$
#
# and the same with $Q$ and $K$ exchanged for the columns. Dividing gives {eq}`eq-s1-12-fourth`. By
# {prf:ref}`lem-s1-12-sum` the sums of *squares* are equal in every draw, so the fourth powers compare the unevenness.
# ```
# ````
#
# $D$ measures how far a second moment is concentrated on coordinate axes. It is 1 for $S = I$, and 1 on average for every
# spectrum in a random basis ([why](column_dominance_details.py#alignment-in-a-random-basis)). So unequal variances alone
# are not enough.


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
    words = "their ratio, columns to rows, against $D(S_K) / D(S_Q)$"
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
# Four more things can set queries and keys apart ({numref}`fig-which-side`). Columns are made uneven by errors times keys as
# coefficients ({prf:ref}`prop-s1-12-errors`), by [a first token that is always
# there](column_dominance_details.py#a-first-token-that-is-always-there), and by masked positions, which share an embedding
# ({prf:ref}`prop-s1-15-mask`). A mean that all embeddings share makes rows uneven ({prf:ref}`prop-s1-12-mean`).
#
# ## The causal softmax makes early keys heavy
#
# One difference between queries and keys does come from the objective. Let all coefficients be alike. As a query, position $i$
# then has $i - 1$ terms; as a key, position $j$ has $N - j$. The two lists mirror each other, and neither side leads. A softmax
# breaks the mirror: at $W_{qk} = 0$ a causal query gives each of the $i$ positions that it sees the weight $1/i$.
#
# ````{prf:theorem} queries and keys at uniform attention
# :label: thm-uniform-softmax
#
# Let query $i$ give the weight $1/n_i$ to each of the $n_i$ positions of a set $A_i$, and let the inputs $x_i$ be given. Let
# $\beta_{ij} = \frac{1}{n_i}\bigl(e_{ij} - \frac{1}{n_i}\sum_{l \in A_i} e_{il}\bigr)$ for $j \in A_i$, as in {prf:ref}`prop-2-2` with
# $e_{ij} = g_i^\top v_j$, where the $e_{ij}$ are uncorrelated, of mean 0 and variance 1. With $\bar x_i$, the mean of the inputs
# in $A_i$, and $K_i = n_i^{-2} \sum_{j \in A_i} (x_j - \bar x_i)(x_j - \bar x_i)^\top$,
#
# $$
# \begin{aligned}
# \mathbb{E}\|w_{m,\cdot}\|^2 &= (S_Q)_{mm} , & S_Q &= \textstyle\sum_i \mathrm{Tr}(K_i)\, x_i x_i^\top , \\
# \mathbb{E}\|w_{\cdot,k}\|^2 &= (S_K)_{kk} , & S_K &= \textstyle\sum_i \|x_i\|^2 K_i .
# \end{aligned}
# $$ (eq-uniform-softmax)
#
# Let the $N$ inputs be the coordinate axes. With a causal mask row $i$ then has $(i-1)/i^2$ and column $j$ has
# $\sum_{i=j}^N (i-1)/i^3$. Both add up to the same, and for $N \geq 2$ the columns are the more uneven side exactly if
# $N \geq 5$, where unevenness is that of the expected squared norms. Without a mask all rows and columns have $(N-1)/N^2$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The update is $\sum_i x_i c_i^\top$ with $c_i = \sum_j \beta_{ij} x_j = \frac{1}{n_i} \sum_{j \in A_i} e_{ij} (x_j - \bar x_i)$. The
# $c_i$ are uncorrelated, and $\mathbb{E}\, c_i c_i^\top = K_i$. So $\mathbb{E}\,\Delta W \Delta W^\top = S_Q$ and
# $\mathbb{E}\,\Delta W^\top \Delta W = S_K$. On the axes $(K_i)_{jj} = (n_i - 1)/n_i^3$ for $j \in A_i$, and 0 elsewhere, which gives
# the values.
#
# Causal mask: put $r_i = (i-1)/i^3$, so that row $i$ has $i r_i$ and column $j$ has $\sum_{i \geq j} r_i$, with the sum
# $Q_N = \sum_{i \leq N} i r_i$ on either side. Let $\Delta_N$ be the sum of squares of the columns' values less that of the rows'.
# As $\sum_j (\sum_{i \geq j} r_i)^2 = \sum_{i,i'} \min(i, i')\, r_i r_{i'}$,
#
# $$
# \Delta_{N+1} - \Delta_N = r_{N+1} \Bigl( 2 Q_N - \frac{N^2}{(N+1)^2} \Bigr) .
# $$
#
# The bracket is positive: for $N = 2$ it is $\frac12 - \frac49$, and from $N = 3$ on $2 Q_N$ is at least $\frac{17}{18}$ and
# at least 1 from $N = 4$ on. So $\Delta_N$ grows. It is below 0 at $N = 4$ and above 0 at $N = 5$.
# ```
# ````
#
# This is the paper's contrast between the two objectives, for another reason. It is made not by how many queries see a key, but
# by the weights $1/n_i$ that they give it. No token has to repeat.


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
        yield compare(f"{n} inputs along the axes: unevenness of columns, against rows", columns, sign, rows)
    rows, columns = map(unevenness, uniform_softmax_squared_norms(torch.eye(16).double(), both))
    yield exact("16 inputs along the axes, no mask: the larger of both", max(rows, columns), 1)
    outlying = map(unevenness, uniform_softmax_squared_norms(normal_inputs(30.0), causal))
    alike = map(unevenness, uniform_softmax_squared_norms(normal_inputs(30.0), both))
    for words, (rows, columns), sign in (("", outlying, ">"), (", no mask", alike, "=")):
        words = f"an outlying first input{words}: log of unevenness of columns over that of rows"
        yield compare(words, (columns / rows).log(), sign, 0, 0.1)
    turned = [map(unevenness, uniform_softmax_squared_norms(axes, causal)) for axes in turned_axes()]
    mean = sum((columns / rows).log() for rows, columns in turned) / len(turned)
    rows, columns = map(unevenness, uniform_softmax_squared_norms(torch.eye(64).double(), causal))
    yield compare("64 axes turned at random: share of that log left, mean", mean / (columns / rows).log(), "<", 0.25)


show(uneven_keys())


# %% tags=["remove-cell"]
@house_style()
def early_keys(n: int = 16) -> CaptionedFigure:
    """Squared norms by position over their mean, of queries and of keys: the theorem's values on the axes."""
    figure, panel = new_figure(6.4, 3.0)
    at, sides = np.arange(1, n + 1), uniform_softmax_squared_norms(torch.eye(n).double(), Objective.AUTOREGRESSIVE)
    for name, colour, squared in zip(("queries", "keys"), (ENCODER, DECODER), sides, strict=True):
        sns.lineplot(x=at, y=squared / squared.mean(), color=colour, label=name, marker="o", ax=panel)
    panel.axhline(1, color=NEUTRAL, linewidth=0.8)
    panel.set(xlabel="position", ylabel="times an even share")
    rows, columns = map(unevenness, sides)
    words = f"With {n} positions the unevenness is {rows:.2f} among queries, {columns:.2f} among keys."
    queries, keys = (squared / squared.mean() for squared in sides)
    assert keys[0] == keys.max() and (keys.diff() <= 1e-12).all() and (queries[1:].diff() < 0).all()
    caption = f"""How much of the expected squared norm a position has as query and as key, at uniform attention with a causal mask and
        inputs along the axes; without a mask all have an even share (the line). {words}"""
    alt = f"""Line plot over positions, in times an even share. Keys begin at {keys[0]:.1f} and fall to {keys[-1]:.2f}. Queries
        have {queries[0]:.0f} at the first position, {queries[1]:.1f} at the second, and fall to {queries[-1]:.1f}. {words}"""
    return CaptionedFigure(figure, "fig-early-keys", caption, alt)


# %% [markdown]
# {numref}`fig-early-keys` shows the share of each position. The more positions a sequence has, the more of the total falls to the
# first keys.

# %% tags=["remove-input"]
early_keys()

# %% [markdown]
# Uneven positions become uneven columns as far as early inputs lie along coordinate axes: in a random basis less than a quarter
# of the contrast is left, on a logarithmic scale. A first token with outlying coordinates lies along an axis. As a query it adds
# nothing, since it sees itself alone.
#
# In a trained decoder, SmolLM2, [the first token makes keys
# uneven](column_dominance_details.py#the-first-token-of-a-trained-decoder) once the mean of its inputs is taken off; with that
# mean, queries are the more uneven side. So a decoder has a way to columns that an encoder lacks. Whether it made those of
# trained decoders is open.
#
# ## What it means for you
#
# - Measure column dominance in your decoder (`attngeo score MODEL`), and do not explain it by how often tokens are context.
# - Look for what sets queries and keys apart: a first token with outlying coordinates, or errors that do not follow the query.
# - Take $D$ of the second moments of your queries and keys: `axis_alignment` does it, in the code under the check of
#   [the condition](#keys-along-the-coordinate-axes-make-columns-dominate).
