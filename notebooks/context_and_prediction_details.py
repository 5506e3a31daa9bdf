# ---
# jupyter:
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

import torch
from jaxtyping import Float
from torch import Tensor

from livingpaper.display.page import show
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from attngeo.gradients.token_counts import (
    MarkovChain,
    N_VOCAB,
    count_tokens,
    drifting_chain,
    expected_counts,
    mean_position,
    simulation,
    surplus,
)
from attngeo.gradients.objectives import Objective, attended_matrix, context_matrix, every_third
from attngeo.gradients.rank_one import (
    Role,
    gradient_sum,
    rank_one_terms,
    relative_error,
    token_column,
    token_row,
    token_update,
)
from attngeo.gradients.toy_transformer import head_gradient

AGREEMENT = 0.8  # probability with which two bits are equal
DIFFERENT = 0.1  # relative error above which two formulas count as different
TOKEN = 0  # the one that is looked at, t*


def random_joint(n_tokens: int = 5, n_vocab: int = 3, seed: int = 0) -> Float[Tensor, "..."]:
    """Joint distribution of correlated tokens, one axis per position."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand((n_vocab,) * n_tokens, generator=generator, dtype=torch.float64) ** 3
    return weights / weights.sum()


def chain_rule(joint: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """``prod_i Pr[t_i | t_1 .. t_{i-1}]`` (Eq. S6) of every sequence; ``joint`` has one axis per position."""
    n, result = joint.ndim, torch.ones_like(joint)
    for i in range(n):
        future = tuple(range(i + 1, n))
        past = joint.sum(future, keepdim=True) if future else joint  # Pr[t_0 .. t_i]
        result = result * past / past.sum(i, keepdim=True)
    return result


# %% [markdown]
# ## The objectives
#
# {prf:ref}`def-s1-3` names sets of pairs. The check counts them, and takes the joint probability of a random process apart
# into the factors of the autoregressive loss.


# %%
@claim(
    "S1.3",
    "Eqs. S6, S7, S9, S10",
    "the objectives and their conditioning sets",
    Verdict.HOLDS,
    remark=r"""Eq. S10 writes $M \in [1, \dots, N]$ for the subset $M \subset \{1, \dots, N\}$; the text numbers tokens from 1
    in some places and from 0 in others.""",
)
def objectives_definition(n_tokens=5, n_vocab=3, seed=0):
    joint, n = random_joint(n_tokens, n_vocab, seed), n_tokens
    n_masked = int(every_third(n).sum())
    n_pairs = {
        Objective.AUTOREGRESSIVE: n * (n - 1) // 2,
        Objective.BIDIRECTIONAL: n * (n - 1),
        Objective.MASKED: n_masked * (n - n_masked),
    }
    yield exact("largest difference between Eq. S6 and a random joint", (chain_rule(joint) - joint).abs().max())
    for objective, expected in n_pairs.items():
        yield exact(rf"pairs $(i, j)$ with $j \in C_i$, {objective}", context_matrix(objective, n).sum(), expected, 0)


show(objectives_definition(seed=seed))


# %% tags=["remove-cell"]
def two_sided(joint: Float[Tensor, "..."]) -> Float[Tensor, "positions ..."]:
    """``Pr[t_i | all other tokens]`` of every sequence, by position i."""
    return torch.stack([joint / joint.sum(i, keepdim=True) for i in range(joint.ndim)])


def both_sides(joint: Float[Tensor, "..."]) -> Float[Tensor, "..."]:
    """``prod_i Pr[t_i | all other tokens]`` (right of Eq. S8) of every sequence: the pseudo-likelihood."""
    return two_sided(joint).prod(0)


def expected_loss(joint: Float[Tensor, "..."], modelled: Float[Tensor, "positions ..."]) -> float:
    """``-E sum_i log p(t_i | all other tokens)`` (Eq. S9) of a model's conditional probabilities."""
    return -float((joint * modelled.log()).sum())


