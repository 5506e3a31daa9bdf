import math

import pytest
import torch

from attngeo import BilinearForm, symmetry_score
from attngeo.bilinear.waves import octave_scores, octaves, waves
from attngeo.errors import MatrixError


@pytest.mark.parametrize("n", [2, 3, 15, 16, 31, 64])
def test_the_waves_of_all_octaves_are_a_basis_of_the_rows_without_their_mean(n):
    bases = [waves(n, low, high) for low, high in octaves(n).values()]
    basis = torch.cat(bases, 1)
    torch.testing.assert_close(basis.T @ basis, torch.eye(n - 1, dtype=torch.float64))
    assert basis.sum(0).abs().max() < 1e-9


def test_octaves_are_named_by_their_shortest_period():
    assert octaves(16) == {2: (5, 8), 4: (3, 4), 8: (2, 2), 16: (1, 1)}
    for n in (16, 30, 512):
        for period, (low, high) in octaves(n).items():
            assert all(period <= n / f + 1e-9 < 2 * period + 1e-9 for f in range(low, high + 1))


@pytest.mark.parametrize("offset", [1, 2, 3])
def test_a_head_that_attends_to_one_offset_scores_the_cosine_of_twice_its_phase_on_a_wave(offset):
    """s = cos 2wm: on a wave of frequency w, the circulant of offset m is a rotation by wm."""
    n = 16
    rows = torch.eye(n, dtype=torch.float64)
    shift = torch.roll(rows, offset, dims=1)  # entry (i, i + m)
    for f in range(1, n // 2):
        basis = waves(n, f, f)
        s = symmetry_score(basis.T @ shift @ basis)
        assert s == pytest.approx(math.cos(2 * 2 * math.pi * f / n * offset), abs=1e-9)
    form = BilinearForm(rows[None], shift.T[None].contiguous())
    found = octave_scores(form, rows)
    assert float(found[16][0]) == pytest.approx(math.cos(2 * 2 * math.pi / n * offset), abs=1e-9)
    assert sum(float(share) for period, (_, share) in found.items() if period) == pytest.approx(1)


def test_scores_by_octave_are_those_of_the_dense_matrix_and_of_single_heads():
    draw = torch.Generator().manual_seed(0)
    rows = torch.randn(12, 9, generator=draw, dtype=torch.float64)
    form = BilinearForm(*torch.randn(2, 3, 9, 2, generator=draw, dtype=torch.float64).unbind())
    centred = rows - rows.mean(0)
    heads = octave_scores(form, rows, per_head=True)
    for period, (s, _) in octave_scores(form, rows).items():
        basis = waves(12, *octaves(12)[period]) if period else torch.eye(12, dtype=torch.float64)
        of = lambda m, b=basis: symmetry_score(b.T @ centred @ m @ centred.T @ b)  # noqa: E731
        assert float(s) == pytest.approx(of(form.dense()), abs=1e-9)
        assert heads[period][0].tolist() == pytest.approx([of(m) for m in form.heads()], abs=1e-9)


def test_waves_that_do_not_exist_are_refused():
    with pytest.raises(MatrixError, match="16 positions have waves with 1 to 8 periods, but none with 3 to 9"):
        waves(16, 3, 9)
    with pytest.raises(MatrixError, match="1 position has no waves"):
        octave_scores(BilinearForm(torch.ones(1, 4, 2), torch.ones(1, 4, 2)), torch.ones(1, 4))
