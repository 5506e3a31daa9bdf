"""Figures of the constraints: their values over the symmetry score, and training with and without them."""

from collections.abc import Sequence

import numpy as np

from attngeo.display.captions import captioned
from attngeo.display.style import DECODER, ENCODER, NEUTRAL, CaptionedFigure, house_style, new_figure
from attngeo.runs.arms import Arm, arms
from attngeo.runs.labels import PARTS
from attngeo.runs.record import Run
from attngeo.training.choices import Constraint

COLOURS = {"none": NEUTRAL, "symmetric": ENCODER, "skew": DECODER}
WORDS = {"none": "free", "symmetric": "symmetric constraint", "skew": "skew constraint"}
STYLES = ("-", "--", ":", "-.")  # weights of one constraint, the smallest first


@house_style()
def constraint_values() -> CaptionedFigure:
    """``2 / (1 + s)`` and ``2 / (1 - s)`` over s, with their minima and the printed place of the second."""
    figure, panel = new_figure(5.6, 3.2)
    s = np.linspace(-0.999, 0.999, 400)
    for constraint, sign, number in ((Constraint.SYMMETRIC, 1, "S147"), (Constraint.SKEW, -1, "S148")):
        colour = COLOURS[constraint.value]
        panel.plot(s, 2 / (1 + sign * s), color=colour, label=f"{WORDS[constraint.value]}, {number}")
        panel.plot([sign], [1], "o", color=colour, clip_on=False)
    panel.plot([0], [2], "x", color="black", markersize=8, label="minimum of S148 as printed")
    panel.set(xlabel="symmetry s", ylabel="constraint", ylim=(0, 10), xlim=(-1, 1))
    panel.legend(loc="upper center")
    return captioned(figure, __package__, "fig-constraint-values")


@house_style()
def constrained_training(runs: Sequence[Run], name: str) -> CaptionedFigure:
    """Held-out loss (above) and median symmetry (below) over steps, a column per objective, a colour per constraint.

    Thick lines are means over seeds, thin ones single seeds.
    """
    objectives = [o for o in PARTS if any(run.config["objective"] == o for run in runs)]
    figure, panels = new_figure(
        5.6 if len(objectives) == 1 else 8.0, 5.2, rows=2, columns=len(objectives), sharex="col", squeeze=False
    )
    losses, symmetries = {}, {}
    for column, objective in zip(panels.T, objectives, strict=True):
        for arm, style in _styled([run for run in runs if run.config["objective"] == objective]):
            constraint, gamma = arm.config["constraint"], arm.config["gamma"]
            label = WORDS[constraint] + (f", γ = {gamma:g}" if constraint != "none" else "")
            loss, s = (
                _draw(panel, arm, name, COLOURS[constraint], style, label)
                for panel, name in zip(column, ("held_out_loss", "symmetry"), strict=True)
            )
            losses[f"{PARTS[objective]}, {label}"] = loss
            symmetries[f"{PARTS[objective]}, {label}"] = s
        column[0].set_title(PARTS[objective])
        column[1].set(ylim=(-1.05, 1.05), xlabel="step")
        column[1].axhline(0, color=NEUTRAL, linewidth=0.8)
    panels[0, 0].set_ylabel("held-out loss (nats)")
    panels[1, 0].set_ylabel("symmetry s")
    panels[0, 0].legend(loc="upper right")
    least, most = (choose(symmetries, key=symmetries.__getitem__) for choose in (min, max))
    told = [f"{name} (s {symmetries[name]:.2f})" for name in (least, most)]
    ends = f"the least symmetric is {told[0]}, the most symmetric {told[1]}"
    best = [min((name for name in losses if name.startswith(PARTS[o])), key=losses.__getitem__) for o in objectives]
    lowest = "; ".join(f"{name} ({losses[name]:.3f})" for name in best)
    return captioned(figure, __package__, "fig-constraint-recorded", name, ends=ends, lowest=lowest)


def _draw(panel, arm: Arm, name: str, colour: str, style: str, label: str) -> float:
    """Draw one arm; returns where its mean ends."""
    curves = arm.curves(name)
    if len(arm) > 1:
        panel.plot(curves, color=colour, linestyle=style, linewidth=0.6, alpha=0.5)
    mean = curves.mean(axis=1)
    panel.plot(mean, color=colour, linestyle=style, label=label)
    return float(mean.iloc[-1]) + 0.0


def _styled(runs: list[Run]) -> list[tuple[Arm, str]]:
    """Arms, the free one first, with the dashes that tell the weights of one constraint apart."""
    found = sorted(arms(runs), key=lambda arm: (arm.config["constraint"] != "none", *_constraint(arm)))
    weights = {constraint: [g for c, g in map(_constraint, found) if c == constraint] for constraint in COLOURS}
    return [(arm, STYLES[weights[c].index(g) % len(STYLES)]) for arm in found for c, g in [_constraint(arm)]]


def _constraint(arm: Arm) -> tuple[str, float]:
    return arm.config["constraint"], arm.config["gamma"]
