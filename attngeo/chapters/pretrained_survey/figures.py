"""Figures of the survey of pretrained models."""

import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from attngeo.display.captions import captioned
from attngeo.display.mirror_clouds import mirror_clouds
from attngeo.display.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure
from attngeo.runs.numbers_in_words import number
from attngeo.survey.families import FEW_BITS, GROUPS

OFFSETS = {"bidirectional": -0.16, "causal": 0.16, "cross": 0.0}  # within the line of a family
PANELS = (  # score, columns of its band: mean (0 where there is none) and half-width; label
    ("symmetry", "s_mean", "s_layer", "symmetry s"),
    ("directionality", "", "d_layer", "directionality d"),
)


@house_style()
def family_scores(layers: pd.DataFrame, families: pd.DataFrame, bands: pd.DataFrame) -> CaptionedFigure:
    """Both scores of every layer's summed form, `with_kinds`, a line for each family; cross-attention apart.

    ``families`` are `of_families`, ``bands`` `null_bands`.
    """
    lines, apart = _lines(families)
    shown = layers.merge(bands, on=["model", "part"], validate="m:1")
    colours = {kind: PART_COLOURS[part] for part, kind in [*GROUPS.items(), ("cross", "cross")]}
    figure, panels = new_figure(9, 0.34 * len(lines) + 1.1, columns=2, sharey=True)
    outside = 0
    for panel, (score, mean, half, label) in zip(panels, PANELS, strict=True):
        middle = shown[mean] if mean else 0 * shown[half]
        outside += int(((shown[score] - middle).abs() > shown[half]).sum())
        ends = shown.assign(low=middle - shown[half], high=middle + shown[half]).groupby(["family", "attention"])
        for (family, kind), band in ends[["low", "high"]].agg({"low": "min", "high": "max"}).iterrows():
            y = lines[family, kind == "cross"] + OFFSETS[kind]
            panel.fill_betweenx([y - 0.13, y + 0.13], band["low"], band["high"], color=NEUTRAL, alpha=0.25, linewidth=0)
        for kind, own in shown.groupby("attention"):
            heights = own["family"].map(lambda f, kind=kind: lines[f, kind == "cross"]) + OFFSETS[kind]
            few = own["precision"].isin(FEW_BITS)
            for marked, face in ((few, "none"), (~few, colours[kind])):
                at = own[score][marked], heights[marked]
                panel.scatter(*at, s=14, facecolors=face, edgecolors=colours[kind], alpha=0.7, linewidths=0.8)
        for unit in families.itertuples():
            y = lines[unit.family, unit.attention == "cross"] + OFFSETS[unit.attention]
            colour = colours[unit.attention]
            panel.plot(getattr(unit, score), y, "|", color=colour, markersize=13, markeredgewidth=2.5)
        panel.axvline(0, color=NEUTRAL, linewidth=0.8)
        if apart:
            panel.axhline(len(lines) - apart - 0.5, color=NEUTRAL, linewidth=0.6, linestyle=":")
        panel.set(xlabel=label, xlim=(-1.05, 1.05), ylim=(len(lines) - 0.4, -0.6))
    panels[0].set_yticks(range(len(lines)), [f"{f}, cross" if cross else f for f, cross in lines])
    handles = [Line2D([], [], marker="o", linestyle="none", color=c, label=kind) for kind, c in colours.items()]
    few = {"marker": "o", "fillstyle": "none", "label": "8 or 4 bits"}
    mean = {"marker": "|", "markersize": 13, "markeredgewidth": 2.5, "label": "mean of the family"}
    handles += [Line2D([], [], linestyle="none", color=NEUTRAL, **look) for look in (few, mean)]
    handles.append(Line2D([], [], color=NEUTRAL, alpha=0.25, linewidth=8, label="95 % of random weights"))
    figure.legend(handles=handles, loc="outside lower center", ncols=3)
    means = {kind: families[families["attention"] == kind] for kind in GROUPS.values()}
    words = "; ".join(
        f"{kind}: s from {own['symmetry'].min():.2f} to {own['symmetry'].max():.2f}, "
        f"d from {own['directionality'].min():.2f} to {own['directionality'].max():.2f}"
        for kind, own in means.items()
        if len(own)
    )
    return captioned(
        figure,
        __package__,
        "fig-survey-families",
        layers=len(shown),
        outside=outside,
        scores=2 * len(shown),
        words=words,
    )


@house_style()
def form_pictures(pictures: dict[str, np.ndarray]) -> CaptionedFigure:
    """W_qk as an image for each entry of ``pictures`` (title -> (n, n) in [-1, 1]), as in Figure 2 of the paper."""
    figure = mirror_clouds({title.replace(", ", ",\n"): m for title, m in pictures.items()})
    symmetries = "; ".join(
        f"{title}: {number(float((m * m.T).sum() / (m * m).sum()), 2)}" for title, m in pictures.items()
    )
    return captioned(figure, __package__, "fig-survey-forms", symmetries=symmetries)


def _lines(families: pd.DataFrame) -> tuple[dict[tuple[str, bool], int], int]:
    """The line of each family and, below, of its cross-attention; and how many of the latter there are."""
    wide = families.pivot(index="family", columns="attention", values="symmetry").reindex(columns=[*OFFSETS])
    encoders, decoders = (wide[kind].dropna().sort_values(ascending=False).index for kind in GROUPS.values())
    own = dict.fromkeys([*encoders, *decoders])
    cross = [(family, True) for family in wide["cross"].dropna().index]
    return {line: y for y, line in enumerate([*((family, False) for family in own), *cross])}, len(cross)
