import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from random_forms import forms, gaussian

from attngeo import BilinearForm, score
from attngeo.errors import MatrixError


@given(forms())
def test_merged_and_per_head_factors_give_the_same_matrix(form):
    q, k = form.merged()
    assert q.shape == k.shape == (form.d_model, form.n_kv_heads * form.d_head)
    wq, wk = form.per_head()
    assert wq.shape == wk.shape == (form.n_heads, form.d_model, form.d_head)
    torch.testing.assert_close(q @ k.T, torch.einsum("hic,hjc->ij", wq, wk), rtol=1e-10, atol=1e-10)


@given(forms())
def test_the_transpose_exchanges_queries_and_keys(form):
    torch.testing.assert_close(form.T.dense(), form.dense().T, rtol=1e-10, atol=1e-10)
    torch.testing.assert_close(form.T.T.dense(), form.dense(), rtol=1e-10, atol=1e-10)
    for h in range(form.n_heads):
        torch.testing.assert_close(form.T.head(h), form.head(h).T, rtol=1e-12, atol=1e-12)


def test_linear_modules_are_taken_for_their_weights():
    query, key = torch.nn.Linear(6, 4), torch.nn.Linear(6, 4)
    form = BilinearForm.from_linear(query, key, 2)
    assert torch.equal(form.wq, BilinearForm.from_linear(query.weight, key.weight, 2).wq)


@given(forms())
def test_symmetric_and_skew_parts_add_up(form):
    s, n = form.symmetric_part(), form.skew_part()
    assert torch.equal(s, s.T) and torch.equal(n, -n.T)
    torch.testing.assert_close(s + n, form.dense(), rtol=1e-12, atol=1e-12)


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), st.integers(1, 4), st.integers(0, 99))
def test_linear_weights_split_into_heads_as_attention_splits_them(kv_heads, group, d, d_head, seed):
    heads = kv_heads * group
    query, key = gaussian(heads * d_head, d, seed=seed), gaussian(kv_heads * d_head, d, seed=seed + 1)
    x = gaussian(3, d, seed=seed + 2)
    form = BilinearForm.from_linear(query, key, d_head)
    # what an attention layer does: project, then view as (tokens, heads, d_head)
    q = torch.nn.functional.linear(x, query).view(3, heads, d_head)
    k = torch.nn.functional.linear(x, key).view(3, kv_heads, d_head).repeat_interleave(group, 1)
    raw = torch.einsum("ihc,jhc->hij", q, k)
    for h in range(heads):
        torch.testing.assert_close(x @ form.head(h) @ x.T, raw[h], rtol=1e-10, atol=1e-10)


def test_heads_are_numbered_from_both_ends():
    form = BilinearForm(gaussian(3, 4, 2), gaussian(3, 4, 2, seed=1))
    assert torch.equal(form.head(-1), form.head(2)) and torch.equal(form.head(-3), form.head(0))
    assert len(list(form.heads())) == form.n_heads == 3
    for h in (3, -4):
        with pytest.raises(MatrixError, match=r" 0 .* 2"):
            form.head(h)


@pytest.mark.parametrize(
    ("wq", "wk", "named"),
    [
        (torch.zeros(4, 2), torch.zeros(1, 4, 2), r"wq is \(4, 2\)"),
        (torch.zeros(1, 4, 2), torch.zeros(0, 4, 2), r"wk is \(0, 4, 2\)"),
        (torch.zeros(1, 4, 2, dtype=torch.int8), torch.zeros(1, 4, 2), "wq is .*torch.int8"),
        (torch.zeros(1, 4, 2), torch.zeros(1, 5, 2), r"\(1, 4, 2\).*\(1, 5, 2\)"),
        (torch.zeros(3, 4, 2), torch.zeros(2, 4, 2), r"\(3, 4, 2\).*\(2, 4, 2\)"),
        (torch.zeros(1, 4, 2), torch.zeros(1, 4, 2, dtype=torch.float64), "float32.*float64"),
    ],
)
def test_factors_that_make_no_form_are_refused(wq, wk, named, as_user):
    with pytest.raises(MatrixError, match=named):
        BilinearForm(wq, wk)


@pytest.mark.parametrize(
    ("key", "d_head"), [(torch.zeros(5, 4), 2), (torch.zeros(6, 5), 2), (torch.zeros(6, 4), 4), ([1.0], 2)]
)
def test_weights_that_do_not_split_are_refused(key, d_head, as_user):
    with pytest.raises(MatrixError):
        BilinearForm.from_linear(torch.zeros(6, 4), key, d_head)


@pytest.mark.parametrize("heads, kv_heads, d_head", [(4, 2, 3), (4, 4, 8)])
def test_eigenvalues_and_singular_values_are_those_of_the_matrix(heads, kv_heads, d_head, as_user):
    torch.manual_seed(0)
    form = BilinearForm(torch.randn(heads, 12, d_head).double(), torch.randn(kv_heads, 12, d_head).double())
    dense = form.dense()
    torch.testing.assert_close(form.singular_values(), torch.linalg.svdvals(dense), atol=1e-10, rtol=1e-10)
    magnitudes = torch.linalg.eigvals(dense).abs().sort(descending=True).values
    torch.testing.assert_close(form.eigenvalues().abs(), magnitudes, atol=1e-6, rtol=1e-9)
    torch.testing.assert_close(form.eigenvalues().sum().real, dense.trace())
    assert form.singular_values(2).tolist() == form.singular_values()[:2].tolist()
    for k in (13, 0, 1.5):
        with pytest.raises(MatrixError, match="1 to 12"):
            form.eigenvalues(k)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_arrays_of_numpy_are_factors_and_matrices_too(kind):
    generator = np.random.default_rng(0)
    wq, wk = (generator.standard_normal((heads, 16, 4)).astype(kind) for heads in (4, 2))
    form = BilinearForm(wq, wk[::-1])
    assert torch.equal(form.wq, torch.from_numpy(wq)) and torch.equal(form.wk, torch.from_numpy(wk[::-1].copy()))
    per_head = np.einsum("hir,hjr->hij", wq.astype(float), np.repeat(wk[::-1], 2, axis=0).astype(float))
    m = per_head.sum(0)
    assert float(score(form).symmetry) == pytest.approx(np.trace(m @ m) / (m * m).sum(), abs=1e-5)
    assert float(score(m).symmetry) == pytest.approx(np.trace(m @ m) / (m * m).sum(), abs=1e-12)


def test_arrays_of_whole_numbers_are_refused(as_user):
    with pytest.raises(MatrixError, match="wq is an array of int64; a form needs floating-point numbers"):
        BilinearForm(np.ones((4, 16, 4), int), np.ones((4, 16, 4)))
