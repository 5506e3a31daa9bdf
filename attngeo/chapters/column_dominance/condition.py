"""What makes columns dominate: a difference between the query side and what arrives from the key side."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from attngeo.chapters.column_dominance.settings import directionalities, log_unevenness
from attngeo.paper.checks import Flaw, Result, Verdict, claim, monte_carlo
from attngeo.updates.norms import (
    axis_alignment,
    error_squared_norms,
    fourth_moments,
    ratio_samples,
    squared_norms,
)
from attngeo.updates.objectives import Objective
from attngeo.updates.random_updates import Coefficients, Law, UpdateModel, matrix_normal, power_profile, rotated
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer

CHAPTER = "column_dominance"


@claim
def directionality_condition(
    d: int = 48,
    exponent: float = 0.5,
    n_draws: int = 120,
    seed: int = 0,
    predicted: Callable[[Tensor, Tensor], tuple[float, float]] = fourth_moments,
) -> Result:
    """Columns dominate if the second moment of the keys is more axis-aligned than that of the queries."""
    generator = torch.Generator().manual_seed(seed)
    even, uneven = torch.eye(d, dtype=torch.float64), torch.diag(power_profile(d, exponent))
    turned = rotated(uneven, generator)
    comparisons = []
    for name, queries, keys, sign in (
        ("uneven keys", even, uneven, "<"),
        ("uneven queries", uneven, even, ">"),
        ("keys uneven in a generic basis", even, turned, "="),
    ):
        updates = matrix_normal(queries, keys, n_draws, generator)
        rows, columns = squared_norms(updates)
        of_rows, of_columns = predicted(queries, keys)
        ratio = ratio_samples(columns.square().sum(-1), rows.square().sum(-1))
        comparisons += [
            monte_carlo(f"{name}: sum of 4th powers, columns to rows", ratio, of_columns / of_rows),
            monte_carlo(f"{name}: directionality d", directionalities(updates), 0, sign),
        ]
    alignments = [axis_alignment(rotated(uneven, generator)) for _ in range(n_draws)]
    comparisons.append(monte_carlo("axis alignment D, mean over generic bases", alignments, 1))
    return Result(
        statement="S1.12",
        part="(a condition that suffices)",
        title="columns dominate if keys are more axis-aligned than queries",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="The assumptions of Theorem S1.12 make no difference between the queries and the keys.",
        corrected="For independent Gaussian coefficients on all pairs, $\\mathbb{E}\\sum_k \\|w_{\\cdot,k}\\|^4 > "
        "\\mathbb{E}\\sum_m \\|w_{m,\\cdot}\\|^4$ exactly if $D(S_K) > D(S_Q)$, $D(S) = (d+2) \\sum_k S_{kk}^2 / "
        "(\\mathrm{Tr}(S)^2 + 2\\,\\mathrm{Tr}(S^2))$, with $S_Q$, $S_K$ the second moments of queries and keys.",
        remark="$D$ is 1 on average for a spectrum of any shape in a random basis: anisotropy alone is not enough.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def constant_context_token(
    d: int = 48, n_tokens: int = 16, strength: float = 3.0, n_draws: int = 200, seed: int = 0
) -> Result:
    """One context token present in every sequence: what it does depends on the kurtosis of its embedding alone."""
    generator = torch.Generator().manual_seed(seed)
    even = torch.eye(d, dtype=torch.float64)
    outlying = torch.randn(n_draws, d, generator=generator, dtype=torch.float64)
    outlying[:, :3] *= 8  # three outlying coordinates

    def log_ratios(first: Tensor, law: Law = Law.GAUSSIAN) -> Tensor:
        model = UpdateModel(even, n_tokens=n_tokens, law=law, first_token=first)
        return log_unevenness(model.draw(n_draws, generator))

    comparisons = []
    for law, sign in ((Law.GAUSSIAN, "="), (Law.LAPLACE, ">"), (Law.UNIFORM, "<")):
        first = strength * law.draw(n_draws, d, generator=generator)
        name = f"{law.value} embeddings (kurtosis {law.kurtosis:g}): log ratio of unevenness, columns to rows"
        comparisons.append(monte_carlo(name, log_ratios(first, law), 0, sign))
    model = UpdateModel(even, n_tokens=n_tokens, first_token=outlying)
    updates = model.draw(n_draws, generator)
    rows, columns = squared_norms(updates)
    largest = (columns.amax(-1) / rows.amax(-1)).log() / 2
    comparisons += [
        monte_carlo("three outlying coordinates: log ratio of unevenness", log_unevenness(updates), 0, ">"),
        monte_carlo("three outlying coordinates: log of the largest column over the largest row", largest, 0, ">"),
    ]
    return Result(
        statement="S1.12",
        part="(a context token that is always there)",
        title="a constant first token",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="The assumptions of Theorem S1.12 make no difference between the queries and the keys.",
        corrected="A token that every other token has in its context, such as the first of a text, turns columns "
        "dominant if its embedding has outlying coordinates (kurtosis above 3), rows if it is flatter than a "
        "Gaussian, and neither if it is Gaussian.",
        remark="With a causal mask the first token is never predicted, and as a query it attends to itself alone, so "
        "that its coefficient is 0: it acts on the key side only.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def independent_errors(
    d: int = 16,
    n_tokens: int = 12,
    exponent: float = 1.0,
    n_draws: int = 3000,
    seed: int = 0,
    predicted: Callable[[Tensor, Sequence[int]], tuple[Tensor, Tensor]] = error_squared_norms,
) -> Result:
    """With beta_ij = delta_i^T x_j and errors independent of the embeddings columns dominate, for every objective."""
    generator = torch.Generator().manual_seed(seed)
    covariance = torch.diag(power_profile(d, exponent))
    comparisons = []
    for objective, sizes in (
        (Objective.AUTOREGRESSIVE, range(n_tokens)),
        (Objective.BIDIRECTIONAL, [n_tokens - 1] * n_tokens),
    ):
        model = UpdateModel(covariance, objective, n_tokens, n_sequences=4, coefficients=Coefficients.ERROR)
        updates = model.draw(n_draws, generator)
        rows, columns = squared_norms(updates)
        of_rows, of_columns = predicted(covariance, list(sizes))
        for k in (0, d - 1):
            ratio = ratio_samples(columns[:, k], rows[:, k])
            expected = float(of_columns[k] / of_rows[k])
            comparisons.append(monte_carlo(f"{objective}: column {k + 1} to row {k + 1}", ratio, expected))
        comparisons.append(
            monte_carlo(f"{objective}: log ratio of unevenness, columns to rows", log_unevenness(updates), 0, ">")
        )
    return Result(
        statement="S1.12",
        part="(errors independent of the embeddings)",
        title="coefficients that are linear in the key",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="The assumptions of Theorem S1.12 make no difference between the queries and the keys.",
        corrected="If $\\beta_{ij} = \\delta_i^\\top x_j$ with errors $\\delta_i$ independent of all embeddings and "
        "the variances $\\Sigma_{kk}$ differ, columns are more uneven than rows: rows follow $\\Sigma_{mm}$, columns "
        "$(n+1)(\\Sigma^2)_{kk} + \\mathrm{Tr}(\\Sigma)\\Sigma_{kk}$ for $n$ context tokens. It holds for "
        "autoregressive and bidirectional pairs alike.",
        remark="Here Theorem S1.12's conclusion holds, for another reason than its proof, and Cor. S1.13 does not.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def common_mean(d: int = 48, n_tokens: int = 16, size: float = 3.0, n_draws: int = 100, seed: int = 0) -> Result:
    """A softmax removes from the keys what all embeddings have in common; the queries keep it, and rows dominate."""
    generator = torch.Generator().manual_seed(seed)
    mean = torch.zeros(d, dtype=torch.float64)
    mean[:3] = size
    model = UpdateModel(torch.eye(d, dtype=torch.float64), n_tokens=n_tokens, mean=mean)
    free, centred = (
        replace(model, coefficients=kind).draw(n_draws, generator)
        for kind in (Coefficients.INDEPENDENT, Coefficients.CENTRED)
    )
    return Result(
        statement="S1.12",
        part="(a mean that all embeddings share)",
        title="the softmax acts on keys only",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            monte_carlo("free coefficients: log ratio of unevenness, columns to rows", log_unevenness(free), 0),
            monte_carlo("sum_j beta_ij = 0: log ratio of unevenness", log_unevenness(centred), 0, "<"),
            monte_carlo("sum_j beta_ij = 0: directionality d", directionalities(centred), 0, ">"),
        ),
        printed="The assumptions of Theorem S1.12 make no difference between the queries and the keys.",
        corrected="The exact coefficients satisfy $\\sum_j \\beta_{ij} = 0$, so a mean $\\mu$ shared by all "
        "embeddings drops out of the key side and stays on the query side. If $\\mu$ has outlying coordinates, rows "
        "dominate.",
        remark="The paper assumes embeddings of mean zero.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def exact_gradients(d: int = 32, n_tokens: int = 48, exponent: float = 1.0, n_draws: int = 40, seed: int = 0) -> Result:
    """Gradients of a Transformer at random weights: unequal variances give columns, with both objectives."""
    config = ToyConfig(d=d, n_heads=1, n_layers=1, n_tokens=n_tokens, n_vocab=4 * n_tokens, d_mlp=0)

    def updates(objective: Objective, exponent: float) -> Tensor:
        profile, result = power_profile(d, exponent).sqrt(), []
        for draw in range(n_draws):
            model = ToyTransformer.random(config, seed + draw)
            model = replace(model, we=model.we.detach() * profile, wp=torch.zeros_like(model.wp))
            result.append(model.example(objective, seed + draw).gradient(0).w_qk[0])
        return torch.stack(result)

    measured = {o: log_unevenness(updates(o, exponent)) for o in (Objective.AUTOREGRESSIVE, Objective.BIDIRECTIONAL)}
    name = "log ratio of unevenness, columns to rows"
    equal = log_unevenness(updates(Objective.AUTOREGRESSIVE, 0.0))
    return Result(
        statement="S1.12",
        part="(exact gradients at random weights)",
        title="the first update of a Transformer",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=(
            monte_carlo(f"autoregressive, equal variances: {name}", equal, 0),
            *(monte_carlo(f"{o}, unequal variances: {name}", values, 0, ">") for o, values in measured.items()),
        ),
        printed="The assumptions of Theorem S1.12 make no difference between the queries and the keys.",
        corrected="With exact softmax gradients at random weights, columns are more uneven than rows if the "
        "variances of the embedding's coordinates differ, in autoregressive and in bidirectional training.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )
