"""Which tokens an objective predicts from which other tokens: the sets C_i and P_j.

In a pair (i, j), the token at position i is predicted, and the token at position j is part of its context. An objective
is represented by the set of its pairs, as a boolean matrix (N, N): row i is C_i, and column j is P_j.
"""

import torch
from jaxtyping import Bool
from torch import Tensor

from attngeo.errors import Choice


class Objective(Choice):
    """The three objectives of Def. S1.3."""

    AUTOREGRESSIVE = "autoregressive"  # Eq. S7: every token from the tokens before it
    BIDIRECTIONAL = "bidirectional"  # Eq. S9: every token from all others
    MASKED = "masked"  # Eq. S10: the masked tokens from the visible tokens

    def __str__(self) -> str:
        return self.value


TRAINED = (Objective.AUTOREGRESSIVE, Objective.MASKED)  # the objectives with which Transformers are trained


def context_matrix(
    objective: Objective | str, n_tokens: int, masked: Bool[Tensor, "*batch n"] | None = None
) -> Bool[Tensor, "*batch n n"]:
    """``[j in C_i]`` (Def. S1.3): whether token j is in the context from which token i is predicted.

    Autoregressive: ``C_i = {j < i}``. Bidirectional: ``C_i = {j != i}``. Masked: ``C_i = {j not masked}`` for a masked
    i, and empty for a visible i, which is not predicted. Positions are counted from 0.

    Args:
        objective: one of `Objective`, or its name.
        n_tokens: length of the sequence, N >= 2.
        masked: which positions are masked, (..., N). Only the masked objective uses it; default: `every_third`.

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
    """The mask of the examples, which hides every third position."""
    return torch.arange(n_tokens) % 3 == 1


def attended_matrix(objective: Objective | str, n_tokens: int) -> Bool[Tensor, "n n"]:
    """``[j attended by query i]``: the positions to which position i of a Transformer attends, including itself.

    This set differs from C_i. With the autoregressive objective, position i attends to ``j <= i`` and predicts token
    i + 1. With the other objectives, every position attends to every position, including masked positions, which hold
    the embedding of the mask.

    Source: attention masks of Vaswani et al. (2017), Radford et al. (2018), Devlin et al. (2019).
    """
    ones = torch.ones(n_tokens, n_tokens, dtype=torch.bool)
    return ones.tril() if Objective(objective) is Objective.AUTOREGRESSIVE else ones


def sample_mask(n_samples: int, n_tokens: int, mask_rate: float, generator: torch.Generator) -> Bool[Tensor, "s n"]:
    """``mask(k)``: true with the probability ``mask_rate``, independently for each position (Prop. S1.10)."""
    return torch.rand(n_samples, n_tokens, generator=generator, dtype=torch.float64) < mask_rate
