"""Whether rows or columns of an update dominate, and how far a second moment lies on coordinate axes.

Always ``sum_k ||column_k||^2 = sum_m ||row_m||^2 = ||W||_F^2``, so one side can only be more uneven than the other.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.forms.scores import directionality_score
from attngeo.updates.norms import squared_norms

TAIL = 0.98  # quantile of all norms from which on they count as large


def directionalities(updates: Float[Tensor, "draws d d"]) -> list[float]:
    """d of every update (Def. 3.2); negative where columns dominate."""
    return [directionality_score(update) for update in updates]


def unevenness(squared: Float[Tensor, "*draws d"]) -> Float[Tensor, "*draws"]:
    """``mean_k(n_k^2) / mean_k(n_k)^2`` of squared norms n_k: 1 when all are equal, d when one holds everything."""
    return squared.square().mean(-1) / squared.mean(-1).square()


def log_unevenness(updates: Float[Tensor, "draws d d"]) -> Float[Tensor, " draws"]:
    """``log(U_columns / U_rows)``, U the `unevenness` of the squared norms; positive where columns are more uneven."""
    rows, columns = squared_norms(updates)
    return (unevenness(columns) / unevenness(rows)).log()


def tail_gap(updates: Float[Tensor, "draws d d"], quantile: float = TAIL) -> Float[Tensor, " draws"]:
    """``Pr[||column|| > w] - Pr[||row|| > w]`` per draw, w a quantile of all norms together (Eqs. 13, S102)."""
    rows, columns = squared_norms(updates)
    above = torch.cat([rows, columns]).quantile(quantile)
    return (columns > above).double().mean(-1) - (rows > above).double().mean(-1)


def axis_alignment(moment: Float[Tensor, "d d"]) -> float:
    """``D(S) = (d + 2) sum_k S_kk^2 / (Tr(S)^2 + 2 Tr(S^2))``: how far a second moment lies on coordinate axes.

    1 for ``S = I``, and 1 on average for any spectrum in a random basis, as ``E (q^T S q)^2 = (Tr(S)^2 + 2 Tr(S^2)) /
    (d (d + 2))`` for a random unit vector q; larger when few coordinates carry the variance. For ``S = e e^T`` it is a
    third of the kurtosis of the entries of e, times (d + 2)/d.

    With independent Gaussian coefficients on all pairs, columns are more uneven than rows exactly if ``D(S_K) >
    D(S_Q)`` (`fourth_moments`).

    Source: derived here.
    """
    d, trace, square = len(moment), moment.trace(), (moment @ moment).trace()
    return float((d + 2) * moment.diagonal().square().sum() / (trace**2 + 2 * square))
