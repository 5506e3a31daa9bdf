"""What makes columns dominate: a difference between the query side and what arrives from the key side."""

from dataclasses import replace
from typing import NamedTuple

import torch
from torch import Tensor

from attngeo.chapters.column_dominance.enumeration import Outcomes, coordinates, signs
from attngeo.chapters.column_dominance.expected_norms import error_squared_norms, fourth_moments
from attngeo.chapters.column_dominance.measures import axis_alignment, directionalities, log_unevenness, unevenness
from attngeo.chapters.column_dominance.models import matrix_normal, rotated
from attngeo.paper.checks import Comparisons, check, compare, exact, monte_carlo
from attngeo.updates.norms import squared_norms
from attngeo.updates.objectives import Objective, context_matrix
from attngeo.updates.random_updates import Coefficients, Law, UpdateModel, power_profile
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer


class UnevenSides(NamedTuple):
    """Independent coefficients on all pairs of queries and keys."""

    every: tuple[Tensor, Tensor, Outcomes]  # S_Q, S_K (2, 2), updates (outcomes, 2, 2)
    updates: dict[str, Tensor]  # which second moment is uneven, the other being I -> (draws, d, d)
    turned: Tensor  # the uneven moment in generic bases, (draws, d, d)


def uneven_sides(d: int = 48, exponent: float = 0.5, n_draws: int = 120, seed: int = 0) -> UnevenSides:
    """Gaussian coefficients; the uneven moment falls like ``k^-exponent``."""
    generator = torch.Generator().manual_seed(seed)
    even, uneven = torch.eye(d, dtype=torch.float64), torch.diag(power_profile(d, exponent))
    moments = {"keys": (even, uneven), "queries": (uneven, even), "generic keys": (even, rotated(uneven, generator))}
    updates = {name: matrix_normal(q, k, n_draws, generator) for name, (q, k) in moments.items()}
    z = coordinates(2, 2)
    queries = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)  # one a row
    keys = torch.tensor([[1.0, 2.0], [-0.5, 1.0]], dtype=torch.float64)
    every = queries.T @ queries, keys.T @ keys, z._replace(values=queries.T @ z.values @ keys)
    return UnevenSides(every, updates, torch.stack([rotated(uneven, generator) for _ in range(n_draws)]))


@check(uneven_sides)
def directionality_condition(s: UnevenSides) -> Comparisons:
    """Columns dominate if the second moment of the keys is more axis-aligned than that of the queries."""
    queries, keys, every = s.every
    of_rows, of_columns = (every.mean(squared.square().sum(-1)) for squared in squared_norms(every.values))
    rows, columns = fourth_moments(queries, keys)
    signs = {"keys": "<", "queries": ">", "generic keys": "="}
    yield exact("rows", of_rows, rows)
    yield exact("columns", of_columns, columns)
    yield exact("ratio", of_columns / of_rows, axis_alignment(keys) / axis_alignment(queries))
    for name in signs:
        yield monte_carlo(f"{name}, directionality", directionalities(s.updates[name]), 0, signs[name])
    yield monte_carlo("alignment", [axis_alignment(moment) for moment in s.turned], 1)


class ConstantToken(NamedTuple):
    """Updates (draws, d, d) by sequences that begin with one token."""

    by_law: dict[Law, Tensor]  # its embedding has coordinates of the law of all others
    among_uneven: Tensor  # Gaussian and of equal variances; the variances of all others differ
    outlying: Tensor  # its embedding has three outlying coordinates


def constant_token(
    d: int = 48, n_tokens: int = 16, strength: float = 3.0, n_draws: int = 200, seed: int = 0
) -> ConstantToken:
    """Autoregressive updates of embeddings of equal variances; the first token is ``strength`` times as long."""
    generator, even = torch.Generator().manual_seed(seed), torch.eye(d, dtype=torch.float64)
    outlying = torch.randn(n_draws, d, generator=generator, dtype=torch.float64)
    outlying[:, :3] *= 8
    by_law = {}
    for law in (Law.GAUSSIAN, Law.LAPLACE, Law.UNIFORM):
        first = strength * law.draw(n_draws, d, generator=generator)
        by_law[law] = UpdateModel(even, n_tokens=n_tokens, law=law, first_token=first).draw(n_draws, generator)
    model = UpdateModel(even, n_tokens=n_tokens, first_token=outlying)
    first = strength * torch.randn(n_draws, d, generator=generator, dtype=torch.float64)
    uneven = UpdateModel(torch.diag(power_profile(d, 1.0)), n_tokens=n_tokens, first_token=first)
    return ConstantToken(by_law, uneven.draw(n_draws, generator), model.draw(n_draws, generator))


@check(constant_token)
def constant_context_token(s: ConstantToken) -> Comparisons:
    """One context token in every sequence: among isotropic embeddings the kurtosis of its own decides what it does."""
    signs = {Law.GAUSSIAN: "=", Law.LAPLACE: ">", Law.UNIFORM: "<"}
    rows, columns = (squared.amax(-1) for squared in squared_norms(s.outlying))
    for law, batch in s.by_law.items():
        yield monte_carlo("law", log_unevenness(batch), 0, signs[law], law=law.value, kurtosis=law.kurtosis)
    yield monte_carlo("among uneven", log_unevenness(s.among_uneven), 0, "<")
    yield monte_carlo("outlying, unevenness", log_unevenness(s.outlying), 0, ">")
    yield monte_carlo("outlying, largest", (columns / rows).log() / 2, 0, ">")


