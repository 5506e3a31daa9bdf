from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attngeo.gradients.objectives import Objective, context_matrix, sample_mask
from attngeo.gradients.token_counts import MarkovChain, count_tokens, expected_counts


def chain(n_vocab: int = 3, seed: int = 0) -> MarkovChain:
    return MarkovChain.random(n_vocab, 0.4, torch.Generator().manual_seed(seed))


def every_sequence(process: MarkovChain, n: int):
    """Each sequence of n tokens with its probability."""
    tokens = torch.tensor(list(product(range(len(process.start)), repeat=n)))
    p = process.start[tokens[:, 0]]
    for k in range(1, n):
        p = p * process.transition[tokens[:, k - 1], tokens[:, k]]
    return tokens, p


def test_marginals_and_samples_of_a_chain():
    process, n = chain(3, 5), 4
    tokens, p = every_sequence(process, n)
    enumerated = torch.stack([torch.zeros(3).double().index_add(0, tokens[:, k], p) for k in range(n)])
    torch.testing.assert_close(process.marginals(n), enumerated)
    first, second = (process.sample(2000, n, torch.Generator().manual_seed(1)) for _ in range(2))
    assert (first == second).all()
    frequency = torch.nn.functional.one_hot(first, 3).double().mean(0)
    assert (frequency - enumerated).abs().max() < 4 * 0.5 / 2000**0.5
    stationary = process.stationary()
    torch.testing.assert_close(stationary.marginals(n), stationary.start.expand(n, -1))


@given(st.integers(0, 10_000), st.sampled_from(list(Objective)))
@settings(max_examples=30)
def test_counts_against_loops_over_pairs(seed, objective):
    n, v, generator = 5, 3, torch.Generator().manual_seed(seed)
    tokens = torch.randint(v, (4, n), generator=generator)
    masked = sample_mask(4, n, 0.4, generator) if objective is Objective.MASKED else None
    contexts = context_matrix(objective, n, masked)
    counts = count_tokens(tokens, contexts, v)
    pairs = contexts if contexts.ndim == 3 else contexts.expand(4, n, n)
    for s, t in product(range(4), range(v)):
        inside = [(i, j) for i, j in product(range(n), repeat=2) if pairs[s, i, j]]
        assert counts.context[s, t] == sum(int(tokens[s, j]) == t for _, j in inside)
        assert counts.predicted[s, t] == sum(int(tokens[s, i]) == t for i, _ in inside)


@pytest.mark.parametrize("objective", ["autoregressive", "bidirectional"])
def test_expected_counts_over_every_sequence(objective):
    n, process = 5, chain()
    tokens, p = every_sequence(process, n)
    counts = count_tokens(tokens, context_matrix(objective, n), 3)
    expected = expected_counts(objective, process.marginals(n))
    torch.testing.assert_close(p @ counts.context, expected.context)
    torch.testing.assert_close(p @ counts.predicted, expected.predicted)
