"""Errors planted in the claims of both pages on the query-key matrix: the claim, what is replaced, and by what."""

import torch
from notebook_code import notebook

rotation = notebook("bilinear_form_details").rotation


def small_suppressed(right, raw, dim):
    return right(raw.abs(), dim)


def of_symmetric_s(wq):
    """W_k with which W_q R_1 W_k^T is symmetric, and the scores of neighbours are not."""
    return wq @ torch.stack([(s + s.T) @ rotation(1, 6) for s in torch.arange(108.0).double().view(3, 6, 6)])


def of_other_pairs(right, w, x, y):
    """Scores in both orders of other tokens, as if the second score were of an independent pair."""
    there, back = right(w, x, y)
    return there, back.roll(1)


OF_HEADS = "heads_do_not_share_one_softmax"
MEANING = "meaning_of_the_symmetry_score"
PLANTED = [
    (MEANING, "in_both_orders", of_other_pairs),
    (MEANING, "symmetry_score", lambda right, w: 2 * right(w)),
    (MEANING, "torch.softmax", lambda raw, dim: raw),
    ("scores_are_a_bilinear_form", "query_key_matrix", lambda wq, wk: wk @ wq.T),
    ("order_of_scores_is_kept", "torch.softmax", small_suppressed),
    ("order_with_a_causal_mask", "order_violations", lambda *weights_and_raw: 0),
    ("order_of_scores_is_kept", "order_violations", lambda weights, raw: raw.numel()),
    ("order_with_a_causal_mask", "attended", lambda n: torch.ones(n, n).bool()),
    ("values_enter_as_rows", "summand", lambda x, wv: wv @ x),
    ("shape_of_the_positions", "rows_of_positions", lambda tokens, embeddings: len(embeddings)),
    ("form_is_linear_in_each_argument", "bilinear", lambda m, x, y: (x * x) @ m @ y),
    ("operators_are_not_idempotent", "factor", lambda m, x: torch.ones(())),
    ("heads_add_up", "summed_heads", lambda q, k: torch.einsum("hic,hjc->ij", q, k.roll(1, 0))),
    ("raw_sums_leave_the_hull", "coefficients", lambda raw: torch.softmax(raw, -1)),
    ("suppressed_scores", "torch.softmax", small_suppressed),
    ("rotary_scores", "form_at_offset", lambda wq, wk, m: wq @ wk.T),
    ("rotary_scores", "symmetric_neighbours", of_symmetric_s),
    ("rotary_scores", "rotation", lambda right, *at: torch.block_diag(*[right(*at)[:2, :2]] * 2, right(*at)[4:, 4:])),
    (OF_HEADS, "multi_head_output", lambda right, x, m, v, scale: right(x, m.sum(0, True), v.sum(0, True), scale)),
]