# %% [markdown]
# ## The product of two-sided conditionals
#
# The autoregressive loss of {prf:ref}`def-s1-3` is the negative logarithm of a factorisation of $\Pr[U]$ (Eq. S6 of the
# paper). Equation S8 of the paper gives the bidirectional objective the same standing:
# $\Pr[U] = \prod_i \Pr[t_i \mid \text{all other tokens}]$. This fails. For two fair bits that agree with probability
# $q$ two of the four products are $q^2$ and two $(1 - q)^2$, which add up to 1 only for $q = 1/2$.
#
# The product is known as the *pseudo-likelihood*. Nothing in the paper uses it again. As an objective it is sound: on
# average each of its terms is smallest at the true conditional probability.


# %%
@claim(
    "S1.3",
    "Eq. S8",
    "the joint probability as a product of two-sided conditionals",
    Verdict.MISPRINT,
    printed=r'''"$\Pr[U] = \Pr[t_1, \dots, t_N]$ $= \prod_{i=1}^N \Pr[t_i | t_1, \dots, t_{i-1}, t_{i+1}, \dots, t_N]$"''',
    place="Definition S1.3, Eq. S8",
    holds=r"""The product is the pseudo-likelihood of $U$. It equals $\Pr[U]$ when the tokens are independent; for correlated
    tokens it does not even sum to 1.""",
    remark="""Nothing after it uses S8. The objective S9 stands without it: on average each of its terms is least at the true
    conditional probability.""",
)
def bidirectional_factorisation(n_tokens=4, n_vocab=2, seed=0):
    joint, (same, other) = random_joint(n_tokens, n_vocab, seed), (AGREEMENT / 2, (1 - AGREEMENT) / 2)
    mass = both_sides(torch.tensor([[same, other], [other, same]], dtype=torch.float64)).sum()
    others = (expected_loss(joint, two_sided(joint**power)) for power in (0.5, 0.99, 1.01, 2))
    growth = min(others) - expected_loss(joint, two_sided(joint))
    independent = both_sides(torch.full_like(joint, 1 / joint.numel())).sum()
    expected = 2 * AGREEMENT**2 + 2 * (1 - AGREEMENT) ** 2
    yield exact(f"total mass, two bits that agree with probability {AGREEMENT:g}", mass, expected)
    yield compare("total mass of these two bits against 1", mass, "≠", 1, 1e-3)
    yield exact("total mass, independent bits", independent, 1)
    words = "growth of the expected Eq. S9 when its conditionals are those of another joint, the least"
    yield compare(words, growth, ">", 0, 1e-6)


show(bidirectional_factorisation(seed=seed))

# %% [markdown]
# ## What a Transformer attends to
#
# What a position of a Transformer attends to is another set than $C_i$, named $A_i$. A causal position attends to itself
# as well: it stands at $i$, predicts token $i + 1$, and $A_i = C_{i+1}$. In masked training the masked positions are
# attended too, with the mask token's embedding in them. The sums of {prf:ref}`prop-2-2` run over attended positions.


# %%
@claim(
    "S1.3",
    "(attended positions)",
    "what a Transformer attends to beyond the context",
    Verdict.MISPRINT,
    printed=r"""$C_i$ "is the set of indices defining the set of tokens $\{t_j\}$ of the conditional probability distribution",
    and attention sums over it, "$\sum_{j \in C_i} \alpha_{ij}^l(w^l)\, x_j^{l-1 \top} W_v^l$".""",
    place="Section 2.2, after Eq. 6, and Section S1.3, Eqs. S22 and S26",
    holds=r"""Attention runs over the positions that the mask lets position $i$ see: $j \le i$ with a causal mask, all $j$
    without. With a causal mask position $i$ predicts token $i + 1$, and what it attends to is $C_{i+1}$.""",
)
def attended_is_not_conditioned(n_tokens=9):
    causal = attended_matrix(Objective.AUTOREGRESSIVE, n_tokens)
    before = context_matrix(Objective.AUTOREGRESSIVE, n_tokens)
    yield exact("$A_i = C_{i+1}$ for every $i$, autoregressive", (causal[:-1] == before[1:]).all(), 1, 0)
    for objective in Objective:
        masks = objective is Objective.MASKED
        predicted = every_third(n_tokens) if masks else torch.ones(n_tokens, dtype=torch.bool)
        sees, c = attended_matrix(objective, n_tokens)[predicted], context_matrix(objective, n_tokens)[predicted]
        besides = int(predicted.sum()) ** 2 if masks else n_tokens  # every masked position, itself included; or j = i
        yield exact(f"attended pairs outside $C_i$, {objective}", (sees & ~c).sum(), besides, 0, paper="= 0")
        yield exact(f"pairs of $C_i$ that are not attended, {objective}", (c & ~sees).sum(), 0, 0)


