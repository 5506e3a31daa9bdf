"""Rows of scores as a data frame, and medians over layers."""

from collections.abc import Iterable

import numpy as np
import pandas as pd

from attngeo.checkpoints.layers import Checkpoint
from attngeo.forms.scores import GAMMA
from attngeo.survey.rows import COLUMNS, SCORES, layer_rows


def score_table(checkpoint: Checkpoint, gamma: float = GAMMA, per_head: bool = True) -> pd.DataFrame:
    """``s`` (Def. 3.1) and ``d`` (Def. 3.2) of every layer's summed form, and of every head's form.

    One row per (part, layer, head) with the columns `attngeo.survey.rows.COLUMNS`; head -1 is the sum over heads.
    ``source`` names the weight file and the attention module in it.

    Raises:
        CheckpointError: a tensor cannot be read or is not finite.
        ParameterError: gamma is not a finite number >= 0.
    """
    rows = [row for layer in checkpoint for row in layer_rows(checkpoint, layer, gamma, per_head)]
    return as_table(rows)


def as_table(rows: Iterable[dict]) -> pd.DataFrame:
    """Rows of `layer_rows` as a table with the columns in order."""
    return pd.DataFrame(list(rows), columns=list(COLUMNS))


def layer_medians(layers: pd.DataFrame) -> pd.DataFrame:
    """Median over layers and the distances to the quartiles, as Tables S2 and S3 give them, of sums over heads.

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
