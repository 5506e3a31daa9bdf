"""Squared norms of the rows and columns of updates, and ratios of their means."""

from jaxtyping import Float
from torch import Tensor


def squared_norms(
    updates: Float[Tensor, "*draws d d"],
) -> tuple[Float[Tensor, "*draws d"], Float[Tensor, "*draws d"]]:
    """``||w_m,.||^2`` of the rows and ``||w_.,k||^2`` of the columns, (..., d) each."""
    squares = updates.square()
    return squares.sum(-1), squares.sum(-2)


def ratio_samples(top: Float[Tensor, " draws"], bottom: Float[Tensor, " draws"]) -> Float[Tensor, " draws"]:
    """Values whose mean is ``mean(top) / mean(bottom)`` and whose standard error is the ratio's (delta method)."""
    ratio = top.mean() / bottom.mean()
    return ratio + (top - ratio * bottom) / bottom.mean()