show(attended_is_not_conditioned(n_tokens=n_tokens))

# %% [markdown]
# ## The parts of one token
#
# By {prf:ref}`prop-s1-7` a token adds a matrix of rank 1 in either role; {numref}`fig-painter` paints it. The paper
# gives the formulas several times, not always in the same form. Eqs. 11 and 12 carry wrong indices, and the latter the
# label of the other case. Eqs. S43 and S49 print a row as a column, S44 and S51 label a column as a row. Eq. S50 is
# transposed. The lines that follow from S50 are right.


# %%
@claim(
    "Eq. 11",
    "",
    "a column of the update, token as context",
    Verdict.MISPRINT,
    printed=r'''"$[x_{t^*}]_k \big(\sum_{i \in P_i} \beta_{ij} x_i\big)$"''',
    place="Section 2.3, Eq. 11",
    holds=r"$[x_{t^*}]_k \sum_{i \in P_{t^*}} \beta_{it^*} x_i$, as in Eq. S48",
    maybe_copying=True,
)
def column_of_context(d=24, n_tokens=8, seed=0):
    (beta, x, _), position, k = head_gradient(d, n_tokens, seed), 2, d // 2
    truth = rank_one_terms(beta, x)[:, position, :, k].sum(0)
    other = x[position, k] * (beta[:, position + 1] @ x)  # beta_ij read with a j that is not t*
    error = relative_error(token_column(beta, x, position, Role.CONTEXT, k), truth)
    yield exact(r"relative error with $\beta_{it^*}$", error)
    yield compare(r"relative error with $\beta_{ij}$ of another $j$", relative_error(other, truth), "≠", 0, DIFFERENT)


show(column_of_context(d=d, n_tokens=n_tokens, seed=seed))


# %%
@claim(
    "Eq. 12",
    "",
    "a row of the update, token as context",
    Verdict.MISPRINT,
    printed=r'''"$\Delta w_{m,\cdot} \big|_{t_i=t^*} = \big(\sum_{i \in P_i} \beta_{ij} [x_i]_k\big)\, x_{t^*}$"''',
    place="Section 2.3, Eq. 12",
    holds=r"$\Delta w_{m,\cdot} |_{t_j = t^*} = (\sum_{i \in P_{t^*}} \beta_{it^*} [x_i]_m)\, x_{t^*}^\top$",
    maybe_copying=True,
)
def row_of_context(d=24, n_tokens=8, seed=0):
    (beta, x, _), position = head_gradient(d, n_tokens, seed), 2
    formula = torch.stack([token_row(beta, x, position, Role.CONTEXT, m) for m in range(d)])
    terms = rank_one_terms(beta, x)
    truth, labelled = terms[:, position].sum(0), terms[position].sum(0)
    yield exact("relative error with $[x_i]_m$, $t_j = t^*$", relative_error(formula, truth))
    shifted = relative_error(formula.roll(1, 0), truth)
    yield compare("relative error with $[x_i]_k$, $k = m - 1$", shifted, "≠", 0, DIFFERENT)
    yield compare("relative error, read as $t_i = t^*$", relative_error(formula, labelled), "≠", 0, DIFFERENT)


show(row_of_context(d=d, n_tokens=n_tokens, seed=seed))


