"""Definition 3.2 and Proposition S1.18 (1), (2): the directionality score, its range and what its sign says."""

import math
from typing import NamedTuple

import torch
from scipy.stats import halfnorm, norm
from torch import Tensor

from attngeo.chapters.two_scores.heads import mean_square, sum_influence
from attngeo.errors import ParameterError
from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import GAMMA, Scores, directionality_score, score, score_batch, score_heads
from attngeo.paper.checks import Judgement, check, compare, exact, monte_carlo

LEAST_ROWS = 640  # with which the signs of all three conventions are plain behind one strong column


def sums_over_threshold(m: Tensor, gamma: float = GAMMA) -> tuple[float, float]:
    """``r`` and ``c`` of Def. 3.2, written out: sums of the row, column norms above mean + gamma sd."""
    sums = []
    for norms in (m.square().sum(1).sqrt(), m.square().sum(0).sqrt()):
        threshold = norms.mean() + gamma * ((norms - norms.mean()) ** 2).mean().sqrt()
        sums.append(float(norms[norms > threshold].sum()))
    return sums[0], sums[1]


def written_out(m: Tensor, gamma: float = GAMMA) -> float:
    """``(r - c) / (r + c)``, and 0 where both are 0."""
    r, c = sums_over_threshold(m, gamma)
    return (r - c) / (r + c) if r + c else 0.0


def uneven_matrices(n: int = 32, draws: int = 300, seed: int = 0) -> list[Tensor]:
    """Normal matrices with rows or columns, or both, scaled at random, so that d takes all values in [-1, 1]."""
    generator = torch.Generator().manual_seed(seed)
    found = []
    for draw in range(draws):
        m = torch.randn(n, n, generator=generator, dtype=torch.float64)
        rows, columns = torch.randn(2, n, generator=generator, dtype=torch.float64).exp()
        found.append((rows[:, None] if draw % 3 else 1) * m * (columns if draw % 3 != 1 else 1))
    return found


@check(uneven_matrices, n=48, draws=40)
def directionality_as_defined(matrices: list[Tensor]) -> Judgement:
    """Definition 3.2, term by term, and how much the threshold parameter gamma, which has no printed value, matters."""
    worst = max(abs(directionality_score(m, g) - written_out(m, g)) for m in matrices for g in (1.0, 2.0, 3.0))
    moved = max(abs(directionality_score(m, 1.0) - directionality_score(m, 2.0)) for m in matrices)
    return Judgement(
        exact("definition", worst),
        exact("zero", directionality_score(torch.zeros(4, 4))),
        compare("moved", moved, ">", 0.1),
        gamma=GAMMA,
    )


class RowsBehindOneColumn(NamedTuple):
    """Rows of a matrix of which one column outgrows all others: their norms are proportional to |g|, g normal."""

    share: float  # of the rows over their threshold t, mean of |g| plus gamma of its standard deviations
    norms: float  # what their norms add up to, per row of the matrix: a = E[|g|; |g| > t] = 2 phi(t)

    @classmethod
    def at(cls, gamma: float) -> "RowsBehindOneColumn":
        """For many rows."""
        t = halfnorm.mean() + gamma * halfnorm.std()
        return cls(float(halfnorm.sf(t)), float(halfnorm.pdf(t)))


def one_column_limit(n: int, gamma: float = GAMMA) -> float:
    """``(a sqrt(n) - 1) / (a sqrt(n) + 1)``, d of a matrix of which one column outgrows all others, for large n."""
    a = RowsBehindOneColumn.at(gamma).norms
    return (a * math.sqrt(n) - 1) / (a * math.sqrt(n) + 1)


def first_positive_limit(gamma: float = GAMMA) -> int:
    """The number of rows from which `one_column_limit` is positive, past ``1 / a^2``: d of half the matrices is not."""
    return math.floor(RowsBehindOneColumn.at(gamma).norms ** -2) + 1


def positive_share(n: int, gamma: float = GAMMA) -> float:
    """``Pr[d > 0] = Phi((a sqrt(n) - 1) / sqrt(V))`` to first order in 1/n, M with one column that outgrows all others.

    The rows over their threshold add up to ``a n`` with variance ``V n``, V the mean square of `sum_influence` at one
    degree of freedom: their norms are those of a head of width 1. The column's norm is ``sqrt(n)``.
    """
    a, variance = RowsBehindOneColumn.at(gamma).norms, mean_square(sum_influence, 1, gamma)
    return float(norm.cdf((a * math.sqrt(n) - 1) / math.sqrt(variance)))


def with_strong_column(n: int, factor: float, generator: torch.Generator) -> Tensor:
    """A normal matrix whose first column is multiplied by a factor."""
    m = torch.randn(n, n, generator=generator, dtype=torch.float64)
    m[:, 0] *= factor
    return m


