"""Linear attention whose queries stand one position before their targets: the expected first update over a process."""

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.symmetric_updates.first_update import ChainCorpus, first_update, random_corpus
from attngeo.paper.checks import Comparisons, check, exact
from attngeo.updates.markov_chain import MarkovChain
from attngeo.updates.objectives import Objective, attended_matrix
from attngeo.updates.rank_one import relative_error

LONG = 200  # tokens after which a chain that mixes has forgotten where it was


def expected_update(
    chain: MarkovChain, embeddings: Float[Tensor, "vocab d"], values: Float[Tensor, "d d"], n_tokens: int
) -> Float[Tensor, "d d"]:
    """``sum_{m=0}^{N-2} (N-1-m) F_m``, ``F_m = E[x_{i+1}^T V x_{i-m} x_i x_{i-m}^T]``: of a sequence of N tokens.

    The chain is stationary; embeddings of mean 0 make ``beta_ij = x_{i+1}^T V x_j`` (`first_coefficients`).
    """
    coefficients = chain.transition @ embeddings @ values @ embeddings.T  # mean of x_{i+1}^T V x_j for t_i, t_j
    together = torch.diag(chain.start)  # Pr[t_{i-m} = c, t_i = a] in row c, column a
    counts = torch.zeros_like(coefficients)
    for m in range(n_tokens - 1):
        counts += (n_tokens - 1 - m) * together.T
        together = together @ chain.transition
    return embeddings.T @ (counts * coefficients) @ embeddings


def shifted_limit(
    chain: MarkovChain, embeddings: Float[Tensor, "vocab d"], values: Float[Tensor, "d d"]
) -> Float[Tensor, "d d"]:
    """``A V Sigma``, ``A = E[x_i x_{i+1}^T]``, ``Sigma = E[x_i x_i^T]``: limit of 2/N^2 times the expected update."""
    weighted = chain.start[:, None] * chain.transition
    return embeddings.T @ weighted @ embeddings @ values @ embeddings.T @ (chain.start[:, None] * embeddings)


def updates_one_behind(corpus: ChainCorpus) -> Float[Tensor, "sequences d d"]:
    """First update of every sequence, queries one position before their targets."""
    seen = attended_matrix(Objective.AUTOREGRESSIVE, corpus.tokens.shape[1])
    return first_update(corpus.tokens, corpus.embeddings, corpus.values, seen, ahead=1)


def every_sequence(n_vocab: int = 3, n_tokens: int = 4, seed: int = 0) -> ChainCorpus:
    """Each sequence once; chain and weights are random."""
    every = torch.cartesian_prod(*[torch.arange(n_vocab)] * n_tokens)
    return random_corpus(4, n_vocab, n_tokens, 1, seed)._replace(tokens=every)


@check(every_sequence)
def expected_update_one_behind(corpus: ChainCorpus) -> Comparisons:
    """Theorem 2.4's contrast: the expected update against enumeration, and against its limit A V Sigma."""
    embeddings, values, chain, tokens = corpus
    probability = chain.start[tokens[:, 0]] * chain.transition[tokens[:, :-1], tokens[:, 1:]].prod(1)
    enumerated = torch.einsum("s,skm->km", probability, updates_one_behind(corpus))
    before, here, after = (expected_update(chain, embeddings, values, n) for n in (LONG - 1, LONG, LONG + 1))
    gap = relative_error(after - 2 * here + before, shifted_limit(chain, embeddings, values))
    yield exact("enumeration", relative_error(expected_update(chain, embeddings, values, tokens.shape[1]), enumerated))
    yield exact("limit", gap, 0, 1e-8, n=LONG)
