# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Position, not correlation, makes a token context more often
#
# A decoder predicts each token from those before it, its *context*. The paper {cite}`saponati2025` assumes that most tokens are
# context more often than they are predicted (Appendix S1.4.4), and concludes that columns of the [query-key
# matrix](bilinear_form.py) $\Wqk$ gain.
#
# **What decides is where a token stands in the blocks that a model is trained on. Cut them from a text at random places, and no
# token is favoured. Nor do columns gain from either role: each pair of tokens gives rows and columns the same total.**

# %% tags=["parameters", "remove-input"]
d: int = 32  # width of the embedding of the toy Transformers; in [8, 256]
n_tokens: int = 12  # tokens of a sequence; in [5, 64]
draws: int = 4000  # sequences of a simulation; in [100, 100000]
seed: int = 0  # seed of every random draw; in [0, 2147483647]

# %% tags=["remove-cell"]
import torch
from jaxtyping import Float
from torch import Tensor

from livingpaper.display.interactive import Interactive
from livingpaper.display.page import glue, show
from attngeo.plot.style import (
    CROSS,
    DECODER,
    ENCODER,
    NEUTRAL,
    CaptionedFigure,
    house_style,
    new_figure,
    signed_image,
)
from attngeo.bilinear.scores import symmetry_score
from livingpaper.claims.claim import Verdict, claim, exact, monte_carlo
from attngeo.experiments.runs.numbers_in_words import number
from attngeo.gradients.objectives import TRAINED, Objective, context_matrix, every_third
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
    count_tokens,
    drifting_chain,
    expected_counts,
    mean_position,
    simulation,
    surplus,
)
from attngeo.gradients.toy_transformer import WORDS, head_gradient, sentence_gradient

TOKEN = 0  # the one that is looked at, t*
MASK = "[M]"  # what stands at a masked position


def independent_text(n_tokens: int, draws: int, seed: int) -> Counts:
    """Counts in sequences of independent tokens whose marginals are those of the drifting chain."""
    generator = torch.Generator().manual_seed(seed + 3)
    marginals = drifting_chain(seed).marginals(n_tokens)
    tokens = torch.stack([torch.multinomial(row, draws, True, generator=generator) for row in marginals], dim=1)
    return count_tokens(tokens, context_matrix(Objective.AUTOREGRESSIVE, n_tokens), N_VOCAB)


def ratio_and_error(counts: Counts) -> tuple[Float[Tensor, " vocab"], Float[Tensor, " vocab"]]:
    """``E mu_c / E mu_p`` of every token, simulated, and its standard error (to first order)."""
    predicted, ratio = counts.predicted.mean(0), counts.context.mean(0) / counts.predicted.mean(0)
    return ratio, (counts.context - ratio * counts.predicted).std(0) / predicted / len(counts.context) ** 0.5


def differ_from_one(texts: dict[str, Counts]) -> bool:
    """Whether any ratio of the independent tokens differs from 1 by more than five standard errors."""
    ratio, error = ratio_and_error(texts["independent, preferred positions"])
    return bool(((ratio - 1).abs() > 5 * error).any())


@house_style()
def ratio_by_text(texts: dict[str, Counts]) -> CaptionedFigure:
    """The ratio of every token, with two standard errors, in three texts."""
    figure, panel = new_figure(6.4, 3.0)
    panel.axhline(1, color=NEUTRAL, linestyle="--")
    for shift, (text, counts), colour in zip((-0.12, 0, 0.12), texts.items(), (DECODER, CROSS, ENCODER), strict=True):
        ratio, error = ratio_and_error(counts)
        places = torch.arange(len(ratio)) + shift
        panel.errorbar(places, ratio, yerr=2 * error, fmt="o", capsize=3, color=colour, label=text)
    panel.set(xlabel="token", ylabel="times context / times predicted")
    panel.set_xticks(range(N_VOCAB), [chr(ord("A") + token) for token in range(N_VOCAB)])
    panel.legend()
    told = "" if differ_from_one(texts) else " With so few sequences, no ratio can be told from 1."
    caption = f"""How often a token is context for each time that it is predicted, read from left to right, in three simulated
    texts. Without correlations the ratios stay; without preferred positions they are 1. Bars: 2 standard errors.{told}"""
    alt = f"""Five tokens, three points each: the ratio of times as context to times predicted. Two texts whose tokens have
    preferred positions agree, one with and one without correlations. The third, correlated without preferred positions,
    lies on the line at 1.{told}"""
    return CaptionedFigure(figure, "fig-ratio-by-text", caption, alt)


texts = {
    "correlated, preferred positions": simulation(n_tokens, draws, seed).counts,
    "independent, preferred positions": independent_text(n_tokens, draws, seed),
    "correlated, no preferred positions": simulation(n_tokens, draws, seed, stationary=True).counts,
}

# %% tags=["remove-input"]
ratio_by_text(texts)

# %% tags=["remove-cell"]
(correlated, error), (independent, error_too), (anywhere, error_at_1) = map(ratio_and_error, texts.values())
assert ((correlated - independent).abs() < 5 * (error**2 + error_too**2).sqrt()).all()  # of the same positions
assert ((anywhere - 1).abs() < 5 * error_at_1).all()
glue("vocab", N_VOCAB)

# %% [markdown]
# :::{admonition} How sure is this
# The statements below are proven, and simulations of texts of {glue:text}`vocab` tokens agree; we counted no real corpus. Counts
# say how often a token plays a role, not how much each time weighs.
# :::
#
# ## A token is predicted, or it is context
#
# ````{prf:definition} Def. S1.3 of the paper: three objectives as sets of pairs
# :label: def-s1-3
#
# In a *pair* $(i, j)$ token $t_i$ is predicted, and token $t_j$ is *context*: part of what it is predicted from. Of a
# sequence $t_1, \dots, t_N$ these are the pairs:
#
# - *autoregressive*: all with $j < i$;
# - *bidirectional*: all with $j \ne i$;
# - *masked*: all with $i$ masked and $j$ visible.
#
# $C_i = \{j : (i, j) \text{ is a pair}\}$ is the context of $i$, and $P_j = \{i : (i, j) \text{ is a pair}\}$ what $j$ helps
# to predict. The loss is $-\sum_i \log p(t_i \mid \{t_j : j \in C_i\})$ over all $i$ that are predicted.
# ````
#
# A Transformer [attends to](context_and_prediction_details.py#what-a-transformer-attends-to) more than the context. Each pair adds one matrix $\beta_{ij}\, x_i x_j^\top$ to the gradient of $\Wqk$: an outer product of embeddings times a number
# ([the previous chapter](implicit_gradient.py)). {numref}`fig-painter` adds them up for *the dog met my old cat*. Press *Play*: in the
# autoregressive sum, where each pair has one order only, the [symmetry score](two_scores.py) $s$ ends far from 1. Choose
# *bidirectional*, with coefficients that are alike in both orders: $s = 1$. With the *exact* coefficients of a small Transformer at
# random weights neither is 1: [a later chapter](symmetric_updates.py#in-untrained-models-two-tokens-do-not-help-each-other-equally) asks when
# the two orders count alike.


# %% tags=["remove-cell"]
def painter(seed: int = 0) -> Interactive:
    """Terms ``beta_ij x_i x_j^T`` to be added by prediction or by context, until the gradient is complete."""
    n = len(WORDS)
    drawn = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    shown = {}
    for objective in Objective:
        g, alike = sentence_gradient(objective, seed), context_matrix(objective, n) * (drawn + drawn.T) / 2**0.5
        matrices = {"x": g.layer.x, "alike": alike, "exact": g.beta[0]}
        masked = every_third(n) & (objective is Objective.MASKED)
        words = [MASK if m else w for w, m in zip(WORDS, masked.tolist(), strict=True)]
        shown[objective.value] = {k: m.round(decimals=4).tolist() for k, m in matrices.items()} | {"words": words}
    return Interactive("painter", shown, painted(shown))


