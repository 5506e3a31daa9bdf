"""The same arms at several learning rates: each at the rate that suits it best."""

from collections.abc import Sequence

import pandas as pd

from attngeo import speed_up as measure
from attngeo.control_matrix import ARMS, BASELINE, Setting, settings
from attngeo.run_groups import RECORDING
from attngeo.run_record import Run, matched
from attngeo.wording import as_nats, with_interval


def families(runs: Sequence[Run]) -> list[list[Setting]]:
    """Settings that differ in their largest learning rate only, two or more in a family, the lowest rate first."""
    found = {id(run): setting for setting in settings(runs) for run in setting.runs}
    grouped = []
    for group in matched([run for run in runs if id(run) in found], differ=("init", "seed", "lr", *RECORDING)):
        members = {found[id(run)].config["lr"]: found[id(run)] for run in group}
        if len(members) > 1:
            grouped.append([members[lr] for lr in sorted(members)])
    return grouped


def best_rate(family: Sequence[Setting], arm: str) -> Setting | None:
    """The setting in which an arm ends lowest, on the mean over its seeds; none where it was not run."""
    tried = [setting for setting in family if arm in setting.arms]
    return min(tried, key=lambda s: _ends(s, arm).mean()) if tried else None


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
    ends, base = _ends(best, arm), _ends(baseline, BASELINE)
    seeds = ends.index.intersection(base.index)
    if not len(seeds):
        return "no seed in common"
    pair = (ends[seeds].to_numpy()[:, None], base[seeds].to_numpy()[:, None])
    return with_interval(measure.final_difference(*pair), as_nats)


def _ends(setting: Setting, arm: str) -> pd.Series:
    """Last held-out loss of an arm, by seed."""
    return setting.held_out(arm).iloc[-1]
