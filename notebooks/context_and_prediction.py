# ---
# jupyter:
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
# # Context and prediction
#
# In every pair of the sum of [the previous chapter](implicit_gradient.py) one token is predicted, and one is *context*,
# that is, among those it is predicted from. What does a token write into the rows and the columns of $W_{qk}$ in the one
# role and in the other, and how often does training give it each? Section 2.3 and Appendix S1.4 of the paper
# {cite}`saponati2025` answer with two propositions.
#
# In either role a token adds a matrix of rank 1, with its own embedding on one side. Whether it is context more often
# than it is predicted depends, in autoregressive training, on where it stands and on nothing else: in a simulated text of
# correlated tokens without preferred places the ratio of the two counts, 1 in expectation, comes within
# {glue:text}`near` of 1 for every token.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding of the toy Transformers; in [8, 256]
n_tokens: int = 12  # tokens of a sequence; in [5, 64]
mask_rate: float = 0.15  # share of masked tokens; in (0, 1)
draws: int = 4000  # sequences of a simulation; in [100, 100000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import pandas as pd

from attngeo.chapters.context_and_prediction import contributions, counts, counts_in_detail, figures
from attngeo.chapters.context_and_prediction import objectives, token_roles
from attngeo.chapters.context_and_prediction.painter import painter
from attngeo.chapters.context_and_prediction.simulation import simulation
from attngeo.chapters.context_and_prediction.token_counts import mean_position
from attngeo.display.page import glue, show

sizes = {"d": d, "n_tokens": n_tokens, "seed": seed}
simulated = {"n_tokens": n_tokens, "draws": draws, "seed": seed}

# %% tags=["hide-input"]
processes = {kind: simulation(stationary=kind == "stationary", **simulated) for kind in ("drifting", "stationary")}
tokens = []
for name, process in processes.items():
    c = process.counts
    ratio = c.context.mean(0) / c.predicted.mean(0)
    error = (c.context - ratio * c.predicted).std(0) / c.predicted.mean(0) / draws**0.5
    rows = pd.DataFrame({"process": name, "ratio": ratio.numpy(), "standard_error": error.numpy()})
    rows["mean_position"] = mean_position(process.marginals).numpy()
    tokens.append(rows)

figures.ratio_by_mean_position(pd.concat(tokens), n_tokens)

# %% tags=["remove-cell"]
glue("vocab", len(processes["drifting"].chain.start))
glue("near", abs(tokens[-1]["ratio"] - 1).max(), ".2f")

# %% [markdown]
# ## Two roles
#
# ````{prf:definition} Def. S1.3 of the paper: autoregressive, bidirectional and masked objectives
# :label: def-s1-3
#
# Let $U = (t_1, \dots, t_N)$ be a sequence of tokens. An objective is a set of *pairs* $(i, j)$: token $t_i$ is
# predicted, and $t_j$ is part of what it is predicted from. With $C_i = \{j : (i, j) \text{ is a pair}\}$ and
# $P_j = \{i : (i, j) \text{ is a pair}\}$ its loss is $-\sum_i \log p(t_i \mid \{t_j : j \in C_i\})$, over all $i$ that
# are predicted.
#
# - *Autoregressive*: $C_i = \{j : j < i\}$, for every $i$.
# - *Bidirectional*: $C_i = \{j : j \ne i\}$, for every $i$.
# - *Masked*: $C_i = \{j : j \notin M\}$ for $i \in M$, where $M \subset \{1, \dots, N\}$ is the set of masked
#   positions; a visible token is not predicted.
# ````
#
# The autoregressive loss is the negative logarithm of $\Pr[U]$. The bidirectional one
# [is not](context_and_prediction_details.py#the-product-of-two-sided-conditionals), contrary to Eq. S8 of the paper, and
# is a sound objective all the same. The check takes a random joint distribution and counts the pairs.

# %%
show(objectives.objectives_definition(seed=seed))

