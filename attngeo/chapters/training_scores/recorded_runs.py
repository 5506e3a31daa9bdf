"""Tables of all recorded runs: what was run, and where every arm ended."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from attngeo.runs.arms import LOSS, RECORDING, Arm, arms, matched
from attngeo.runs.labels import text
from attngeo.runs.numbers_in_words import as_rate, number
from attngeo.runs.record import Run


def kind(run: Run) -> str:
    """What a run's folder is called before its objective: ``matrix_spaced`` of ``matrix_spaced-mlm/random-0``."""
    return run.name.split(f"-{run.config['objective']}")[0]


def group_table(runs: Sequence[Run]) -> pd.DataFrame:
    """One row per kind and configuration: what the runs have in common, how many there are, and the hours they took."""
    differ = ("seed", "init", "objective", "constraint", "gamma", "steps", *RECORDING)
    rows = []
    groups = [group for of_kind in _by_kind(runs).values() for group in matched(of_kind, differ=differ)]
    for group in groups:
        c = group[0].config
        steps = sorted({run.config["steps"] for run in group})
        rows.append(
            {
                "kind": kind(group[0]),
                "text": text(group[0]),
                "layers × width": f"{c['layers']} × {c['d_model']}",
                "blocks × tokens": f"{c['batch_size']} × {c['block_size']}",
                "steps": " to ".join(f"{n}" for n in dict.fromkeys((steps[0], steps[-1]))),
                "rate": as_rate(c["lr"]),
                "dropout": f"{c['dropout']:g}",
                "device": _device(group[0].about),
                "runs": len(group),
                "hours": sum(run.about["seconds"] for run in group) / 3600,
            }
        )
    return pd.DataFrame(rows)


def shortened(frame: pd.DataFrame) -> tuple[pd.DataFrame, str]:
    """A table without columns of text that are the same in all rows, and these in words: ``dropout 0; rate 0.1``."""
    words = [c for c in frame.columns if not pd.api.types.is_numeric_dtype(frame[c])]
    same = [c for c in words if len(frame) > 1 and frame[c].nunique() == 1]
    return frame.drop(columns=same), "; ".join(f"{c} {frame[c].iloc[0]}" for c in same)


def arm_table(runs: Sequence[Run]) -> pd.DataFrame:
    """One row per arm: seeds, and mean ± standard deviation over them of final loss and scores, as text."""
    rows = []
    for arm in sorted(arms(runs), key=_order):
        c = arm.config
        rows.append(
            {
                "kind": kind(arm.runs[0]),
                "objective": c["objective"],
                "start": c["init"] if c["constraint"] == "none" else f"{c['init']}, {c['constraint']} γ {c['gamma']:g}",
                "rate": as_rate(c["lr"]),
                "steps": c["steps"],
                "seeds": len(arm),
                "loss": _spread(arm.values(LOSS), 3),
                "s": _spread(arm.values("symmetry"), 2),
                "d": _spread(arm.values("directionality"), 2),
            }
        )
    return pd.DataFrame(rows)


def _by_kind(runs: Sequence[Run]) -> dict[str, list[Run]]:
    return {name: [run for run in runs if kind(run) == name] for name in sorted(set(map(kind, runs)))}


def _order(arm: Arm) -> tuple:
    c = arm.config
    return (kind(arm.runs[0]), c["objective"] != "mlm", c["objective"], c["lr"], c["constraint"], c["init"])


def _spread(values: pd.Series, digits: int) -> str:
    mean = number(values.mean(), digits)
    return f"{mean}\u00a0±\u00a0{number(values.std(), digits)}" if len(values) > 1 else mean  # on one line


def _device(about: dict[str, Any]) -> str:
    found = about["hardware"]
    return found.get("gpu") or f"{found['threads']} CPU core{'s' if found['threads'] > 1 else ''}"
