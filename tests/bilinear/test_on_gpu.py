"""The way of a GPU, run on a CPU, against the dense matrix in float64."""

from collections import Counter

import pytest
import torch
from random_forms import gaussian
from torch.utils._python_dispatch import TorchDispatchMode

from attngeo import BilinearForm, directionality_score, score, score_heads, symmetry_score
from attngeo.bilinear import on_gpu
from attngeo.bilinear.coherence import part_products
from attngeo.bilinear.moments import near_one
from attngeo.errors import MatrixError

SHAPES = {  # d, query heads, key heads, width of a head
    "as many coordinates as d": (600, 8, 8, 75),
    "grouped keys": (600, 8, 4, 50),
    "low rank": (600, 8, 2, 30),
    "narrow": (96, 4, 4, 24),
    "narrow and low rank": (96, 4, 2, 8),
}


@pytest.fixture(autouse=True)
def as_on_a_gpu(monkeypatch):
    monkeypatch.setattr("attngeo.bilinear.moments.on_gpu", lambda x: True)
    monkeypatch.setattr("attngeo.bilinear.scores.on_gpu", lambda x: True)


def a_form(d, heads, key_heads, d_head, dtype=torch.float32, by_columns=False):
    """Queries and keys that have a part in common, with a few long columns."""
    wq, noise = gaussian(heads, d, d_head), gaussian(key_heads, d, d_head, seed=1)
    wk = wq[:: heads // key_heads] + noise
    wk[:, :: d // 12] *= 3
    factors = [x.to(dtype) for x in (wq, wk)]
    return BilinearForm(*(x.mT.contiguous().mT if by_columns else x for x in factors))


def close(found, exact, dtype):
    """Whether scores have the accuracy that is documented."""
    same_counts = torch.equal(found.n_rows_over, exact.n_rows_over)
    same_counts &= torch.equal(found.n_columns_over, exact.n_columns_over)
    s = (found.symmetry - exact.symmetry).abs().max()
    d = (found.directionality - exact.directionality).abs().max()
    return same_counts and s < (1e-6 if dtype.itemsize == 2 else 1e-7) and d < (1e-5 if dtype.itemsize == 2 else 1e-6)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
def test_scores_are_those_of_the_dense_matrix(shape, by_columns, dtype, monkeypatch):
    monkeypatch.setattr(on_gpu, "STRIPE", 77)
    form = a_form(*SHAPES[shape], dtype, by_columns)
    matrices = [head.double() for head in form.to(torch.float64).heads()]
    whole = score(torch.stack(matrices).sum(0))
    assert close(score(form), whole, dtype) and whole.n_columns_over > 0
    heads = score_heads(form)
    for h, matrix in enumerate(matrices):
        one = {name: values[h] for name, values in vars(heads).items()}
        assert close(type(heads)(**one), score(matrix), dtype)
    assert symmetry_score(form) == pytest.approx(whole.symmetry.item(), abs=1e-6)
    assert directionality_score(form) == pytest.approx(whole.directionality.item(), abs=1e-5)


def test_a_wrong_sum_is_noticed(monkeypatch):
    form = a_form(600, 8, 8, 75)
    whole = score(form.dense().double())
    right = on_gpu._whole
    monkeypatch.setattr(on_gpu, "_whole", lambda q, k: right(q.bfloat16().float(), k))
    assert not close(score(form), whole, torch.float32)


def test_heads_do_not_depend_on_how_many_are_multiplied_at_a_time(monkeypatch):
    form = a_form(96, 6, 3, 8)
    at_once = score_heads(form)
    monkeypatch.setattr(on_gpu, "BYTES", 3 * 96 * 8 * 8)
    for name, values in vars(score_heads(form)).items():
        torch.testing.assert_close(values, getattr(at_once, name))


@pytest.mark.parametrize("few", [0, 10_000])
def test_where_d_is_computed_changes_nothing(few, monkeypatch):
    form = a_form(600, 8, 8, 75)
    monkeypatch.setattr("attngeo.bilinear.scores.FEW", few)
    assert close(score(form), score(form.dense().double()), torch.float32)


def test_a_norm_at_the_threshold_is_decided_in_float64(monkeypatch):
    monkeypatch.setattr("attngeo.bilinear.scores.ROUGH", 5)
    rows = torch.tensor([1.0, 1.0, 1.0, 1.0, 7.0])[:, None] * torch.linalg.qr(gaussian(5, 5)).Q.float()
    types, right = [], on_gpu._whole
    monkeypatch.setattr(on_gpu, "_whole", lambda q, k: types.append(q.dtype) or right(q, k))
    form = BilinearForm(rows[None], torch.eye(5)[None])  # one norm at mean + 2 sd
    for gamma, expected in ((1.5, [torch.float32]), (2.0, [torch.float32, torch.float64])):
        found, exact = score(form, gamma), score(form.to(torch.float64).dense(), gamma)
        assert types == expected and found.n_rows_over == exact.n_rows_over
        types.clear()


@pytest.mark.parametrize("scale", [1e-30, 1e30])
def test_extreme_magnitudes_are_scored_as_any_others(scale):
    form = a_form(96, 4, 4, 24)
    wq = form.wq * scale
    wq[0] /= scale  # heads of one layer may differ widely
    uneven = BilinearForm(wq, form.wk)
    for name in ("symmetry", "directionality"):
        expected = [getattr(score(m), name).item() for m in uneven.to(torch.float64).heads()]
        assert getattr(score_heads(uneven), name).tolist() == pytest.approx(expected, abs=1e-6)
    assert symmetry_score(uneven) == pytest.approx(symmetry_score(uneven.to(torch.float64).dense()), abs=1e-6)
    scaled = score(BilinearForm(form.wq * scale, form.wk))
    assert scaled.symmetry.item() == pytest.approx(score(form).symmetry.item(), abs=1e-6)


@pytest.mark.parametrize("of", [score, score_heads, symmetry_score])
def test_weights_that_are_not_finite_are_refused_and_zeros_have_no_direction(of):
    wq, wk = torch.ones(2, 6, 3), torch.ones(2, 6, 3)
    wk[1, 2, 0] = torch.nan
    with pytest.raises(MatrixError, match="W_k"):
        of(BilinearForm(wq, wk))
    found = of(BilinearForm(torch.zeros(2, 6, 3), wq))
    values = [found] if isinstance(found, float) else [x for each in vars(found).values() for x in each.reshape(-1)]
    assert all(value == 0 for value in values)


class Operations(TorchDispatchMode):
    """Counts the operations that a GPU would have to start."""

    def __init__(self) -> None:
        super().__init__()
        self.counted = Counter()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if not function.is_view:
            self.counted[str(function)] += 1
        return function(*args, **kwargs or {})


@pytest.mark.parametrize("of", [score, score_heads])
def test_the_number_of_operations_depends_neither_on_heads_nor_on_width(of):
    counts = []
    for shape in ((512, 4, 4, 128), (512, 16, 16, 32), (768, 6, 6, 128)):
        with Operations() as seen:
            of(a_form(*shape, torch.bfloat16))
        with Operations() as made:
            a_form(*shape, torch.bfloat16)
        counts.append(seen.counted.total() - made.counted.total())
    assert max(counts) - min(counts) <= 6 and max(counts) < 90  # the dense way of the released code needs 36 to 38
    waits = seen.counted["aten._local_scalar_dense.default"]  # each a wait of the CPU
    assert waits <= 2


def test_products_between_heads_need_few_operations_and_one_product_has_all_pairs():
    counts = []
    for shape in ((512, 4, 4, 128), (512, 16, 16, 32), (512, 16, 2, 32), (512, 24, 2, 16)):
        form = a_form(*shape, torch.bfloat16)
        with Operations() as seen:
            part_products(near_one(form))
        counts.append(seen.counted.total())
        assert seen.counted["aten._local_scalar_dense.default"] <= 4  # each a wait of the CPU
    assert counts[0] == counts[1] and counts[2] == counts[3] and max(counts) < 70


def test_products_have_all_bits_whatever_the_user_allows():
    matmul = torch.backends.cuda.matmul
    before = matmul.fp32_precision
    try:
        matmul.fp32_precision = "tf32"
        with on_gpu.full_float32():
            assert matmul.fp32_precision == "ieee"
        assert matmul.fp32_precision == "tf32"
    finally:
        matmul.fp32_precision = before
