"""The control matrix in tables and words: losses, speed-ups, what each change is worth, and Table 1 beside it."""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.symmetric_initialisation import crossings, published_speed_ups
from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AGAINST_RANDOM,
    BASELINE,
    PAIRS,
    RELEASED,
    ControlMatrix,
    StartPair,
    between_random_starts,
)
from attngeo.paper import published
from attngeo.runs import estimates
from attngeo.runs.arms import LOSS
from attngeo.runs.numbers_in_words import as_nats, as_percent, extent, with_interval

_SHORT = {
    estimates.HELPS: "**lower**",
    estimates.HURTS: "**higher**",
    estimates.NO_DIFFERENCE: "within noise",
    estimates.TOO_FEW: "too few seeds",
}
SPACED_IN_THE_PAPER = ("Wikipedia", "Red Pajama")  # as an audit of the released code found


def matrix_table(experiment: ControlMatrix, window: int = crossings.WINDOW) -> pd.DataFrame:
    """One row per arm against the random start on the seeds of both: losses, difference, speed-ups, verdict.

    In brackets: what two random starts of different seeds show over each other (`between_random_starts`).
    """
    for_good, touches = between_random_starts(experiment, window)
    baseline = experiment.arms[BASELINE]
    rows = [
        {
            "start": BASELINE,
            "seeds": len(baseline),
            "final loss": baseline.mean(LOSS),
            "random's": baseline.mean(LOSS),
            "difference": "0",
            "speed-up": f"({extent(for_good, as_percent)})",
            "first crossing, training loss": f"({extent(touches, as_percent)})",
            "verdict": "baseline",
        }
    ]
    for pair, contrast in experiment.contrasts(AGAINST_RANDOM).items():
        rows.append(
            {
                "start": pair.start,
                "seeds": len(contrast),
                "final loss": contrast.first.mean(LOSS),
                "random's": contrast.second.mean(LOSS),
                "difference": with_interval(contrast.difference(), as_nats),
                "speed-up": with_interval(crossings.speed_up_of(contrast, window), as_percent),
                "first crossing, training loss": spread(crossings.first_crossings(contrast)),
                "verdict": contrast.outcome(),
            }
        )
    return pd.DataFrame(rows)


def contrast_table(experiments: Sequence[ControlMatrix]) -> pd.DataFrame:
    """One row per pair of starts: in each experiment the difference of final losses and what it says, as text."""
    rows = []
    for pair in PAIRS:
        row = {"pair": pair.name}
        for experiment in experiments:
            found = experiment.contrasts([pair]).get(pair)
            row[experiment.label] = (
                f"{with_interval(found.difference(), as_nats)} {_SHORT[found.outcome()]}" if found else "–"
            )
        rows.append(row)
    return pd.DataFrame(rows)


def tally(experiments: Sequence[ControlMatrix], pairs: Sequence[StartPair]) -> str:
    """How contrasts end over experiments, in words: ``lower in 1 and within the noise between seeds in 3 of 4
    comparisons``.
    """
    outcomes = [c.outcome() for experiment in experiments for c in experiment.contrasts(pairs).values()]
    known = [outcome for outcome in outcomes if outcome != estimates.TOO_FEW]
    if not known:
        return "not decided, for want of seeds"
    words = {
        estimates.HELPS: "lower",
        estimates.HURTS: "higher",
        estimates.NO_DIFFERENCE: "within the noise between seeds",
    }
    found = {word: known.count(outcome) for outcome, word in words.items() if outcome in known}
    if len(found) > 1:
        counted = [f"{word} in {n}" for word, n in found.items()]
        return f"{', '.join(counted[:-1])} and {counted[-1]} of {len(known)} comparisons"
    (word,) = found
    count = {1: "the one comparison there is", 2: "both comparisons"}.get(len(known), f"all {len(known)} comparisons")
    return f"{word} in {count}"


def differences(experiments: Sequence[ControlMatrix], pair: StartPair) -> str:
    """A pair of starts in all experiments that have it, each with its name if several are given, or ``not run``.

    The name is the text alone where all experiments are encoders, or decoders.
    """
    alike = len({e.part for e in experiments}) == 1
    found = [(e.text if alike else e.label, c) for e in experiments for c in e.contrasts([pair]).values()]
    words = [with_interval(c.difference(), as_nats) for _, c in found]
    if len(experiments) > 1:
        words = [f"{label} {word}" for (label, _), word in zip(found, words, strict=True)]
    return "; ".join(words) or "not run"


def table_1_beside_ours(experiments: Sequence[ControlMatrix]) -> pd.DataFrame:
    """Every pair of rows of Table 1, with the released curves and our encoders on such text."""
    printed = published.printed_table("1")
    base, symmetric = (printed[printed["symmetric_init"] == tied] for tied in (False, True))
    pairs = base[["layers", "dataset", "loss"]].merge(
        symmetric.drop(columns="symmetric_init"), on=["layers", "dataset"]
    )
    curves = published_speed_ups.released_curves()
    pairs = pairs.merge(curves[curves["part"] == "encoder"], on=["layers", "dataset"])
    encoders = {e.text: e for e in experiments if e.part == "encoder"}
    rows = []
    for pair in pairs.itertuples():
        text = "characters" if pair.dataset in SPACED_IN_THE_PAPER else "plain text"
        rows.append(
            {
                "row": f"{pair.layers} layers, {pair.dataset}",
                "loss, random": f"{pair.loss_x:.3f}",
                "loss, symmetric": f"{pair.loss_y:.3f}",
                "speed-up": f"{pair.speed_up_percent:.0f} %",
                "for good": "never" if pd.isna(pair.persistent_percent) else f"{pair.persistent_percent:.0f} %",
                "our earlier runs": text,
                "speed-up there": _nearest(encoders.get(text)),
                "verdict": "not run with as much text",
            }
        )
    return pd.DataFrame(rows)


def what_was_run(experiments: Sequence[ControlMatrix]) -> pd.DataFrame:
    """One row per experiment: size, runs, what is missing, hours, machine."""
    return pd.DataFrame(
        [
            {
                "setting": experiment.label,
                "size": experiment.size,
                "runs": len(experiment.runs),
                "missing": ", ".join(experiment.missing) or "nothing",
                "hours": sum(run.about["seconds"] for run in experiment.runs) / 3600,
                "machine": ", ".join(sorted({run.about["hardware"]["cpu"] for run in experiment.runs})),
            }
            for experiment in experiments
        ]
    )


def spread(values: Sequence[float]) -> str:
    """Percentages from the smallest to the largest, one for each seed."""
    return ", ".join(map(as_percent, sorted(values)))


def _nearest(experiment: ControlMatrix | None) -> str:
    found = experiment.contrasts([RELEASED]) if experiment else {}
    return with_interval(crossings.speed_up_of(found[RELEASED]), as_percent) if found else "not run"
