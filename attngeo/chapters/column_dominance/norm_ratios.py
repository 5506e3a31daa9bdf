"""Section S1.4.2: how much one context token, or one predicted token, adds to columns and to rows (S1.8, S1.9)."""

from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.column_dominance.expected_norms import bilinear_squared_norms, independent_ratio
from attngeo.chapters.column_dominance.models import context_updates
from attngeo.paper.checks import Judgement, check, compare, exact, monte_carlo
from attngeo.updates.norms import ratio_samples, squared_norms
from attngeo.updates.random_updates import draw_embeddings, power_profile


class ContextUpdates(NamedTuple):
    """Updates by context tokens of Prop. S1.8."""

    covariance: Tensor  # Sigma of the predicted tokens, (d, d)
    updates: Tensor  # (draws, d, d)


def context_tokens(
    d: int = 16, n_tokens: int = 8, exponent: float = 1.0, n_draws: int = 8000, seed: int = 0, n_contexts: int = 1
) -> ContextUpdates:
    """Coefficients independent of the embeddings, whose variances fall like ``k^-exponent``."""
    covariance, generator = torch.diag(power_profile(d, exponent)), torch.Generator().manual_seed(seed)
    updates = context_updates(covariance, n_tokens, n_draws, generator, n_contexts=n_contexts)
    return ContextUpdates(covariance, updates)


def ratio(updates: Tensor, k: int, m: int) -> Tensor:
    """Samples of ``E ||column_k||^2 / E ||row_m||^2``."""
    rows, columns = squared_norms(updates)
    return ratio_samples(columns[:, k], rows[:, m])


