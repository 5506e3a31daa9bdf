import inspect

import pytest
import torch

from attngeo import symmetry_score
from attngeo.chapters.two_scores import directionality
from attngeo.chapters.two_scores import random_matrices as random_scores
from attngeo.chapters.two_scores import symmetry as scores
from attngeo.forms.random_matrices import directionality_sd
from attngeo.paper import Verdict

CLAIMS = [
    scores.factor_of_the_symmetry_score,
    scores.squared_norm_splits,
    scores.symmetry_lies_between_minus_one_and_one,
    scores.extremes_of_the_symmetry_score,
    scores.bounds_on_the_trace,
    scores.parts_without_their_halves,
    directionality.directionality_as_defined,
    directionality.sign_of_directionality,
    directionality.directionality_lies_between_minus_one_and_one,
    directionality.inequality_between_the_sums,
    directionality.extremes_of_directionality,
    random_scores.symmetry_of_random_matrices,
    random_scores.side_from_which_symmetry_vanishes,
    random_scores.scores_at_initialisation,
    random_scores.directionality_of_random_matrices,
    random_scores.one_random_matrix_has_a_direction,
]
FEWER = {
    random_scores.directionality_of_random_matrices: {"draws": 100},
    random_scores.scores_at_initialisation: {"draws": 120},
    directionality.sign_of_directionality: {"draws": 12},
}


@pytest.mark.parametrize("check", CLAIMS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("seed", [0, 1])
def test_statement(check, seed):
    result = check(seed=seed, **FEWER.get(check, {}))
    assert result.supported, [c for c in result.comparisons if not c.holds]
    assert result.chapter == "two_scores"
    if result.verdict is not Verdict.HOLDS:
        assert result.printed and result.corrected and result.flaw


PLANTED = {
    "factor 2": (scores.factor_of_the_symmetry_score, {"predicted": lambda m: 2 * scores.trace_ratio(m)}),
    "released code": (scores.factor_of_the_symmetry_score, {"predicted": lambda m: symmetry_score(m, "released")}),
    "parts without halves": (scores.squared_norm_splits, {"split": lambda m: (m + m.mT, m - m.mT)}),
    "parts not orthogonal": (scores.squared_norm_splits, {"split": lambda m: (m.tril(), m - m.tril().mT)}),
    "range of the printed score": (
        scores.symmetry_lies_between_minus_one_and_one,
        {"predicted": lambda m: symmetry_score(m, "printed")},
    ),
    "identity without its 2": (
        scores.extremes_of_the_symmetry_score,
        {"defect": lambda part, m: part.square().sum() / m.square().sum()},
    ),
    "printed bound on the trace": (scores.bounds_on_the_trace, {"bound": 0.5}),
    "halves kept": (scores.parts_without_their_halves, {"factor": 1.0}),
    "half lost once": (scores.parts_without_their_halves, {"factor": 2.0}),
    "8 / n": (random_scores.symmetry_of_random_matrices, {"rate": 8.0}),
    "2 / n": (random_scores.symmetry_of_random_matrices, {"rate": 2.0}),
    "never negative": (random_scores.side_from_which_symmetry_vanishes, {"predicted": lambda n: 0.0}),
    "as often negative": (random_scores.side_from_which_symmetry_vanishes, {"predicted": lambda n: 0.5}),
    "8 / d at initialisation": (random_scores.scores_at_initialisation, {"rate": 8.0}),
    "zero at initialisation": (random_scores.scores_at_initialisation, {"rate": 0.0}),
    "spread 1 / n": (random_scores.directionality_of_random_matrices, {"spread": lambda n: 1 / n}),
    "half the spread": (
        random_scores.directionality_of_random_matrices,
        {"spread": lambda n: 0.5 * directionality_sd(n)},
    ),
    "no spread": (random_scores.one_random_matrix_has_a_direction, {"predicted": lambda n: 1 / n}),
    "gamma 3": (
        directionality.directionality_as_defined,
        {"predicted": lambda m, gamma: directionality.written_out(m, gamma + 1)},
    ),
    "unbiased standard deviation": (
        directionality.directionality_as_defined,
        {"predicted": lambda m, gamma: directionality.written_out(m, gamma * (len(m) / (len(m) - 1)) ** 0.5)},
    ),
    "columns first": (
        directionality.directionality_as_defined,
        {"predicted": lambda m, gamma: -directionality.written_out(m, gamma)},
    ),
    "sign as printed": (directionality.sign_of_directionality, {"predicted": lambda n: -1.0}),
    "limit without the root": (
        directionality.sign_of_directionality,
        {"predicted": lambda n: (0.107 * n - 1) / (0.107 * n + 1)},
    ),
    "open range": (
        directionality.directionality_lies_between_minus_one_and_one,
        {"predicted": lambda m: 0.9 * directionality.written_out(m)},
    ),
    "printed inequality": (directionality.inequality_between_the_sums, {"bound": lambda r, c: c}),
    "sides exchanged": (
        directionality.extremes_of_directionality,
        {"side": lambda rows, columns: (columns > 0) - (rows > 0)},
    ),
    "more rows than columns": (
        directionality.extremes_of_directionality,
        {"side": lambda rows, columns: (rows > columns) - (columns > rows)},
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_refused(name):
    check, wrong = PLANTED[name]
    assert not check(**wrong, **FEWER.get(check, {})).supported


def test_an_error_is_planted_in_every_check():
    assert {check for check, _ in PLANTED.values()} == set(CLAIMS)


def test_written_out_sums_of_a_matrix_known_by_hand():
    # rows of norms 1, ..., 1, 10 and ten columns of norm sqrt(1 + 10^2 / ...): only the last row exceeds
    m = torch.eye(10, dtype=torch.float64)
    m[9] = 0
    m[9, :] = 10
    r, c = directionality.sums_over_threshold(m)
    assert r == pytest.approx(10 * 10**0.5)
    assert c == 0
    assert directionality.written_out(m) == 1


def test_the_limit_of_one_column_changes_sign_at_87_rows():
    assert directionality.one_column_limit(86) < 0 < directionality.one_column_limit(87)


@pytest.mark.parametrize("check", CLAIMS, ids=lambda c: c.__name__)
def test_every_check_can_be_called_without_arguments_and_has_a_seed(check):
    parameters = inspect.signature(check).parameters.values()
    assert all(p.default is not p.empty for p in parameters)
    assert "seed" in {p.name for p in parameters}
