"""A Markov chain over tokens: the smallest process whose tokens are correlated and whose marginals may drift."""

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True, eq=False)
class MarkovChain:
    """``Pr[t_1 .. t_N] = start[t_1] prod_k transition[t_{k-1}, t_k]``; start (V,), transition (V, V) from rows."""

    start: Float[Tensor, " vocab"]
    transition: Float[Tensor, "vocab vocab"]

    @classmethod
    def random(cls, n_vocab: int, persistence: float, generator: torch.Generator) -> "MarkovChain":
        """A chain with random rows that stays on its token with extra probability ``persistence`` in [0, 1).

        It starts on the early tokens: ``start[t]`` halves from one token to the next.
        """
        rows = torch.rand(n_vocab, n_vocab, generator=generator, dtype=torch.float64)
        rows = rows / rows.sum(-1, keepdim=True)
        start = 0.5 ** torch.arange(n_vocab, dtype=torch.float64)
        return cls(start / start.sum(), (1 - persistence) * rows + persistence * torch.eye(n_vocab).to(rows))

    def stationary(self) -> "MarkovChain":
        """The same transitions started from their stationary distribution: every position has the same marginal."""
        v = self.start.shape[0]
        equations = torch.cat([self.transition.T - torch.eye(v).to(self.transition), torch.ones(1, v).to(self.start)])
        right = torch.zeros(v + 1, 1).to(self.start)
        right[-1] = 1
        start = torch.linalg.lstsq(equations, right).solution.flatten().clamp_min(0)
        return MarkovChain(start / start.sum(), self.transition)

    def marginals(self, n_tokens: int) -> Float[Tensor, "n vocab"]:
        """``Pr[t_k = t]`` for k = 1..N, (N, V)."""
        rows = [self.start]
        for _ in range(n_tokens - 1):
            rows.append(rows[-1] @ self.transition)
        return torch.stack(rows)

    def sample(self, n_samples: int, n_tokens: int, generator: torch.Generator) -> Int[Tensor, "samples n"]:
        """Independent sequences of token numbers, (samples, N)."""
        tokens = torch.multinomial(self.start.expand(n_samples, -1), 1, generator=generator)
        for _ in range(n_tokens - 1):
            following = torch.multinomial(self.transition[tokens[:, -1]], 1, generator=generator)
            tokens = torch.cat([tokens, following], dim=1)
        return tokens