@house_style()
def painted(shown: dict[str, dict]) -> CaptionedFigure:
    """Coefficients that are alike in both orders, above, and the sum of their terms, below, per objective."""
    figure, panels = new_figure(8.4, 5.6, 2, len(shown), squeeze=False)
    for (above, below), (objective, held) in zip(panels.T, shown.items(), strict=True):
        x, beta = (torch.tensor(held[name], dtype=torch.float64) for name in ("x", "alike"))
        total = gradient_sum(beta, x)
        for panel, m in ((above, beta), (below, total)):
            signed_image(panel, m.masked_fill(m == 0, torch.nan).numpy())
        above.set(title=f"{objective}: {int((beta != 0).sum())} pairs", xlabel="context token j")
        above.set_xticks(range(len(x)), held["words"], rotation=90)
        above.set_yticks(range(len(x)), held["words"])
        s = number(symmetry_score(total), 2)
        below.set(title=f"their sum: symmetry s = {s}", xlabel="key coordinate", xticks=[], yticks=[])
    panels[0, 0].set_ylabel("predicted token i")
    panels[1, 0].set_ylabel("query coordinate")
    caption = r"""Coefficients $\beta_{ij}$ of all pairs of *the dog met my old cat*, alike in both orders of a pair (red positive,
    blue negative), and the sum of their terms $\beta_{ij} x_i x_j^\top$ with its symmetry $s$."""
    alt = """Two rows of three matrices. Above, the autoregressive pairs fill the lower triangle, the bidirectional ones all
    but the diagonal, the masked ones the crossings of masked rows and visible columns. Below, the sums of their terms with
    their symmetry; the bidirectional sum alone is symmetric."""
    return CaptionedFigure(figure, "fig-painter", caption, alt)


assert all(
    symmetry_score(sentence_gradient(objective, seed).w_qk[0]) < 0.99 for objective in Objective
)  # "neither is 1"

# %% tags=["remove-input"]
painter(seed)

