import json
import re
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
import torch
from edited_files import edit_json
from small_models import small_model

from attngeo import BilinearForm, open_checkpoint, symmetry_score
from attngeo.bilinear.coherence import head_coherence
from attngeo.bilinear.pictures import picture
from attngeo.bilinear.rows import SCORES
from attngeo.errors import CheckpointError
from attngeo.experiments.survey import record as module
from attngeo.experiments.survey.measured import layer_medians, measured, named, read_quantised, read_records
from attngeo.experiments.survey.models import registry
from attngeo.experiments.survey.quantisation import SCHEMES
from attngeo.experiments.survey.record import Model, RecordError, is_recorded, record_folder, survey_model
from attngeo.files.checkout import data


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A random two-layer BERT, saved as a user saves one."""
    folder = tmp_path_factory.mktemp("models") / "tiny-bert"
    torch.manual_seed(0)
    small_model("bert")().save_pretrained(folder)
    return Model("tiny", str(folder))


def test_a_record_holds_what_was_measured(model, tmp_path):
    """Scores, heads, provenance and pictures come back as they were."""
    folder = survey_model(model, tmp_path)
    table = read_records(tmp_path)
    assert folder == tmp_path / "tiny-bert"
    assert len(table) == 2 * (1 + 4)
    layers = table[table["head"] == -1].sort_values("layer")
    expected = [symmetry_score(layer.form) for layer in open_checkpoint(model.source)]
    np.testing.assert_allclose(layers["symmetry"], expected, atol=1e-8)
    adding_up = pd.read_csv(folder / "coherence.csv")
    expected = [head_coherence(layer.form.to(torch.float64)).skew for layer in open_checkpoint(model.source)]
    np.testing.assert_allclose(adding_up["coherence_skew"], expected, atol=1e-6)
    assert {"coherence_symmetric", "coin_rank", "symmetry_of_heads"} <= {*adding_up}
    record = json.loads((folder / "record.json").read_text())
    assert record["model_type"] == "bert" and len(record["sha256"]["model.safetensors"]) == 64
    with np.load(folder / "images.npz") as pictures:
        assert pictures["encoder-1"].shape == (32, 32)


def test_rounded_weights_are_recorded_where_asked_for(model, tmp_path):
    folder = survey_model(model, tmp_path)
    assert not (folder / "quantised.csv").exists() and not is_recorded(model, tmp_path, quantise=True)
    with pytest.raises(RecordError, match="--quantise"):
        read_quantised(tmp_path)
    survey_model(model, tmp_path, quantise=True)
    assert is_recorded(model, tmp_path, quantise=True) and is_recorded(model, tmp_path)
    rounded, table = read_quantised(tmp_path), read_records(tmp_path)
    assert len(rounded) == 2 * len(SCHEMES) and set(rounded["scheme"]) == set(SCHEMES)
    whole = table[table["head"] == -1].set_index("layer")["symmetry"]
    gaps = (rounded.set_index("layer")["symmetry"] - whole.reindex(rounded["layer"])).abs()
    assert 0 < gaps.max() < 0.05
    survey_model(model, tmp_path)
    assert not (folder / "quantised.csv").exists() and not is_recorded(model, tmp_path, quantise=True)


def test_an_interrupted_survey_leaves_the_former_record(model, tmp_path):
    folder = survey_model(model, tmp_path)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    for step in ("write_text", "write_provenance"):
        with patch.object(module, step, side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
            survey_model(model, tmp_path, gamma=1.0)
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    assert list(tmp_path.iterdir()) == [folder]


def test_of_a_model_recorded_twice_the_one_from_the_hub_stays():
    table = pd.DataFrame({"model": ["gpt2-small", "openai-community/gpt2", "stories260K", "mine"], "layer": range(4)})
    assert named(table)["model"].tolist() == ["GPT-2", "stories260K", "mine"]
    assert named(table)["layer"].tolist() == [1, 2, 3]


def test_a_damaged_record_is_one_sentence_and_an_unfinished_one_is_passed_over(model, tmp_path):
    folder = survey_model(model, tmp_path, quantise=True)
    for read, name in ((read_records, "layers.csv"), (read_quantised, "quantised.csv")):
        whole = (folder / name).read_text()
        for old, new, word in (
            ("symmetry,", "symmetries,", "symmetries"),
            (",0,-1,32", ",first,-1,32", "first"),
            (whole, "", ""),
        ):
            assert old in whole
            (folder / name).write_text(whole.replace(old, new, 1))
            with pytest.raises(RecordError, match=f"^[^\n]*{name}[^\n]*{word}[^\n]*survey[^\n]*$"):
                read(tmp_path)
    (folder / "record.json").unlink()
    with pytest.raises(RecordError, match=re.escape(str(tmp_path))):
        read_records(tmp_path)


def test_measured_takes_paths_and_refuses_another_gamma_without_weights(model, tmp_path, monkeypatch):
    monkeypatch.delenv("ATTNGEO_WEIGHTS", raising=False)
    survey_model(model, tmp_path)
    assert set(measured([], folder=tmp_path)["origin"]) == {"record"}
    live = measured([model.source], gamma=1.0, folder=tmp_path)
    assert set(live["origin"]) == {"weights"} and set(live["gamma"]) == {1.0}
    with pytest.raises(RecordError, match="ATTNGEO_WEIGHTS"):
        measured([], gamma=1.0, folder=tmp_path)


def test_a_picture_is_that_of_the_dense_matrix():
    """Made some rows at a time, it equals the whole matrix pooled at once, whatever the width."""
    torch.manual_seed(0)
    for d, side in ((61, 20), (40, 40), (33, 64)):
        form = BilinearForm(torch.randn(2, d, 5), torch.randn(1, d, 5))
        levels, peak = picture(form, side)
        k = -(-d // side)
        n = d // k
        blocks = form.dense()[: n * k, : n * k].reshape(n, k, n, k).permute(0, 2, 1, 3).reshape(n, n, -1)
        strongest = blocks.gather(2, blocks.abs().argmax(2, keepdim=True)).squeeze(2)
        expected = (strongest / peak).clamp(-1, 1) * 127
        assert np.abs(levels - expected.numpy()).max() <= 0.51


def test_a_finished_record_is_known_by_threshold_and_revision(model, tmp_path):
    assert not is_recorded(model, tmp_path)
    folder = survey_model(model, tmp_path)
    assert folder == record_folder(model.source, tmp_path)
    assert record_folder("org/name", tmp_path) == tmp_path / "org--name"
    assert is_recorded(model, tmp_path)
    assert not is_recorded(model, tmp_path, gamma=1.0)
    assert not is_recorded(replace(model, revision="v2"), tmp_path)
    for damaged in ("{", '{"gamma": 2.0, "quantised": null}'):
        (folder / "record.json").write_text(damaged)
        assert not is_recorded(model, tmp_path)


def test_a_record_of_one_file_tells_its_weights(model, tmp_path):
    file = replace(model, source=f"{model.source}/model.safetensors")
    folder = survey_model(file, tmp_path)
    assert is_recorded(file, tmp_path) and is_recorded(model, tmp_path)
    edit_json(folder / "record.json", sha256={})  # as of a Hub id of that name
    elsewhere = replace(file, elsewhere=True)
    assert not is_recorded(file, tmp_path) and is_recorded(elsewhere, tmp_path)
    with pytest.raises(CheckpointError, match="ATTNGEO_WEIGHTS"):
        survey_model(elsewhere, tmp_path)
    with pytest.raises(RecordError, match="of other weights than those of"):
        survey_model(file, tmp_path)


def test_the_recorded_survey_is_whole():
    """Every recorded model is registered, and its layers are complete and finite."""
    table = read_records(data("survey"))
    assert {path.parent.name for path in data("survey").glob("*/record.json")} == {
        model.weights_folder for model in registry()
    } - {""}
    assert not table.isna().any(axis=None)
    for _, rows in table.groupby(["model", "part"]):
        assert sorted(set(rows["layer"])) == list(range(rows["layer"].max() + 1))
    assert table["symmetry"].between(-1, 1).all() and table["directionality"].between(-1, 1).all()


def test_medians_and_quartile_distances():
    values = pd.DataFrame({score: [0.0, 0.1, 0.2, 0.7, 1.0, np.nan] for score in SCORES})
    row = layer_medians(values.assign(model="m", part="decoder")).iloc[0]
    np.testing.assert_allclose([row.symmetry, row.symmetry_minus, row.symmetry_plus], [0.2, 0.1, 0.5])
    assert row.n_layers == 6
