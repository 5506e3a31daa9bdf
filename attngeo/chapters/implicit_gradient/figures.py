"""Figures of the chapter on the implicit gradient."""

import numpy as np
import pandas as pd
from jaxtyping import Float
from torch import Tensor

from attngeo.display.captions import captioned
from attngeo.display.style import (
    DECODER,
    DIVERGING,
    ENCODER,
    NEUTRAL,
    SEQUENTIAL,
    CaptionedFigure,
    house_style,
    new_figure,
    plain_panel,
)
from attngeo.updates.rank_one import cosine, rank_one_terms

COLOURS = {"autoregressive": DECODER, "masked": ENCODER}


@house_style()
def rank_one_build_up(
    beta: Float[Tensor, "n n"], x: Float[Tensor, "n d"], gradient: Float[Tensor, "d d"], step: Float[Tensor, "d d"]
) -> CaptionedFigure:
    """Terms ``beta_ij K_ij`` of one head and their partial sums, largest first, beside the gradient and the step.

    The step is what gradient descent on W_q and W_k subtracts from W_qk, up to a factor.
    """
    terms = rank_one_terms(beta, x).flatten(0, 1)  # (N * N, d, d)
    order = terms.flatten(1).norm(dim=1).argsort(descending=True)
    n_terms = int((beta != 0).sum())
    counts = sorted({1, min(4, n_terms), max(1, n_terms // 3), n_terms})
    figure, panels = new_figure(9, 3.6, rows=2, columns=len(counts) + 2, squeeze=False)
    for panel in panels[0, len(order) :]:
        panel.set_axis_off()
    top = float(terms[order[0]].abs().max())
    for panel, k in zip(panels[0], order.tolist(), strict=False):
        pair = f"{k // len(x) + 1},{k % len(x) + 1}"
        _image(panel, terms[k], top, f"$\\beta_{{{pair}}}\\,K_{{{pair}}}$")
    limit = float(gradient.abs().max())
    words = []
    for panel, count in zip(panels[1], counts, strict=False):
        partial = terms[order[:count]].sum(0)
        angle = f"{cosine(partial, gradient):.2f}"
        _image(panel, partial, limit, f"{count} term{'s' * (count > 1)}: cos {angle}")
        words.append(f"{angle} with {count}")
    _image(panels[1, -2], gradient, limit, "gradient")
    aside = f"{cosine(step, gradient):.2f}"
    _image(panels[1, -1], step, float(step.abs().max()), f"step: cos {aside}")
    for row, label in enumerate(("largest terms", "sums")):
        panels[row, 0].set_ylabel(f"{label}\nquery coordinate")
    for panel in panels[1]:
        panel.set_xlabel("key coordinate")
    return captioned(figure, __package__, "fig-rank-one-terms", n_terms=n_terms, aside=aside, words=words)


@house_style()
def coefficient_alignment(pairs: pd.DataFrame, cosines: dict[str, float]) -> CaptionedFigure:
    """The paper's coefficient of each attended pair against the exact one, both over their root mean square.

    ``cosines`` are those of the two sums ``sum_ij beta_ij K_ij``, by objective.
    """
    figure, panels = new_figure(8.4, 3.9, columns=len(cosines), squeeze=False)
    words = []
    for panel, (objective, rows) in zip(panels[0], pairs.groupby("objective", sort=False), strict=True):
        paper, exact = (rows[c] / np.sqrt(np.mean(rows[c] ** 2)) for c in ("paper", "exact"))
        r = float(np.corrcoef(paper, exact)[0, 1])
        opposite = float(np.mean(paper * exact < 0))
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
        panel.axvline(0, color=NEUTRAL, linewidth=0.8)
        panel.scatter(paper, exact, s=9, color=COLOURS[objective], alpha=0.55, linewidths=0)
        panel.set(title=f"{objective}: correlation {r:.2f}", xlabel="β as printed / rms", ylabel="exact β / rms")
        words.append(
            f"{objective}: correlation {r:.2f}, opposite signs in {opposite:.0%} of the pairs, cosine of the two sums "
            f"{cosines[objective]:.2f}"
        )
    return captioned(figure, __package__, "fig-beta-alignment", pairs=len(pairs), words=words)


@house_style()
def rows_of_losses(squares: dict[str, Float[Tensor, "losses n"]], positions: list[int]) -> CaptionedFigure:
    """For every loss, at its position from 0, how ``sum_j beta_ij^2`` spreads over query rows i; a panel per layer."""
    figure, panels = new_figure(3.4 * len(squares) + 0.9, 3.4, columns=len(squares), squeeze=False)
    words = []
    for panel, (title, square) in zip(panels[0], squares.items(), strict=True):
        plain_panel(panel)
        share = (square / square.sum(1, keepdim=True)).numpy()
        image = panel.imshow(share, cmap=SEQUENTIAL, vmin=0, vmax=1)
        own = share[range(len(positions)), positions].mean()
        panel.set(title=f"{title}: own row {own:.0%}", xlabel="query position i")
        panel.set_xticks(range(share.shape[1]), range(1, share.shape[1] + 1))
        panel.set_yticks(range(len(positions)), [n + 1 for n in positions])
        words.append(f"{title} {own:.0%}")
    panels[0, 0].set_ylabel("position n of the loss")
    figure.colorbar(image, ax=panels, shrink=0.85, label="share of Σ β²")
    return captioned(figure, __package__, "fig-rows-of-losses", words=words)


@house_style()
def alignment_by_head_width(samples: pd.DataFrame, curve: pd.DataFrame, d: int) -> CaptionedFigure:
    """How far the update through W_q and W_k points along the gradient, and how symmetric it is, against d_head / d.

    Draws and closed forms have the columns d_head, cosine, symmetry (the latter for a symmetric gradient).
    """
    figure, panels = new_figure(8.4, 3.7, columns=2)
    draws, expected = samples.groupby("d_head"), curve.set_index("d_head")
    means, spreads = draws.mean(), draws.std()
    ratios = means.index / d
    titles = {"cosine": "cosine of update and gradient", "symmetry": "symmetry score of the update, G symmetric"}
    words = []
    for panel, (column, title) in zip(panels, titles.items(), strict=True):
        panel.plot(expected.index / d, expected[column], color=NEUTRAL, label="closed form")
        panel.errorbar(
            ratios, means[column], spreads[column], fmt="o", color=ENCODER, capsize=3, label="mean ± sd of draws"
        )
        panel.axhline(1, color=NEUTRAL, linewidth=0.8, linestyle="--", label="if the update were ∝ G")
        panel.set(title=title, xlabel="$d_h / d$", ylim=(0, 1.08), xscale="log")
        panel.set_xticks(ratios, [f"1/{round(d / h)}" if h < d else "1" for h in means.index])
        panel.minorticks_off()
        words.append(f"{column} from {means[column].iloc[0]:.2f} to {means[column].iloc[-1]:.2f}")
    panels[1].legend(loc="upper left", bbox_to_anchor=(0.0, 0.93))
    gap = (means - expected.loc[means.index]).abs().to_numpy().max()
    return captioned(figure, __package__, "fig-alignment", d=d, gap=gap, words=words)


def _image(panel, matrix: Tensor, limit: float, title: str) -> None:
    plain_panel(panel)
    panel.imshow(matrix.numpy(), cmap=DIVERGING, vmin=-limit, vmax=limit)
    panel.set_title(title, fontsize=9)
    panel.set(xticks=[], yticks=[])
