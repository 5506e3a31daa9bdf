"""Errors planted in the claims of *The implicit gradient*: the claim, what is replaced, by what."""

import torch
from notebook_code import notebook

page, details = notebook("implicit_gradient"), notebook("implicit_gradient_details")
BETA, without_softmax = "attngeo.gradients.toy_transformer.LayerGradient.beta", property(page.printed_beta)


NOT_ALONG, beyond = "update_is_not_proportional", "step_beyond_the_definition"
PLANTED = [
    ("forward_and_backward", BETA, without_softmax),
    ("loss_sign", "SIGN", 1),
    ("prediction_from_its_own_input", "AHEAD", 0),
    ("residual_input", "residual", lambda below: below.attended),
    ("single_weight_derivative", "one_value", details.summed_values),
    ("jacobian_of_later_layers", "product_of_jacobians", details.sum_of_jacobians),
    ("gradient_is_sum_of_rank_one", BETA, without_softmax),
    ("coefficients_without_softmax", BETA, without_softmax),
    ("rows_of_one_loss", "rows_that_count", lambda beta, n: beta * (torch.arange(beta.shape[-1])[:, None] == n)),
    ("pairs_that_count", "query_side", lambda x: x.roll(-1, 0)),
    ("pairs_that_count", "share_of_queries", lambda beta, queries: 0.0),
    ("step_through_factors", "second_order", lambda form, g: 1e-9 * g),
    (NOT_ALONG, "alignment", lambda d, d_head: 1.0),
    (NOT_ALONG, "kept_symmetry", lambda d, d_head, share: 1.0),
    (beyond, "bias_term", lambda head, beta: torch.outer(head.wq @ head.bk, head.x.T @ beta.sum(0))),
    (beyond, "rotary_step", lambda right, head, beta: right(head._replace(turns=head.turns.mT), beta)),
    ("terms_of_the_step", "left_factor", lambda w: w @ w[: w.shape[1]].mT @ w.mT),
    ("first_adam_step", "first_direction", lambda gradient: gradient),
    ("step_of_several_heads", "every_head_its_own", details.heads_as_one),
]
