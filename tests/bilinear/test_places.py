import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attngeo.bilinear.places import interaction, symmetry_between_places
from attngeo.errors import MatrixError


def noise(n, seed=0):
    return torch.randn(n, n, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@given(st.integers(3, 9), st.integers(0, 10**6))
def test_the_interaction_is_the_residual_of_least_squares_off_the_diagonal(n, seed):
    a = noise(n, seed)
    i, j = (~torch.eye(n, dtype=torch.bool)).nonzero().T
    design = torch.cat([torch.eye(n, dtype=torch.float64)[i], torch.eye(n, dtype=torch.float64)[j]], 1)
    fitted = design @ torch.linalg.pinv(design) @ a[i, j]
    r = interaction(a)
    torch.testing.assert_close(r[i, j], a[i, j] - fitted)
    assert r.diagonal().abs().max() == 0
    assert max(r.sum(0).abs().max(), r.sum(1).abs().max()) < 1e-9


def test_constants_of_rows_and_columns_and_the_diagonal_do_not_count():
    a = noise(6)
    moved = a + 9 * noise(6, 1)[0] + 9 * noise(6, 2)[:, :1] + 9 * torch.eye(6, dtype=torch.float64)
    assert symmetry_between_places(moved) == pytest.approx(symmetry_between_places(a))


def test_symmetric_and_skew_scores_have_the_extreme_values():
    a = noise(7)
    assert symmetry_between_places(a + a.T) == pytest.approx(1)
    assert symmetry_between_places(a - a.T) == pytest.approx(-1)
    half = (interaction(a) + interaction(a).T) / 2
    other = (interaction(a) - interaction(a).T) / 2
    expected = (half.square().sum() - other.square().sum()) / interaction(a).square().sum()
    assert symmetry_between_places(a) == pytest.approx(float(expected))


def test_two_halves_take_the_noise_out():
    """Symmetric scores with noise as large as themselves: one mean scores about 1/2, two halves about 1."""
    a = noise(60)
    a = (a + a.T) / 2**0.5
    noisy = [a + noise(60, seed) for seed in (1, 2)]
    assert symmetry_between_places(noisy[0]) == pytest.approx(0.5, abs=0.05)
    assert symmetry_between_places(*noisy) == pytest.approx(1, abs=0.1)


def test_scores_without_interaction_have_no_symmetry():
    assert symmetry_between_places(torch.zeros(4, 4)) != symmetry_between_places(torch.zeros(4, 4))
    with pytest.raises(MatrixError, match="with 2 positions, nothing remains"):
        interaction(torch.ones(2, 2))
