"""A small Markov chain, and all of its sequences."""

from itertools import product

import torch

from attngeo.gradients.markov_chain import MarkovChain


def chain(n_vocab: int = 3, seed: int = 0) -> MarkovChain:
    return MarkovChain.random(n_vocab, 0.4, torch.Generator().manual_seed(seed))


def every_sequence(process: MarkovChain, n: int):
    """Each sequence of n tokens with its probability."""
    v = len(process.start)
    tokens = torch.tensor(list(product(range(v), repeat=n)))
    p = process.start[tokens[:, 0]]
    for k in range(1, n):
        p = p * process.transition[tokens[:, k - 1], tokens[:, k]]
    return tokens, p
