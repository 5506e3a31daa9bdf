"""Figures of the chapter on symmetric updates."""

import numpy as np
import pandas as pd

from attngeo.chapters.symmetric_updates.pair_symmetry import agreement, isotropic_score, masked_score, pair_score
from attngeo.display.captions import captioned
from attngeo.display.style import DECODER, ENCODER, NEUTRAL, PALETTE, CaptionedFigure, house_style, new_figure


@house_style()
def pair_scores(ratios: tuple[float, ...] = (1.0, 0.5, 0.0, -0.5, -0.9)) -> CaptionedFigure:
    """Score of one pair against the angle of its embeddings, and against the ratio of its coefficients."""
    figure, (left, right) = new_figure(8.8, 4.2, columns=2, sharey=True)
    angles = np.linspace(0.5, 90, 180)
    for ratio, colour in zip(ratios, PALETTE, strict=False):
        rho = agreement(1.0, ratio)
        scores = [pair_score(rho, np.cos(np.radians(a))) for a in angles]
        left.plot(angles, scores, color=colour, label=f"$\\beta_{{ji}}/\\beta_{{ij}}$ = {ratio:g}")
    left.set(xlabel="angle between the embeddings, degrees", ylabel="symmetry score of the pair")
    left.set_xticks(range(0, 91, 15))
    grid = np.linspace(-2, 2, 201)
    for angle, colour in zip((90, 60, 45, 20), PALETTE, strict=False):
        cosine = np.cos(np.radians(angle))
        right.plot(grid, [pair_score(agreement(1.0, r), cosine) for r in grid], color=colour, label=f"angle {angle}°")
    right.set(xlabel="$\\beta_{ji} / \\beta_{ij}$")
    for axes in (left, right):
        axes.axhline(0, color=NEUTRAL, linewidth=0.8)
        axes.set_ylim(-1.05, 1.05)
    left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=3)
    right.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=2)
    half, alone = (pair_score(agreement(1.0, r), 0.0) for r in (0.5, 0.0))
    near = pair_score(0.0, np.cos(np.radians(20)))
    return captioned(figure, __package__, "fig-pair-scores", half=half, alone=alone, near=near)


@house_style()
def score_by_correlation(scores: pd.DataFrame, d: int) -> CaptionedFigure:
    """Score of the update of a sequence (`update_scores`) against the correlation of beta_ij with beta_ji."""
    figure, axes = new_figure(5.6, 4.2)
    grid = np.linspace(-1, 1, 101)
    axes.plot(grid, grid, color=NEUTRAL, linewidth=1, linestyle="--", label="s = ρ, orthonormal")
    axes.plot(grid, [isotropic_score(r, d) for r in grid], color="black", linewidth=1.2, label=f"isotropic, d = {d}")
    words = []
    for (n, rows), colour, marker in zip(scores.groupby("n_tokens"), PALETTE, "osD^", strict=False):
        rho, s = rows["correlation"], rows["symmetry"]
        axes.scatter(rho, s, s=12, color=colour, marker=marker, alpha=0.6, label=f"N = {n} tokens")
        gap = s - [isotropic_score(r, d) for r in rho]
        words.append(f"{float(np.sqrt((gap**2).mean())):.3f} for N = {n} tokens")
    axes.set(xlabel="ρ = Tr(BB) / ‖B‖²", ylabel="symmetry score s(ΔW)")
    axes.legend()
    return captioned(figure, __package__, "fig-update-scores", d=d, words=words)


@house_style()
def score_by_sequences(growth: pd.DataFrame) -> CaptionedFigure:
    """Score of the accumulated update against the number of sequences, as `corpus_symmetry` gives it."""
    figure, axes = new_figure(7.2, 4.4)
    looks = {
        "bidirectional": (ENCODER, "o", "-"),
        "autoregressive, query holds the target": (DECODER, "s", "-"),
        "order of the pairs": (DECODER, "", ":"),
        "autoregressive, query one behind": (PALETTE[3], "D", "-"),
        "bidirectional, V not symmetric": (NEUTRAL, "^", "-"),
    }
    words, ends = [], []
    for name, (colour, marker, line) in looks.items():
        rows = growth[growth["setting"] == name].sort_values("n_sequences")
        axes.plot(rows["n_sequences"], rows["symmetry"], line + marker, color=colour, markersize=4, label=name)
        first, last = float(rows["symmetry"].iloc[0]), float(rows["symmetry"].iloc[-1])
        words.append(f"{first:.2f} to {last:.2f} ({name})")
        ends.append(f"{last:.2f} ({name})")
    axes.axhline(0, color=NEUTRAL, linewidth=0.8)
    axes.set(xscale="log", xlabel="sequences added up", ylabel="symmetry score s")
    axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2)
    low, high = int(growth["n_sequences"].min()), int(growth["n_sequences"].max())
    return captioned(figure, __package__, "fig-corpus-symmetry", low=low, high=high, ends=ends, words=words)


@house_style()
def score_by_mask_rate(scores: pd.DataFrame, rho: float) -> CaptionedFigure:
    """Score of a masked sequence (`masked_scores`) against the mask rate, by the number of maskings.

    ``rho`` is the correlation of the unmasked coefficients.
    """
    figure, axes = new_figure(6.4, 3.9)
    grid = np.linspace(0.01, 0.6, 120)
    axes.axvspan(0.15, 0.3, color="#EEEEEE", zorder=0, label="p that the paper names")
    axes.axhline(rho, color=NEUTRAL, linewidth=1, linestyle="--", label=f"ρ = {rho:g}")
    words = []
    for (rounds, rows), colour, marker in zip(scores.groupby("rounds"), PALETTE, "osD^", strict=False):
        label = f"{rounds} maskings" if rounds > 1 else "1 masking: ρp"
        axes.plot(grid, [masked_score(rho, p, int(rounds)) for p in grid], color=colour, label=label)
        axes.plot(rows["mask_rate"], rows["symmetry"], marker, color=colour, markersize=5)
        words.append(f"{masked_score(rho, 0.15, int(rounds)):.2f} with {rounds} random masking{'s' * (rounds > 1)}")
    axes.plot(grid, grid / (1 - grid), color=NEUTRAL, linewidth=1, linestyle=":", label="p / (1 − p)")
    axes.set(xlabel="share p of masked tokens", ylabel="symmetry score s", ylim=(0, 1.05))
    axes.legend(fontsize=8)
    return captioned(figure, __package__, "fig-masked-scores", rho=rho, first=words[0], last=words[-1], words=words)
