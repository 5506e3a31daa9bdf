"""The chapter *Does symmetry matter?*: recorded models with a constraint on W_qk beside models without one."""

import math
from collections.abc import Mapping, Sequence
from functools import cache

import pandas as pd
import seaborn as sns

from attngeo.errors import ParameterError
from attngeo.experiments.runs.arms import LOSS, PARTS, Arm, Contrast, Measure, contrasts
from attngeo.experiments.runs.estimates import HELPS, HURTS, NO_DIFFERENCE, TOO_FEW, Estimate, outcome
from attngeo.experiments.runs.experiments import recorded_runs
from attngeo.experiments.runs.numbers_in_words import as_nats, as_score, joined_by_and, number, with_interval
from attngeo.experiments.runs.record import Run
from attngeo.files.checkout import data
from attngeo.experiments.runs.circumstances import in_words
from attngeo.experiments.runs.measures import median_of_heads
from attngeo.plot.style import NEUTRAL, PART_COLOURS, CaptionedFigure, house_style, new_figure

MODELS = ("encoder", "decoder")
FREE = "no constraint"
FORBIDDEN = "symmetry forbidden"
ENFORCED = "symmetry enforced"
CONDITIONS = {"none": FREE, "skew": FORBIDDEN, "symmetric": ENFORCED}  # by setting of the run
DASHES = {FREE: "", FORBIDDEN: "", ENFORCED: (3, 2)}
DOING = {FORBIDDEN: "Forbidding symmetry", ENFORCED: "Enforcing symmetry"}
LAST_FIFTH = 0.8  # of the training steps lie before it


def part_of(arm: Arm) -> str:
    """``encoder`` or ``decoder``."""
    return PARTS[arm.config["objective"]]


def condition_of(arm: Arm) -> str:
    """One of `CONDITIONS` in words."""
    return CONDITIONS[arm.config["constraint"]]


def constrained_and_free(runs: Sequence[Run]) -> list[Contrast]:
    """Constrained arms, each beside the free arm of its settings: encoders first, then symmetry forbidden first."""
    pairs = [p for name in ("skew", "symmetric") for p in contrasts(runs, "constraint", name, "none", free=("gamma",))]
    return sorted(pairs, key=lambda pair: MODELS.index(part_of(pair.first)))


@cache
def recorded() -> list[Contrast]:
    """All recorded models with a constraint, each beside the same model without one."""
    return constrained_and_free(recorded_runs(data("runs")))


def chosen(pairs: Sequence[Contrast], models: Sequence[str], seeds: Sequence[int]) -> list[Contrast]:
    """The comparisons of these models, on these seeds.

    Raises:
        ParameterError: a model or a seed was not recorded, or none is asked for.
    """
    recorded = sorted({seed for pair in pairs for seed in pair.first.seeds})
    for name, asked, known in (("models", models, MODELS), ("seeds", seeds, recorded)):
        unknown = [value for value in asked if value not in known]
        if unknown or not asked:
            fault = f"names {unknown[0]!r}, which was not recorded" if unknown else "is empty"
            raise ParameterError(f"Parameter {name} {fault}; choose from {', '.join(map(str, known))}.")
    kept = [pair for pair in pairs if part_of(pair.first) in models]
    return [Contrast(pair.first.of(seeds), pair.second.of(seeds), pair.label) for pair in kept]


def require_step(pairs: Sequence[Contrast], step: int) -> None:
    """Refuse a step at which no model was compared.

    Raises:
        ParameterError: the step is not between the first recorded one after the start and the last one.
    """
    losses = [run.curve(LOSS).index for pair in pairs for run in pair.first.runs]
    first, last = max(steps[1] for steps in losses), max(steps[-1] for steps in losses)
    if not first <= step <= last:
        raise ParameterError(f"Parameter last_step is {step}; choose a training step from {first} to {last}.")


def at(step: int, name: str = LOSS) -> Measure:
    """A measure: the loss or score at a step or, if the step was not recorded, at the last recorded step before it."""
    return lambda run: float(run.curve(name).loc[:step].iloc[-1])


def last_fall(step: int) -> Measure:
    """A measure: by how much the held-out loss fell over the last fifth of the steps up to this one."""

    def measure(run: Run) -> float:
        losses = run.curve(LOSS).loc[:step]
        return float(losses.loc[: losses.index[-1] * LAST_FIFTH].iloc[-1] - losses.iloc[-1])

    return measure


def costs(pairs: Sequence[Contrast], step: int) -> dict[str, dict[str, Estimate]]:
    """By condition and model: how much higher the loss at a step is than without the constraint."""
    found: dict[str, dict[str, Estimate]] = {condition: {} for condition in DOING}
    for pair in pairs:
        found[condition_of(pair.first)][part_of(pair.first)] = pair.difference(at(step))
    return found


def effect(subject: str, part: str, cost: Estimate) -> str:
    """A sentence: what a constraint, which is its subject, does to the loss of a small model."""
    model = f"a small {part}"
    size = f"{number(abs(cost.value), 2)} nats"
    signed = f"{as_score(cost.value)} nats"
    return {
        HURTS: f"{subject} raises the loss of {model} by {size}.",
        HELPS: f"{subject} lowers the loss of {model} by {size}.",
        NO_DIFFERENCE: f"{subject} changes the loss of {model} by {signed}, which is within the variation between seeds.",
        TOO_FEW: f"{subject} changes the loss of {model} by {signed} (too few seeds for a confidence interval).",
    }[outcome(cost)]


