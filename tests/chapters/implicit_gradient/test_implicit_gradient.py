"""Proposition 2.2 and Remark S1.6: supported as checked, refused with a misprint planted."""

from dataclasses import replace

import pytest
import torch
from planting import supported, supported_with

from attngeo.chapters.implicit_gradient import (
    beyond_the_definition,
    chain_rule,
    forward_backward,
    gradient,
    implicit_update,
    through_factors,
)
from attngeo.chapters.implicit_gradient.beyond_the_definition import rotary_step
from attngeo.errors import ParameterError
from attngeo.updates.objectives import Objective
from attngeo.updates.rank_one import by_context, gradient_sum, relative_error
from attngeo.updates.toy_transformer import ToyConfig, ToyTransformer


def second_order(wrong):
    """`implicit_update` with another second order, made from the form and the gradients."""

    def planted(form, gradients, learning_rate):
        step = through_factors.implicit_update(form, gradients, learning_rate)
        return replace(step, second_order=learning_rate**2 * wrong(form, gradients))

    return planted


PLANTED = {
    "scale of the whole width": (forward_backward.attention_scale, "score_scale", lambda d, d_head: d**-0.5),
    "Figure 1 without softmax": (forward_backward.forward_and_backward, "exact_beta", gradient.paper_beta),
    "S23 without its sign": (forward_backward.loss_sign, "SIGN", 1),
    "S24 without a shift": (forward_backward.prediction_from_its_own_input, "AHEAD", 0),
    "S25 adds to x-hat": (forward_backward.residual_input, "residual", lambda below: below.attended),
    "S28 with a sum": (chain_rule.single_weight_derivative, "one_value", chain_rule.summed_values),
    "S29 as a sum": (chain_rule.jacobian_of_later_layers, "product_of_jacobians", chain_rule.sum_of_jacobians),
    "2.2 with the paper's beta": (gradient.gradient_is_sum_of_rank_one, "exact_beta", gradient.paper_beta),
    "S36 with the paper's beta": (gradient.coefficients_without_softmax, "exact_beta", gradient.paper_beta),
    "S36 one row in every layer": (
        gradient.rows_of_one_loss,
        "rows_that_count",
        lambda beta, n: torch.where(torch.arange(beta.shape[-1])[:, None] == n, beta, 0.0),
    ),
    "K with the predicted token": (gradient.pairs_that_count, "query_side", lambda x: x.roll(-1, 0)),
    "masked queries alone": (gradient.pairs_that_count, "share_of_queries", lambda beta, queries: 0.0),
    "Eq. 9 with roles exchanged": (gradient.regrouping, "by_context", lambda b, x: by_context(b.T, x)),
    "S39 without remainder": (
        implicit_update.step_through_factors,
        "implicit_update",
        second_order(lambda form, g: 1e-9 * g),
    ),
    "S39 with a wrong remainder": (
        implicit_update.step_through_factors,
        "implicit_update",
        second_order(lambda form, g: g @ form.wq @ form.wk.mT @ g),
    ),
    "S40 proportional": (
        implicit_update.update_is_not_proportional,
        "alignment_at_random_factors",
        lambda d, d_head: 1.0,
    ),
    "S40 keeps symmetry": (
        implicit_update.update_is_not_proportional,
        "symmetry_at_random_factors",
        lambda d, d_head, share: 1.0,
    ),
    "S40 alignment without + 1": (
        implicit_update.update_is_not_proportional,
        "alignment_at_random_factors",
        lambda d, d_head: (2 * d_head / (d + 2 * d_head)) ** 0.5,
    ),
    "S40 symmetry without t": (
        implicit_update.update_is_not_proportional,
        "symmetry_at_random_factors",
        lambda d, d_head, share: (2 * d_head + 1) / (d + 2 * d_head + 1),
    ),
    "S40 with the bias of the keys": (
        beyond_the_definition.step_beyond_the_definition,
        "bias_term",
        lambda head, beta: torch.outer(head.wq @ head.bk, head.x.T @ beta.sum(0)),
    ),
    "S40 with the queries of a bias": (
        beyond_the_definition.step_beyond_the_definition,
        "bias_term",
        lambda head, beta: torch.outer(head.wq @ head.bq, head.x.T @ beta.sum(1)),
    ),
    "S40 turned the other way": (
        beyond_the_definition.step_beyond_the_definition,
        "rotary_step",
        lambda head, beta: rotary_step(replace(head, turns=head.turns.mT), beta),
    ),
    "S40 with the mean over layers": (
        beyond_the_definition.step_beyond_the_definition,
        "shared_gradient",
        lambda gradients: torch.stack(gradients).mean(0),
    ),
    "S41 without transpose": (
        implicit_update.terms_of_the_step,
        "left_factor",
        lambda w: w @ w[: w.shape[1]].mT @ w.mT,
    ),
    "Adam as gradient descent": (implicit_update.first_adam_step, "first_direction", lambda gradient: gradient),
    "S40 one head": (implicit_update.step_of_several_heads, "every_head_its_own", implicit_update.heads_as_one),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_refused(name):
    check, formula, wrong = PLANTED[name]
    assert supported(check)
    assert not supported_with(check, formula, wrong)


@pytest.mark.parametrize("sizes", [{"d": 12, "n_heads": 1, "n_layers": 2}, {"d": 20, "n_heads": 5, "n_tokens": 5}])
@pytest.mark.parametrize("seed", [1, 2])
def test_gradient_is_exact_at_other_sizes(sizes, seed):
    result = gradient.gradient_is_sum_of_rank_one(seed=seed, **sizes)
    assert result.supported, result.comparisons


def test_alignment_depends_on_the_ratio_of_widths():
    result = implicit_update.update_is_not_proportional(d=32, draws=100, seed=3)
    assert result.supported, result.comparisons


@pytest.mark.parametrize(
    ("check", "sizes", "named"),
    [
        (gradient.gradient_is_sum_of_rank_one, {"d": 30, "n_heads": 4}, "30"),
        (gradient.regrouping, {"n_tokens": 1}, "1"),
        (chain_rule.jacobian_of_later_layers, {"n_layers": 2}, "2"),
        (implicit_update.update_is_not_proportional, {"d": 40}, "40"),
        (implicit_update.step_of_several_heads, {"n_heads": 1}, "1"),
    ],
    ids=lambda x: getattr(x, "__name__", None),
)
def test_bad_parameters_are_refused(as_user, check, sizes, named):
    with pytest.raises(ParameterError, match=rf"\b{named}\b") as caught:
        check(**sizes)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("objective", list(Objective))
def test_the_papers_coefficients_are_exact_without_softmax(objective):
    config = ToyConfig(softmax=False, scale=0.1, n_layers=2)
    for layer in range(2):
        g = ToyTransformer.random(config, 3).example(objective, 3).gradient(layer)
        beta = gradient.paper_beta(g, config.score_scale)
        assert relative_error(gradient_sum(beta, g.layer.x), g.w_qk) < 1e-12
