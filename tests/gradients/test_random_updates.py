"""The models of random updates against explicit loops."""

import itertools

import pytest
import torch

from attngeo.gradients.objectives import Objective, sample_mask
from attngeo.gradients.random_updates import (
    Coefficients,
    Law,
    UpdateModel,
    correlated_coefficients,
    power_profile,
    tail_gap,
    unevenness,
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("law", Law)
def test_laws_have_their_moments(law):
    x = law.draw(400_000, generator=generator())
    assert abs(x.mean()) < 4 * x.std() / len(x) ** 0.5
    assert float(x.square().mean()) == pytest.approx(1, abs=0.02)
    assert float(x.pow(4).mean()) == pytest.approx(law.kurtosis, rel=0.06)


def test_a_profile_falls_as_a_power_and_has_mean_1():
    assert power_profile(3, 1.0).tolist() == pytest.approx([18 / 11, 9 / 11, 6 / 11], rel=1e-14)
    assert power_profile(2, 0.0).tolist() == [1, 1]


@pytest.mark.parametrize("kind", Coefficients)
@pytest.mark.parametrize("objective", Objective)
def test_update_model_against_loops(objective, kind):
    draws, n_sequences, n, d = 2, 3, 4, 5
    own = kind is Coefficients.INDEPENDENT  # masked positions keep their own embedding
    first = torch.tensor([[-1.0], [2.0]], dtype=torch.float64).expand(draws, d)  # one for each update
    mask_token = first * torch.arange(d)
    model = UpdateModel(
        torch.arange(1.0, d + 1, dtype=torch.float64),
        objective,
        n_tokens=n,
        n_sequences=n_sequences,
        law=Law.LAPLACE,
        coefficients=kind,
        mean=torch.linspace(-1, 2, d, dtype=torch.float64),
        first_token=first,
        mask_token=None if own else mask_token,
        mask_rate=0.4,
    )
    measured = model.draw(draws, generator(3))
    g = generator(3)  # the same draws in the same order
    x = Law.LAPLACE.draw(draws, n_sequences, n, d, generator=g) * model.variances.sqrt() + model.mean
    x[:, :, 0] = first[:, None]
    masked = torch.zeros(draws, n_sequences, n, dtype=torch.bool)
    if objective is Objective.MASKED:
        masked = sample_mask(draws * n_sequences, n, 0.4, g).view(masked.shape)
    shapes = {Coefficients.BILINEAR: (draws, 1, d, d), Coefficients.ERROR: (draws, n_sequences, n, d)}
    normal = torch.randn(shapes.get(kind, (draws, n_sequences, n, n)), generator=g, dtype=torch.float64)
    expected = torch.zeros(draws, d, d, dtype=torch.float64)
    for r, s, i in itertools.product(range(draws), range(n_sequences), range(n)):
        query = mask_token[r] if masked[r, s, i] and not own else x[r, s, i]
        visible = {
            Objective.AUTOREGRESSIVE: set(range(i)),
            Objective.BIDIRECTIONAL: set(range(n)) - {i},
            Objective.MASKED: {j for j in range(n) if masked[r, s, i] and not masked[r, s, j]},
        }[objective]
        for j in visible:
            if kind is Coefficients.BILINEAR:
                beta = query @ normal[r, 0] @ x[r, s, j] / d
            elif kind is Coefficients.ERROR:
                beta = normal[r, s, i] @ x[r, s, j] / d**0.5
            else:
                row = normal[r, s, i]
                beta = row[j] - (row[list(visible)].mean() if kind is Coefficients.CENTRED else 0)
            expected[r] += beta * torch.outer(query, x[r, s, j])
    assert expected.abs().amax((1, 2)).min() > 0
    torch.testing.assert_close(measured, expected)


def test_tails_above_a_quantile():
    update = torch.tensor([[1.0, 2.0], [1.0, 2.0]]).double()  # squared norms of rows 5 and 5, of columns 2 and 8
    assert tail_gap(torch.stack([update, update.T]), 0.7).tolist() == [0.5, -0.5]
    assert unevenness(torch.tensor([[1.0, 3.0], [4.0, 4.0]])).tolist() == [1.25, 1]


def test_correlated_coefficients():
    beta = correlated_coefficients(0.3, 400, 20, generator())
    upper = torch.ones(20, 20, dtype=torch.bool).triu(1)
    pairs = torch.stack([beta[:, upper].flatten(), beta.mT[:, upper].flatten()])
    assert float(torch.corrcoef(pairs)[0, 1]) == pytest.approx(0.3, abs=0.015)
    assert float(beta.diagonal(dim1=1, dim2=2).abs().max()) == 0
    one = correlated_coefficients(1.0, 1, 5, generator())[0]
    assert torch.equal(one, one.T)
