"""What a constraint costs in loss and does to the scores: constrained runs beside free ones, seed by seed."""

from collections.abc import Sequence

import pandas as pd

from attngeo.constraints import Constraint
from attngeo.run_groups import PARTS, Pair, at_end, final_loss, mean, pairs, text
from attngeo.run_record import Run
from attngeo.speed_up import HELPS, HURTS, NO_DIFFERENCE, verdict
from attngeo.wording import as_nats, as_score, with_interval

WORDS = {HELPS: "a lower loss", HURTS: "a higher loss"}  # other verdicts speak for themselves


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
    said = verdict(pair.difference(final_loss))
    return WORDS.get(said, said)


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
            "it": outcome(pair),
        }
        for letter, score in (("s", "symmetry"), ("d", "directionality")):
            free, constrained = (as_score(mean(arm, at_end(score))) for arm in (pair.second, pair.first))
            row[f"{letter}, free → constrained"] = f"{free} → {constrained}"
        rows.append(row)
    table = pd.DataFrame(rows)
    return table.drop(columns="text") if found and table["text"].nunique() == 1 else table


def sentence(found: Sequence[Pair]) -> str:
    """Which arms the constraint helps, which it hurts, and which it leaves within the noise."""
    if not found:
        return "No run with a constraint is recorded yet"
    said: dict[str, list[str]] = {}
    for pair in found:
        cost = with_interval(pair.difference(final_loss), as_nats)
        said.setdefault(outcome(pair), []).append(f"{describe(pair)} ({cost})")
    order = [*WORDS.values(), NO_DIFFERENCE]
    parts = sorted(said.items(), key=lambda item: order.index(item[0]) if item[0] in order else len(order))
    return "; ".join(f"{words}: {' and '.join(arms)}" for words, arms in parts)


def _order(pair: Pair) -> tuple:
    c = pair.first[0].config
    return (list(PARTS).index(c["objective"]), c["constraint"] != "symmetric", c["gamma"], pair.label)
