"""What random weights of a model's shape would score: bands for its layers and their median."""

import math

import numpy as np
import pandas as pd

from attngeo.forms.null_laws import Z95, directionality_null, symmetry_null
from attngeo.forms.random_matrices import directionality_sd
from attngeo.forms.scores import GAMMA, SUM, Convention


def null_bands(scores: pd.DataFrame, gamma: float = GAMMA) -> pd.DataFrame:
    """Bands of 95 % for random weights of the shapes in a score table: for layers, and for the median of a model's.

    Returns:
        One row per model and part: s_mean, s_layer, s_median, d_layer, d_median, d_tables_median (as in Table S3); a
        band is the mean (0 for d) plus and minus its half-width.
    """
    rows = []
    for (model, part), own in scores.groupby(["model", "part"], sort=False):
        layers = own[own["head"] == SUM]
        d, (rank, n) = int(layers["d_model"].iloc[0]), (int(layers["rank"].iloc[0]), len(layers))
        symmetry, directionality = symmetry_null(d, rank), directionality_null(d, rank, gamma)
        s, tables = Z95 * symmetry.sd, Z95 * directionality_sd(d, gamma, Convention.TABLES)
        t = float(np.quantile(directionality.distances, 0.95))  # not normal where the width is small
        # a median of n normal values spreads sqrt(pi / 2) times as wide as their mean; one layer is its own median
        shrink = math.sqrt(math.pi / 2 / n) if n > 1 else 1.0
        t_median = min(t, Z95 * directionality.sd * shrink) if n > 1 else t
        rows.append((model, part, symmetry.mean, s, s * shrink, t, t_median, tables * shrink))
    names = "model part s_mean s_layer s_median d_layer d_median d_tables_median"
    return pd.DataFrame(rows, columns=names.split())