# %% [markdown]
# Each pair adds one term $\beta_{ij}\, x_i x_j^\top$ of rank 1 to the gradient, and the sum is the same whether it runs over
# predicted tokens or over context tokens. Where both orders of a pair count alike, the bidirectional sum is symmetric, the
# autoregressive one is not, as it has each pair in one order only. The exact coefficients of a Transformer at random
# weights [are not alike](symmetric_updates.py#is-the-correlation-there).

# %% tags=["hide-input"]
painter(seed)

# %% [markdown]
# The exact sum runs over what a position *attends* to, which is a
# [larger set](context_and_prediction_details.py#what-a-transformer-attends-to) than $C_i$.
#
# ## What a token writes into rows and columns
#
# ````{prf:proposition} Prop. S1.7 of the paper: updates of rows and columns by one token
# :label: prop-s1-7
#
# Let $\Delta W = \sum_i \sum_{j \in C_i} \beta_{ij}\, x_i x_j^\top$, and let the token $t^*$ stand at one position,
# with embedding $x_*$. The terms in which it is *context* add up to
#
# $$
# \Delta W \big|_{t_j = t^*} = u\, x_*^\top, \qquad u = \sum_{i \in P_*} \beta_{i*}\, x_i ,
# $$ (eq-s1-7-context)
#
# so that column $k$ changes by $[x_*]_k\, u$ and row $m$ by $[u]_m\, x_*^\top$. The terms in which it is *predicted*
# add up to
#
# $$
# \Delta W \big|_{t_i = t^*} = x_*\, w^\top, \qquad w = \sum_{j \in C_*} \beta_{*j}\, x_j ,
# $$ (eq-s1-7-prediction)
#
# so that column $k$ changes by $[w]_k\, x_*$ and row $m$ by $[x_*]_m\, w^\top$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Group the double sum by $j$, or by $i$:
#
# $$
# \Delta W = \sum_j \Bigl( \sum_{i \in P_j} \beta_{ij}\, x_i \Bigr) x_j^\top = \sum_i x_i \Bigl( \sum_{j \in C_i} \beta_{ij}\, x_j \Bigr)^{\!\top} .
# $$
#
# The term $j = *$ of the first form is {eq}`eq-s1-7-context`, the term $i = *$ of the second is
# {eq}`eq-s1-7-prediction`. Entry $(m, k)$ of an outer product $a b^\top$ is $[a]_m [b]_k$: its column $k$ is
# $[b]_k\, a$, its row $m$ is $[a]_m\, b^\top$.
# ```
# ````

# %%
show(contributions.token_contributions(**sizes), token_roles.every_term_twice(**sizes))

