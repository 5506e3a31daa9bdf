"""Both plans on the two stages, judged: ``data/runs/read_out_first`` and ``data/positions_theory/one_sided.yml``."""

from collections.abc import Iterator
from enum import Enum

import pandas as pd

from attngeo.files.checkout import data
from attngeo.runs.estimates import Estimate, over_seeds

SYMMETRIC = 0.1  # s of W_qk, median over layers, above which it counts as symmetric
EVEN, NOT_EVEN, LOWER = 0.8, 0.5, -0.1  # what the plans ask of their intervals


class Outcome(Enum):
    """What the plans let their runs say."""

    HOLD = "the two stages hold here"
    REFUTED = "the two stages are refuted"
    UNDECIDED = "undecided"


def even_before(run: pd.DataFrame) -> float:
    """Evenness at the last checkpoint before s of W_qk passes `SYMMETRIC` for good; medians over layers, by step."""
    return float(run.loc[run["symmetry"] <= SYMMETRIC, "evenness"].iloc[-1])


def read_outs(table: pd.DataFrame) -> tuple[Estimate, Estimate]:
    """Evenness in encoders before W_qk is symmetric; evenness at the end, encoder less decoder by seed."""
    runs = dict(_by_run(table))
    seeds = sorted(seed for arm, seed in runs if arm == "encoder")
    before = [even_before(runs["encoder", seed]) for seed in seeds]
    last = [runs["encoder", s]["evenness"].iloc[-1] - runs["decoder", s]["evenness"].iloc[-1] for s in seeds]
    return over_seeds(before), over_seeds(last)


def read_outs_outcome(before: Estimate, last: Estimate) -> Outcome:
    """By the plan."""
    if before.low < NOT_EVEN or last.low <= 0 <= last.high:
        return Outcome.REFUTED
    return Outcome.HOLD if before.low > EVEN and last.low > 0 else Outcome.UNDECIDED


def one_sided(table: pd.DataFrame, stage: int, measure: str) -> Estimate:
    """A measure at the end of a stage, median over layers: left less both, by seed."""
    end = table[(table["stage"] == stage) & (table["step"] == table["step"].max())]
    medians = end.groupby(["seed", "window"])[measure].median().unstack()
    return over_seeds(medians["left"] - medians["both"])


def one_sided_outcome(symmetry: Estimate) -> Outcome:
    """By the plan, from s of P W_qk P^T at the end of stage 2."""
    if symmetry.high >= 0:
        return Outcome.REFUTED
    return Outcome.HOLD if symmetry.high < LOWER else Outcome.UNDECIDED


def recorded(name: str) -> pd.DataFrame:
    """A table of ``data/positions_theory``."""
    return pd.read_csv(data("positions_theory", name))


def _by_run(table: pd.DataFrame) -> Iterator[tuple[tuple[str, int], pd.DataFrame]]:
    for name, rows in table.groupby("run"):
        arm, _, seed = str(name).rpartition("-")
        yield (arm, int(seed)), rows.groupby("step").median(numeric_only=True)
