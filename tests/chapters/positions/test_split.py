"""The record of scores split by position space: whole, adding up, and the layers that stand out are in it."""

import json

import numpy as np
import pandas as pd
import pytest
import torch
from chapters.positions import MAIN, of_models
from chapters.positions.split import GAIN, WIDER, layer_splits, record_runs

from attngeo.bilinear.positions import position_space, split_score
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.errors import CheckpointError
from attngeo.experiments.training.bert import build_model, forms
from attngeo.experiments.training.choices import Shape


def test_the_recorded_parts_add_up_and_skew_positions_are_visible():
    table = of_models()
    assert set(table["variant"]) == {MAIN, WIDER, GAIN} and len(set(table["model"])) >= 9
    assert (table[["share", "share_outside", "share_mixed"]].sum(axis=1) - 1).abs().max() < 1e-5
    parts = table["share"] * table["inside"] + table["share_outside"] * table["outside"]
    assert (parts + table["share_mixed"] * table["mixed"] - table["symmetry"]).abs().max() < 1e-5
    main = table[table["variant"] == MAIN].set_index(["model", "layer"])
    assert main.loc[("BERT base radiology", 2), "inside"] < 0 < main.loc[("BERT base radiology", 2), "outside"]
    assert main.loc[("GPT-2", 0), "inside"] < 0 < main.loc[("GPT-2", 0), "outside"]


def test_the_record_is_that_of_the_weights(weights):
    path = weights / "rxnmapper-albert"
    checkpoint = open_checkpoint(path)
    again = list(layer_splits(checkpoint, checkpoint.plans[0], path))
    kept = of_models().query("model == 'RXNMapper' and layer == 0")
    assert [row["share"] for row in again] == pytest.approx(list(kept["share"]), abs=1e-4)


def test_models_of_an_experiment_are_split_by_the_rows_that_were_trained(tmp_path):
    config = {"positions": "learned", "block_size": 6}
    for kind in ("learned", "rotary"):
        folder = tmp_path / f"{kind}-0"
        model = build_model(Shape(2, 24, 3, 40, 14, 0.0, 60), False, positions=kind)
        model.save_pretrained(folder / "model")
        about = {"status": "finished", "config": config | {"positions": kind}}
        (folder / "run.json").write_text(json.dumps(about))
        if kind == "learned":
            rows = model.bert.embeddings.position_embeddings.weight[:6].double()
            expected = [split_score(form.to(torch.float64), position_space(rows)) for form in forms(model)]
    record_runs(tmp_path)
    table = pd.read_csv(tmp_path / "positions.csv")
    assert list(table["run"]) == ["learned-0"] * 2 and list(table["layer"]) == [0, 1]
    assert list(table["dimension"]) == [position_space(rows).shape[1]] * 2
    for name in ("symmetry", "share", "inside", "outside"):
        np.testing.assert_allclose(table[name], [float(getattr(split, name)) for split in expected], rtol=1e-5)
    with pytest.raises(CheckpointError, match="holds no run with its model/"):
        record_runs(tmp_path / "rotary-0")
