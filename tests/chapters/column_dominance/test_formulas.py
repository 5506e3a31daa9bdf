"""Models of random updates and the formulas for their norms, against enumeration and limits."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attngeo.chapters.column_dominance.expected_norms import (
    bilinear_squared_norms,
    fourth_moments,
    independent_ratio,
)
from attngeo.chapters.column_dominance.measures import axis_alignment, tail_gap, unevenness
from attngeo.chapters.column_dominance.models import context_updates, matrix_normal, rotated
from attngeo.errors import ParameterError
from attngeo.updates.norms import squared_norms
from attngeo.updates.random_updates import power_profile


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def moment(d: int, seed: int) -> torch.Tensor:
    x = torch.randn(2 * d, d, generator=generator(seed), dtype=torch.float64)
    return x.T @ x


def test_rotation_keeps_the_spectrum():
    profile = power_profile(12, 1.0)
    turned = rotated(torch.diag(profile), generator())
    torch.testing.assert_close(torch.linalg.eigvalsh(turned), profile.flip(0))
    assert (turned - torch.diag(profile)).norm() > 1


def test_context_updates_have_rank_one_and_add():
    covariance = torch.diag(power_profile(6, 1.0))
    one = context_updates(covariance, 4, 3, generator())
    assert torch.linalg.matrix_rank(one).tolist() == [1, 1, 1]
    assert torch.linalg.matrix_rank(context_updates(covariance, 4, 3, generator(), n_contexts=3)).tolist() == [3, 3, 3]


def test_matrix_normal_has_the_covariance_of_all_pairs():
    queries, keys = moment(3, 1), moment(3, 2)
    w = matrix_normal(queries, keys, 100_000, generator()).flatten(1)
    torch.testing.assert_close(w.T @ w / len(w), torch.kron(queries, keys), rtol=0, atol=2.5)
    assert float(torch.kron(queries, keys).max()) > 30


@given(st.integers(2, 9), st.integers(0, 10**6), st.floats(0.01, 100))
@settings(deadline=None, max_examples=40)
def test_axis_alignment(d, seed, scale):
    s, q = moment(d, seed), moment(d, seed + 1)
    order = torch.randperm(d, generator=generator(seed))
    value = axis_alignment(s)
    assert axis_alignment(scale * s) == pytest.approx(value)
    assert axis_alignment(s[order][:, order]) == pytest.approx(value)
    of_rows, of_columns = fourth_moments(q, s)
    assert of_columns / of_rows == pytest.approx(value / axis_alignment(q))
    e = torch.randn(d, generator=generator(seed), dtype=torch.float64)
    kurtosis = float(e.pow(4).mean() / e.square().mean() ** 2)
    assert axis_alignment(torch.outer(e, e)) == pytest.approx(kurtosis / 3 * (d + 2) / d)
    assert axis_alignment(torch.eye(d, dtype=torch.float64)) == pytest.approx(1)


def test_bilinear_norms_without_dependence_reduce_to_the_trace():
    """For B = I and Sigma = I nothing distinguishes rows and columns."""
    identity = torch.eye(5, dtype=torch.float64)
    rows, columns = bilinear_squared_norms(identity, identity, 7)
    torch.testing.assert_close(rows, columns)
    assert independent_ratio(identity, 0) == 1


@given(st.integers(2, 9), st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_unevenness_lies_between_1_and_d(d, seed):
    m = torch.randn(d, d, generator=generator(seed), dtype=torch.float64)
    for side in squared_norms(m):
        assert 1 - 1e-12 <= float(unevenness(side)) <= d + 1e-9


def test_tails_above_a_quantile():
    updates = torch.tensor([[[1.0, 2.0], [1.0, 2.0]]]).double()  # squared norms of rows 5 and 5, of columns 2 and 8
    assert tail_gap(updates, 0.7).tolist() == [0.5]


def test_a_moment_that_is_not_positive_is_refused(as_user):
    even = torch.eye(3, dtype=torch.float64)
    with pytest.raises(ParameterError):
        matrix_normal(-even, even, 2, generator())
