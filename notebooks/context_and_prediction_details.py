# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Details: Early tokens serve as context more often because of their positions
#
# A decoder predicts each token from the tokens before it, which are called its *context*. The paper {cite}`saponati2025`
# assumes that most tokens serve as context more often than they are predicted (Appendix S1.4.4), and it concludes that the
# columns of the [query-key matrix](bilinear_form.py) $\Wqk$ grow more than the rows. On this page, we examine this argument
# with proofs and checks. Their consequences are explained on [page 7](directionality.py).
#
# **Whether a token serves as context more often than it is predicted depends only on the positions of the token in the
# training sequences, and not on correlations between tokens. If the sequences are cut from a text at random positions, every
# token serves as context as often as it is predicted. Moreover, the columns do not become longer than the rows on average,
# no matter how often tokens serve as context or are predicted, because in every matrix, the squared norms of the rows add
# up to the same value as the squared norms of the columns.**

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding of the toy Transformers, a multiple of n_heads; in [8, 256]
n_heads: int = 4  # attention heads; in [1, 16]
n_tokens: int = 12  # sequence length; in [5, 64]
mask_rate: float = 0.15  # share of masked tokens; in (0, 1)
draws: int = 4000  # number of sequences in a simulation; in [100, 100000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.bilinear.scores import symmetry_score
from attngeo.gradients.objectives import TRAINED, Objective, attended_matrix, context_matrix, every_third
from attngeo.gradients.rank_one import (
    Role,
    gradient_sum,
    rank_one_terms,
    relative_error,
    token_column,
    token_row,
    token_update,
)
from attngeo.gradients.token_counts import (
    N_VOCAB,
    Counts,
    MarkovChain,
    count_tokens,
    drifting_chain,
    expected_counts,
    mean_position,
    simulation,
    surplus,
)
from attngeo.gradients.toy_transformer import head_gradient, sentence_gradient
from chapters.context_and_prediction import TEXTS, painter, ratio_and_error, ratio_by_text
from livingpaper.claims.claim import Verdict, claim, compare, exact, monte_carlo
from livingpaper.display.page import glue, show

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


def independent_text(n_tokens: int, draws: int, seed: int) -> Counts:
    """Counts in sequences of independent tokens whose marginals are those of the drifting chain."""
    generator = torch.Generator().manual_seed(seed + 3)
    marginals = drifting_chain(seed).marginals(n_tokens)
    tokens = torch.stack([torch.multinomial(row, draws, True, generator=generator) for row in marginals], dim=1)
    return count_tokens(tokens, context_matrix(Objective.AUTOREGRESSIVE, n_tokens), N_VOCAB)


texts = dict(
    zip(
        TEXTS,
        (
            simulation(n_tokens, draws, seed).counts,
            independent_text(n_tokens, draws, seed),
            simulation(n_tokens, draws, seed, stationary=True).counts,
        ),
        strict=True,
    )
)

# %% tags=["remove-input"]
ratio_by_text(texts)

# %% tags=["remove-cell"]
(correlated, error), (independent, error_too), (anywhere, error_at_1) = map(ratio_and_error, texts.values())
assert ((correlated - independent).abs() < 5 * (error**2 + error_too**2).sqrt()).all()  # of the same positions
assert ((anywhere - 1).abs() < 5 * error_at_1).all()
glue("vocab", N_VOCAB)

# %% [markdown]
# :::{admonition} How sure is this?
# We prove the statements on this page, and simulations with a vocabulary of {glue:text}`vocab` tokens agree with them. We
# did not count tokens in a real corpus. Moreover, the counts show how often a token plays each role, but not how much it
# contributes each time.
# :::
#
# ## Tokens are predicted or serve as context
#
# ````{prf:definition} Def. S1.3 of the paper: three objectives as sets of pairs
# :label: def-s1-3
#
# In a *pair* $(i, j)$, token $t_i$ is predicted, and token $t_j$ is *context*, that is, one of the tokens from which $t_i$
# is predicted. The pairs in a sequence $t_1, \dots, t_N$ depend on the objective:
#
# - *autoregressive*: all pairs with $j < i$,
# - *bidirectional*: all pairs with $j \ne i$,
# - *masked*: all pairs in which $i$ is masked and $j$ is visible.
#
# The set $C_i = \{j : (i, j) \text{ is a pair}\}$ is the context of position $i$. The set
# $P_j = \{i : (i, j) \text{ is a pair}\}$ contains the positions that position $j$ helps to predict. The loss is
# $-\sum_i \log p(t_i \mid \{t_j : j \in C_i\})$, where the sum runs over all predicted positions $i$.
# ````
#
# Each pair adds one matrix $\beta_{ij}\, x_i x_j^\top$ to [the gradient of $\Wqk$](implicit_gradient.py). This matrix is an
# outer product of two embeddings, multiplied by a coefficient. {numref}`fig-painter` shows the sum of these matrices for
# *the dog met my old cat*. Press *Play* to add the matrices one by one. In the autoregressive sum, each pair occurs in only
# one order, and the [symmetry score](two_scores_details.py) $s$ of the sum is far from 1. If you choose the *bidirectional*
# objective with coefficients that are the same for both orders of a pair, the sum has $s = 1$. If you choose the *exact*
# coefficients of a small Transformer with random weights, the sum is not symmetric for any objective. On [another
# page](symmetric_updates.py#in-untrained-models-two-tokens-do-not-help-each-other-equally), we examine the conditions under
# which the coefficients are equal in both orders.

