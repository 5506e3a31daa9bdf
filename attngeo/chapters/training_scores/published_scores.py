"""The scores during training that the authors released, as a data frame."""

import pandas as pd

from attngeo.records.tables import read_table

_TRAINING = {"layers": int, "part": str, "dataset": str, "step": int} | dict.fromkeys(
    ("s", "s_q1", "s_q3", "s_min", "s_max", "d", "d_q1", "d_q3"), float
)


def released_training() -> pd.DataFrame:
    """Scores over training of the models behind Figures 3, S3 and S4, as the authors released them; one seed each.

    Returns:
        Columns layers (12 or 4), part (encoder or decoder), dataset (jigsaw, red_pajama, wikipedia), step (seven
        between 1000 and 200000), and over the layers of both scores: median (s, d), quartiles, of s also the extremes.
        Symmetry lies in [-1, 1]; directionality has the sign of Def. 3.2 and the released code's formula. An audit read
        them from the released files; this project has not read those itself.
    """
    return read_table("published/released_training.csv", _TRAINING)
