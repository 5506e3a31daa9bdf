import math

import pytest
import torch
from random_forms import gaussian
from scipy.stats import beta, norm

from attngeo import BilinearForm, score, score_heads
from attngeo.bilinear.random_matrices import (
    directionality_sd,
    sample_dense,
    sample_forms,
    symmetry_mean,
    symmetry_sd,
)


def errors_off(samples, expected):
    """Distance of the mean of samples from a number, in standard errors."""
    return abs(samples.mean() - expected).item() / (samples.std() / math.sqrt(len(samples))).item()


def turned(spectrum, draws, seed=0):
    """U diag(spectrum) V^T with U, V uniform over the orthogonal matrices, many times over."""
    n = len(spectrum)
    bases = []
    for i in range(2):
        q, r = torch.linalg.qr(gaussian(draws, n, n, seed=2 * seed + i))
        bases.append(q * r.diagonal(dim1=-2, dim2=-1).sign()[:, None, :])
    return (bases[0] * spectrum) @ bases[1].mT


@pytest.fixture(scope="module")
def dense():
    return {n: sample_dense(n, 1500, seed=n) for n in (8, 64)}


@pytest.mark.parametrize("n", [8, 64])
def test_symmetry_of_random_matrices_has_the_mean_and_spread_of_the_closed_form(n, dense):
    s = dense[n].symmetry
    assert errors_off(s, symmetry_mean(n)) < 4
    assert errors_off((s - symmetry_mean(n)).square(), symmetry_sd(n) ** 2) < 4
    # the printed rate and the rate of the printed definition are far outside
    for wrong in (8 / n, 4 / n, 2 / n):
        assert errors_off(s, wrong) > 10


@pytest.mark.parametrize("n", [2, 3, 10])
def test_spread_of_symmetry_is_that_of_the_beta_law_of_normal_matrices(n):
    """The skew part of n (n - 1) / 2 dimensions holds a share (1 - s) / 2 of the square of n^2 normal coordinates."""
    share = beta(n * (n - 1) / 4, n * (n + 1) / 4)
    assert symmetry_sd(n) == pytest.approx(2 * share.std(), rel=1e-10)
    assert symmetry_mean(n) == pytest.approx(1 - 2 * share.mean(), rel=1e-10)


@pytest.mark.parametrize("kind", ["rank one", "equal", "falling"])
def test_spread_of_symmetry_for_given_singular_values(kind):
    n = 6
    spectrum = {
        "rank one": torch.tensor([1.0] + [0.0] * 5),
        "equal": torch.ones(n),
        "falling": 0.5 ** torch.arange(n),
    }[kind].double()
    concentration = (spectrum**4).sum() / (spectrum**2).sum() ** 2
    m = turned(spectrum, 20_000)
    s = (m * m.mT).sum((1, 2)) / m.square().sum((1, 2))
    expected = symmetry_sd(n, min(concentration.item(), 1.0)) ** 2
    assert errors_off(s, 1 / n) < 4
    assert errors_off((s - 1 / n).square(), expected) < 4
    if kind == "equal":
        assert expected == pytest.approx(2 / n**2)
    if kind == "rank one":
        assert expected == pytest.approx(2 * (n - 1) / (n**2 * (n + 2)))


@pytest.mark.parametrize("shape", [(1, 32, 1, None), (1, 32, 4, None), (6, 32, 16, None), (4, 32, 8, 2)], ids=str)
def test_products_of_random_factors_have_the_same_mean(shape):
    *sizes, kv_heads = shape
    s = sample_forms(*sizes, draws=1000, seed=1, n_kv_heads=kv_heads).symmetry
    assert errors_off(s, 1 / 32) < 4
    assert errors_off(s, 2 / 32) > 10


def test_uniform_weights_have_the_same_mean():
    generator = torch.Generator().manual_seed(0)
    wq, wk = 2 * torch.rand(2, 3000, 16, 4, generator=generator, dtype=torch.float64) - 1
    m = wq @ wk.mT
    s = (m * m.mT).sum((1, 2)) / m.square().sum((1, 2))
    assert errors_off(s, 1 / 16) < 4


@pytest.mark.parametrize("convention", ["definition", "released"])
def test_directionality_scatters_as_the_closed_form_says(convention):
    n = 256
    sample = sample_dense(n, 400, seed=5)
    d = sample.directionality if convention == "definition" else sample.directionality_released
    assert errors_off(d, 0) < 4
    assert d.std().item() / directionality_sd(n, convention=convention) == pytest.approx(1, abs=0.15)
    # four times the rows, half the spread
    assert directionality_sd(n) == pytest.approx(2 * directionality_sd(4 * n))
    assert directionality_sd(n, convention="tables") == directionality_sd(n, convention="released")
    assert directionality_sd(n, convention="printed") == directionality_sd(n)


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

    layers = [score(BilinearForm(factor(4), factor(2)), gamma=0.5) for _ in range(3)]
    found = sample_forms(4, 6, 2, draws=3, seed=1, gamma=0.5, n_kv_heads=2)
    generator.manual_seed(1)
    heads = score_heads(BilinearForm(factor(3), factor(3)), gamma=0.5)
    for name, values in vars(sample_forms(1, 6, 2, draws=3, seed=1, gamma=0.5)).items():
        assert values.tolist() == pytest.approx(getattr(heads, name).tolist(), abs=1e-12)
        assert getattr(found, name).tolist() == pytest.approx([getattr(s, name).item() for s in layers], abs=1e-12)


@pytest.mark.parametrize("size", [1, 7, 60])
def test_samples_are_drawn_in_batches_of_any_size(size, monkeypatch):
    monkeypatch.setattr("attngeo.bilinear.random_matrices.BATCH", size)
    for sample in (sample_dense(3, 11), sample_forms(1, 4, 2, 11), sample_forms(2, 4, 2, 11)):
        assert all(value.shape == (11,) for value in vars(sample).values())
