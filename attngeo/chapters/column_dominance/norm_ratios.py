"""Section S1.4.2: how much one context token, or one predicted token, adds to columns and to rows (S1.8, S1.9)."""

from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.column_dominance.enumeration import Outcomes, coordinates
from attngeo.chapters.column_dominance.expected_norms import bilinear_squared_norms, independent_ratio
from attngeo.chapters.column_dominance.models import context_updates
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact, monte_carlo
from attngeo.updates.norms import ratio_samples, squared_norms
from attngeo.updates.random_updates import power_profile


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
def context_ratio(s: ContextUpdates) -> Comparisons:
    """Proposition S1.8: E ||column_k||^2 / E ||row_m||^2 = Tr(Sigma) / (d Sigma_mm) if beta ignores the embeddings."""
    d = len(s.covariance)
    pairs = (0, d - 1), (d - 1, d // 2), (d // 2, 0)
    for k, m in pairs:
        yield monte_carlo("ratio", ratio(s.updates, k, m), independent_ratio(s.covariance, m), column=k + 1, row=m + 1)
    yield monte_carlo("smallest variance", ratio(s.updates, 0, d - 1), 1, ">")
    yield monte_carlo("largest variance", ratio(s.updates, 0, 0), 1, "<")


def predicted_token_ratio(covariance: Tensor, k: int) -> float:
    """``E ||column_k||^2 / E ||row_m||^2 = d Sigma_kk / Tr(Sigma)`` for every m (Eq. S67)."""
    return float(len(covariance) * covariance[k, k] / covariance.trace())


@check(context_tokens)
def prediction_ratio(s: ContextUpdates) -> Comparisons:
    """Corollary S1.9: the transposed model, with the reciprocal ratio."""
    d, updates = len(s.covariance), s.updates.mT
    pairs = (d - 1, 0), (d // 2, d - 1), (0, d // 2)
    for k, m in pairs:
        yield monte_carlo(
            "ratio", ratio(updates, k, m), predicted_token_ratio(s.covariance, k), column=k + 1, row=m + 1
        )


class RoleOutcomes(NamedTuple):
    """Every outcome of the update by one context token whose embedding has the law of all others."""

    covariance: Tensor  # Sigma of every token, (d, d)
    updates: Outcomes  # (outcomes, d, d)


def tokens_of_one_law() -> RoleOutcomes:
    """Two predicted tokens in three correlated dimensions, with coefficients 1 and 1/2."""
    root = torch.tensor([[2.0, 0.0, 0.0], [0.5, 1.0, 0.0], [0.0, 0.3, 0.5]], dtype=torch.float64)
    z = coordinates(3, 3)
    x = z.values @ root.T
    updates = (x[:, 0] + x[:, 1] / 2).unsqueeze(2) * x[:, 2].unsqueeze(1)
    return RoleOutcomes(root @ root.T, Outcomes(updates, z.probability))


def ratio_of_one_law(covariance: Tensor, k: int, m: int) -> float:
    """``E ||column_k||^2 / E ||row_m||^2 = Sigma_kk / Sigma_mm`` where all tokens have one law, in either role."""
    return float(covariance[k, k] / covariance[m, m])


@check(tokens_of_one_law)
def ratio_when_all_tokens_have_one_law(s: RoleOutcomes) -> Comparisons:
    """Theorem S1.12 draws all tokens from one law: S1.8 and S1.9 then have one ratio, and the roles do not differ."""
    sigma = s.covariance
    for role, updates in (("context", s.updates.values), ("predicted", s.updates.values.mT)):
        of_rows, of_columns = (s.updates.mean(squared) for squared in squared_norms(updates))
        for k, m in ((0, 0), (0, 2), (2, 0)):
            measured, formula = of_columns[k] / of_rows[m], ratio_of_one_law(sigma, k, m)
            yield exact("ratio", measured, formula, role=role, k=k + 1, m=m + 1)
    above = independent_ratio(sigma, 2)  # Eq. S62, for the row of smallest variance
    yield compare("S62", above, "≠", ratio_of_one_law(sigma, 2, 2), 0.1)


class EveryOutcome(NamedTuple):
    """Of the update by one context token of two predicted ones, with ``beta_i = x_i^T B y``."""

    covariance: Tensor  # Sigma, (2, 2)
    form: Tensor  # B
    updates: Outcomes  # (outcomes, 2, 2)


def two_predicted_tokens() -> EveryOutcome:
    """Embeddings with the moments of Gaussian ones; Sigma is not diagonal and B not symmetric."""
    root = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    form = torch.tensor([[1.0, -2.0], [0.5, 1.0]], dtype=torch.float64)
    z = coordinates(3, 2)
    x, y = z.values[:, :2] @ root.T, z.values[:, 2:]
    return EveryOutcome(root @ root.T, form, Outcomes(x.mT @ (x @ form @ y.mT) @ y, z.probability))


class DependentCoefficients(NamedTuple):
    """Updates by one context token with ``beta_i = x_i^T B y``; B is 0 but for one row."""

    every: EveryOutcome
    covariance: Tensor  # (d, d)
    n_tokens: int
    row: int  # of B, the first that Eq. S53 speaks of: the error follows one coordinate of the predicted token
    form: Tensor  # B, (d, d)
    updates: Tensor  # (draws, d, d)


def dependent_coefficients(
    d: int = 16, n_tokens: int = 8, exponent: float = 1.0, n_draws: int = 8000, seed: int = 0
) -> DependentCoefficients:
    """One row of a Gaussian B, and every outcome of a smaller update."""
    covariance, generator = torch.diag(power_profile(d, exponent)), torch.Generator().manual_seed(seed)
    row = int((covariance.diagonal() < covariance.trace() / d).nonzero()[0])
    form = torch.zeros(d, d, dtype=torch.float64)
    form[row] = torch.randn(d, generator=generator, dtype=torch.float64)
    updates = context_updates(covariance, n_tokens, n_draws, generator, form)
    return DependentCoefficients(two_predicted_tokens(), covariance, n_tokens, row, form, updates)


@check(dependent_coefficients)
def context_ratio_of_dependent_coefficients(s: DependentCoefficients) -> Comparisons:
    """Proposition S1.8 with beta_i = x_i^T B y, which Prop. 2.2 produces: Eq. S62 is far off, S53 can turn round."""
    every = s.every
    expected = bilinear_squared_norms(every.covariance, every.form, n_tokens=2)
    for side, norms, values in zip(("row", "column"), squared_norms(every.updates.values), expected, strict=True):
        yield from (exact(side, every.updates.mean(norms)[k], values[k], k=k + 1) for k in (0, 1))
    of_rows, of_columns = bilinear_squared_norms(s.covariance, s.form, s.n_tokens)
    one_row = ratio(s.updates, -1, s.row)
    yield monte_carlo("one row", one_row, of_columns[-1] / of_rows[s.row], row=s.row + 1)
    yield monte_carlo("one row, S62", one_row, independent_ratio(s.covariance, s.row), "≠")
    yield monte_carlo("one row, S53", one_row, 1, "<")


def equal_variances(d: int = 16, correlation: float = 0.5) -> Tensor:
    """A covariance of equal variances that is no multiple of I, (d, d)."""
    return torch.full((d, d), correlation, dtype=torch.float64).fill_diagonal_(1.0)


@check(equal_variances)
def non_isotropic_covariance(covariance: Tensor) -> Comparisons:
    """Equation S63: a covariance other than sigma^2 I may still have equal variances; S53 then speaks of no row."""
    below = (covariance.diagonal() < covariance.trace() / len(covariance)).sum()
    distance = (covariance - torch.eye(len(covariance), dtype=torch.float64)).norm() / covariance.norm()
    yield compare("distance", distance, ">", 0, 0.1)
    yield exact("rows below", below, 0, 0)
    yield exact("ratio", independent_ratio(covariance, 0), 1)


def squared_norm_of_sum(covariance: Tensor, beta: Tensor) -> Tensor:
    """``E ||sum_i beta_i x_i||^2 = Tr(Sigma) sum_i beta_i^2`` of independent vectors (Eq. S57)."""
    return covariance.trace() * beta.square().sum()


class TwoVectors(NamedTuple):
    """Two Gaussian embeddings as far as their fourth moments, in every outcome."""

    covariance: Tensor  # (d, d)
    apart: Outcomes  # independent vectors of correlated entries, (outcomes, 2, d)
    equal: Outcomes  # the same vector of independent entries twice


def two_vectors() -> TwoVectors:
    """Entries of variance 1."""
    covariance, z = equal_variances(d=2), coordinates(2, 2)
    apart = z.values @ torch.linalg.cholesky(covariance).T
    return TwoVectors(covariance, z._replace(values=apart), z._replace(values=z.values[:, :1].expand(-1, 2, -1)))


@check(two_vectors)
def independence_of_vectors(s: TwoVectors) -> Judgement:
    """Equation S57 needs independent vectors x_i; independent entries within a vector are neither needed nor enough."""
    beta = torch.tensor([1.0, 0.5], dtype=torch.float64)
    expected = squared_norm_of_sum(s.covariance, beta)
    apart, equal = (x.mean((beta @ x.values).square().sum(-1)) / expected for x in (s.apart, s.equal))
    return Judgement(exact("apart", apart, 1), compare("equal", equal, "≠", 1, 0.1))


@check(two_vectors)
def prediction_row_norm(s: TwoVectors) -> Comparisons:
    """Equation S66: ||sum_j beta_j x_j||^2 is not sum_j ||x_j||^2; the expectations agree up to the mean of beta^2."""
    x, ones, beta = s.apart, torch.ones(2, dtype=torch.float64), torch.tensor([0.5, 2.0], dtype=torch.float64)
    separate, together = x.values.square().sum((1, 2)), (ones @ x.values).square().sum(-1)
    weighted = (beta @ x.values).square().sum(-1)
    mean_square = squared_norm_of_sum(s.covariance, beta) / squared_norm_of_sum(s.covariance, ones)
    yield compare("distance", x.mean((together - separate).abs()) / x.mean(separate), "≠", 0, 0.1)
    yield exact("all beta 1", x.mean(together) / x.mean(separate), 1)
    yield exact("coefficients", x.mean(weighted) / x.mean(separate), mean_square)
