import torch

from attngeo.chapters.bilinear_form import figures
from attngeo.chapters.bilinear_form.attention_example import attention_example, softmax_rows


def drawn(figure):
    assert "</svg>" in figure.svg()
    return figure


def test_figures_of_attention():
    e = attention_example(16, 6, 4, seed=0)
    weights, forms = softmax_rows(e.raw()), torch.stack(list(e.form.heads()))
    drawn(figures.order_within_rows(e.raw()[0], weights[0]))
    equal = drawn(figures.heads_of_equal_sum(weights, weights.mean(0).expand_as(weights)))
    assert f"up to {(weights - weights.mean(0)).abs().max():.2f}" in equal.caption
    ranks = drawn(figures.rank_of_heads(torch.linalg.svdvals(forms), torch.linalg.svdvals(forms.sum(0))))
    assert "a head has 4, the sum of 4 heads 16 of 16" in ranks.caption
