"""The first update of linear attention whose output weights are its embeddings: a case in which beta_ij is known.

Suppose that ``W_qk = 0``, that attention has no softmax (Eq. S33), that the logits are ``E (x_i + sum_j alpha_ij V
x_j)``, and that the embeddings are small. Then the model predicts all tokens with equal probability, and the negative
gradient of the loss has ``beta_ij = (e_target(i) - mean e)^T V x_j``.
"""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import pad

from attngeo.gradients.token_counts import MarkovChain

Tokens = Int[Tensor, "sequences n"]
Embeddings = Float[Tensor, "vocab d"]
Values = Float[Tensor, "d d"]  # V


class ChainCorpus(NamedTuple):
    """Sequences of a stationary Markov chain, and the weights of a linear attention layer that reads them."""

    embeddings: Embeddings
    values: Values
    chain: MarkovChain
    tokens: Tokens


def random_corpus(
    d: int = 48, n_vocab: int = 48, n_tokens: int = 24, n_sequences: int = 1500, seed: int = 0
) -> ChainCorpus:
    """A random chain, its sequences, and weights with normal entries."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = tied_embeddings(n_vocab, d, generator)
    values = torch.randn(d, d, generator=generator, dtype=torch.float64)
    chain = MarkovChain.random(n_vocab, 0.0, generator).stationary()
    return ChainCorpus(embeddings, values, chain, chain.sample(n_sequences, n_tokens, generator))


def tied_embeddings(n_vocab: int, d: int, generator: torch.Generator, size: float = 1.0) -> Embeddings:
    """Gaussian embeddings of approximately the given length, whose mean is exactly 0, (V, d)."""
    e = size * torch.randn(n_vocab, d, generator=generator, dtype=torch.float64) / d**0.5
    return e - e.mean(0)


def first_coefficients(
    tokens: Tokens, embeddings: Embeddings, values: Values, ahead: int = 0
) -> Float[Tensor, "sequences n n"]:
    """``beta_ij = (e_target(i) - mean e)^T V x_j`` with ``target(i) = t_{i + ahead}``; 0 if no token follows.

    With ``ahead=0``, position i holds the predicted token itself, as in the paper's theorems. With ``ahead=1``,
    position i holds the token before the predicted one, as in autoregressive training. The embeddings are also the
    output weights.
    """
    errors = pad((embeddings - embeddings.mean(0))[tokens][:, ahead:], (0, 0, 0, ahead))
    return errors @ values @ embeddings[tokens].mT


def first_update(
    tokens: Tokens, embeddings: Embeddings, values: Values, contexts: Bool[Tensor, "n n"], ahead: int = 0
) -> Float[Tensor, "sequences d d"]:
    """``Delta W = sum_i sum_{j in C_i} beta_ij x_i x_j^T`` of every sequence; the caller sums over the corpus.

    With ``ahead=0``, all pairs and centred embeddings, the update is ``S V S`` with ``S = sum_i x_i x_i^T``, which is
    symmetric if V is symmetric.
    """
    x = embeddings[tokens]
    return x.mT @ (first_coefficients(tokens, embeddings, values, ahead) * contexts) @ x


def expected_update(chain: MarkovChain, embeddings: Embeddings, values: Values, n_tokens: int) -> Float[Tensor, "d d"]:
    """The expected update by a sequence of N tokens, ``sum_{m=0}^{N-2} (N-1-m) F_m``.

    Here ``F_m = E[x_{i+1}^T V x_{i-m} x_i x_{i-m}^T]``. Each query is one position before its target. The chain must be
    stationary, and the embeddings must have mean 0, so that ``beta_ij = x_{i+1}^T V x_j`` (`first_coefficients`).
    """
    coefficients = chain.transition @ embeddings @ values @ embeddings.T  # mean of x_{i+1}^T V x_j for t_i, t_j
    together = torch.diag(chain.start)  # Pr[t_{i-m} = c, t_i = a] in row c, column a
    counts = torch.zeros_like(coefficients)
    for m in range(n_tokens - 1):
        counts += (n_tokens - 1 - m) * together.T
        together = together @ chain.transition
    return embeddings.T @ (counts * coefficients) @ embeddings
