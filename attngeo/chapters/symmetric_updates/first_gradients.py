"""The first gradient of W_qk at W_qk = 0, embeddings tied and small, against autograd: without softmax and with it."""

from dataclasses import replace
from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.symmetric_updates.first_update import first_coefficients, first_update, tied_embeddings
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparisons, check, compare, exact
from attngeo.updates.objectives import Objective, attended_matrix
from attngeo.updates.rank_one import gradient_sum, relative_error
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer


class FirstGradients(NamedTuple):
    """One sequence through one head with tied embeddings at ``W_qk = 0``, and its gradients by autograd."""

    tokens: Tensor  # (N,)
    embeddings: Tensor  # (V, d)
    values: Tensor  # V, (d, d)
    gradients: dict[Objective, Tensor]  # dL/dW_qk, (d, d)


def first_gradients(
    d: int = 16, n_vocab: int = 24, n_tokens: int = 12, softmax: bool = False, seed: int = 0
) -> FirstGradients:
    """Embeddings small enough for the leading order."""
    generator = torch.Generator().manual_seed(seed)
    embeddings = tied_embeddings(n_vocab, d, generator, size=1e-4)
    config = ToyConfig(
        d=d, n_heads=1, n_layers=1, n_tokens=n_tokens, n_vocab=n_vocab, d_mlp=0, softmax=softmax, scale=1.0
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
    return FirstGradients(tokens, embeddings, values, gradients)


def random_value_score(moment: Tensor) -> float:
    """``Tr(S^4) / Tr(S^2)^2``: ratio of the means of Tr(MM) and ||M||^2 for ``M = S V S`` and V of independent entries.

    It is 1/r for a moment with r equal eigenvalues.
    """
    square = moment @ moment
    return float(square.square().sum() / square.trace() ** 2)


@check(first_gradients)
def first_update_of_linear_attention(first: FirstGradients) -> Comparisons:
    """The formula for beta_ij at W_qk = 0 against autograd; s is 1 for symmetric V, Tr(S^4)/Tr(S^2)^2 for random V."""
    tokens, embeddings, values = first.tokens[None], first.embeddings, first.values
    x = embeddings[first.tokens]
    for objective, gradient in first.gradients.items():
        ahead = int(objective is Objective.AUTOREGRESSIVE)
        beta = first_coefficients(tokens, embeddings, values, ahead)[0] * attended_matrix(objective, len(x))
        gap = relative_error(gradient_sum(beta, x), -gradient)
        yield exact("autograd", gap, 0, 1e-6, objective=objective)
    everything = attended_matrix(Objective.BIDIRECTIONAL, len(x))
    symmetric = first_update(tokens, embeddings, values + values.T, everything)[0]
    moment = x.T @ x
    others = moment @ torch.eye(moment.numel()).to(moment).view(-1, *moment.shape) @ moment  # one entry of V at a time
    score = (others * others.mT).sum() / others.square().sum()  # so that these are means over independent entries
    yield exact("symmetric values", symmetry_score(symmetric), 1, 1e-9)
    yield exact("random values", score, random_value_score(moment))


def softmax_update(x: Float[Tensor, "n d"], values: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """``N [C V C + m (C V^T m)^T]``: every position sees every position and holds the token that it predicts.

    m and C are mean and covariance of the embeddings of the sequence, (d,) and (d, d), with 1/N.

    Source: derived here.
    """
    mean, covariance = x.mean(0), torch.cov(x.T, correction=0)
    return len(x) * (covariance @ values @ covariance + torch.outer(mean, covariance @ values.T @ mean))


def causal_softmax_update(x: Float[Tensor, "n d"], values: Float[Tensor, "d d"]) -> Float[Tensor, "d d"]:
    """``sum_{i<N} x_i (C_i V^T x_{i+1})^T``, C_i the covariance of x_1 .. x_i: position i predicts token i + 1.

    Source: derived here.
    """
    seen = [torch.cov(x[: i + 1].T, correction=0) for i in range(len(x) - 1)]
    return sum(torch.outer(x[i], covariance @ values.T @ x[i + 1]) for i, covariance in enumerate(seen))


def skew_share(x: Float[Tensor, "n d"], values: Float[Tensor, "d d"]) -> Float[Tensor, ""]:
    """``(1 - s) ||dW||^2 = N^2 (||m||^2 ||u||^2 - (m^T u)^2)``, ``u = C V m``: of `softmax_update` for symmetric V."""
    mean = x.mean(0)
    u = torch.cov(x.T, correction=0) @ values @ mean
    return len(x) ** 2 * (mean.square().sum() * u.square().sum() - (mean @ u) ** 2)


@check(first_gradients, softmax=True)
def first_update_through_softmax(first: FirstGradients) -> Comparisons:
    """The first update with softmax against autograd, and how far it is from symmetric for symmetric V."""
    x = first.embeddings[first.tokens]
    formulas = {Objective.BIDIRECTIONAL: softmax_update, Objective.AUTOREGRESSIVE: causal_softmax_update}
    for objective, formula in formulas.items():
        gap = relative_error(formula(x, first.values), -first.gradients[objective])
        yield exact("autograd", gap, 0, 1e-6, objective=objective)
    symmetric = first.values + first.values.T
    update = softmax_update(x, symmetric)
    share = skew_share(x, symmetric) / update.square().sum()
    yield exact("symmetric values", symmetry_score(update), 1 - share)
    yield compare("not symmetric", share, ">", 0, 1e-6)
