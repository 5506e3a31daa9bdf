"""How often tokens are context, are predicted and occur together: counted, expected for a Markov chain, simulated."""

from dataclasses import dataclass
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attngeo.gradients.objectives import Objective, context_matrix, sample_mask

PairCovariances = Float[Tensor, "offsets vocab vocab"]
N_VOCAB = 5  # vocabulary size of the simulated sequences


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """``Pr[t_1 .. t_N] = start[t_1] prod_k transition[t_{k-1}, t_k]``; start (V,), transition (V, V)."""

    start: Float[Tensor, " vocab"]
    transition: Float[Tensor, "vocab vocab"]

    @classmethod
    def random(cls, n_vocab: int, persistence: float, generator: torch.Generator) -> "MarkovChain":
        """A chain with random transitions that repeats a token with an added probability ``persistence`` in [0, 1).

        It prefers to start with the first tokens of the vocabulary: ``start[t]`` halves from one token to the next.
        """
        rows = torch.rand(n_vocab, n_vocab, generator=generator, dtype=torch.float64)
        rows = rows / rows.sum(-1, keepdim=True)
        start = 0.5 ** torch.arange(n_vocab, dtype=torch.float64)
        return cls(start / start.sum(), (1 - persistence) * rows + persistence * torch.eye(n_vocab).to(rows))

    def stationary(self) -> "MarkovChain":
        """The same chain, started from its stationary distribution, so that every position has the same marginal."""
        # balance @ start = 0, and the entries of start sum to 1
        balance = torch.eye(len(self.start)).to(self.start) - self.transition.T
        start = torch.linalg.solve(balance + 1, torch.ones_like(self.start)).clamp_min(0)
        return MarkovChain(start / start.sum(), self.transition)

    def marginals(self, n_tokens: int) -> Float[Tensor, "n vocab"]:
        """``Pr[t_k = t]`` for k = 1..N, (N, V)."""
        rows = [self.start]
        for _ in range(n_tokens - 1):
            rows.append(rows[-1] @ self.transition)
        return torch.stack(rows)

    def probability(self, tokens: Int[Tensor, "samples n"]) -> Float[Tensor, " samples"]:
        """``Pr[t_1 .. t_N]`` of every sequence."""
        return self.start[tokens[:, 0]] * self.transition[tokens[:, :-1], tokens[:, 1:]].prod(1)

    def sample(self, n_samples: int, n_tokens: int, generator: torch.Generator) -> Int[Tensor, "samples n"]:
        """Independent sequences of token numbers, (samples, N)."""
        columns = [torch.multinomial(self.start.expand(n_samples, -1), 1, generator=generator)]
        for _ in range(n_tokens - 1):
            last = columns[-1][:, 0]
            columns.append(torch.multinomial(self.transition[last], 1, generator=generator))
        return torch.cat(columns, dim=1)

    def pair_covariances(self, n_offsets: int) -> PairCovariances:
        """``K_m = Pr[t_i = a, t_{i+m} = b] - Pr[a] Pr[b]`` of a stationary chain for m from 0; K_-m = K_m^T."""
        pi, joint = self.start, [self.start.diag()]
        for _ in range(n_offsets - 1):
            joint.append(joint[-1] @ self.transition)
        return torch.stack(joint) - torch.outer(pi, pi)


def counted_covariances(ids: Int[Tensor, " n"], n_vocab: int, n_offsets: int) -> PairCovariances:
    """`MarkovChain.pair_covariances` of a text, estimated from all pairs of its tokens (ids below V) at distance m."""
    tables = []
    for m in range(n_offsets):
        counts = torch.bincount(ids[: len(ids) - m] * n_vocab + ids[m:], minlength=n_vocab**2).double()
        joint = counts.view(n_vocab, n_vocab) / (len(ids) - m)
        tables.append(joint - torch.outer(joint.sum(1), joint.sum(0)))
    return torch.stack(tables)


def kernel(read_out: Float[Tensor, "vocab vocab"], covariances: PairCovariances) -> Float[Tensor, " both"]:
    """``gamma(m) = sum_ab A_ab K_m(a, b)`` for m = -(N-1) .. N-1: the first-order gain from attending m places ahead.

    ``gamma(m) - gamma(-m) = 2 <A_n, (K_m)_n>``, so the kernel is even if the skew-symmetric part of the read-out A or
    of every K_m is zero.
    """
    ahead = (read_out * covariances).sum((1, 2))
    behind = (read_out.T * covariances).sum((1, 2))
    return torch.cat([behind.flip(0), ahead[1:]])


