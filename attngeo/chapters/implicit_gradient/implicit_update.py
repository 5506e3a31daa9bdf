"""Remark S1.6: what a step on W_q and W_k does to W_qk, and how far it points from the gradient."""

from collections.abc import Callable

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.implicit_gradient.gradient import CHAPTER, TRAINED
from attngeo.errors import ParameterError
from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparison, Flaw, Result, Verdict, claim, exact, monte_carlo
from attngeo.updates.rank_one import (
    alignment_at_random_factors,
    cosine,
    implicit_update,
    relative_error,
    symmetry_at_random_factors,
)
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer


def quadratic_remainder(form: BilinearForm, gradients: Float[Tensor, "heads d d"]) -> Float[Tensor, "heads d d"]:
    """``G W_k W_q^T G`` per head: what eta^2 multiplies in Eq. S39."""
    wq, wk = form.per_head()
    return gradients @ wk @ wq.mT @ gradients


@claim
def step_through_factors(
    d: int = 32,
    n_heads: int = 4,
    n_tokens: int = 8,
    learning_rate: float = 1e-2,
    seed: int = 0,
    remainder: Callable[[BilinearForm, Tensor], Tensor] = quadratic_remainder,
) -> Result:
    """Equation S39: both orders of the change of W_qk, against a step on W_q and W_k with autograd's gradients."""
    comparisons = []
    for objective in TRAINED:
        model = ToyTransformer.random(ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens), seed)
        one_pass = model.example(objective, seed)
        loss, form, g = one_pass.losses.sum(), model.form(0), one_pass.gradient(0)
        grad_q, grad_k = torch.autograd.grad(loss, (model.wq, model.wk))
        moved = BilinearForm(form.wq - learning_rate * grad_q[0], form.wk - learning_rate * grad_k[0])
        truth = torch.stack(list(moved.heads())) - torch.stack(list(form.heads()))
        first = implicit_update(form, g.w_qk, learning_rate).first_order
        over = (truth - first) / learning_rate**2
        expected = remainder(form, g.w_qk)
        comparisons += [
            exact(f"relative error, first order and remainder, {objective}", relative_error(over, expected), 0),
            Comparison(f"norm of the remainder over η², {objective}", float(over.norm()), "≠", 0.0, 1e-3),
        ]
    return Result(
        statement="S1.6",
        part="Eq. S39",
        title="the first-order update of W_qk and its remainder",
        verdict=Verdict.CORRECTED,
        comparisons=tuple(comparisons),
        printed="$W_{qk} \\to W_{qk} + \\eta (W_q W_q^\\top G + G W_k W_k^\\top) + o(\\eta^2)$",
        corrected="The first order is right; the remainder is $\\eta^2 G W_k W_q^\\top G$, which is $O(\\eta^2)$ "
        "and not $o(\\eta^2)$.",
        remark="Signs: with $G$ the gradient of the negative log-likelihood a descending step has $-\\eta$.",
        flaw=Flaw.MISPRINT,
        chapter=CHAPTER,
    )


@claim
def update_is_not_proportional(
    d: int = 64,
    draws: int = 60,
    seed: int = 0,
    alignment: Callable[[int, int], float] = alignment_at_random_factors,
    symmetry: Callable[[int, int, float], float] = symmetry_at_random_factors,
) -> Result:
    """Equation S40: dW_qk is parallel to G only if W_q W_q^T and W_k W_k^T are multiples of I; else by d_head / d."""
    if d % 16:
        raise ParameterError(f"d is {d}; the check compares d_head = d, d/4 and d/16, so that 16 must divide d.")
    generator = torch.Generator().manual_seed(seed)
    gradient = torch.randn(d, d, generator=generator, dtype=torch.float64)
    even = gradient + gradient.T
    share = float(even.trace() ** 2 / even.square().sum())
    comparisons = []
    for d_head in (d, d // 4, d // 16):
        steps = [_first_order(d, d_head, generator) for _ in range(draws)]
        moved = [step(gradient) for step in steps]
        # exact: E<dW, G> = 2 d_head ||G||^2, E||dW||^2 = (that / cos)^2 / ||G||^2, E Tr(dW dW) = s E||dW||^2
        expected_square = (2 * d_head / alignment(d, d_head)) ** 2
        inner = [float((m * gradient).sum() / gradient.square().sum()) / (2 * d_head) for m in moved]
        square = [float(m.square().sum() / gradient.square().sum()) for m in moved]
        cosines = [cosine(m, gradient) for m in moved]
        squares_of_even = [float((m * m.T).sum() / even.square().sum()) for m in (step(even) for step in steps)]
        name = f"d_head = {d_head}"
        comparisons += [
            monte_carlo(f"⟨ΔW, G⟩ / (2 d_head ‖G‖²), {name}", inner, 1),
            monte_carlo(f"‖ΔW‖² / ‖G‖², {name}", square, expected_square),
            monte_carlo(f"cos(ΔW, G), {name}", cosines, 1, "<"),
            monte_carlo(
                f"Tr(ΔW ΔW) / ‖G‖² of a symmetric G, {name}",
                squares_of_even,
                symmetry(d, d_head, share) * expected_square,
            ),
        ]
    orthogonal = torch.linalg.qr(gradient).Q
    tied = BilinearForm(*[torch.randn(1, d, d // 4, generator=generator, dtype=torch.float64)] * 2)
    tied_update = implicit_update(tied, even[None], 1.0).first_order[0]
    same = implicit_update(BilinearForm(orthogonal[None], orthogonal[None]), gradient[None], 1.0).first_order[0]
    comparisons += [
        exact("cos(ΔW, −G), W_q = W_k orthogonal", cosine(same, -gradient), 1),
        exact("s(ΔW) of a symmetric G, W_q = W_k", symmetry_score(tied_update), 1),
    ]
    return Result(
        statement="S1.6",
        part="Eq. S40",
        title="the update is not proportional to the sum of rank-1 terms",
        verdict=Verdict.CORRECTED,
        comparisons=tuple(comparisons),
        printed="$\\Delta W_{qk} = \\eta (W_q W_q^\\top G + G W_k W_k^\\top) \\propto G = \\sum \\beta_{ij} K_{ij}$",
        corrected="Parallel to every $G$ only if $W_q W_q^\\top$ and $W_k W_k^\\top$ are multiples of the identity, "
        "which needs $d_h = d$. For Gaussian factors $\\cos(\\Delta W, G) \\approx \\sqrt{2 d_h / (d + 2 d_h + 1)}$.",
        remark="The update of a symmetric $G$ has a symmetry score near the square of that cosine; 1 if $W_q = W_k$.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )


def _first_order(d: int, d_head: int, generator: torch.Generator) -> Callable[[Tensor], Tensor]:
    """A draw of Gaussian factors, as the map from G to ``W_q W_q^T G + G W_k W_k^T``."""
    wq, wk = torch.randn(2, 1, d, d_head, generator=generator, dtype=torch.float64)
    form = BilinearForm(wq, wk)
    return lambda gradient: implicit_update(form, gradient[None], -1.0).first_order[0]


@claim
def terms_of_the_step(
    d: int = 24, d_head: int = 6, seed: int = 0, left: Callable[[Tensor], Tensor] = lambda w: w @ w.T
) -> Result:
    """Equation S41: x-bar_i = W_q W_q^T x_i (a transpose is missing); each of the two terms has rank 1, their sum 2."""
    generator = torch.Generator().manual_seed(seed)
    wq, wk = torch.randn(2, d, d_head, generator=generator, dtype=torch.float64)
    square = torch.randn(d, d, generator=generator, dtype=torch.float64)  # d_head = d: only there W_q W_q exists
    x, y = torch.randn(2, d, generator=generator, dtype=torch.float64)
    k = torch.outer(x, y)
    first, second = wq @ wq.T @ k, k @ wk @ wk.T
    rank = torch.linalg.matrix_rank
    return Result(
        statement="S1.6",
        part="Eq. S41",
        title="the two terms of one pair",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact("relative error, x̄_i = W_q W_q^T x_i", relative_error(torch.outer(left(wq) @ x, y), first), 0),
            Comparison(
                "relative error, x̄_i = W_q W_q x_i, d_head = d",
                relative_error(torch.outer(square @ square @ x, y), square @ square.T @ k),
                "≠",
                0.0,
                0.1,
            ),
            exact("rank of W_q W_q^T K_ij", rank(first), 1, 0),
            exact("rank of K_ij W_k W_k^T", rank(second), 1, 0),
            exact("rank of their sum", rank(first + second), 2, 0),
        ),
        printed="$W_q W_q^\\top K_{ij} = (W_q W_q x_i) x_j^\\top$",
        corrected="$W_q W_q^\\top K_{ij} = (W_q W_q^\\top x_i) x_j^\\top$. Each term has rank 1; what the pair adds to "
        "$W_{qk}$ has rank 2.",
        flaw=Flaw.MISPRINT,
        maybe_copying=True,
        chapter=CHAPTER,
    )


def every_head_its_own(form: BilinearForm, gradients: Float[Tensor, "heads d d"]) -> Float[Tensor, "d d"]:
    """``-sum_h (W_q,h W_q,h^T G_h + G_h W_k,h W_k,h^T)``: the first-order update of a layer's form, eta = 1."""
    return implicit_update(form, gradients, 1.0).first_order.sum(0)


def heads_as_one(form: BilinearForm, gradients: Float[Tensor, "heads d d"]) -> Float[Tensor, "d d"]:
    """``-(W_q W_q^T G + G W_k W_k^T)`` with all columns of the factors and one G, the mean over heads (Eq. S39)."""
    (q, k), g = form.merged(), gradients.mean(0)
    return -(q @ q.T @ g + g @ k @ k.T)


@claim
def step_of_several_heads(
    d: int = 32, n_heads: int = 4, n_tokens: int = 8, seed: int = 0, update: Callable = every_head_its_own
) -> Result:
    """Equations S39, S40 with several heads: each head has its own G_h; no one gradient of the summed form exists."""
    if n_heads < 2:
        raise ParameterError(f"n_heads is {n_heads}; the check needs at least 2 heads.")
    comparisons, small = [], 1e-3
    for objective in TRAINED:
        model = ToyTransformer.random(ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens), seed)
        one_pass = model.example(objective, seed)
        form, g = model.form(0), one_pass.gradient(0)
        grad_q, grad_k = torch.autograd.grad(one_pass.losses.sum(), (model.wq, model.wk))
        ahead, behind = (
            BilinearForm(form.wq - eta * grad_q[0], form.wk - eta * grad_k[0]).dense() for eta in (small, -small)
        )
        slope = (ahead - behind) / (2 * small)  # exact but for rounding: the remainder is even in eta
        comparisons += [
            exact(f"relative error, head by head, {objective}", relative_error(update(form, g.w_qk), slope), 0),
            Comparison(
                f"relative error, one G for all heads, {objective}",
                relative_error(heads_as_one(form, g.w_qk), slope),
                "≠",
                0.0,
                0.1,
            ),
        ]
    return Result(
        statement="S1.6",
        part="(several heads)",
        title="the update of a layer's summed form",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="One gradient $\\sum \\beta_{ij} K_{ij}$ of the layer's $W_{qk}$.",
        corrected="$\\Delta W_{qk} = -\\eta \\sum_h (W_{q,h} W_{q,h}^\\top G_h + G_h W_{k,h} W_{k,h}^\\top)$. The "
        "loss is no function of $\\sum_h W_{qk,h}$, as every head has its own softmax and values.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )


@claim
def first_adam_step(d: int = 32, n_heads: int = 4, n_tokens: int = 8, draws: int = 12, seed: int = 0) -> Result:
    """Remark S1.6 is about gradient descent: the first step of Adam points farther from the gradient still."""
    comparisons = []
    for objective in TRAINED:
        plain, adam = [], []
        for draw in range(seed, seed + draws):
            model = ToyTransformer.random(ToyConfig(d=d, n_heads=n_heads, n_tokens=n_tokens), draw)
            form, g = model.form(0), model.example(objective, draw).gradient(0).w_qk
            step_q, step_k = (g @ form.wk).sign(), (g.mT @ form.wq).sign()  # Adam's first step, over its rate
            plain.append(cosine(implicit_update(form, g, -1.0).first_order, g))
            adam.append(cosine(form.wq @ step_k.mT + step_q @ form.wk.mT, g))
        gain = [a - p for a, p in zip(adam, plain, strict=True)]
        comparisons += [
            monte_carlo(f"cos(ΔW, −G), gradient descent, {objective}", plain, 1, "<"),
            monte_carlo(f"cosine of Adam's first step less that of gradient descent, {objective}", gain, 0, "<"),
        ]
    return Result(
        statement="S1.6",
        part="(optimiser)",
        title="the update under Adam",
        verdict=Verdict.ASSUMPTIONS,
        comparisons=tuple(comparisons),
        printed="$W_q$ and $W_k$ are updated via gradient descent.",
        corrected="With Adam, which trains these models, the step rescales every entry of the gradients of $W_q$ and "
        "$W_k$ and is no sum of $\\beta_{ij} (W_q W_q^\\top K_{ij} + K_{ij} W_k W_k^\\top)$.",
        flaw=Flaw.ASSUMPTION,
        chapter=CHAPTER,
    )
