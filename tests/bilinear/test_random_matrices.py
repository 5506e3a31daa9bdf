import math

import pytest
import torch
from scipy.stats import norm

from attngeo import BilinearForm, score, score_heads
from attngeo.bilinear.random_matrices import directionality_sd, sample_dense, sample_forms


@pytest.mark.parametrize("gamma", [0.5, 2.0, 3.0])
@pytest.mark.parametrize("convention", ["definition", "released"])
def test_the_limit_spread_is_that_of_the_influence_of_one_norm(gamma, convention):
    """Of a standard normal norm z: what it adds to the sum itself, less what it does through the threshold."""
    count, slope = (
        ((lambda z: 1.0), norm.pdf(gamma)) if convention == "definition" else ((lambda z: z - gamma), norm.sf(gamma))
    )
    mean = norm.expect(count, lb=gamma)

    def square(z):
        return ((count(z) if z > gamma else 0.0) - mean - slope * (z + gamma * (z**2 - 1) / 2)) ** 2

    variance = norm.expect(square, ub=gamma) + norm.expect(square, lb=gamma)
    assert directionality_sd(100, gamma, convention) == pytest.approx(math.sqrt(variance / 200) / mean, rel=1e-6)


def test_samples_have_one_value_per_draw_and_follow_the_seed():
    a, b, c = sample_dense(5, 3, seed=1), sample_dense(5, 3, seed=1), sample_dense(5, 3, seed=2)
    assert a.symmetry.shape == a.n_rows_over.shape == (3,)
    assert torch.equal(a.symmetry, b.symmetry) and not torch.equal(a.symmetry, c.symmetry)
    drawn = torch.randn(3, 5, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    assert a.symmetry.tolist() == pytest.approx([score(m).symmetry.item() for m in drawn], abs=1e-12)


def test_samples_are_scores_of_factors_drawn_one_after_the_other():
    generator = torch.Generator().manual_seed(1)

    def factor(heads):
        return torch.randn(heads, 6, 2, generator=generator, dtype=torch.float64)

    layers = [score(BilinearForm(factor(4), factor(4))) for _ in range(3)]
    found = sample_forms(4, 6, 2, draws=3, seed=1)
    generator.manual_seed(1)
    heads = score_heads(BilinearForm(factor(3), factor(3)))
    for name, values in vars(sample_forms(1, 6, 2, draws=3, seed=1)).items():
        assert values.tolist() == pytest.approx(getattr(heads, name).tolist(), abs=1e-12)
        assert getattr(found, name).tolist() == pytest.approx([getattr(s, name).item() for s in layers], abs=1e-12)


@pytest.mark.parametrize("size", [1, 7, 60])
def test_samples_are_drawn_in_batches_of_any_size(size, monkeypatch):
    monkeypatch.setattr("attngeo.bilinear.random_matrices.BATCH", size)
    for sample in (sample_dense(3, 11), sample_forms(1, 4, 2, 11), sample_forms(2, 4, 2, 11)):
        assert all(value.shape == (11,) for value in vars(sample).values())
