"""Random updates of W_qk under stated assumptions on embeddings, coefficients and pairs; their symmetry and norms.

The paper derives statements about the rows and columns of ``Delta W_qk = sum_ij beta_ij x_i x_j^T`` only from
assumptions on the embeddings. Each model in this module implements one set of assumptions, so that a statement can be
tested under the assumptions under which it is made.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from attngeo.errors import Choice
from attngeo.gradients.objectives import Objective, attended_matrix, context_matrix, sample_mask

Updates = Float[Tensor, "draws d d"]
SquaredNorms = Float[Tensor, "*draws d"]  # of rows, or of columns
TAIL = 0.98  # norms above this quantile of all norms count as large


class Law(Choice):
    """Distribution of one coordinate, with mean 0 and variance 1."""

    GAUSSIAN = "gaussian"
    LAPLACE = "laplace"  # heavier tails
    UNIFORM = "uniform"  # bounded

    @property
    def kurtosis(self) -> float:
        """``E X^4 / (E X^2)^2``."""
        return {Law.GAUSSIAN: 3.0, Law.LAPLACE: 6.0, Law.UNIFORM: 1.8}[self]

    def draw(self, *shape: int, generator: torch.Generator) -> Float[Tensor, "*shape"]:
        """Independent values, float64."""
        if self is Law.GAUSSIAN:
            return torch.randn(*shape, generator=generator, dtype=torch.float64)
        u = torch.rand(*shape, generator=generator, dtype=torch.float64) - 0.5
        if self is Law.UNIFORM:
            return 12**0.5 * u
        return -u.sign() * torch.log1p(-2 * u.abs()) / 2**0.5  # inverse of the distribution function


class Coefficients(Choice):
    """How the coefficients beta_ij are drawn."""

    INDEPENDENT = "independent"  # standard normal, independent of the embeddings and of each other
    CENTRED = "centred"  # the same minus their mean over C_i, so that sum_j beta_ij = 0 as with a softmax
    ERROR = "error"  # delta_i^T x_j (Prop. 2.2), Gaussian errors delta_i independent of the embeddings
    BILINEAR = "bilinear"  # x_i^T B x_j: errors that depend on the query; one Gaussian B for each update


class Outcomes(NamedTuple):
    """All values of a random quantity with their probabilities; a value may occur more than once."""

    values: Float[Tensor, "outcomes ..."]
    probability: Float[Tensor, " outcomes"]

    def mean(self, values: Float[Tensor, "outcomes ..."]) -> Float[Tensor, "..."]:
        """Expectation of a function of the quantity, from its value in every outcome."""
        return torch.tensordot(self.probability, values, dims=1)


def coordinates(n_vectors: int, d: int, kurtosis: float = 3.0) -> Outcomes:
    """Vectors of independent coordinates that are 0 with probability ``1 - 1/kappa``, and ``± sqrt(kappa)`` otherwise.

    The coordinates have mean 0, variance 1, fourth moment kappa and sixth moment kappa^2. For kappa = 3, every
    polynomial of degree at most 5 in each coordinate has the same expectation as for normal coordinates (Gauss-Hermite
    quadrature with three points).
    """
    points = torch.tensor([0.0, kurtosis**0.5, -(kurtosis**0.5)], dtype=torch.float64)
    weights = torch.tensor([1 - 1 / kurtosis, 0.5 / kurtosis, 0.5 / kurtosis], dtype=torch.float64)
    chosen = torch.cartesian_prod(*[torch.arange(3)] * (n_vectors * d)).view(-1, n_vectors * d)
    return Outcomes(points[chosen].view(-1, n_vectors, d), weights[chosen].prod(-1))


def power_profile(d: int, exponent: float) -> Float[Tensor, " d"]:
    """Variances of d coordinates, ``lambda_k = k^-exponent`` scaled to mean 1; exponent 0 makes them equal."""
    profile = torch.arange(1, d + 1, dtype=torch.float64) ** -exponent
    return profile / profile.mean()


def context_updates(
    variances: Float[Tensor, " d"], n_tokens: int, n_draws: int, generator: torch.Generator, n_contexts: int = 1
) -> Updates:
    """``Delta W = sum over contexts (sum_i beta_i x_i) y^T``: the model of Prop. S1.8.

    Rows belong to predicted tokens and columns to context. Each context has N independent tokens x_i, whose coordinates
    are independent and have the given variances. y and beta_i are standard normal and independent of everything else.
    The transpose is the model of Cor. S1.9.
    """
    d = len(variances)
    z = torch.randn(n_draws, n_contexts, n_tokens, d, generator=generator, dtype=torch.float64)
    x = z * variances.sqrt()
    y = torch.randn(n_draws, n_contexts, d, generator=generator, dtype=torch.float64)
    beta = torch.randn(n_draws, n_contexts, n_tokens, generator=generator, dtype=torch.float64)
    return torch.einsum("rci,rcia,rcb->rab", beta, x, y)


@cache
def context_tokens(d: int, n_tokens: int, exponent: float, n_draws: int, seed: int, n_contexts: int = 1) -> Updates:
    """`context_updates` for d coordinates with the variances of `power_profile`."""
    generator = torch.Generator().manual_seed(seed)
    return context_updates(power_profile(d, exponent), n_tokens, n_draws, generator, n_contexts)


@dataclass(frozen=True, eq=False)
class UpdateModel:
    """``Delta W = sum over sequences of X^T (B * [j in C_i]) X`` for sequences of random tokens and an objective.

    Embeddings are independent between positions and sequences, except for the first token and the mask token. The
    coordinates of an embedding are independent, too.
    """

    variances: Float[Tensor, " d"]  # of an embedding's coordinates
    objective: Objective = Objective.AUTOREGRESSIVE
    n_tokens: int = 32
    n_sequences: int = 8  # number of sequences in one update
    law: Law = Law.GAUSSIAN
    coefficients: Coefficients = Coefficients.INDEPENDENT
    mean: Float[Tensor, " d"] | None = None  # added to every embedding
    first_token: Float[Tensor, "*draws d"] | None = None  # embedding at position 0 of all sequences of an update
    mask_rate: float = 0.15  # used by the masked objective
    mask_token: Float[Tensor, "*draws d"] | None = None  # embedding at masked positions; None: that of the token itself

    def draw(self, n_draws: int, generator: torch.Generator) -> Updates:
        """Draw independent updates."""
        shape = (n_draws, self.n_sequences, self.n_tokens)
        x = self.law.draw(*shape, len(self.variances), generator=generator) * self.variances.sqrt()
        if self.mean is not None:
            x = x + self.mean
        if self.first_token is not None:
            x[:, :, 0] = self.first_token.unsqueeze(-2)
        queries, masked = x, None  # (draws, sequences, N, d)
        if self.objective is Objective.MASKED:
            masked = sample_mask(n_draws * self.n_sequences, self.n_tokens, self.mask_rate, generator).view(shape)
            if self.mask_token is not None:
                queries = torch.where(masked.unsqueeze(-1), self.mask_token.expand(n_draws, -1)[:, None, None], x)
        contexts = context_matrix(self.objective, self.n_tokens, masked)
        beta = self._coefficients(queries, x, contexts, generator)
        return (queries.mT @ (beta * contexts) @ x).sum(1)

    def _coefficients(self, queries: Tensor, x: Tensor, contexts: Tensor, generator: torch.Generator) -> Tensor:
        """beta, (draws, sequences, N, N)."""
        kind, d = self.coefficients, x.shape[-1]
        if kind is Coefficients.BILINEAR:
            form = torch.randn(len(x), 1, d, d, generator=generator, dtype=torch.float64) / d
            return queries @ form @ x.mT
        if kind is Coefficients.ERROR:
            errors = torch.randn(x.shape, generator=generator, dtype=torch.float64) / d**0.5
            return errors @ x.mT
        beta = torch.randn(*x.shape[:-1], x.shape[-2], generator=generator, dtype=torch.float64)
        if kind is Coefficients.CENTRED:
            size = contexts.sum(-1, keepdim=True).clamp_min(1)
            beta = beta - (beta * contexts).sum(-1, keepdim=True) / size
        return beta


# Symmetry of updates


def agreement(a: float, b: float) -> float:
    """``rho = 2ab / (a^2 + b^2)``: 1 for equal coefficients, -1 for opposite coefficients, 0 if one of them is 0."""
    return 2 * a * b / (a**2 + b**2)


def pair_score(rho: float, cosine: float) -> float:
    """``s = (rho + c^2) / (1 + rho c^2)``, the score of ``a x_i x_j^T + b x_j x_i^T``, with c = cos(x_i, x_j).

    rho = 2ab / (a^2 + b^2) is the `agreement` of a and b.

    Source: derived here from Eq. S108 and Def. 3.1.
    """
    return (rho + cosine**2) / (1 + rho * cosine**2)


def correlated_coefficients(
    rho: float, n_draws: int, n_tokens: int, generator: torch.Generator
) -> Float[Tensor, "draws n n"]:
    """Standard normal beta_ij and beta_ji with correlation rho, independent between pairs and 0 on the diagonal."""
    z = torch.randn(2, n_draws, n_tokens, n_tokens, generator=generator, dtype=torch.float64)
    upper, other = z.triu(1)
    return upper + (rho * upper + (1 - rho**2) ** 0.5 * other).mT


def random_sequence(d: int = 16, n_tokens: int = 9, seed: int = 0) -> tuple[Tensor, Tensor, Tensor]:
    """Standard normal embeddings (N, d) and coefficients (N, N) of a sequence, and the embedding of a mask (d,)."""
    generator = torch.Generator().manual_seed(seed)
    shapes = (n_tokens, d), (n_tokens, n_tokens), (d,)
    x, beta, mask = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return x, beta, mask


def signs(*shape: int) -> Int[Tensor, "outcomes *shape"]:  # noqa: F821
    """All arrays of signs of a shape, each equally likely, so that expectations over random signs can be exact."""
    return torch.cartesian_prod(*[torch.tensor([-1, 1])] * torch.Size(shape).numel()).view(-1, *shape)


# Norms of rows and columns of updates; always ``sum_k ||column_k||^2 = sum_m ||row_m||^2 = ||W||_F^2``


def squared_norms(updates: Float[Tensor, "*draws d d"]) -> tuple[SquaredNorms, SquaredNorms]:
    """``||w_m,.||^2`` of the rows and ``||w_.,k||^2`` of the columns, (..., d) each."""
    squares = updates.square()
    return squares.sum(-1), squares.sum(-2)


def ratio_samples(top: Float[Tensor, " draws"], bottom: Float[Tensor, " draws"]) -> Float[Tensor, " draws"]:
    """Values with the mean ``mean(top) / mean(bottom)`` and with the standard error of this ratio (delta method)."""
    ratio = top.mean() / bottom.mean()
    return ratio + (top - ratio * bottom) / bottom.mean()


def unevenness(squared: SquaredNorms) -> Float[Tensor, "*draws"]:
    """``mean_k(n_k^2) / mean_k(n_k)^2`` of squared norms n_k: 1 if all are equal, d if all but one are zero."""
    return squared.square().mean(-1) / squared.mean(-1).square()


def uniform_softmax_squared_norms(x: Float[Tensor, "n d"], objective: Objective) -> tuple[SquaredNorms, SquaredNorms]:
    """Expected squared norms of the rows and of the columns of an update with inputs x and uniform attention.

    They are the diagonals of S_Q = sum_i Tr(K_i) x_i x_i^T and S_K = sum_i ||x_i||^2 K_i, where K_i is the covariance
    of the n_i inputs to which query i attends, divided by n_i. The errors are uncorrelated with mean 0 and variance 1.

    Source: derived here.
    """
    sees = attended_matrix(objective, len(x)).to(x.dtype)
    n = sees.sum(-1, keepdim=True)
    arriving = (sees / n @ x.square() - (sees / n @ x).square()) / n  # diagonals of the K_i, (n, d)
    return arriving.sum(-1) @ x.square(), x.square().sum(-1) @ arriving


def log_unevenness(updates: Updates) -> Float[Tensor, " draws"]:
    """``log(U_columns / U_rows)`` with the `unevenness` U of squared norms; positive if columns are more uneven."""
    rows, columns = squared_norms(updates)
    return (unevenness(columns) / unevenness(rows)).log()


def tail_gap(updates: Updates, quantile: float = TAIL) -> Float[Tensor, " draws"]:
    """``Pr[||column|| > w] - Pr[||row|| > w]`` for each draw, where w is a quantile of all norms (Eqs. 13, S102)."""
    rows, columns = squared_norms(updates)
    above = torch.cat([rows, columns]).quantile(quantile)
    return (columns > above).double().mean(-1) - (rows > above).double().mean(-1)
