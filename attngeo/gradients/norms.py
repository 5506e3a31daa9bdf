"""Squared norms of the rows and columns of updates: measured, expected, and how uneven they are.

Always ``sum_k ||column_k||^2 = sum_m ||row_m||^2 = ||W||_F^2``, so one side can only be more uneven than the other.
"""

from jaxtyping import Float
from torch import Tensor, cat

from attngeo.gradients.objectives import Objective, attended_matrix

TAIL = 0.98  # quantile of all norms from which on they count as large


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


def unevenness(squared: Float[Tensor, "*draws d"]) -> Float[Tensor, "*draws"]:
    """``mean_k(n_k^2) / mean_k(n_k)^2`` of squared norms n_k: 1 when all are equal, d when one holds everything."""
    return squared.square().mean(-1) / squared.mean(-1).square()


def uniform_softmax_squared_norms(
    x: Float[Tensor, "n d"], objective: Objective
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """``diag(S_Q)``, ``diag(S_K)``: E ||row_m||^2, E ||column_k||^2 of an update of inputs x at uniform attention.

    S_Q = sum_i Tr(K_i) x_i x_i^T and S_K = sum_i ||x_i||^2 K_i, where K_i is the covariance of the n_i inputs that
    query i sees, over n_i. Errors are uncorrelated, of mean 0 and variance 1.

    Source: derived here.
    """
    sees = attended_matrix(objective, len(x)).to(x.dtype)
    n = sees.sum(-1, keepdim=True)
    arriving = (sees / n @ x.square() - (sees / n @ x).square()) / n  # diagonals of the K_i, (n, d)
    return arriving.sum(-1) @ x.square(), x.square().sum(-1) @ arriving


def log_unevenness(updates: Float[Tensor, "draws d d"]) -> Float[Tensor, " draws"]:
    """``log(U_columns / U_rows)``, U the `unevenness` of the squared norms; positive where columns are more uneven."""
    rows, columns = squared_norms(updates)
    return (unevenness(columns) / unevenness(rows)).log()


def tail_gap(updates: Float[Tensor, "draws d d"], quantile: float = TAIL) -> Float[Tensor, " draws"]:
    """``Pr[||column|| > w] - Pr[||row|| > w]`` per draw, w a quantile of all norms together (Eqs. 13, S102)."""
    rows, columns = squared_norms(updates)
    above = cat([rows, columns]).quantile(quantile)
    return (columns > above).double().mean(-1) - (rows > above).double().mean(-1)


def independent_ratio(covariance: Float[Tensor, "d d"], m: int) -> float:
    """``E ||column_k||^2 / E ||row_m||^2 = Tr(Sigma) / (d Sigma_mm)`` for every k (Eq. S62), for independent beta."""
    return float(covariance.trace() / (len(covariance) * covariance[m, m]))


def vocabulary_squared_norms(
    covariance: Float[Tensor, "d d"], beta: Float[Tensor, "vocab vocab"]
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """``E ||row_k||^2 = E ||column_k||^2 = Tr(Sigma) Sigma_kk ||B||_F^2 + (Sigma^2)_kk Tr(BB)`` for E^T B E.

    E holds the embeddings e_a of a vocabulary in its rows: independent, mean 0, covariance Sigma, of any law. B is
    fixed and has no diagonal; ``B_ab`` collects the coefficients of all pairs in which token a is predicted from b.

    Source: derived here.
    """
    norms = covariance.trace() * covariance.diagonal() * beta.square().sum()
    norms = norms + (covariance @ covariance).diagonal() * (beta @ beta).trace()
    return norms, norms
