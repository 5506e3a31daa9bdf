"""Figure 1 of the paper, drawn from a model: one pair of tokens on the way forwards and on the way back."""

import torch
from matplotlib.figure import SubFigure
from torch import Tensor

from attngeo.plot.style import CaptionedFigure, house_style, new_figure, signed_image
from attngeo.gradients.rank_one import rank_one_terms
from attngeo.gradients.toy_transformer import WORDS, LayerGradient
from attngeo.experiments.runs.numbers_in_words import number


@house_style()
def one_pair(g: LayerGradient) -> CaptionedFigure:
    """Score, weight and output of the pair of the largest term, then its coefficient, its term, and the gradient."""
    x, heads = g.layer.x, (g.layer.w_qk, g.layer.weights, g.layer.values, g.beta, g.w_qk)
    w, alpha, v, beta, gradient = (of_heads[0] for of_heads in heads)
    terms = rank_one_terms(beta, x)
    others = ~torch.eye(len(x), dtype=torch.bool)  # a pair of two tokens
    i, j = divmod(int((terms.flatten(2).norm(dim=2) * others).argmax()), len(x))
    score = float(x[i] @ w @ x[j])
    pair = f"{i + 1},{j + 1}"
    forwards = [
        (f"$x_{{{i + 1}}}^\\top$ ({WORDS[i]})", x[i][None]),
        "$\\otimes$",
        ("$W_{qk}$", w),
        "$\\odot$",
        (f"$x_{{{j + 1}}}$ ({WORDS[j]})", x[j][:, None]),
        f"$= {score:.2f}$\nsoftmax:\n$\\alpha_{{{pair}}} = {float(alpha[i, j]):.2f}$",
        "$\\otimes$",
        (f"$v_{{{j + 1}}}^\\top$", v[j][None]),
        "$\\oplus$",
        (f"other $j$, $x_{{{i + 1}}}$", (g.layer.attended[i] - alpha[i, j] * v[j])[None]),
        "$=$",
        (f"$\\hat x_{{{i + 1}}}^\\top$", g.layer.attended[i][None]),
    ]
    backwards = [
        (f"$g_{{{i + 1}}}^\\top$", g.errors[i][None]),
        "$\\odot$",
        (f"$v_{{{j + 1}}} - o_{{{i + 1}}}$", (v[j] - alpha[i] @ v)[:, None]),
        f"times $\\alpha / \\sqrt{{d_h}}$:\n$\\beta_{{{pair}}} = {float(beta[i, j]):.2f}$",
        "$\\otimes$",
        (f"$K_{{{pair}}} = x_{{{i + 1}}} x_{{{j + 1}}}^\\top$", torch.outer(x[i], x[j])),
        "$\\oplus$",
        ("all other pairs", gradient - terms[i, j]),
        "$=$",
        ("$\\partial L / \\partial W_{qk}$", gradient),
    ]
    figure, axes = new_figure(9, 4.6)
    axes.remove()
    rows = {"forwards": forwards, "backwards": backwards}
    for part, (title, items) in zip(figure.subfigures(2, 1), rows.items(), strict=True):
        part.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        _equation(part, items)
    caption = rf"""Figure 1 of the paper, drawn from a small random Transformer that reads *{" ".join(WORDS)}*:
    tokens {i + 1} and {j + 1} in one head. Red is positive, blue negative, and each picture has its own scale; ⊙ dot
    product, ⊗ multiplication, ⊕ addition. Forwards the pair has the score {number(score, 2)}. Backwards its coefficient
    $\beta$ = {number(float(beta[i, j]), 2)} scales a matrix of rank 1; the sum over all pairs is the gradient."""
    alt = """Two rows of small heat maps joined by signs. Forwards: a row, a square and a column make a score, then a
    weight; weighted values are added to the token's vector. Backwards: two vectors make a coefficient, an outer product
    with crossed stripes is scaled by it, and with all other pairs it makes the gradient."""
    return CaptionedFigure(figure, "fig-one-pair", caption, alt)


def _equation(part: SubFigure, items: list[str | tuple[str, Tensor]]) -> None:
    """Pictures and the signs between them, in one line."""
    widths = [(4.5 if "\n" in item else 1.6) if isinstance(item, str) else max(1.3, item[1].shape[1]) for item in items]
    for axes, item in zip(part.subplots(1, len(items), width_ratios=widths), items, strict=True):
        if isinstance(item, str):
            axes.set_axis_off()
            axes.text(0.5, 0.5, item, ha="center", va="center", transform=axes.transAxes)
            continue
        title, values = item
        signed_image(axes, values.numpy())
        axes.set(title=title, xticks=[], yticks=[])
