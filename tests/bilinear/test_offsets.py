import math

import pytest
import torch

from attngeo import BilinearForm, symmetry_score
from attngeo.bilinear.offsets import kernel, peak, symmetry_from_kernel, transfer
from attngeo.bilinear.waves import octave_scores, octaves, waves
from attngeo.errors import MatrixError

N = 24


def form_of(matrix):
    """A head whose position part is the matrix, for rows that are the unit vectors."""
    return BilinearForm(torch.eye(len(matrix), dtype=torch.float64)[None], matrix.T[None].contiguous())


def circulant(weights, n=N):
    """Entry (i, i + m) is the weight of m, modulo n."""
    rows = torch.eye(n, dtype=torch.float64)
    return sum(weight * torch.roll(rows, m, dims=1) for m, weight in weights.items())


def noise(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_kernel_is_the_mean_of_each_diagonal_of_the_centred_matrix():
    rows, form = noise(9, 5), BilinearForm(*noise(2, 3, 5, 2, seed=1).unbind())
    centred = rows - rows.mean(0)
    heads = kernel(form, rows, per_head=True)
    for g, w in [(kernel(form, rows), form.dense()), *zip(heads, form.heads(), strict=True)]:
        matrix = centred @ w @ centred.T
        expected = [matrix.diagonal(m).mean() for m in range(-8, 9)]
        torch.testing.assert_close(g, torch.stack(expected))


def test_the_transfer_is_the_fourier_transform_of_the_kernel_as_the_positions_see_it():
    rows, form = noise(9, 5), BilinearForm(*noise(2, 3, 5, 2, seed=1).unbind())
    offsets = torch.arange(-8, 9, dtype=torch.float64)
    for f in range(5):
        turned = torch.exp(2j * math.pi * f / 9 * offsets) * (1 - offsets.abs() / 9)
        found = transfer(form, rows, per_head=True)[:, f]
        torch.testing.assert_close(found, (kernel(form, rows, per_head=True) * turned).sum(-1))


@pytest.mark.parametrize("weights", [{1: 1.0}, {-3: 2.0}, {0: 1.0, 1: 0.7, 5: -0.2}, {1: 1.0, -1: 0.4}])
def test_on_a_circulant_the_symmetry_of_every_octave_follows_from_its_kernel_exactly(weights):
    form, rows = form_of(circulant(weights)), torch.eye(N, dtype=torch.float64)
    predicted = symmetry_from_kernel(transfer(form, rows), N)
    for period, (s, _) in octave_scores(form, rows).items():
        assert float(predicted[period]) == pytest.approx(float(s), abs=1e-9)
        if len(weights) == 1:
            single = symmetry_from_kernel(transfer(form, rows), N, next(iter(weights)))
            assert float(single[period]) == pytest.approx(float(s), abs=1e-9)


def test_a_wrong_offset_is_visible():
    form, rows = form_of(circulant({2: 1.0})), torch.eye(N, dtype=torch.float64)
    wrong = symmetry_from_kernel(transfer(form, rows), N, 1)
    assert abs(float(wrong[8]) - float(octave_scores(form, rows)[8][0])) > 0.5


def test_slow_waves_do_not_know_the_side_of_a_kernel():
    """1 - s(w) <= 2 w^2 (sum |m g(m)|)^2 / |G(w)|^2 for a kernel on one side, and s rises with the period."""
    n, weights = 64, {m: 0.5**m for m in range(1, 8)}
    matrix, previous = circulant(weights, n), -1.0
    for f in (8, 4, 2, 1):
        w = 2 * math.pi * f / n
        s = float(symmetry_score(waves(n, f, f).T @ matrix @ waves(n, f, f)))
        size = abs(sum(g * complex(math.cos(w * m), math.sin(w * m)) for m, g in weights.items()))
        assert 1 - s <= 2 * w**2 * sum(m * g for m, g in weights.items()) ** 2 / size**2 + 1e-12
        assert s > previous
        previous = s
    assert previous > 0.9


@pytest.mark.parametrize("offset", [-4, 0, 1, 5])
def test_the_peak_of_a_head_that_attends_to_one_offset_dominates(offset):
    found = peak(kernel(form_of(circulant({offset: 1.0})), torch.eye(N, dtype=torch.float64)))
    assert (found.offset, found.width, found.dominates) == (offset, 1, True)
    assert found.rest < 0.1


def test_a_second_peak_a_slope_and_a_hill_without_an_end_do_not_dominate():
    rows = torch.eye(N, dtype=torch.float64)
    two = peak(kernel(form_of(circulant({2: 1.0, -3: 0.8})), rows))
    assert two.offset == 2 and two.rest > 0.5 and not two.dominates
    slope = torch.arange(-(N - 1), N, dtype=torch.float64)
    assert peak(slope).offset == N // 4 and not peak(slope).dominates
    assert not peak(torch.ones(2 * N - 1)).dominates
    assert not peak(-torch.ones(2 * N - 1)).dominates
    hill = torch.exp(-(slope**2) / 2)
    assert peak(hill).width == 3 and peak(hill).offset == 0 and not peak(hill).dominates
    wide = torch.arange(-99, 100, dtype=torch.float64)
    assert peak(torch.exp(-(wide**2) / 2)).dominates  # a hill of three of a hundred offsets is narrow
    with pytest.raises(MatrixError, match="3 positions are too few"):
        peak(torch.ones(5))


def test_all_octaves_are_predicted():
    rows, form = noise(N, 5), BilinearForm(*noise(2, 3, 5, 2, seed=1).unbind())
    assert symmetry_from_kernel(transfer(form, rows), N).keys() == {0, *octaves(N)}