class Counts(NamedTuple):
    """How often each token of the vocabulary is context, and how often it is predicted (Prop. S1.10)."""

    context: Float[Tensor, "*samples vocab"]  # mu_c(t): number of pairs in which t is context
    predicted: Float[Tensor, "*samples vocab"]  # mu_p(t): number of pairs in which t is predicted

    @property
    def ratio(self) -> Float[Tensor, "*samples vocab"]:
        """``mu_c / mu_p`` (Eq. S68); infinite if a token is never predicted, NaN if it never occurs."""
        return self.context / self.predicted


def count_tokens(tokens: Int[Tensor, "samples n"], contexts: Bool[Tensor, "*samples n n"], n_vocab: int) -> Counts:
    """``mu_c(t) = sum_i sum_{j in C_i} 1{t_j = t}`` and ``mu_p(t) = sum_j sum_{i in P_j} 1{t_i = t}`` of each sequence.

    ``contexts`` is one matrix for all sequences, or one matrix for each sequence. The counts have the shape
    (samples, n_vocab).

    Source: paper, Eqs. S72, S73, S77, S78, for any objective.
    """
    occurs = torch.nn.functional.one_hot(tokens, n_vocab).to(torch.float64)  # (samples, N, V)
    pairs = contexts.to(torch.float64)
    return Counts(
        context=torch.einsum("...ij,...jv->...v", pairs, occurs),
        predicted=torch.einsum("...ij,...iv->...v", pairs, occurs),
    )


def surplus(counts: Counts, token: int) -> Float[Tensor, "*samples"]:
    """``mu_c - mu_p``: how many more pairs have the token as context than as predicted token."""
    return counts.context[..., token] - counts.predicted[..., token]


def expected_counts(
    objective: Objective | str, marginals: Float[Tensor, "n vocab"], mask_rate: float | None = None
) -> Counts:
    """``E mu_c`` and ``E mu_p`` from the marginals ``pi_k = Pr[t_k = t]`` of the positions k = 1..N (Prop. S1.10).

    Autoregressive: ``sum_k (N - k) pi_k`` and ``sum_k (k - 1) pi_k`` (Eqs. S74, S75). Bidirectional: both counts are
    ``(N - 1) sum_k pi_k``. Masked: both counts are ``rho (1 - rho) (N - 1) sum_k pi_k`` (Eqs. S79, S80 without their
    leading N), where the mask rate rho is equal for all positions and independent of the tokens.
    """
    n = marginals.shape[0]
    if Objective(objective) is Objective.AUTOREGRESSIVE:
        before = torch.arange(n, dtype=marginals.dtype)  # k - 1 for k = 1..N
        return Counts(context=(n - 1 - before) @ marginals, predicted=before @ marginals)
    share = 1.0 if mask_rate is None else mask_rate * (1 - mask_rate)
    both = share * (n - 1) * marginals.sum(0)
    return Counts(context=both, predicted=both)


def mean_position(marginals: Float[Tensor, "n vocab"]) -> Float[Tensor, " vocab"]:
    """``k(t) = sum_k k Pr[t_k = t] / sum_k Pr[t_k = t]``: the mean position of a token, with positions counted from 1.

    The mean position determines the autoregressive ratio ``E mu_c / E mu_p = (N - k(t)) / (k(t) - 1)``. This ratio
    exceeds 1 exactly if the mean position is before the middle, (N + 1) / 2. The result is NaN for a token that never
    occurs.

    Source: rearranged from the paper's Eq. S68.
    """
    positions = torch.arange(1, marginals.shape[0] + 1, dtype=marginals.dtype)
    return (positions @ marginals) / marginals.sum(0)


class Simulation(NamedTuple):
    """Sequences of a Markov chain, and the counts of Prop. S1.10 in each of them."""

    chain: MarkovChain  # from which the sequences are drawn
    tokens: Int[Tensor, "draws n"]
    counts: Counts  # (draws, V)


def drifting_chain(seed: int) -> MarkovChain:
    """A correlated chain that starts with the first tokens, so that its marginals change with the position."""
    return MarkovChain.random(N_VOCAB, 0.5, torch.Generator().manual_seed(seed))


def simulation(
    n_tokens: int = 12,
    draws: int = 4000,
    seed: int = 0,
    objective: Objective = Objective.AUTOREGRESSIVE,
    mask_rate: float = 0.15,
    stationary: bool = False,
) -> Simulation:
    """Sequences of the drifting chain or of its stationary form; only the masked objective uses ``mask_rate``."""
    generator = torch.Generator().manual_seed(seed + 1)
    chain = drifting_chain(seed).stationary() if stationary else drifting_chain(seed)
    tokens = chain.sample(draws, n_tokens, generator)
    masked = sample_mask(draws, n_tokens, mask_rate, generator) if objective is Objective.MASKED else None
    return Simulation(chain, tokens, count_tokens(tokens, context_matrix(objective, n_tokens, masked), N_VOCAB))
