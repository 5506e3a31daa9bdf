"""Section S1.4.5 beyond one pair: Corollary S1.13, and what a corpus makes of the pairs in either objective."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor

from attngeo.chapters.symmetric_updates.first_update import (
    Corpus,
    first_coefficients,
    first_update,
    pair_counts,
    random_corpus,
    tied_embeddings,
)
from attngeo.errors import ParameterError
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Judgement, check, compare, exact, monte_carlo
from attngeo.updates.norms import ratio_samples, squared_norms
from attngeo.updates.objectives import Objective, attended_matrix, context_matrix
from attngeo.updates.random_updates import Coefficients, UpdateModel, power_profile
from attngeo.updates.rank_one import cosine, gradient_sum, relative_error
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer


class ExchangeableUpdates(NamedTuple):
    """Updates of independent tokens, (draws, d, d) each."""

    bidirectional: Tensor
    autoregressive: Tensor
    errors: Tensor  # bidirectional, with errors independent of the embeddings
    masked: Tensor  # one embedding at all masked positions


def exchangeable_updates(
    d: int = 32, n_tokens: int = 16, exponent: float = 1.0, n_draws: int = 300, seed: int = 0
) -> ExchangeableUpdates:
    """Sums over four sequences, of embeddings whose variances fall off as a power."""
    generator = torch.Generator().manual_seed(seed)
    causal = UpdateModel(torch.diag(power_profile(d, exponent)), n_tokens=n_tokens, n_sequences=4)
    both = replace(causal, objective=Objective.BIDIRECTIONAL)
    mask = torch.randn(n_draws, d, generator=generator, dtype=torch.float64)
    masked = replace(causal, objective=Objective.MASKED, mask_token=mask, mask_rate=0.3)
    models = both, causal, replace(both, coefficients=Coefficients.ERROR), masked
    return ExchangeableUpdates(*(model.draw(n_draws, generator) for model in models))


def log_variance_ratio(updates: Tensor) -> Tensor:
    """``log(Var(row norms) / Var(column norms))`` of every update; 0 where Eq. S103 holds."""
    rows, columns = squared_norms(updates)
    return (rows.sqrt().var(-1) / columns.sqrt().var(-1)).log()


@check(exchangeable_updates)
def variances_of_norms(updates: ExchangeableUpdates) -> Judgement:
    """Corollary S1.13: equal variances on average for exchangeable tokens, in autoregressive training as well."""
    bidirectional, autoregressive, errors, masked = map(log_variance_ratio, updates)
    return Judgement(
        monte_carlo("bidirectional", bidirectional, 0),
        monte_carlo("single", bidirectional.abs(), 0, "≠"),
        monte_carlo("autoregressive", autoregressive, 0),
        monte_carlo("errors", errors, 0, "<"),
        monte_carlo("masked", masked, 0, "<"),
    )


class FirstGradients(NamedTuple):
    """One sequence of linear attention with tied embeddings at ``W_qk = 0``, and its gradients by autograd."""

    tokens: Tensor  # (N,)
    embeddings: Tensor  # (V, d)
    values: Tensor  # V, (d, d)
    gradients: dict[Objective, Tensor]  # dL/dW_qk, (d, d)
    random_values: Tensor  # (draws, d, d), to put in the place of V


def first_gradients(d: int = 16, n_vocab: int = 24, n_tokens: int = 12, seed: int = 0) -> FirstGradients:
    """Embeddings small enough for the leading order."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = tied_embeddings(n_vocab, d, generator, size=1e-4)
    config = ToyConfig(
        d=d, n_heads=1, n_layers=1, n_tokens=n_tokens, n_vocab=n_vocab, d_mlp=0, softmax=False, scale=1.0
    )
    random = ToyTransformer.random(config, seed)
    model = replace(
        random,
        wq=torch.zeros_like(random.wq, requires_grad=True),
        we=torch.cat([embeddings, torch.zeros(1, d, dtype=torch.float64)]),
        wp=torch.zeros_like(random.wp),
        wu=embeddings.T.clone(),
    )
    values = (model.wv[0, 0] @ model.wo[0, 0]).detach().T  # v_j = V x_j
    tokens = torch.randint(n_vocab, (n_tokens,), generator=generator)
    objectives = Objective.BIDIRECTIONAL, Objective.AUTOREGRESSIVE
    gradients = {objective: model.run(tokens, objective).gradient(0).w_qk[0] for objective in objectives}
    random_values = torch.randn(400, d, d, generator=generator, dtype=torch.float64)
    return FirstGradients(tokens, embeddings, values, gradients, random_values)


