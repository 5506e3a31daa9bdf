import pytest
import torch
from random_forms import gaussian

from attngeo import BilinearForm
from attngeo.bilinear.similarity import similarity
from attngeo.errors import MatrixError


def form(heads=4, kv_heads=2, d=12, d_head=3, seed=0, dtype=torch.float64) -> BilinearForm:
    return BilinearForm(gaussian(heads, d, d_head, seed=seed), gaussian(kv_heads, d, d_head, seed=seed + 9)).to(dtype)


def dense(a: torch.Tensor, b: torch.Tensor) -> tuple[float, float]:
    return float((a * b).sum() / a.norm() / b.norm()), float((b - a).norm() / a.norm())


@pytest.mark.parametrize("other", [{}, {"kv_heads": 4}, {"heads": 2, "d_head": 5}, {"d_head": 12}])
def test_it_is_that_of_the_dense_matrices_whatever_the_ranks(other):
    a, b = form(), form(seed=1, **other)
    found = similarity(a, b)
    assert (float(found.cosine), float(found.relative_change)) == pytest.approx(dense(a.dense(), b.dense()), rel=1e-9)


@pytest.mark.parametrize("size", [1e-3, 1e-6, 1e-9])
def test_small_changes_are_not_lost(size):
    a, change = form(), form(seed=1)
    b = BilinearForm(a.wq + size * change.wq, a.wk)
    expected = size * float(BilinearForm(change.wq, a.wk).dense().norm() / a.dense().norm())
    assert float(similarity(a, b).relative_change) == pytest.approx(expected, rel=1e-5)


def test_equal_opposite_and_zero_matrices():
    a = form(dtype=torch.float32)
    zero = BilinearForm(0 * a.wq, a.wk)
    same, opposite = similarity(a, a), similarity(a, BilinearForm(-a.wq, a.wk))
    assert (float(same.cosine), float(same.relative_change)) == (pytest.approx(1), 0)
    assert (float(opposite.cosine), float(opposite.relative_change)) == (pytest.approx(-1), pytest.approx(2))
    gone, born, nothing = similarity(a, zero), similarity(zero, a), similarity(zero, zero)
    assert all(c.cosine.isnan() for c in (gone, born, nothing)) and nothing.relative_change.isnan()
    assert [float(c.relative_change) for c in (gone, born)] == [pytest.approx(1), float("inf")]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_types_of_weights_may_differ(dtype):
    a, b = form(), form(dtype=dtype)
    found = similarity(a, b)
    expected = dense(a.dense(), b.to(torch.float64).dense())
    assert (float(found.cosine), float(found.relative_change)) == pytest.approx(expected, rel=1e-4)


def test_d_x_d_is_not_formed_where_the_rank_is_small():
    """At this width it would take 2 TB."""
    wq = torch.ones(1, 1, 1).expand(2, 500_000, 1)
    found = similarity(BilinearForm(wq, wq), BilinearForm(wq, wq))
    assert float(found.cosine) == pytest.approx(1) and float(found.relative_change) == 0


def test_other_widths_are_refused():
    with pytest.raises(MatrixError, match="12 and 13"):
        similarity(form(), form(d=13))
