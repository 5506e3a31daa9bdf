import inspect

import pytest
import torch
from planting import supported, supported_with
from scipy.stats import norm

from attngeo import symmetry_score
from attngeo.chapters.two_scores import directionality, heads, random_matrices, symmetry, symmetry_law
from attngeo.chapters.two_scores.directionality import written_out
from attngeo.chapters.two_scores.heads import influence
from attngeo.chapters.two_scores.random_matrices import closed_forms
from attngeo.errors import ParameterError
from attngeo.forms.random_matrices import directionality_sd, symmetry_mean, symmetry_sd
from attngeo.forms.scores import score_batch

CHECKS = [
    symmetry.factor_of_the_symmetry_score,
    symmetry.squared_norm_splits,
    symmetry.symmetry_lies_between_minus_one_and_one,
    symmetry.extremes_of_the_symmetry_score,
    symmetry.bounds_on_the_trace,
    symmetry.parts_without_their_halves,
    directionality.directionality_as_defined,
    directionality.sign_of_directionality,
    directionality.directionality_lies_between_minus_one_and_one,
    directionality.inequality_between_the_sums,
    directionality.extremes_of_directionality,
    random_matrices.symmetry_of_random_matrices,
    random_matrices.side_from_which_symmetry_vanishes,
    random_matrices.scores_at_initialisation,
    random_matrices.directionality_of_random_matrices,
    random_matrices.one_random_matrix_has_a_direction,
    random_matrices.equal_marginals_are_not_enough,
    heads.directionality_of_heads,
    symmetry_law.spread_of_symmetry,
]
FEWER = {
    random_matrices.directionality_of_random_matrices: {"draws": 100},
    random_matrices.scores_at_initialisation: {"draws": 120},
    directionality.sign_of_directionality: {"draws": 12},
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
def test_statement(check):
    assert supported(check)
    result = check(seed=1, **FEWER.get(check, {}))
    assert result.supported, [c for c in result.comparisons if not c.holds]
    assert result.chapter == "two_scores"


PLANTED = {
    "factor 2": (symmetry.factor_of_the_symmetry_score, "trace_ratio", lambda m: 2 * symmetry_score(m)),
    "released code": (symmetry.factor_of_the_symmetry_score, "trace_ratio", lambda m: symmetry_score(m, "released")),
    "parts without halves": (symmetry.squared_norm_splits, "parts", lambda m: (m + m.mT, m - m.mT)),
    "parts not orthogonal": (symmetry.squared_norm_splits, "parts", lambda m: (m.tril(), m - m.tril().mT)),
    "range of the printed score": (
        symmetry.symmetry_lies_between_minus_one_and_one,
        "symmetry_score",
        lambda m, convention=None: symmetry_score(m, "printed"),
    ),
    "score 1 as printed": (
        symmetry.extremes_of_the_symmetry_score,
        "symmetry_score",
        lambda m, convention=None: symmetry_score(m),
    ),
    "identity without its 2": (
        symmetry.extremes_of_the_symmetry_score,
        "distance_from_the_end",
        lambda part, m: part.square().sum() / m.square().sum(),
    ),
    "printed bound on the trace": (symmetry.bounds_on_the_trace, "BOUND", 0.5),
    "halves kept": (symmetry.parts_without_their_halves, "LOST_HALVES", 1.0),
    "half lost once": (symmetry.parts_without_their_halves, "LOST_HALVES", 2.0),
    "8 / n": (random_matrices.symmetry_of_random_matrices, "symmetry_mean", lambda n: 8 / n),
    "2 / n": (random_matrices.symmetry_of_random_matrices, "symmetry_mean", lambda n: 2 / n),
    "1 / (n + 1)": (random_matrices.symmetry_of_random_matrices, "symmetry_mean", lambda n: 1 / (n + 1)),
    "never negative": (
        random_matrices.side_from_which_symmetry_vanishes,
        "negative_symmetry_share",
        lambda n: 0.0,
    ),
    "as often negative": (
        random_matrices.side_from_which_symmetry_vanishes,
        "negative_symmetry_share",
        lambda n: 0.5,
    ),
    "8 / d at initialisation": (random_matrices.scores_at_initialisation, "symmetry_mean", lambda d: 8 / d),
    "zero at initialisation": (random_matrices.scores_at_initialisation, "symmetry_mean", lambda d: 0.0),
    "spread 1 / n": (random_matrices.directionality_of_random_matrices, "directionality_sd", lambda n: 1 / n),
    "half the spread": (
        random_matrices.directionality_of_random_matrices,
        "directionality_sd",
        lambda n: 0.5 * directionality_sd(n),
    ),
    "no spread": (random_matrices.one_random_matrix_has_a_direction, "directionality_sd", lambda n: 1 / n),
    "gamma 3": (
        directionality.directionality_as_defined,
        "written_out",
        lambda m, gamma: written_out(m, gamma + 1),
    ),
    "unbiased standard deviation": (
        directionality.directionality_as_defined,
        "written_out",
        lambda m, gamma: written_out(m, gamma * (len(m) / (len(m) - 1)) ** 0.5),
    ),
    "columns first": (directionality.directionality_as_defined, "written_out", lambda m, gamma: -written_out(m, gamma)),
    "sign as printed": (directionality.sign_of_directionality, "one_column_limit", lambda n: -1.0),
    "limit without the root": (
        directionality.sign_of_directionality,
        "one_column_limit",
        lambda n: (0.107 * n - 1) / (0.107 * n + 1),
    ),
    "positive from the change of sign on": (directionality.sign_of_directionality, "positive_share", lambda n: 1.0),
    "a threshold without error": (
        directionality.sign_of_directionality,
        "positive_share",
        lambda n: norm.cdf((0.10723 * n**0.5 - 1) / 0.498),
    ),
    "a threshold without error in the sum": (
        heads.directionality_of_heads,
        "sum_influence",
        lambda x, d_head, *gamma: (
            x * (x > heads.threshold(d_head)) - heads.outlying_norm(heads.threshold(d_head), d_head)
        ),
    ),
    "law of the transpose": (
        random_matrices.equal_marginals_are_not_enough,
        "chance_of_outlying_rows",
        lambda n: 0.0,
    ),
    "spread sqrt(2) / n": (symmetry_law.spread_of_symmetry, "symmetry_sd", lambda n, c=None: 2**0.5 / n),
    "spread of normal entries for all": (
        symmetry_law.spread_of_symmetry,
        "symmetry_sd",
        lambda n, c=None: symmetry_sd(n),
    ),
    "rows of a head as normal": (
        heads.directionality_of_heads,
        "head_directionality_sd",
        lambda n, d_head: directionality_sd(n),
    ),
    "a head's threshold without error": (
        heads.directionality_of_heads,
        "influence",
        lambda x, d_head, *gamma: influence(x, d_head) + heads.chi.mean(d_head) - x,
    ),
    "a head's scale counted": (
        heads.directionality_of_heads,
        "influence",
        lambda x, d_head, *gamma: influence(x, d_head) + 0.05 * (x**2 / d_head - 1),
    ),
    "open range": (
        directionality.directionality_lies_between_minus_one_and_one,
        "directionality_score",
        lambda m: 0.9 * written_out(m),
    ),
    "printed inequality": (directionality.inequality_between_the_sums, "bound_on_the_difference", lambda r, c: c),
    "sides exchanged": (
        directionality.extremes_of_directionality,
        "end_reached",
        lambda n_rows, n_columns: (n_columns > 0) - (n_rows > 0),
    ),
    "more rows than columns": (
        directionality.extremes_of_directionality,
        "end_reached",
        lambda n_rows, n_columns: (n_rows > n_columns) - (n_columns > n_rows),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_refused(name):
    check, formula, wrong = PLANTED[name]
    assert not supported_with(check, formula, wrong)


def test_an_error_is_planted_in_every_check():
    assert {check for check, *_ in PLANTED.values()} == set(CHECKS)


def test_written_out_sums_of_a_matrix_known_by_hand():
    # rows of norms 1, ..., 1, 10 and ten columns of norm sqrt(1 + 10^2 / ...): only the last row exceeds
    m = torch.eye(10, dtype=torch.float64)
    m[9] = 0
    m[9, :] = 10
    r, c = directionality.sums_over_threshold(m)
    assert r == pytest.approx(10 * 10**0.5)
    assert c == 0
    assert written_out(m) == 1


@pytest.mark.parametrize(("gamma", "first"), [(1.0, 12), (2.0, 87)])
def test_the_limit_of_one_column_changes_its_sign(gamma, first):
    assert directionality.first_positive_limit(gamma) == first
    assert directionality.one_column_limit(first - 1, gamma) < 0 < directionality.one_column_limit(first, gamma)


def test_strong_columns_among_few_rows_are_refused():
    with pytest.raises(ParameterError):
        directionality.sign_of_directionality(n=384)
    assert directionality.sign_of_directionality(n=directionality.LEAST_ROWS).supported


def test_the_rows_behind_one_column_are_those_of_a_draw():
    g = torch.randn(10**6, generator=torch.Generator().manual_seed(0)).abs()
    over = g > g.mean() + 2 * g.std()
    rows = directionality.RowsBehindOneColumn.at(2.0)
    assert rows.share == pytest.approx(over.double().mean().item(), rel=0.01)
    assert rows.norms == pytest.approx((g * over).mean().item(), rel=0.01)


def test_the_table_of_closed_forms_has_their_values():
    t = closed_forms([64, 256], gamma=1.5).set_index("rows")
    assert t.loc[256].tolist() == [
        symmetry_mean(256),
        symmetry_sd(256),
        directionality_sd(256, 1.5),
        directionality_sd(256, 1.5, "released"),
    ]


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
def test_every_check_can_be_called_without_arguments_and_has_a_seed(check):
    parameters = inspect.signature(check).parameters.values()
    assert all(p.default is not p.empty for p in parameters)
    assert "seed" in {p.name for p in parameters}


def test_uneven_rows_have_the_lengths_and_chances_they_are_said_to_have():
    m, chances = random_matrices.every_pattern_of_lengths(n=4)
    assert (chances > 0).all() and chances.sum() == pytest.approx(1)
    for length, chance in ((10, 1 / 4), (1, 3 / 4)):
        at_length = torch.einsum("p,pij->ij", chances, (m.abs() == length).double())
        torch.testing.assert_close(at_length, torch.full_like(at_length, chance))
    m, chances = random_matrices.every_pattern_of_lengths(n=6)
    score = chances @ score_batch(m, gamma=1.0).directionality
    assert random_matrices.chance_of_outlying_rows(6, gamma=1.0) == pytest.approx(score.item())
