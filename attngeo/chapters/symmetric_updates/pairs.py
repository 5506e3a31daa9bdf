"""Section S1.4.5, Theorems S1.14 and 2.4: pairs of tokens, and when their two terms agree."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from attngeo.chapters.symmetric_updates.pair_symmetry import (
    agreement,
    correlated_coefficients,
    isotropic_score,
    pair_score,
)
from attngeo.errors import ParameterError
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import exact_coefficients, gradient_sum, relative_error
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

CHAPTER = "symmetric_updates"


def _parts(m: Tensor) -> tuple[Tensor, Tensor]:
    return (m + m.mT) / 2, (m - m.mT) / 2


@claim
def pair_decomposition(d: int = 16, n_tokens: int = 9, seed: int = 0, sign: float = 1.0) -> Result:
    """Theorem S1.14, Eqs. S107-S113: the double sum is a sum over self pairs and over unordered pairs."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_tokens, d, generator=generator, dtype=torch.float64)
    beta = torch.randn(n_tokens, n_tokens, generator=generator, dtype=torch.float64)
    total = gradient_sum(beta, x)
    own, pairs, split = (torch.zeros(d, d, dtype=torch.float64) for _ in range(3))
    for i in range(n_tokens):
        own = own + beta[i, i] * torch.outer(x[i], x[i])
        for j in range(i + 1, n_tokens):
            k = torch.outer(x[i], x[j])
            symmetric, skew = _parts(k)
            pairs = pairs + beta[i, j] * k + beta[j, i] * k.T
            split = split + (beta[i, j] + beta[j, i]) * symmetric + sign * (beta[i, j] - beta[j, i]) * skew
    return Result(
        statement="S1.14",
        part="Eqs. S107-S113",
        title="the update as a sum over pairs",
        verdict=Verdict.HOLDS,
        comparisons=(
            exact("Eqs. S111, S112: relative error", relative_error(own + pairs, total), 0),
            exact("Eq. S113: relative error", relative_error(own + split, total), 0),
        ),
        remark="The text speaks of pairs from 0 to $N$, the sums run from 1 to $N$.",
        chapter=CHAPTER,
    )


def _pair_of(cosine: float, d: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Two vectors of random lengths with a given cosine."""
    z = torch.linalg.qr(torch.randn(d, 2, generator=generator, dtype=torch.float64))[0]
    lengths = 0.5 + torch.rand(2, generator=generator, dtype=torch.float64)
    return lengths[0] * z[:, 0], lengths[1] * (cosine * z[:, 0] + (1 - cosine**2) ** 0.5 * z[:, 1])


@claim
def symmetry_of_a_pair(d: int = 16, seed: int = 0, predicted: Callable[[float, float], float] = pair_score) -> Result:
    """Theorem S1.14, Eq. S109: s of one pair is (rho + c^2) / (1 + rho c^2); close to 1 only if rho or c is."""
    generator = torch.Generator().manual_seed(seed)
    comparisons = []
    for a, b, cosine in ((1.0, 0.9, 0.0), (1.0, 0.9, 0.6), (1.0, 0.0, 0.3), (1.0, -0.5, 0.5), (0.3, -0.3, 0.9)):
        x, y = _pair_of(cosine, d, generator)
        measured = symmetry_score(a * torch.outer(x, y) + b * torch.outer(y, x))
        name = f"s of a pair, beta = {a:g} and {b:g}, cosine {cosine:g}"
        comparisons.append(exact(name, measured, predicted(agreement(a, b), cosine)))
    return Result(
        statement="S1.14",
        part="Eq. S109",
        title="the term of a pair is approximately symmetric",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="Every pair contributes an approximately symmetric term.",
        corrected="The symmetry score of a pair is $(\\rho + c^2)/(1 + \\rho c^2)$ with $\\rho = "
        "2\\beta_{ij}\\beta_{ji} / (\\beta_{ij}^2 + \\beta_{ji}^2)$ and $c = \\cos(x_i, x_j)$. It is near 1 if "
        "$\\beta_{ij} \\approx \\beta_{ji}$ or the embeddings are nearly parallel.",
        remark="The proof assumes $\\beta_{ij} \\approx \\beta_{ji}$; the training objective is not used for it. A "
        "pair of autoregressive training has $\\beta_{ji} = 0$ and the score $c^2$.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def equal_coefficients(d: int = 16, n_tokens: int = 6, seed: int = 0, factor: float = 2.0) -> Result:
    """Equation S114: equal coefficients give 2 beta_ij S_ij, and no sum stands on the side of a single pair."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_tokens, d, generator=generator, dtype=torch.float64)
    beta = torch.randn(n_tokens, n_tokens, generator=generator, dtype=torch.float64)
    beta = beta + beta.T
    k = torch.outer(x[0], x[1])
    pair = beta[0, 1] * k + beta[1, 0] * k.T
    symmetric = _parts(k)[0]
    everything = sum(
        beta[i, j] * _parts(torch.outer(x[i], x[j]))[0] for i in range(n_tokens) for j in range(i + 1, n_tokens)
    )
    return Result(
        statement="S1.14",
        part="Eq. S114",
        title="one pair with equal coefficients",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact(
                "the pair against 2 beta S: relative error", relative_error(factor * beta[0, 1] * symmetric, pair), 0
            ),
            Comparison("against beta S", relative_error(beta[0, 1] * symmetric, pair), "≠", 0.0, 0.1),
            Comparison("against the printed sum over all pairs", relative_error(everything, pair), "≠", 0.0, 0.1),
        ),
        printed="$\\Delta W|_{t_i \\leftrightarrow t_j} \\approx \\sum_{i<j} \\beta_{ij} S_{ij}$",
        corrected="$\\Delta W|_{t_i \\leftrightarrow t_j} \\approx 2\\beta_{ij} S_{ij}$",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def symmetry_of_an_update(
    d: int = 48,
    n_tokens: int = 40,
    n_draws: int = 24,
    seed: int = 0,
    predicted: Callable[[float, int], float] | None = None,
) -> Result:
    """s(Delta W) is the correlation of beta_ij with beta_ji: exactly for orthonormal embeddings, to 1/d for others."""
    predicted = predicted or isotropic_score
    generator = torch.Generator().manual_seed(seed)
    comparisons = []
    for rho in (-1.0, -0.6, 0.0, 0.6, 1.0):
        beta = correlated_coefficients(rho, n_draws, n_tokens, generator)
        frame = torch.linalg.qr(torch.randn(max(d, n_tokens), n_tokens, generator=generator, dtype=torch.float64))[0].T
        gap = max(abs(symmetry_score(frame.T @ b @ frame) - symmetry_score(b)) for b in beta[:4])
        comparisons.append(exact(f"orthonormal embeddings, correlation {rho:g}: s(Delta W) - s(beta)", gap, 0))
        if abs(rho) == 1:  # symmetric or skew whatever the embeddings
            continue
        x = torch.randn(n_draws, n_tokens, d, generator=generator, dtype=torch.float64) / d**0.5
        residuals = [
            symmetry_score(one.T @ b @ one) - predicted(symmetry_score(b), d) for one, b in zip(x, beta, strict=True)
        ]
        comparisons.append(monte_carlo(f"Gaussian embeddings, correlation {rho:g}: s less the formula", residuals, 0))
    autoregressive = torch.randn(n_draws, n_tokens, n_tokens, generator=generator, dtype=torch.float64).tril(-1)
    scores = [symmetry_score(one.T @ b @ one) for one, b in zip(x, autoregressive, strict=True)]
    comparisons.append(monte_carlo("autoregressive pairs, Gaussian embeddings", scores, predicted(0.0, d)))
    return Result(
        statement="S1.14",
        part="(score of the whole update)",
        title="how symmetric the update of a sequence is",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="The update is approximately symmetric, without a measure of how much.",
        corrected="$s(\\Delta W) = \\rho = \\sum \\beta_{ij}\\beta_{ji} / \\sum \\beta_{ij}^2$ for orthonormal "
        "embeddings, and $(\\rho + 1/d)/(1 + \\rho/d)$ on average for isotropic ones.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def agreement_at_random_weights(
    d: int = 32, n_tokens: int = 32, n_draws: int = 30, seed: int = 0, tied_errors: bool = False
) -> Result:
    """Theorem 2.4: beta_ij = beta_ji is an assumption; exact gradients at random weights give a correlation near 0."""
    if n_tokens < 3:
        raise ParameterError(f"{n_tokens} tokens are too few to correlate; n_tokens must be at least 3.")
    config = ToyConfig(d=d, n_heads=1, n_layers=1, n_tokens=n_tokens, n_vocab=8 * n_tokens, d_mlp=0)
    off = ~torch.eye(n_tokens, dtype=torch.bool)
    correlations = []
    for draw in range(n_draws):
        model = ToyTransformer.random(config, seed + draw)
        model = replace(model, wp=torch.zeros_like(model.wp))
        gradient = model.example(Objective.BIDIRECTIONAL, seed + draw).gradient(0)
        layer = gradient.layer
        beta = exact_coefficients(layer.weights[0], layer.values[0], gradient.errors, config.score_scale)
        if tied_errors:  # the assumption of the theorem, planted
            beta = beta + beta.T
        correlations.append(float((beta * beta.T)[off].sum() / beta[off].square().sum()))
    return Result(
        statement="2.4",
        part="",
        title="bidirectional training leads to symmetric weight updates, informally",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            monte_carlo(
                "correlation of beta_ij with beta_ji, exact gradients at random weights", correlations, 0.1, "<"
            ),
            monte_carlo("the same from below", correlations, -0.1, ">"),
        ),
        printed="Every pair contributes an approximately symmetric term.",
        corrected="The update is as symmetric as $\\beta_{ij}$ and $\\beta_{ji}$ are correlated; that they are has "
        "to come from the weights and the data, and at random weights they are not.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )
