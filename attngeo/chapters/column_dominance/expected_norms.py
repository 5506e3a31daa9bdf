"""Expected norms of rows and columns of random updates, by formula: what each set of assumptions gives."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor


def independent_ratio(covariance: Float[Tensor, "d d"], m: int) -> float:
    """``E ||column_k||^2 / E ||row_m||^2 = Tr(Sigma) / (d Sigma_mm)`` for every k (Eq. S62), for independent beta."""
    return float(covariance.trace() / (len(covariance) * covariance[m, m]))


def bilinear_squared_norms(
    covariance: Float[Tensor, "d d"], form: Float[Tensor, "d d"], n_tokens: int
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Expected squared row and column norms of `context_updates` with ``beta_i = x_i^T B y`` and Gaussian embeddings.

    ``E ||row_m||^2 = (d + 2) [N(N+1) ||(Sigma B)_m,.||^2 + N Sigma_mm Tr(B^T Sigma B)]`` and ``E ||column_k||^2 = Tr(G)
    + 2 G_kk`` with ``G = B^T [N(N+1) Sigma^2 + N Tr(Sigma) Sigma] B``. From ``E[S A S] = N(N+1) Sigma A Sigma + N
    Tr(A Sigma) Sigma`` for ``S = sum_i x_i x_i^T`` and a symmetric A, and ``E[y_k^2 y^T C y] = Tr(C) + 2 C_kk``.

    Source: derived here; Eq. S62 has no counterpart for coefficients that depend on the embeddings.
    """
    d, n = len(covariance), n_tokens
    rows = n * (n + 1) * (covariance @ form).square().sum(-1)
    rows = (d + 2) * (rows + n * covariance.diagonal() * (form.T @ covariance @ form).trace())
    inner = n * (n + 1) * covariance @ covariance + n * covariance.trace() * covariance
    g = form.T @ inner @ form
    return rows, g.trace() + 2 * g.diagonal()


def fourth_moments(query_moment: Float[Tensor, "d d"], key_moment: Float[Tensor, "d d"]) -> tuple[float, float]:
    """``E sum_m ||row_m||^4`` and ``E sum_k ||column_k||^4`` of `matrix_normal`.

    ``sum_m (S_Q)_mm^2 (Tr(S_K)^2 + 2 Tr(S_K^2))`` and the same with Q and K exchanged: row m is Gaussian with
    covariance ``(S_Q)_mm S_K``. Their ratio is ``D(S_Q) / D(S_K)``.
    """

    def one_side(own: Tensor, other: Tensor) -> float:
        return float(own.diagonal().square().sum() * (other.trace() ** 2 + 2 * (other @ other).trace()))

    return one_side(query_moment, key_moment), one_side(key_moment, query_moment)


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


def shared_mean_squared_norms(
    covariance: Float[Tensor, "d d"], mean: Float[Tensor, " d"], beta: Float[Tensor, "n n"]
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Expected squared row and column norms of ``X^T B X`` with ``x_i = mu + z_i`` and ``sum_j beta_ij = 0``.

    The z_i are independent, of mean 0 and covariance Sigma, of any law; B is fixed and has no diagonal. With the column
    sums ``b_j = sum_i beta_ij`` those of `vocabulary_squared_norms`, and besides them ``mu_m^2 ||b||^2 Tr(Sigma)`` for
    row m and ``||mu||^2 ||b||^2 Sigma_kk`` for column k.

    Source: derived here.
    """
    rows, columns = vocabulary_squared_norms(covariance, beta)
    size = beta.sum(0).square().sum()
    return (
        rows + mean.square() * size * covariance.trace(),
        columns + mean.square().sum() * size * covariance.diagonal(),
    )


def fourth_power_difference(
    variances: Float[Tensor, " d"], pairs: Float[Tensor, "vocab vocab"], kurtosis: float, sixth: float
) -> float:
    """``E sum_k ||column_k||^4 - E sum_m ||row_m||^4`` for independent coefficients of mean 0 and variance 1.

    ``(kappa - 3) s_2 (s_1^2 - s_2) sum_a (mu_c(a)^2 - mu_p(a)^2) + 2 (m_6 - 7 kappa + 6) (s_1 s_3 - s_4)
    sum_a n_aa (mu_c(a) - mu_p(a))`` with ``s_r = sum_k lambda_k^r`` of the variances of an embedding's independent
    coordinates, kappa and m_6 their fourth and sixth moment at variance 1, n_ab how many pairs predict token a from b,
    ``mu_c`` and ``mu_p`` the column and row sums of n. For ``lambda_k = 1`` the first term is ``d^2 (d - 1) (kappa - 3)
    sum_a (mu_c(a)^2 - mu_p(a)^2)``.

    Source: derived here.
    """
    s1, s2, s3, s4 = (float(variances.pow(r).sum()) for r in range(1, 5))
    predicted, context = pairs.sum(1), pairs.sum(0)
    by_counts = float((context.square() - predicted.square()).sum())
    by_equal_pairs = float((pairs.diagonal() * (context - predicted)).sum())
    first = (kurtosis - 3) * s2 * (s1**2 - s2) * by_counts
    return first + 2 * (sixth - 7 * kurtosis + 6) * (s1 * s3 - s4) * by_equal_pairs


def error_squared_norms(
    covariance: Float[Tensor, "d d"], context_sizes: Sequence[int]
) -> tuple[Float[Tensor, " d"], Float[Tensor, " d"]]:
    """Expected squared row and column norms for ``beta_ij = delta_i^T x_j``, errors independent of the embeddings.

    Then ``Delta W = sum_i x_i (A_i delta_i)^T`` with ``A_i = sum_{j in C_i} x_j x_j^T``. For Gaussian embeddings,
    errors of covariance I/d and n_i = |C_i| tokens in the context of i:
    ``E ||row_m||^2 = Sigma_mm sum_i Tr(K_i)`` and ``E ||column_k||^2 = Tr(Sigma) sum_i (K_i)_kk`` with
    ``K_i = E[A_i^2] / d = (n_i (n_i + 1) Sigma^2 + n_i Tr(Sigma) Sigma) / d``.
    The key side carries the square of the covariance, the query side the covariance.

    Source: derived here.
    """
    d = len(covariance)
    linear = sum(context_sizes) * covariance.trace() * covariance
    square = sum(n * (n + 1) for n in context_sizes) * covariance @ covariance
    keys = (linear + square) / d
    return covariance.diagonal() * keys.trace(), covariance.trace() * keys.diagonal()
