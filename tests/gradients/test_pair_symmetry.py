"""How symmetric updates are, against matrices."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attngeo.bilinear.scores import symmetry_score
from attngeo.gradients.pair_symmetry import agreement, correlated_coefficients, pair_score, random_sequence, signs


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@given(st.floats(-5, 5), st.floats(-5, 5), st.integers(0, 10**6))
@settings(deadline=None, max_examples=60)
def test_pair_score_against_the_matrix(a, b, seed):
    if abs(a) + abs(b) < 1e-3 or (a * b < 0 and abs(a + b) < 1e-3):
        return
    x = random_sequence(3, 2, seed).x
    m = a * torch.outer(x[0], x[1]) + b * torch.outer(x[1], x[0])
    cosine = float(torch.nn.functional.cosine_similarity(x[0], x[1], dim=0))
    assert symmetry_score(m) == pytest.approx(pair_score(agreement(a, b), cosine), abs=1e-6)


def test_correlated_coefficients():
    beta = correlated_coefficients(0.3, 400, 20, generator())
    upper = torch.ones(20, 20, dtype=torch.bool).triu(1)
    pairs = torch.stack([beta[:, upper].flatten(), beta.mT[:, upper].flatten()])
    assert float(torch.corrcoef(pairs)[0, 1]) == pytest.approx(0.3, abs=0.015)
    assert float(beta.diagonal(dim1=1, dim2=2).abs().max()) == 0
    assert symmetry_score(correlated_coefficients(1.0, 1, 5, generator())[0]) == pytest.approx(1)


def test_every_array_of_signs_comes_once():
    every = signs(2, 2)
    assert every.shape == (16, 2, 2) and len(every.unique(dim=0)) == 16 and set(every.flatten().tolist()) == {-1, 1}
