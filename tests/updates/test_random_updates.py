"""The models of random updates against explicit loops."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attngeo.errors import ParameterError
from attngeo.updates.norms import ratio_samples, squared_norms
from attngeo.updates.objectives import Objective, sample_mask
from attngeo.updates.random_updates import (
    Coefficients,
    Law,
    UpdateModel,
    draw_embeddings,
    power_profile,
)


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def moment(d: int, seed: int) -> torch.Tensor:
    x = torch.randn(2 * d, d, generator=generator(seed), dtype=torch.float64)
    return x.T @ x


@pytest.mark.parametrize("law", Law)
def test_laws_have_their_moments(law):
    x = law.draw(400_000, generator=generator())
    assert abs(x.mean()) < 4 * x.std() / len(x) ** 0.5
    assert float(x.square().mean()) == pytest.approx(1, abs=0.02)
    assert float(x.pow(4).mean()) == pytest.approx(law.kurtosis, rel=0.06)


def test_embeddings_have_their_covariance():
    covariance = moment(4, 1) / 8
    x = draw_embeddings(covariance, 200_000, generator=generator())
    torch.testing.assert_close(x.T @ x / len(x), covariance, atol=0.03, rtol=0)


@pytest.mark.parametrize("objective", Objective)
def test_update_model_against_loops(objective):
    d, n, n_sequences = 5, 6, 2
    mask_token = torch.arange(d, dtype=torch.float64)
    first = -torch.ones(d, dtype=torch.float64)
    model = UpdateModel(
        torch.eye(d, dtype=torch.float64),
        objective,
        n_tokens=n,
        n_sequences=n_sequences,
        coefficients="bilinear",
        first_token=first,
        mask_token=mask_token,
        mask_rate=0.4,
    )
    measured = model.draw(1, generator(3))[0]
    g = generator(3)  # the same draws in the same order
    x = draw_embeddings(model.covariance, 1, n_sequences, n, generator=g)[0]
    masked = torch.zeros(n_sequences, n, dtype=torch.bool)
    if objective is Objective.MASKED:
        masked = sample_mask(n_sequences, n, 0.4, g)
    form = torch.randn(1, 1, d, d, generator=g, dtype=torch.float64)[0, 0] / d
    expected = torch.zeros(d, d, dtype=torch.float64)
    for s, i, j in itertools.product(range(n_sequences), range(n), range(n)):
        x[s, 0] = first
        allowed = {
            Objective.AUTOREGRESSIVE: j < i,
            Objective.BIDIRECTIONAL: j != i,
            Objective.MASKED: bool(masked[s, i]) and not masked[s, j],
        }[objective]
        if allowed:
            query = mask_token if masked[s, i] else x[s, i]
            expected += (query @ form @ x[s, j]) * torch.outer(query, x[s, j])
    torch.testing.assert_close(measured, expected)


@pytest.mark.parametrize("objective", Objective)
def test_centred_coefficients_ignore_a_shift_of_the_keys(objective):
    model = UpdateModel(torch.eye(4, dtype=torch.float64), objective, n_tokens=8, coefficients=Coefficients.CENTRED)
    x = torch.zeros(3, 2, 8, 4, dtype=torch.float64)
    queries, contexts = model._pairs(x, generator())
    beta = model._coefficients(queries, x, contexts, generator()) * contexts
    assert beta.abs().max() > 0.1
    assert beta.sum(-1).abs().max() < 1e-12


@given(st.integers(2, 9), st.integers(0, 10**6))
@settings(deadline=None, max_examples=40)
def test_norms_share_one_sum(d, seed):
    m = torch.randn(d, d, generator=generator(seed), dtype=torch.float64)
    rows, columns = squared_norms(m)
    torch.testing.assert_close(rows.sum(), columns.sum())
    torch.testing.assert_close(rows, m.norm(dim=1) ** 2)


def test_ratio_samples():
    top, bottom = torch.tensor([1.0, 3.0]).double(), torch.tensor([2.0, 2.0]).double()
    assert float(ratio_samples(top, bottom).mean()) == 1


I3 = torch.eye(3, dtype=torch.float64)
REFUSED = {
    "unknown law": lambda: Law("cauchy"),
    "unknown coefficients": lambda: UpdateModel(I3, coefficients="none"),
    "unknown objective": lambda: UpdateModel(I3, "causal"),
    "one token": lambda: UpdateModel(I3, n_tokens=1),
    "no sequence": lambda: UpdateModel(I3, n_sequences=0),
    "mask rate 1": lambda: UpdateModel(I3, mask_rate=1.0),
    "covariance not positive": lambda: draw_embeddings(-I3, 2, generator=generator()),
    "covariance not symmetric": lambda: draw_embeddings(I3 + I3.roll(1, 0) / 9, 2, generator=generator()),
    "width 1": lambda: power_profile(1, 1.0),
    "negative exponent": lambda: power_profile(4, -1.0),
}


def test_what_is_known_is_named(as_user):
    for unknown, known in (
        (lambda: Coefficients("none"), "independent, centred, error, bilinear"),
        (lambda: Law("cauchy"), "gaussian, laplace, uniform"),
    ):
        with pytest.raises(ParameterError, match=f" {known}.$"):
            unknown()


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_sentence(name, as_user):
    with pytest.raises(ParameterError) as caught:
        REFUSED[name]()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
