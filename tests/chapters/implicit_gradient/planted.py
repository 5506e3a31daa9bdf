"""Errors planted in the claims of *The implicit gradient*: the claim, what is replaced, by what."""

import torch
from notebook_code import notebook

page, details = notebook("implicit_gradient"), notebook("implicit_gradient_details")
BETA = "attngeo.gradients.toy_transformer.LayerGradient.beta"
without_softmax = property(page.printed_beta)
beyond = "step_beyond_the_definition"

PLANTED = {
    "Figure 1 without softmax": ("forward_and_backward", BETA, without_softmax),
    "S23 without its sign": ("loss_sign", "SIGN", 1),
    "S24 without a shift": ("prediction_from_its_own_input", "AHEAD", 0),
    "S25 adds to x-hat": ("residual_input", "residual", lambda below: below.attended),
    "S28 with a sum": ("single_weight_derivative", "one_value", details.summed_values),
    "S29 as a sum": ("jacobian_of_later_layers", "product_of_jacobians", details.sum_of_jacobians),
    "2.2 with the paper's beta": ("gradient_is_sum_of_rank_one", BETA, without_softmax),
    "S36 with the paper's beta": ("coefficients_without_softmax", BETA, without_softmax),
    "S36 one row in every layer": (
        "rows_of_one_loss",
        "rows_that_count",
        lambda beta, n: torch.where(torch.arange(beta.shape[-1])[:, None] == n, beta, 0.0),
    ),
    "K with the predicted token": ("pairs_that_count", "query_side", lambda x: x.roll(-1, 0)),
    "masked queries alone": ("pairs_that_count", "share_of_queries", lambda beta, queries: 0.0),
    "S39 without remainder": ("step_through_factors", "second_order", lambda form, g: 1e-9 * g),
    "S39 with a wrong remainder": (
        "step_through_factors",
        "second_order",
        lambda form, g: g @ form.wq @ form.wk.mT @ g,
    ),
    "S40 proportional": ("update_is_not_proportional", "alignment", lambda d, d_head: 1.0),
    "S40 keeps symmetry": ("update_is_not_proportional", "kept_symmetry", lambda d, d_head, share: 1.0),
    "S40 alignment without + 1": (
        "update_is_not_proportional",
        "alignment",
        lambda d, d_head: (2 * d_head / (d + 2 * d_head)) ** 0.5,
    ),
    "S40 symmetry without t": (
        "update_is_not_proportional",
        "kept_symmetry",
        lambda d, d_head, share: (2 * d_head + 1) / (d + 2 * d_head + 1),
    ),
    "S40 with the bias of the keys": (
        beyond,
        "bias_term",
        lambda head, beta: torch.outer(head.wq @ head.bk, head.x.T @ beta.sum(0)),
    ),
    "S40 with the queries of a bias": (
        beyond,
        "bias_term",
        lambda head, beta: torch.outer(head.wq @ head.bq, head.x.T @ beta.sum(1)),
    ),
    "S40 turned the other way": (
        beyond,
        "rotary_step",
        lambda head, beta, right=details.rotary_step: right(head._replace(turns=head.turns.mT), beta),
    ),
    "S41 without transpose": ("terms_of_the_step", "left_factor", lambda w: w @ w[: w.shape[1]].mT @ w.mT),
    "Adam as gradient descent": ("first_adam_step", "first_direction", lambda gradient: gradient),
    "S40 one head": ("step_of_several_heads", "every_head_its_own", details.heads_as_one),
}
