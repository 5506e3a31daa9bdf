"""Formulas for the symmetry of updates, against matrices and explicit loops."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attngeo.chapters.symmetric_updates.first_update import (
    first_coefficients,
    first_update,
    pair_counts,
    tied_embeddings,
)
from attngeo.chapters.symmetric_updates.pair_symmetry import (
    agreement,
    both_to_one_masked,
    correlated_coefficients,
    isotropic_score,
    masked_score,
    pair_score,
)
from attngeo.errors import ParameterError
from attngeo.forms.scores import symmetry_score
from attngeo.updates.objectives import context_matrix


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(st.floats(-5, 5), st.floats(-5, 5), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_pair_score_against_the_matrix(a, b, seed):
    if abs(a) + abs(b) < 1e-3 or (a * b < 0 and abs(a + b) < 1e-3):
        return
    x = torch.randn(2, 3, generator=generator(seed), dtype=torch.float64)
    m = a * torch.outer(x[0], x[1]) + b * torch.outer(x[1], x[0])
    cosine = float(torch.nn.functional.cosine_similarity(x[0], x[1], dim=0))
    assert symmetry_score(m) == pytest.approx(pair_score(agreement(a, b), cosine), abs=1e-6)


@given(st.integers(2, 8), st.integers(0, 10**6))
@settings(deadline=None, max_examples=30)
def test_orthonormal_embeddings_keep_the_score_of_beta(n, seed):
    beta = torch.randn(n, n, generator=generator(seed), dtype=torch.float64)
    frame = torch.linalg.qr(torch.randn(n + 3, n, generator=generator(seed), dtype=torch.float64))[0].T
    assert symmetry_score(frame.T @ beta @ frame) == pytest.approx(symmetry_score(beta))


def test_correlated_coefficients():
    beta = correlated_coefficients(0.3, 400, 20, generator())
    upper = torch.ones(20, 20, dtype=torch.bool).triu(1)
    pairs = torch.stack([beta[:, upper].flatten(), beta.mT[:, upper].flatten()])
    assert float(torch.corrcoef(pairs)[0, 1]) == pytest.approx(0.3, abs=0.015)
    assert float(beta.diagonal(dim1=1, dim2=2).abs().max()) == 0
    assert symmetry_score(correlated_coefficients(1.0, 1, 5, generator())[0]) == pytest.approx(1)


def test_masked_formulas():
    assert both_to_one_masked(0.2) == pytest.approx(0.25)
    assert masked_score(0.7, 0.15) == pytest.approx(0.105)
    assert masked_score(0.7, 0.15, 1, masked_visible=False) == 0
    assert masked_score(0.7, 0.15, 10**7) == pytest.approx(0.7, rel=1e-5)
    assert isotropic_score(0.0, 50) == pytest.approx(1 / 50)


def test_first_update_is_s_v_s():
    e = tied_embeddings(7, 4, generator())
    values = torch.randn(4, 4, generator=generator(1), dtype=torch.float64)
    tokens = torch.randint(7, (3, 6), generator=generator(2))
    update = first_update(tokens, e, values, torch.ones(6, 6, dtype=torch.bool))
    s = e[tokens].mT @ e[tokens]
    torch.testing.assert_close(update, s @ values @ s)
    ahead = first_coefficients(tokens, e, values, ahead=1)
    torch.testing.assert_close(ahead[0, 2, 5], e[tokens[0, 3]] @ values @ e[tokens[0, 5]])
    assert float(ahead[:, -1].abs().max()) == 0
    torch.testing.assert_close(
        first_coefficients(tokens, e + 1, values)[0, 2, 5], e[tokens[0, 2]] @ values @ (e + 1)[tokens[0, 5]]
    )


def test_pair_counts_against_loops():
    tokens = torch.tensor([[0, 1, 1, 2], [2, 0, 1, 0]])
    expected = torch.zeros(3, 3, dtype=torch.float64)
    for sequence in tokens.tolist():
        for i in range(4):
            for j in range(i):
                expected[sequence[i], sequence[j]] += 1
    counts = pair_counts(tokens, context_matrix("autoregressive", 4), 3)
    assert torch.equal(counts, expected)


I3 = torch.eye(3, dtype=torch.float64)
REFUSED = {
    "no coefficients": lambda: agreement(0.0, 0.0),
    "agreement above 1": lambda: pair_score(1.2, 0.0),
    "cancelling pair": lambda: pair_score(-1.0, 1.0),
    "correlation above 1": lambda: correlated_coefficients(1.1, 1, 3, generator()),
    "masked everything": lambda: both_to_one_masked(1.0),
    "no masking": lambda: masked_score(0.5, 0.15, 0),
    "two ahead": lambda: first_coefficients(torch.zeros(1, 3, dtype=torch.int64), I3, I3, ahead=2),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_input_is_refused_in_one_sentence(name, as_user):
    with pytest.raises(ParameterError) as caught:
        REFUSED[name]()
    assert str(caught.value).endswith(".") and "\n" not in str(caught.value)
