"""Pretrained weights, where ATTNGEO_WEIGHTS names a folder of them, beside the medians that the paper prints."""

import pytest

from attngeo import open_checkpoint, score_table


@pytest.fixture
def checkpoint(weights):
    """Opens one of the models by the name of its folder."""

    def opened(name):
        if not (weights / name).is_dir():
            pytest.skip(f"{name} is not under ATTNGEO_WEIGHTS")
        return open_checkpoint(weights / name)

    return opened


def test_bert_tiny_layer_by_layer(checkpoint):
    table = score_table(checkpoint("bert-tiny-google"), per_head=False).to_dataframe()
    assert table["symmetry"].round(5).tolist() == [0.61973, 0.91660]
    assert round(table["symmetry"].median(), 2) == 0.77  # Table S2


@pytest.mark.parametrize("name, printed", [("gpt2-small", 0.15), ("gpt-neo-125m", 0.14)])
def test_decoders_have_the_printed_median_symmetry(checkpoint, name, printed):
    table = score_table(checkpoint(name), per_head=False).to_dataframe()
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
def test_parts_and_grouping_of_the_others(checkpoint, name, parts, heads):
    layers = list(checkpoint(name))
    assert [layer.part for layer in layers] == parts
    assert {(layer.form.n_heads, layer.form.n_kv_heads) for layer in layers} == {heads}
