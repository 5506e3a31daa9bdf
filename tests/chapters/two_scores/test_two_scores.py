import pytest
import torch
from chapters.two_scores import laws
from notebook_code import claims_of, notebook

from attngeo.bilinear.random_matrices import symmetry_mean, symmetry_sd

PAGE = notebook("two_scores_details")
DRAWS = {  # fewer than on the page, where the tolerance follows from the draws
    "directionality_of_random_matrices": 100,
    "scores_at_initialisation": 60,
    "other_formulas": 6,
    "directionality_of_heads": 1000,
}


def test_every_claim_holds_with_another_seed():
    for name in claims_of(PAGE.__name__):
        assert getattr(PAGE, name)(seed=1, **{"draws": DRAWS[name]} if name in DRAWS else {}).supported, name


def test_bands_are_those_of_random_weights():
    bands = PAGE.bands([256, 1024], 8, 2.0)
    assert bands.loc[256, "$s$, mean"] == pytest.approx(1 / 256)
    assert bands.loc[1024, "$d$ of a head, ±"] == pytest.approx(2 * laws.head_directionality_sd(1024, 128), rel=0.1)
    assert bands["$s$, ±"].is_monotonic_decreasing and bands["$d$, ±"].is_monotonic_decreasing


@pytest.mark.parametrize("n", [3, 8, 64])
def test_the_density_of_symmetry_is_a_density_with_those_moments(n):
    s = torch.linspace(-1, 1, 400_001, dtype=torch.float64)
    p = torch.from_numpy(laws.symmetry_law(n).pdf(s.numpy()))
    mass, mean, square = (torch.trapezoid(f * p, s).item() for f in (torch.ones_like(s), s, s**2))
    assert mass == pytest.approx(1, abs=1e-6)
    assert mean == pytest.approx(symmetry_mean(n), abs=1e-6)
    assert square - mean**2 == pytest.approx(symmetry_sd(n) ** 2, abs=1e-6)
    assert torch.trapezoid(p[s <= 0], s[s <= 0]).item() == pytest.approx(laws.negative_symmetry_share(n), abs=1e-6)


@pytest.mark.parametrize(("gamma", "first"), [(1.0, 12), (2.0, 87)])
def test_the_limit_of_one_column_changes_its_sign(gamma, first):
    assert laws.first_positive_limit(gamma) == first
    assert laws.one_column_limit(first - 1, gamma) < 0 < laws.one_column_limit(first, gamma)


def test_the_rows_behind_one_column_are_those_of_a_draw():
    g = torch.randn(10**6, generator=torch.Generator().manual_seed(0)).abs()
    over = g > g.mean() + 2 * g.std()
    drawn = over.double().mean().item(), (g * over).mean().item()
    assert laws.rows_behind_one_column(2.0) == pytest.approx(drawn, rel=0.01)
