"""Theorem S1.12 and its informal twin 2.3: what their assumptions give."""

from collections.abc import Callable

import torch
from torch import Tensor

from attngeo.chapters.column_dominance.settings import directionalities, log_unevenness, tail_gap
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.updates.norms import squared_norms, vocabulary_squared_norms
from attngeo.updates.random_updates import (
    Coefficients,
    Law,
    UpdateModel,
    context_updates,
    draw_embeddings,
    power_profile,
)

CHAPTER = "column_dominance"


@claim
def net_growth(d: int = 24, n_draws: int = 20, seed: int = 0, claimed: float = 0.0) -> Result:
    """Proof of S1.12 after Eq. S98: columns cannot gain more squared norm than rows; both sums are ||W||_F^2."""
    generator = torch.Generator().manual_seed(seed)
    covariance = torch.diag(power_profile(d, 1.0))
    comparisons = []
    for objective in ("autoregressive", "bidirectional", "masked"):
        updates = UpdateModel(covariance, objective, n_tokens=24, mask_rate=0.3).draw(n_draws, generator)
        rows, columns = squared_norms(updates)
        gap = (columns.sum(-1) / rows.sum(-1) - 1).abs().max()
        comparisons.append(exact(f"{objective}: relative excess of the columns' sum of squared norms", gap, claimed))
    return Result(
        statement="S1.12",
        part="Eqs. S97, S98",
        title="columns grow more than rows on the whole",
        verdict=Verdict.FAILS,
        comparisons=tuple(comparisons),
        printed="The net increase of the norm of the columns is bigger than that of the rows.",
        corrected="$\\sum_k \\|w_{\\cdot,k}\\|^2 = \\sum_m \\|w_{m,\\cdot}\\|^2 = \\|W\\|_F^2$ for every matrix. "
        "Columns and rows can differ only in how unevenly they share this sum.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


@claim
def variance_of_norms(
    d: int = 48,
    n_tokens: int = 8,
    n_contexts: int = 150,
    exponent: float = 1.0,
    n_draws: int = 40,
    seed: int = 0,
    sign: float = 1.0,
) -> Result:
    """Equations S101, S102: Prop. S1.8's assumptions give the first, and the contrary of the second."""
    covariance = torch.diag(power_profile(d, exponent))
    updates = context_updates(covariance, n_tokens, n_draws, torch.Generator().manual_seed(seed), n_contexts=n_contexts)
    rows, columns = squared_norms(updates)
    spread = sign * (rows.sqrt().var(-1) / columns.sqrt().var(-1)).log()
    gap = [sign * float(x) for x in tail_gap(updates)]
    score = [sign * x for x in directionalities(updates)]
    return Result(
        statement="S1.12",
        part="Eqs. S101, S102",
        title="from the variance of the norms to their tails",
        verdict=Verdict.FAILS,
        comparisons=(
            monte_carlo("log of Var(row norms) / Var(column norms), context tokens of Prop. S1.8", spread, 0, ">"),
            monte_carlo("share of columns minus share of rows above the 98 % quantile", gap, 0, "<"),
            monte_carlo("directionality d (negative: columns)", score, 0, ">"),
        ),
        printed="$\\mathrm{Var}\\|w_{m,\\cdot}\\| > \\mathrm{Var}\\|w_{\\cdot,k}\\|$, hence $\\Pr[\\|w_{\\cdot,k}\\| "
        "> w] > \\Pr[\\|w_{m,\\cdot}\\| > w]$",
        corrected="Under the assumptions of Prop. S1.8 rows are the more uneven side, so that large norms are found "
        "among rows: $d > 0$. By the lemma's own logic, Eq. S101 points the same way, against Eq. S102.",
        remark="The threshold of Eq. S102 also puts variances where Lemma S1.11 has standard deviations.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


@claim
def equal_expected_norms(
    d: int = 12,
    n_vocab: int = 10,
    exponent: float = 1.0,
    n_draws: int = 12000,
    seed: int = 0,
    predicted: Callable[[Tensor, Tensor], tuple[Tensor, Tensor]] = vocabulary_squared_norms,
) -> Result:
    """S1.12: with i.i.d. embeddings, row k and column k grow alike in expectation, whatever the pairs and counts."""
    generator = torch.Generator().manual_seed(seed)
    covariance = torch.diag(power_profile(d, exponent))
    # B_ab: token a predicted from token b; B_ba is correlated with it, and token 0 is context more than anything else
    beta = torch.randn(n_vocab, n_vocab, generator=generator, dtype=torch.float64).fill_diagonal_(0)
    beta = beta + 0.8 * beta.T
    beta[:, 0] *= 2
    expected = predicted(covariance, beta)
    comparisons = []
    for law in (Law.GAUSSIAN, Law.LAPLACE):
        e = draw_embeddings(covariance, n_draws, n_vocab, generator=generator, law=law)
        norms = squared_norms(e.mT @ beta @ e)
        for name, measured, value in zip(("row", "column"), norms, expected, strict=True):
            for k in (0, d - 1):
                samples = measured[:, k] / float(value[k])
                comparisons.append(monte_carlo(f"{law.value}: squared norm of {name} {k + 1}, to formula", samples, 1))
    return Result(
        statement="S1.12",
        part="(expected norms)",
        title="what i.i.d. embeddings give for rows and columns",
        verdict=Verdict.FAILS,
        comparisons=tuple(comparisons),
        printed="From $\\mu_c(t^*) > \\mu_p(t^*)$ for most tokens and Prop. S1.8, columns outgrow rows.",
        corrected="For i.i.d. embeddings of the vocabulary and coefficients independent of them, "
        "$\\mathbb{E}[\\Delta W \\Delta W^\\top] = \\mathbb{E}[\\Delta W^\\top \\Delta W]$: row $k$ and column $k$ "
        "have the same expected squared norm, for every objective, every order and every frequency of the tokens.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


def _symmetric_in_law(
    covariance: Tensor, coefficients: Coefficients, n_draws: int, seed: int, model: dict, start: float = 0.0
) -> list[Comparison]:
    """Three signs of dominance, each 0 on average if the update and its transpose have the same law."""
    generator = torch.Generator().manual_seed(seed)
    settings = {"n_tokens": 16, "n_sequences": 4, "coefficients": coefficients} | model
    updates = UpdateModel(covariance, **settings).draw(n_draws, generator)
    d = len(covariance)
    size = start * float(updates.square().mean().sqrt())
    updates = updates + size * torch.randn(n_draws, d, d, generator=generator, dtype=torch.float64)
    name = f"{Coefficients(coefficients).value} coefficients"
    return [
        monte_carlo(f"{name}: share of columns minus share of rows above the 98 % quantile", tail_gap(updates), 0),
        monte_carlo(f"{name}: log ratio of unevenness, columns to rows", log_unevenness(updates), 0),
        monte_carlo(f"{name}: directionality d", directionalities(updates), 0),
    ]


@claim
def autoregressive_directionality(
    d: int = 32, exponent: float = 1.0, n_draws: int = 300, seed: int = 0, **model
) -> Result:
    """Theorem S1.12 fails: under its assumptions the autoregressive update has the same law as its transpose."""
    covariance = torch.diag(power_profile(d, exponent))
    comparisons = [
        comparison
        for coefficients in (Coefficients.INDEPENDENT, Coefficients.BILINEAR)
        for comparison in _symmetric_in_law(covariance, coefficients, n_draws, seed, model)
    ]
    return Result(
        statement="S1.12",
        part="",
        title="autoregressive training induces column dominance",
        verdict=Verdict.FAILS,
        comparisons=tuple(comparisons),
        printed="There is a $\\gamma$ with $\\Pr[\\|w_{\\cdot,k}\\| > w] > \\Pr[\\|w_{m,\\cdot}\\| > w]$ for all $w "
        "> \\gamma$.",
        corrected="For i.i.d. embeddings and coefficients that do not depend on the order of positions, $\\Delta W$ "
        "and $\\Delta W^\\top$ have the same law: the two probabilities are equal for $k = m$ and every $w$. Column "
        "dominance needs keys whose second moment lies closer to the coordinate axes than that of the queries.",
        remark='After Eq. S96 the text says "smaller" where $\\mu_c/\\mu_p > 1$ makes it larger. Trained decoders do '
        "show column dominance in measurements; it is the derivation that does not establish it.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


@claim
def directionality_during_training(
    d: int = 32, exponent: float = 1.0, n_draws: int = 300, seed: int = 0, **model
) -> Result:
    """Theorem 2.3: the same for W_qk itself, an initial matrix of independent entries plus the update."""
    covariance = torch.diag(power_profile(d, exponent))
    return Result(
        statement="2.3",
        part="",
        title="autoregressive training leads to directional weight updates, informally",
        verdict=Verdict.FAILS,
        comparisons=tuple(_symmetric_in_law(covariance, Coefficients.INDEPENDENT, n_draws, seed + 1, model, start=0.5)),
        printed="There are, on average, more columns with high norms than rows with high norms.",
        corrected="See Theorem S1.12: the assumptions give equal laws; a difference between queries and keys is "
        "needed.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )
