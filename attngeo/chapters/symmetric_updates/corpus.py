"""Section S1.4.5 beyond one pair: Corollary S1.13, and what a corpus makes of the pairs in either objective."""

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from attngeo.chapters.symmetric_updates.first_update import first_coefficients, first_update, pair_counts
from attngeo.chapters.symmetric_updates.growth import tied_embeddings
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.updates.markov_chain import MarkovChain
from attngeo.updates.norms import ratio_samples, squared_norms
from attngeo.updates.objectives import Objective, attended_matrix, context_matrix
from attngeo.updates.random_updates import Coefficients, UpdateModel, power_profile
from attngeo.updates.rank_one import cosine, gradient_sum, relative_error
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

CHAPTER = "symmetric_updates"


def log_variance_ratio(updates: Tensor) -> Tensor:
    """``log(Var(row norms) / Var(column norms))`` of every update; 0 where Eq. S103 holds."""
    rows, columns = squared_norms(updates)
    return (rows.sqrt().var(-1) / columns.sqrt().var(-1)).log()


@claim
def variances_of_norms(
    d: int = 32, n_tokens: int = 16, exponent: float = 1.0, n_draws: int = 300, seed: int = 0, **model
) -> Result:
    """Corollary S1.13: equal variances on average for exchangeable tokens, in autoregressive training as well."""
    generator = torch.Generator().manual_seed(seed)
    covariance = torch.diag(power_profile(d, exponent))
    basic = UpdateModel(covariance, n_tokens=n_tokens, n_sequences=4)
    bidirectional = replace(basic, **{"objective": Objective.BIDIRECTIONAL} | model)
    mask = torch.randn(n_draws, d, generator=generator, dtype=torch.float64)
    ratios = {
        "bidirectional": log_variance_ratio(bidirectional.draw(n_draws, generator)),
        "autoregressive": log_variance_ratio(basic.draw(n_draws, generator)),
        "errors": log_variance_ratio(replace(bidirectional, coefficients=Coefficients.ERROR).draw(n_draws, generator)),
        "masked": log_variance_ratio(
            replace(basic, objective=Objective.MASKED, mask_token=mask, mask_rate=0.3).draw(n_draws, generator)
        ),
    }
    name = "log of Var(row norms) / Var(column norms)"
    return Result(
        statement="S1.13",
        part="",
        title="bidirectional training gives row and column norms of equal variance",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            monte_carlo(f"bidirectional, independent coefficients: mean {name}", ratios["bidirectional"], 0),
            monte_carlo("the same of a single update: mean absolute value", ratios["bidirectional"].abs(), 0, "≠"),
            monte_carlo(f"autoregressive: mean {name}", ratios["autoregressive"], 0),
            monte_carlo("bidirectional, errors independent of the embeddings", ratios["errors"], 0, "<"),
            monte_carlo("masked, one embedding at all masked positions", ratios["masked"], 0, "<"),
        ),
        printed="$\\mathrm{Var}\\|w_{m,\\cdot}\\| = \\mathrm{Var}\\|w_{\\cdot,k}\\|$ at the end of bidirectional "
        "training.",
        corrected="The two have equal laws if the embeddings are i.i.d. and the law of the coefficients is the same "
        "for $\\beta_{ij}$ and $\\beta_{ji}$. Autoregressive training then gives the same. With errors independent "
        "of the embeddings, or with one vector of even coordinates at every masked position, column norms vary more.",
        remark="For one matrix, equality needs more: it is exact for a symmetric one.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


def random_value_score(moment: Tensor) -> float:
    """``Tr(S^4) / Tr(S^2)^2``: ratio of the means of Tr(MM) and ||M||^2 for ``M = S V S`` and V of independent entries.

    It is 1/r for a moment with r equal eigenvalues.
    """
    square = moment @ moment
    return float(square.square().sum() / square.trace() ** 2)