# %% [markdown]
# Every term $\beta_{ij} x_i x_j^\top$ is the context part of $t_j$ and the prediction part of $t_i$: a pair cannot feed
# the columns without feeding the rows. For every matrix
#
# $$
# \sum_k \|\Delta w_{\cdot,k}\|^2 = \sum_m \|\Delta w_{m,\cdot}\|^2 = \|\Delta W\|_F^2 ,
# $$ (eq-s1-7-balance)
#
# so that neither side can gain more squared norm than the other; only its spread over columns and over rows can differ.
# The details [draw the parts of one token](context_and_prediction_details.py#the-parts-of-one-token) and mend
# the paper's formulas for them.
#
# ## How often a token plays each role
#
# ````{prf:proposition} Prop. S1.10 of the paper: expected numbers of partners
# :label: prop-s1-10
#
# Let $\mu_c(t)$ be the number of pairs of a random sequence in which token $t$ is context, and $\mu_p(t)$ the number of
# those in which it is predicted. Let $\pi_k = \Pr[t_k = t]$.
#
# - *Autoregressive*: $\mathrm{E}\mu_c = \sum_{k=1}^N (N - k)\, \pi_k$ and
#   $\mathrm{E}\mu_p = \sum_{k=1}^N (k - 1)\, \pi_k$.
# - *Bidirectional*: $\mu_c = \mu_p = (N - 1) \cdot$ (occurrences of $t$), in every sequence.
# - *Masked*, if every position is masked with the same probability $p$, independently of the tokens and of the other
#   positions: $\mathrm{E}\mu_c = \mathrm{E}\mu_p = p\, (1 - p) (N - 1) \sum_k \pi_k$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *Autoregressive.* An occurrence at position $k$ is context for the $N - k$ later positions and is predicted from the
# $k - 1$ earlier ones: $\mu_c = \sum_k (N - k)\, 1\{t_k = t\}$ and $\mu_p = \sum_k (k - 1)\, 1\{t_k = t\}$. Take
# expectations.
#
# *Bidirectional.* Every occurrence is paired with the $N - 1$ other positions in either role.
#
# *Masked.* With $m_k = 1$ for a masked position, $\mu_c = \sum_k 1\{t_k = t\} (1 - m_k) \sum_{k' \ne k} m_{k'}$, and
# $\mu_p$ has $m_k$ and $1 - m_{k'}$ instead. The masks do not depend on the tokens, so that the expectation of each
# product factorises, and $\mathrm{E}[(1 - m_k)\, m_{k'}] = p (1 - p)$ for $k \ne k'$.
#
# For equality alone, independent masks are not needed:
# $\mathrm{E}[(1 - m_k) m_{k'}] - \mathrm{E}[m_k (1 - m_{k'})] = \mathrm{E}\, m_{k'} - \mathrm{E}\, m_k$, which is 0 for
# equal mask rates. A fixed number of masks per sequence will do.
# ```
# ````
#
# ````{prf:corollary} to Prop. S1.10 of the paper: the ratio is the mean position
# :label: prop-s1-10-position
#
# Let $\bar k = \sum_k k\, \pi_k / \sum_k \pi_k$ be the mean position of $t$. For the autoregressive objective
#
# $$
# \frac{\mathrm{E} \mu_c}{\mathrm{E} \mu_p} = \frac{N - \bar k}{\bar k - 1} ,
# $$ (eq-s1-10-position)
#
# which exceeds 1 exactly if $t$ stands before the middle, $\bar k < (N + 1) / 2$. Over the vocabulary the counts
# balance: $\sum_t \mathrm{E}\mu_c(t) = \sum_t \mathrm{E}\mu_p(t) = N (N - 1) / 2$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Divide numerator and denominator by $\sum_k \pi_k$. The ratio decreases in $\bar k$ and is 1 at
# $N - \bar k = \bar k - 1$. Summed over the vocabulary $\sum_t \pi_k(t) = 1$ for every $k$, and
# $\sum_k (N - k) = \sum_k (k - 1) = N (N - 1) / 2$.
# ```
# ````

# %%
show(
    counts.autoregressive_ratio(**simulated),
    counts.bidirectional_ratio(n_tokens=n_tokens, seed=seed),
    counts.masked_ratio(mask_rate=mask_rate, **simulated),
)

# %% [markdown]
# Where all tokens are masked at one rate, both roles come equally often. Tokens that are never masked, such as [CLS] and
# [SEP] in BERT, are context and never predicted. The details draw the
# [counts by position](context_and_prediction_details.py#counts-by-position).
#
# ## Position, not correlation
#
# The paper attributes a ratio different from 1 to statistical correlations between tokens (around its Eqs. S82 to S87).
# By {prf:ref}`prop-s1-10` only the marginals $\Pr[t_k = t]$ enter. The first figure simulates two Markov chains of
# {glue:text}`vocab` tokens whose neighbours are correlated. In the *drifting* one the marginals change along the
# sequence; in the *stationary* one they do not, and every ratio is 1. Independent tokens whose marginals drift have
# ratios other than 1.

# %%
show(counts_in_detail.correlation_is_irrelevant(**simulated))

# %% [markdown]
# What raises a token's ratio is to stand early *in the block that the model is trained on*.
# [Standing before certain other tokens](context_and_prediction_details.py#order-and-the-sign) does not.
#
# ## What it means for you
#
# - If blocks are cut from a long text at uniformly random places, every token is on average context as often as
#   it is predicted.
#   If blocks begin at fixed places of the text, tokens that tend to stand early are context more often.
# - Over the vocabulary the two counts are equal: what some tokens gain, others lose.
# - Whatever the counts, an update gives rows and columns the same total of squared norms. Whether columns can stand out
#   all the same is the question of [the next chapter](column_dominance.py).
