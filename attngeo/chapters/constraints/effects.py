"""What a constraint costs in loss and does to the scores: constrained runs beside free ones, seed by seed."""

from collections.abc import Callable, Sequence

import pandas as pd

from attngeo.runs.arms import LOSS, Contrast, Measure, contrasts
from attngeo.runs.estimates import HELPS, HURTS, NO_DIFFERENCE
from attngeo.runs.labels import PARTS, text
from attngeo.runs.numbers_in_words import as_nats, as_score, with_interval
from attngeo.runs.record import Run
from attngeo.training.constraints import Constraint

FALL = {HURTS: "more than the free run's", HELPS: "less than the free run's"}
LAST = 5  # the last fifth of a run
NO_RUNS = "No run with a constraint is recorded yet"


def constrained_and_free(runs: Sequence[Run]) -> list[Contrast]:
    """Constrained arms, each beside the free arm of its settings: encoders first, then by constraint and weight."""
    found = [
        contrast
        for constraint in (Constraint.SYMMETRIC.value, Constraint.SKEW.value)
        for contrast in contrasts(runs, "constraint", constraint, Constraint.NONE.value, free=("gamma",))
    ]
    return sorted(found, key=_order)


def describe(contrast: Contrast) -> str:
    """``encoder, skew, γ 0.1``."""
    c = contrast.first.config
    return f"{PARTS[c['objective']]}, {c['constraint']}, γ {c['gamma']:g}"


def symmetry_of_heads(run: Run) -> float:
    """Median over layers and heads of the symmetry of the single heads' forms, at the last step."""
    heads = run.scores[run.scores["head"] >= 0]
    return float(heads[heads["step"] == heads["step"].max()]["symmetry"].median())


def last_fall(run: Run) -> float:
    """By how much the held-out loss fell over the last fifth of the steps, nats per predicted token."""
    losses = run.curve(LOSS)
    end = losses.index[-1]
    return float(losses.loc[: end - end // LAST].iloc[-1] - losses.iloc[-1])


def effects_table(found: Sequence[Contrast]) -> pd.DataFrame:
    """One row per constrained arm: losses, their difference with its interval, what that says, and both scores."""
    rows = []
    for contrast in found:
        row = {
            "constraint": describe(contrast),
            "text": text(contrast.first.runs[0]),
            "seeds": len(contrast),
            "loss, free": contrast.second.mean(LOSS),
            "constrained": contrast.first.mean(LOSS),
            "difference": with_interval(contrast.difference(), as_nats),
            "outcome": contrast.outcome(),
        }
        for letter, score in (("s", "symmetry"), ("d", "directionality")):
            free, constrained = (as_score(arm.mean(score)) for arm in (contrast.second, contrast.first))
            row[f"{letter}, free → constrained"] = f"{free} → {constrained}"
        rows.append(row)
    return _one_text(rows)


def heads_table(found: Sequence[Contrast]) -> pd.DataFrame:
    """One row per arm, free ones too: s of the summed forms and of single heads, and the last fall of the loss."""
    rows: dict[tuple[Run, ...], dict] = {}
    for contrast in found:
        free = f"{PARTS[contrast.second.config['objective']]}, free"
        more = with_interval(contrast.difference(last_fall), as_nats)
        for arm, name, beyond in ((contrast.second, free, "–"), (contrast.first, describe(contrast), more)):
            row = {
                "runs": name,
                "text": text(arm.runs[0]),
                "seeds": len(arm),
                "s, sum over heads": as_score(arm.mean("symmetry")),
                "s, single heads": as_score(arm.mean(symmetry_of_heads)),
                "fall of the loss": arm.mean(last_fall),
                "beyond the free run's": beyond,
            }
            rows.setdefault(arm.runs, row)
    return _one_text(list(rows.values()))


def sentence(found: Sequence[Contrast]) -> str:
    """Which arms the constraint helps, which it hurts, and which it leaves within the noise."""

    def cost(contrast: Contrast) -> str:
        return with_interval(contrast.difference(), as_nats)

    return _by_outcome(found, Contrast.outcome, [HELPS, HURTS, NO_DIFFERENCE], cost)


def fall_sentence(found: Sequence[Contrast]) -> str:
    """Whose loss fell more over the last fifth of the steps than the free run's: there a cost was shrinking."""

    def said(contrast: Contrast) -> str:
        outcome = contrast.outcome(last_fall)
        return FALL.get(outcome, outcome)

    def falls(contrast: Contrast) -> str:
        return f"{contrast.first.mean(last_fall):.3f} nats, free {contrast.second.mean(last_fall):.3f}"

    return _by_outcome(found, said, [*FALL.values(), NO_DIFFERENCE], falls)


def reached(found: Sequence[Contrast], measure: Measure) -> list[float]:
    """Symmetry that each constrained arm ends with, as ``measure`` takes it, with the sign that was asked for."""
    signs = {Constraint.SYMMETRIC.value: 1, Constraint.SKEW.value: -1}
    return [signs[contrast.first.config["constraint"]] * contrast.first.mean(measure) for contrast in found]


def _by_outcome(
    found: Sequence[Contrast], said: Callable[[Contrast], str], order: list[str], number: Callable[[Contrast], str]
) -> str:
    """``outcome: arm (number) and arm (number); outcome: ...``, the outcomes in order, others last."""
    if not found:
        return NO_RUNS
    groups: dict[str, list[str]] = {}
    for contrast in found:
        groups.setdefault(said(contrast), []).append(f"{describe(contrast)} ({number(contrast)})")
    parts = sorted(groups.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order))
    return "; ".join(f"{words}: {' and '.join(arms)}" for words, arms in parts)


def _one_text(rows: list[dict]) -> pd.DataFrame:
    """The rows, without their text where all have one."""
    table = pd.DataFrame(rows)
    return table.drop(columns="text") if rows and table["text"].nunique() == 1 else table


def _order(contrast: Contrast) -> tuple:
    c = contrast.first.config
    return (list(PARTS).index(c["objective"]), c["constraint"] != "symmetric", c["gamma"], contrast.label)