# %%
@claim(
    "S1.7",
    "Eqs. S43, S44, S49-S51",
    "rows, columns and an outer product, exchanged",
    Verdict.MISPRINT,
    printed=r""""$\Delta w_{m,\cdot} \big|_{t_j=t^*} = \big(\sum_{i \in P_{t^*}} \beta_{it^*} [x_i]_m\big)\, x_{t^*}$"; "$\Delta
    w_{k,\cdot} \big|_{t_i=t^*} = \big(\sum_{j \in C_{t^*}} \beta_{t^*j} [x_j]_k\big)\, x_{t^*}$"; "$\big(\sum_{j \in
    C_{t^*}} \beta_{t^*j} x_j\big)\, x_{t^*}^\top$".""",
    place="Proposition S1.7, Eqs. S43 and S44, and its proof, Eqs. S49, S50 and S51",
    holds=r"""$\Delta w_{m,\cdot} = (\sum_i \beta_{it^*} [x_i]_m)\, x_{t^*}^\top$, a row; $\Delta w_{\cdot,k} |_{t_i = t^*}$ on the
    left of S44; $x_{t^*} (\sum_j \beta_{t^*j} x_j)^\top$ where $t^*$ is predicted.""",
)
def rows_and_columns_exchanged(d=24, n_tokens=8, seed=0):
    (beta, x, _), position, k = head_gradient(d, n_tokens, seed), n_tokens // 2, d // 2
    update = rank_one_terms(beta, x)[position].sum(0)
    column = token_column(beta, x, position, Role.PREDICTION, k)
    yield exact("S44 against column k: relative error", relative_error(column, update[:, k]))
    yield compare("S44 against row k", relative_error(column, update[k]), "≠", 0, DIFFERENT)
    formula = token_update(beta, x, position, Role.PREDICTION)
    yield exact(r"$x_{t^*} (\sum_j \beta_{t^*j} x_j)^\top$: relative error", relative_error(formula, update))
    yield compare("S50 as printed: relative error", relative_error(formula.T, update), "≠", 0, DIFFERENT)


show(rows_and_columns_exchanged(d=d, n_tokens=n_tokens, seed=seed))

# %% [markdown]
# After Eq. 12 the paper says that a context token raises the dimension of the column space in proportion to the tokens it
# predicts. Its contribution $u\, x_*^\top$ has rank 1, however many terms $u$ has: one direction on the column side, one
# on the row side.


# %%
@claim(
    "S1.7",
    "(text after Eq. 12)",
    "the dimension that a context token adds",
    Verdict.MISPRINT,
    printed="""
    "Intuitively, using $t^*$ as context increases the dimensionality of the column space proportionally to the
    embeddings of the predicted tokens, while reducing the row space along the direction of the embedding of $t^*$."
    """,
    place="Section 2.3, after Eq. 12",
    holds=r"""Its contribution $u\, x_{t^*}^\top$, $u = \sum_i \beta_{it^*} x_i$, has rank 1: one direction in the column
    space, $u$, and one in the row space, $x_{t^*}$.""",
)
def dimension_of_contribution(d=24, n_tokens=10, seed=0):
    (beta, x, _), middle = head_gradient(d, n_tokens, seed), n_tokens // 2
    # the first token attends to itself alone: as a query its beta is 0, by the sum rule
    for position, role in ((0, Role.CONTEXT), (middle, Role.CONTEXT), (middle, Role.PREDICTION)):
        n_queries = int((beta[:, position] != 0).sum())
        rank = torch.linalg.matrix_rank(token_update(beta, x, position, role), rtol=1e-10)
        words = f"rank, position {position + 1} as {role.value}, {n_queries} queries"
        yield exact(words, rank, 1, 0, paper="> 1")
    together = torch.linalg.matrix_rank(gradient_sum(beta, x), rtol=1e-10)
    yield compare("rank of the update of the sequence", together, ">", 1)


show(dimension_of_contribution(d=d, n_tokens=n_tokens, seed=seed))

# %% [markdown]
# The proof ends with the equivalence of a token's columns in one role and its rows in the other. The formulas have the same
# form; the matrices are transposes of each other if $\beta_{j*} = \beta_{*j}$ for all $j$.


