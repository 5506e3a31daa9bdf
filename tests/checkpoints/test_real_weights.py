"""Pretrained weights, where ATTNGEO_WEIGHTS names a folder of them, beside their records and the paper's medians."""

import pandas as pd
import pytest

from attngeo import open_checkpoint, score_table
from attngeo.files.checkout import data


@pytest.mark.parametrize(
    "name, heads, printed",
    [
        ("bert-tiny-google", (2, 2), 0.77),
        ("gpt2-small", (12, 12), 0.15),
        ("gpt-neo-125m", (12, 12), 0.14),
        ("whisper-base-encoder", (8, 8), None),
        ("bart-g2p-us", (1, 1), None),
        ("stories260K", (8, 4), None),
    ],
)
def test_scores_are_those_recorded_and_their_median_the_printed_one(weights, name, heads, printed):
    if not (weights / name).is_dir():
        pytest.skip(f"{name} is not under ATTNGEO_WEIGHTS")
    checkpoint, recorded = open_checkpoint(weights / name), pd.read_csv(data("survey", name, "layers.csv"))
    assert {(layer.form.n_heads, layer.form.n_kv_heads) for layer in checkpoint} == {heads}
    table = score_table(checkpoint, per_head=False).to_dataframe()
    assert table["part"].tolist() == recorded["part"].tolist()
    assert table["symmetry"].tolist() == pytest.approx(recorded["symmetry"].tolist(), abs=1e-5)
    assert printed in (None, round(table["symmetry"].median(), 2))  # Table S2
