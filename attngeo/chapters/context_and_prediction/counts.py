"""Proposition S1.10: how often a token is context and how often it is predicted, by formula and by simulation."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.context_and_prediction.simulation import N_VOCAB, Simulation, drifting_chain, simulation, surplus
from attngeo.chapters.context_and_prediction.token_counts import Counts, count_tokens, expected_counts, mean_position
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact, monte_carlo
from attngeo.updates.objectives import Objective, context_matrix, sample_mask


@check(simulation)
def autoregressive_ratio(s: Simulation) -> Comparisons:
    """Equation S68: the ratio of the two expectations, from the positional marginals of a drifting process."""
    expected, k = expected_counts(Objective.AUTOREGRESSIVE, s.marginals), mean_position(s.marginals)
    for t in (0, N_VOCAB - 1):
        ratio = expected.context[t] / expected.predicted[t]
        balance = s.counts.context[:, t] - ratio * s.counts.predicted[:, t]  # mean 0 if the ratio is right
        numbers = {"token": t, "ratio": float(ratio), "position": float(k[t])}
        yield monte_carlo("context", s.counts.context[:, t], expected.context[t], **numbers)
        yield monte_carlo("predicted", s.counts.predicted[:, t], expected.predicted[t], **numbers)
        yield monte_carlo("balance", balance, 0, **numbers)
        yield exact("mean position", ratio, (s.n_tokens - k[t]) / (k[t] - 1), **numbers)
    n_pairs = s.n_tokens * (s.n_tokens - 1) / 2
    yield exact("all context", expected.context.sum(), n_pairs)
    yield exact("all predicted", expected.predicted.sum(), n_pairs)


@check(simulation, draws=200, objective=Objective.BIDIRECTIONAL)
def bidirectional_ratio(s: Simulation) -> Comparisons:
    """Equation S69: with every token predicted from all others, mu_c = mu_p in every single sequence."""
    expected = expected_counts(Objective.BIDIRECTIONAL, s.marginals)
    occurrences = torch.nn.functional.one_hot(s.tokens, N_VOCAB).sum(1)
    partners = expected.context / s.marginals.sum(0)  # of one occurrence
    yield exact("ratio", (s.counts.context - expected.ratio * s.counts.predicted).abs().max())
    yield exact("occurrences", (s.counts.context - partners * occurrences).abs().max())


class MaskedSimulation(NamedTuple):
    """The same sequences with masks of three kinds."""

    mask_rate: float
    independent: Simulation  # every position masked by itself
    n_masked: int
    fixed: Counts  # exactly n_masked positions of every sequence masked
    opened: Counts  # a further token, N_VOCAB, opens every sequence and is never masked


def masked_simulation(
    n_tokens: int = 12, mask_rate: float = 0.15, draws: int = 4000, seed: int = 0
) -> MaskedSimulation:
    """Independent masks, a fixed number of masks, and a token that is never masked."""
    independent = simulation(n_tokens, draws, seed, Objective.MASKED, mask_rate)
    generator = torch.Generator().manual_seed(seed + 2)
    order = torch.rand(draws, n_tokens, generator=generator, dtype=torch.float64).argsort(-1)
    n_masked = max(1, round(mask_rate * n_tokens))
    fixed = count_tokens(independent.tokens, context_matrix(Objective.MASKED, n_tokens, order < n_masked), N_VOCAB)
    tokens = torch.cat([torch.full((draws, 1), N_VOCAB), independent.tokens], dim=1)
    masked = sample_mask(draws, n_tokens + 1, mask_rate, generator)
    masked[:, 0] = False
    opened = count_tokens(tokens, context_matrix(Objective.MASKED, n_tokens + 1, masked), N_VOCAB + 1)
    return MaskedSimulation(mask_rate, independent, n_masked, fixed, opened)


@check(masked_simulation)
def masked_ratio(s: MaskedSimulation) -> Judgement:
    """Equations S77-S81: equal mask rates give ratio 1, also with a fixed number of masks; unmaskable tokens do not."""
    t, counts = 0, s.independent.counts
    expected = expected_counts(Objective.MASKED, s.independent.marginals, s.mask_rate)
    return Judgement(
        monte_carlo("context", counts.context[:, t], expected.context[t]),
        monte_carlo("predicted", counts.predicted[:, t], expected.predicted[t]),
        monte_carlo("fixed", surplus(s.fixed, t), 0),
        monte_carlo("never masked, context", s.opened.context[:, N_VOCAB], s.independent.n_tokens * s.mask_rate),
        exact("never masked, predicted", s.opened.predicted[:, N_VOCAB].sum()),
        token=t,
        n_masked=s.n_masked,
    )


class EveryMask(NamedTuple):
    """All sequences of a short drifting chain with all masks."""

    mask_rate: float
    marginals: Float[Tensor, "n vocab"]
    probability: Float[Tensor, " outcomes"]
    counts: Counts  # (outcomes, V)


def every_mask(n_tokens: int = 4, mask_rate: float = 0.15, seed: int = 0) -> EveryMask:
    """Independent masks."""
    chain, masks = drifting_chain(seed), torch.cartesian_prod(*[torch.tensor([False, True])] * n_tokens)
    tokens = torch.cartesian_prod(*[torch.arange(N_VOCAB)] * n_tokens)
    of_tokens = chain.start[tokens[:, 0]] * chain.transition[tokens[:, :-1], tokens[:, 1:]].prod(-1)
    masked = masks.double()
    of_masks = (mask_rate * masked + (1 - mask_rate) * (1 - masked)).prod(-1)
    contexts = context_matrix(Objective.MASKED, n_tokens, masks.repeat(len(tokens), 1))
    counts = count_tokens(tokens.repeat_interleave(len(masks), 0), contexts, N_VOCAB)
    return EveryMask(mask_rate, chain.marginals(n_tokens), torch.outer(of_tokens, of_masks).flatten(), counts)


@check(every_mask)
def masked_expectation(s: EveryMask) -> Judgement:
    """Equations S79, S80: rho (1 - rho) (N - 1) sum_k Pr[t_k = t*], without the leading N."""
    t, n = 0, len(s.marginals)
    expected = expected_counts(Objective.MASKED, s.marginals, s.mask_rate)
    context, predicted = (s.probability @ side[:, t] for side in (s.counts.context, s.counts.predicted))
    return Judgement(
        exact("context", context, expected.context[t]),
        compare("context as printed", context, "≠", n * expected.context[t], 0.1),
        exact("predicted", predicted, expected.predicted[t]),
        compare("predicted as printed", predicted, "≠", n * expected.predicted[t], 0.1),
        token=t,
    )
