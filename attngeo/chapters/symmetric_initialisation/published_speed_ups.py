"""Speed-ups that the paper's text states, and the loss curves that its authors released, as data frames."""

import pandas as pd

from attngeo.records.tables import read_table

_CURVES = {"layers": int, "part": str, "dataset": str} | dict.fromkeys(
    (
        "loss_base",
        "loss_symmetric",
        "first_crossing_percent",
        "persistent_percent",
        "smoothed_percent",
        "baseline_itself_percent",
    ),
    float,
)
_SPEED_UPS = {"source": str, "place": str, "layers": "Int64", "speed_up_percent": float}


def speed_ups_in_text() -> pd.DataFrame:
    """The speed-ups that sentences of the paper and of its web page state: source, place, layers, speed_up_percent."""
    return read_table("published/speed_ups_in_text.csv", _SPEED_UPS)


def released_curves() -> pd.DataFrame:
    """Final losses and speed-ups of the authors' 24 released loss curves, a pair of runs in a row.

    Returns:
        Columns layers, part (encoder or decoder), dataset, final training losses of the random and of the symmetric
        start, and in percent of the run: first_crossing (as Table 1 is made), persistent (from where on the loss stays
        below), smoothed (the same after a mean over 5,000 steps), and baseline_itself (how early the baseline first
        undercuts its own end). NaN where the end is never reached. An audit read them from the released file; this
        project has not read that itself.
    """
    return read_table("published/released_curves.csv", _CURVES)
