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
# In every pair of the sum of [the previous chapter](implicit_gradient.py) one token is predicted and one is context.
# Section 2.3 and Appendices S1.1, S1.4.1 and S1.4.3 of the paper {cite}`saponati2025` ask two questions about these
# roles. What does a token write into the rows and the columns of $W_{qk}$ when it plays the one or the other
# (Proposition S1.7)? And how often does it play each of them under a given objective (Proposition S1.10)?
#
# Both propositions hold after small corrections. What they do not contain matters for what is built on them later: a
# pair feeds rows and columns alike, and the counts of the two roles differ only through a token's *position*, not
# through its correlations with other tokens.

# %% tags=["parameters"]
d: int = 32  # width of the embedding of the toy Transformers, a multiple of n_heads; in [8, 256]
n_heads: int = 4  # attention heads; in [1, 16]
n_tokens: int = 12  # tokens of a sequence; in [5, 64]
mask_rate: float = 0.15  # share of masked tokens; in (0, 1)
draws: int = 4000  # sequences of a simulation; in [100, 100000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import pandas as pd
import torch

from attngeo.chapters.context_and_prediction import (
    contributions,
    counts,
    counts_in_detail,
    figures,
    objectives,
    token_roles,
)
from attngeo.chapters.context_and_prediction.head_gradient import head_gradient
from attngeo.chapters.context_and_prediction.simulation import simulation
from attngeo.display.page import glue, show
from attngeo.chapters.context_and_prediction.token_counts import expected_counts, mean_position
from attngeo.updates.objectives import attended_matrix, context_matrix
from attngeo.chapters.context_and_prediction.one_token import Role, token_update

sizes = {"d": d, "n_tokens": n_tokens, "seed": seed}
simulated = {"n_tokens": n_tokens, "draws": draws, "seed": seed}

# %% [markdown]
# ## Objectives
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
# The autoregressive loss is the negative logarithm of a factorisation of $\Pr[U]$ (Eq. S6), which the check verifies on
# a random joint distribution together with the number of pairs.

# %%
show(objectives.objectives_definition(seed=seed))

# %% [markdown]
# Equation S8 gives the bidirectional objective the same standing:
# $\Pr[U] = \prod_i \Pr[t_i \mid \text{all other tokens}]$. This fails. For two fair bits that agree with probability
# $q$ the four products add up to $2 q^2 + 2 (1 - q)^2$, which is 1 only for $q = 1/2$. The product is known as the
# *pseudo-likelihood*. Nothing in the paper uses Eq. S8 again, and as an objective the product is sound: on average each
# of its terms is smallest at the true conditional probability.
#
# ````{dropdown} Proof for two bits
# ```{prf:proof}
# $\Pr[t_1 \mid t_2] = q$ where the bits agree and $1 - q$ where they differ, and the same for $\Pr[t_2 \mid t_1]$. Two
# of the four sequences agree, with product $q^2$; two differ, with product $(1 - q)^2$. The sum is $1 + (2q - 1)^2$,
# above 1 unless $q = 1/2$.
# ```
# ````

# %%
show(objectives.bidirectional_factorisation(seed=seed))

# %% [markdown]
# What a position of a Transformer attends to is another set, $A_i$. A causal position attends to itself as well: it
# stands at $i$, predicts token $i + 1$, and $A_i = C_{i+1}$. In masked training the masked positions are attended too,
# with the mask token's embedding in them. The sums of Prop. 2.2 of the paper run over attended positions.

# %%
show(objectives.attended_is_not_conditioned(n_tokens=n_tokens))

# %%
masked = torch.arange(n_tokens) % 3 == 1
contexts = {o: context_matrix(o, n_tokens) for o in ("autoregressive", "bidirectional")}
contexts["masked"] = context_matrix("masked", n_tokens, masked)
attended = {o: attended_matrix(o, n_tokens) for o in contexts}
attended["masked"] = attended["masked"] & masked.unsqueeze(1)  # the rows that predict
figures.conditioning_sets(contexts, attended)