class StrongColumns(NamedTuple):
    """Scores of matrices with one column times a factor, with one times sqrt(n), and with one column alone."""

    n: int
    factor: float
    strong: Scores
    weaker: Scores
    alone: dict[int, Scores]  # by their rows: as many as make the limit formula positive, and twice as many


def strong_columns(n: int = 768, factor: float = 1000.0, draws: int = 16, seed: int = 0) -> StrongColumns:
    """Normal matrices (n, n) but for the column; 30 times as many draws of one column alone.

    Raises:
        ParameterError: n below 640. The score from logarithms is positive for a column of sqrt(n) times the others from
            about 500 rows on, and by little there.
    """
    if n < LEAST_ROWS:
        raise ParameterError(f"Strong columns are drawn among at least {LEAST_ROWS} rows, not {n}: below, signs vary.")
    generator = torch.Generator().manual_seed(seed)

    def scores(by: float) -> Scores:
        return score_batch(torch.stack([with_strong_column(n, by, generator) for _ in range(draws)]))

    def alone(rows: int) -> Scores:
        column = torch.randn(30 * draws, rows, 1, generator=generator, dtype=torch.float64)
        where = torch.eye(rows, 1, dtype=torch.float64).expand_as(column)
        return score_heads(BilinearForm(column, where))

    first = first_positive_limit()
    return StrongColumns(n, factor, scores(factor), scores(n**0.5), {rows: alone(rows) for rows in (first, 2 * first)})


@check(strong_columns)
def sign_of_directionality(columns: StrongColumns) -> Judgement:
    """Sections 3 and S1.6: a negative d is read as column dominance; one dominant column gives a positive d."""
    n, factor, strong, weaker, alone = columns
    rows, shares = RowsBehindOneColumn.at(GAMMA), {k: (m.directionality > 0).double() for k, m in alone.items()}
    return Judgement(
        monte_carlo("definition", strong.directionality, one_column_limit(n), n=n, factor=factor),
        monte_carlo("above 0", strong.directionality, 0, ">"),
        exact("all positive", (strong.directionality > 0).double().mean(), 1, 0, n=n, factor=factor),
        *(monte_carlo("positive", share, positive_share(k), rows=k) for k, share in shares.items()),
        monte_carlo("released", strong.directionality_released, 0, "<"),
        monte_carlo("tables", strong.directionality_tables, -0.9, "<"),
        monte_carlo("tables, weaker", weaker.directionality_tables, 0, ">"),
        even=100 * norm.sf(GAMMA),  # norms of rows that nothing spreads are close to normal
        uneven=100 * rows.share,
        a=rows.norms,
        gamma=GAMMA,
        first=first_positive_limit(),
        n=n,
        even_chance=100 * positive_share(first_positive_limit()),
        almost_sure=100 * positive_share(256),
    )


@check(uneven_matrices)
def directionality_lies_between_minus_one_and_one(matrices: list[Tensor]) -> Judgement:
    """Proposition S1.18 (1): d is in [-1, 1], both ends included."""
    values = [directionality_score(m) for m in matrices]
    return Judgement(exact("largest", max(values), 1), exact("smallest", min(values), -1))


def bound_on_the_difference(r: float, c: float) -> float:
    """``|c - r| <= max(r, c)``."""
    return max(r, c)


@check(uneven_matrices)
def inequality_between_the_sums(matrices: list[Tensor]) -> Judgement:
    """Equation S138: ``|c - r| < c < c + r`` fails for r >= 2 c and where a sum is 0; with max(r, c) it holds."""
    sums = [sums_over_threshold(m) for m in matrices]
    broken = sum(not abs(c - r) < c < c + r for r, c in sums)
    mended = sum(not abs(c - r) <= bound_on_the_difference(r, c) <= r + c for r, c in sums)
    return Judgement(compare("as printed", broken, ">"), exact("corrected", mended, 0, 0), draws=len(matrices))


def end_reached(n_rows: int, n_columns: int) -> int:
    """1 and -1 where only rows, only columns exceed their threshold, and 0 otherwise."""
    return (n_rows > 0) - (n_columns > 0)


@check(uneven_matrices)
def extremes_of_directionality(matrices: list[Tensor]) -> Judgement:
    """Proposition S1.18 (2): d is 1 (-1) if and only if rows (columns) exceed their threshold, and no column (row)."""
    found = [score(m) for m in matrices]
    expected = [end_reached(int(x.n_rows_over), int(x.n_columns_over)) for x in found]
    at_ends = [float(x.directionality) if abs(x.directionality) == 1 else 0.0 for x in found]
    differ = sum(a != b for a, b in zip(expected, at_ends, strict=True))
    return Judgement(
        exact("differ", differ, 0, 0),
        compare("at 1", at_ends.count(1.0), ">"),
        compare("at -1", at_ends.count(-1.0), ">"),
        draws=len(matrices),
    )
