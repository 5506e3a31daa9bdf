"""Formulas of the chapter's pages against limits and other seeds."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from notebook_code import notebook

from attngeo.gradients.random_updates import power_profile

page = notebook("column_dominance")


def moment(d, seed):
    x = torch.randn(2 * d, d, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return x.T @ x


@given(st.integers(2, 9), st.integers(0, 10**6), st.floats(0.01, 100))
@settings(deadline=None, max_examples=40)
def test_axis_alignment(d, seed, scale):
    s, order = moment(d, seed), torch.randperm(d, generator=torch.Generator().manual_seed(seed))
    value = page.axis_alignment(s)
    assert [page.axis_alignment(m) for m in (scale * s, s[order][:, order])] == pytest.approx([value, value])
    e = s[0]
    kurtosis = float(e.pow(4).mean() / e.square().mean() ** 2)
    assert page.axis_alignment(torch.outer(e, e)) == pytest.approx(kurtosis / 3 * (d + 2) / d)
    assert page.axis_alignment(torch.eye(d, dtype=torch.float64)) == pytest.approx(1)


def test_matrix_normal_has_the_covariance_of_all_pairs_and_rotation_keeps_the_spectrum():
    generator = torch.Generator().manual_seed(0)
    queries, keys = moment(3, 1), moment(3, 2)
    w = page.matrix_normal(queries, keys, 100_000, generator).flatten(1)
    torch.testing.assert_close(w.T @ w / len(w), torch.kron(queries, keys), rtol=0, atol=2.5)
    assert float(torch.kron(queries, keys).max()) > 30
    turned = page.rotated(torch.diag(power_profile(12, 1.0)), generator)
    torch.testing.assert_close(torch.linalg.eigvalsh(turned), power_profile(12, 1.0).flip(0))


def test_which_side_is_heavier_turns_with_the_matrix():
    updates = page.context_tokens(16, 8, 1.0, 60, 0, 24)
    assert [page.heavier(u) for u in (updates, updates.mT)] == ["rows heavier", "columns heavier"]
    assert page.heavier(torch.cat([updates, updates.mT])) == "both alike"


@pytest.mark.parametrize("seed", [11, 12])
def test_other_seeds(seed):
    for claim in (page.autoregressive_directionality, page.directionality_condition):
        assert claim(seed=seed).supported
