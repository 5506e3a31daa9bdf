"""The gradient of W_qk: the angle of a training step with it, and the share of one pair of tokens in it."""

import torch

from attngeo.experiments.runs.numbers_in_words import number
from attngeo.gradients.rank_one import rank_one_terms
from attngeo.gradients.toy_transformer import WORDS, LayerGradient
from attngeo.plot.style import CaptionedFigure, house_style, new_figure, signed_image


def alignment(d: int, d_head: int) -> float:
    """``sqrt(2 d_head / (d + 2 d_head + 1))``: the cosine of a training step with the gradient, by a ratio of moments.

    The factors W_q and W_k are Gaussian and independent of the gradient.
    """
    return (2 * d_head / (d + 2 * d_head + 1)) ** 0.5


@house_style()
def one_pair(g: LayerGradient) -> CaptionedFigure:
    """The gradient of the first head as the term of one pair of two tokens, the largest, plus all other terms."""
    x, beta, gradient = g.layer.x, g.beta[0], g.w_qk[0]
    terms = rank_one_terms(beta, x)
    of_two_tokens = ~torch.eye(len(x), dtype=torch.bool)
    i, j = divmod(int((terms.flatten(2).norm(dim=2) * of_two_tokens).argmax()), len(x))
    score = number(float(x[i] @ g.layer.w_qk[0] @ x[j]), 2)
    coefficient = number(float(beta[i, j]), 2)
    pictures = {
        f"the pair {WORDS[i]}, {WORDS[j]}": terms[i, j],
        "+ all other pairs": gradient - terms[i, j],
        "= the gradient of $W_{qk}$": gradient,
    }
    figure, panels = new_figure(8, 3, 1, len(pictures))
    for panel, (title, matrix) in zip(panels, pictures.items(), strict=True):
        signed_image(panel, matrix.numpy())
        panel.set(title=title, xlabel="coordinate of the key", ylabel="coordinate of the query", xticks=[], yticks=[])
    caption = rf"""How one pair of tokens contributes to the gradient, in a small Transformer with random weights that
    reads *{" ".join(WORDS)}*. The query belongs to *{WORDS[i]}*, which attends to *{WORDS[j]}* with the raw score
    {score}. The pair contributes the matrix $\beta_{{ij}}\, x_i x_j^\top$ of rank 1, with the coefficient
    $\beta_{{ij}}$ = {coefficient}. We show the pair of two different tokens whose matrix has the largest norm. Red
    entries are positive and blue entries are negative. Each picture has its own scale."""
    alt = """Three square heat maps. The first, the contribution of one pair of tokens, has a pattern of crossed stripes. The
    second is the sum of all other pairs. The third, their sum, is the gradient."""
    return CaptionedFigure(figure, "fig-one-pair", caption, alt)
