"""The figure of the planned runs: their losses seed by seed, and the difference that the plan asks for."""

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.lines import Line2D

from attngeo.chapters.symmetric_initialisation.figures import COLOURS, DASHES
from attngeo.chapters.symmetric_initialisation.planned_runs import BAND, Planned, spread
from attngeo.display.captions import captioned
from attngeo.display.style import NEUTRAL, PALETTE, CaptionedFigure, house_style, new_figure
from attngeo.runs.arms import LOSS
from attngeo.runs.numbers_in_words import as_nats, number, with_interval

_NAMED = 12  # seeds, each on a line of its own


@house_style()
def planned_figure(found: Sequence[Planned], name: str = "fig-init-planned") -> CaptionedFigure:
    """Held-out loss over tokens read, a line per run, and final losses subtracted, seed by seed; a row per experiment.

    All of them have one primary contrast.
    """
    figure, panels = new_figure(8.2, 2.3 * len(found) + 0.5, rows=len(found), columns=2, squeeze=False)
    for (curves, differences), experiment in zip(panels, found, strict=True):
        _curves(curves, experiment)
        _differences(differences, experiment)
    primary = found[0].plan.contrasts[0]
    lines = [Line2D([], [], label=arm, **_line(arm)) for arm in (primary.against, primary.arm)]
    dot = Line2D([], [], color=_line(primary.arm)["color"], marker="o", linestyle="", label="a seed")
    mean = Line2D([], [], color="black", marker="D", label="mean, 95 % interval")
    figure.legend(handles=[*lines, dot, mean], loc="outside lower center", ncols=4)
    words = "; ".join(f"{p.label}: {with_interval(p.contrast.difference(), as_nats)}, {p.by_plan}" for p in found)
    spreads = " and ".join(number(spread(p), 2) for p in found)
    both = sum(p.contrast.differences().min() < 0 < p.contrast.differences().max() for p in found)
    return captioned(
        figure,
        __package__,
        "fig-init-planned",
        name,
        contrast=primary.name,
        band=BAND,
        words=words,
        runs=sum(2 * len(p.contrast) for p in found),
        spreads=spreads,
        both=both,
        rows=len(found),
    )


def _curves(panel: Axes, experiment: Planned) -> None:
    primary = experiment.plan.contrasts[0]
    for name in (primary.against, primary.arm):
        for run in experiment.arms[name].runs:
            tokens = run.history.set_index("step")["tokens"] / 1e6
            loss = run.curve(LOSS)
            panel.plot(
                tokens[loss.index],
                loss,
                linewidth=0.7,
                alpha=0.6 if len(experiment.contrast) <= _NAMED else 0.25,
                **_line(name),
            )
        mean = experiment.arms[name].curves(LOSS).mean(axis=1)
        panel.plot(tokens[mean.index], mean, linewidth=2.2, **_line(name))
    losses = experiment.contrast.second.curves(LOSS)
    panel.set_ylim(top=float(losses.iloc[len(losses) // 12].max()) + 0.05)  # the first steps are alike
    panel.set(title=experiment.label, xlabel="tokens read (millions)", ylabel="held-out loss (nats)")


def _differences(panel: Axes, experiment: Planned) -> None:
    primary = experiment.plan.contrasts[0]
    differences, estimate = experiment.contrast.differences(), experiment.contrast.difference()
    panel.axvspan(-BAND, BAND, color=NEUTRAL, alpha=0.3, linewidth=0)
    panel.axvline(0, color=NEUTRAL, linewidth=1)
    panel.plot(differences, range(len(differences)), "o", color=_line(primary.arm)["color"])
    below = len(differences) + len(differences) // _NAMED
    panel.hlines(below, estimate.low, estimate.high, color="black", linewidth=2)
    panel.plot(estimate.value, below, "D", color="black")
    if len(differences) <= _NAMED:
        panel.set_yticks(range(len(differences) + 1), [*(f"seed {s}" for s in differences.index), "mean"])
    else:
        panel.set_yticks([len(differences) / 2, below], [f"{len(differences)}\nseeds", "mean"])
    panel.set_ylim(1.02 * below + 0.5, -0.5 - 0.02 * len(differences))
    panel.set(xlabel=f"{primary.name}, final loss (nats)")


def _line(arm: str) -> dict[str, str]:
    """Colour and dashes: those of a start, or of an arm that a plan has given settings of its own."""
    return {"color": COLOURS.get(arm, PALETTE[1]), "linestyle": DASHES.get(arm, "--")}
