"""Theorem S1.12 where tokens occur more than once: how often they are context acts through the kurtosis."""

from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.column_dominance.enumeration import Outcomes, coordinates, signs
from attngeo.chapters.column_dominance.expected_norms import fourth_power_difference
from attngeo.chapters.column_dominance.measures import TAIL, log_unevenness, tail_gap
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact, monte_carlo
from attngeo.updates.norms import squared_norms
from attngeo.updates.objectives import Objective, context_matrix
from attngeo.updates.random_updates import Law, draw_embeddings, power_profile


def pair_counts(tokens: Tensor) -> Tensor:
    """``n_ab``, how many pairs of the sequences (..., N) predict token a from token b, autoregressive, (V, V)."""
    occurs = torch.nn.functional.one_hot(tokens).double()
    counts = occurs.mT @ context_matrix(Objective.AUTOREGRESSIVE, tokens.shape[-1]).double() @ occurs
    return counts.flatten(0, -3).sum(0) if counts.ndim > 2 else counts


class EveryUpdate(NamedTuple):
    """All outcomes of the update by one short sequence."""

    tokens: Tensor  # (N,)
    variances: Tensor  # of the embedding's coordinates, (d,)
    kurtosis: float  # of the coordinates; their sixth moment is its square
    updates: Outcomes  # (outcomes, d, d)


def every_update(tokens: tuple[int, ...], variances: tuple[float, ...], kurtosis: float) -> EveryUpdate:
    """Embeddings of `coordinates`, coefficients of independent signs."""
    sequence, spread = torch.tensor(tokens), torch.tensor(variances, dtype=torch.float64)
    e = coordinates(max(tokens) + 1, len(variances), kurtosis)
    x = (e.values * spread.sqrt())[:, sequence]
    contexts = context_matrix(Objective.AUTOREGRESSIVE, len(tokens))
    of_pairs = signs(int(contexts.sum()))
    beta = torch.zeros(len(of_pairs), *contexts.shape, dtype=torch.float64)
    beta[:, contexts] = of_pairs
    updates = (x.mT[:, None] @ beta @ x[:, None]).flatten(0, 1)
    probability = e.probability.repeat_interleave(len(beta)) / len(beta)
    return EveryUpdate(sequence, spread, kurtosis, Outcomes(updates, probability))


def short_sequences() -> list[EveryUpdate]:
    """A token that repeats at the end or at the beginning, under laws flatter and heavier than a Gaussian."""
    return [
        every_update((0, 1, 2, 2), (1.0, 0.5), 2.0),
        every_update((0, 1, 2, 2), (1.0, 0.5), 5.0),
        every_update((0, 1, 1, 1), (1.0, 0.5, 0.25), 2.0),
        every_update((0, 0, 0, 1), (1.0, 1.0, 1.0), 5.0),
    ]


@check(short_sequences)
def counts_and_kurtosis(sequences: list[EveryUpdate]) -> Comparisons:
    """The sums of fourth powers differ by kurtosis less 3 times ``sum mu_c^2 - sum mu_p^2``, to leading order."""
    for s in sequences:
        rows, columns = (squared.square().sum(-1) for squared in squared_norms(s.updates.values))
        counts = pair_counts(s.tokens)
        formula = fourth_power_difference(s.variances, counts, s.kurtosis, s.kurtosis**2)
        more_context = counts.sum(0) > counts.sum(1)
        key = "most" if more_context.double().mean() > 0.5 else "difference"
        fields = {"tokens": "".join("abc"[t] for t in s.tokens), "d": len(s.variances), "kurtosis": s.kurtosis}
        yield exact(key, s.updates.mean(columns - rows), formula, 1e-9, **fields)


class ClosedSequences(NamedTuple):
    """Updates by sequences that share one vocabulary and end with the same token; all others occur once."""

    tokens: Tensor  # (sequences, N)
    updates: dict[Law, Tensor]  # (draws, d, d), by the law of the embedding's coordinates


def closed_sequences(
    d: int = 48, n_tokens: int = 4, n_sequences: int = 8, exponent: float = 0.1, n_draws: int = 600, seed: int = 0
) -> ClosedSequences:
    """Autoregressive pairs, independent normal coefficients; variances fall like ``k^-exponent``."""
    others = torch.arange(n_sequences * (n_tokens - 1)).view(n_sequences, -1)
    tokens = torch.cat([others, torch.full((n_sequences, 1), others.numel())], dim=1)
    covariance, generator = torch.diag(power_profile(d, exponent)), torch.Generator().manual_seed(seed)
    contexts, updates = context_matrix(Objective.AUTOREGRESSIVE, n_tokens), {}
    for law in Law:
        x = draw_embeddings(covariance, n_draws, others.numel() + 1, generator=generator, law=law)[:, tokens]
        beta = torch.randn(n_draws, n_sequences, n_tokens, n_tokens, generator=generator, dtype=torch.float64)
        updates[law] = (x.mT @ (beta * contexts) @ x).sum(1)
    return ClosedSequences(tokens, updates)


@check(closed_sequences)
def repeated_tokens(s: ClosedSequences) -> Judgement:
    """Theorem S1.12 with a token that closes every sequence: rows or columns dominate as the kurtosis has it."""
    signs_of_gap, comparisons = {Law.GAUSSIAN: "=", Law.LAPLACE: "<", Law.UNIFORM: ">"}, []
    for law, batch in s.updates.items():
        fields = {"law": law.value, "kurtosis": law.kurtosis}
        comparisons += [
            monte_carlo("tails", tail_gap(batch), 0, signs_of_gap[law], **fields),
            monte_carlo("unevenness", log_unevenness(batch), 0, signs_of_gap[law], **fields),
        ]
    # before the last position an ordinary token stands anywhere: its counts are those of the mean over positions
    pairs = pair_counts(s.tokens)
    context, predicted = pairs.sum(0)[:-1].mean(), pairs.sum(1)[:-1].mean()
    return Judgement(compare("ratio", context / predicted, ">", 1, 1e-9), *comparisons, percent=100 * TAIL)
