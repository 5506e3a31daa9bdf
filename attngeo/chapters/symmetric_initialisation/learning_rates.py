"""The same arms at several learning rates: each at the rate that suits it best."""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.symmetric_initialisation.control_matrix import (
    BASELINE,
    STARTS,
    ControlMatrix,
    experiments,
    free_runs,
)
from attngeo.runs.arms import LOSS, RECORDING, Arm, Contrast, matched
from attngeo.runs.numbers_in_words import as_nats, as_rate, with_interval
from attngeo.runs.record import Run


def families(runs: Sequence[Run]) -> list[list[ControlMatrix]]:
    """Experiments that differ in their largest learning rate only, two or more in a family, the lowest rate first.

    At one rate of a family at least, another start than the random one was run; at the others it may be alone.
    """
    comparable = {run for experiment in experiments(runs) for run in experiment.runs}
    grouped = []
    for group in matched(free_runs(runs), differ=("init", "seed", "lr", *RECORDING)):
        rates = sorted({run.config["lr"] for run in group})
        if len(rates) > 1 and comparable & set(group):
            grouped.append([ControlMatrix(tuple(run for run in group if run.config["lr"] == lr)) for lr in rates])
    return grouped


def at_other_rates(tried: Sequence[Sequence[ControlMatrix]], main: Sequence[ControlMatrix]) -> list[Run]:
    """Runs of the families that the main experiments belong to, these left out: a table of rates tells of them."""
    of_main = {run for experiment in main for run in experiment.runs}
    of_families = [[run for experiment in family for run in experiment.runs] for family in tried]
    return [run for runs in of_families if of_main & set(runs) for run in runs if run not in of_main]


def best_rate(family: Sequence[ControlMatrix], start: str) -> ControlMatrix | None:
    """The one in which a start ends lowest, seed by seed against the one with most seeds; none if it was not run."""
    tried = [experiment for experiment in family if start in experiment.arms]
    if not tried:
        return None
    most = max((experiment.arms[start] for experiment in tried), key=len)

    def gained(experiment: ControlMatrix) -> float:
        """Infinite for a rate that shares no seed with it, which is not comparable."""
        return (experiment.arms[start].values(LOSS) - most.values(LOSS)).dropna().mean()

    return min(tried, key=lambda e: g if (g := gained(e)) == g else float("inf"))


def rates_table(family: Sequence[ControlMatrix]) -> pd.DataFrame:
    """Per start: final loss at each rate (seeds), the best, and its difference to the random start at that one's."""
    baseline = best_rate(family, BASELINE)
    rows = []
    for start in STARTS:
        best = best_rate(family, start)
        if best is None:
            continue
        row = {"start": start}
        for experiment in family:
            arm = experiment.arms.get(start)
            row[f"loss at {as_rate(experiment.config['lr'])}"] = f"{arm.mean(LOSS):.3f} ({len(arm)})" if arm else "–"
        row["best of these"] = as_rate(best.config["lr"])
        row["difference, each at its best"] = (
            "0" if start == BASELINE else _difference(best.arms[start], baseline.arms[BASELINE])
        )
        rows.append(row)
    return pd.DataFrame(rows)


def _difference(arm: Arm, baseline: Arm) -> str:
    if not set(arm.seeds) & set(baseline.seeds):
        return "no seed in common"
    return with_interval(Contrast(arm, baseline).difference(), as_nats)
