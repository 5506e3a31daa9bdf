"""Which token an objective predicts from which: the sets C_i and P_j.

A pair (i, j) is one term of the training signal: the token at position i is predicted, the token at position j is part
of its context. An objective is the set of its pairs, held as a boolean matrix (N, N): row i is C_i, column j is P_j.
"""

import torch
from jaxtyping import Bool
from torch import Tensor

from attngeo.errors import Choice


class Objective(Choice):
    """The three objectives of Def. S1.3."""

    AUTOREGRESSIVE = "autoregressive"  # Eq. S7: every token from those before it
    BIDIRECTIONAL = "bidirectional"  # Eq. S9: every token from all others
    MASKED = "masked"  # Eq. S10: the masked tokens from those left visible

    def __str__(self) -> str:
        return self.value


TRAINED = (Objective.AUTOREGRESSIVE, Objective.MASKED)  # with which Transformers are trained


def context_matrix(
    objective: Objective | str, n_tokens: int, masked: Bool[Tensor, "*batch n"] | None = None
) -> Bool[Tensor, "*batch n n"]:
    """``[j in C_i]`` (Def. S1.3): which token j stands in the context from which token i is predicted.

    Autoregressive: ``C_i = {j < i}``. Bidirectional: ``C_i = {j != i}``. Masked: ``C_i = {j not masked}`` for a masked
    i, and empty for a visible i, which is not predicted. Positions count from 0.

    Args:
        objective: one of `Objective`, or its name.
        n_tokens: length of the sequence, N >= 2.
        masked: which positions are masked, (..., N), for the masked objective alone; `every_third` unless given.

    Returns:
        Boolean matrix (..., N, N): row i is C_i, column j is ``P_j = {i : j in C_i}``.

    Source: paper, Def. S1.3, Eqs. S7, S9, S10.
    """
    objective = Objective(objective)
    if objective is Objective.MASKED:
        masked = every_third(n_tokens) if masked is None else masked
        return masked.unsqueeze(-1) & ~masked.unsqueeze(-2)
    ones = torch.ones(n_tokens, n_tokens, dtype=torch.bool)
    return ones.tril(-1) if objective is Objective.AUTOREGRESSIVE else ~torch.eye(n_tokens, dtype=torch.bool)


def every_third(n_tokens: int) -> Bool[Tensor, " n"]:
    """Which positions an example masks: every third."""
    return torch.arange(n_tokens) % 3 == 1


def attended_matrix(objective: Objective | str, n_tokens: int) -> Bool[Tensor, "n n"]:
    """``[j attended by query i]``: what a Transformer's attention mask lets position i see, itself included.

    It is not C_i. With the autoregressive objective position i sees ``j <= i`` and predicts token i + 1; with the
    others every position sees every position, masked ones too, which hold the mask's embedding.

    Source: attention masks of Vaswani et al. (2017), Radford et al. (2018), Devlin et al. (2019).
    """
    ones = torch.ones(n_tokens, n_tokens, dtype=torch.bool)
    return ones.tril() if Objective(objective) is Objective.AUTOREGRESSIVE else ones


def sample_mask(n_samples: int, n_tokens: int, mask_rate: float, generator: torch.Generator) -> Bool[Tensor, "s n"]:
    """``mask(k)``, independent over positions and of the tokens, true with probability rho (Prop. S1.10)."""
    return torch.rand(n_samples, n_tokens, generator=generator, dtype=torch.float64) < mask_rate
