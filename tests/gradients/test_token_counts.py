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


def test_covariances_of_a_chain_are_those_of_all_its_sequences():
    chain = MarkovChain.random(3, 0.4, torch.Generator().manual_seed(5)).stationary()
    tokens = torch.cartesian_prod(*[torch.arange(3)] * 4)
    p = chain.probability(tokens)
    for m, covariance in enumerate(chain.pair_covariances(4)):
        joint = torch.zeros(9).double().index_add(0, 3 * tokens[:, 0] + tokens[:, m], p).view(3, 3)
        torch.testing.assert_close(covariance, joint - torch.outer(chain.start, chain.start))


def test_covariances_of_a_text_are_those_of_its_pairs_one_by_one():
    ids = [0, 2, 1, 1, 0, 2, 2, 1, 0]
    for m, covariance in enumerate(counted_covariances(torch.tensor(ids), 3, 4)):
        pairs = list(zip(ids[: len(ids) - m], ids[m:], strict=True))
        joint = torch.zeros(3, 3).double()
        for a, b in pairs:
            joint[a, b] += 1 / len(pairs)
        torch.testing.assert_close(covariance, joint - torch.outer(joint.sum(1), joint.sum(0)))
    independent = counted_covariances(torch.tensor([0, 0, 1]), 2, 2)[1]  # pairs 00 and 01
    assert torch.equal(independent, torch.zeros(2, 2).double())
