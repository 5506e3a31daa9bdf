import pytest
import torch

from attngeo.gradients.objectives import context_matrix
from attngeo.gradients.token_counts import MarkovChain, count_tokens, expected_counts


def chain(n_vocab: int = 3, seed: int = 0) -> MarkovChain:
    return MarkovChain.random(n_vocab, 0.4, torch.Generator().manual_seed(seed))


def every_sequence(process: MarkovChain, n: int):
    """Each sequence of n tokens with its probability."""
    tokens = torch.cartesian_prod(*[torch.arange(len(process.start))] * n)
    return tokens, process.probability(tokens)


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


@pytest.mark.parametrize("objective", ["autoregressive", "bidirectional"])
def test_expected_counts_over_every_sequence(objective):
    n, process = 5, chain()
    tokens, p = every_sequence(process, n)
    counts = count_tokens(tokens, context_matrix(objective, n), 3)
    expected = expected_counts(objective, process.marginals(n))
    torch.testing.assert_close(p @ counts.context, expected.context)
    torch.testing.assert_close(p @ counts.predicted, expected.predicted)
