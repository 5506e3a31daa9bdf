import itertools
import math
from unittest.mock import patch

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from random_forms import SEEDS, forms, gaussian, matrices

from attngeo import BilinearForm, directionality_score, score, score_heads, symmetry_score
from attngeo.bilinear.moments import dense_moments, form_moments, gram_moments, head_moments, tiled_moments
from attngeo.bilinear.scores import Convention, score_batch
from attngeo.errors import MatrixError, ParameterError

CLOSE = {"rel": 0, "abs": 1e-10}
GAMMAS = st.floats(0, 3)


def directionality_by_hand(m, gamma, convention="definition"):
    """Def. 3.2 and its variants, apart from the package."""
    totals = []
    for axis in (1, 0):  # rows, columns
        v = np.linalg.norm(m, axis=axis)
        v = np.log(v) if convention == "tables" else v
        threshold = v.mean() + gamma * v.std(ddof=convention == "released" and len(v) > 1)
        over = v[v > threshold]
        totals.append((over if convention == "definition" else over - threshold).sum())
    r, c = totals
    return (r - c) / (r + c) if r + c > 0 else 0.0


def clear_of_ties(m, gamma):
    """Whether no norm lies within rounding of its threshold, in either variant of the standard deviation."""
    for axis, transform in itertools.product((0, 1), (np.abs, np.log)):
        v = transform(np.linalg.norm(m, axis=axis))
        for sd in (v.std(), v.std(ddof=len(v) > 1)):
            if (abs(v - v.mean() - gamma * sd) < 1e-9 * (1 + abs(v).max())).any():
                return False
    return True


# Symmetry, Definition 3.1


@given(matrices())
def test_symmetry_is_the_share_of_the_symmetric_minus_the_skew_part(m):
    s, n, total = ((x * x).sum().item() for x in ((m + m.T) / 2, (m - m.T) / 2, m))
    assert symmetry_score(m) == pytest.approx((s - n) / total, **CLOSE)
    assert symmetry_score(m, "printed") == pytest.approx(2 * (s - n) / total, **CLOSE)
    assert symmetry_score(m, Convention.RELEASED) == pytest.approx(s / total, **CLOSE)


@pytest.mark.parametrize("sign", [1, -1], ids=["symmetric", "skew"])
def test_rounding_takes_symmetry_past_neither_bound(sign):
    past = 0
    for seed in range(40):
        a, b = gaussian(2, 30, 1, seed=seed)
        form = BilinearForm(torch.stack([a, b]), torch.stack([b, sign * a]))
        moments = form_moments(form)
        past += (moments.trace / moments.square).abs().item() > 1
        assert abs(symmetry_score(form)) <= 1
    assert past  # without the bounds some would be


# Directionality, Definition 3.2


@given(matrices(), GAMMAS)
def test_directionality_follows_its_definition_and_variants(m, gamma):
    assume(clear_of_ties(m, gamma))
    for convention in ("definition", "released", "tables"):
        expected = directionality_by_hand(m, gamma, convention)
        assert directionality_score(m, gamma, convention) == pytest.approx(expected, **CLOSE)
    assert directionality_score(m, gamma, "printed") == directionality_score(m, gamma)


# Equal norms and ties


@pytest.mark.parametrize("n", [1, 2, 3, 8, 100, 257])
def test_matrices_whose_rows_and_columns_are_equally_long_have_no_direction(n):
    orthogonal = torch.linalg.qr(gaussian(n, n, seed=n)).Q
    permutation = torch.eye(n, dtype=torch.float64)[torch.randperm(n, generator=torch.Generator().manual_seed(n))]
    for m in (torch.eye(n), orthogonal, permutation, torch.ones(n, n), 1e-7 * orthogonal):
        result = score(m)
        assert result.directionality == result.directionality_released == result.directionality_tables == 0
        assert result.n_rows_over == result.n_columns_over == 0
    assert score(BilinearForm(orthogonal[None], permutation[None])).directionality == 0


def test_a_norm_at_the_threshold_does_not_exceed_it():
    # of five norms one at most reaches mean + 2 sd, and reaches it exactly where the other four are equal
    rotation = torch.linalg.qr(gaussian(5, 5)).Q
    m = torch.tensor([1.0, 1.0, 1.0, 1.0, 7.0], dtype=torch.float64)[:, None] * rotation
    at, below = score(m, gamma=2.0), score(m, gamma=1.99)
    assert at.n_rows_over == 0 and below.n_rows_over == 1


def test_equal_norms_are_equal_in_the_arithmetic_that_made_them():
    row = gaussian(64, seed=2).bfloat16()
    circulant = torch.stack([row.roll(i) for i in range(64)])  # norms are sums of the same squares, in other orders
    form = BilinearForm(circulant[None], torch.eye(64, dtype=torch.bfloat16)[None])
    for result in (score(form, gamma=0.0), score_heads(form, gamma=0.0)):
        assert result.n_rows_over == result.n_columns_over == 0


def test_the_margin_of_a_tie_follows_the_size_of_each_matrix():
    m = torch.diag(torch.tensor([1.0, 1.0, 1.0, 1.0, 7.0], dtype=torch.float64))
    scales = torch.tensor([2.0**17, 2.0**-19], dtype=torch.float64)[:, None, None]  # in the range scored as it is
    batch = scales * m
    assert score_batch(batch, gamma=2 - 1e-5).n_rows_over.tolist() == [1, 1]
    assert score_batch(batch, gamma=2.0).n_rows_over.tolist() == [0, 0]
    holed = gaussian(9, 9)
    holed[2] = 0  # its norm counts as one at rounding level
    large, small = score_batch(scales * holed, gamma=0.0).directionality_tables.tolist()
    assert large == pytest.approx(small, **CLOSE)


def test_a_batch_is_scored_matrix_by_matrix():
    batch = gaussian(3, 4, 4) * torch.tensor([1e300, 1, 1e-300], dtype=torch.float64)[:, None, None]
    batch[1, 0] *= 9
    for name, values in vars(score_batch(batch, gamma=1.0)).items():
        assert values.tolist() == pytest.approx([getattr(score(m, gamma=1.0), name).item() for m in batch], **CLOSE)


# Factored forms


@given(forms(), GAMMAS)
def test_a_form_scores_as_its_matrix(form, gamma):
    m = form.dense()
    assume(clear_of_ties(m, gamma))
    whole, dense = score(form, gamma), score(m, gamma)
    assert whole.symmetry.item() == pytest.approx(dense.symmetry.item(), **CLOSE)
    assert whole.directionality.item() == pytest.approx(dense.directionality.item(), **CLOSE)
    assert whole.n_rows_over == dense.n_rows_over and whole.n_columns_over == dense.n_columns_over


@given(st.integers(1, 20), st.integers(1, 25), st.integers(1, 8), st.integers(1, 8), SEEDS, st.booleans())
def test_tiles_and_gram_products_give_the_moments_of_the_matrix(d, rank, tile_rows, tile_columns, seed, by_columns):
    q, k = gaussian(d, rank, seed=seed), gaussian(d, rank, seed=seed + 1)
    m = q @ k.T
    if by_columns:  # as torch.nn.Linear stores them
        q, k = (x.T.contiguous().T for x in (q, k))
    with patch("attngeo.bilinear.moments.VIEWS", (tile_rows, tile_columns)):
        by_tiles = tiled_moments(q, k)
    for moments in (gram_moments(q, k), by_tiles):
        torch.testing.assert_close(moments.square, (m * m).sum(), rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(moments.trace, (m * m.T).sum(), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(moments.row_norms, m.norm(dim=1), rtol=1e-9, atol=1e-9)
        torch.testing.assert_close(moments.column_norms, m.norm(dim=0), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize(("d", "d_head"), [(96, 8), (30, 8), (300, 20)], ids=["Gram products", "a tile", "tiles"])
def test_forms_of_sixteen_bits_score_as_their_entries_in_float64(d, d_head, by_columns):
    for dtype, kv_heads in itertools.product((torch.bfloat16, torch.float16), (2, 4)):
        factors = gaussian(4, d, d_head, dtype=dtype), gaussian(kv_heads, d, d_head, seed=1, dtype=dtype)
        form = BilinearForm(*(x.mT.contiguous().mT if by_columns else x for x in factors))
        exact, rough = score(form.to(torch.float64)), score(form)
        assert rough.symmetry.item() == pytest.approx(exact.symmetry.item(), abs=1e-6)
        assert rough.directionality.item() == pytest.approx(exact.directionality.item(), abs=1e-5)
        assert score_heads(form).symmetry.tolist() == pytest.approx(
            score_heads(form.to(torch.float64)).symmetry.tolist(), abs=1e-6
        )


@pytest.mark.parametrize("kv_heads", [1, 2, 6])
def test_heads_do_not_depend_on_how_many_are_taken_at_a_time(kv_heads, monkeypatch):
    monkeypatch.setattr("attngeo.bilinear.moments.COLUMNS", 2)
    monkeypatch.setattr("attngeo.bilinear.moments.CHUNK_BYTES", 3 * 8 * 3 * 8)  # three heads
    wq, wk = gaussian(6, 8, 3), gaussian(kv_heads, 8, 3, seed=1)
    for factors in ((wq, wk), (wq.mT.contiguous().mT, wk.mT.contiguous().mT)):
        form = BilinearForm(*factors)
        found = head_moments(form)
        expected = [dense_moments(m) for m in form.heads()]
        for name in ("square", "trace", "row_norms", "column_norms"):
            torch.testing.assert_close(getattr(found, name), torch.stack([getattr(m, name) for m in expected]))


@pytest.fixture
def taken(monkeypatch):
    """The types in which products are taken, one after another."""
    types = []
    monkeypatch.setattr(
        "attngeo.bilinear.moments.tiled_moments", lambda q, k, dtype: types.append(dtype) or tiled_moments(q, k, dtype)
    )
    return types


ARITHMETIC = {  # of the products: of a wide form, and of one that is one column short of it
    torch.bfloat16: [torch.bfloat16, torch.float32],
    torch.float16: [torch.float32, torch.float32],
    torch.float32: [torch.float32, torch.float64],
    torch.float64: [torch.float64, torch.float64],
}


@pytest.mark.parametrize("dtype", ARITHMETIC, ids=str)
def test_wide_forms_are_multiplied_in_narrower_arithmetic(dtype, taken, monkeypatch):
    monkeypatch.setattr("attngeo.bilinear.moments.WIDE", 40)
    for d in (40, 39):
        form_moments(BilinearForm(gaussian(2, d, 16, dtype=dtype), gaussian(2, d, 16, seed=1, dtype=dtype)))
    assert taken == ARITHMETIC[dtype]


@pytest.mark.parametrize("scale", [1, 1e-4])
def test_tiles_of_sixteen_bits_do_not_show_the_rounding_of_a_few_large_entries(scale, monkeypatch):
    q, k = scale * gaussian(512, 600), gaussian(512, 600, seed=1)
    q[:3] *= 100
    k[5:8] *= 100  # 9 entries hold almost all of ||M||^2
    q, k = q.bfloat16(), k.bfloat16()
    square = (q.double() @ k.double().T).square().sum()

    def error() -> float:
        return abs((tiled_moments(q, k).square / square).item() - 1)

    assert error() < 1e-5
    monkeypatch.setattr("attngeo.bilinear.moments.UNEVEN", math.inf)
    assert error() > 1e-4


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_sixteen_bits_of_extreme_magnitude_are_scored_as_any_others(scale):
    wq, wk = (gaussian(4, 96, 8, seed=seed) for seed in (0, 1))
    wq[2] *= 9
    form = BilinearForm((scale * wq).bfloat16(), (scale * wk).bfloat16())
    assert symmetry_score(form) == pytest.approx(symmetry_score(form.to(torch.float64).dense()), abs=1e-6)
    wq[2] /= scale  # heads of one layer may differ widely
    wk[1] /= scale
    uneven = BilinearForm((scale * wq).bfloat16(), (scale * wk).bfloat16())
    for name in ("symmetry", "directionality"):
        expected = [getattr(score(m, 1.0), name).item() for m in uneven.to(torch.float64).heads()]
        assert getattr(score_heads(uneven, 1.0), name).tolist() == pytest.approx(expected, abs=1e-6)


def test_narrow_float32_layers_are_multiplied_in_float64_where_rounding_could_decide(taken, monkeypatch):
    monkeypatch.setattr("attngeo.bilinear.moments.ROUGH", 5)
    monkeypatch.setattr("attngeo.bilinear.scores.ROUGH", 5)
    rows = torch.tensor([1.0, 1.0, 1.0, 1.0, 7.0])[:, None] * torch.linalg.qr(gaussian(5, 5)).Q.float()
    form = BilinearForm(rows[None], torch.eye(5)[None])  # one norm at mean + 2 sd
    for gamma, expected in ((1.5, [torch.float32]), (2.0, [torch.float32, torch.float64])):
        found, exact = score(form, gamma), score(form.to(torch.float64).dense(), gamma)
        assert taken == expected
        assert found.symmetry.item() == pytest.approx(exact.symmetry.item(), abs=1e-6)
        assert (found.n_rows_over, found.n_columns_over) == (exact.n_rows_over, exact.n_columns_over)
        taken.clear()


# Degenerate input


@pytest.mark.parametrize("n", [1, 2, 5])
def test_the_zero_matrix_has_neither_symmetry_nor_direction(n):
    zero = torch.zeros(n, n)
    assert symmetry_score(zero) == directionality_score(zero) == 0
    form = BilinearForm(torch.zeros(2, n, 3), gaussian(1, n, 3, dtype=torch.float32))
    for result in (score(form), score_heads(form)):
        for value in vars(result).values():  # scores, and how many norms exceed their threshold
            assert torch.equal(value, torch.zeros_like(value))


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 5e-324, 1e200, 1e300])
def test_scores_do_not_overflow_or_underflow(scale):
    m = gaussian(20, 20).sign() * torch.arange(1.0, 21.0, dtype=torch.float64)
    for of in (symmetry_score, directionality_score):
        assert of(scale * m) == pytest.approx(of(m), **CLOSE)
    form = BilinearForm(scale * m[None], scale * m[None])
    assert symmetry_score(form) == pytest.approx(symmetry_score(BilinearForm(m[None], m[None])), **CLOSE)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_refused(value):
    m = torch.eye(3)
    m[1, 2] = value
    with pytest.raises(MatrixError, match="matrix"):
        symmetry_score(m)
    for wq, wk, name in ((m[None], torch.eye(3)[None], "W_q"), (torch.eye(3)[None], m[None], "W_k")):
        for scores in (score, score_heads):
            with pytest.raises(MatrixError, match=name):
                scores(BilinearForm(wq, wk))


@pytest.mark.parametrize(
    ("m", "named"),
    [
        (torch.zeros(3, 4), r"\(3, 4\)"),
        (torch.zeros(0, 0), r"\(0, 0\)"),
        (torch.zeros(2, 3, 3), r"\(d, d\).*\(2, 3, 3\)"),
        (torch.zeros(3, 3, dtype=torch.complex64), "complex"),
        ([[1.0]], " list"),
    ],
)
def test_what_is_no_matrix_is_refused(m, named, as_user):
    for function in (symmetry_score, directionality_score, score):
        with pytest.raises(MatrixError, match=named):
            function(m)


def test_integers_are_read_as_numbers(as_user):
    m = torch.tensor([[0, 1, 1], [0, 0, 1], [1, 0, 1]])
    assert symmetry_score(m) == symmetry_score(m.double())


def test_a_threshold_or_a_convention_that_makes_no_sense_is_refused(as_user):
    for gamma in (-0.1, float("nan"), float("inf"), "2"):
        with pytest.raises(ParameterError, match="gamma"):
            directionality_score(torch.eye(3), gamma)
    for function in (symmetry_score, directionality_score):
        with pytest.raises(ParameterError, match="definition, printed, released, tables"):
            function(torch.eye(3), convention="paper")


def test_scores_leave_their_input_and_its_gradient_alone():
    m = gaussian(6, 6).requires_grad_()
    before = m.detach().clone()
    score(m)
    assert m.grad is None and torch.equal(m.detach(), before)
