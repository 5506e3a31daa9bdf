"""Updates of W_qk drawn under stated assumptions: random embeddings, random coefficients, the pairs of an objective.

The paper argues about rows and columns of ``Delta W_qk = sum_ij beta_ij x_i x_j^T`` from assumptions on the embeddings
alone. Each model here is one such set of assumptions, so that a statement can be tested where it is made.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.errors import Choice
from attngeo.gradients.objectives import Objective, context_matrix, sample_mask


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
    """Where beta_ij comes from."""

    INDEPENDENT = "independent"  # standard normal, independent of the embeddings and of each other
    CENTRED = "centred"  # the same less their mean over C_i: sum_j beta_ij = 0, as a softmax makes them
    ERROR = "error"  # delta_i^T x_j (Prop. 2.2), Gaussian errors delta_i independent of the embeddings
    BILINEAR = "bilinear"  # x_i^T B x_j: errors that follow the query's embedding; B Gaussian, one for each update


class Outcomes(NamedTuple):
    """All values of a random quantity; equal ones may stand in several places."""

    values: Float[Tensor, "outcomes ..."]
    probability: Float[Tensor, " outcomes"]

    def mean(self, values: Float[Tensor, "outcomes ..."]) -> Float[Tensor, "..."]:
        """Expectation of a function of the quantity, from its value in every outcome."""
        return torch.tensordot(self.probability, values, dims=1)


def coordinates(n_vectors: int, d: int, kurtosis: float = 3.0) -> Outcomes:
    """Vectors of independent coordinates: 0 with probability ``1 - 1/kappa``, otherwise ``± sqrt(kappa)``.

    Mean 0, variance 1, fourth moment kappa, sixth kappa^2. For kappa = 3 every polynomial of degree at most 5 in each
    coordinate has the expectation that normal coordinates give it (Gauss-Hermite quadrature at three points).
    """
    points = torch.tensor([0.0, kurtosis**0.5, -(kurtosis**0.5)], dtype=torch.float64)
    weights = torch.tensor([1 - 1 / kurtosis, 0.5 / kurtosis, 0.5 / kurtosis], dtype=torch.float64)
    chosen = torch.cartesian_prod(*[torch.arange(3)] * (n_vectors * d)).view(-1, n_vectors * d)
    return Outcomes(points[chosen].view(-1, n_vectors, d), weights[chosen].prod(-1))


def power_profile(d: int, exponent: float) -> Float[Tensor, " d"]:
    """``lambda_k = k^-exponent``, scaled to mean 1: variances of d coordinates, equal for exponent 0."""
    profile = torch.arange(1, d + 1, dtype=torch.float64) ** -exponent
    return profile / profile.mean()


def draw_embeddings(
    covariance: Float[Tensor, "d d"], *shape: int, generator: torch.Generator, law: Law = Law.GAUSSIAN
) -> Float[Tensor, "*shape d"]:
    """Independent ``x = L z`` with ``L L^T = Sigma`` and z of independent coordinates: mean 0, covariance Sigma."""
    return law.draw(*shape, covariance.shape[0], generator=generator) @ torch.linalg.cholesky(covariance).T


def context_updates(
    covariance: Float[Tensor, "d d"],
    n_tokens: int,
    n_draws: int,
    generator: torch.Generator,
    n_contexts: int = 1,
) -> Float[Tensor, "draws d d"]:
    """``Delta W = sum over contexts (sum_i beta_i x_i) y^T``: the model of Prop. S1.8, rows predicted, columns context.

    x_i are N independent tokens of each context with the covariance, y and beta_i are standard normal and independent
    of everything else. The transpose is the model of Cor. S1.9.
    """
    d = covariance.shape[0]
    x = draw_embeddings(covariance, n_draws, n_contexts, n_tokens, generator=generator)
    y = torch.randn(n_draws, n_contexts, d, generator=generator, dtype=torch.float64)
    beta = torch.randn(n_draws, n_contexts, n_tokens, generator=generator, dtype=torch.float64)
    return torch.einsum("rci,rcia,rcb->rab", beta, x, y)


@cache
def context_tokens(
    d: int, n_tokens: int, exponent: float, n_draws: int, seed: int, n_contexts: int = 1
) -> Float[Tensor, "draws d d"]:
    """`context_updates` of d independent coordinates with the variances of `power_profile`."""
    generator = torch.Generator().manual_seed(seed)
    return context_updates(torch.diag(power_profile(d, exponent)), n_tokens, n_draws, generator, n_contexts)


@dataclass(frozen=True, eq=False)
class UpdateModel:
    """``Delta W = sum over sequences of X^T (B * [j in C_i]) X``: sequences of random tokens under an objective.

    Embeddings are independent between positions and sequences, except for the two special tokens.
    """

    covariance: Float[Tensor, "d d"]  # Sigma of an embedding
    objective: Objective | str = Objective.AUTOREGRESSIVE
    n_tokens: int = 32
    n_sequences: int = 8  # that add to one update
    law: Law | str = Law.GAUSSIAN
    coefficients: Coefficients | str = Coefficients.INDEPENDENT
    mean: Float[Tensor, " d"] | None = None  # added to every embedding
    first_token: Float[Tensor, "*draws d"] | None = None  # embedding at position 0 of all sequences of an update
    mask_rate: float = 0.15  # of the masked objective
    mask_token: Float[Tensor, "*draws d"] | None = None  # what stands at masked positions; None: their own embedding

    def draw(self, n_draws: int, generator: torch.Generator) -> Float[Tensor, "draws d d"]:
        """Independent updates."""
        shape = (n_draws, self.n_sequences, self.n_tokens)
        x = draw_embeddings(self.covariance, *shape, generator=generator, law=Law(self.law))
        if self.mean is not None:
            x = x + self.mean
        if self.first_token is not None:
            x[:, :, 0] = self.first_token.unsqueeze(-2)
        queries, contexts = self._pairs(x, generator)
        beta = self._coefficients(queries, x, contexts, generator)
        return (queries.mT @ (beta * contexts) @ x).sum(1)

    def _pairs(self, x: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """What stands at the query positions, (draws, sequences, N, d), and [j in C_i]."""
        n_draws, n_sequences, n, d = x.shape
        if Objective(self.objective) is not Objective.MASKED:
            return x, context_matrix(self.objective, n)
        masked = sample_mask(n_draws * n_sequences, n, self.mask_rate, generator).view(x.shape[:-1])
        queries = x
        if self.mask_token is not None:
            queries = torch.where(masked.unsqueeze(-1), self.mask_token.expand(n_draws, d)[:, None, None], x)
        return queries, context_matrix(Objective.MASKED, n, masked)

    def _coefficients(self, queries: Tensor, x: Tensor, contexts: Tensor, generator: torch.Generator) -> Tensor:
        """beta, (draws, sequences, N, N)."""
        kind, d = Coefficients(self.coefficients), x.shape[-1]
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
