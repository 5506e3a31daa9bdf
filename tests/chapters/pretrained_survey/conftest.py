import pandas as pd
import pytest

from attngeo.forms.random_matrices import sample_forms
from attngeo.survey.score_table import SCORES


@pytest.fixture(scope="session")
def scores():
    """The long table of one model with random weights: 6 layers of 4 heads."""
    sample = sample_forms(4, 64, 16, 30, seed=3)
    rows = [
        {"model": "m", "part": "decoder", "layer": i, "head": head, "d_model": 64, "d_head": 16, "gamma": 2.0}
        | {name: float(getattr(sample, name)[i * 5 + head + 1]) for name in SCORES}
        | {"rank": 64 if head < 0 else 16}
        for i in range(6)
        for head in range(-1, 4)
    ]
    return pd.DataFrame(rows)
