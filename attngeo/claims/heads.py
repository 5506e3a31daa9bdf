"""Remark S1.5: what several heads add up to."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attngeo.bilinear import BilinearForm
from attngeo.claims.attention_example import CHAPTER, attention_example, distance, softmax_rows
from attngeo.claims.result import Comparison, Flaw, Result, Verdict, claim, exact


@claim
def heads_add_up(
    d: int = 32,
    n_heads: int = 4,
    n_kv_heads: int = 2,
    seed: int = 0,
    predicted: Callable[[Tensor, Tensor], Tensor] = lambda wq, wk: torch.einsum("hic,hjc->ij", wq, wk),
) -> Result:
    """Equations S19, S20: ``W_q W_k^T = sum_h W_q,h W_k,h^T``, each of rank d_h at most; grouped keys too."""
    e = attention_example(d, 2, n_heads, seed)
    wq, wk = e.form.wq, e.form.wk
    side_by_side = wq.transpose(0, 1).flatten(1) @ wk.transpose(0, 1).flatten(1).T  # [W_q,1 | W_q,2 | ...] (Eq. S19)
    grouped = BilinearForm(wq, wk[:n_kv_heads])
    ranks = [int(torch.linalg.matrix_rank(w)) for w in e.form.heads()]
    return Result(
        statement="S1.5",
        part="Eqs. S19, S20",
        title="the forms of the heads add up to the form of the layer",
        verdict=Verdict.HOLDS,
        comparisons=(
            exact("distance of the sum over heads from $W_q W_k^\\top$", distance(predicted(wq, wk), side_by_side), 0),
            exact("largest rank of a head less $d_h$", max(ranks) - e.form.d_head, 0, 0),
            exact(
                f"distance, {n_kv_heads} key heads shared by {n_heads} query heads",
                distance(predicted(*grouped.per_head()), grouped.dense()),
                0,
            ),
        ),
        chapter=CHAPTER,
    )


def multi_head_output(x: Tensor, forms: Tensor, values: Tensor, scale: float) -> Tensor:
    """``sum_h softmax(scale X W_qk,h X^T) X W_v,h W_o,h``: forms and values (H, d, d), output (N, d)."""
    return (softmax_rows(scale * (x @ forms @ x.T)) @ x @ values).sum(0)


@claim
def heads_do_not_share_one_softmax(
    d: int = 32,
    n_heads: int = 4,
    n_tokens: int = 12,
    seed: int = 0,
    predicted: Callable[[Tensor, Tensor, Tensor, float], Tensor] = multi_head_output,
) -> Result:
    """Equation S21: raw scores add up over heads, attention does not: one softmax and one value matrix per head."""
    e = attention_example(d, n_tokens, n_heads, seed)
    forms, values, scale = torch.stack(list(e.form.heads())), e.wv @ e.wo, e.form.d_head**-0.5
    heads = scaled_dot_product_attention(e.x @ e.form.wq, e.x @ e.form.wk, e.x @ e.wv)
    used = heads.transpose(0, 1).flatten(1) @ e.wo.flatten(0, 1)  # concat(A_1 V_1, ...) W_o (Eq. S18)
    one_softmax = multi_head_output(e.x, forms.sum(0, keepdim=True), values.sum(0, keepdim=True), scale)
    averaged = multi_head_output(e.x, forms.mean(0).expand_as(forms), values, scale)
    raw_by_head = sum((e.x @ w @ e.x.T) @ e.x for w in forms)
    return Result(
        statement="S1.5",
        part="Eq. S21",
        title="several heads perform the operations of one",
        verdict=Verdict.CORRECTED,
        comparisons=(
            exact(
                "distance of the raw decompositions, head by head and summed first",
                distance(raw_by_head, e.x @ forms.sum(0) @ e.x.T @ e.x),
                0,
            ),
            exact(
                "distance of one softmax per head from multi-head attention",
                distance(predicted(e.x, forms, values, scale), used),
                0,
            ),
            Comparison("the same with one softmax of the summed form", distance(one_softmax, used), "≠", 0.0, 0.1),
            Comparison("change of the output by heads of the same sum", distance(averaged, used), "≠", 0.0, 0.1),
        ),
        printed="Heads project independently and are summed, which performs the same operations as Eq. S14.",
        corrected="$\\hat X = X + \\sum_h \\sigma(d_h^{-1/2} X W_{qk,h} X^\\top)\\, X W_{v,h} W_{o,h}$. Eq. S21 is an "
        "identity of raw scores; two layers with the same sum $\\sum_h W_{qk,h}$ can attend differently.",
        remark="So a score of the summed form describes the layer as one matrix, and scores of heads have to be given "
        "beside it.",
        flaw=Flaw.FAILURE,
        chapter=CHAPTER,
    )
