import pytest
import torch

from attngeo.claims import Verdict, bilinear, heads, operators
from attngeo.claims.attention_example import attention_example, order_violations, softmax_rows
from attngeo.errors import ParameterError

CLAIMS = [
    bilinear.scores_are_a_bilinear_form,
    bilinear.order_of_scores_is_kept,
    bilinear.order_with_a_causal_mask,
    bilinear.values_enter_as_rows,
    bilinear.shape_of_the_positions,
    bilinear.form_is_linear_in_each_argument,
    operators.linearity_cannot_fail,
    operators.operators_are_not_idempotent,
    operators.raw_scores_in_the_decomposition,
    heads.heads_add_up,
    heads.heads_do_not_share_one_softmax,
]


@pytest.mark.parametrize("check", CLAIMS, ids=lambda c: c.__name__)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_statement(check, seed):
    result = check(seed=seed)
    assert result.supported, [c for c in result.comparisons if not c.holds]
    assert result.chapter == "bilinear_form"


@pytest.mark.parametrize("d", [8, 64])
def test_statements_at_other_widths(d):
    for check in CLAIMS:
        assert check(d=d).supported, check.__name__


PLANTED = {
    "keys first": (bilinear.scores_are_a_bilinear_form, {"predicted": lambda wq, wk: wk @ wq.T}),
    "softmax down the columns": (bilinear.order_of_scores_is_kept, {"weights": lambda raw: torch.softmax(raw, -2)}),
    "softmax of magnitudes": (bilinear.order_of_scores_is_kept, {"weights": lambda raw: softmax_rows(raw.abs())}),
    "no mask": (bilinear.order_with_a_causal_mask, {"allowed": lambda n: torch.ones(n, n).bool()}),
    "mask on the future": (bilinear.order_with_a_causal_mask, {"allowed": lambda n: torch.ones(n, n).triu().bool()}),
    "columns": (bilinear.values_enter_as_rows, {"predicted": lambda x, wv: wv @ x}),
    "a row per word": (bilinear.shape_of_the_positions, {"rows": 50}),
    "affine": (bilinear.form_is_linear_in_each_argument, {"form": lambda m, x, y: x @ m @ y + 1}),
    "quadratic": (bilinear.form_is_linear_in_each_argument, {"form": lambda m, x, y: (x * x) @ m @ y}),
    "an inner product": (operators.linearity_cannot_fail, {"matrix": lambda f: f.wq[0] @ f.wq[0].T}),
    "idempotent": (operators.operators_are_not_idempotent, {"factor": lambda m, x: torch.ones(())}),
    "nilpotent": (operators.operators_are_not_idempotent, {"factor": lambda m, x: torch.zeros(())}),
    "attention weights": (operators.raw_scores_in_the_decomposition, {"coefficients": softmax_rows}),
    "keys of another head": (
        heads.heads_add_up,
        {"predicted": lambda wq, wk: torch.einsum("hic,hjc->ij", wq, wk.roll(1, 0))},
    ),
    "mean over heads": (
        heads.heads_add_up,
        {"predicted": lambda wq, wk: torch.einsum("hic,hjc->ij", wq, wk) / len(wq)},
    ),
    "one softmax": (
        heads.heads_do_not_share_one_softmax,
        {
            "predicted": lambda x, forms, values, scale: heads.multi_head_output(
                x, forms.sum(0, keepdim=True), values.sum(0, keepdim=True), scale
            )
        },
    ),
    "values of another head": (
        heads.heads_do_not_share_one_softmax,
        {"predicted": lambda x, forms, values, scale: heads.multi_head_output(x, forms, values.roll(1, 0), scale)},
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_error_is_refused(name):
    check, wrong = PLANTED[name]
    assert check().supported
    assert not check(**wrong).supported


def test_what_differs_from_the_paper_is_said():
    for check in CLAIMS:
        result = check()
        if result.verdict is not Verdict.HOLDS:
            assert result.printed and result.corrected and result.flaw


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