# %% tags=["remove-cell"]
assert all(
    symmetry_score(sentence_gradient(objective, seed).w_qk[0]) < 0.99 for objective in Objective
)  # "none of the sums is symmetric"

# %% tags=["remove-input"]
painter(seed)

# %% [markdown]
# ## The objectives
#
# In {prf:ref}`def-s1-3`, each objective is described by a set of pairs. In the following check, we count these pairs. We
# also confirm that the joint probability of a random process is the product of the factors in the autoregressive loss.


# %%
@claim(
    "S1.3",
    "Eqs. S6, S7, S9, S10",
    "each objective conditions on its own set of pairs",
    Verdict.HOLDS,
    remark=r"""In Eq. S10, $M \in [1, \dots, N]$ stands for the subset $M \subset \{1, \dots, N\}$. The paper numbers tokens from 1 in
    some places and from 0 in other places.""",
)
def objectives_definition(n_tokens=5, n_vocab=3, seed=0):
    joint, n = random_joint(n_tokens, n_vocab, seed), n_tokens
    n_masked = int(every_third(n).sum())
    n_pairs = {
        Objective.AUTOREGRESSIVE: n * (n - 1) // 2,
        Objective.BIDIRECTIONAL: n * (n - 1),
        Objective.MASKED: n_masked * (n - n_masked),
    }
    yield exact(
        "largest difference between Eq. S6 and a random joint distribution", (chain_rule(joint) - joint).abs().max()
    )
    for objective, expected in n_pairs.items():
        yield exact(
            rf"number of pairs $(i, j)$ with $j \in C_i$, {objective}", context_matrix(objective, n).sum(), expected, 0
        )


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
# The autoregressive loss in {prf:ref}`def-s1-3` is the negative logarithm of a factorisation of $\Pr[U]$ (Eq. S6 of the
# paper). In Equation S8, the paper states a similar factorisation for the bidirectional objective, $\Pr[U] = \prod_i \Pr[t_i
# \mid \text{all other tokens}]$. This equation is wrong. As a counterexample, consider two fair bits that are equal with
# probability $q$. For two of the four possible outcomes, the product on the right-hand side is $q^2$, and for the other two
# it is $(1 - q)^2$. These four products sum to 1 only if $q = 1/2$.
#
# The product is known as the *pseudo-likelihood*. Equation S8 is not used again in the paper. The pseudo-likelihood is
# nevertheless a valid objective, because the expected value of each term in the loss is minimal at the true conditional
# probability.


# %%
@claim(
    "S1.3",
    "Eq. S8",
    "the joint probability is a product of two-sided conditional probabilities",
    Verdict.MISPRINT,
    printed=r'''"$\Pr[U] = \Pr[t_1, \dots, t_N]$ $= \prod_{i=1}^N \Pr[t_i | t_1, \dots, t_{i-1}, t_{i+1}, \dots, t_N]$"''',
    place="Definition S1.3, Eq. S8",
    holds=r"""The product is the pseudo-likelihood of $U$. It equals $\Pr[U]$ if the tokens are independent. If the tokens
    are correlated, the sum of this product over all sequences is in general not even equal to 1.""",
    remark="""Eq. S8 is not used again in the paper. The objective in Eq. S9 is valid without Eq. S8, because the expected value of each
    term of Eq. S9 is minimal at the true conditional probability.""",
)
def bidirectional_factorisation(n_tokens=4, n_vocab=2, seed=0):
    joint, (same, other) = random_joint(n_tokens, n_vocab, seed), (AGREEMENT / 2, (1 - AGREEMENT) / 2)
    mass = both_sides(torch.tensor([[same, other], [other, same]], dtype=torch.float64)).sum()
    others = (expected_loss(joint, two_sided(joint**power)) for power in (0.5, 0.99, 1.01, 2))
    growth = min(others) - expected_loss(joint, two_sided(joint))
    independent = both_sides(torch.full_like(joint, 1 / joint.numel())).sum()
    expected = 2 * AGREEMENT**2 + 2 * (1 - AGREEMENT) ** 2
    yield exact(f"sum of the products for two bits that are equal with probability {AGREEMENT:g}", mass, expected)
    yield compare("sum of the products for these two bits, compared with 1", mass, "≠", 1, 1e-3)
    yield exact("sum of the products for independent bits", independent, 1)
    words = "smallest increase in the expected value of Eq. S9 if its conditional probabilities are those of another distribution"
    yield compare(words, growth, ">", 0, 1e-6)


show(bidirectional_factorisation(seed=seed))

