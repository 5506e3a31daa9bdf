"""Figures of *Why?* and its details: a wave that is turned, heads among coins, and waves of shifted readers."""

from collections.abc import Mapping

import numpy as np

from attngeo.bilinear import waves
from attngeo.experiments.runs.numbers_in_words import joined_by_and, number
from chapters.why.coins import Directions
from attngeo.plot.style import CROSS, NEUTRAL, PALETTE, PART_COLOURS, CaptionedFigure, house_style, new_figure
from attngeo.experiments.runs.measures import lowest_of_layers
from chapters.why import Planned


def turned_score(period: float, offset: float) -> float:
    """``cos 2wm`` with ``w = 2 pi / period``: the symmetry of a head that looks m places ahead, on this wave."""
    return float(np.cos(4 * np.pi * offset / period))


@house_style()
def turned_waves(offset: int, periods: tuple[int, int]) -> CaptionedFigure:
    """A slow and a fast wave, each beside itself some places further, and the symmetry that follows by period.

    Args:
        offset: places ahead that the head looks.
        periods: of the slow wave and of the fast one.
    """
    figure, panels = new_figure(7.2, 2.7, 1, 3)
    x = np.linspace(0, max(periods), 400)
    told = []
    for panel, period, name in zip(panels, periods, ("slow", "fast"), strict=False):
        panel.plot(x, np.cos(2 * np.pi * x / period), color=NEUTRAL, label="wave")
        panel.plot(
            x, np.cos(2 * np.pi * (x + offset) / period), color=CROSS, linestyle="--", label=f"shifted by {offset}"
        )
        s = number(turned_score(period, offset), 2)
        panel.set(title=f"{name}: period {period}, $s$ = {s}", xlabel="position", ylim=(-1.2, 1.2))
        told.append(f"{s} at a period of {period} positions")
    panels[0].set_ylabel("position embedding")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper left", ncols=2)
    by_period = np.geomspace(2 * offset, 64, 400)
    curve = panels[2]
    curve.axhline(0, color=NEUTRAL, linewidth=0.8)
    curve.plot(by_period, [turned_score(period, offset) for period in by_period], color=CROSS)
    curve.plot(periods, [turned_score(period, offset) for period in periods], "o", color=NEUTRAL)
    curve.set(xscale="log", xlabel="period (positions)", ylabel="symmetry $s$", title="$s$ by period", ylim=(-1.2, 1.2))
    curve.set_xticks([4, 8, 16, 32, 64], ["4", "8", "16", "32", "64"])
    curve.minorticks_off()
    brief = joined_by_and(told)
    caption = (
        f"A head that attends {offset} positions ahead compares a wave in the position embeddings (grey) with the same wave"
        f" shifted by {offset} positions (green, dashed). If the wave is slow, the shift hardly changes it. The head's scores"
        " for this wave are then nearly symmetric, even though the head attends to one side only. The symmetry score is"
        f" {brief}. The last panel shows $s = \\cos 2\\varphi$, where $\\varphi = 2\\pi \\cdot {offset}$ / period is the"
        " phase by which the wave is shifted."
    )
    alt = f"A slow and a fast wave, each with a copy that is shifted by {offset} positions. The symmetry score is {brief}."
    return CaptionedFigure(figure, "fig-why-turned", caption, alt)


