import pytest
import torch
from planting import supported, supported_with

from attngeo.chapters.bilinear_form import heads, operators, rotary, scores
from attngeo.chapters.bilinear_form.attention_example import attention_example, order_violations, softmax_rows
from attngeo.errors import ParameterError

CHECKS = [
    scores.scores_are_a_bilinear_form,
    scores.order_of_scores_is_kept,
    scores.order_with_a_causal_mask,
    scores.values_enter_as_rows,
    scores.form_is_linear_in_each_argument,
    operators.linearity_cannot_fail,
    operators.operators_are_not_idempotent,
    operators.raw_scores_in_the_decomposition,
    heads.heads_add_up,
    heads.heads_do_not_share_one_softmax,
    heads.raw_sums_leave_the_hull,
    scores.suppressed_scores,
    rotary.rotary_scores,
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("changed", [{"seed": 1}, {"seed": 2}, {"d": 8}, {"d": 64}], ids=str)
def test_statement(check, changed):
    result = check(**changed)
    assert result.supported, [c for c in result.comparisons if not c.holds]


PLANTED = {
    "keys first": (scores.scores_are_a_bilinear_form, "query_key_matrix", lambda wq, wk: wk @ wq.T),
    "softmax down the columns": (scores.order_of_scores_is_kept, "softmax_rows", lambda raw: torch.softmax(raw, -2)),
    "softmax of magnitudes": (scores.order_of_scores_is_kept, "softmax_rows", lambda raw: softmax_rows(raw.abs())),
    "no mask": (scores.order_with_a_causal_mask, "attended", lambda n: torch.ones(n, n).bool()),
    "mask on the future": (scores.order_with_a_causal_mask, "attended", lambda n: torch.ones(n, n).triu().bool()),
    "columns": (scores.values_enter_as_rows, "summand", lambda x, wv: wv @ x),
    "a row per word": (scores.shape_of_the_positions, "rows_of_positions", lambda e: len(e.we)),
    "affine": (scores.form_is_linear_in_each_argument, "bilinear", lambda m, x, y: x @ m @ y + 1),
    "quadratic": (scores.form_is_linear_in_each_argument, "bilinear", lambda m, x, y: (x * x) @ m @ y),
    "an inner product": (operators.linearity_cannot_fail, "matrix_of", lambda f: f.wq[0] @ f.wq[0].T),
    "idempotent": (operators.operators_are_not_idempotent, "factor", lambda m, x: torch.ones(())),
    "nilpotent": (operators.operators_are_not_idempotent, "factor", lambda m, x: torch.zeros(())),
    "attention weights": (operators.raw_scores_in_the_decomposition, "coefficients", softmax_rows),
    "keys of another head": (
        heads.heads_add_up,
        "summed_heads",
        lambda wq, wk: torch.einsum("hic,hjc->ij", wq, wk.roll(1, 0)),
    ),
    "mean over heads": (
        heads.heads_add_up,
        "summed_heads",
        lambda wq, wk: torch.einsum("hic,hjc->ij", wq, wk) / len(wq),
    ),
    "raw sums inside the hull": (heads.raw_sums_leave_the_hull, "coefficients", softmax_rows),
    "negative scores suppressed": (
        scores.suppressed_scores,
        "softmax_rows",
        lambda raw: softmax_rows(raw).where(raw > 0, 1e-6),
    ),
    "near-zero scores suppressed": (scores.suppressed_scores, "softmax_rows", lambda raw: softmax_rows(raw.abs())),
    "one form for all offsets": (rotary.rotary_scores, "form_at_offset", lambda wq, wk, m: wq @ wk.T),
    "offset the other way": (
        rotary.rotary_scores,
        "form_at_offset",
        lambda wq, wk, m: wq @ rotary.rotation(-m, wq.shape[1]) @ wk.T,
    ),
    "one offset for all": (
        rotary.rotary_scores,
        "skew_by_offsets",
        lambda wq, wk: rotary.form_at_offset(wq, wk, 1) - rotary.form_at_offset(wk, wq, 1),
    ),
    "one softmax": (
        heads.heads_do_not_share_one_softmax,
        "multi_head_output",
        lambda x, forms, values, scale: softmax_rows(scale * (x @ forms.sum(0) @ x.T)) @ x @ values.sum(0),
    ),
    "values of another head": (
        heads.heads_do_not_share_one_softmax,
        "multi_head_output",
        lambda x, forms, values, scale: (softmax_rows(scale * (x @ forms @ x.T)) @ x @ values.roll(1, 0)).sum(0),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_refused(name):
    check, formula, wrong = PLANTED[name]
    assert supported(check)
    assert not supported_with(check, formula, wrong)


def test_order_violations_counts_triples():
    raw = torch.tensor([[1.0, 2.0, 3.0]])
    assert order_violations(raw, raw) == 0
    assert order_violations(raw.flip(-1), raw) == 6  # every ordered pair of the three
    assert order_violations(torch.tensor([[2.0, 1.0, 3.0]]), raw) == 2
    assert order_violations(torch.tensor([[2.0, 1.0, 3.0]]), raw, torch.tensor([[True, False, True]])) == 0
    assert order_violations(torch.zeros(1, 3), raw) == 3  # ties are no order


@pytest.mark.parametrize("sizes", [(10, 4, 3), (4, 1, 2), (0, 4, 1), (4, 4, 0)], ids=str)
def test_sizes_that_make_no_layer_are_refused(sizes):
    with pytest.raises(ParameterError):
        attention_example(*sizes, seed=0)
