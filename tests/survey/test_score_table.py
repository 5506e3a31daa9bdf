import numpy as np
import pandas as pd
import pytest
import torch
import transformers as tf

from attngeo import directionality_score, open_checkpoint, symmetry_score
from attngeo.bilinear.rows import COLUMNS, SCORES
from attngeo.checkpoints.rows import score_table
from attngeo.survey.score_table import layer_medians

LLAMA = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 16, "vocab_size": 50}


@pytest.fixture
def folder(tmp_path):
    torch.manual_seed(0)
    tf.LlamaForCausalLM(tf.LlamaConfig(**LLAMA, num_key_value_heads=2)).double().save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def test_a_row_per_layer_and_per_head(folder):
    table = score_table(folder, gamma=1.5).to_dataframe()
    assert tuple(table.columns) == COLUMNS
    assert list(table["head"]) == [-1, 0, 1, 2, 3] * 2 and list(table["layer"]) == [0] * 5 + [1] * 5
    assert (table[["model", "revision", "part", "dtype"]] == ["tiny", "", "decoder", "float64"]).all(axis=None)
    assert (table[["d_model", "d_head", "gamma"]] == [32, 8, 1.5]).all(axis=None)
    assert table["source"].iloc[-1] == "model.safetensors:model.layers.1.self_attn"
    assert table[["layer", "head", "n_rows_over", "n_cols_over"]].dtypes.eq("int64").all()


def test_the_scores_are_those_of_the_dense_matrices(folder):
    table = score_table(folder, gamma=1.5).to_dataframe().set_index(["layer", "head"])
    for layer in open_checkpoint(folder):
        matrices = {-1: layer.form.dense(), **dict(enumerate(layer.form.heads()))}
        for head, m in matrices.items():
            row = table.loc[layer.layer, head]
            np.testing.assert_allclose(row["symmetry"], symmetry_score(m), atol=1e-10)
            np.testing.assert_allclose(row["directionality"], directionality_score(m, 1.5), atol=1e-10)


def test_medians_and_quartile_distances():
    values = pd.DataFrame({score: [0.0, 0.1, 0.2, 0.7, 1.0, np.nan] for score in SCORES})
    row = layer_medians(values.assign(model="m", part="decoder")).iloc[0]
    np.testing.assert_allclose([row.symmetry, row.symmetry_minus, row.symmetry_plus], [0.2, 0.1, 0.5])
    assert row.n_layers == 6