# %%
@claim(
    "S1.7",
    "(end of the proof)",
    "rows as prediction and columns as context",
    Verdict.ASSUMPTION,
    printed="""
    "[T]he weight update of each column (row) when a set of tokens predicts $t^*$ is equivalent to the weight update
    of each row (column) when $t^*$ is used to predict a set of tokens."
    """,
    place="Proof of Proposition S1.7, after Eq. S52",
    holds=r"""The formulas have the same form. The updates are each other's transpose if $\beta_{jt^*} = \beta_{t^*j}$ for all
    $j$, which is an assumption.""",
    missing=(r"$\beta_{jt^*} = \beta_{t^*j}$",),
)
def roles_exchanged(d=24, n_tokens=8, seed=0):
    of_gradient, x, _ = head_gradient(d, n_tokens, seed, objective=Objective.MASKED)
    both = {r"$\beta$ made symmetric": of_gradient + of_gradient.T, r"$\beta$ of the gradient": of_gradient}
    for words, beta in both.items():
        context, prediction = (token_update(beta, x, n_tokens // 2, r) for r in (Role.CONTEXT, Role.PREDICTION))
        error, words = relative_error(prediction.T, context), f"relative difference, {words}"
        yield compare(words, error, "≠", 0, DIFFERENT) if beta is of_gradient else exact(words, error)


show(roles_exchanged(d=d, n_tokens=n_tokens, seed=seed))

# %% [markdown]
# ## Counts in both other objectives
#
# In bidirectional training both counts are $N - 1$ times the occurrences of the token, in every sequence. In masked training
# the two expectations agree.


# %%
@claim("S1.10", "Eq. S69", "the bidirectional ratio", Verdict.HOLDS)
def bidirectional_ratio(n_tokens=12, draws=200, seed=0):
    s = simulation(n_tokens, draws, seed, Objective.BIDIRECTIONAL)
    marginals = s.chain.marginals(n_tokens)
    expected = expected_counts(Objective.BIDIRECTIONAL, marginals)
    occurrences = torch.nn.functional.one_hot(s.tokens, N_VOCAB).sum(1)
    partners = expected.context / marginals.sum(0)  # of one occurrence
    difference = s.counts.context - expected.ratio * s.counts.predicted
    yield exact(r"largest $|\mu_c - \mu_p|$ over sequences and tokens", difference.abs().max())
    distance = (s.counts.context - partners * occurrences).abs().max()
    yield exact(r"largest distance of $\mu_c$ from $N - 1$ times the occurrences", distance)


show(bidirectional_ratio(n_tokens=n_tokens, seed=seed))


# %%
@claim(
    "S1.10",
    "Eqs. S77, S78, S81",
    "the masked ratio",
    Verdict.HOLDS,
    remark="""The proof assumes one mask rate for all positions and all tokens. That is enough: the masks of two positions may
    depend on each other. Tokens such as [CLS] and [SEP] do not meet the assumption, as they are context and never
    predicted. S79 lacks the expectation of the inner sum in its third line.""",
)
def masked_ratio(n_tokens=12, mask_rate=0.15, draws=4000, seed=0):
    s = simulation(n_tokens, draws, seed, Objective.MASKED, mask_rate)
    expected = expected_counts(Objective.MASKED, s.chain.marginals(n_tokens), mask_rate)
    yield monte_carlo(rf"$\mu_c$, token {TOKEN}", s.counts.context[:, TOKEN], expected.context[TOKEN])
    yield monte_carlo(rf"$\mu_p$, token {TOKEN}", s.counts.predicted[:, TOKEN], expected.predicted[TOKEN])


show(masked_ratio(mask_rate=mask_rate, n_tokens=n_tokens, draws=draws, seed=seed))

# %% [markdown]
# The expected counts of the paper's Eqs. S79 and S80 carry a factor $N$ too many, which cancels in the ratio. The check goes through all sequences and all masks of a short text.


# %%
@claim(
    "S1.10",
    "Eqs. S79, S80",
    "the expected counts in masked training",
    Verdict.MISPRINT,
    printed=r'''"$N\rho(N-1)(1-\rho) \sum_{k=1}^N \Pr(t_k = t^*)$"''',
    place="Proof of Proposition S1.10, Eqs. S79, S80",
    holds=r"$\rho (1-\rho) (N-1) \sum_k \Pr[t_k = t^*]$, with $\rho$ the share of masked tokens",
    remark="The ratio S81 is not affected.",
)
def masked_expectation(n_tokens=4, mask_rate=0.15, seed=0):
    chain, masks = drifting_chain(seed), torch.cartesian_prod(*[torch.tensor([False, True])] * n_tokens)
    tokens = torch.cartesian_prod(*[torch.arange(N_VOCAB)] * n_tokens)
    of_tokens = chain.start[tokens[:, 0]] * chain.transition[tokens[:, :-1], tokens[:, 1:]].prod(-1)
    masked = masks.double()
    of_masks = (mask_rate * masked + (1 - mask_rate) * (1 - masked)).prod(-1)
    contexts = context_matrix(Objective.MASKED, n_tokens, masks.repeat(len(tokens), 1))
    counts = count_tokens(tokens.repeat_interleave(len(masks), 0), contexts, N_VOCAB)
    expected = expected_counts(Objective.MASKED, chain.marginals(n_tokens), mask_rate)
    probability = torch.outer(of_tokens, of_masks).flatten()
    for symbol, side in ((r"$\mu_c$", "context"), (r"$\mu_p$", "predicted")):
        mean, formula = probability @ getattr(counts, side)[:, TOKEN], getattr(expected, side)[TOKEN]
        yield exact(f"{symbol}, token {TOKEN}", mean, formula)
        yield compare(f"{symbol}, token {TOKEN}, against the printed value", mean, "≠", n_tokens * formula, 0.1)


show(masked_expectation(mask_rate=mask_rate, seed=seed))

# %% [markdown]
# ## The sums of the proof
#
# In S73 the sum over predicted positions stops at $N - 1$; in S74, S75, S83 and S84 positions start at 0. With the
# right limits S83 and S84 have the values that the paper states.


# %%
def positions(n_tokens: int) -> range:
    """The values of l in Eq. S73, and of k in Eqs. S74, S75, S83, S84."""
    return range(1, n_tokens + 1)


@claim(
    "S1.10",
    "Eqs. S73-S75, S83, S84",
    "the limits of sums over positions",
    Verdict.MISPRINT,
    printed=r""""$\mu_p(t^*) = \sum_{l=1}^{N-1} \sum_{k=1}^{l-1} \mathbb{1}\{t_l = t^*\}$", "the number of tokens predicted by
    $t^*$"; "$\sum_{k=0}^N$".""",
    place="Proof of Proposition S1.10, after Eq. S71 and Eqs. S73, S74, S75, and Section S1.4.3, Eqs. S83, S84",
    holds=r"""$\mu_p = \sum_{l=1}^{N} \sum_{k=1}^{l-1} 1\{t_l = t^*\}$, the tokens that predict $t^*$; and $\sum_{k=1}^{N}$, with
    which S83 and S84 have the value they state.""",
)
def limits_of_sums(n_tokens=12, draws=200, seed=0):
    s, n = simulation(n_tokens, draws, seed), n_tokens
    occurs = torch.nn.functional.one_hot(s.tokens, N_VOCAB).double()  # (draws, N, V)
    right, printed = (sum((k - 1) * occurs[:, k - 1] for k in ks if k) for ks in (positions(n), range(1, n)))
    yield exact("S73 to N: largest difference", (right - s.counts.predicted).abs().max())
    yield compare("S73 to N − 1: largest difference", (printed - s.counts.predicted).abs().max(), "≠", 0, 0.5)
    half = n * (n - 1) / 2
    yield exact(r"$\sum_k (N - k)$, $k$ from 1", sum(n - k for k in positions(n)), half, 0)
    words = r"$\sum_k (N - k)$, $k$ from 0, against $N(N-1)/2$"
    yield compare(words, sum(n - k for k in range(n + 1)), "≠", half, 0.5)


show(limits_of_sums(n_tokens=n_tokens, seed=seed))

# %% [markdown]
# S86 has a limit $T$ for $N$ and a $t$ for $t^*$, and its factors for earlier positions add up to 1. What is left is the law
# of total probability, which says nothing about a particular process.
#
# ## Order, and the sign
#
# The text around Eqs. S82 to S87 of the paper expects a ratio above 1 for tokens that are likely to precede others.
# Always standing before certain other tokens does not help a token: in a stationary cycle every token precedes the next
# one, and all ratios are 1.


# %%
def cycle() -> MarkovChain:
    """Token t is always followed by t + 1, cut anywhere."""
    uniform = torch.full((N_VOCAB,), 1 / N_VOCAB, dtype=torch.float64)
    return MarkovChain(uniform, torch.eye(N_VOCAB, dtype=torch.float64).roll(1, dims=1))


def opening(returns: bool) -> MarkovChain:
    """A token opens every block; after it all are equally likely, or all others."""
    first = torch.nn.functional.one_hot(torch.tensor(TOKEN), N_VOCAB).double()
    rows = torch.full((N_VOCAB,), 1 / N_VOCAB, dtype=torch.float64) if returns else (1 - first) / (N_VOCAB - 1)
    return MarkovChain(first, rows.expand(N_VOCAB, -1))


@claim(
    "S1.10",
    "(text after Eq. S87)",
    "which tokens have a ratio above 1",
    Verdict.ASSUMPTION,
    printed="""
    "[W]hen $t^*$ has a high probability of occurring before a given set of tokens, or when $t^*$ is likely to occur
    at the beginning of sentences and specific pieces of text, this ratio is likely to be higher than 1."
    """,
    place="Section S1.4.3, after Eq. S87",
    holds="""It is above 1 exactly when the mean position of $t^*$ in the block lies before the middle. Order relative to
    other tokens matters only where blocks begin at a fixed place of the text.""",
    missing=("fixed place",),
)
def preceding_is_not_enough(n_tokens=12):
    anywhere = expected_counts(Objective.AUTOREGRESSIVE, cycle().marginals(n_tokens))
    marginals = opening(returns=False).marginals(n_tokens)
    opens = expected_counts(Objective.AUTOREGRESSIVE, marginals)
    words = "largest |ratio − 1|, every token always before the next, blocks cut anywhere"
    yield exact(words, (anywhere.ratio - 1).abs().max(), paper="> 0")
    yield exact("mean position of a token that opens every block", mean_position(marginals)[TOKEN], 1)
    yield exact(r"$\mu_p$ of that token", opens.predicted[TOKEN])
    yield exact(r"$\mu_c$ of that token", opens.context[TOKEN], n_tokens - 1)


show(preceding_is_not_enough(n_tokens=n_tokens))

# %% [markdown]
# The proof of Theorem S1.12 of the paper starts from a ratio above 1 for most tokens (S96) and concludes that *fewer*
# tokens are predicted by $t^*$ than predict it. It is the other way round. That the ratio exceeds 1 for most tokens is an
# assumption about the corpus. By the balance in {prf:ref}`prop-s1-10-position`, what some tokens gain others lose. A
# process in which a single token opens every block has a ratio above 1 for that token alone.


# %%
@claim(
    "S1.12",
    "(text after Eq. S96)",
    "what a ratio above 1 says",
    Verdict.MISPRINT,
    printed=r"""From a ratio above 1 "for most $t^* \in \mathcal{V}$": "the average number of tokens that are predicted by $t^*$
    is smaller than the average number of tokens that predict it".""",
    place="Proof of Theorem S1.12, after Eq. S96",
    holds="""It is larger. That the ratio exceeds 1 for *most* tokens is an assumption about the corpus, not a consequence of
    S1.10: both counts have the same sum over the vocabulary.""",
)
def sign_of_the_ratio(n_tokens=12, draws=4000, seed=0):
    s = simulation(n_tokens, draws, seed)
    ratio = expected_counts(Objective.AUTOREGRESSIVE, s.chain.marginals(n_tokens)).ratio
    t = int(ratio.argmax())
    one_opens = expected_counts(Objective.AUTOREGRESSIVE, opening(returns=True).marginals(n_tokens))
    yield compare(rf"$\mu_c / \mu_p$, token {t}", ratio[t], ">", 1, 0.05)
    words = f"tokens predicted by token {t} less tokens that predict it"
    yield monte_carlo(words, surplus(s.counts, t), 0, ">", paper="< 0")
    words = f"tokens of {N_VOCAB} with a ratio above 1, one token opens every block"
    yield exact(words, (one_opens.ratio > 1).sum(), 1, 0)


show(sign_of_the_ratio(n_tokens=n_tokens, draws=draws, seed=seed))
