"""Pretrained weights, where ATTNGEO_WEIGHTS names a folder of them, beside the medians that the paper prints."""

import os
from pathlib import Path

import pytest

from attngeo import open_checkpoint
from attngeo.survey.score_table import score_table

WEIGHTS = os.environ.get("ATTNGEO_WEIGHTS")
pytestmark = pytest.mark.skipif(not WEIGHTS, reason="ATTNGEO_WEIGHTS is not set: no pretrained weights to read")


def layers(name: str):
    folder = Path(WEIGHTS or "") / name
    if not folder.is_dir():
        pytest.skip(f"{name} is not under ATTNGEO_WEIGHTS")
    return score_table(open_checkpoint(folder), per_head=False)


def test_bert_tiny_layer_by_layer():
    table = layers("bert-tiny-google")
    assert table["symmetry"].round(5).tolist() == [0.61973, 0.91660]
    assert round(table["symmetry"].median(), 2) == 0.77  # Table S2


@pytest.mark.parametrize("name, printed", [("gpt2-small", 0.15), ("gpt-neo-125m", 0.14)])
def test_decoders_have_the_printed_median_symmetry(name, printed):
    table = layers(name)
    assert set(table["part"]) == {"decoder"} and len(table) == 12
    assert round(table["symmetry"].median(), 2) == printed  # Table S2


@pytest.mark.parametrize(
    "name, parts, heads",
    [
        ("whisper-base-encoder", ["encoder"] * 6, (8, 8)),
        ("bart-g2p-us", ["encoder", "decoder", "cross"], (1, 1)),
        ("stories260K", ["decoder"] * 5, (8, 4)),
    ],
)
def test_parts_and_grouping_of_the_others(name, parts, heads):
    assert layers(name)["part"].tolist() == parts
    forms = [layer.form for layer in open_checkpoint(Path(WEIGHTS or "") / name)]
    assert {(form.n_heads, form.n_kv_heads) for form in forms} == {heads}
