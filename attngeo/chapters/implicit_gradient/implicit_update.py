"""Remark S1.6: what a step on W_q and W_k does to W_qk, and how far it points from the gradient."""

from typing import NamedTuple

import torch
from jaxtyping import Float
from torch import Tensor

from attngeo.chapters.implicit_gradient.quadrature import normal_quadrature
from attngeo.chapters.implicit_gradient.through_factors import (
    alignment_at_random_factors,
    implicit_update,
    symmetry_at_random_factors,
)
from attngeo.chapters.implicit_gradient.toy_passes import TRAINED, ToyPass, trained_passes
from attngeo.errors import ParameterError
from attngeo.forms.bilinear import BilinearForm
from attngeo.forms.scores import symmetry_score
from attngeo.paper.checks import Comparisons, check, compare, exact, monte_carlo
from attngeo.updates.rank_one import cosine, relative_error


def after_step(p: ToyPass, learning_rate: float) -> BilinearForm:
    """The form of the first layer after a step on W_q and W_k with autograd's gradients."""
    factors = (p.model.wq, p.model.wk)
    grad_q, grad_k = torch.autograd.grad(p.run.losses.sum(), factors, retain_graph=True)
    form = p.model.form(0)
    return BilinearForm(form.wq - learning_rate * grad_q[0], form.wk - learning_rate * grad_k[0])


@check(trained_passes)
def step_through_factors(passes: list[ToyPass]) -> Comparisons:
    """Equation S39: both orders of the change of W_qk, against a step on W_q and W_k with autograd's gradients."""
    learning_rate = 1e-2
    for p in passes:
        form = p.model.form(0)
        change = torch.stack(list(after_step(p, learning_rate).heads())) - torch.stack(list(form.heads()))
        step = implicit_update(form, p.run.gradient(0).w_qk, learning_rate)
        remainder = change - step.first_order
        yield exact("both orders", relative_error(remainder, step.second_order), objective=p.objective)
        yield compare("remainder", remainder.norm() / learning_rate**2, "≠", 0, 1e-3, objective=p.objective)


class RandomFactors(NamedTuple):
    """A gradient, and Gaussian factors that do not depend on it."""

    gradient: Float[Tensor, "d d"]
    drawn: list[BilinearForm]  # d_head = d, d/4 and d/16; a draw in the place of each head
    tied: BilinearForm  # W_q = W_k
    grids: list[tuple[BilinearForm, Float[Tensor, " nodes"]]]  # narrow factors: every node, in place of a head; weights


def random_factors(d: int = 64, draws: int = 60, seed: int = 0) -> RandomFactors:
    """Standard normal entries, and all nodes of a quadrature that is exact for them at d = 2 and d = 4.

    Raises:
        ParameterError: 16 does not divide d.
    """
    if d % 16:
        raise ParameterError(f"d is {d}; the check compares d_head = d, d/4 and d/16, so that 16 must divide d.")
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    gradient = normal(d, d)
    drawn = [BilinearForm(*normal(draws, 2, d, d_head).unbind(1)) for d_head in (d, d // 4, d // 16)]
    grids = []
    for narrow, d_head in ((2, 2), (4, 1)):
        nodes, weights = normal_quadrature(2 * narrow * d_head)
        grids.append((BilinearForm(*nodes.view(-1, 2, narrow, d_head).unbind(1)), weights))
    return RandomFactors(gradient, drawn, BilinearForm(*[normal(1, d, d // 4)] * 2), grids)


def ascent(form: BilinearForm, gradient: Float[Tensor, "*heads d d"]) -> Float[Tensor, "heads d d"]:
    """``W_q W_q^T G + G W_k W_k^T`` of every head, for one G or one of each head."""
    return implicit_update(form, gradient.expand(form.n_heads, -1, -1), -1.0).first_order


@check(random_factors)
def update_is_not_proportional(sample: RandomFactors) -> Comparisons:
    """Equation S40: dW_qk is parallel to G only if W_q W_q^T and W_k W_k^T are multiples of I; else by the widths."""
    for form, weights in sample.grids:
        d, d_head = form.d_model, form.d_head
        g = sample.gradient[:d, :d]
        even = g + g.T
        moved, moved_even = ascent(form, g), ascent(form, even)
        inner, square = (weights @ x.sum((1, 2)) for x in (moved * g, moved.square()))
        trace, even_square = (weights @ x.sum((1, 2)) for x in (moved_even * moved_even.mT, moved_even.square()))
        share = float(even.trace() ** 2 / even.square().sum())
        words = {"d": d, "d_head": d_head}
        yield exact("alignment", inner / square.sqrt() / g.norm(), alignment_at_random_factors(d, d_head), **words)
        yield exact("symmetric", trace / even_square, symmetry_at_random_factors(d, d_head, share), **words)
    g = sample.gradient
    for form in sample.drawn:
        cosines = [cosine(m, g) for m in ascent(form, g)]
        yield monte_carlo("cosine", cosines, 1, "<", d=form.d_model, d_head=form.d_head)
    orthogonal = torch.linalg.qr(g).Q[None]
    yield exact("orthogonal", cosine(ascent(BilinearForm(orthogonal, orthogonal), g)[0], g), 1)
    yield exact("tied", symmetry_score(ascent(sample.tied, g + g.T)[0]), 1)


class OnePair(NamedTuple):
    """Factors of one head and two embeddings."""

    wq: Float[Tensor, "d d_head"]
    wk: Float[Tensor, "d d_head"]
    square: Float[Tensor, "d d"]  # d_head = d: only there W_q W_q exists
    x: Float[Tensor, " d"]
    y: Float[Tensor, " d"]


def one_pair(d: int = 24, d_head: int = 6, seed: int = 0) -> OnePair:
    """Standard normal entries."""
    generator = torch.Generator().manual_seed(seed)
    wq, wk = torch.randn(2, d, d_head, generator=generator, dtype=torch.float64)
    square = torch.randn(d, d, generator=generator, dtype=torch.float64)
    return OnePair(wq, wk, square, *torch.randn(2, d, generator=generator, dtype=torch.float64))


def left_factor(w: Float[Tensor, "d d_head"]) -> Float[Tensor, "d d"]:
    """``W_q W_q^T``, which takes x_i to x-bar_i."""
    return w @ w.T


@check(one_pair)
def terms_of_the_step(pair: OnePair) -> Comparisons:
    """Equation S41: x-bar_i = W_q W_q^T x_i (a transpose is missing); each of the two terms has rank 1, their sum 2."""
    wq, wk, square, x, y = pair
    k = torch.outer(x, y)
    first, second = wq @ wq.T @ k, k @ wk @ wk.T
    printed = relative_error(torch.outer(square @ square @ x, y), square @ square.T @ k)
    rank = torch.linalg.matrix_rank
    yield exact("transposed", relative_error(torch.outer(left_factor(wq) @ x, y), first))
    yield compare("as printed", printed, "≠", 0, 0.1)
    yield exact("first rank", rank(first), 1, 0)
    yield exact("second rank", rank(second), 1, 0)
    yield exact("rank of both", rank(first + second), 2, 0)


def every_head_its_own(form: BilinearForm, gradients: Float[Tensor, "heads d d"]) -> Float[Tensor, "d d"]:
    """``-sum_h (W_q,h W_q,h^T G_h + G_h W_k,h W_k,h^T)``: the first-order update of a layer's form, eta = 1."""
    return implicit_update(form, gradients, 1.0).first_order.sum(0)


def heads_as_one(form: BilinearForm, gradients: Float[Tensor, "heads d d"]) -> Float[Tensor, "d d"]:
    """``-(W_q W_q^T G + G W_k W_k^T)`` with all columns of the factors and one G, the mean over heads (Eq. S39)."""
    (q, k), g = form.merged(), gradients.mean(0)
    return -(q @ q.T @ g + g @ k @ k.T)


@check(trained_passes)
def step_of_several_heads(passes: list[ToyPass]) -> Comparisons:
    """Equations S39, S40 with several heads: each head has its own G_h; no one gradient of the summed form exists."""
    small = 1e-3
    for p in passes:
        form, g = p.model.form(0), p.run.gradient(0).w_qk
        if form.n_heads < 2:
            raise ParameterError(f"n_heads is {form.n_heads}; the check needs at least 2 heads.")
        ahead, behind = (after_step(p, eta).dense() for eta in (small, -small))
        slope = (ahead - behind) / (2 * small)  # exact but for rounding: the remainder is even in eta
        one = relative_error(heads_as_one(form, g), slope)
        yield exact("head by head", relative_error(every_head_its_own(form, g), slope), objective=p.objective)
        yield compare("one gradient", one, "≠", 0, 0.1, objective=p.objective)


def first_direction(gradient: Float[Tensor, "heads d d_head"]) -> Float[Tensor, "heads d d_head"]:
    """``sign(g)``: Adam's first step over its learning rate, against the gradient."""
    return gradient.sign()


@check(trained_passes, draws=12)
def first_adam_step(passes: list[ToyPass]) -> Comparisons:
    """Remark S1.6 is about gradient descent: the first step of Adam points farther from the gradient still."""
    plain, gain = ({objective: [] for objective in TRAINED} for _ in range(2))
    for p in passes:
        form, g = p.model.form(0), p.run.gradient(0).w_qk
        step_q, step_k = first_direction(g @ form.wk), first_direction(g.mT @ form.wq)
        descent = cosine(implicit_update(form, g, -1.0).first_order, g)
        plain[p.objective].append(descent)
        gain[p.objective].append(cosine(form.wq @ step_k.mT + step_q @ form.wk.mT, g) - descent)
    for objective in TRAINED:
        yield monte_carlo("descent", plain[objective], 1, "<", objective=objective)
        yield monte_carlo("adam", gain[objective], 0, "<", objective=objective)
