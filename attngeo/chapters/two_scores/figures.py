"""Figures of the chapter on the two scores: how they read matrices, and what they give at random."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Float
from scipy.stats import sem
from torch import Tensor

from attngeo.chapters.two_scores.symmetry_law import negative_symmetry_share, symmetry_density
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
from attngeo.forms.random_matrices import directionality_sd, symmetry_sd
from attngeo.forms.scores import GAMMA, Scores, score
from attngeo.runs.numbers_in_words import number

# field of `Scores`, convention, words, colour, marker
CONVENTIONS = (
    ("directionality", "definition", "sum of norms (Def. 3.2)", ENCODER, "o"),
    ("directionality_released", "released", "excess (released code)", DECODER, "s"),
    ("directionality_tables", "tables", "excess of logarithms (Table S3)", CROSS, "^"),
)


@house_style()
def gallery(matrices: Mapping[str, Float[Tensor, "n n"]], gamma: float = GAMMA) -> CaptionedFigure:
    """Matrices as images, each with both scores; directionality in its three variants."""
    figure, panels = new_figure(9, 2.9 * -(-len(matrices) // 4), -(-len(matrices) // 4), 4, squeeze=False)
    words = []
    for axes, (name, m) in zip(panels.flat, matrices.items(), strict=False):
        values, peak = score(m, gamma), float(np.quantile(m.abs().numpy(), 0.995))
        axes.imshow(m.numpy(), cmap=DIVERGING, vmin=-peak, vmax=peak)
        plain_panel(axes)
        axes.set(xticks=[], yticks=[], title=name)
        d = [float(getattr(values, field)) for field, *_ in CONVENTIONS]
        s, *d = (number(float(value), 2) for value in (values.symmetry, *d))
        axes.set_xlabel(f"s = {s}\nd = {' / '.join(d)}")
        words.append(f"{name} {s}, {d[0]}")
    for axes in panels.flat[len(matrices) :]:
        axes.set_visible(False)
    n = next(iter(matrices.values())).shape[0]
    return captioned(figure, __package__, "fig-score-gallery", n=n, matrices=len(matrices), words=words)


@house_style()
def symmetry_at_random(samples: Mapping[int, Scores], shown: int) -> CaptionedFigure:
    """Mean of s against n with its closed form, and the distribution of s at one n with its exact density."""
    figure, (left, right) = new_figure(9, 3.4, columns=2)
    sizes = np.array(sorted(samples))
    drawn = np.stack([samples[n].symmetry.numpy() for n in sizes])
    n = np.unique(np.geomspace(sizes[0], sizes[-1], 100).round().astype(int))
    reach = [1 / k + symmetry_sd(int(k)) for k in n]
    left.fill_between(n, 1e-9, reach, color=ENCODER, alpha=0.15, label="mean ± spread")
    left.plot(n, 1 / n, color=ENCODER, label="1/n, exact")
    left.plot(n, 8 / n, color=NEUTRAL, linestyle="--", label="8/n, as printed")
    left.errorbar(sizes, drawn.mean(1), 2 * sem(drawn, 1), fmt="o", color=DECODER, label="simulation, ± 2 s.e.")
    left.set(xscale="log", yscale="log", ylim=(0.3 / sizes[-1], 12 / sizes[0]), xlabel="rows n", ylabel="mean symmetry")
    left.set_xticks(sizes, [str(k) for k in sizes], minor=False)
    left.minorticks_off()
    left.legend()

    grid, scaled = np.linspace(-5, 7, 400), shown * samples[shown].symmetry.numpy()
    density = symmetry_density(torch.from_numpy(grid / shown), shown).numpy() / shown
    share = negative_symmetry_share(shown)
    right.hist(scaled, bins=40, range=(-5, 7), density=True, color=DECODER, alpha=0.45, label="simulation")
    right.plot(grid, density, color=ENCODER, label="exact density")
    right.fill_between(grid, density, where=grid <= 0, color=ENCODER, alpha=0.3, label=f"{share:.0%} below 0")
    right.set(xlabel=f"n · s, n = {shown}", ylabel="density")
    right.legend()
    return captioned(
        figure,
        __package__,
        "fig-symmetry-at-random",
        draws=len(scaled),
        shown=shown,
        share=share,
        least=sizes[0],
        most=sizes[-1],
    )


@house_style()
def directionality_at_random(samples: Mapping[int, Scores], shown: int, gamma: float = GAMMA) -> CaptionedFigure:
    """Spread of d against n in its three variants with the limit forms, and the distribution of d at one n."""
    figure, (left, right) = new_figure(9, 3.4, columns=2)
    sizes = np.array(sorted(samples))
    n = np.unique(np.geomspace(sizes[0], sizes[-1], 50).round().astype(int))
    spreads = []
    for field, convention, words, colour, marker in CONVENTIONS:
        measured = np.array([getattr(samples[k], field).std().item() for k in sizes])
        spreads.append(f"{measured[-1]:.2f} ({words})")
        left.plot(sizes, measured, marker, color=colour, label=words)
        if convention != "tables":  # the limit form is that of the released code
            left.plot(n, [directionality_sd(int(k), gamma, convention) for k in n], color=colour, linewidth=1)
        outline = {"histtype": "step", "linewidth": 1.6, "color": colour, "label": words}
        right.hist(getattr(samples[shown], field).numpy(), bins=30, range=(-1, 1), density=True, **outline)
    left.set(xscale="log", yscale="log", xlabel="rows n", ylabel="spread of directionality")
    left.set_xticks(sizes, [str(k) for k in sizes])
    ticks = [t for t in (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0) if left.get_ylim()[0] <= t <= left.get_ylim()[1]]
    left.set_yticks(ticks, [f"{t:g}" for t in ticks])
    left.minorticks_off()
    left.legend()
    right.set(xlabel=f"directionality, n = {shown}", ylabel="density", xlim=(-1, 1))
    return captioned(
        figure, __package__, "fig-directionality-at-random", gamma=gamma, most=sizes[-1], spreads=spreads, shown=shown
    )


@house_style()
def one_strong_column(factors: Sequence[float], found: Sequence[Scores], limit: float, n: int) -> CaptionedFigure:
    """Directionality against the factor on one column, in its three variants, and the limit of Def. 3.2."""
    figure, axes = new_figure(7.2, 3.6)
    ends = []
    for field, _, words, colour, marker in CONVENTIONS:
        values = np.stack([getattr(x, field).numpy() for x in found])
        mean, spread = values.mean(1), values.std(1)
        axes.plot(factors, mean, marker=marker, color=colour, label=words)
        axes.fill_between(factors, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
        ends.append(f"{mean[-1]:+.2f} ({words})")
    axes.axhline(limit, color=ENCODER, linestyle=":", linewidth=1, label=f"limit of Def. 3.2, {limit:+.2f}")
    axes.axhline(0, color=NEUTRAL, linewidth=1)
    axes.set(xscale="log", xlabel="factor on one column", ylabel="directionality d", ylim=(-1.1, 1.1))
    for y, side in ((1.02, "read as: rows dominate"), (-1.02, "read as: columns dominate")):
        axes.text(factors[0], y, side, color=NEUTRAL, fontsize="small", va="center")
    axes.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return captioned(figure, __package__, "fig-one-strong-column", n=n, factor=factors[-1], ends=ends)


@house_style()
def norms_and_thresholds(m: Float[Tensor, "n n"], gamma: float = GAMMA) -> CaptionedFigure:
    """Row and column norms of one matrix, with the thresholds of Def. 3.2 and what exceeds them."""
    figure, panels = new_figure(9, 3.0, columns=2)
    words = []
    sides = (("rows", m.norm(dim=1).numpy(), ENCODER), ("columns", m.norm(dim=0).numpy(), DECODER))
    for axes, (kind, norms, colour) in zip(panels, sides, strict=True):
        threshold, edges = norms.mean() + gamma * norms.std(), np.linspace(0, norms.max() * 1.02, 41)
        over = norms[norms > threshold]
        axes.hist(norms[norms <= threshold], edges, color=NEUTRAL, alpha=0.6)
        axes.hist(over, edges, color=colour, label=f"{kind} over it")
        axes.axvline(threshold, color="black", linestyle="--", linewidth=1, label="threshold")
        title = f"{kind}: {len(over)} over, sum {over.sum():.0f}"
        axes.set(yscale="log", title=title, xlabel=f"norm of {kind}", ylabel="number")
        axes.set_ylim(0.5, None)
        axes.legend()
        words.append(
            f"{len(over)} of the {kind} exceed their threshold of {threshold:.0f} and add up to {over.sum():.0f}"
        )
    d = float(score(m, gamma).directionality)
    reading = "<<rows_dominate>>" if d > 0 else ""
    return captioned(figure, __package__, "fig-norms-and-thresholds", gamma=gamma, words=words, d=d, reading=reading)
