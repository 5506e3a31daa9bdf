"""Sequences of a Markov chain, and how often each token is context or is predicted in them, counted pair by pair."""

from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attngeo.chapters.context_and_prediction.token_counts import Counts, count_tokens
from attngeo.updates.markov_chain import MarkovChain
from attngeo.updates.objectives import Objective, context_matrix, sample_mask

N_VOCAB = 5


class Simulation(NamedTuple):
    """Sequences and the counts of Prop. S1.10 in each of them."""

    chain: MarkovChain  # that the sequences are drawn from
    tokens: Int[Tensor, "draws n"]
    counts: Counts  # (draws, V)

    @property
    def n_tokens(self) -> int:
        """Length of a sequence, N."""
        return self.tokens.shape[1]

    @property
    def marginals(self) -> Float[Tensor, "n vocab"]:
        """``Pr[t_k = t]``."""
        return self.chain.marginals(self.n_tokens)


def drifting_chain(seed: int) -> MarkovChain:
    """A correlated chain that starts on the early tokens: its marginals change with the position."""
    return MarkovChain.random(N_VOCAB, 0.5, torch.Generator().manual_seed(seed))


def simulation(
    n_tokens: int = 12,
    draws: int = 4000,
    seed: int = 0,
    objective: Objective = Objective.AUTOREGRESSIVE,
    mask_rate: float = 0.15,
    stationary: bool = False,
) -> Simulation:
    """Sequences of the drifting chain, or of its stationary form; ``mask_rate`` is of the masked objective."""
    generator = torch.Generator().manual_seed(seed + 1)
    chain = drifting_chain(seed).stationary() if stationary else drifting_chain(seed)
    tokens = chain.sample(draws, n_tokens, generator)
    masked = sample_mask(draws, n_tokens, mask_rate, generator) if objective is Objective.MASKED else None
    return Simulation(chain, tokens, count_tokens(tokens, context_matrix(objective, n_tokens, masked), N_VOCAB))


def surplus(counts: Counts, token: int) -> Float[Tensor, " draws"]:
    """``mu_c - mu_p``: how many more tokens one token predicts than predict it."""
    return counts.context[:, token] - counts.predicted[:, token]
