"""Errors planted in the claims of *One matrix per head*: the claim, what is replaced, and by what."""

import torch
from notebook_code import notebook

page, details = notebook("bilinear_form"), notebook("bilinear_form_details")
softmax_rows, rotation, form_at_offset = page.softmax_rows, details.rotation, details.form_at_offset


def small_suppressed(raw):
    return softmax_rows(raw.abs())


def of_symmetric_s(wq):
    """W_k with which W_q R_1 W_k^T is symmetric, and the scores of neighbours are not."""
    return wq @ torch.stack([(s + s.T) @ rotation(1, 6) for s in torch.arange(108.0).double().view(3, 6, 6)])


PLANTED = [
    ("scores_are_a_bilinear_form", "query_key_matrix", lambda wq, wk: wk @ wq.T),
    ("order_of_scores_is_kept", "softmax_rows", lambda raw: torch.softmax(raw, -2)),
    ("order_of_scores_is_kept", "softmax_rows", small_suppressed),
    ("order_with_a_causal_mask", "order_violations", lambda *weights_and_raw: 0),
    ("order_of_scores_is_kept", "order_violations", lambda weights, raw: raw.numel()),
    ("order_with_a_causal_mask", "attended", lambda n: torch.ones(n, n).bool()),
    ("order_with_a_causal_mask", "attended", lambda n: torch.ones(n, n).triu().bool()),
    ("values_enter_as_rows", "summand", lambda x, wv: wv @ x),
    ("shape_of_the_positions", "rows_of_positions", lambda tokens, embeddings: len(embeddings)),
    ("form_is_linear_in_each_argument", "bilinear", lambda m, x, y: x @ m @ y + 1),
    ("form_is_linear_in_each_argument", "bilinear", lambda m, x, y: (x * x) @ m @ y),
    ("operators_are_not_idempotent", "factor", lambda m, x: torch.ones(())),
    ("operators_are_not_idempotent", "factor", lambda m, x: torch.zeros(())),
    ("heads_add_up", "summed_heads", lambda q, k: torch.einsum("hic,hjc->ij", q, k.roll(1, 0))),
    ("heads_add_up", "summed_heads", lambda q, k: torch.einsum("hic,hjc->ij", q, k) / len(q)),
    ("raw_sums_leave_the_hull", "coefficients", softmax_rows),
    ("suppressed_scores", "softmax_rows", lambda raw: softmax_rows(raw).where(raw > 0, 1e-6)),
    ("suppressed_scores", "softmax_rows", small_suppressed),
    ("rotary_scores", "form_at_offset", lambda wq, wk, m: wq @ wk.T),
    ("rotary_scores", "form_at_offset", lambda wq, wk, m: form_at_offset(wq, wk, -m)),
    ("rotary_scores", "symmetric_neighbours", of_symmetric_s),
    ("rotary_scores", "rotation", lambda m, n: torch.block_diag(*[rotation(m, n)[:2, :2]] * 2, rotation(m, n)[4:, 4:])),
    (
        "heads_do_not_share_one_softmax",
        "multi_head_output",
        lambda x, m, values, scale: softmax_rows(scale * (x @ m.sum(0) @ x.T)) @ x @ values.sum(0),
    ),
    (
        "heads_do_not_share_one_softmax",
        "multi_head_output",
        lambda x, m, values, scale: (softmax_rows(scale * (x @ m @ x.T)) @ x @ values.roll(1, 0)).sum(0),
    ),
]
