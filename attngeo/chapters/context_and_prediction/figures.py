"""Figures of the chapter on context and prediction."""

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float
from matplotlib.colors import ListedColormap
from matplotlib.patches import Patch
from torch import Tensor

from attngeo.display.captions import captioned
from attngeo.display.style import (
    CROSS,
    DECODER,
    DIVERGING,
    ENCODER,
    NEUTRAL,
    CaptionedFigure,
    house_style,
    new_figure,
    plain_panel,
)
from attngeo.forms.scores import symmetry_score
from attngeo.runs.numbers_in_words import number
from attngeo.updates.rank_one import gradient_sum

OBJECTIVE_COLOURS = {"autoregressive": DECODER, "bidirectional": CROSS, "masked": ENCODER}
LIGHT = "#C9C9C9"


@house_style()
def conditioning_sets(
    contexts: dict[str, Bool[Tensor, "n n"]], attended: dict[str, Bool[Tensor, "n n"]]
) -> CaptionedFigure:
    """The pairs of each objective, [j in C_i] in row i, and the further pairs that its Transformer attends to."""
    figure, panels = new_figure(9, 3.9, columns=len(contexts), squeeze=False)
    words = []
    for panel, (objective, c) in zip(panels[0], contexts.items(), strict=True):
        plain_panel(panel)
        n, seen = len(c), attended[objective]
        state = np.where(c.numpy(), 2, np.where(seen.numpy(), 1, 0))
        colours = ListedColormap(["white", LIGHT, OBJECTIVE_COLOURS[objective]])
        panel.imshow(state, cmap=colours, vmin=0, vmax=2)
        panel.set(title=objective, xlabel="context position j")
        for ticks in (panel.set_xticks, panel.set_yticks):
            ticks(range(0, n, 2), range(1, n + 1, 2))
        keys = {OBJECTIVE_COLOURS[objective]: f"$j \\in C_i$ ({int(c.sum())})"}
        keys[LIGHT] = f"attended only ({int((seen & ~c).sum())})"
        handles = [Patch(color=colour, label=label) for colour, label in keys.items()]
        panel.legend(handles=handles, loc="upper center", bbox_to_anchor=(0.5, -0.16))
        words.append(f"{objective} {int(c.sum())} pairs, {int((seen & ~c).sum())} attended besides")
    panels[0, 0].set_ylabel("predicted position i")
    return captioned(figure, __package__, "fig-conditioning-sets", n=n, words=words)


@house_style()
def token_parts(parts: dict[str, Float[Tensor, "d d"]], position: int) -> CaptionedFigure:
    """The whole update of a head, first, beside what the token at a position, from 1, adds to it in either role."""
    figure, panels = new_figure(9, 3.4, columns=len(parts), squeeze=False)
    words = []
    for panel, (title, m) in zip(panels[0], parts.items(), strict=True):
        plain_panel(panel)
        limit = float(m.abs().max()) or 1.0
        panel.imshow(m.numpy(), cmap=DIVERGING, vmin=-limit, vmax=limit)
        rank = int(np.linalg.matrix_rank(m.numpy(), rtol=1e-10))
        panel.set(title=f"{title}: rank {rank}", xlabel="key coordinate k")
        words.append(f"{title}: rank {rank}, norm {float(m.norm()):.3g}")
    panels[0, 0].set_ylabel("query coordinate m")
    return captioned(figure, __package__, "fig-token-parts", position=position, words=words)


@house_style()
def roles_by_position(roles: pd.DataFrame, mask_rate: float) -> CaptionedFigure:
    """How many tokens the token at position k predicts, and how many predict it, per objective.

    ``roles`` has the columns objective, position (from 1), context, predicted (expected numbers of partners).
    """
    figure, panels = new_figure(9, 3.3, columns=roles["objective"].nunique(), sharey=True, squeeze=False)
    words = []
    for panel, (objective, rows) in zip(panels[0], roles.groupby("objective", sort=False), strict=True):
        colour = OBJECTIVE_COLOURS[objective]
        panel.plot(rows["position"], rows["context"], color=colour, label="as context: predicts")
        panel.plot(rows["position"], rows["predicted"], color=colour, linestyle="--", label="is predicted by")
        panel.set(title=objective, xlabel="position k of the token")
        panel.legend(loc="center" if objective != "autoregressive" else "upper center")
        ends = [f"{rows[role].iloc[0]:.3g} to {rows[role].iloc[-1]:.3g}" for role in ("context", "predicted")]
        words.append(f"{objective}: {' and '.join(dict.fromkeys(ends))}")
    panels[0, 0].set(ylabel="expected number of tokens", ylim=(0, None))
    return captioned(
        figure,
        __package__,
        "fig-roles-by-position",
        n_tokens=int(roles["position"].max()),
        mask_rate=mask_rate,
        words=words,
    )


