"""The symmetry of scores between the places of a sequence, as opposed to the symmetry of W_qk.

A constant that is added to a row of the scores does not change their softmax, and a constant that is added to a column
says how much all other places attend to this place. Both constants are removed, and so is the diagonal, which does not
belong to a pair of places.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import MatrixError


def interaction(scores: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    """``r_ij = a_ij - u_i - v_j`` for i != j, where u and v are fitted by least squares; the diagonal of r is zero.

    All rows and all columns of r sum to zero.

    Raises:
        MatrixError: there are fewer than three places, which have no interaction.
    """
    n = scores.shape[-1]
    if n < 3:
        raise MatrixError(
            f"with {n} positions, nothing remains after the effects of rows and columns are removed; give at least"
            " three positions."
        )
    apart = ~torch.eye(n, dtype=torch.bool, device=scores.device)
    given = scores.double() * apart
    rows, columns = given.sum(-1), given.sum(-2)
    total = rows.sum(-1, keepdim=True)
    # normal equations of the two-way model without its diagonal, with sum u = sum v
    constant = n * total / (2 * (n - 1))
    u = ((n - 1) * rows + columns - constant) / (n * (n - 2))
    v = ((n - 1) * columns + rows - constant) / (n * (n - 2))
    return (given - u[..., :, None] - v[..., None, :]) * apart


def symmetry_between_places(scores: Float[Tensor, "n n"], again: Float[Tensor, "n n"] | None = None) -> float:
    """``s = sum r_ij r_ji / sum r_ij^2`` for the `interaction` r of mean scores between places.

    Means over few texts are noisy, and noise is not symmetric. If ``again`` contains the mean scores over other texts,
    with interaction t, the result is ``sum (r_ij t_ji) / sum (r_ij t_ij)``. The noise in r is independent of the noise
    in t, so it cancels in expectation in the numerator and in the denominator.

    Args:
        scores: mean scores, rows for the places of queries and columns for the places of keys.
        again: mean scores over other texts.

    Returns:
        s, which lies between -1 and 1 without ``again``; NaN if the denominator is not positive.
    """
    r = interaction(scores)
    t = r if again is None else interaction(again)
    whole = float((r * t).sum())
    return float((r * t.mT).sum()) / whole if whole > 0 else float("nan")