@check(context_tokens)
def context_ratio(s: ContextUpdates) -> Judgement:
    """Proposition S1.8: E ||column_k||^2 / E ||row_m||^2 = Tr(Sigma) / (d Sigma_mm) if beta ignores the embeddings."""
    d = len(s.covariance)
    pairs = (0, d - 1), (d - 1, d // 2), (d // 2, 0)
    return Judgement(
        *(
            monte_carlo("ratio", ratio(s.updates, k, m), independent_ratio(s.covariance, m), column=k + 1, row=m + 1)
            for k, m in pairs
        ),
        monte_carlo("smallest variance", ratio(s.updates, 0, d - 1), 1, ">"),
        monte_carlo("largest variance", ratio(s.updates, 0, 0), 1, "<"),
    )


def predicted_token_ratio(covariance: Tensor, k: int) -> float:
    """``E ||column_k||^2 / E ||row_m||^2 = d Sigma_kk / Tr(Sigma)`` for every m (Eq. S67)."""
    return float(len(covariance) * covariance[k, k] / covariance.trace())


@check(context_tokens)
def prediction_ratio(s: ContextUpdates) -> Judgement:
    """Corollary S1.9: the transposed model, with the reciprocal ratio."""
    d, updates = len(s.covariance), s.updates.mT
    pairs = (d - 1, 0), (d // 2, d - 1), (0, d // 2)
    return Judgement(
        *(
            monte_carlo("ratio", ratio(updates, k, m), predicted_token_ratio(s.covariance, k), column=k + 1, row=m + 1)
            for k, m in pairs
        )
    )


class DependentCoefficients(NamedTuple):
    """Updates by one context token with ``beta_i = x_i^T B y``."""

    covariance: Tensor  # (d, d)
    n_tokens: int
    row: int  # the first that Eq. S53 speaks of
    random: tuple[Tensor, Tensor]  # B (d, d), updates (draws, d, d)
    one_row: tuple[Tensor, Tensor]  # with that row of B alone: the error follows one coordinate of the predicted token


def dependent_coefficients(
    d: int = 16, n_tokens: int = 8, exponent: float = 1.0, n_draws: int = 8000, seed: int = 0
) -> DependentCoefficients:
    """A Gaussian B, and one row of it."""
    covariance, generator = torch.diag(power_profile(d, exponent)), torch.Generator().manual_seed(seed)
    form = torch.randn(d, d, generator=generator, dtype=torch.float64) / d**0.5
    row = int((covariance.diagonal() < covariance.trace() / d).nonzero()[0])
    one_row = torch.zeros_like(form)
    one_row[row] = form[row]
    updates = ((b, context_updates(covariance, n_tokens, n_draws, generator, b)) for b in (form, one_row))
    return DependentCoefficients(covariance, n_tokens, row, *updates)


@check(dependent_coefficients)
def context_ratio_of_dependent_coefficients(s: DependentCoefficients) -> Judgement:
    """Proposition S1.8 with beta_i = x_i^T B y, which Prop. 2.2 produces: Eq. S62 is far off, S53 can turn round."""

    def expected(form: Tensor, m: int) -> Tensor:
        of_rows, of_columns = bilinear_squared_norms(s.covariance, form, s.n_tokens)
        return of_columns[-1] / of_rows[m]

    (form, updates), (row_form, row_updates) = s.random, s.one_row
    one_row = ratio(row_updates, -1, s.row)
    return Judgement(
        monte_carlo("random B", ratio(updates, -1, 0), expected(form, 0), row=1),
        monte_carlo("one row", one_row, expected(row_form, s.row), row=s.row + 1),
        monte_carlo("one row, S62", one_row, independent_ratio(s.covariance, s.row), "≠"),
        monte_carlo("one row, S53", one_row, 1, "<"),
    )


def equal_variances(d: int = 16, correlation: float = 0.5) -> Tensor:
    """A covariance of equal variances that is no multiple of I, (d, d)."""
    return torch.full((d, d), correlation, dtype=torch.float64).fill_diagonal_(1.0)


@check(equal_variances)
def non_isotropic_covariance(covariance: Tensor) -> Judgement:
    """Equation S63: a covariance other than sigma^2 I may still have equal variances; S53 then speaks of no row."""
    below = (covariance.diagonal() < covariance.trace() / len(covariance)).sum()
    distance = (covariance - torch.eye(len(covariance), dtype=torch.float64)).norm() / covariance.norm()
    return Judgement(
        compare("distance", distance, ">", 0, 0.1),
        exact("rows below", below, 0, 0),
        exact("ratio", independent_ratio(covariance, 0), 1),
    )


def squared_norm_of_sum(covariance: Tensor, beta: Tensor) -> Tensor:
    """``E ||sum_i beta_i x_i||^2 = Tr(Sigma) sum_i beta_i^2`` of independent vectors (Eq. S57)."""
    return covariance.trace() * beta.square().sum()


class TwoVectors(NamedTuple):
    """Two embeddings with coefficients 1 and 1/2."""

    covariance: Tensor  # (d, d)
    apart: Tensor  # independent vectors of correlated entries, (draws, 2, d)
    equal: Tensor  # the same vector of independent entries twice, (draws, 2, d)


def two_vectors(d: int = 16, correlation: float = 0.5, n_draws: int = 4000, seed: int = 0) -> TwoVectors:
    """Gaussian vectors of variance 1."""
    covariance, generator = equal_variances(d, correlation), torch.Generator().manual_seed(seed)
    apart = draw_embeddings(covariance, n_draws, 2, generator=generator)
    equal = torch.randn(n_draws, 1, d, generator=generator, dtype=torch.float64).expand(-1, 2, -1)
    return TwoVectors(covariance, apart, equal)


@check(two_vectors)
def independence_of_vectors(s: TwoVectors) -> Judgement:
    """Equation S57 needs independent vectors x_i; independent entries within a vector are neither needed nor enough."""
    beta = torch.tensor([1.0, 0.5], dtype=torch.float64)
    expected = squared_norm_of_sum(s.covariance, beta)
    apart, equal = ((beta @ x).square().sum(-1) / expected for x in (s.apart, s.equal))
    return Judgement(monte_carlo("apart", apart, 1), monte_carlo("equal", equal, 1, "≠"))


class Embeddings(NamedTuple):
    """Sets of independent embeddings."""

    covariance: Tensor  # (d, d)
    x: Tensor  # (draws, N, d)


def embeddings(d: int = 16, n_tokens: int = 8, exponent: float = 1.0, n_draws: int = 4000, seed: int = 0) -> Embeddings:
    """Gaussian, with variances that fall like ``k^-exponent``."""
    covariance, generator = torch.diag(power_profile(d, exponent)), torch.Generator().manual_seed(seed)
    return Embeddings(covariance, draw_embeddings(covariance, n_draws, n_tokens, generator=generator))


@check(embeddings)
def prediction_row_norm(s: Embeddings) -> Judgement:
    """Equation S66: ||sum_j beta_j x_j||^2 is not sum_j ||x_j||^2; the expectations agree up to the mean of beta^2."""
    ones = torch.ones(s.x.shape[1], dtype=torch.float64)
    separate, together = s.x.square().sum((1, 2)), s.x.sum(1).square().sum(-1)
    beta = ones.cumsum(0) / 2
    weighted = (beta @ s.x).square().sum(-1)
    mean_square = squared_norm_of_sum(s.covariance, beta) / squared_norm_of_sum(s.covariance, ones)
    return Judgement(
        monte_carlo("distance", (together / separate - 1).abs(), 0, "≠"),
        monte_carlo("all beta 1", ratio_samples(together, separate), 1),
        monte_carlo("coefficients", ratio_samples(weighted, separate), mean_square),
    )
