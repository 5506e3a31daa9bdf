"""The control matrix in tables and words: losses, speed-ups, what each change is worth, and Table 1 beside it."""

from collections.abc import Sequence

import pandas as pd

from attngeo.chapters.symmetric_initialisation.control_matrix import (
    AGAINST_RANDOM,
    BASELINE,
    CONTRASTS,
    Comparison,
    Contrast,
    Setting,
    between_random_starts,
    compare,
    comparisons,
)
from attngeo.paper import published
from attngeo.runs import estimates as measure
from attngeo.runs.wording import as_nats, as_percent, extent, with_interval

RELEASED = CONTRASTS[0]
_SHORT = {
    measure.HELPS: "**lower**",
    measure.HURTS: "**higher**",
    measure.NO_DIFFERENCE: "within noise",
    measure.TOO_FEW: "too few seeds",
}
SPACED_IN_THE_PAPER = ("Wikipedia", "Red Pajama")  # as an audit of the released code found


def matrix_table(setting: Setting, window: int = measure.WINDOW) -> pd.DataFrame:
    """One row per arm against the random start on the seeds of both: losses, difference, speed-ups, verdict.

    In brackets: what two random starts of different seeds show over each other (`between_random_starts`).
    """
    for_good, crossings = between_random_starts(setting, window)
    own = float(setting.held_out(BASELINE).iloc[-1].mean())
    rows = [
        {
            "start": BASELINE,
            "seeds": len(setting.arms[BASELINE]),
            "final loss": own,
            "random's": own,
            "difference": "0",
            "speed-up": f"({extent(for_good, as_percent)})",
            "first crossing, training loss": f"({extent(crossings, as_percent)})",
            "verdict": "baseline",
        }
    ]
    for c in comparisons(setting, AGAINST_RANDOM, window):
        rows.append(
            {
                "start": c.contrast.arm,
                "seeds": c.seeds,
                "final loss": c.loss,
                "random's": c.loss_against,
                "difference": with_interval(c.difference, as_nats),
                "speed-up": with_interval(c.speed_up, as_percent),
                "first crossing, training loss": spread(c.first_crossings),
                "verdict": c.verdict,
            }
        )
    return pd.DataFrame(rows)


def contrast_table(settings: Sequence[Setting]) -> pd.DataFrame:
    """One row per contrast: in each setting the difference of final losses and what it says, as text."""
    rows = []
    for contrast in CONTRASTS:
        row = {"pair": f"{contrast.arm} less {contrast.against}"}
        for setting in settings:
            found = comparisons(setting, [contrast])
            row[setting.label] = (
                " ".join(f"{with_interval(c.difference, as_nats)} {_SHORT[c.verdict]}" for c in found) or "–"
            )
        rows.append(row)
    return pd.DataFrame(rows)


def tally(settings: Sequence[Setting], contrasts: Sequence[Contrast]) -> str:
    """How contrasts end over settings, in words: ``lower in 1, higher in 0, and within the noise in 3 of 4``."""
    outcomes = [c.verdict for setting in settings for c in comparisons(setting, contrasts)]
    known = [outcome for outcome in outcomes if outcome != measure.TOO_FEW]
    if not known:
        return "not decided, for want of seeds"
    return (
        f"lower in {known.count(measure.HELPS)}, higher in {known.count(measure.HURTS)}, and within the noise between "
        f"seeds in {known.count(measure.NO_DIFFERENCE)} of {len(known)} comparisons"
    )


def differences(settings: Sequence[Setting], contrast: Contrast) -> str:
    """A contrast in all settings that have it, each with its name if several are given, or ``not run``.

    The name is the text alone where all settings are encoders, or decoders.
    """
    alike = len({setting.part for setting in settings}) == 1
    found = [(s.text if alike else s.label, c) for s in settings for c in comparisons(s, [contrast])]
    words = [with_interval(c.difference, as_nats) for _, c in found]
    if len(settings) > 1:
        words = [f"{label} {word}" for (label, _), word in zip(found, words, strict=True)]
    return "; ".join(words) or "not run"


def table_1_beside_ours(settings: Sequence[Setting]) -> pd.DataFrame:
    """Every pair of rows of Table 1, with the released curves and the nearest setting of ours.

    Args:
        settings: the main ones; the encoder on characters or on plain text is the nearest, as the paper's text was.
    """
    printed = published.table("1")
    base, symmetric = (printed[printed["symmetric_init"] == tied] for tied in (False, True))
    pairs = base[["layers", "dataset", "loss"]].merge(
        symmetric.drop(columns="symmetric_init"), on=["layers", "dataset"]
    )
    curves = published.released_curves()
    pairs = pairs.merge(curves[curves["part"] == "encoder"], on=["layers", "dataset"])
    encoders = {s.text: s for s in settings if s.part == "encoder"}
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
                "our nearest runs": text,
                "speed-up there": _nearest(encoders.get(text)),
                "verdict": "not run at this size",
            }
        )
    return pd.DataFrame(rows)


def what_was_run(settings: Sequence[Setting]) -> pd.DataFrame:
    """One row per setting: size, runs, what is missing, hours, machine."""
    return pd.DataFrame(
        [
            {
                "setting": setting.label,
                "size": setting.size,
                "runs": len(setting.runs),
                "missing": ", ".join(setting.missing) or "nothing",
                "hours": sum(run.about["seconds"] for run in setting.runs) / 3600,
                "machine": ", ".join(sorted({run.about["hardware"]["cpu"] for run in setting.runs})),
            }
            for setting in settings
        ]
    )


def spread(values: Sequence[float]) -> str:
    """Percentages from the smallest to the largest, each once."""
    return ", ".join(dict.fromkeys(as_percent(v) for v in sorted(values)))


def _nearest(setting: Setting | None) -> str:
    if setting is None or not setting.has(RELEASED):
        return "not run"
    found: Comparison = compare(setting, RELEASED)
    return with_interval(found.speed_up, as_percent)