# %% [markdown]
# ## What a Transformer attends to
#
# In a Transformer, position $i$ attends to a set $A_i$ that differs from the context $C_i$. With a causal mask, position $i$
# also attends to itself and predicts token $i + 1$. Hence $A_i = C_{i+1}$. In masked training, positions also attend to the
# masked positions, where the input is the embedding of the mask token. The sums in {prf:ref}`prop-2-2` run over the attended
# positions.


# %%
@claim(
    "S1.3",
    "(attended positions)",
    "a Transformer attends to the tokens in the context",
    Verdict.MISPRINT,
    printed=r"""$C_i$ "is the set of indices defining the set of tokens $\{t_j\}$ of the conditional probability distribution",
    and attention sums over it, "$\sum_{j \in C_i} \alpha_{ij}^l(w^l)\, x_j^{l-1 \top} W_v^l$".""",
    place="Section 2.2, after Eq. 6, and Section S1.3, Eqs. S22 and S26",
    holds=r"""Position $i$ attends to all positions that the mask does not hide. With a causal mask, these are the positions $j \le i$, and
    without a mask, they are all positions. With a causal mask, position $i$ predicts token $i + 1$ and attends to $C_{i+1}$.""",
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
        yield exact(f"number of attended pairs outside $C_i$, {objective}", (sees & ~c).sum(), besides, 0, paper="= 0")
        yield exact(f"number of pairs in $C_i$ that are not attended, {objective}", (c & ~sees).sum(), 0, 0)


show(attended_is_not_conditioned(n_tokens=n_tokens))

# %% [markdown]
# ## In either role, a token adds the same total to rows and columns
#
# In each role, a token adds a matrix of rank 1 to the update of $\Wqk$. A context token adds multiples of its embedding to
# the rows. A predicted token adds multiples of its embedding to the columns.
#
# ````{prf:proposition} Prop. S1.7 of the paper: updates of rows and columns by one token
# :label: prop-s1-7
#
# Let $\Delta W = \sum_i \sum_{j \in C_i} \beta_{ij}\, x_i x_j^\top$, and let the token $t^*$ with embedding $x_*$ occur at
# one position. The terms in which this token is *context* sum to
#
# $$
# \Delta W \big|_{t_j = t^*} = u\, x_*^\top, \qquad u = \sum_{i \in P_*} \beta_{i*}\, x_i ,
# $$ (eq-s1-7-context)
#
# so that column $k$ changes by $[x_*]_k\, u$ and row $m$ changes by $[u]_m\, x_*^\top$. The terms in which this token is
# *predicted* sum to
#
# $$
# \Delta W \big|_{t_i = t^*} = x_*\, w^\top, \qquad w = \sum_{j \in C_*} \beta_{*j}\, x_j ,
# $$ (eq-s1-7-prediction)
#
# so that column $k$ changes by $[w]_k\, x_*$ and row $m$ changes by $[x_*]_m\, w^\top$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# The double sum can be grouped by $j$ or by $i$:
#
# $$
# \Delta W = \sum_j \Bigl( \sum_{i \in P_j} \beta_{ij}\, x_i \Bigr) x_j^\top = \sum_i x_i \Bigl( \sum_{j \in C_i} \beta_{ij}\, x_j \Bigr)^{\!\top} .
# $$
#
# The term with $j = *$ in the first sum is {eq}`eq-s1-7-context`, and the term with $i = *$ in the second sum is
# {eq}`eq-s1-7-prediction`. The entry $(m, k)$ of an outer product $a b^\top$ is $[a]_m [b]_k$. Therefore its column $k$ is
# $[b]_k\, a$, and its row $m$ is $[a]_m\, b^\top$.
# ```
# ````


# %%
@claim(
    "S1.7",
    "Eqs. S42, S45-S48, S52",
    "one token adds multiples of its embedding to rows or columns",
    Verdict.HOLDS,
    remark=r"""In Eqs. S42 and S43, $\beta_{ij}$ should be $\beta_{it^*}$. In the list before the proposition, rows and
    columns are exchanged in the case in which $t^*$ is predicted.""",
)
def token_contributions(d=24, n_tokens=8, seed=0):
    for objective in TRAINED:
        beta, x, w_qk = head_gradient(d, n_tokens, seed, objective=objective)
        terms, case = rank_one_terms(beta, x), range(d)  # terms: (N, N, d, d)
        for role, parts in ((Role.CONTEXT, terms.sum(0)), (Role.PREDICTION, terms.sum(1))):  # by j, by i
            ats = [(beta, x, position, role) for position in range(n_tokens)]
            columns = torch.stack([torch.stack([token_column(*at, k) for k in case], dim=1) for at in ats])
            rows = torch.stack([torch.stack([token_row(*at, m) for m in case]) for at in ats])
            words = f"{role.value}, {objective}"
            error = relative_error(sum(token_update(*at) for at in ats), w_qk)
            yield exact(f"relative error of the sum over tokens, {words}", error)
            yield exact(f"largest difference in a column, {words}", (columns - parts).abs().max())
            yield exact(f"largest difference in a row, {words}", (rows - parts).abs().max())


show(token_contributions(d=d, n_tokens=n_tokens, seed=seed))

# %% [markdown]
# Can a token contribute more to the columns as context than as a predicted token? For the sum over all tokens, this is
# impossible, because every term is both the contribution of one token as context and the contribution of another token as a
# predicted token. Moreover, in every matrix, the squared norms of the columns add up to the same value as the squared norms
# of the rows. Only the way in which this sum is divided among the individual rows and columns can differ.
#
# ## The parts of one token
#
# The formulas in {prf:ref}`prop-s1-7` appear several times in the paper, and some versions contain misprints. Equations 11
# and 12 contain wrong indices, and the label of Equation 12 assigns the wrong role to $t^*$. In Equations S43 and S49, a row
# is written as a column, and in Equations S44 and S51, a column is labelled as a row. Equation S50 is transposed, but the
# lines that follow from it are correct.


# %%
@claim(
    "Eq. 11",
    "",
    "a context token adds the stated column to the update",
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
    "a context token adds the stated row to the update",
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
    "a token adds the stated rows, columns and outer products to the update",
    Verdict.MISPRINT,
    printed=r""""$\Delta w_{m,\cdot} \big|_{t_j=t^*} = \big(\sum_{i \in P_{t^*}} \beta_{it^*} [x_i]_m\big)\, x_{t^*}$"; "$\Delta
    w_{k,\cdot} \big|_{t_i=t^*} = \big(\sum_{j \in C_{t^*}} \beta_{t^*j} [x_j]_k\big)\, x_{t^*}$"; "$\big(\sum_{j \in
    C_{t^*}} \beta_{t^*j} x_j\big)\, x_{t^*}^\top$".""",
    place="Proposition S1.7, Eqs. S43 and S44, and its proof, Eqs. S49, S50 and S51",
    holds=r"""In Eqs. S43 and S49, $\Delta w_{m,\cdot} = (\sum_i \beta_{it^*} [x_i]_m)\, x_{t^*}^\top$ is a row. The left-hand sides of
    Eqs. S44 and S51 are the column $\Delta w_{\cdot,k} |_{t_i = t^*}$. If $t^*$ is predicted, Eq. S50 is
    $x_{t^*} (\sum_j \beta_{t^*j} x_j)^\top$.""",
)
def rows_and_columns_exchanged(d=24, n_tokens=8, seed=0):
    (beta, x, _), position, k = head_gradient(d, n_tokens, seed), n_tokens // 2, d // 2
    update = rank_one_terms(beta, x)[position].sum(0)
    column = token_column(beta, x, position, Role.PREDICTION, k)
    yield exact("Eq. S44 compared with column k: relative error", relative_error(column, update[:, k]))
    yield compare("Eq. S44 compared with row k: relative error", relative_error(column, update[k]), "≠", 0, DIFFERENT)
    formula = token_update(beta, x, position, Role.PREDICTION)
    yield exact(r"$x_{t^*} (\sum_j \beta_{t^*j} x_j)^\top$: relative error", relative_error(formula, update))
    yield compare("Eq. S50 as printed: relative error", relative_error(formula.T, update), "≠", 0, DIFFERENT)


show(rows_and_columns_exchanged(d=d, n_tokens=n_tokens, seed=seed))

# %% [markdown]
# After Eq. 12, the paper states that, intuitively, a context token increases the dimension of the column space in proportion
# to the embeddings of the tokens that it helps to predict. However, the contribution $u\, x_*^\top$ of this token has rank
# 1, no matter how many terms $u$ has. The column space and the row space of this contribution are therefore
# one-dimensional.


# %%
@claim(
    "S1.7",
    "(text after Eq. 12)",
    "a context token increases the dimension of the column space",
    Verdict.MISPRINT,
    printed="""
    "Intuitively, using $t^*$ as context increases the dimensionality of the column space proportionally to the
    embeddings of the predicted tokens, while reducing the row space along the direction of the embedding of $t^*$."
    """,
    place="Section 2.3, after Eq. 12",
    holds=r"""The contribution $u\, x_{t^*}^\top$ of the token, where $u = \sum_i \beta_{it^*} x_i$, has rank 1. Its column
    space is spanned by $u$, and its row space is spanned by $x_{t^*}$.""",
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
# At the end of the proof, the authors state that the column updates caused by a token in one role are equivalent to the row
# updates caused by the same token in the other role. The two formulas do have the same form. However, the two matrices are
# transposes of each other only under an additional condition, for example if $\beta_{j*} = \beta_{*j}$ for all $j$.


# %%
@claim(
    "S1.7",
    "(end of the proof)",
    "the rows of a predicted token are equivalent to the columns of a context token",
    Verdict.ASSUMPTION,
    printed="""
    "[T]he weight update of each column (row) when a set of tokens predicts $t^*$ is equivalent to the weight update
    of each row (column) when $t^*$ is used to predict a set of tokens."
    """,
    place="the proof of Proposition S1.7, after Eq. S52",
    holds=r"""The formulas have the same form. The updates are transposes of each other under the additional assumption that
    $\beta_{jt^*} = \beta_{t^*j}$ for all $j$.""",
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
# ## In autoregressive training, early tokens serve as context more often
#
# ````{prf:proposition} Prop. S1.10 of the paper: expected numbers of partners
# :label: prop-s1-10
#
# Let $\mu_c(t)$ be the number of pairs in a random sequence in which token $t$ is context, and let $\mu_p(t)$ be the number of
# pairs in which token $t$ is predicted. Let $\pi_k = \Pr[t_k = t]$.
#
# - *Autoregressive*: $\mathrm{E}\mu_c = \sum_{k=1}^N (N - k)\, \pi_k$ and
#   $\mathrm{E}\mu_p = \sum_{k=1}^N (k - 1)\, \pi_k$.
# - *Bidirectional*: in every sequence, $\mu_c = \mu_p = (N - 1) \cdot$ (number of occurrences of $t$).
# - *Masked*: if every position is masked with the same probability $p$, independently of the tokens and of the other
#   positions, $\mathrm{E}\mu_c = \mathrm{E}\mu_p = p\, (1 - p) (N - 1) \sum_k \pi_k$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# *Autoregressive.* An occurrence at position $k$ is context for the $N - k$ later positions and is predicted from the
# $k - 1$ earlier positions. Therefore, $\mu_c = \sum_k (N - k)\, 1\{t_k = t\}$ and $\mu_p = \sum_k (k - 1)\, 1\{t_k = t\}$.
# Taking expectations gives the claim.
#
# *Bidirectional.* Every occurrence is context for the $N - 1$ other positions and is also predicted from these $N - 1$
# positions.
#
# *Masked.* Let $m_k = 1$ if position $k$ is masked and $m_k = 0$ otherwise. Then $\mu_c = \sum_k 1\{t_k = t\} (1 - m_k)
# \sum_{k' \ne k} m_{k'}$, and $\mu_p$ is the same sum with $m_k$ and $1 - m_{k'}$ instead of $1 - m_k$ and $m_{k'}$. Because
# the masks do not depend on the tokens, the expectation of each product factorises, and $\mathrm{E}[(1 - m_k)\, m_{k'}] = p
# (1 - p)$ for $k \ne k'$.
#
# If only the equality of the two expected counts is required, the masks need not be independent. The reason is that
# $\mathrm{E}[(1 - m_k) m_{k'}] - \mathrm{E}[m_k (1 - m_{k'})] = \mathrm{E}\, m_{k'} - \mathrm{E}\, m_k$, which is 0 if all
# mask rates are equal. For example, the number of masked positions in each sequence may be fixed.
# ```
# ````
#
# If all positions are masked equally often, the two expected counts can therefore differ only for the autoregressive objective.
# For this objective, their ratio depends on the mean position of a token.
#
# ````{prf:corollary} to Prop. S1.10 of the paper: the ratio is the mean position
# :label: prop-s1-10-position
#
# Let $\bar k = \sum_k k\, \pi_k / \sum_k \pi_k$ be the mean position of $t$. For the autoregressive objective,
#
# $$
# \frac{\mathrm{E} \mu_c}{\mathrm{E} \mu_p} = \frac{N - \bar k}{\bar k - 1} ,
# $$ (eq-s1-10-position)
#
# which exceeds 1 if and only if the mean position of $t$ lies before the middle of the sequence, $\bar k < (N + 1) / 2$.
# Summed over the vocabulary, the two expected counts are equal: $\sum_t \mathrm{E}\mu_c(t) = \sum_t \mathrm{E}\mu_p(t) = N
# (N - 1) / 2$.
# ````
#
# ````{dropdown} Proof
# ```{prf:proof}
# Dividing the numerator and the denominator by $\sum_k \pi_k$ gives the formula. The ratio decreases with $\bar k$ and
# equals 1 if $N - \bar k = \bar k - 1$. The last statement follows because $\sum_t \pi_k(t) = 1$ for every $k$ and
# $\sum_k (N - k) = \sum_k (k - 1) = N (N - 1) / 2$.
# ```
# ````


# %%
@claim(
    "S1.10",
    "Eqs. S68, S72, S76",
    "in autoregressive training, the ratio of the two expected counts depends on the positions of the token",
    Verdict.HOLDS,
)
def autoregressive_ratio(n_tokens=12, draws=4000, seed=0):
    counts, marginals = simulation(n_tokens, draws, seed).counts, drifting_chain(seed).marginals(n_tokens)
    expected, k = expected_counts(Objective.AUTOREGRESSIVE, marginals), mean_position(marginals)
    for t in (0, N_VOCAB - 1):
        ratio = expected.context[t] / expected.predicted[t]
        balance = counts.context[:, t] - ratio * counts.predicted[:, t]  # mean 0 if the ratio is right
        yield monte_carlo(rf"$\mu_c$, token {t}", counts.context[:, t], expected.context[t])
        yield monte_carlo(rf"$\mu_p$, token {t}", counts.predicted[:, t], expected.predicted[t])
        yield monte_carlo(rf"$\mu_c - R \mu_p$, $R$ = {ratio:.3f} by Eq. S68, token {t}", balance, 0)
        words = rf"$R$, compared with $(N - \bar k)/(\bar k - 1)$ for the mean position $\bar k$ = {k[t]:.2f}"
        yield exact(words, ratio, (n_tokens - k[t]) / (k[t] - 1), paper="")
    n_pairs = n_tokens * (n_tokens - 1) / 2
    yield exact(r"$\mu_c$ summed over the vocabulary", expected.context.sum(), n_pairs, paper="")
    yield exact(r"$\mu_p$ summed over the vocabulary", expected.predicted.sum(), n_pairs, paper="")


show(autoregressive_ratio(n_tokens=n_tokens, draws=draws, seed=seed))

# %% [markdown]
# ## Counts in the other two objectives
#
# In bidirectional training, both counts of a token equal $N - 1$ times the number of its occurrences in the sequence. In
# masked training, the two expected counts are equal.


# %%
@claim("S1.10", "Eq. S69", "in bidirectional training, the two counts are equal", Verdict.HOLDS)
def bidirectional_ratio(n_tokens=12, draws=200, seed=0):
    s = simulation(n_tokens, draws, seed, Objective.BIDIRECTIONAL)
    marginals = s.chain.marginals(n_tokens)
    expected = expected_counts(Objective.BIDIRECTIONAL, marginals)
    occurrences = torch.nn.functional.one_hot(s.tokens, N_VOCAB).sum(1)
    partners = expected.context / marginals.sum(0)  # of one occurrence
    difference = s.counts.context - expected.ratio * s.counts.predicted
    yield exact(r"largest $|\mu_c - \mu_p|$ over sequences and tokens", difference.abs().max())
    distance = (s.counts.context - partners * occurrences).abs().max()
    yield exact(r"largest distance of $\mu_c$ from $N - 1$ times the number of occurrences", distance)


show(bidirectional_ratio(n_tokens=n_tokens, seed=seed))


# %%
@claim(
    "S1.10",
    "Eqs. S77, S78, S81",
    "in masked training, the two expected counts are equal",
    Verdict.HOLDS,
    remark="""In the proof, all positions and all tokens are assumed to have the same mask rate. Under this assumption, the statement is true even
    if the masks of two positions depend on each other. Tokens such as [CLS] and [SEP] violate the assumption, because they serve as
    context and are never predicted. In the third line of Eq. S79, the expectation of the inner sum is missing.""",
)
def masked_ratio(n_tokens=12, mask_rate=0.15, draws=4000, seed=0):
    s = simulation(n_tokens, draws, seed, Objective.MASKED, mask_rate)
    expected = expected_counts(Objective.MASKED, s.chain.marginals(n_tokens), mask_rate)
    yield monte_carlo(rf"$\mu_c$, token {TOKEN}", s.counts.context[:, TOKEN], expected.context[TOKEN])
    yield monte_carlo(rf"$\mu_p$, token {TOKEN}", s.counts.predicted[:, TOKEN], expected.predicted[TOKEN])


show(masked_ratio(mask_rate=mask_rate, n_tokens=n_tokens, draws=draws, seed=seed))

# %% [markdown]
# The expected counts in Equations S79 and S80 of the paper contain an extra factor of $N$, which cancels in the ratio. In
# the following check, we enumerate all possible sequences of a few tokens and all possible masks of these sequences.


# %%
@claim(
    "S1.10",
    "Eqs. S79, S80",
    "the expected counts in masked training contain a factor of N",
    Verdict.MISPRINT,
    printed=r'''"$N\rho(N-1)(1-\rho) \sum_{k=1}^N \Pr(t_k = t^*)$"''',
    place="the proof of Proposition S1.10, Eqs. S79 and S80",
    holds=r"$\rho (1-\rho) (N-1) \sum_k \Pr[t_k = t^*]$, where $\rho$ is the share of masked tokens",
    remark="The ratio in Eq. S81 is correct.",
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
        yield compare(f"{symbol}, token {TOKEN}, compared with the printed value", mean, "≠", n_tokens * formula, 0.1)


show(masked_expectation(mask_rate=mask_rate, seed=seed))

# %% [markdown]
# ## The sums in the proof
#
# In Equation S73, the sum over predicted positions ends at $N - 1$ instead of $N$. In Equations S74, S75, S83 and S84, the
# sums over positions start at 0 instead of 1.  With the correct limits, the sums in Equations S83 and S84 have the values
# that the paper states.


# %%
def positions(n_tokens: int) -> range:
    """The values of l in Eq. S73, and of k in Eqs. S74, S75, S83, S84."""
    return range(1, n_tokens + 1)


@claim(
    "S1.10",
    "Eqs. S73-S75, S83, S84",
    "the sums over positions have the stated limits",
    Verdict.MISPRINT,
    printed=r""""$\mu_p(t^*) = \sum_{l=1}^{N-1} \sum_{k=1}^{l-1} \mathbb{1}\{t_l = t^*\}$", "the number of tokens predicted by
    $t^*$"; "$\sum_{k=0}^N$".""",
    place="the proof of Proposition S1.10, after Eq. S71 and Eqs. S73, S74 and S75, and Section S1.4.3, Eqs. S83 and S84",
    holds=r"""The number of tokens that predict $t^*$ is $\mu_p = \sum_{l=1}^{N} \sum_{k=1}^{l-1} 1\{t_l = t^*\}$. In the
    other equations, the sums over positions are $\sum_{k=1}^{N}$. With these limits, Eqs. S83 and S84 have the printed
    values.""",
)
def limits_of_sums(n_tokens=12, draws=200, seed=0):
    s, n = simulation(n_tokens, draws, seed), n_tokens
    occurs = torch.nn.functional.one_hot(s.tokens, N_VOCAB).double()  # (draws, N, V)
    right, printed = (sum((k - 1) * occurs[:, k - 1] for k in ks if k) for ks in (positions(n), range(1, n)))
    yield exact("Eq. S73 with the upper limit $N$: largest difference", (right - s.counts.predicted).abs().max())
    yield compare(
        "Eq. S73 with the upper limit $N - 1$: largest difference",
        (printed - s.counts.predicted).abs().max(),
        "≠",
        0,
        0.5,
    )
    half = n * (n - 1) / 2
    yield exact(r"$\sum_k (N - k)$, $k$ from 1", sum(n - k for k in positions(n)), half, 0)
    words = r"$\sum_k (N - k)$, $k$ from 0, compared with $N(N-1)/2$"
    yield compare(words, sum(n - k for k in range(n + 1)), "≠", half, 0.5)


show(limits_of_sums(n_tokens=n_tokens, seed=seed))

# %% [markdown]
# Equation S86 contains the limit $T$ instead of $N$ and the token $t$ instead of $t^*$. The factors for earlier positions
# sum to 1, so that the equation reduces to the law of total probability, which holds for every process.
#
# ## Correlations matter only through positions
#
# In the paper, the ratio is attributed to correlations between tokens (around Equations S82 to S87). By
# {prf:ref}`prop-s1-10`, however, the ratio depends only on the marginal distributions $\Pr[t_k = t]$, which are the
# probabilities of token $t$ at each position $k$. {numref}`fig-ratio-by-text` separates these two explanations. The first
# text is generated by a Markov chain, and the second text consists of independent tokens. Both texts have the same marginal
# distributions, which change along the sequence. The third text is generated by the same Markov chain, but with an initial
# distribution for which the marginal distribution is the same at all positions.


# %%
@claim(
    "S1.10",
    "Eqs. S82-S84 (independence)",
    "the ratio of the two counts depends only on the positions of the tokens",
    Verdict.HOLDS,
    printed="""The ratio "is influenced by the statistical correlations between tokens in the dataset"; if tokens are
    independent and identically distributed, "[u]nder these assumptions, there is no difference between autoregressive and
    bidirectional training".""",
    place="Section S1.4.3, before Proposition S1.10 and after Eq. S84",
    holds=r"""The ratio depends only on the marginals $\Pr[t_k = t^*]$ at the positions, so correlations matter only insofar
    as they change these marginals. The ratio is 1 for every stationary process, even if its tokens are correlated. The
    ratio can differ from 1 for independent tokens whose marginals change along the sequence.""",
    remark="""The proposition itself involves only the marginals and is correct. If the tokens are identically distributed, the ratio is 1,
    and the tokens need not be independent.""",
)
def correlation_is_irrelevant(n_tokens=12, draws=4000, seed=0):
    stationary = simulation(n_tokens, draws, seed, stationary=True)
    start = stationary.chain.start[TOKEN]  # its marginal at every position
    twice = (stationary.tokens[:, :2] == TOKEN).all(-1).double()
    words = r"$\Pr[t_1 = t_2 = t]$, compared with the product of the marginal probabilities"
    yield monte_carlo(words, twice, start**2, "≠", paper="")
    words = r"$\mu_c - \mu_p$, correlated and stationary"
    yield monte_carlo(words, surplus(stationary.counts, TOKEN), 0, paper="")
    drift = surplus(independent_text(n_tokens, draws, seed), TOKEN)
    words = r"$\mu_c - \mu_p$, independent, marginals that change along the sequence"
    yield monte_carlo(words, drift, 0, "≠", paper="")
    marginals = drifting_chain(seed).marginals(n_tokens)
    expected = surplus(expected_counts(Objective.AUTOREGRESSIVE, marginals), TOKEN)
    words = r"$\mu_c - \mu_p$, independent, same marginals as the chain"
    yield monte_carlo(words, drift, expected)


show(correlation_is_irrelevant(n_tokens=n_tokens, draws=draws, seed=seed), unfolded=True)

# %% [markdown]
# A token therefore serves as context more often than it is predicted if its mean position lies in the first half *of the
# sequences on which the model is trained*.
#
# ## Order relative to other tokens is not sufficient
#
# According to the text around Equations S82 to S87 of the paper, the ratio is likely to exceed 1 for tokens that are likely
# to precede other tokens. However, preceding certain other tokens is not sufficient for a ratio above 1. In a stationary
# cycle, for example, every token precedes the next token, but all ratios are 1.


# %%
def cycle() -> MarkovChain:
    """Token t is always followed by t + 1, cut anywhere."""
    uniform = torch.full((N_VOCAB,), 1 / N_VOCAB, dtype=torch.float64)
    return MarkovChain(uniform, torch.eye(N_VOCAB, dtype=torch.float64).roll(1, dims=1))


def opening(returns: bool) -> MarkovChain:
    """A token opens every sequence; after it all tokens are equally likely, or all others."""
    first = torch.nn.functional.one_hot(torch.tensor(TOKEN), N_VOCAB).double()
    rows = torch.full((N_VOCAB,), 1 / N_VOCAB, dtype=torch.float64) if returns else (1 - first) / (N_VOCAB - 1)
    return MarkovChain(first, rows.expand(N_VOCAB, -1))


@claim(
    "S1.10",
    "(text after Eq. S87)",
    "tokens that precede other tokens have a ratio above 1",
    Verdict.ASSUMPTION,
    printed="""
    "[W]hen $t^*$ has a high probability of occurring before a given set of tokens, or when $t^*$ is likely to occur
    at the beginning of sentences and specific pieces of text, this ratio is likely to be higher than 1."
    """,
    place="Section S1.4.3, after Eq. S87",
    holds="""The ratio is above 1 if and only if the mean position of $t^*$ in the sequences lies before the middle. The order relative to other tokens matters only if the sequences begin at a fixed place in the text.""",
    missing=("fixed place",),
)
def preceding_is_not_enough(n_tokens=12):
    anywhere = expected_counts(Objective.AUTOREGRESSIVE, cycle().marginals(n_tokens))
    marginals = opening(returns=False).marginals(n_tokens)
    opens = expected_counts(Objective.AUTOREGRESSIVE, marginals)
    words = "largest |ratio − 1| if every token always precedes the next token and the sequences are cut at random positions"
    yield exact(words, (anywhere.ratio - 1).abs().max(), paper="> 0")
    yield exact("mean position of a token that opens every sequence", mean_position(marginals)[TOKEN], 1)
    yield exact(r"$\mu_p$ of a token that opens every sequence", opens.predicted[TOKEN])
    yield exact(r"$\mu_c$ of a token that opens every sequence", opens.context[TOKEN], n_tokens - 1)


show(preceding_is_not_enough(n_tokens=n_tokens))

# %% [markdown]
# In the proof of Theorem S1.12 of the paper, the authors start from a ratio above 1 for most tokens (Eq. S96) and conclude
# that the number of tokens that $t^*$ helps to predict is *smaller* than the number of tokens that help to predict $t^*$.
# The opposite is true: if the ratio is above 1, the number of tokens that $t^*$ helps to predict is *larger* than the number
# of tokens that help to predict $t^*$. Moreover, it is an assumption about the corpus that the ratio is above 1 for most
# tokens. The two expected counts have the same sum over the vocabulary ({prf:ref}`prop-s1-10-position`). Hence, if the
# ratio is above 1 for some tokens, it must be below 1 for other tokens. For example, if the same token begins every
# sequence and all tokens are equally likely afterwards, the ratio exceeds 1 only for this token.


# %%
@claim(
    "S1.12",
    "(text after Eq. S96)",
    "if the ratio is above 1, the number of tokens that a token helps to predict is smaller than the number of tokens"
    " that help to predict it",
    Verdict.MISPRINT,
    printed=r"""If the ratio is above 1 "for most $t^* \in \mathcal{V}$", "the average number of tokens that are predicted by $t^*$
    is smaller than the average number of tokens that predict it".""",
    place="the proof of Theorem S1.12, after Eq. S96",
    holds="""The average number of tokens that are predicted by $t^*$ is larger than the average number of tokens that predict $t^*$.
    That the ratio exceeds 1 for *most* tokens is an assumption about the corpus. This assumption does not follow from Prop. S1.10,
    because the two counts have the same sum over the vocabulary.""",
)
def sign_of_the_ratio(n_tokens=12, draws=4000, seed=0):
    s = simulation(n_tokens, draws, seed)
    ratio = expected_counts(Objective.AUTOREGRESSIVE, s.chain.marginals(n_tokens)).ratio
    t = int(ratio.argmax())
    one_opens = expected_counts(Objective.AUTOREGRESSIVE, opening(returns=True).marginals(n_tokens))
    yield compare(rf"$\mu_c / \mu_p$, token {t}", ratio[t], ">", 1, 0.05)
    words = f"number of tokens that token {t} helps to predict, minus number of tokens that help to predict token {t}"
    yield monte_carlo(words, surplus(s.counts, t), 0, ">", paper="< 0")
    words = f"number of tokens (of {N_VOCAB}) with a ratio above 1 if one token begins every sequence"
    yield exact(words, (one_opens.ratio > 1).sum(), 1, 0)


show(sign_of_the_ratio(n_tokens=n_tokens, draws=draws, seed=seed))

# %% [markdown]
# ## What it means for you
#
# - Check how the sequences of your training data are cut from the text. If they are cut at uniformly random positions, every
#   token serves as context as often as it is predicted.
# - Do not expect most tokens of a corpus to serve as context more often than they are predicted. If some tokens serve as
#   context more often than they are predicted, other tokens must be predicted more often than they serve as context.
# - Do not conclude from such counts that the columns of a matrix have large norms (see [column
#   dominance](column_dominance_details.py)).
