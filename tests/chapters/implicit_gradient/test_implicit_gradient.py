"""Definition S1.3, Proposition 2.2 and Remark S1.6: supported as checked, refused with a misprint planted."""

import pytest
import torch

from attngeo.chapters.implicit_gradient import chain_rule, forward_backward, gradient, implicit_update
from attngeo.errors import ParameterError

PLANTED = {
    "scale of the whole width": (forward_backward.attention_scale, {"scale": lambda d, d_head: d**-0.5}),
    "Figure 1 without softmax": (forward_backward.forward_and_backward, {"coefficients": gradient.paper_beta}),
    "S23 without its sign": (forward_backward.loss_sign, {"sign": 1}),
    "S24 without a shift": (forward_backward.prediction_from_its_own_input, {"ahead": 0}),
    "S25 adds to x-hat": (forward_backward.residual_input, {"previous": "attended"}),
    "S28 with a sum": (chain_rule.single_weight_derivative, {"derivative": chain_rule.summed_values}),
    "S29 as a sum": (chain_rule.jacobian_of_later_layers, {"chain": chain_rule.sum_of_jacobians}),
    "2.2 with the paper's beta": (gradient.gradient_is_sum_of_rank_one, {"coefficients": gradient.paper_beta}),
    "S36 with the paper's beta": (gradient.coefficients_without_softmax, {"coefficients": gradient.paper_beta}),
    "S36 one row in every layer": (
        gradient.rows_of_one_loss,
        {"rows": lambda beta, n: torch.where(torch.arange(beta.shape[-1])[:, None] == n, beta, 0.0)},
    ),
    "K with the predicted token": (gradient.pairs_that_count, {"shift": 1}),
    "Eq. 9 with roles exchanged": (gradient.regrouping, {"grouping": lambda beta, x: gradient.by_context(beta.T, x)}),
    "S39 without remainder": (
        implicit_update.step_through_factors,
        {"remainder": lambda form, g: 1e-9 * g},
    ),
    "S39 with a wrong remainder": (
        implicit_update.step_through_factors,
        {"remainder": lambda form, g: g @ form.wq @ form.wk.mT @ g},
    ),
    "S40 proportional": (implicit_update.update_is_not_proportional, {"alignment": lambda d, d_head: 1.0}),
    "S40 keeps symmetry": (implicit_update.update_is_not_proportional, {"symmetry": lambda d, d_head, t: 1.0}),
    "S41 without transpose": (implicit_update.terms_of_the_step, {"left": lambda w: w @ w[: w.shape[1]].mT @ w.mT}),
    "S40 one head": (implicit_update.step_of_several_heads, {"update": implicit_update.heads_as_one}),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_refused(name):
    check, wrong = PLANTED[name]
    assert not check(**wrong).supported


@pytest.mark.parametrize("sizes", [{"d": 12, "n_heads": 1, "n_layers": 2}, {"d": 20, "n_heads": 5, "n_tokens": 5}])
@pytest.mark.parametrize("seed", [1, 2])
def test_gradient_is_exact_at_other_sizes(sizes, seed):
    result = gradient.gradient_is_sum_of_rank_one(seed=seed, **sizes)
    assert result.supported, result.comparisons


def test_alignment_depends_on_the_ratio_of_widths():
    result = implicit_update.update_is_not_proportional(d=32, draws=100, seed=3)
    assert result.supported, result.comparisons


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: gradient.gradient_is_sum_of_rank_one(d=30, n_heads=4), "do not divide"),
        (lambda: gradient.regrouping(n_tokens=1), "n_tokens must be at least 2"),
        (lambda: chain_rule.jacobian_of_later_layers(n_layers=2), "at least 3"),
        (lambda: implicit_update.update_is_not_proportional(d=40), "16 must divide d"),
        (lambda: implicit_update.step_of_several_heads(n_heads=1), "at least 2 heads"),
    ],
)
def test_bad_parameters_are_refused(as_user, call, words):
    with pytest.raises(ParameterError, match=words) as caught:
        call()
    assert "\n" not in str(caught.value)
