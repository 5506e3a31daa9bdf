"""Proposition S1.18 (3) for one head, ``W_q W_k^T`` of low rank: how far directionality scatters at random."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.stats import chi
from torch import Tensor

from attngeo.forms.random_matrices import sample_forms
from attngeo.forms.scores import GAMMA
from attngeo.paper.checks import Judgement, check, exact, monte_carlo

BERT_WIDTH, BERT_HEAD = 768, 64


def threshold(d_head: int, gamma: float = GAMMA) -> float:
    """``mu + gamma sigma`` of a chi variable with d_head degrees of freedom."""
    return float(chi.mean(d_head) + gamma * chi.std(d_head))


def outlying_norm(t: float, d_head: int) -> float:
    """``E[x; x > t]`` for a chi variable x with d_head degrees of freedom."""
    return float(chi.mean(d_head) * chi.sf(t, d_head + 1))  # x times its density is a multiple of the next law's


def sum_influence(x: float, d_head: int, gamma: float = GAMMA) -> float:
    """``x 1[x > t] - m - t f(t) l(x)``: what one row of norm x adds to the sum over the threshold.

    Here ``m = E[x; x > t]``, f is the density, and ``l(x) = x - mu + gamma ((x - mu)^2 - sigma^2) / (2 sigma)`` what
    the row does to the threshold t.
    """
    mean, sd, t = chi.mean(d_head), chi.std(d_head), threshold(d_head, gamma)
    shift = x - mean + gamma * ((x - mean) ** 2 - sd**2) / (2 * sd)
    return float(x * (x > t) - outlying_norm(t, d_head) - t * chi.pdf(t, d_head) * shift)


def influence(x: float, d_head: int, gamma: float = GAMMA) -> float:
    """``sum_influence(x) - (m / 2) (x^2 / d_head - 1)``: less the share in the norms' common scale."""
    m = outlying_norm(threshold(d_head, gamma), d_head)
    return sum_influence(x, d_head, gamma) - m / 2 * (x**2 / d_head - 1)


def mean_square(of: Callable[[float, int, float], float], d_head: int, gamma: float = GAMMA) -> float:
    """Mean square of an influence over chi variables; it jumps at the threshold."""
    t = threshold(d_head, gamma)
    parts = ((0, t), (t, np.inf))
    return sum(chi.expect(lambda x: of(x, d_head, gamma) ** 2, (d_head,), lb=a, ub=b) for a, b in parts)


def head_directionality_sd(n: int, d_head: int, gamma: float = GAMMA) -> float:
    """``sqrt(V / 2) / (m sqrt(n))``: spread of d (Def. 3.2) of a head (n, n) of normal factors, for large n.

    V is the mean square of `influence` and ``m = E[x; x > t]``.
    """
    return math.sqrt(mean_square(influence, d_head, gamma) / 2 / n) / outlying_norm(threshold(d_head, gamma), d_head)


def contaminated_sum(x: float, share: float, d_head: int, gamma: float = GAMMA) -> tuple[float, float]:
    """The sum over the threshold, per row, when a share of the rows has the norm x; and over the root mean square."""
    mean = (1 - share) * chi.mean(d_head) + share * x
    square = (1 - share) * d_head + share * x**2
    t = mean + gamma * math.sqrt(square - mean**2)
    total = (1 - share) * outlying_norm(t, d_head) + share * x * (x > t)
    return total, total / math.sqrt(square / d_head)


class Heads(NamedTuple):
    """Directionality of random heads of one shape."""

    n: int
    d_head: int
    directionality: Tensor  # (draws,)


def random_heads(n: int = 1024, d_head: int = 4, draws: int = 2000, seed: int = 0) -> Heads:
    """Factors of independent normal entries."""
    return Heads(n, d_head, sample_forms(1, n, d_head, draws, seed).directionality)


@check(random_heads)
def directionality_of_heads(heads: Heads) -> Judgement:
    """Ours, beside Proposition S1.18 (3): row norms of a head are chi-distributed, and d scatters accordingly."""
    n, d_head, d = heads
    step, gaps = 1e-6, []
    for x in np.array([0.1, 0.5, 0.9, 1.1, 2]) * threshold(d_head):
        ahead, behind = (np.array(contaminated_sum(x, share, d_head)) for share in (step, -step))
        expected = sum_influence(x, d_head), influence(x, d_head)
        gaps.append(np.abs((ahead - behind) / (2 * step) - expected).max())
    bert = head_directionality_sd(BERT_WIDTH, BERT_HEAD)
    return Judgement(
        exact("integral", mean_square(lambda x, *_: x, d_head), d_head, 1e-6, d_head=d_head),
        exact("influence", max(gaps), 0, 1e-6, d_head=d_head),
        monte_carlo("mean", d, 0, d_head=d_head, n=n),
        monte_carlo("spread", (d / head_directionality_sd(n, d_head)).square(), 1, d_head=d_head, n=n),
        bert_width=BERT_WIDTH,
        bert_head=BERT_HEAD,
        bert_spread=bert,
        in_roots=bert * BERT_WIDTH**0.5,
    )