@house_style()
def ratio_by_mean_position(tokens: pd.DataFrame, n_tokens: int) -> CaptionedFigure:
    """``E mu_c / E mu_p`` of every token of two processes against its mean position, on the curve of Eq. S68.

    ``tokens`` has the columns process, mean_position, ratio, standard_error (of the simulation).
    """
    figure, axes = new_figure(6.4, 3.8)
    span = tokens["mean_position"]
    width = max(0.6, float(span.max() - span.min()))
    k = np.linspace(max(1.2, span.min() - 0.15 * width), min(n_tokens - 0.2, span.max() + 0.15 * width), 200)
    axes.plot(k, (n_tokens - k) / (k - 1), color=NEUTRAL, label="$(N - \\bar k) / (\\bar k - 1)$")
    axes.axhline(1, color=NEUTRAL, linewidth=0.8, linestyle="--")
    axes.axvline((n_tokens + 1) / 2, color=NEUTRAL, linewidth=0.8, linestyle="--")
    words = []
    for (process, rows), colour, marker in zip(
        tokens.groupby("process", sort=False), (DECODER, ENCODER), "os", strict=True
    ):
        axes.errorbar(
            rows["mean_position"],
            rows["ratio"],
            yerr=2 * rows["standard_error"],
            fmt=marker,
            color=colour,
            markersize=6,
            capsize=3,
            label=f"{process}, simulated ± 2 s.e.",
        )
        words.append(f"{process}: ratios from {rows['ratio'].min():.2f} to {rows['ratio'].max():.2f}")
    axes.set(xlabel="mean position $\\bar k$ of the token", ylabel="times context / times predicted")
    axes.legend()
    return captioned(
        figure, __package__, "fig-ratio-by-position", n_tokens=n_tokens, middle=(n_tokens + 1) / 2, words=words
    )


@house_style()
def painted(objectives: dict[str, dict]) -> CaptionedFigure:
    """All pairs of a short sequence, and the sum of their rank-1 terms, per objective, from what `painter` shows."""
    figure, panels = new_figure(8.4, 5.6, 2, len(objectives), squeeze=False)
    symmetry: dict[str, list[str]] = {"alike": [], "exact": []}
    for (above, below), (objective, shown) in zip(panels.T, objectives.items(), strict=True):
        x = torch.tensor(shown["x"], dtype=torch.float64)
        beta = {kind: torch.tensor(shown[kind], dtype=torch.float64) for kind in symmetry}
        sums = {kind: gradient_sum(b, x) for kind, b in beta.items()}
        for kind, total in sums.items():
            symmetry[kind].append(f"{objective} {number(symmetry_score(total), 2)}")
        for panel, m in ((above, beta["alike"]), (below, sums["alike"])):
            plain_panel(panel)
            limit = float(m.abs().max())
            panel.imshow(m.masked_fill(m == 0, torch.nan).numpy(), cmap=DIVERGING, vmin=-limit, vmax=limit)
        above.set(title=f"{objective}: {int((beta['alike'] != 0).sum())} pairs", xlabel="context token j")
        above.set_xticks(range(len(x)), shown["words"], rotation=90)
        above.set_yticks(range(len(x)), shown["words"])
        below.set(
            title=f"their sum: s = {symmetry['alike'][-1].split()[-1]}", xlabel="key coordinate", xticks=[], yticks=[]
        )
    panels[0, 0].set_ylabel("predicted token i")
    panels[1, 0].set_ylabel("query coordinate")
    alike, exact = (", ".join(words) for words in symmetry.values())
    return captioned(figure, __package__, "fig-painter", alike=alike, exact=exact)
