"""Texts of a chain, and what is counted in them."""

import torch

from attngeo.gradients.token_counts import MarkovChain, counted_covariances


def test_marginals_and_samples_of_a_chain():
    process, n = MarkovChain.random(3, 0.4, torch.Generator().manual_seed(5)), 4
    tokens = torch.cartesian_prod(*[torch.arange(3)] * n)  # each sequence of n tokens
    p = process.probability(tokens)
    enumerated = torch.stack([torch.zeros(3).double().index_add(0, tokens[:, k], p) for k in range(n)])
    torch.testing.assert_close(process.marginals(n), enumerated)
    first, second = (process.sample(2000, n, torch.Generator().manual_seed(1)) for _ in range(2))
    assert (first == second).all()
    frequency = torch.nn.functional.one_hot(first, 3).double().mean(0)
    assert (frequency - enumerated).abs().max() < 4 * 0.5 / 2000**0.5
    stationary = process.stationary()
    torch.testing.assert_close(stationary.marginals(n), stationary.start.expand(n, -1))


def test_pairs_counted_in_a_text_are_those_of_its_chain():
    chain = MarkovChain.random(3, 0.4, torch.Generator().manual_seed(5)).stationary()
    ids = chain.sample(1, 40_000, torch.Generator().manual_seed(0))[0]
    torch.testing.assert_close(counted_covariances(ids, 3, 4), chain.pair_covariances(4), atol=0.01, rtol=0)
    first = counted_covariances(torch.tensor([0, 0, 1]), 2, 2)[1]  # pairs 00, 01: independent
    assert torch.equal(first, torch.zeros(2, 2).double())