class ErrorOutcomes(NamedTuple):
    """Every outcome of updates by three tokens with ``beta_ij = delta_i^T x_j``, errors independent of embeddings."""

    covariance: Tensor  # Sigma, not diagonal, (2, 2)
    updates: dict[Objective, Outcomes]  # (outcomes, 2, 2)


def error_outcomes(n_tokens: int = 3) -> ErrorOutcomes:
    """Embeddings with the moments of Gaussian ones; few tokens, so that n (n + 1) is far from n^2."""
    root = torch.tensor([[1.0, 0.0], [0.5, 0.5]], dtype=torch.float64)
    z, errors = coordinates(n_tokens, 2), signs(n_tokens * 2).view(-1, n_tokens, 2) / 2**0.5
    x = (z.values @ root.T)[:, None]
    probability, updates = z.probability.repeat_interleave(len(errors)) / len(errors), {}
    for objective in (Objective.AUTOREGRESSIVE, Objective.BIDIRECTIONAL):
        beta = errors @ x.mT * context_matrix(objective, n_tokens)
        updates[objective] = Outcomes((x.mT @ beta @ x).flatten(0, 1), probability)
    return ErrorOutcomes(root @ root.T, updates)


class IndependentErrors(NamedTuple):
    """Small updates in every outcome, and larger ones of independent coordinates drawn at random."""

    every: ErrorOutcomes
    updates: dict[Objective, Tensor]  # (draws, d, d)
    correlated: Tensor  # a covariance (4, 4) of three correlated coordinates of small variance and one of large


def updates_of_errors(
    d: int = 16, n_tokens: int = 12, exponent: float = 1.0, n_draws: int = 1000, seed: int = 0
) -> IndependentErrors:
    """Autoregressive and bidirectional pairs; variances fall like ``k^-exponent``."""
    covariance, generator = torch.diag(power_profile(d, exponent)), torch.Generator().manual_seed(seed)
    updates = {}
    for objective in (Objective.AUTOREGRESSIVE, Objective.BIDIRECTIONAL):
        model = UpdateModel(covariance, objective, n_tokens, n_sequences=4, coefficients=Coefficients.ERROR)
        updates[objective] = model.draw(n_draws, generator)
    block = torch.full((3, 3), 0.9, dtype=torch.float64).fill_diagonal_(1.0)
    return IndependentErrors(error_outcomes(), updates, torch.block_diag(torch.tensor([[2.0]]).double(), block))


@check(updates_of_errors)
def independent_errors(s: IndependentErrors) -> Comparisons:
    """With beta_ij = delta_i^T x_j and errors independent of the embeddings columns dominate, for every objective."""
    for objective, every in s.every.updates.items():
        sizes = context_matrix(objective, n_tokens=3).sum(-1).tolist()
        expected = error_squared_norms(s.every.covariance, sizes)
        for side, norms, values in zip(("row", "column"), squared_norms(every.values), expected, strict=True):
            yield from (exact(side, every.mean(norms)[k], values[k], objective=objective, k=k + 1) for k in (0, 1))
    for objective, batch in s.updates.items():
        yield monte_carlo("unevenness", log_unevenness(batch), 0, ">", objective=objective)
    rows, columns = map(unevenness, error_squared_norms(s.correlated, [1]))
    yield compare("correlated", columns, "<", rows, 0.01)


class FirstUpdates(NamedTuple):
    """Gradients (draws, d, d) of a Transformer at random weights."""

    equal: Tensor  # variances of the embedding's coordinates; autoregressive
    unequal: dict[Objective, Tensor]


def first_updates(
    d: int = 32, n_tokens: int = 48, exponent: float = 1.0, n_draws: int = 40, seed: int = 0
) -> FirstUpdates:
    """One head, one layer, no positions; unequal variances fall like ``k^-exponent``."""
    config = ToyConfig(d=d, n_heads=1, n_layers=1, n_tokens=n_tokens, n_vocab=4 * n_tokens, d_mlp=0)

    def gradients(objective: Objective, exponent: float) -> Tensor:
        profile, result = power_profile(d, exponent).sqrt(), []
        for draw in range(seed, seed + n_draws):
            model = ToyTransformer.random(config, draw)
            model = replace(model, we=model.we.detach() * profile, wp=torch.zeros_like(model.wp))
            result.append(model.example(objective, draw).gradient(0).w_qk[0])
        return torch.stack(result)

    kinds = (Objective.AUTOREGRESSIVE, Objective.BIDIRECTIONAL)
    return FirstUpdates(gradients(Objective.AUTOREGRESSIVE, 0.0), {o: gradients(o, exponent) for o in kinds})


@check(first_updates)
def exact_gradients(s: FirstUpdates) -> Comparisons:
    """Gradients of a Transformer at random weights: unequal variances give columns, with both objectives."""
    yield monte_carlo("equal", log_unevenness(s.equal), 0)
    yield from (monte_carlo("unequal", log_unevenness(g), 0, ">", objective=o) for o, g in s.unequal.items())
