"""What planned runs on positions share and what they do not (``notebooks/positions.py``): machines, loss, direction.

None of this decides a plan. It says how far two arms differ in more than their positions.
"""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy import stats

from attngeo.experiments.runs.circumstances import Made, in_words, made, made_alike
from attngeo.experiments.runs.measures import score_at_loss
from chapters.positions import AGAIN, ARMS, FIRST, KINDS, Judged, S
from attngeo.files.checkout import data
from attngeo.experiments.runs.arms import LOSS, PARTS, RECORDING, Arm, Contrast
from attngeo.experiments.runs.estimates import Estimate
from attngeo.experiments.runs.experiments import Status, recorded_runs
from attngeo.experiments.runs.numbers_in_words import as_score, extent, number, with_interval
from attngeo.experiments.runs.record import Run

LATER = (*AGAIN, "read_out_first")  # planned experiments with runs of the first setting that came after it
NO_RESULT = ("seed", "keep_checkpoints", *RECORDING)  # settings that may differ between runs of one setting


def made_table(experiments: Mapping[str, Judged]) -> pd.DataFrame:
    """A row per experiment, arm and way in which its runs were made."""
    rows = []
    for title, judgement in experiments.items():
        for arm in judgement.arms.values():
            ways = [made(run) for run in arm.runs]
            for way in dict.fromkeys(ways):
                model = f"{PARTS[arm.config['objective']]}, {KINDS[arm.config['positions']]}"
                rows.append({"runs": title, "model": model, "seeds": ways.count(way)} | way._asdict())
    merged = pd.DataFrame(rows).groupby(["runs", *Made._fields], sort=False)
    table = merged.agg(models=("model", "; ".join), number=("seeds", "sum")).reset_index()
    return table[["runs", "models", "number", *Made._fields]].rename(columns={"number": "number of runs"})


def unlike(experiments: Mapping[str, Judged]) -> str:
    """In which panels the runs differ in more than their positions, as sentences."""
    (mixed,) = [title for title, j in experiments.items() if not made_alike(j.arms[name] for name in ARMS)]
    (further,) = [t for t, j in experiments.items() if t != mixed and not made_alike(j.arms.values())]
    arms = experiments[further].arms
    usual = made(arms[ARMS[0]].runs[0])
    ways = [made(run) for name, arm in arms.items() if name not in ARMS for run in arm.runs]
    others = [way for way in ways if way.commit != usual.commit and way.precision != usual.precision]
    assert len(others) > len(ways) / 2  # "most"
    return (
        f"Within every panel except *{mixed}*, all runs with learned position embeddings or rotary positions"
        " used the same precision, type of processor and version of the code. In the panel"
        f" *{further}*, most of the runs with a bias or without positional encoding used other versions of the"
        " code and a different precision."
    )


def same_setting(arm: Arm) -> dict[str, list[Run]]:
    """Recorded runs with the settings and the text of an arm, by experiment: they differ in their seeds alone."""
    wanted = {key: value for key, value in arm.config.items() if key not in NO_RESULT}
    runs = recorded_runs(data("runs"), lambda config: wanted.items() <= config.items(), list(Status))
    found: dict[str, list[Run]] = {}
    for run in runs:
        if run.about["corpus"]["sha256"] == arm.runs[0].about["corpus"]["sha256"]:
            found.setdefault(run.name.partition("/")[0], []).append(run)
    return found


def same_setting_table(found: Mapping[str, list[Run]]) -> pd.DataFrame:
    """A row per experiment: seeds, mean, least and largest s after training, and with what its runs were made."""
    rows = []
    for experiment, runs in found.items():
        s = [run.last(S) for run in runs]
        rows.append(
            {"experiment": f"`{experiment}`", "seeds": len(runs), "mean s": float(np.mean(s))}
            | {"least to largest s": extent(s, lambda value: number(value, 2))}
            | in_words(runs)
        )
    return pd.DataFrame(rows).sort_values("mean s", ascending=False)


class Apart(NamedTuple):
    """s of two groups of runs that are not paired."""

    one: list[float]
    other: list[float]
    p: float  # the larger p of Welch's test and of the exact test of ranks, both two-sided


def apart(one: Iterable[Run], other: Iterable[Run]) -> Apart:
    """Compare s after training between two groups of runs."""
    ours, others = [run.last(S) for run in one], [run.last(S) for run in other]
    welch = stats.ttest_ind(ours, others, equal_var=False).pvalue
    ranks = stats.mannwhitneyu(ours, others, method="exact").pvalue
    return Apart(ours, others, float(max(welch, ranks)))


def first_against_later(found: Mapping[str, list[Run]]) -> Apart:
    """The seeds of the first plan against those of the planned experiments that came after it."""
    return apart(found[FIRST], [run for name in LATER for run in found[name]])


def by_processor(found: Mapping[str, list[Run]]) -> Apart:
    """Runs on the processor of the first plan, without those of that plan, against runs on any other processor."""
    processor = made(found[FIRST][0]).processor
    others = [run for name, runs in found.items() if name != FIRST and len(runs) > 1 for run in runs]
    same = [run for run in others if made(run).processor == processor]
    return apart(same, [run for run in others if made(run).processor != processor])


def directionality(judgement: Judged, positions: str) -> Estimate:
    """d of the encoder minus d of the decoder after training, at equal positions and seeds."""
    return Contrast(judgement.arms[f"mlm-{positions}"], judgement.arms[f"clm-{positions}"]).difference("directionality")


def directionality_table(experiments: Mapping[str, Judged]) -> pd.DataFrame:
    """A row per experiment: encoder minus decoder in d, with a table and with rotary positions."""
    return pd.DataFrame(
        {"runs": title, "seeds": len(judgement.arms[ARMS[0]])}
        | {words: with_interval(directionality(judgement, kind), as_score) for kind, words in _COLUMNS.items()}
        for title, judgement in experiments.items()
    )


_COLUMNS = {"learned": "learned position embeddings", "rotary": "rotary positions"}


def at_equal_loss(judgement: Judged, arm: str, other: str) -> pd.Series:
    """s of an arm where its held-out loss is that of the other arm at its end, by seed; NaN where it never is."""
    pairs = zip(judgement.arms[arm].runs, judgement.arms[other].runs, strict=True)
    return pd.Series([score_at_loss(run, end.last(LOSS)) for run, end in pairs], index=judgement.arms[arm].seeds)


def equal_loss_table(experiments: Mapping[str, Judged]) -> pd.DataFrame:
    """A row per experiment: final losses of both encoders, and s of each at the final loss of the other."""
    rows = []
    for title, judgement in experiments.items():
        table, rotary = (judgement.arms[name] for name in ("mlm-learned", "mlm-rotary"))
        rows.append(
            {"runs": title, "loss, learned": table.mean(LOSS), "loss, rotary": rotary.mean(LOSS)}
            | {"s, learned": _mean_reached(at_equal_loss(judgement, "mlm-learned", "mlm-rotary"))}
            | {"s, rotary": _mean_reached(at_equal_loss(judgement, "mlm-rotary", "mlm-learned"))}
        )
    return pd.DataFrame(rows)


def _mean_reached(s: pd.Series) -> str:
    reached = s.dropna()
    return f"{number(reached.mean(), 2)} ({len(reached)} of {len(s)} seeds)" if len(reached) else "never reached"
