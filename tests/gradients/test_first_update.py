"""The first update of linear attention, against its formula, loops and enumeration."""

import pytest
import torch

from attngeo.gradients.first_update import (
    every_sequence,
    expected_update,
    first_coefficients,
    first_update,
    probabilities,
    tied_embeddings,
)
from attngeo.gradients.objectives import Objective, attended_matrix


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


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


def test_the_expected_update_is_the_mean_over_every_sequence():
    embeddings, values, chain, tokens = corpus = every_sequence()
    seen, chance = attended_matrix(Objective.AUTOREGRESSIVE, tokens.shape[1]), probabilities(corpus)
    assert len(tokens.unique(dim=0)) == 3**4 and float(chance.sum()) == pytest.approx(1)
    updates = first_update(tokens, embeddings, values, seen, ahead=1)
    mean = torch.einsum("s,skm->km", chance, updates)
    torch.testing.assert_close(expected_update(chain, embeddings, values, tokens.shape[1]), mean)
