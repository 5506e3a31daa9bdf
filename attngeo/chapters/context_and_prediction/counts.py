"""Proposition S1.10: how often a token is context and how often it is predicted, by formula and by simulation."""

from collections.abc import Callable

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attngeo.paper.checks import Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.updates.markov_chain import MarkovChain
from attngeo.updates.objectives import (
    Counts,
    Objective,
    context_matrix,
    count_tokens,
    expected_counts,
    mean_position,
    sample_mask,
)

CHAPTER = "context_and_prediction"
N_VOCAB = 5


def autoregressive_counts(marginals: Float[Tensor, "n vocab"]) -> Counts:
    """Equations S74, S75 with k from 1 (`expected_counts`)."""
    return expected_counts(Objective.AUTOREGRESSIVE, marginals)


def masked_counts(marginals: Float[Tensor, "n vocab"], mask_rate: float) -> Counts:
    """Equations S79, S80 without their leading N (`expected_counts`)."""
    return expected_counts(Objective.MASKED, marginals, mask_rate)


def drifting_chain(seed: int) -> MarkovChain:
    """A correlated chain that starts on the early tokens: its marginals change with the position."""
    return MarkovChain.random(N_VOCAB, 0.5, torch.Generator().manual_seed(seed))


def simulate(
    chain: MarkovChain, objective: Objective, n_tokens: int, draws: int, seed: int, mask_rate: float = 0.15
) -> tuple[Int[Tensor, "draws n"], Counts]:
    """Sequences of a chain, and their counts from the definition: a sum over all pairs of the objective."""
    generator = torch.Generator().manual_seed(seed + 1)
    tokens = chain.sample(draws, n_tokens, generator)
    masked = sample_mask(draws, n_tokens, mask_rate, generator) if objective is Objective.MASKED else None
    return tokens, count_tokens(tokens, context_matrix(objective, n_tokens, masked), len(chain.start))


@claim
def autoregressive_ratio(
    n_tokens: int = 12,
    draws: int = 4000,
    seed: int = 0,
    predicted: Callable[[Tensor], Counts] = autoregressive_counts,
) -> Result:
    """Equation S68: the ratio of the two expectations, from the positional marginals of a drifting process."""
    chain = drifting_chain(seed)
    marginals = chain.marginals(n_tokens)
    expected, k = predicted(marginals), mean_position(marginals)
    _, counts = simulate(chain, Objective.AUTOREGRESSIVE, n_tokens, draws, seed)
    comparisons = []
    for t in (0, N_VOCAB - 1):
        ratio = expected.context[t] / expected.predicted[t]
        balance = counts.context[:, t] - ratio * counts.predicted[:, t]  # mean 0 if the ratio is right
        comparisons += [
            monte_carlo(f"μ_c, token {t}", counts.context[:, t], expected.context[t]),
            monte_carlo(f"μ_p, token {t}", counts.predicted[:, t], expected.predicted[t]),
            monte_carlo(f"μ_c − R μ_p, R = {float(ratio):.3f} by Eq. S68, token {t}", balance, 0),
            exact(
                f"R against (N − k̄)/(k̄ − 1), mean position k̄ = {float(k[t]):.2f}", ratio, (n_tokens - k[t]) / (k[t] - 1)
            ),
        ]
    total = n_tokens * (n_tokens - 1) / 2
    comparisons += [
        exact("μ_c summed over the vocabulary", expected.context.sum(), total),
        exact("μ_p summed over the vocabulary", expected.predicted.sum(), total),
    ]
    return Result(
        statement="S1.10",
        part="Eqs. S68, S72, S76",
        title="the autoregressive ratio",
        verdict=Verdict.HOLDS,
        comparisons=tuple(comparisons),
        remark="The ratio is one number: the mean position of the token. It exceeds 1 for tokens that stand before the "
        "middle on average, and since both counts add up to $N(N-1)/2$, what some tokens gain others lose.",
        chapter=CHAPTER,
    )


@claim
def bidirectional_ratio(n_tokens: int = 12, draws: int = 200, seed: int = 0, share: float = 1.0) -> Result:
    """Equation S69: with every token predicted from all others, mu_c = mu_p in every single sequence."""
    tokens, counts = simulate(drifting_chain(seed), Objective.BIDIRECTIONAL, n_tokens, draws, seed)
    occurs = torch.nn.functional.one_hot(tokens, N_VOCAB).sum(1)
    return Result(
        statement="S1.10",
        part="Eq. S69",
        title="the bidirectional ratio",
        verdict=Verdict.HOLDS,
        comparisons=(
            exact(
                "largest |μ_c − μ_p| over sequences and tokens",
                (counts.context - share * counts.predicted).abs().max(),
                0,
            ),
            exact(
                "largest |μ_c − (N − 1) occurrences|", (counts.context - share * (n_tokens - 1) * occurs).abs().max(), 0
            ),
        ),
        chapter=CHAPTER,
    )


