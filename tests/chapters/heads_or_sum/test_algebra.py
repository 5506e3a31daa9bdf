"""Pairs of heads, spectra and removals against dense matrices, and errors planted in their formulas."""

import math

import pandas as pd
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from planting import supported, supported_with
from random_forms import SEEDS, forms, gaussian

from attngeo import BilinearForm, symmetry_score
from attngeo.chapters.heads_or_sum import algebra
from attngeo.chapters.heads_or_sum.overlaps import Overlaps, overlaps, parts, ratio
from attngeo.chapters.heads_or_sum.removals import (
    leading_directions,
    removals,
    without_coordinates,
    without_diagonal,
    without_directions,
)
from attngeo.chapters.heads_or_sum.spectrum import in_eigenvalues_at_random, spectrum, symmetric_eigenvalues

SUM, SPECTRUM = algebra.score_of_a_sum, algebra.spectrum_of_a_sum


def close(a, b, scale=None):
    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-9 * float((b if scale is None else scale).abs().max()) + 1e-30)


@given(forms())
def test_pairs_of_heads_are_those_of_the_matrices(form):
    found, heads = overlaps(form), torch.stack([*form.heads()])
    close(found.traces, torch.einsum("gij,hji->gh", heads, heads))
    close(found.products, torch.einsum("gij,hij->gh", heads, heads))


@given(forms())
def test_the_sum_multiplies_the_ratio_of_the_heads(form):
    told = parts(**overlaps(form).sums())
    s = symmetry_score(form.dense())
    assume(abs(s) < 0.99 and abs(told["heads"]) < 0.99)
    assert float(told["symmetry"]) == pytest.approx(s, abs=1e-9)
    assert float(told["factor"] * ratio(told["heads"])) == pytest.approx(ratio(s), rel=1e-6)


@given(SEEDS)
def test_a_head_and_its_transpose_add_up_to_a_symmetric_form(seed):
    q, k = gaussian(2, 8, 3, seed=seed)
    told = parts(**overlaps(BilinearForm(torch.stack([q, k]), torch.stack([k, q]))).sums())
    assert float(told["symmetric_gain"]) == pytest.approx(2)
    assert float(told["skew_gain"]) == pytest.approx(0, abs=1e-9)
    assert float(told["symmetry"]) == pytest.approx(1)


@given(forms())
def test_spectra_are_those_of_the_matrix(form):
    q, k = form.merged()
    told, m = spectrum(q, k), form.dense()
    assert told["in_eigenvalues"] * told["real"] == pytest.approx(symmetry_score(m), abs=1e-8)
    whole = torch.linalg.eigvalsh((m + m.T) / 2)
    sure = whole.abs() > 1e-6 * whole.abs().max()
    assume(int(sure.sum()) == told["n_positive"] + told["n_negative"])  # none is too small to tell from 0
    assert told["n_positive"] == int((whole[sure] > 0).sum())


@given(st.integers(1, 4), st.integers(0, 4), SEEDS)
def test_a_head_has_as_many_positive_as_negative_eigenvalues(d_head, more, seed):
    """Sylvester's law: d_head of either sign wherever queries and keys span 2 d_head dimensions."""
    told = spectrum(*gaussian(2, 2 * d_head + more, d_head, seed=seed))
    assert (told["n_positive"], told["n_negative"]) == (d_head, d_head)


@given(forms(), SEEDS)
def test_what_is_removed_is_gone_from_every_head(form, seed):
    d = form.d_model
    basis = torch.linalg.qr(gaussian(d, 1, seed=seed)).Q
    p, index = torch.eye(d, dtype=torch.float64) - basis @ basis.T, torch.tensor([seed % d])
    kept = torch.ones(d, dtype=torch.float64).index_fill(0, index, 0)
    for h, m in enumerate(form.heads()):
        close(without_directions(form, basis).head(h), p @ m @ p, m)
        close(without_coordinates(form, index).head(h), kept[:, None] * m * kept, m)
    bare, scale = torch.stack([m - m.diagonal().diag() for m in form.heads()]), overlaps(form).products
    close(without_diagonal(form).traces, torch.einsum("gij,hji->gh", bare, bare), scale)
    close(without_diagonal(form).products, torch.einsum("gij,hij->gh", bare, bare), scale)


@given(forms(), st.integers(1, 3))
def test_leading_directions_leave_the_singular_values_after_them(form, n):
    left = without_directions(form, leading_directions(form, n)).dense()
    before = torch.linalg.svdvals(form.dense())
    after = float(before[n]) if n < len(before) else 0.0
    assert float(torch.linalg.matrix_norm(left, 2)) <= after + 1e-8 * float(before[0])


def test_as_much_is_taken_at_random():
    form = algebra.related_heads()
    found = removals(form, seed=1)
    at_random = {name for name, drawn in found if drawn}
    assert at_random == {name for name, _ in found} - {"nothing", "diagonal"}
    for name in at_random - {"mean direction"}:  # what is taken by size takes more
        assert found[name, False].products.sum() < found[name, True].products.sum()


def transposed(form):
    """The heads' forms in place of their transposes, and the other way round."""
    found = overlaps(form)
    return Overlaps(found.products, found.traces)


def one_head(form):
    found = overlaps(form)
    return Overlaps(found.traces.diagonal().diag(), found.products)


def halved(q, k):
    return spectrum(q[:, 1:], k[:, 1:])


PLANTED = {
    "products for traces": (SUM, "overlaps", transposed),
    "heads by themselves": (SUM, "overlaps", one_head),
    "a sum of gains": (SUM, "parts", lambda **sums: parts(**sums) | {"factor": sum(sums.values())}),
    "the heads' score for the layer's": (
        SUM,
        "parts",
        lambda **sums: parts(**sums) | {"symmetry": sums["own_trace"] / sums["own_square"]},
    ),
    "the gains exchanged": (
        SUM,
        "parts",
        lambda **sums: parts(**sums) | {"symmetric_gain": parts(**sums)["skew_gain"]},
    ),
    "the root of the ratio": (SUM, "ratio", lambda s: math.sqrt(ratio(s))),
    "a smaller product": (SPECTRUM, "spectrum", halved),
    "all eigenvalues positive": (
        SPECTRUM,
        "spectrum",
        lambda q, k: spectrum(q, k) | {"n_positive": 2 * q.shape[1], "n_negative": 0},
    ),
    "eigenvalues of the form": (SPECTRUM, "symmetric_eigenvalues", lambda q, k: symmetric_eigenvalues(q, q)),
}


@pytest.mark.parametrize("name", PLANTED)
def test_an_error_is_refused(name):
    check, target, wrong = PLANTED[name]
    assert supported(check)
    assert not supported_with(check, target, wrong)


@pytest.mark.parametrize("rank", [20, 120, 240, 480])
def test_normal_factors_have_the_share_of_the_law_in_eigenvalues(rank):
    found = spectrum(*gaussian(2, 240, rank, seed=rank))["in_eigenvalues"]
    (law,) = in_eigenvalues_at_random(pd.Series([240]), pd.Series([rank]))
    assert found == pytest.approx(law, rel=0.05)
