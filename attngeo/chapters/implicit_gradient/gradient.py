"""Proposition 2.2: the gradient of W_qk as a sum of rank-1 matrices, against autograd on toy Transformers."""

import math

import torch
from torch import Tensor

from attngeo.chapters.implicit_gradient.toy_passes import TRAINED, ToyPass, toy_pass, trained_passes
from attngeo.paper.checks import Comparisons, check, compare, exact, monte_carlo
from attngeo.updates.objectives import Objective, context_matrix
from attngeo.updates.rank_one import (
    by_context,
    by_prediction,
    cosine,
    exact_coefficients,
    gradient_sum,
    rank_one_terms,
    relative_error,
)
from attngeo.updates.toy_transformer import LayerGradient


def exact_beta(gradient: LayerGradient, scale: float) -> Tensor:
    """The coefficients of `exact_coefficients` for one layer of a toy Transformer, (H, N, N)."""
    return exact_coefficients(gradient.layer.weights, gradient.layer.values, gradient.errors, scale)


def paper_beta(gradient: LayerGradient, scale: float = 1.0) -> Tensor:
    """``beta_ij = delta_i^T x_j = g_i^T v_j`` (Eqs. S31, S35): the gradient when attention has no softmax (Eq. S33).

    On the attended pairs of one layer, (H, N, N). The paper's scale is 1; attention weights ``scale * x_i^T W_qk x_j``
    carry their own.
    """
    return scale * (gradient.errors @ gradient.layer.values.mT) * gradient.layer.mask


def with_and_without_feedforward(d: int = 32, n_layers: int = 3, seed: int = 0, **config: int) -> list[ToyPass]:
    """For both objectives, passes through a model with feedforward layers and one without."""
    config |= {"d": d, "n_layers": n_layers}
    return [toy_pass(objective, seed, d_mlp=d_mlp, **config) for objective in TRAINED for d_mlp in (2 * d, 0)]


@check(with_and_without_feedforward)
def gradient_is_sum_of_rank_one(passes: list[ToyPass]) -> Comparisons:
    """Proposition 2.2: dL/dW_qk of every head and layer is sum_ij beta_ij K_ij, with the exact beta."""
    for p in passes:
        errors = [relative_error(gradient_sum(exact_beta(g, p.scale), g.layer.x), g.w_qk) for g in p.gradients()]
        kind = "with" if p.model.config.d_mlp else "without"
        yield exact("error", max(errors), objective=p.objective, kind=kind)
    g = p.run.gradient(0)
    rank = torch.linalg.matrix_rank(rank_one_terms(exact_beta(g, p.scale)[0], g.layer.x)).max()
    yield exact("rank", rank, 1, 0)


def with_and_without_softmax(draws: int = 12, seed: int = 0, **config: int) -> list[ToyPass]:
    """Passes for both objectives, and a last one through attention whose weights are the scaled scores."""
    return [*trained_passes(draws, seed, **config), toy_pass(seed=seed, softmax=False, **config)]


@check(with_and_without_softmax)
def coefficients_without_softmax(sample: list[ToyPass]) -> Comparisons:
    """Equations S33-S36: beta = delta_i . x_j is exact for attention without softmax, and another matrix with it."""
    *passes, linear = sample
    for objective in TRAINED:
        errors, cosines = [], []
        for p in passes:
            if p.objective is objective:
                g = p.run.gradient(0)
                beta, x = exact_beta(g, p.scale), g.layer.x
                errors.append(relative_error(gradient_sum(beta, x), g.w_qk))
                cosines.append(cosine(gradient_sum(paper_beta(g), x), g.w_qk))
        yield exact("exact", max(errors), objective=objective)
        yield monte_carlo("paper", cosines, 1, "<", objective=objective)
    offset = torch.linspace(-3, 3, x.shape[1], dtype=x.dtype)  # one vector added to every key's embedding
    shifted = x.T @ beta @ (x + offset)
    h = linear.run.gradient(0)
    scaled, printed = (gradient_sum(paper_beta(h, scale), h.layer.x) for scale in (linear.scale, 1.0))
    yield exact("row sums", beta.sum(-1).abs().max())
    yield exact("shifted keys", relative_error(shifted, g.w_qk))
    yield exact("linear", relative_error(scaled, h.w_qk))
    yield exact("length", printed.norm() / h.w_qk.norm(), math.sqrt(linear.model.config.d_head))


def rows_that_count(beta: Tensor, position: int) -> Tensor:
    """Which rows of beta (H, N, N) make up the gradient of the loss at a position: all of them."""
    return beta


@check(trained_passes)
def rows_of_one_loss(passes: list[ToyPass]) -> Comparisons:
    """Equation S36: the loss of one token touches only its own row of beta in the last layer, and many rows below."""
    for p in passes:
        position = int(p.run.losses.nonzero()[-1])  # the last position that predicts: it attends to most others
        for layer, where in ((1, "last layer"), (0, "layer below")):
            g = p.run.gradient(layer, p.run.losses[position])
            beta = exact_beta(g, p.scale)
            own = torch.zeros_like(beta)
            own[:, position] = beta[:, position]
            every = relative_error(gradient_sum(rows_that_count(beta, position), g.layer.x), g.w_qk)
            alone = relative_error(gradient_sum(own, g.layer.x), g.w_qk)
            words = {"objective": p.objective, "where": where}
            yield exact("every row", every, **words)
            yield exact("own row", alone, **words) if layer else compare("own row", alone, "≠", 0, 0.1, **words)


def query_side(x: Tensor) -> Tensor:
    """``x_i`` of K_ij: the embedding at the query position itself, (N, d)."""
    return x


def share_of_queries(beta: Tensor, queries: Tensor) -> float:
    """Share of ``sum_ij beta_ij^2`` in the rows of some positions, a mask (N,)."""
    return float(beta[:, queries].square().sum() / beta.square().sum())


@check(trained_passes, n_tokens=9)
def pairs_that_count(passes: list[ToyPass]) -> Comparisons:
    """Equations 7, 8: the pairs of the gradient are (query, attended) positions, not (predicted token, C_i)."""
    for p in passes:
        g, n = p.run.gradient(0), p.model.config.n_tokens
        beta, x = exact_beta(g, p.scale), g.layer.x
        predicted_here = p.run.losses > 0
        inside = context_matrix(p.objective, n, predicted_here if p.objective is Objective.MASKED else None)
        attended = relative_error(query_side(x).T @ beta @ x, g.w_qk)
        context = relative_error(gradient_sum(beta * inside, x), g.w_qk)
        yield exact("attended", attended, objective=p.objective)
        yield compare("context", context, "≠", 0, 0.1, objective=p.objective)
        if p.objective is Objective.AUTOREGRESSIVE:
            predicted = relative_error(x.roll(-1, 0).T @ beta @ x, g.w_qk)
            yield compare("predicted", predicted, "≠", 0, 0.1, objective=p.objective)
        else:
            last = exact_beta(p.run.gradient(p.model.config.n_layers - 1), p.scale)
            yield exact("visible", share_of_queries(last, ~predicted_here), where="last layer")
            if p.model.config.n_layers > 1:
                yield compare("visible", share_of_queries(beta, ~predicted_here), ">", 0, 0.01, where="first layer")


@check(trained_passes, n_heads=2)
def regrouping(passes: list[ToyPass]) -> Comparisons:
    """Equations 8, 9, S38: the double sum by predicted and by context position."""
    for p in passes:
        g = p.run.gradient(0)
        for name, grouping in (("by prediction", by_prediction), ("by context", by_context)):
            total = torch.stack([grouping(b, g.layer.x).sum(0) for b in exact_beta(g, p.scale)])
            yield exact(name, relative_error(total, g.w_qk), objective=p.objective)
