import torch

from attngeo.gradients.token_counts import MarkovChain


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
