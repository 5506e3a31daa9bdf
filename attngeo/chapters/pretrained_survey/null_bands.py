"""What random weights of a model's shape would score: a band for its layers and a narrower one for its median."""

import math

import pandas as pd

from attngeo.chapters.pretrained_survey.auc import Z95
from attngeo.forms.random_matrices import directionality_sd, sample_forms, symmetry_mean, symmetry_sd
from attngeo.forms.scores import GAMMA, Convention

ENOUGH_ROWS = 256  # from here on `random_matrices.directionality_sd` is accurate; smaller forms are simulated


def null_bands(scores: pd.DataFrame, gamma: float = GAMMA, draws: int = 40, seed: int = 0) -> pd.DataFrame:
    """Bands of 95 % for layers with independent normal weights, and for the median of as many layers as the model has.

    Args:
        scores: the long score table, layers (head = -1) and heads together.
        gamma: threshold of directionality, Def. 3.2.
        draws: simulated layers where no formula is accurate.
        seed: of these.

    Returns:
        One row per model and part: s_mean, s_layer, s_median, d_layer, d_median, and d_tables_median (as in Table
        S3, by formula); a band is the mean (0 for d) plus and minus its half-width.
    """
    rows, simulated = [], {}
    for (model, part), own in scores.groupby(["model", "part"], sort=False):
        layers = own[own["head"] == -1]
        d, d_head = int(layers["d_model"].iloc[0]), int(layers["d_head"].iloc[0])
        heads = max(1, round((own["head"] >= 0).sum() / len(layers)))
        if d >= ENOUGH_ROWS:
            spread = directionality_sd(d, gamma)
        else:
            if (heads, d, d_head) not in simulated:
                sample = sample_forms(heads, d, d_head, draws, seed, gamma)
                simulated[heads, d, d_head] = sample.directionality.std().item()
            spread = simulated[heads, d, d_head]
        # a median of n normal values spreads sqrt(pi / 2) times as wide as their mean; one layer is its own median
        shrink = min(1.0, math.sqrt(math.pi / 2 / len(layers)))
        s, t = Z95 * symmetry_sd(d), Z95 * spread
        tables = Z95 * directionality_sd(d, gamma, Convention.TABLES) * shrink
        rows.append((model, part, symmetry_mean(d), s, s * shrink, t, t * shrink, tables))
    names = "model part s_mean s_layer s_median d_layer d_median d_tables_median"
    return pd.DataFrame(rows, columns=names.split())
