"""How symmetric an accumulated update becomes as the corpus grows, and simulated updates of one sequence."""

from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.symmetric_updates.first_update import first_update, pair_counts
from attngeo.chapters.symmetric_updates.pair_symmetry import correlated_coefficients
from attngeo.errors import ParameterError
from attngeo.forms.scores import symmetry_score
from attngeo.updates.markov_chain import MarkovChain
from attngeo.updates.objectives import Objective, attended_matrix, context_matrix


def tied_embeddings(n_vocab: int, d: int, generator: torch.Generator, size: float = 1.0) -> Float[Tensor, "vocab d"]:
    """Gaussian embeddings of about the given length, with mean exactly 0, (V, d)."""
    e = size * torch.randn(n_vocab, d, generator=generator, dtype=torch.float64) / d**0.5
    return e - e.mean(0)


def corpus_symmetry(
    d: int, n_vocab: int, n_tokens: int, corpus_sizes: Sequence[int], generator: torch.Generator
) -> pd.DataFrame:
    """Symmetry of the first update of linear attention (`first_update`) against the number of sequences it adds up.

    The tokens follow a stationary Markov chain, V is symmetric unless said otherwise.

    Args:
        d: width of the embedding.
        n_vocab: size of the vocabulary.
        n_tokens: length of a sequence.
        corpus_sizes: numbers of sequences, rising.
        generator: source of every draw.

    Returns:
        Columns setting, n_sequences, symmetry.

    Raises:
        ParameterError: no corpus size, or one below 1.
    """
    if not corpus_sizes or min(corpus_sizes) < 1:
        raise ParameterError("a corpus needs at least one sequence; give sizes of 1 and more.")
    embeddings = tied_embeddings(n_vocab, d, generator)
    values = torch.randn(d, d, generator=generator, dtype=torch.float64)
    symmetric = values + values.T
    tokens = MarkovChain.random(n_vocab, 0.0, generator).stationary().sample(max(corpus_sizes), n_tokens, generator)
    both = context_matrix(Objective.BIDIRECTIONAL, n_tokens)
    before = context_matrix(Objective.AUTOREGRESSIVE, n_tokens)
    cases = {
        "bidirectional": (symmetric, both, 0),
        "autoregressive, query holds the target": (symmetric, before, 0),
        "autoregressive, query one behind": (symmetric, attended_matrix(Objective.AUTOREGRESSIVE, n_tokens), 1),
        "bidirectional, V not symmetric": (values, both, 0),
    }
    rows = []
    for size in corpus_sizes:
        for name, (v, contexts, ahead) in cases.items():
            update = first_update(tokens[:size], embeddings, v, contexts, ahead).sum(0)
            rows.append((name, size, symmetry_score(update)))
        rows.append(("order of the pairs", size, symmetry_score(pair_counts(tokens[:size], before, n_vocab))))
    return pd.DataFrame(rows, columns=["setting", "n_sequences", "symmetry"])


def update_scores(
    d: int, lengths: Sequence[int], correlations: Sequence[float], n_draws: int, generator: torch.Generator
) -> pd.DataFrame:
    """s of ``X^T B X`` for isotropic Gaussian embeddings and correlated beta_ij, beta_ji, in sequences of some lengths.

    Returns:
        Columns n_tokens, correlation (of the draw's own coefficients, Tr(BB)/||B||^2), symmetry.
    """
    rows = []
    for n in lengths:
        for rho in correlations:
            for beta in correlated_coefficients(rho, n_draws, n, generator):
                x = torch.randn(n, d, generator=generator, dtype=torch.float64)
                rows.append((n, symmetry_score(beta), symmetry_score(x.T @ beta @ x)))
    return pd.DataFrame(rows, columns=["n_tokens", "correlation", "symmetry"])


def masked_scores(
    rho: float,
    n_tokens: int,
    mask_rates: Sequence[float],
    rounds: Sequence[int],
    n_draws: int,
    generator: torch.Generator,
    masked_visible: bool = True,
) -> pd.DataFrame:
    """Tr(BB)/||B||^2, means over draws, of coefficients added up over random maskings of a sequence.

    Returns:
        Columns mask_rate, rounds, symmetry.
    """
    rows = []
    for r in rounds:
        for p in mask_rates:
            beta = correlated_coefficients(rho, n_draws, n_tokens, generator)
            trace, square = masked_sums(beta, p, r, masked_visible, generator)
            rows.append((p, r, float(trace.mean() / square.mean())))
    return pd.DataFrame(rows, columns=["mask_rate", "rounds", "symmetry"])


def masked_sums(
    beta: Float[Tensor, "draws n n"], mask_rate: float, rounds: int, masked_visible: bool, generator: torch.Generator
) -> tuple[Float[Tensor, " draws"], Float[Tensor, " draws"]]:
    """Tr(BB) and ||B||^2 of coefficients added up over random maskings, one value per draw.

    Args:
        beta: coefficients of all pairs, (draws, N, N).
        mask_rate: p.
        rounds: maskings R.
        masked_visible: whether masked positions stand in the contexts.
        generator: source of the masks.
    """
    n_draws, n, _ = beta.shape
    masked = torch.rand(n_draws, rounds, n, generator=generator, dtype=torch.float64) < mask_rate
    context = torch.ones_like(masked) if masked_visible else ~masked
    counts = torch.einsum("dri,drj->dij", masked.to(beta.dtype), context.to(beta.dtype))
    b = beta * counts
    return (b * b.mT).sum((1, 2)), b.square().sum((1, 2))
