"""The symmetry of what one place of a sequence gives to another: of scores between places, not of W_qk.

Softmax takes no notice of a constant that is added to a row of the scores, and a constant that is added to a column
says how much a place is attended to by all others alike. Both are taken out, and so is the diagonal, where no two
places meet.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import MatrixError


def interaction(scores: Float[Tensor, "*batch n n"]) -> Float[Tensor, "*batch n n"]:
    """``r_ij = a_ij - u_i - v_j`` for i != j, with the u and v of least squares; the diagonal of r is zero.

    All rows and all columns of r have the sum zero.

    Raises:
        MatrixError: fewer than three places, which have no interaction.
    """
    n = scores.shape[-1]
    if n < 3:
        raise MatrixError(f"{n} places have no interaction beside rows and columns; give three or more.")
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
    """``s = sum r_ij r_ji / sum r_ij^2`` of the `interaction` r of mean scores between places.

    Means over few texts are noisy, and noise is not symmetric. If ``again`` holds the mean scores over other texts,
    with interaction t, the result is ``sum (r_ij t_ji) / sum (r_ij t_ij)``, in whose numerator and denominator the
    independent noise of the two cancels in expectation.

    Args:
        scores: mean scores, rows for the places of queries and columns for the places of keys.
        again: the same over other texts.

    Returns:
        s, between -1 and 1 without ``again``; NaN where the denominator is not positive.
    """
    r = interaction(scores)
    t = r if again is None else interaction(again)
    whole = float((r * t).sum())
    return float((r * t.mT).sum()) / whole if whole > 0 else float("nan")