@claim
def masked_ratio(
    n_tokens: int = 12,
    mask_rate: float = 0.15,
    draws: int = 4000,
    seed: int = 0,
    predicted: Callable[[Tensor, float], Counts] = masked_counts,
) -> Result:
    """Equations S77-S81: equal mask rates give ratio 1, also with a fixed number of masks; unmaskable tokens do not."""
    chain = drifting_chain(seed)
    expected = predicted(chain.marginals(n_tokens), mask_rate)
    tokens, counts = simulate(chain, Objective.MASKED, n_tokens, draws, seed, mask_rate)
    generator = torch.Generator().manual_seed(seed + 2)
    order = torch.rand(draws, n_tokens, generator=generator, dtype=torch.float64).argsort(-1)
    n_masked = max(1, round(mask_rate * n_tokens))
    fixed = count_tokens(tokens, context_matrix(Objective.MASKED, n_tokens, order < n_masked), N_VOCAB)
    special = torch.cat([torch.full((draws, 1), N_VOCAB), tokens], dim=1)  # a token that opens every sequence
    open_mask = sample_mask(draws, n_tokens + 1, mask_rate, generator)
    open_mask[:, 0] = False
    never = count_tokens(special, context_matrix(Objective.MASKED, n_tokens + 1, open_mask), N_VOCAB + 1)
    t = 0
    return Result(
        statement="S1.10",
        part="Eqs. S77, S78, S81",
        title="the masked ratio",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            monte_carlo(f"μ_c, token {t}", counts.context[:, t], expected.context[t]),
            monte_carlo(f"μ_p, token {t}", counts.predicted[:, t], expected.predicted[t]),
            monte_carlo(
                f"μ_c − μ_p, exactly {n_masked} masked positions", fixed.context[:, t] - fixed.predicted[:, t], 0
            ),
            monte_carlo("μ_c, a first token that is never masked", never.context[:, N_VOCAB], n_tokens * mask_rate),
            exact("μ_p, a first token that is never masked", never.predicted[:, N_VOCAB].sum(), 0),
        ),
        printed="The mask rate is the same for all positions and all tokens.",
        corrected="That is enough: the masks of two positions may depend on each other. It fails for tokens such as "
        "[CLS] and [SEP], which are context and never predicted.",
        remark="S79 lacks the expectation of the inner sum in its third line.",
        chapter=CHAPTER,
    )


def with_leading_n(marginals: Float[Tensor, "n vocab"], mask_rate: float) -> Counts:
    """Equations S79, S80 as printed: ``N rho (N - 1) (1 - rho) sum_k Pr[t_k = t]``."""
    right = masked_counts(marginals, mask_rate)
    return Counts(right.context * len(marginals), right.predicted * len(marginals))


@claim
def masked_expectation(
    n_tokens: int = 12,
    mask_rate: float = 0.15,
    draws: int = 4000,
    seed: int = 0,
    predicted: Callable[[Tensor, float], Counts] = masked_counts,
) -> Result:
    """Equations S79, S80: rho (1 - rho) (N - 1) sum_k Pr[t_k = t*], without the leading N."""
    chain = drifting_chain(seed)
    marginals = chain.marginals(n_tokens)
    right, printed = predicted(marginals, mask_rate), with_leading_n(marginals, mask_rate)
    _, counts = simulate(chain, Objective.MASKED, n_tokens, draws, seed, mask_rate)
    comparisons = []
    for name, samples, a, b in (
        ("μ_c", counts.context, right.context, printed.context),
        ("μ_p", counts.predicted, right.predicted, printed.predicted),
    ):
        comparisons += [
            monte_carlo(f"{name}, token 0", samples[:, 0], a[0]),
            monte_carlo(f"{name}, token 0, against the printed value", samples[:, 0], b[0], "≠"),
        ]
    return Result(
        statement="S1.10",
        part="Eqs. S79, S80",
        title="the expected counts in masked training",
        verdict=Verdict.CORRECTED,
        comparisons=tuple(comparisons),
        printed="$N \\rho (N-1) (1-\\rho) \\sum_k \\Pr[t_k = t^*]$",
        corrected="$\\rho (1-\\rho) (N-1) \\sum_k \\Pr[t_k = t^*]$",
        remark="The ratio S81 is not affected.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )
