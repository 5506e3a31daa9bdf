"""Proposition 2.2: the gradient of W_qk as a sum of rank-1 matrices, against autograd on toy Transformers."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.updates.objectives import Objective, context_matrix
from attngeo.updates.rank_one import (
    by_context,
    by_prediction,
    cosine,
    exact_coefficients,
    gradient_sum,
    linear_coefficients,
    rank_one_terms,
    relative_error,
)
from attngeo.updates.toy_transformer import LayerGradient, ToyConfig, ToyTransformer

CHAPTER = "implicit_gradient"
TRAINED = (Objective.AUTOREGRESSIVE, Objective.MASKED)  # as Transformers are trained


def exact_beta(gradient: LayerGradient, scale: float) -> Tensor:
    """The coefficients of `exact_coefficients` for one layer of a toy Transformer, (H, N, N)."""
    return exact_coefficients(gradient.layer.weights, gradient.layer.values, gradient.errors, scale)


def paper_beta(gradient: LayerGradient, scale: float = 1.0) -> Tensor:
    """The paper's coefficients (Eqs. S33-S36) on the attended pairs of one layer, (H, N, N)."""
    return linear_coefficients(gradient.layer.values, gradient.errors, scale) * gradient.layer.mask


def _example(objective: Objective, seed: int, **sizes) -> tuple[ToyTransformer, list[LayerGradient]]:
    model = ToyTransformer.random(ToyConfig(**sizes), seed)
    one_pass = model.example(objective, seed)
    return model, [one_pass.gradient(layer) for layer in range(model.config.n_layers)]


@claim
def gradient_is_sum_of_rank_one(
    d: int = 32,
    n_heads: int = 4,
    n_layers: int = 3,
    n_tokens: int = 8,
    seed: int = 0,
    coefficients: Callable[[LayerGradient, float], Tensor] = exact_beta,
) -> Result:
    """Proposition 2.2: dL/dW_qk of every head and layer is sum_ij beta_ij K_ij, with the exact beta."""
    comparisons = []
    for objective in TRAINED:
        for d_mlp in (2 * d, 0):
            sizes = {"d": d, "n_heads": n_heads, "n_layers": n_layers, "n_tokens": n_tokens, "d_mlp": d_mlp}
            model, gradients = _example(objective, seed, **sizes)
            betas = [coefficients(g, model.config.score_scale) for g in gradients]
            worst = max(
                relative_error(gradient_sum(beta, g.layer.x), g.w_qk) for beta, g in zip(betas, gradients, strict=True)
            )
            kind = "with" if d_mlp else "without"
            comparisons.append(
                exact(f"largest relative error over layers, {objective}, {kind} feedforward layers", worst, 0)
            )
    rank = torch.linalg.matrix_rank(rank_one_terms(betas[0][0], gradients[0].layer.x)).max()
    comparisons.append(exact("largest rank of a term β_ij K_ij", rank, 1, 0))
    return Result(
        statement="2.2",
        part="",
        title="the gradient of W_qk is a sum of rank-1 matrices",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="The implicit update of $W_{qk}$ is proportional to $\\sum_i \\sum_{j \\in C_i} \\beta_{ij} K_{ij}$.",
        corrected="$\\partial L / \\partial W_{qk,h} = \\sum_{i,j} \\beta_{ij}^h K_{ij}$ for every head, exactly, "
        "where $i$ runs over query positions, $j$ over the positions they attend to, and $\\beta$ carries the softmax.",
        remark="It is the gradient of $W_{qk}$ held as one parameter. A step on $W_q$ and $W_k$ moves $W_{qk}$ in "
        "another direction (Remark S1.6).",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def coefficients_without_softmax(
    d: int = 32,
    n_heads: int = 4,
    n_tokens: int = 8,
    draws: int = 12,
    seed: int = 0,
    coefficients: Callable[[LayerGradient, float], Tensor] = exact_beta,
) -> Result:
    """Equations S33-S36: beta = delta_i . x_j is exact for attention without softmax, and another matrix with it."""
    sizes = {"d": d, "n_heads": n_heads, "n_tokens": n_tokens, "n_layers": 2}
    comparisons = []
    for objective in TRAINED:
        errors, cosines = [], []
        for draw in range(draws):
            model, (g, _) = _example(objective, seed + draw, **sizes)
            beta = coefficients(g, model.config.score_scale)
            errors.append(relative_error(gradient_sum(beta, g.layer.x), g.w_qk))
            cosines.append(cosine(gradient_sum(paper_beta(g), g.layer.x), g.w_qk))
        comparisons += [
            exact(f"relative error, exact β, {objective}", max(errors), 0),
            monte_carlo(f"cosine of the paper's sum with the gradient, {objective}", cosines, 1, "<"),
        ]
    offset = torch.linspace(-3, 3, d, dtype=torch.float64)  # one vector added to every key's embedding
    shifted = g.layer.x.T @ beta @ (g.layer.x + offset)
    linear, (h, _) = _example(Objective.AUTOREGRESSIVE, seed, softmax=False, **sizes)
    scaled = gradient_sum(paper_beta(h, linear.config.score_scale), h.layer.x)
    comparisons += [
        exact("largest |Σ_j β_ij|, exact β", beta.sum(-1).abs().max(), 0),
        exact("relative change when one vector is added to all keys", relative_error(shifted, g.w_qk), 0),
        exact("relative error without softmax, β = δ·x/√d_h", relative_error(scaled, h.w_qk), 0),
        Comparison(
            "length of the sum over that of the gradient, no softmax, β as printed",
            float(gradient_sum(paper_beta(h), h.layer.x).norm() / h.w_qk.norm()),
            "=",
            math.sqrt(linear.config.d_head),
            1e-10,
        ),
    ]
    return Result(
        statement="2.2",
        part="Eqs. S33-S36",
        title="the coefficients β",
        verdict=Verdict.CORRECTED,
        comparisons=tuple(comparisons),
        printed="$\\beta_{ij} = \\delta_i^\\top x_j$, from scores without softmax and without scale.",
        corrected="$\\beta_{ij} = \\tfrac{1}{\\sqrt{d_h}} \\alpha_{ij}\\, g_i^\\top (v_j - o_i)$ with $g_i = \\partial "
        "L / \\partial \\hat x_i$, $v_j = W_o^\\top W_v^\\top x_j$, $o_i = \\sum_k \\alpha_{ik} v_k$.",
        remark="With softmax $\\sum_j \\beta_{ij} = 0$: what all keys have in common leaves no trace in the update.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def rows_of_one_loss(
    d: int = 32,
    n_heads: int = 4,
    n_tokens: int = 8,
    seed: int = 0,
    rows: Callable[[Tensor, int], Tensor] | None = None,
) -> Result:
    """Equation S36: the loss of one token touches only its own row of beta in the last layer, and many rows below."""
    rows = rows or (lambda beta, n: beta)  # which rows of beta make up the gradient of the n-th loss
    comparisons = []
    for objective in TRAINED:
        model = ToyTransformer.random(ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens, n_layers=2), seed)
        one_pass = model.example(objective, seed)
        position = int(one_pass.losses.nonzero()[-1])  # the last position that predicts: it attends to most others
        for layer, where in ((1, "last layer"), (0, "layer below")):
            g = one_pass.gradient(layer, one_pass.losses[position])
            beta = exact_beta(g, model.config.score_scale)
            own = torch.zeros_like(beta)
            own[:, position] = beta[:, position]
            error = relative_error(gradient_sum(own, g.layer.x), g.w_qk)
            only_own = f"relative error with row i alone, {objective}, {where}"
            comparisons += [
                exact(
                    f"relative error with every row, {objective}, {where}",
                    relative_error(gradient_sum(rows(beta, position), g.layer.x), g.w_qk),
                    0,
                ),
                exact(only_own, error, 0) if layer else Comparison(only_own, error, "≠", 0.0, 0.1),
            ]
    return Result(
        statement="2.2",
        part="Eq. S36",
        title="the gradient of the loss of one token",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="$\\nabla L(t_i) = \\sum_{j \\in C_i} \\beta_{ij} K_{ij}$: one row of $\\beta$ per predicted token, "
        "in every layer.",
        corrected="$\\nabla L(t_n) = \\sum_i \\sum_j \\beta^{(n)}_{ij} K_{ij}$ with $g_i = \\partial L(t_n) / "
        "\\partial \\hat x_i$; only row $i = n$ differs from 0 in the last layer, and any attended row below it.",
        remark="Summed over $n$ the total (Eq. S37) keeps its form, with $i$ a query position.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def pairs_that_count(d: int = 32, n_heads: int = 4, n_tokens: int = 9, seed: int = 0, shift: int = 0) -> Result:
    """Equations 7, 8: the pairs of the gradient are (query, attended) positions, not (predicted token, C_i).

    ``shift`` is how many positions ahead of the query the embedding stands that K_ij takes for x_i.
    """
    comparisons = []
    for objective in TRAINED:
        model, (g, _) = _example(objective, seed, d=d, n_heads=n_heads, n_tokens=n_tokens, n_layers=2)
        beta, x = exact_beta(g, model.config.score_scale), g.layer.x
        masked = torch.arange(n_tokens) % 3 == 1 if objective is Objective.MASKED else None
        inside = context_matrix(objective, n_tokens, masked)
        comparisons += [
            exact(
                f"relative error, attended pairs, x_i of the query, {objective}",
                relative_error(x.roll(-shift, 0).T @ beta @ x, g.w_qk),
                0,
            ),
            Comparison(
                f"relative error, only pairs with j in C_i of Def. S1.3, {objective}",
                relative_error(gradient_sum(beta * inside, x), g.w_qk),
                "≠",
                0.0,
                0.1,
            ),
        ]
        if objective is Objective.AUTOREGRESSIVE:
            error = relative_error(x.roll(-1, 0).T @ beta @ x, g.w_qk)
            comparisons.append(
                Comparison(f"relative error, x_i of the token predicted, {objective}", error, "≠", 0.0, 0.1)
            )
    return Result(
        statement="2.2",
        part="Eqs. 7, 8 (index sets)",
        title="which embeddings K_ij is made of",
        verdict=Verdict.CORRECTED,
        comparisons=tuple(comparisons),
        printed="$K_{ij} = x_i x_j^\\top$ pairs the embedding of the predicted token $t_i$ with those of $C_i$.",
        corrected="$x_i$ is the embedding at the query position: with a causal mask that of the last token *before* "
        "the predicted one, in masked training that of the mask token. $j$ runs over all attended positions, "
        "$i$ included.",
        remark="So rows of $W_{qk}$ collect what predicts from a position, not the embedding of what is predicted.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def regrouping(
    d: int = 32, n_heads: int = 2, n_tokens: int = 8, seed: int = 0, grouping: Callable = by_context
) -> Result:
    """Equations 8, 9, S38: the double sum by predicted and by context position."""
    comparisons = []
    for objective in TRAINED:
        model, (g, _) = _example(objective, seed, d=d, n_heads=n_heads, n_tokens=n_tokens, n_layers=2)
        beta = exact_beta(g, model.config.score_scale)
        for name, group in (("Eq. 8, Σ_i Σ_j∈C_i", by_prediction), ("Eq. 9, Σ_j Σ_i∈P_j", grouping)):
            total = torch.stack([group(b, g.layer.x).sum(0) for b in beta])
            comparisons.append(exact(f"relative error of {name}, {objective}", relative_error(total, g.w_qk), 0))
    return Result(
        statement="2.2",
        part="Eqs. 9, S38",
        title="the sum grouped by context",
        verdict=Verdict.CORRECTED,
        comparisons=tuple(comparisons),
        printed="$\\sum_{i \\in P_j} \\sum_j \\beta_{ij} K_{ij}$: the outer sum uses $j$ before it is bound.",
        corrected="$\\sum_j \\sum_{i \\in P_j} \\beta_{ij} K_{ij}$",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )
