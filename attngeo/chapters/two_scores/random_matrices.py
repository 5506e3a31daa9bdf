"""Propositions S1.17 (3) and S1.18 (3), section 4.1: both scores of random matrices."""

import math
from collections.abc import Sequence
from typing import NamedTuple

import pandas as pd
import torch
from scipy.stats import binom, halfnorm, norm
from torch import Tensor

from attngeo.chapters.two_scores.symmetry_law import negative_symmetry_share
from attngeo.forms.random_matrices import directionality_sd, sample_dense, sample_forms, symmetry_mean, symmetry_sd
from attngeo.forms.scores import GAMMA, Convention, Scores, directionality_score, score_batch
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact, monte_carlo

BERT_WIDTH = 768


def closed_forms(sizes: Sequence[int], gamma: float = GAMMA) -> pd.DataFrame:
    """Mean and spread of s, and spread of d by Def. 3.2 and by the excess over the threshold; one row per size."""
    return pd.DataFrame(
        {
            "rows": sizes,
            "mean $s$": [symmetry_mean(n) for n in sizes],
            "spread of $s$": [symmetry_sd(n) for n in sizes],
            "spread of $d$, definition": [directionality_sd(n, gamma) for n in sizes],
            "spread of $d$, released": [directionality_sd(n, gamma, Convention.RELEASED) for n in sizes],
        }
    )


class Drawn(NamedTuple):
    """Scores of random matrices of one size."""

    n: int  # rows
    scores: Scores  # fields (draws,)


def dense_matrices(n: int = 32, draws: int = 1000, seed: int = 0) -> Drawn:
    """Independent standard normal entries."""
    return Drawn(n, sample_dense(n, draws, seed))


class KnownLaws(NamedTuple):
    """Symmetry of normal matrices, and of every matrix with few entries, all as likely."""

    normal: Drawn
    entries: dict[int, Tensor]  # every (n, n) matrix of entries -2, -1, 1, 2, by n
    product: Tensor  # every W_q W_k^T of factors (3, 1) with these entries


def matrices_of_known_laws(n: int = 32, draws: int = 1000, seed: int = 0) -> KnownLaws:
    """Normal entries are drawn, the others enumerated."""

    def every(*shape: int) -> Tensor:
        values = torch.tensor([-2.0, -1.0, 1.0, 2.0], dtype=torch.float64)
        return torch.cartesian_prod(*[values] * math.prod(shape)).view(-1, *shape)

    wq, wk = every(2, 3, 1).unbind(1)
    entries = {size: score_batch(every(size, size)).symmetry for size in (2, 3)}
    return KnownLaws(dense_matrices(n, draws, seed), entries, score_batch(wq @ wk.mT).symmetry)


@check(matrices_of_known_laws)
def symmetry_of_random_matrices(s: KnownLaws) -> Comparisons:
    """Proposition S1.17 (3), Eq. S137: ``E s = 1 / n``, and not the printed 8 / n."""
    n, scaled = s.normal.n, s.normal.n * s.normal.scores.symmetry
    yield monte_carlo("normal", scaled, n * symmetry_mean(n))
    yield from (exact("entries", found.mean(), symmetry_mean(size), n=size) for size, found in s.entries.items())
    yield exact("product", s.product.mean(), symmetry_mean(3))
    yield monte_carlo("as printed", scaled, 8, "≠")
    yield monte_carlo("with its factor", 2 * scaled, 8, "≠")


@check(dense_matrices)
def side_from_which_symmetry_vanishes(drawn: Drawn) -> Judgement:
    """Eq. S137, last clause: the mean of s is positive, yet one random matrix in four has s < 0."""
    n, s = drawn.n, drawn.scores.symmetry
    limit, large = norm.cdf(-(2**-0.5)), 4096
    return Judgement(
        monte_carlo("mean", s, 0, ">"),
        monte_carlo("negative", (s < 0).double(), negative_symmetry_share(n), n=n),
        compare("limit", negative_symmetry_share(large), "=", limit, 1e-4, large=large),
        limit=limit,
    )


