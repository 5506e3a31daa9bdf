"""Remark S1.15: when only some tokens are predicted."""

from collections.abc import Callable

import torch

from attngeo.chapters.symmetric_updates.growth import masked_sums
from attngeo.chapters.symmetric_updates.pair_symmetry import correlated_coefficients, masked_score, masked_term_shares
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.updates.norms import ratio_samples

CHAPTER = "symmetric_updates"


@claim
def masked_shares(
    n_tokens: int = 20_000,
    predicted: Callable[[float], dict[str, float]] = masked_term_shares,
) -> Result:
    """Remark S1.15, Eqs. S116, S119: p/(1-p) is 18 % to 43 % for p = 15 % to 30 %; the share of all terms is p."""
    comparisons = []
    for p in (0.15, 0.3):
        masked = round(p * n_tokens)
        pairs, mixed, all_terms = masked * (masked - 1), masked * (n_tokens - masked), masked * (n_tokens - 1)
        measured = {"both masked to one masked": pairs / mixed, "both masked to all": pairs / all_terms}
        for name, value in predicted(p).items():
            comparisons.append(Comparison(f"p = {p:g}: {name}", measured[name], "=", value, 1e-3))
    comparisons.append(exact("p at which p / (1 - p) is a quarter", 0.25 / 1.25, 0.2, 1e-12))
    return Result(
        statement="S1.15",
        part="Eqs. S115-S119",
        title="the share of symmetric terms when a share p of the tokens is predicted",
        verdict=Verdict.CORRECTED,
        comparisons=tuple(comparisons),
        printed="$p/(1-p)$ is about 25 % of symmetric weight updates for $p$ between 15 % and 30 %.",
        corrected="$p/(1-p)$ runs from 18 % to 43 % there, and is 25 % at $p = 20$ %. It compares the pairs with the "
        "remaining terms; of all terms the pairs are the share $p$.",
        remark="The context is written $[0, \\dots, N]$ in the remark and $1$ to $N$ in Eq. S115.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def masked_update_score(
    n_tokens: int = 24,
    rho: float = 0.8,
    n_draws: int = 1500,
    seed: int = 0,
    predicted: Callable[[float, float, int, bool], float] = masked_score,
) -> Result:
    """Remark S1.15: the score of a masked update is rho p for one masking and grows to rho when maskings repeat."""
    generator = torch.Generator().manual_seed(seed)
    comparisons = []
    for p, rounds, visible in ((0.15, 1, True), (0.3, 1, True), (0.15, 20, True), (0.15, 20, False)):
        beta = correlated_coefficients(rho, n_draws, n_tokens, generator)
        samples = ratio_samples(*masked_sums(beta, p, rounds, visible, generator))
        where = "visible" if visible else "excluded"
        name = f"p = {p:g}, {rounds} maskings, masked positions {where} as context: s"
        comparisons.append(monte_carlo(name, samples, predicted(rho, p, rounds, visible)))
    beta = correlated_coefficients(rho, 50, n_tokens, generator)
    trace, _ = masked_sums(beta, 0.15, 1, False, generator)
    comparisons.append(exact("one masking, masked positions excluded: largest Tr(BB)", trace.abs().max(), 0))
    return Result(
        statement="S1.15",
        part="(score of the update)",
        title="what the masked share means for the score",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="Pairs of two masked tokens give the symmetric share of the update.",
        corrected="For orthonormal embeddings the score of one masked sequence is $\\rho p$; masked $R$ times at "
        "random, $\\rho R p / (1 - p + R p)$, which tends to $\\rho$: the share of one masking does not bound what "
        "training adds up.",
        remark="With the contexts of Def. S1.3 and Eq. S77, which leave masked positions out, no pair of one masking "
        "occurs in both orders. Where they are left in, both positions hold the mask's embedding, not those of the "
        "tokens.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def masked_positions_hold_the_mask(d: int = 16, n_tokens: int = 12, seed: int = 0, replaced: bool = True) -> Result:
    """Eq. S116 in a first layer: queries at masked positions are one vector, so that the update has rank 1."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(n_tokens, d, generator=generator, dtype=torch.float64)
    masked = torch.arange(n_tokens) % 3 == 1
    if replaced:
        x[masked] = torch.randn(d, generator=generator, dtype=torch.float64)
    beta = torch.randn(n_tokens, n_tokens, generator=generator, dtype=torch.float64) * masked[:, None]
    update = x.T @ beta @ x
    singular = torch.linalg.svdvals(update)
    left, right = x[masked][0], beta.sum(0) @ x
    cosine = torch.nn.functional.cosine_similarity(left, right, dim=0)
    score = (update * update.T).sum() / update.square().sum()
    return Result(
        statement="S1.15",
        part="Eq. S116",
        title="the embeddings of masked tokens",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            exact("second singular value of the update, relative", singular[1] / singular[0], 0),
            exact("s against the squared cosine of the mask's embedding with sum_ij beta_ij x_j", score, cosine**2),
        ),
        printed="Pairs of masked tokens contribute $\\beta_{ij} K_{ij} + \\beta_{ji} K_{ij}^\\top$ as in Theorem "
        "S1.14.",
        corrected="In a first layer without positions every masked token has the embedding $e_{[MASK]}$: the update is "
        "$e_{[MASK]}(\\sum_{ij} \\beta_{ij} x_j)^\\top$, of rank 1, with score $\\cos^2$ of its two factors.",
        remark="The theorem's pairs need queries that already resemble the tokens to be predicted, which later "
        "layers may provide.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )
