"""The paper's printed scores beside ours: medians and quartile distances over layers, row by row, with a verdict."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from attngeo.published import table as printed_table

SCORES = ("symmetry", "directionality", "directionality_released", "directionality_tables")


def layer_medians(layers: pd.DataFrame) -> pd.DataFrame:
    """Median over layers and the distances to the quartiles, as Tables S2 and S3 give them.

    Args:
        layers: the long score table, rows with head = -1 (sums over heads).

    Returns:
        One row per model and part: n_layers and, for each score, ``<score>``, ``<score>_minus`` (median - Q1) and
        ``<score>_plus`` (Q3 - median). Quartiles are interpolated linearly.
    """
    rows = []
    for (model, part), group in layers.groupby(["model", "part"], sort=False):
        row = {"model": model, "part": part, "n_layers": len(group)}
        for score in SCORES:
            low, middle, high = np.percentile(group[score], [25, 50, 75])
            row |= {score: middle, f"{score}_minus": middle - low, f"{score}_plus": high - middle}
        rows.append(row)
    return pd.DataFrame(rows)


@dataclass(frozen=True)
class PrintedRow:
    """One printed row beside ours: median, median - Q1, Q3 - median."""

    row: str  # place in the table: "L34" is the 34th row on the left
    printed_as: str
    theirs: np.ndarray
    ours: np.ndarray


def printed_rows(number: str, score: str, medians: pd.DataFrame, models: pd.DataFrame) -> list[PrintedRow]:
    """The printed rows of Table ``number`` for which weights were read, beside our ``score``.

    Args:
        number: "S2" or "S3".
        score: one of SCORES.
        medians: from `layer_medians`; ``model`` holds the registry's name.
        models: from `attngeo.registry.registry`.
    """
    printed, rows = printed_table(number), []
    for model in models.itertuples():
        ours = medians[(medians["model"] == model.name) & (medians["part"] == model.part)]
        if ours.empty:
            continue
        values = ours.iloc[0][[score, f"{score}_minus", f"{score}_plus"]].to_numpy(float)
        for row in printed[printed["model"].isin(model.printed_as.split(";"))].itertuples():
            theirs = np.array([row.median, row.iqr_minus, row.iqr_plus])
            rows.append(PrintedRow(f"{row.side}{row.row}", row.model, theirs, values))
    return rows


def beside_printed(number: str, scores: dict[str, str], medians: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Every printed row for which weights were read, beside our numbers, with a verdict for each way to score.

    Args:
        number: "S2" or "S3".
        scores: heading -> one of SCORES.
        medians: from `layer_medians`; ``model`` holds the registry's name.
        models: from `attngeo.registry.registry`.

    Returns:
        Columns row, model, printed, and for each heading our median [minus, plus] and a verdict: ``reproduced`` when
        the three numbers agree after rounding to the two printed decimals, else the largest difference.
    """
    columns = {heading: printed_rows(number, score, medians, models) for heading, score in scores.items()}
    first = next(iter(columns.values()))
    frame = pd.DataFrame(
        {
            "row": [r.row for r in first],
            "model": [r.printed_as for r in first],
            "printed": [_triple(r.theirs) for r in first],
        }
    )
    for heading, rows in columns.items():
        frame[heading] = [f"{_triple(r.ours)}: {_verdict(r.theirs, r.ours)}" for r in rows]
    return frame


def _triple(values: np.ndarray) -> str:
    return f"{values[0]:.2f} [{values[1]:.2f}, {values[2]:.2f}]"


def _verdict(theirs: np.ndarray, ours: np.ndarray) -> str:
    gap = np.abs(np.round(ours, 2) - theirs).max()
    return "reproduced" if gap < 0.005 else f"differs by {gap:.2f}"
