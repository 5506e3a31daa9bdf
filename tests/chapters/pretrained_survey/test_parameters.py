"""Parameters of the recorded models: stated, counted from a complete configuration, and refused otherwise."""

import json

import pandas as pd
import pytest
from chapters.pretrained_survey.parameters import (
    SizeError,
    counted_from_config,
    recorded_parameters,
    released_parameters,
)
from chapters.pretrained_survey.sizes import of_equal_size, rank_correlation

BERT_BASE = {"model_type": "bert", "hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 12}
BERT_BASE |= {"num_attention_heads": 12, "vocab_size": 30522, "max_position_embeddings": 512, "type_vocab_size": 2}


def written(folder, config):
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def test_counting_from_a_configuration_gives_what_the_authors_file_states(tmp_path):
    counted = counted_from_config(written(tmp_path, BERT_BASE))
    assert counted == released_parameters()["bert-base-uncased"] == recorded_parameters()["BERT base radiology"]


def test_a_configuration_that_leaves_a_size_out_is_refused_by_its_name(tmp_path):
    incomplete = {key: value for key, value in BERT_BASE.items() if key != "intermediate_size"}
    with pytest.raises(SizeError, match="does not state intermediate_size"):
        counted_from_config(written(tmp_path, incomplete))
    with pytest.raises(SizeError, match="model type bart"):
        counted_from_config(written(tmp_path, {"model_type": "bart"}))


def test_encoders_are_compared_with_decoders_of_at_most_twice_or_half_their_parameters():
    models = pd.DataFrame(
        [("a", "encoder", 100.0, 0.5), ("b", "decoder", 200.0, 0.6), ("c", "decoder", 49.0, 0.1)],
        columns=["model", "part", "parameters", "s"],
    )
    pairs = of_equal_size(models)
    assert pairs["model of decoder"].tolist() == ["b"] and pairs["difference"].tolist() == pytest.approx([-0.1])
    growing = pd.DataFrame({"part": "encoder", "parameters": [1.0, 10.0, 100.0], "s": [0.1, 0.2, 0.3]})
    assert rank_correlation(growing, "encoder") == pytest.approx(1)
