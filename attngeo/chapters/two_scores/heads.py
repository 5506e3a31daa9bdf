"""Proposition S1.18 (3) for one head, ``W_q W_k^T`` of low rank: how far directionality scatters at random."""

import math
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


def influence(x: float, d_head: int, gamma: float = GAMMA) -> float:
    """``x 1[x > t] - m - t f(t) l(x) - (m / 2) (x^2 / d_head - 1)``: what one row of norm x adds to the sum of a head.

    Here ``m = E[x; x > t]``, f is the density, and ``l(x) = x - mu + gamma ((x - mu)^2 - sigma^2) / (2 sigma)`` what
    the row does to the threshold t. The last term is its share in the scale of W_q, which rows and columns have in
    common.
    """
    mean, sd, t = chi.mean(d_head), chi.std(d_head), threshold(d_head, gamma)
    m, shift = outlying_norm(t, d_head), x - mean + gamma * ((x - mean) ** 2 - sd**2) / (2 * sd)
    return float(x * (x > t) - m - t * chi.pdf(t, d_head) * shift - m / 2 * (x**2 / d_head - 1))


def head_directionality_sd(n: int, d_head: int, gamma: float = GAMMA) -> float:
    """``sqrt(V / 2) / (m sqrt(n))``: spread of d (Def. 3.2) of a head (n, n) of normal factors, for large n.

    V is the mean square of `influence` and ``m = E[x; x > t]``.
    """
    t = threshold(d_head, gamma)

    def square(x: float) -> float:
        return influence(x, d_head, gamma) ** 2

    v = chi.expect(square, (d_head,), lb=0, ub=t) + chi.expect(square, (d_head,), lb=t)
    return math.sqrt(v / 2 / n) / outlying_norm(t, d_head)


def contaminated_sum(x: float, share: float, d_head: int, gamma: float = GAMMA) -> float:
    """The sum over the threshold, per row and over the root mean square, when a share of the rows has the norm x."""
    mean = (1 - share) * chi.mean(d_head) + share * x
    square = (1 - share) * d_head + share * x**2
    t = mean + gamma * math.sqrt(square - mean**2)
    return ((1 - share) * outlying_norm(t, d_head) + share * x * (x > t)) / math.sqrt(square / d_head)


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
    step, t = 1e-6, threshold(d_head)
    slopes = [
        (contaminated_sum(x, step, d_head) - contaminated_sum(x, -step, d_head)) / (2 * step) - influence(x, d_head)
        for x in np.array([0.1, 0.5, 0.9, 1.1, 2]) * t
    ]
    bert = head_directionality_sd(BERT_WIDTH, BERT_HEAD)
    return Judgement(
        exact("influence", max(map(abs, slopes)), 0, 1e-6, d_head=d_head),
        monte_carlo("mean", d, 0, d_head=d_head, n=n),
        monte_carlo("spread", (d / head_directionality_sd(n, d_head)).square(), 1, d_head=d_head, n=n),
        bert_width=BERT_WIDTH,
        bert_head=BERT_HEAD,
        bert_spread=bert,
        in_roots=bert * BERT_WIDTH**0.5,
    )
