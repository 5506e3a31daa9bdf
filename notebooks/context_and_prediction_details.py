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
# # Details: Context and prediction
#
# Slips of the paper's formulas and further checks of the [chapter on context and prediction](context_and_prediction.py),
# with its notation.

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding of the toy Transformers, a multiple of n_heads; in [8, 256]
n_heads: int = 4  # attention heads; in [1, 16]
n_tokens: int = 12  # tokens of a sequence; in [5, 64]
mask_rate: float = 0.15  # share of masked tokens; in (0, 1)
draws: int = 4000  # sequences of a simulation; in [100, 100000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import pandas as pd
import torch

from attngeo.chapters.context_and_prediction import contributions, counts, counts_in_detail, figures
from attngeo.chapters.context_and_prediction import objectives, token_roles
from attngeo.chapters.context_and_prediction.head_gradient import head_gradient
from attngeo.chapters.context_and_prediction.one_token import Role, token_update
from attngeo.chapters.context_and_prediction.token_counts import expected_counts
from attngeo.display.page import show
from attngeo.updates.objectives import attended_matrix, context_matrix

sizes = {"d": d, "n_tokens": n_tokens, "seed": seed}
simulated = {"n_tokens": n_tokens, "draws": draws, "seed": seed}

# %% [markdown]
# ## The product of two-sided conditionals
#
# The autoregressive loss of {prf:ref}`def-s1-3` is the negative logarithm of a factorisation of $\Pr[U]$ (Eq. S6 of the
# paper).
# Equation S8 of the paper gives the bidirectional objective the same standing:
# $\Pr[U] = \prod_i \Pr[t_i \mid \text{all other tokens}]$. This fails. For two fair bits that agree with probability
# $q$ the four products add up to $2 q^2 + 2 (1 - q)^2$, which is 1 only for $q = 1/2$. The product is known as the
# *pseudo-likelihood*. Nothing in the paper uses it again, and as an objective the product is sound: on average each
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
# ## What a Transformer attends to
#
# What a position of a Transformer attends to is another set than $C_i$, named $A_i$. A causal position attends to itself
# as well: it stands at $i$, predicts token $i + 1$, and $A_i = C_{i+1}$. In masked training the masked positions are
# attended too, with the mask token's embedding in them. The sums of {prf:ref}`prop-2-2` run over attended positions.

# %%
show(objectives.attended_is_not_conditioned(n_tokens=n_tokens))

# %% tags=["hide-input"]
masked = torch.arange(n_tokens) % 3 == 1
contexts = {o: context_matrix(o, n_tokens) for o in ("autoregressive", "bidirectional")}
contexts["masked"] = context_matrix("masked", n_tokens, masked)
attended = {o: attended_matrix(o, n_tokens) for o in contexts}
attended["masked"] = attended["masked"] & masked.unsqueeze(1)  # the rows that predict
figures.conditioning_sets(contexts, attended)

# %% [markdown]
# ## The parts of one token
#
# By {prf:ref}`prop-s1-7` a token adds a matrix of rank 1 in either role.

# %% tags=["hide-input"]
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
# After Eq. 12 the paper says that a context token raises the dimension of the column space in proportion to the tokens it
# predicts. Its contribution $u\, x_*^\top$ has rank 1, however many terms $u$ has: one direction on the column side, one
# on the row side. And the proof ends with the equivalence of a token's columns in one role and its rows in the other.
# The formulas have the same form; the matrices are transposes of each other if $\beta_{j*} = \beta_{*j}$ for all $j$.

# %%
show(token_roles.dimension_of_contribution(**sizes), token_roles.roles_exchanged(**sizes))

# %% [markdown]
# ## Counts by position
#
# The expected counts of {prf:ref}`prop-s1-10` for a token that stands at position $k$ only.

# %% tags=["hide-input"]
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
# The ratio is 1 where all mask rates are equal, as the paper assumes. The expected counts of its Eqs. S79 and S80 carry a
# factor $N$ too many, which cancels in the ratio.

# %%
show(counts.masked_expectation(mask_rate=mask_rate, seed=seed))

# %% [markdown]
# ## The sums of the proof
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
# ## Order, and the sign
#
# The text around Eqs. S82 to S87 of the paper expects a ratio above 1 for tokens that are likely to precede others.
# Always standing before certain other tokens does not help a token: in a stationary cycle every token precedes the next
# one, and all ratios are 1. What helps is to stand early in the block that the model is trained on. Blocks cut from a long
# text at uniformly random places have the same marginals at every position.

# %%
show(counts_in_detail.preceding_is_not_enough(n_tokens=n_tokens))

# %% [markdown]
# The proof of Theorem S1.12 of the paper starts from a ratio above 1 for most tokens (S96) and concludes that *fewer*
# tokens are predicted by $t^*$ than predict it. It is the other way round. That the ratio exceeds 1 for most tokens is an
# assumption about the corpus. By the balance in {prf:ref}`prop-s1-10-position`, what some tokens gain others lose. A
# process in which a single token opens every block has a ratio above 1 for that token alone.

# %%
show(counts_in_detail.sign_of_the_ratio(**simulated))