def random_value_score(moment: Tensor) -> float:
    """``Tr(S^4) / Tr(S^2)^2``: ratio of the means of Tr(MM) and ||M||^2 for ``M = S V S`` and V of independent entries.

    It is 1/r for a moment with r equal eigenvalues.
    """
    square = moment @ moment
    return float(square.square().sum() / square.trace() ** 2)


@check(first_gradients)
def first_update_of_linear_attention(first: FirstGradients) -> Judgement:
    """The formula for beta_ij at W_qk = 0 against autograd; s is 1 for symmetric V, Tr(S^4)/Tr(S^2)^2 for random V."""
    tokens, embeddings, values = first.tokens[None], first.embeddings, first.values
    x, comparisons = embeddings[first.tokens], []
    for objective, gradient in first.gradients.items():
        ahead = int(objective is Objective.AUTOREGRESSIVE)
        beta = first_coefficients(tokens, embeddings, values, ahead)[0] * attended_matrix(objective, len(x))
        gap = relative_error(gradient_sum(beta, x), -gradient)
        comparisons.append(exact("autograd", gap, 0, 1e-6, objective=objective))
    everything = attended_matrix(Objective.BIDIRECTIONAL, len(x))
    symmetric = first_update(tokens, embeddings, values + values.T, everything)[0]
    moment = x.T @ x
    others = moment @ first.random_values @ moment
    scores = ratio_samples((others * others.mT).sum((1, 2)), others.square().sum((1, 2)))
    return Judgement(
        *comparisons,
        exact("symmetric values", symmetry_score(symmetric), 1, 1e-9),
        monte_carlo("random values", scores, random_value_score(moment)),
    )


def corpus_symmetry(corpus: Corpus, sizes: Sequence[int]) -> pd.DataFrame:
    """Symmetry of the first update of linear attention (`first_update`) against the number of sequences it adds up.

    Args:
        corpus: sequences of a stationary Markov chain; V is made symmetric unless said otherwise.
        sizes: numbers of sequences, rising.

    Returns:
        Columns setting, n_sequences, symmetry.

    Raises:
        ParameterError: no size, or one below 1 or above the corpus's.
    """
    embeddings, values, tokens = corpus.embeddings, corpus.values, corpus.tokens
    n_sequences, n_tokens = tokens.shape
    if not sizes or min(sizes) < 1 or max(sizes) > n_sequences:
        raise ParameterError(f"a part of the corpus has at least one sequence; give sizes from 1 to {n_sequences}.")
    both = context_matrix(Objective.BIDIRECTIONAL, n_tokens)
    before = context_matrix(Objective.AUTOREGRESSIVE, n_tokens)
    symmetric = values + values.T
    cases = {
        "bidirectional": (symmetric, both, 0),
        "autoregressive, query holds the target": (symmetric, before, 0),
        "autoregressive, query one behind": (symmetric, attended_matrix(Objective.AUTOREGRESSIVE, n_tokens), 1),
        "bidirectional, V not symmetric": (values, both, 0),
    }
    rows = []
    for size in sizes:
        for name, case in cases.items():
            rows.append((name, size, symmetry_score(first_update(tokens[:size], embeddings, *case).sum(0))))
        rows.append(("order of the pairs", size, symmetry_score(pair_counts(tokens[:size], before, len(embeddings)))))
    return pd.DataFrame(rows, columns=["setting", "n_sequences", "symmetry"])


@check(random_corpus)
def symmetry_over_a_corpus(corpus: Corpus) -> Judgement:
    """Theorem 2.4's contrast: over a corpus autoregressive pairs reach the same symmetry, unless queries lag behind."""
    embeddings, chain, tokens = corpus.embeddings, corpus.chain, corpus.tokens
    n_sequences, n_tokens = tokens.shape
    s = corpus_symmetry(corpus, (1, n_sequences)).set_index(["setting", "n_sequences"])["symmetry"]
    values, seen = corpus.values + corpus.values.T, attended_matrix(Objective.AUTOREGRESSIVE, n_tokens)
    behind = first_update(tokens, embeddings, values, seen, ahead=1).sum(0)
    moment = embeddings.T @ (chain.start[:, None] * embeddings)
    lagged = embeddings.T @ (chain.start[:, None] * chain.transition) @ embeddings  # E[x_i x_{i+1}^T]
    return Judgement(
        exact("bidirectional", s["bidirectional", 1], 1, 1e-9),
        compare("one sequence", s["autoregressive, query holds the target", 1], "<", 0.7),
        compare("corpus", s["autoregressive, query holds the target", n_sequences], ">", 0.9),
        compare("counts", s["order of the pairs", n_sequences], ">", 0.9),
        compare("behind", s["autoregressive, query one behind", n_sequences], "<", 0.7),
        compare("cosine", cosine(behind, lagged @ values @ moment), ">", 0.5),
        n_sequences=n_sequences,
    )