# %% [markdown]
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
show(contributions.token_contributions(**sizes))

# %%
g, position = head_gradient(n_heads=n_heads, **sizes), n_tokens // 2
parts = {"whole update": g.w_qk}
parts["as context"] = token_update(g.beta, g.x, position, Role.CONTEXT)
parts["as prediction"] = token_update(g.beta, g.x, position, Role.PREDICTION)
figures.token_parts(parts, position + 1)

# %% [markdown]
# The text gives these formulas several times, not always in the same form. Equations 11 and 12 carry wrong indices and,
# in 12, the label of the other case; S43 and S49 print a row as a column; S44 and S51 label a column as a row; S50 is
# transposed. The lines that follow from S50 are right.

# %%
show(contributions.column_of_context(**sizes), contributions.row_of_context(**sizes))

# %%
show(
    contributions.row_is_a_row(**sizes),
    contributions.column_is_a_column(**sizes),
    contributions.update_of_predicted(**sizes),
)

# %% [markdown]
# ### What does and does not follow
#
# **One dimension each.** After Eq. 12 the paper says that a context token raises the dimension of the column space in
# proportion to the tokens it predicts. Its contribution $u\, x_*^\top$ has rank 1, however many terms $u$ has: one
# direction on the column side, one on the row side.
#
# **One sum, read twice.** Every term $\beta_{ij} x_i x_j^\top$ is the context part of $t_j$ and the prediction part of
# $t_i$. A pair cannot feed the columns without feeding the rows. In particular
#
# $$
# \sum_k \|\Delta w_{\cdot,k}\|^2 = \sum_m \|\Delta w_{m,\cdot}\|^2 = \|\Delta W\|_F^2
# $$ (eq-s1-7-balance)
#
# for every matrix, so that neither side can gain more squared norm than the other; only its spread over columns and
# over rows can differ.
#
# **The roles mirror each other if $\beta$ does.** The proof ends with the equivalence of a token's columns in one role
# and its rows in the other. The formulas have the same form; the matrices are transposes of each other if
# $\beta_{j*} = \beta_{*j}$ for all $j$.

# %%
show(
    token_roles.dimension_of_contribution(**sizes),
    token_roles.every_term_twice(**sizes),
    token_roles.roles_exchanged(**sizes),
)

# %% [markdown]
# ## How often a token is context, and how often it is predicted
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
# - *Masked*, if every position is masked with the same probability $\rho$, independently of the tokens and of the other
#   positions: $\mathrm{E}\mu_c = \mathrm{E}\mu_p = \rho\, (1 - \rho) (N - 1) \sum_k \pi_k$.
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
# product factorises, and $\mathrm{E}[(1 - m_k)\, m_{k'}] = \rho (1 - \rho)$ for $k \ne k'$.
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
# Divide numerator and denominator of Eq. S68 by $\sum_k \pi_k$. The ratio decreases in $\bar k$ and is 1 at
# $N - \bar k = \bar k - 1$. Summed over the vocabulary $\sum_t \pi_k(t) = 1$ for every $k$, and
# $\sum_k (N - k) = \sum_k (k - 1) = N (N - 1) / 2$.
# ```
# ````

# %%
rows = []
rates = {"autoregressive": None, "bidirectional": None, "masked": mask_rate}
for objective, rate in rates.items():
    for k in range(n_tokens):
        here = torch.zeros(n_tokens, 2, dtype=torch.float64)
        here[:, 1], here[k] = 1, torch.tensor([1.0, 0.0])  # token 0 at position k only
        c = expected_counts(objective, here, rate)
        rows.append((objective, k + 1, float(c.context[0]), float(c.predicted[0])))

roles = pd.DataFrame(rows, columns=["objective", "position", "context", "predicted"])
figures.roles_by_position(roles, mask_rate)

# %% [markdown]
# The checks simulate a Markov chain of {glue:text}`vocab` tokens whose neighbours are correlated and whose marginals
# drift along the sequence, and count pairs one by one.

