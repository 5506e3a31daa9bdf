"""Remark S1.5: what several heads add up to, and where their decompositions lie."""

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from attngeo.chapters.bilinear_form.attention_example import AttentionExample, attention_example, distance, softmax_rows
from attngeo.forms.bilinear import BilinearForm
from attngeo.paper.checks import Comparisons, Judgement, check, compare, exact


def summed_heads(wq: Tensor, wk: Tensor) -> Tensor:
    """``sum_h W_q,h W_k,h^T``: factors (H, d, d_head), sum (d, d)."""
    return torch.einsum("hic,hjc->ij", wq, wk)


@check(attention_example)
def heads_add_up(e: AttentionExample) -> Judgement:
    """Equations S19, S20: ``W_q W_k^T = sum_h W_q,h W_k,h^T``, each of rank d_h at most; grouped keys too."""
    wq, wk = e.form.wq, e.form.wk
    side_by_side = wq.transpose(0, 1).flatten(1) @ wk.transpose(0, 1).flatten(1).T  # [W_q,1 | W_q,2 | ...] (Eq. S19)
    grouped = BilinearForm(wq, wk[: max(1, len(wk) // 2)])
    ranks = [int(torch.linalg.matrix_rank(w)) for w in e.form.heads()]
    return Judgement(
        exact("sum", distance(summed_heads(wq, wk), side_by_side)),
        exact("rank", max(ranks) - e.form.d_head, 0, 0),
        exact("shared", distance(summed_heads(*grouped.per_head()), grouped.dense())),
        n_heads=grouped.n_heads,
        n_kv_heads=grouped.n_kv_heads,
    )


def multi_head_output(x: Tensor, forms: Tensor, values: Tensor, scale: float) -> Tensor:
    """``sum_h softmax(scale X W_qk,h X^T) X W_v,h W_o,h``: forms and values (H, d, d), output (N, d)."""
    return (softmax_rows(scale * (x @ forms @ x.T)) @ x @ values).sum(0)


@check(attention_example)
def heads_do_not_share_one_softmax(e: AttentionExample) -> Comparisons:
    """Equation S21: raw scores add up over heads; attention has one softmax and one value matrix per head."""
    forms, values, scale = torch.stack(list(e.form.heads())), e.wv @ e.wo, e.form.d_head**-0.5
    heads = scaled_dot_product_attention(e.x @ e.form.wq, e.x @ e.form.wk, e.x @ e.wv)
    used = heads.transpose(0, 1).flatten(1) @ e.wo.flatten(0, 1)  # concat(A_1 V_1, ...) W_o (Eq. S18)
    one_softmax = softmax_rows(scale * (e.x @ forms.sum(0) @ e.x.T)) @ e.x @ values.sum(0)
    averaged = multi_head_output(e.x, forms.mean(0).expand_as(forms), values, scale)
    raw_by_head = sum((e.x @ w @ e.x.T) @ e.x for w in forms)
    yield exact("raw", distance(raw_by_head, e.x @ forms.sum(0) @ e.x.T @ e.x))
    yield exact("own softmax", distance(multi_head_output(e.x, forms, values, scale), used))
    yield compare("one softmax", distance(one_softmax, used), "≠", 0, 0.1)
    yield compare("equal sum", distance(averaged, used), "≠", 0, 0.1)


def coefficients(raw: Tensor) -> Tensor:
    """Of the decomposition in Eq. S21: the raw scores themselves."""
    return raw


def outside_the_hull(points: Tensor, x: Tensor) -> int:
    """Points (..., d) beyond the convex hull of x (N, d): ``p . p > max_j p . x_j``, which no point of it can be."""
    return int((points.square().sum(-1) > (points @ x.T).amax(-1) + 1e-10).sum())


@check(attention_example, n_tokens=8)
def raw_sums_leave_the_hull(e: AttentionExample) -> Judgement:
    """Remark S1.5: sums with raw scores lie in the span of the tokens and not in their convex hull."""
    sums, means = coefficients(e.raw()) @ e.x, softmax_rows(e.raw()) @ e.x
    span = torch.linalg.pinv(e.x) @ e.x  # projection onto the span of the rows
    return Judgement(
        exact("span", distance(sums @ span, sums)),
        compare("outside", outside_the_hull(sums, e.x), ">"),
        exact("weighted", outside_the_hull(means, e.x), 0, 0),
        n_sums=len(sums.flatten(0, 1)),
    )