@house_style()
def ranks_of_families(found: Directions, names: Mapping[tuple[str, str], str]) -> CaptionedFigure:
    """The mean rank of each family of released models among tosses of its heads: a named dot for each.

    Args:
        found: the ranks.
        names: of the dots, by part and family.
    """
    rows = [("decoder", *item) for item in found.decoders.families.items()]
    rows += [("encoder", *item) for item in found.encoders.families.items()]
    rows.sort(key=lambda row: (row[0] == "decoder", -row[2]))
    figure, panel = new_figure(6.4, 1.3 + 0.22 * len(rows))
    places = np.arange(len(rows))
    for part, colour in (("encoder", PART_COLOURS["encoder"]), ("decoder", PART_COLOURS["decoder"])):
        chosen = [place for place, row in zip(places, rows, strict=True) if row[0] == part]
        panel.plot([rows[place][2] for place in chosen], chosen, "o", color=colour, label=f"{part}s", markersize=7)
    panel.axvline(0.5, color=NEUTRAL, linewidth=1, linestyle="--", label="independent directions (null model)")
    panel.set(xlabel="rank in the null model (0: all heads have the same direction)", xlim=(-0.03, 0.85))
    panel.set_yticks(places, [names[part, family] for part, family, _ in rows])
    figure.legend(loc="outside lower center", ncols=3)
    means = (
        f"{number(found.decoders.rank, 3)} over {len(found.decoders.families)} families of decoders and"
        f" {number(found.encoders.rank, 2)} over {len(found.encoders.families)} families of encoders"
    )
    caption = (
        "Do the heads of a layer agree on a direction? Each point represents a family of published models. We compute the"
        " median rank over the layers of each model, and average it over the models of the family. On average, the"
        f" rank is {means}. In the null model, in which each head is transposed with probability 1/2, the mean rank is"
        " 0.5."
    )
    alt = f"Dots of the rank of each family. Means are {means}; the null model has a mean rank of 0.5."
    return CaptionedFigure(figure, "fig-why-ranks", caption, alt)


@house_style()
def waves_of_shifted_readers(experiment: Planned, offsets: dict[str, int]) -> CaptionedFigure:
    """s by period of the wave, of the layer that scores lowest, beside cos 2wq: a panel for each offset q.

    Args:
        experiment: the runs.
        offsets: arms, and the places to the left at which they read their predictions.
    """
    figure, panels = new_figure(6.4, 2.6, 1, len(offsets), sharey=True)
    some_run = next(iter(experiment.runs["q0"].values()))
    n = some_run.config["block_size"]
    octaves = waves.octaves(n)
    periods = np.geomspace(2, n, 400)
    lowest = {}
    for panel, (arm, offset), colour in zip(panels, offsets.items(), PALETTE[2:], strict=False):
        panel.axhline(0, color=NEUTRAL, linewidth=0.8)
        panel.plot(periods, np.cos(4 * np.pi * offset / periods), color=NEUTRAL, linewidth=1, label="$\\cos 2wq$")
        for octave in octaves:
            values = experiment.values(arm, lowest_of_layers(f"position_symmetry_{octave}"))
            middle = min(octave * 2**0.5, n)
            panel.plot([middle] * len(values), values, "o", color=colour, alpha=0.6, markersize=4)
            panel.plot(middle, values.mean(), "_", color="black", markersize=14)
            lowest[arm, octave] = values.mean()
        panel.set(xscale="log", xlabel="period (characters)", title=f"q = {offset}", ylim=(-1.1, 1.1))
        panel.set_xticks([2, 4, 8, 16, 32], ["2", "4", "8", "16", "32"])
        panel.minorticks_off()
    panels[0].set_ylabel("symmetry $s$")
    panels[0].legend(loc="lower right")
    seeds = len(experiment.runs["q0"])
    brief = joined_by_and([f"{number(lowest[arm, 8], 2)} for q = {offset}" for arm, offset in offsets.items()])
    caption = (
        "Symmetry of $W_{qk}$ on the waves of the table of position embeddings, by octave, in encoders that predict a"
        " masked character from the position $q$ places to its left. Each dot shows the lowest score among the layers of a"
        f" run, and each bar shows the mean over {seeds} seeds. The grey curve is $\\cos 2wq$, where $w = 2\\pi / T$ is the"
        f" frequency of a wave of period $T$. In the octave from 8 to 16 characters, the means are {brief}."
    )
    alt = f"Three panels of symmetry against the period of the wave, with a cosine. In the octave from 8 to 16, the means are {brief}."
    return CaptionedFigure(figure, "fig-why-shifted", caption, alt)