def untrained_layers(d: int = 256, n_heads: int = 4, draws: int = 150, seed: int = 0) -> Drawn:
    """Layers with normal weights, heads summed."""
    return Drawn(d, sample_forms(n_heads, d, d // n_heads, draws, seed))


@check(untrained_layers)
def scores_at_initialisation(layers: Drawn) -> Judgement:
    """Section 4.1: at initialisation symmetry is 1/d +- sqrt(2)/d, directionality 0 +- several / sqrt(d)."""
    d, s, direction = layers.n, layers.scores.symmetry, layers.scores.directionality
    rate, scatter = d * symmetry_mean(d), float(direction.std())
    return Judgement(
        monte_carlo("symmetry", d * s, rate),
        monte_carlo("squared spread", (d * s - rate).square(), 2),
        monte_carlo("directionality", direction, 0),
        monte_carlo("magnitude", direction.abs(), d**-0.5, ">"),
        d=d,
        scatter=scatter,
        in_roots=scatter * d**0.5,
    )


class TwoSizes(NamedTuple):
    """Normal matrices of two sizes, and one of random signs."""

    small: Drawn
    large: Drawn
    signs: Tensor


def matrices_of_two_sizes(n: int = 256, draws: int = 200, seed: int = 0) -> TwoSizes:
    """With n / 4 and n rows."""
    small, large = (dense_matrices(size, draws, seed + size) for size in (n // 4, n))
    signs = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).sign()
    return TwoSizes(small, large, signs)


@check(matrices_of_two_sizes)
def directionality_of_random_matrices(sample: TwoSizes) -> Judgement:
    """Proposition S1.18 (3): d has mean 0 at every size, and a spread that falls as n^(-1/2)."""
    n, spread = sample.large.n, directionality_sd(sample.large.n)
    small, large = (drawn.scores.directionality for drawn in (sample.small, sample.large))
    return Judgement(
        monte_carlo("small", small, 0),
        monte_carlo("large", large, 0),
        monte_carlo("spread", (large / spread).square(), 1),
        monte_carlo("fall", large.square(), float(small.square().mean()) / 2, "<"),
        exact("signs", directionality_score(sample.signs)),
        small=sample.small.n,
        n=n,
        gamma=GAMMA,
        spread=spread,
        in_roots=spread * n**0.5,
        bert_width=BERT_WIDTH,
        bert_spread=directionality_sd(BERT_WIDTH),
    )


@check(dense_matrices, n=128, draws=300)
def one_random_matrix_has_a_direction(drawn: Drawn) -> Comparisons:
    """Equations S144, S145: the means of r and c agree, which leaves the score of one random matrix free."""
    d = drawn.scores.directionality
    typical = halfnorm.mean() * directionality_sd(drawn.n)  # mean magnitude of a normal variable
    yield monte_carlo("mean", d, 0)
    yield monte_carlo("magnitude", d.abs(), 0, "≠")
    yield monte_carlo("half", d.abs(), typical / 2, ">")
    yield monte_carlo("twice", d.abs(), typical * 2, "<")


class UnevenRows(NamedTuple):
    """Matrices ``r_i e_ij``, signs e and every pattern of lengths r_i in {1, 10}, with the chance of each pattern."""

    matrices: Tensor  # (2^n, n, n)
    chances: Tensor  # (2^n,), of length 10 with probability 1/n, independently


def every_pattern_of_lengths(n: int = 9, seed: int = 0) -> UnevenRows:
    """By enumeration: norms of rows and columns do not depend on the signs."""
    signs = torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).sign()
    long = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * n)
    return UnevenRows((1 + 9 * long)[:, :, None] * signs, (long / n + (1 - long) * (1 - 1 / n)).prod(1))


def chance_of_outlying_rows(n: int, gamma: float = GAMMA) -> float:
    """``Pr[0 < k < n / (1 + gamma^2)]``, k of n long rows: so few exceed mean plus gamma standard deviations."""
    return float(binom.cdf(math.ceil(n / (1 + gamma**2)) - 1, n, 1 / n) - binom.pmf(0, n, 1 / n))


@check(every_pattern_of_lengths)
def equal_marginals_are_not_enough(sample: UnevenRows) -> Comparisons:
    """Equation S142: one law for all entries does not give M and M^T one law; rows of uneven length have d = 1."""
    m, chances = sample
    scores, n = score_batch(torch.cat([m, m.mT])).directionality, m.shape[-1]
    at_ten = torch.einsum("p,pij->ij", chances, (m.abs() == 10).double())
    yield exact("marginal", at_ten.max() - at_ten.min())
    yield exact("mean", chances @ scores[: len(m)], chance_of_outlying_rows(n), n=n)
    yield exact("transposed", chances @ (scores[: len(m)] + scores[len(m) :]) / 2)
