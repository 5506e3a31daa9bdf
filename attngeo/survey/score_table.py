"""Medians of scores over layers."""

import pandas as pd

from attngeo.bilinear.rows import SCORES


def layer_medians(layers: pd.DataFrame) -> pd.DataFrame:
    """Median over layers and the distances to the quartiles, as Tables S2 and S3 give them, of sums over heads.

    One row per model and part: n_layers and, for each score, ``<score>``, ``<score>_minus`` (median - Q1) and
    ``<score>_plus`` (Q3 - median). Quartiles are interpolated linearly.
    """
    medians = []
    for (model, part), group in layers.groupby(["model", "part"], sort=False):
        row = {"model": model, "part": part, "n_layers": len(group)}
        for score in SCORES:
            low, middle, high = group[score].quantile([0.25, 0.5, 0.75])  # of those that are scored
            row |= {score: middle, f"{score}_minus": middle - low, f"{score}_plus": high - middle}
        medians.append(row)
    return pd.DataFrame(medians)