# %% tags=["remove-cell"]
processes = {kind: simulation(stationary=kind == "stationary", **simulated) for kind in ("drifting", "stationary")}
glue("vocab", len(processes["drifting"].chain.start))

# %%
show(
    counts.autoregressive_ratio(**simulated),
    counts.bidirectional_ratio(n_tokens=n_tokens, seed=seed),
)

# %%
tokens = []
for name, process in processes.items():
    c = process.counts
    ratio = c.context.mean(0) / c.predicted.mean(0)
    error = (c.context - ratio * c.predicted).std(0) / c.predicted.mean(0) / draws**0.5
    rows = pd.DataFrame({"process": name, "ratio": ratio.numpy(), "standard_error": error.numpy()})
    rows["mean_position"] = mean_position(process.marginals).numpy()
    tokens.append(rows)

figures.ratio_by_mean_position(pd.concat(tokens), n_tokens)

# %% [markdown]
# ### Masked training
#
# The ratio is 1 where all mask rates are equal, as the paper assumes. Tokens that are never masked, such as [CLS] and
# [SEP] in BERT, are context and never predicted: for them the ratio is infinite. The expected counts of Eqs. S79 and
# S80 carry a factor $N$ too many, which cancels in the ratio.

# %%
show(
    counts.masked_ratio(mask_rate=mask_rate, **simulated),
    counts.masked_expectation(mask_rate=mask_rate, seed=seed),
)

# %% [markdown]
# ### The sums of the proof
#
# In S73 the sum over predicted positions stops at $N - 1$; in S74, S75, S83 and S84 positions start at 0. With the
# right limits S83 and S84 have the values that the paper states. S86 has a limit $T$ for $N$ and a $t$ for $t^*$, and
# its factors for earlier positions add up to 1: what is left is the law of total probability, which says nothing about
# a particular process.

# %%
show(
    counts_in_detail.last_position_counts(n_tokens=n_tokens, seed=seed),
    counts_in_detail.first_position_counts(**simulated),
    counts_in_detail.marginal_from_the_future(seed=seed),
)

# %% [markdown]
# ### Correlation, order and the sign
#
# The text around Eqs. S82 to S87 attributes a ratio different from 1 to statistical correlations between tokens. By
# {prf:ref}`prop-s1-10` only the marginals $\Pr[t_k = t]$ enter. A stationary process has ratio 1 for every token,
# however strong its correlations; independent tokens whose marginals drift have another ratio. Always standing before
# certain other tokens does not help a token either: in a stationary cycle every token precedes the next one, and all
# ratios are 1. What helps is to stand early *in the block that the model is trained on*. Blocks cut from
# a long text at uniformly random places have the same marginals at every position.

# %%
show(
    counts_in_detail.correlation_is_irrelevant(**simulated),
    counts_in_detail.preceding_is_not_enough(n_tokens=n_tokens),
)

# %% [markdown]
# The proof of Theorem S1.12 starts from a ratio above 1 for most tokens (S96) and concludes that *fewer* tokens are
# predicted by $t^*$ than predict it. It is the other way round. That the ratio exceeds 1 for most tokens is an
# assumption about the corpus. By the balance in {prf:ref}`prop-s1-10-position`, what some tokens gain others lose. A
# process in which a single token opens every block has a ratio above 1 for that token alone.

# %%
show(counts_in_detail.sign_of_the_ratio(**simulated))

# %% [markdown]
# ## What follows
#
# - A token adds a rank-1 matrix in either role: its own embedding on one side, a weighted sum of its partners'
#   embeddings on the other.
# - Both groupings describe the same terms. Rows and columns of the update have the same total of squared norms.
# - Bidirectional and masked training give every token both roles equally often, if all tokens are masked at one rate.
# - In autoregressive training the two counts of a token differ only if its mean position differs from the middle of the
#   block. They are equal for all tokens of a stationary process, and over the vocabulary they always balance.
