"""The paper's printed scores beside ours: medians and quartile distances over layers, row by row, with a verdict."""

import numpy as np
import pandas as pd

from attngeo.checkout import data
from attngeo.errors import AttngeoError
from attngeo.published import table as printed_table

SCORES = ("symmetry", "directionality", "directionality_released", "directionality_tables")
PRINTED = (("S2", "symmetry"), *(("S3", score) for score in SCORES[1:]))  # table and the score set beside it


class RegistryError(AttngeoError):
    """``data/models.csv`` is missing or damaged."""


def registry() -> pd.DataFrame:
    """The models of the survey: ``data/models.csv``, one row per model and part.

    Columns name, hub_id, modality, family, objective, part, printed_as (names in Tables S2 and S3, separated by ``;``),
    weights_folder, licence, note; all text.

    Raises:
        RegistryError: the file cannot be read.
    """
    path = data("models.csv")
    try:
        return pd.read_csv(path, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise RegistryError(f"{path} cannot be read ({error}); restore it from the repository.") from None


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


def beside_printed(medians: pd.DataFrame, models: pd.DataFrame) -> pd.DataFrame:
    """Every printed row of Tables S2 and S3 for which weights were read, beside our numbers.

    Args:
        medians: from `layer_medians`; ``model`` holds the registry's name.
        models: from `registry`.

    Returns:
        Columns table, row, printed as, score, printed, ours (median [minus, plus] as text), verdict: ``reproduced``
        when the three numbers agree after rounding to the two printed decimals, else the largest difference.
    """
    rows = []
    for number, score in PRINTED:
        printed = printed_table(number)
        for model in models.itertuples():
            ours = medians[(medians["model"] == model.name) & (medians["part"] == model.part)]
            for name in filter(None, model.printed_as.split(";")) if len(ours) else ():
                values = ours.iloc[0][[score, f"{score}_minus", f"{score}_plus"]].to_numpy(float)
                for row in printed[printed["model"] == name].itertuples():
                    theirs = np.array([row.median, row.iqr_minus, row.iqr_plus])
                    rows.append(
                        {
                            "table": number,
                            "row": f"{row.side}{row.row}",
                            "printed as": name,
                            "score": score,
                            "printed": _triple(theirs),
                            "ours": _triple(values),
                            "verdict": _verdict(theirs, values),
                        }
                    )
    return pd.DataFrame(rows)


def _triple(values: np.ndarray) -> str:
    return f"{values[0]:.2f} [{values[1]:.2f}, {values[2]:.2f}]"


def _verdict(theirs: np.ndarray, ours: np.ndarray) -> str:
    gap = np.abs(np.round(ours, 2) - theirs).max()
    return "reproduced" if gap < 0.005 else f"differs by {gap:.2f}"