# %% [markdown]
# ## In either role a token gives rows and columns the same total
#
# In either role a token adds a matrix of rank 1. As context, it fills rows with multiples of its embedding; predicted, it fills
# columns with them.
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
@claim(
    "S1.7",
    "Eqs. S42, S45-S48, S52",
    "rows and columns that one token adds",
    Verdict.HOLDS,
    remark=r"""In S42 and S43 $\beta_{ij}$ stands for $\beta_{it^*}$. The list before the proposition says row for column and
    column for row where $t^*$ is predicted.""",
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
# Does a token feed columns more as context than as prediction? It cannot. Every term is the context part of one token and the
# prediction part of another, and in every matrix the squares of the norms of all columns add up to what those of all rows do.
# What can differ is how evenly that total is spread ([the paper's formulas
# mended](context_and_prediction_details.py#the-parts-of-one-token)).
#
# ## Read from left to right, early tokens are context more often
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
# So where all mask rates are equal, only the autoregressive objective can favour a role. There the mean position decides.
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
@claim("S1.10", "Eqs. S68, S72, S76", "the autoregressive ratio", Verdict.HOLDS)
def autoregressive_ratio(n_tokens=12, draws=4000, seed=0):
    counts, marginals = simulation(n_tokens, draws, seed).counts, drifting_chain(seed).marginals(n_tokens)
    expected, k = expected_counts(Objective.AUTOREGRESSIVE, marginals), mean_position(marginals)
    for t in (0, N_VOCAB - 1):
        ratio = expected.context[t] / expected.predicted[t]
        balance = counts.context[:, t] - ratio * counts.predicted[:, t]  # mean 0 if the ratio is right
        yield monte_carlo(rf"$\mu_c$, token {t}", counts.context[:, t], expected.context[t])
        yield monte_carlo(rf"$\mu_p$, token {t}", counts.predicted[:, t], expected.predicted[t])
        yield monte_carlo(rf"$\mu_c - R \mu_p$, $R$ = {ratio:.3f} by Eq. S68, token {t}", balance, 0)
        words = rf"$R$ against $(N - \bar k)/(\bar k - 1)$, mean position $\bar k$ = {k[t]:.2f}"
        yield exact(words, ratio, (n_tokens - k[t]) / (k[t] - 1), paper="")
    n_pairs = n_tokens * (n_tokens - 1) / 2
    yield exact(r"$\mu_c$ summed over the vocabulary", expected.context.sum(), n_pairs, paper="")
    yield exact(r"$\mu_p$ summed over the vocabulary", expected.predicted.sum(), n_pairs, paper="")


show(autoregressive_ratio(n_tokens=n_tokens, draws=draws, seed=seed))

# %% [markdown]
# ## Correlations count only through positions
#
# The paper speaks of correlations between tokens (around its Eqs. S82 to S87). By {prf:ref}`prop-s1-10` only the marginals
# $\Pr[t_k = t]$ enter: how likely token $t$ is at position $k$. {numref}`fig-ratio-by-text` takes the two apart. Two of its texts,
# a Markov chain and independent tokens, have marginals that change along the sequence. The third is the chain with one marginal
# at every position.


# %%
@claim(
    "S1.10",
    "Eqs. S82-S84 (independence)",
    "what the ratio depends on",
    Verdict.HOLDS,
    printed="""The ratio "is influenced by the statistical correlations between tokens in the dataset"; if tokens are
    independent and identically distributed, "[u]nder these assumptions, there is no difference between autoregressive and
    bidirectional training".""",
    place="Section S1.4.3, before Proposition S1.10 and after Eq. S84",
    holds=r"""Correlations count as far as they change the positional marginals $\Pr[t_k = t^*]$, on which alone the ratio
    depends. It is 1 for every stationary process, however correlated, and it differs from 1 for independent tokens
    whose marginals drift.""",
    remark="""The proposition itself has the marginals alone, and that is right. For a ratio of 1 identically distributed tokens
    are enough; they need not be independent.""",
)
def correlation_is_irrelevant(n_tokens=12, draws=4000, seed=0):
    stationary = simulation(n_tokens, draws, seed, stationary=True)
    start = stationary.chain.start[TOKEN]  # its marginal at every position
    twice = (stationary.tokens[:, :2] == TOKEN).all(-1).double()
    words = r"$\Pr[t_1 = t_2 = t]$ against the product of marginals"
    yield monte_carlo(words, twice, start**2, "≠", paper="")
    words = r"$\mu_c - \mu_p$, correlated and stationary"
    yield monte_carlo(words, surplus(stationary.counts, TOKEN), 0, paper="")
    drift = surplus(independent_text(n_tokens, draws, seed), TOKEN)
    words = r"$\mu_c - \mu_p$, independent, marginals that drift"
    yield monte_carlo(words, drift, 0, "≠", paper="")
    marginals = drifting_chain(seed).marginals(n_tokens)
    expected = surplus(expected_counts(Objective.AUTOREGRESSIVE, marginals), TOKEN)
    words = r"$\mu_c - \mu_p$, independent, same marginals as the chain"
    yield monte_carlo(words, drift, expected)


show(correlation_is_irrelevant(n_tokens=n_tokens, draws=draws, seed=seed), unfolded=True)

# %% [markdown]
# So a token gains by standing early *in the block that the model is trained on*.
# [Standing before certain other tokens](context_and_prediction_details.py#order-and-the-sign) is not enough.
#
# ## What it means for you
#
# - Look at how your blocks are cut. Cut at uniformly random places, they let every token be context as often as it is predicted.
# - Do not expect the corpus as a whole to be context more often: what some tokens gain, others lose.
# - Do not infer strong columns from counts: [the next chapter](column_dominance.py).