@claim
def first_update_of_linear_attention(
    d: int = 16,
    n_vocab: int = 24,
    n_tokens: int = 12,
    seed: int = 0,
    ahead: int = 1,
    predicted: Callable[[Tensor], float] = random_value_score,
) -> Result:
    """The formula for beta_ij at W_qk = 0 against autograd; s is 1 for symmetric V, Tr(S^4)/Tr(S^2)^2 for random V."""
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
    comparisons = []
    for objective, shift in ((Objective.BIDIRECTIONAL, 0), (Objective.AUTOREGRESSIVE, ahead)):
        gradient = model.run(tokens, objective).gradient(0)
        beta = first_coefficients(tokens[None], embeddings, values, shift)[0] * attended_matrix(objective, n_tokens)
        gap = relative_error(gradient_sum(beta, embeddings[tokens]), -gradient.w_qk[0])
        comparisons.append(exact(f"{objective}: formula against autograd, relative error", gap, 0, 1e-6))
    everything = attended_matrix(Objective.BIDIRECTIONAL, n_tokens)
    symmetric = first_update(tokens[None], embeddings, values + values.T, everything)[0]
    moment = embeddings[tokens].T @ embeddings[tokens]
    random_values = torch.randn(400, d, d, generator=generator, dtype=torch.float64)
    others = moment @ random_values @ moment
    scores = ratio_samples((others * others.mT).sum((1, 2)), others.square().sum((1, 2)))
    return Result(
        statement="S1.14",
        part="(a case in which the coefficients are known)",
        title="linear attention with tied embeddings at W_qk = 0",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            *comparisons,
            exact("s of the bidirectional update, V symmetric", symmetry_score(symmetric), 1, 1e-9),
            monte_carlo("s of the bidirectional update, mean over random V", scores, predicted(moment)),
        ),
        printed="Predicting one token from the other gives similar predictions.",
        corrected="Here $\\beta_{ij} = x_i^\\top V x_j$ and the bidirectional update is $S V S$ with $S = \\sum_i "
        "x_i x_i^\\top$: symmetric exactly if $V$ is, on the span of the embeddings. For a random $V$ the score is "
        "$\\mathrm{Tr}(S^4) / \\mathrm{Tr}(S^2)^2$ on average.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def symmetry_over_a_corpus(
    d: int = 48, n_vocab: int = 48, n_tokens: int = 24, n_sequences: int = 1500, seed: int = 0, ahead: int = 1
) -> Result:
    """Theorem 2.4's contrast: over a corpus autoregressive pairs reach the same symmetry, unless queries lag behind."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = tied_embeddings(n_vocab, d, generator)
    values = torch.randn(d, d, generator=generator, dtype=torch.float64)
    values = values + values.T
    chain = MarkovChain.random(n_vocab, 0.0, generator).stationary()
    tokens = chain.sample(n_sequences, n_tokens, generator)
    both = context_matrix(Objective.BIDIRECTIONAL, n_tokens)
    before = context_matrix(Objective.AUTOREGRESSIVE, n_tokens)
    seen = attended_matrix(Objective.AUTOREGRESSIVE, n_tokens)
    one, many = tokens[:1], tokens

    def score(sequences: Tensor, contexts: Tensor, shift: int = 0) -> float:
        return symmetry_score(first_update(sequences, embeddings, values, contexts, shift).sum(0))

    counts = pair_counts(tokens, before, n_vocab)
    moment = embeddings.T @ (chain.start[:, None] * embeddings)
    lagged = embeddings.T @ (chain.start[:, None] * chain.transition) @ embeddings  # E[x_i x_{i+1}^T]
    shifted = first_update(many, embeddings, values, seen, ahead).sum(0)
    return Result(
        statement="2.4",
        part="(contrast with autoregressive training)",
        title="only bidirectional training is symmetric",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            exact("bidirectional, one sequence: s", score(one, both), 1, 1e-9),
            Comparison("autoregressive, one sequence: s", score(one, before), "<", 0.7, 0.0),
            Comparison(f"autoregressive, {n_sequences} sequences: s", score(many, before), ">", 0.9, 0.0),
            Comparison(
                "how often a precedes b and b precedes a: s of the counts", symmetry_score(counts), ">", 0.9, 0.0
            ),
            Comparison("autoregressive, queries one position behind: s", symmetry_score(shifted), "<", 0.7, 0.0),
            Comparison("the same: cosine with A V Sigma", cosine(shifted, lagged @ values @ moment), ">", 0.5, 0.0),
        ),
        printed="Autoregressive training introduces directionality, bidirectional training symmetry.",
        corrected="With coefficients that depend on the two tokens alone, autoregressive updates become symmetric "
        "over a corpus as far as both orders of a pair occur equally often. The contrast appears once the query is "
        "the token before the predicted one: the update then approaches $A V \\Sigma$, "
        "$A = \\mathbb{E}[x_i x_{i+1}^\\top]$.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )
