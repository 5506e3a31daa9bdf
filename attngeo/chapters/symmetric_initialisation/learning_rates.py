"""The same arms at several learning rates: each at the rate that suits it best."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from attngeo.chapters.symmetric_initialisation.control_matrix import ARMS, BASELINE, Setting, free_runs, settings
from attngeo.runs.arms import RECORDING, final_loss, over_seeds
from attngeo.runs.record import Run, matched
from attngeo.runs.wording import as_nats, with_interval


def families(runs: Sequence[Run]) -> list[list[Setting]]:
    """Settings that differ in their largest learning rate only, two or more in a family, the lowest rate first.

    At one rate of a family at least, another start than the random one was run; at the others it may be alone.
    """
    comparable = {id(run) for setting in settings(runs) for run in setting.runs}
    grouped = []
    for group in matched(free_runs(runs), differ=("init", "seed", "lr", *RECORDING)):
        rates = sorted({run.config["lr"] for run in group})
        if len(rates) > 1 and any(id(run) in comparable for run in group):
            grouped.append([Setting(tuple(run for run in group if run.config["lr"] == lr)) for lr in rates])
    return grouped


def at_other_rates(tried: Sequence[Sequence[Setting]], main: Sequence[Setting]) -> list[Run]:
    """Runs of the families that the main settings belong to, these left out: a table of rates tells of them."""
    of_main = {id(run) for setting in main for run in setting.runs}
    families_of_main = [[r for s in family for r in s.runs] for family in tried]
    return [r for runs in families_of_main if any(id(x) in of_main for x in runs) for r in runs if id(r) not in of_main]


def best_rate(family: Sequence[Setting], arm: str) -> Setting | None:
    """The setting in which an arm ends lowest, seed by seed against the one with most seeds; none if it was not run."""
    tried = {setting: _ends(setting, arm) for setting in family if arm in setting.arms}
    if not tried:
        return None
    most = max(tried.values(), key=len)
    # a rate that shares no seed with it is not comparable
    gained = {setting: (ends - most).dropna().mean() for setting, ends in tried.items()}
    return min(tried, key=lambda setting: np.nan_to_num(gained[setting], nan=np.inf))


def rates_table(family: Sequence[Setting]) -> pd.DataFrame:
    """Per arm: final loss at each rate (seeds), the best, and its difference to the random start at that one's."""
    baseline = best_rate(family, BASELINE)
    rows = []
    for arm in ARMS:
        best = best_rate(family, arm)
        if best is None:
            continue
        row = {"start": arm}
        for setting in family:
            ends = _ends(setting, arm) if arm in setting.arms else ()
            row[f"loss at {setting.config['lr']:g}"] = f"{ends.mean():.3f} ({len(ends)})" if len(ends) else "–"
        row["best of these"] = f"{best.config['lr']:g}"
        row["difference, each at its best"] = "0" if arm == BASELINE else _difference(best, arm, baseline)
        rows.append(row)
    return pd.DataFrame(rows)


def _difference(best: Setting, arm: str, baseline: Setting) -> str:
    gaps = (_ends(best, arm) - _ends(baseline, BASELINE)).dropna()
    return with_interval(over_seeds(gaps.tolist()), as_nats) if len(gaps) else "no seed in common"


def _ends(setting: Setting, arm: str) -> pd.Series:
    """Last held-out loss of an arm, by seed."""
    return pd.Series({seed: final_loss(run) for seed, run in setting.arms[arm].items()})
