"""Section S1.4.5, Theorems S1.14 and 2.4: pairs of tokens, and when their two terms agree."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from attngeo.chapters.symmetric_updates.pair_symmetry import (
    RandomSequence,
    agreement,
    correlated_coefficients,
    frozen_score,
    isotropic_score,
    pair_score,
    random_sequence,
    signs,
)
from attngeo.errors import ParameterError
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparisons, check, compare, exact, monte_carlo
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import exact_coefficients, gradient_sum, relative_error
from attngeo.updates.toy_transformer import LayerGradient, ToyConfig, ToyTransformer


def symmetric_part(m: Tensor) -> Tensor:
    """``S = (M + M^T) / 2``."""
    return (m + m.mT) / 2


def pair_by_parts(forward: Tensor, backward: Tensor, k: Tensor) -> Tensor:
    """``(beta_ij + beta_ji) S_ij + (beta_ij - beta_ji) N_ij`` (Eq. S113), ``K_ij = S_ij + N_ij``."""
    s = symmetric_part(k)
    return (forward + backward) * s + (forward - backward) * (k - s)


@check(random_sequence)
def pair_decomposition(sequence: RandomSequence) -> Comparisons:
    """Theorem S1.14, Eqs. S107-S113: the double sum is a sum over self pairs and over unordered pairs."""
    x, beta = sequence.x, sequence.beta
    total, own = gradient_sum(beta, x), gradient_sum(beta.diagonal().diag(), x)
    i, j = torch.triu_indices(len(x), len(x), 1)
    k = x[i].unsqueeze(-1) * x[j].unsqueeze(-2)  # (pairs, d, d)
    forward, backward = beta[i, j][:, None, None], beta[j, i][:, None, None]
    yield exact("pairs", relative_error(own + (forward * k + backward * k.mT).sum(0), total))
    yield exact("parts", relative_error(own + pair_by_parts(forward, backward, k).sum(0), total))


def pair_at(cosine: float, sequence: RandomSequence) -> tuple[Tensor, Tensor]:
    """Two vectors with a given cosine, as long as the first two embeddings and in the plane of these."""
    x, y = sequence.x[:2]
    along = x / x.norm()
    across = y - (y @ along) * along
    return x, y.norm() * (cosine * along + (1 - cosine**2) ** 0.5 * across / across.norm())


@check(random_sequence, n_tokens=2)
def symmetry_of_a_pair(sequence: RandomSequence) -> Comparisons:
    """Theorem S1.14, Eq. S109: s of one pair is (rho + c^2) / (1 + rho c^2); -1 at every cosine if a = -b."""
    pairs = (1.0, 0.9, 0.0), (1.0, 0.9, 0.6), (1.0, 0.0, 0.3), (1.0, -0.5, 0.5), (1.0, -0.9, 0.999), (0.3, -0.3, 0.999)
    for a, b, cosine in pairs:
        k = torch.outer(*pair_at(cosine, sequence))
        predicted = pair_score(agreement(a, b), cosine)
        yield exact("score", symmetry_score(a * k + b * k.T), predicted, a=a, b=b, cosine=cosine)


def equal_pair(coefficient: Tensor, k: Tensor) -> Tensor:
    """``2 beta_ij S_ij``: a pair with equal coefficients (Eq. S114, corrected)."""
    return 2 * coefficient * symmetric_part(k)


@check(random_sequence, n_tokens=6)
def equal_coefficients(sequence: RandomSequence) -> Comparisons:
    """Equation S114: equal coefficients give 2 beta_ij S_ij, and no sum stands on the side of a single pair."""
    x, beta = sequence.x, 2 * symmetric_part(sequence.beta)
    k = torch.outer(x[0], x[1])
    pair = beta[0, 1] * k + beta[1, 0] * k.T
    printed = symmetric_part(gradient_sum(beta.triu(1), x))
    yield exact("twice", relative_error(equal_pair(beta[0, 1], k), pair))
    yield compare("once", relative_error(beta[0, 1] * symmetric_part(k), pair), "≠", 0, 0.1)
    yield compare("as printed", relative_error(printed, pair), "≠", 0, 0.1)


class GrownMatrix(NamedTuple):
    """A matrix, the embeddings and the equal coefficients of the updates that are added to it."""

    start: Tensor  # (d, d)
    beta: Tensor  # (updates, N, N)
    x: Tensor  # (updates, N, d)


def grown_matrix(d: int = 12, n_tokens: int = 6, n_updates: int = 5, seed: int = 0) -> GrownMatrix:
    """Normal entries; beta_ij = beta_ji."""
    generator = torch.Generator().manual_seed(seed)
    beta = correlated_coefficients(1.0, n_updates, n_tokens, generator)
    shapes = (d, d), (n_updates, n_tokens, d)
    start, x = (torch.randn(*shape, generator=generator, dtype=torch.float64) for shape in shapes)
    return GrownMatrix(start, beta, x)


@check(grown_matrix)
def frozen_skew_part(grown: GrownMatrix) -> Comparisons:
    """Theorem 2.4, "thereby inducing symmetric structures": s follows from the growth of the norm alone."""
    matrices = grown.start + (grown.x.mT @ grown.beta @ grown.x).cumsum(0)
    last, growth = matrices[-1], grown.start.square().sum() / matrices[-1].square().sum()
    yield from (exact("score", symmetry_score(m), frozen_score(grown.start, m), n=n) for n, m in enumerate(matrices, 1))
    yield exact("growth", 1 - symmetry_score(last), (1 - symmetry_score(grown.start)) * growth)


class RandomUpdates(NamedTuple):
    """Coefficients whose two orders of a pair correlate, and embeddings to go with them."""

    rho: float
    beta: Tensor  # (draws, N, N)
    orthonormal: Tensor  # (N, D), D the larger of N and d
    gaussian: Tensor  # (draws, N, d)


def correlated_updates(
    d: int = 48,
    n_tokens: int = 40,
    n_draws: int = 24,
    correlations: Sequence[float] = (-1.0, -0.6, 0.0, 0.6, 1.0),
    seed: int = 0,
) -> list[RandomUpdates]:
    """Updates for every correlation, and in the end those with autoregressive coefficients, of correlation 0."""
    generator = torch.Generator().manual_seed(seed)

    def draw(rho: float) -> RandomUpdates:
        beta = correlated_coefficients(rho, n_draws, n_tokens, generator)
        frame = torch.linalg.qr(torch.randn(max(d, n_tokens), n_tokens, generator=generator, dtype=torch.float64))[0]
        x = torch.randn(n_draws, n_tokens, d, generator=generator, dtype=torch.float64)
        return RandomUpdates(rho, beta, frame.T, x)

    *correlated, last = [draw(rho) for rho in (*correlations, 0.0)]
    return [*correlated, last._replace(beta=last.beta.tril())]


def update_scores(updates: Iterable[RandomUpdates]) -> pd.DataFrame:
    """Columns n_tokens, correlation (of the draw's own coefficients, Tr(BB)/||B||^2), symmetry of ``X^T B X``."""
    pairs = [pair for u in updates for pair in zip(u.beta, u.gaussian, strict=True)]
    rows = [(len(b), symmetry_score(b), symmetry_score(gradient_sum(b, x))) for b, x in pairs]
    return pd.DataFrame(rows, columns=["n_tokens", "correlation", "symmetry"])


def mean_score(beta: Tensor, d: int) -> float:
    """``E Tr(dW dW) / E ||dW||^2`` of given coefficients; coordinates are random signs, whose scale cancels."""
    x = signs(len(beta), d).to(beta)
    updates = x.mT @ beta @ x
    return float((updates * updates.mT).sum() / updates.square().sum())


@check(correlated_updates)
def symmetry_of_an_update(updates: list[RandomUpdates]) -> Comparisons:
    """s(Delta W) is the correlation of beta_ij with beta_ji: exactly for orthonormal embeddings, to 1/d for others."""
    *correlated, autoregressive = updates
    for u in correlated:
        gaps = [symmetry_score(gradient_sum(b, u.orthonormal)) - symmetry_score(b) for b in u.beta[:4]]
        yield exact("orthonormal", max(map(abs, gaps)), rho=u.rho)
    for u in updates:
        beta = u.beta[0, :3, :3]
        rho = symmetry_score(beta)
        key = "autoregressive" if u is autoregressive else "independent"
        yield from (exact(key, mean_score(beta, d), isotropic_score(rho, d), rho=rho, d=d) for d in (2, 3))


def random_gradients(
    objective: Objective | str = Objective.BIDIRECTIONAL,
    d: int = 32,
    n_tokens: int = 32,
    n_draws: int = 30,
    seed: int = 0,
) -> list[LayerGradient]:
    """Gradients of an objective through one layer with random weights and no positions.

    Raises:
        ParameterError: fewer than three tokens.
    """
    if n_tokens < 3:
        raise ParameterError(f"{n_tokens} tokens are too few to correlate; n_tokens must be at least 3.")
    config = ToyConfig(d=d, n_heads=1, n_layers=1, n_tokens=n_tokens, n_vocab=8 * n_tokens, d_mlp=0)
    gradients = []
    for draw in range(seed, seed + n_draws):
        model = ToyTransformer.random(config, draw)
        model = replace(model, wp=torch.zeros_like(model.wp))
        gradients.append(model.example(objective, draw).gradient(0))
    return gradients


def agreements(gradients: Iterable[LayerGradient], with_itself: bool = False) -> list[float]:
    """``sum beta_ij beta_ji / sum beta_ij^2`` of each, without or with the pairs of a position with itself."""
    found = []
    for g in gradients:
        beta = exact_coefficients(g.layer.weights[0], g.layer.values[0], g.errors, scale=1.0)  # no scale correlates
        found.append(symmetry_score(beta if with_itself else beta - beta.diagonal().diag()))
    return found


def gradients_by_objective(**sizes: int) -> dict[Objective, list[LayerGradient]]:
    """`random_gradients` of training in both directions and in one."""
    return {o: random_gradients(o, **sizes) for o in (Objective.BIDIRECTIONAL, Objective.AUTOREGRESSIVE)}


@check(gradients_by_objective)
def agreement_at_random_weights(gradients: dict[Objective, list[LayerGradient]]) -> Comparisons:
    """Theorem 2.4: beta_ij = beta_ji is an assumption; exact gradients at random weights give a correlation near 0."""
    correlations = agreements(gradients[Objective.BIDIRECTIONAL])
    yield monte_carlo("correlation", correlations, 0.1, "<")
    yield monte_carlo("from below", correlations, -0.1, ">")
    encoder, decoder = (torch.tensor(agreements(found, with_itself=True)) for found in gradients.values())
    yield monte_carlo("with itself", (decoder - encoder).tolist(), 0, ">")
