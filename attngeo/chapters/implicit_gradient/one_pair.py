"""Figure 1 of the paper, drawn from a model: one pair of tokens on the way forwards and on the way back."""

import torch
from matplotlib.figure import SubFigure
from torch import Tensor

from attngeo.chapters.implicit_gradient.toy_passes import ToyPass
from attngeo.display.captions import captioned
from attngeo.display.style import DIVERGING, CaptionedFigure, house_style, new_figure, plain_panel
from attngeo.runs.numbers_in_words import number
from attngeo.updates.rank_one import cosine, exact_coefficients, rank_one_terms


@house_style()
def one_pair(p: ToyPass) -> CaptionedFigure:
    """Score, weight and output of the pair of the largest term, then its coefficient, its term, and the gradient.

    Args:
        p: a pass; its first head in its first layer is drawn.
    """
    g = p.run.gradient(0)
    x, w, alpha, v = g.layer.x, g.layer.w_qk[0], g.layer.weights[0], g.layer.values[0]
    beta = exact_coefficients(alpha, v, g.errors, p.scale)
    terms, gradient = rank_one_terms(beta, x), g.w_qk[0]
    others = ~torch.eye(len(x), dtype=torch.bool)  # a pair of two tokens
    i, j = divmod(int((terms.flatten(2).norm(dim=2) * others).argmax()), len(x))
    score = float(x[i] @ w @ x[j])
    pair = f"{i + 1},{j + 1}"
    forwards = [
        (f"$x_{{{i + 1}}}^\\top$", x[i][None]),
        "$\\otimes$",
        ("$W_{qk}$", w),
        "$\\odot$",
        (f"$x_{{{j + 1}}}$", x[j][:, None]),
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
    share = number(cosine(terms[i, j], gradient), 2)
    return captioned(
        figure,
        __package__,
        "fig-one-pair",
        i=i + 1,
        j=j + 1,
        score=number(score, 2),
        error=number(float(beta[i, j]), 2),
        share=share,
    )


def _equation(part: SubFigure, items: list[str | tuple[str, Tensor]]) -> None:
    """Pictures and the signs between them, in one line."""
    widths = [(4.5 if "\n" in item else 1.6) if isinstance(item, str) else max(1.3, item[1].shape[1]) for item in items]
    for axes, item in zip(part.subplots(1, len(items), width_ratios=widths), items, strict=True):
        if isinstance(item, str):
            axes.set_axis_off()
            axes.text(0.5, 0.5, item, ha="center", va="center", transform=axes.transAxes)
            continue
        title, values = item
        plain_panel(axes)
        limit = float(values.abs().max())
        axes.imshow(values.detach().numpy(), cmap=DIVERGING, vmin=-limit, vmax=limit)
        axes.set(title=title, xticks=[], yticks=[])
