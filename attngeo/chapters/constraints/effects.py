"""What a constraint costs in loss and does to the scores: constrained runs beside free ones, seed by seed."""

from collections.abc import Callable, Sequence

import pandas as pd

from attngeo.runs.arms import PARTS, Measure, Pair, at_end, final_loss, mean, pairs, text
from attngeo.runs.estimates import HELPS, HURTS, NO_DIFFERENCE, verdict
from attngeo.runs.record import Run
from attngeo.runs.wording import as_nats, as_score, with_interval
from attngeo.training.constraints import Constraint

FALL = {HURTS: "more than the free run's", HELPS: "less than the free run's"}
LAST = 5  # the last fifth of a run
NO_RUNS = "No run with a constraint is recorded yet"


def constrained_pairs(runs: Sequence[Run]) -> list[Pair]:
    """Constrained arms, each beside the free arm of its settings: encoders first, then by constraint and weight."""
    found = [
        pair
        for constraint in (Constraint.SYMMETRIC.value, Constraint.SKEW.value)
        for pair in pairs(runs, "constraint", constraint, Constraint.NONE.value, free=("gamma",))
    ]
    return sorted(found, key=_order)


def describe(pair: Pair) -> str:
    """``encoder, skew, γ 0.1``."""
    c = pair.first[0].config
    return f"{PARTS[c['objective']]}, {c['constraint']}, γ {c['gamma']:g}"


def outcome(pair: Pair) -> str:
    """What the interval of the difference in loss says, in words."""
    return verdict(pair.difference(final_loss))


def heads_at_end(score: str) -> Measure:
    """Median over layers and heads of a score of the single heads' forms, at the last step."""

    def measure(run: Run) -> float:
        heads = run.scores[run.scores["head"] >= 0]
        return float(heads[heads["step"] == heads["step"].max()][score].median())

    return measure


def last_fall(run: Run) -> float:
    """By how much the held-out loss fell over the last fifth of the steps, nats per predicted token."""
    losses = run.history.set_index("step")["held_out_loss"].dropna()
    end = losses.index[-1]
    return float(losses[losses.index <= end - end // LAST].iloc[-1] - losses.iloc[-1])


def effects_table(found: Sequence[Pair]) -> pd.DataFrame:
    """One row per constrained arm: losses, their difference with its interval, what that says, and both scores."""
    rows = []
    for pair in found:
        row = {
            "constraint": describe(pair),
            "text": text(pair.first[0]),
            "seeds": pair.seeds,
            "loss, free": mean(pair.second, final_loss),
            "constrained": mean(pair.first, final_loss),
            "difference": with_interval(pair.difference(final_loss), as_nats),
            "outcome": outcome(pair),
        }
        for letter, score in (("s", "symmetry"), ("d", "directionality")):
            free, constrained = (as_score(mean(arm, at_end(score))) for arm in (pair.second, pair.first))
            row[f"{letter}, free → constrained"] = f"{free} → {constrained}"
        rows.append(row)
    return _one_text(rows)


def heads_table(found: Sequence[Pair]) -> pd.DataFrame:
    """One row per arm, free ones too: s of the summed forms and of single heads, and the last fall of the loss."""
    rows: dict[tuple[int, ...], dict] = {}
    for pair in found:
        free = f"{PARTS[pair.second[0].config['objective']]}, free"
        for arm, name in ((pair.second, free), (pair.first, describe(pair))):
            more = with_interval(pair.difference(last_fall), as_nats) if arm is pair.first else "–"
            row = {
                "runs": name,
                "text": text(arm[0]),
                "seeds": len(arm),
                "s, sum over heads": as_score(mean(arm, at_end("symmetry"))),
                "s, single heads": as_score(mean(arm, heads_at_end("symmetry"))),
                "fall of the loss": mean(arm, last_fall),
                "beyond the free run's": more,
            }
            rows.setdefault(tuple(map(id, arm)), row)
    return _one_text(list(rows.values()))


def sentence(found: Sequence[Pair]) -> str:
    """Which arms the constraint helps, which it hurts, and which it leaves within the noise."""

    def cost(pair: Pair) -> str:
        return with_interval(pair.difference(final_loss), as_nats)

    return _by_outcome(found, outcome, [HELPS, HURTS, NO_DIFFERENCE], cost)


def fall_sentence(found: Sequence[Pair]) -> str:
    """Whose loss fell more over the last fifth of the steps than the free run's: there a cost was shrinking."""

    def said(pair: Pair) -> str:
        outcome = verdict(pair.difference(last_fall))
        return FALL.get(outcome, outcome)

    def falls(pair: Pair) -> str:
        return f"{mean(pair.first, last_fall):.3f} nats, free {mean(pair.second, last_fall):.3f}"

    return _by_outcome(found, said, [*FALL.values(), NO_DIFFERENCE], falls)


def reached(found: Sequence[Pair], measure: Callable[[str], Measure]) -> list[float]:
    """Symmetry that each constrained arm ends with, as ``measure`` takes it, with the sign that was asked for."""
    signs = [1 if pair.first[0].config["constraint"] == Constraint.SYMMETRIC.value else -1 for pair in found]
    return [sign * mean(pair.first, measure("symmetry")) for sign, pair in zip(signs, found, strict=True)]


def _by_outcome(
    found: Sequence[Pair], said: Callable[[Pair], str], order: list[str], number: Callable[[Pair], str]
) -> str:
    """``outcome: arm (number) and arm (number); outcome: ...``, the outcomes in order, others last."""
    if not found:
        return NO_RUNS
    groups: dict[str, list[str]] = {}
    for pair in found:
        groups.setdefault(said(pair), []).append(f"{describe(pair)} ({number(pair)})")
    parts = sorted(groups.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order))
    return "; ".join(f"{words}: {' and '.join(arms)}" for words, arms in parts)


def _one_text(rows: list[dict]) -> pd.DataFrame:
    """The rows, without their text where all have one."""
    table = pd.DataFrame(rows)
    return table.drop(columns="text") if rows and table["text"].nunique() == 1 else table


def _order(pair: Pair) -> tuple:
    c = pair.first[0].config
    return (list(PARTS).index(c["objective"]), c["constraint"] != "symmetric", c["gamma"], pair.label)
