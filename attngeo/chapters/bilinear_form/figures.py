"""Figures of the chapter on attention as a bilinear form."""

import numpy as np
from jaxtyping import Float
from torch import Tensor

from attngeo.display.captions import captioned
from attngeo.display.style import (
    DIVERGING,
    ENCODER,
    PALETTE,
    SEQUENTIAL,
    CaptionedFigure,
    house_style,
    new_figure,
    plain_panel,
)


@house_style()
def order_within_rows(
    raw: Float[Tensor, "tokens tokens"], weights: Float[Tensor, "tokens tokens"], n_rows: int = 3
) -> CaptionedFigure:
    """Attention weight against raw score: one increasing curve per row."""
    figure, axes = new_figure(6.4, 3.4)
    for i in range(n_rows):
        order = raw[i].argsort()
        axes.plot(raw[i][order], weights[i][order], marker="o", markersize=4, color=PALETTE[i], label=f"row {i + 1}")
    axes.set(xlabel="raw score", ylabel="attention weight", yscale="log")
    axes.legend()
    top = [f"{float(weights[i].max()):.2f}" for i in range(n_rows)]
    return captioned(figure, __package__, "fig-order-within-rows", n_rows=n_rows, tokens=raw.shape[0], largest=top)


@house_style()
def heads_of_equal_sum(
    separate: Float[Tensor, "heads tokens tokens"], averaged: Float[Tensor, "heads tokens tokens"]
) -> CaptionedFigure:
    """Attention weights of the heads of two layers whose forms have the same sum."""
    n, top = separate.shape[0], float(max(separate.max(), averaged.max()))
    figure, panels = new_figure(1.75 * n + 0.9, 3.9, 2, n, squeeze=False)
    for row, (maps, words) in enumerate(((separate, "heads that differ"), (averaged, "heads that are all the mean"))):
        for h in range(n):
            axes = panels[row, h]
            image = axes.imshow(maps[h].numpy(), cmap=SEQUENTIAL, vmin=0, vmax=top)
            plain_panel(axes)
            axes.set(xticks=[], yticks=[])
            if row == 0:
                axes.set_title(f"head {h + 1}")
            if h == 0:
                axes.set_ylabel(f"{words}\nquery token", fontsize=9)
            if row == 1:
                axes.set_xlabel("key token", fontsize=9)
    figure.colorbar(image, ax=panels, label="attention weight", shrink=0.8)
    gap = float((separate - averaged).abs().max())
    return captioned(figure, __package__, "fig-heads-of-equal-sum", gap=gap, n=n)


@house_style()
def rank_of_heads(values: Float[Tensor, "heads d"], total: Float[Tensor, " d"]) -> CaptionedFigure:
    """Singular values of the heads' forms and of their sum."""
    figure, axes = new_figure(6.4, 3.2)
    index = np.arange(1, values.shape[1] + 1)
    rank = [int((v > 1e-10 * v[0]).sum()) for v in (*values, total)]
    for h, v in enumerate(values):
        axes.plot(index[: rank[h]], v[: rank[h]], color=PALETTE[1], alpha=0.7, label="one head" if h == 0 else None)
    axes.plot(index[: rank[-1]], total[: rank[-1]], color=ENCODER, marker=".", label="sum over heads")
    axes.set(xlabel="index", ylabel="singular value", ylim=(0, None))
    axes.legend()
    return captioned(
        figure, __package__, "fig-rank-of-heads", one=max(rank[:-1]), heads=len(values), all=rank[-1], d=values.shape[1]
    )


@house_style()
def passed_forward(words: tuple[str, ...], passes: dict[str, dict[str, list]]) -> CaptionedFigure:
    """What one attention layer computes, by mask and quantity a row for each of the words, and what a mask changes."""
    causal, none = passes["causal"], passes["none"]
    upper = {name: causal[name] for name in ("embeddings", "queries", "keys")} | {"raw scores": causal["scores"]}
    lower = {
        "weights, causal mask": causal["weights"],
        "outputs, causal mask": causal["outputs"],
        "weights, no mask": none["weights"],
        "outputs, no mask": none["outputs"],
    }
    figure, panels = new_figure(9, 4.9, 2, 4)
    for panel, (title, values) in zip(panels.flat, (upper | lower).items(), strict=True):
        m = np.array(values)
        plain_panel(panel)
        seen = np.array(causal["attended"]) if title == "weights, causal mask" else np.ones_like(m)
        panel.imshow(np.where(seen, m, np.nan), cmap=DIVERGING, vmin=-np.abs(m).max(), vmax=np.abs(m).max())
        panel.set_title(title, fontsize=9)
        panel.set_yticks(range(len(words)), words)
        of_tokens = "scores" in title or "weights" in title
        panel.set_xticks(range(m.shape[1]), words if of_tokens else [""] * m.shape[1], rotation=90)
        panel.set_xlabel("attended token" if of_tokens else "coordinate", fontsize=9)
    own = causal["weights"][0][0], none["weights"][0][0]
    return captioned(figure, __package__, "fig-forward-pass", tokens=len(words), causal=own[0], unmasked=own[1])