def effects(condition: str, by_part: Mapping[str, Estimate]) -> str:
    """One or two sentences: what a condition does to the loss of each model."""
    subject = DOING[condition]
    if len(by_part) > 1 and all(outcome(cost) == NO_DIFFERENCE for cost in by_part.values()):
        changes = joined_by_and([f"{as_nats(cost.value)} nats for the {part}" for part, cost in by_part.items()])
        return f"{subject} changes neither of the two losses by more than the variation between seeds ({changes})."
    sentences = []
    for part, cost in by_part.items():
        sentences.append(effect("The same constraint" if sentences else subject, part, cost))
    return " ".join(sentences)


def probability(cost: Estimate) -> str:
    """A sentence that says what a higher loss means; nothing where the loss is not higher."""
    if outcome(cost) != HURTS:
        return ""
    return (
        f"An increase of {number(cost.value, 2)} nats in the loss means that, on average (geometric mean), the probability that the model"
        f" assigns to the correct character is lower by a factor of {math.exp(cost.value):.1f}."
    )


def delay(pair: Contrast, step: int) -> str:
    """Whether a model whose symmetry is forbidden was still catching up with the free one, in one or two sentences."""
    part, later = part_of(pair.first), pair.difference(last_fall(step))
    when = f"Over the last fifth of the training steps, the loss of the {part}"
    size = f"{number(abs(later.value), 2)} nats"
    return {
        HURTS: f"{when} decreased by {size} more with symmetry forbidden than without a constraint. Since the"
        f" constrained {part} was still catching up, part of the cost may only be a delay.",
        HELPS: f"{when} decreased by {size} less with symmetry forbidden than without a constraint, so the"
        f" constrained {part} was not catching up.",
        NO_DIFFERENCE: f"{when} decreased equally with symmetry forbidden and without a constraint, up to the variation"
        " between seeds.",
        TOO_FEW: f"With fewer than three seeds, we cannot tell whether the constrained {part} was still catching up.",
    }[outcome(later)]


def ends(pairs: Sequence[Contrast], step: int) -> pd.DataFrame:
    """One row per arm, free ones too: loss, symmetry, and by how much more the loss was still falling."""
    rows = {}
    for pair in pairs:
        for arm, beside in ((pair.second, None), (pair.first, pair)):
            compared = {
                "loss minus loss without constraint": beside.difference(at(step)) if beside else None,
                "further decrease over the last fifth": beside.difference(last_fall(step)) if beside else None,
            }
            rows[f"{part_of(arm)}, {condition_of(arm)}"] = {
                "s of a layer": as_score(arm.mean(at(step, "symmetry"))),
                "s of a head": as_score(arm.mean(median_of_heads("symmetry", step))),
            } | {name: with_interval(value, as_nats) if value else "–" for name, value in compared.items()}
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")


def seeds_and_circumstances(arms: Mapping[str, Arm]) -> pd.DataFrame:
    """Of arms with equal settings, a row per arm: seeds, mean symmetry, and what the settings do not fix."""
    return pd.DataFrame(
        {"experiment": experiment, "seeds": len(arm), "s": as_score(arm.mean("symmetry"))} | in_words(arm.runs)
        for experiment, arm in arms.items()
    )


@house_style()
def training_figure(pairs: Sequence[Contrast], last_step: int) -> CaptionedFigure:
    """Held-out loss and symmetry over steps: a column per model, a line per condition."""
    arms = {}
    for pair in pairs:
        of_part = arms.setdefault(part_of(pair.first), {})
        of_part |= {FREE: pair.second, condition_of(pair.first): pair.first}
    figure, panels = new_figure(8, 4.4, 2, len(arms), sharex="col", sharey="row", squeeze=False)
    shown_up_to = []
    measures = {LOSS: "loss on held-out text (nats)", "symmetry": "symmetry score s"}
    for column, (part, by_condition) in zip(panels.T, arms.items(), strict=True):
        colours = {name: NEUTRAL if name == FREE else PART_COLOURS[part] for name in CONDITIONS.values()}
        for panel, (measure, words) in zip(column, measures.items(), strict=True):
            curves = pd.concat(
                {name: arm.curves(measure).stack() for name, arm in by_condition.items()}, names=["model"]
            )
            frame = curves.rename_axis(["model", "step", "seed"]).rename(words).reset_index()
            frame = frame[frame["step"] <= last_step]
            style = {"hue": "model", "palette": colours, "style": "model", "dashes": DASHES, "errorbar": ("pi", 100)}
            sns.lineplot(frame, x="step", y=words, ax=panel, legend=measure == LOSS, **style)
        column[0].set_title(part)
        column[0].legend(title=None)
        early = by_condition[FREE].curves(LOSS).mean(axis=1).loc[:last_step]
        shown_up_to.append(early.iloc[len(early) // 12] + 0.3)  # the first steps are alike in all models
        column[1].axhline(0, color="black", linewidth=0.8)
        column[1].set(xlabel="training step")
    panels[0, 0].set_ylim(top=max(shown_up_to))
    told = [
        f"{as_score(cost.value)} nats for the {part} with {name}"
        for name, by_part in costs(pairs, last_step).items()
        for part, cost in by_part.items()
    ]
    caption = (
        "Loss on held-out text (top) and median symmetry score of the layers (bottom) during training, without a"
        " constraint (grey), with a constraint that forbids symmetry (solid) and with a constraint that enforces"
        " symmetry (dashed). Lines show the mean over seeds, and the shaded bands extend from the lowest to the"
        " highest value over seeds. The steep decrease in the first few steps, which is similar for all models, is not"
        f" shown. At the end of the curves, the loss differs from the loss without a constraint by {joined_by_and(told)}."
    )
    alt = (
        f"Line plots over training steps for {joined_by_and([f'a small {part}' for part in arms])}. The upper panels show"
        " the loss on held-out text, and the lower panels show the symmetry score. The caption gives the final differences"
        " in loss."
    )
    return CaptionedFigure(figure, "fig-constraint-recorded", caption, alt)
