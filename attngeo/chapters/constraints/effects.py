"""What a constraint costs in loss and does to the scores: constrained runs beside free ones, seed by seed."""

from collections.abc import Sequence

import pandas as pd

from attngeo.runs.arms import LOSS, Contrast, Measure, contrasts
from attngeo.runs.labels import PARTS, text
from attngeo.runs.numbers_in_words import as_nats, as_score, with_interval
from attngeo.runs.record import Run
from attngeo.training.choices import Constraint

LAST = 5  # the last fifth of a run


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
    """One row per constrained arm: losses, their difference with its interval, and what that says."""
    rows = [
        {
            "constraint": describe(contrast),
            "text": text(contrast.first.runs[0]),
            "seeds": len(contrast),
            "loss, free": contrast.second.mean(LOSS),
            "constrained": contrast.first.mean(LOSS),
            "difference": with_interval(contrast.difference(), as_nats),
            "outcome": contrast.outcome(),
        }
        for contrast in found
    ]
    return _one_text(rows)


def heads_table(found: Sequence[Contrast]) -> pd.DataFrame:
    """One row per arm, free ones too: s of the summed forms and of single heads, d, and the last fall of the loss."""
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
                "d, sum over heads": as_score(arm.mean("directionality")),
                "fall of the loss": arm.mean(last_fall),
                "beyond the free run's": beyond,
            }
            rows.setdefault(arm.runs, row)
    return _one_text(list(rows.values()))


def reached(found: Sequence[Contrast], measure: Measure) -> list[float]:
    """Symmetry that each constrained arm ends with, as ``measure`` takes it, with the sign that was asked for."""
    signs = {Constraint.SYMMETRIC.value: 1, Constraint.SKEW.value: -1}
    return [signs[contrast.first.config["constraint"]] * contrast.first.mean(measure) for contrast in found]


def _one_text(rows: list[dict]) -> pd.DataFrame:
    """The rows, without their text where all have one."""
    table = pd.DataFrame(rows)
    return table.drop(columns="text") if rows and table["text"].nunique() == 1 else table


def _order(contrast: Contrast) -> tuple:
    c = contrast.first.config
    return (list(PARTS).index(c["objective"]), c["constraint"] != "symmetric", c["gamma"], contrast.label)
