import json
import shutil
from pathlib import Path
from unittest import mock

import pytest
import torch
from edited_files import edit_json

from attngeo.checkpoints.architectures import ARCHITECTURES
from attngeo.checkpoints.opening import open_checkpoint
from attngeo.errors import ParameterError
from attngeo.experiments.survey.record import Model, record_folder
from attngeo.experiments.survey.run import chosen_models, require_registered, survey

TINY = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 8, "vocab_size": 11}


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    """Six random models as a user keeps them, each in a folder."""
    from transformers import BertConfig, BertModel

    folder = tmp_path_factory.mktemp("weights")
    torch.manual_seed(0)
    for i in range(6):
        BertModel(BertConfig(num_hidden_layers=3, **TINY)).save_pretrained(folder / f"m{i}")
    return folder


@pytest.fixture
def three(weights, tmp_path, monkeypatch):
    """A folder of three models, the second of which is damaged; ATTNGEO_WEIGHTS names it."""
    folder = tmp_path / "weights"
    (folder / "m1").mkdir(parents=True)
    (folder / "m1" / "config.json").write_text('{"model_type": "bert"}')
    for name in ("m0", "m2"):
        (folder / name).symlink_to(weights / name)
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(folder))
    return folder


@pytest.fixture
def same_name(weights, tmp_path):
    """Two models in folders of one name, as runs leave theirs."""
    for i in (0, 1):
        shutil.copytree(weights / f"m{i}", tmp_path / f"run{i}" / "model")
    return [tmp_path / f"run{i}" / "model" for i in (0, 1)]


def recorded(folder: Path) -> dict[str, float]:
    return {p.parent.name: p.stat().st_mtime_ns for p in folder.glob("*/record.json")}


def test_a_model_that_fails_is_told_and_resume_tries_it_again(three, tmp_path, attngeo):
    folder = tmp_path / "records"
    code, out, err = attngeo("survey", "-o", folder)
    assert code == 2 and len(err.splitlines()) == 2 and "m1 has no weights" in err and ": m1: " not in err
    assert err.splitlines()[-1].startswith("attngeo: 1 of 3 models could not be recorded; ")
    assert set(before := recorded(folder)) == {"m0", "m2"} and len(out.splitlines()) == 2
    (folder / "m2" / "record.json").unlink()
    code, out, err = attngeo("survey", "-o", folder, "--resume")
    assert code == 2 and "1 of 3 models already have a record" in err
    assert out.splitlines() == [str(folder / "m2")] and recorded(folder)["m0"] == before["m0"]
    code, out, _ = attngeo("survey", three / "m0", "-o", folder, "--resume", "--gamma", 1)
    assert code == 0 and recorded(folder)["m0"] > before["m0"]  # another threshold is another record


def test_two_models_of_one_record_are_refused_together(same_name, tmp_path, refused):
    said = refused("survey", *same_name, "-o", tmp_path / "records")
    assert all(str(folder) in said for folder in same_name) and not (tmp_path / "records").exists()
    (same_name[0] / "step1.safetensors").touch()
    files = [same_name[0] / name for name in ("model.safetensors", "step1.safetensors")]
    assert "step1.safetensors would both be recorded" in refused("survey", *files, "-o", tmp_path / "records")
    with pytest.raises(ParameterError, match="both be recorded"):
        chosen_models(("owner/name@v1", "owner/name@v2"))


@pytest.mark.parametrize("resume", [[], ["--resume"]])
def test_the_record_of_another_model_stays(same_name, tmp_path, attngeo, resume):
    folder = tmp_path / "records"
    assert attngeo("survey", same_name[0], "-o", folder)[0] == 0
    before = recorded(folder)
    code, out, err = attngeo("survey", same_name[1], "-o", folder, *resume)
    assert (code, out) == (2, "") and recorded(folder) == before
    assert f"{folder / 'model'} contains the finished record of other weights than those of {same_name[1]}" in err
    code, out, err = attngeo("survey", same_name[0], "-o", folder, *resume)
    assert code == 0 and ("1 of 1 models already have a record" in err) == bool(resume)
    assert (recorded(folder) == before) == bool(resume)


def test_only_models_of_the_register_are_recorded_in_the_checkout_unasked(weights, tmp_path, refused, monkeypatch):
    mine = tmp_path / "mine" / "bert-tiny-google"
    shutil.copytree(weights / "m0", mine)
    for named in (mine, "any/id"):
        said = refused("survey", named)
        assert f"{named} is not in the built-in list" in said and "with -o" in said
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(mine.parent))
    for names in (("BERT-tiny", "GPT-2"), (str(mine),)):
        require_registered(chosen_models(names), tmp_path)


def test_rounded_weights_are_asked_for_and_quiet_says_nothing(weights, tmp_path, attngeo):
    assert attngeo("survey", weights / "m0", "-o", tmp_path, "-q") == (0, "", "")
    for expected in (f"{tmp_path / 'm0'}\n", ""):
        code, out, _ = attngeo("survey", weights / "m0", "-o", tmp_path, "--quantise", "--resume")
        assert (code, out) == (0, expected) and (tmp_path / "m0" / "quantised.csv").is_file()


@mock.patch.dict(ARCHITECTURES)
def test_workers_give_the_same_records_as_one_process(weights, tmp_path, attngeo):
    pytest.importorskip("distributed")
    other, mine = shutil.copytree(weights / "m1", tmp_path / "m1"), tmp_path / "mine.yml"
    edit_json(other / "config.json", model_type="another")  # which workers must be told
    stack = '{part: encoder, module: "encoder.layer.{}.attention.self", query: query, key: key}'
    mine.write_text(f"- model_types: [another]\n  stacks: [{stack}]\n")
    for folder, options in (("here", []), ("workers", ["--workers", 1])):
        call = ("survey", weights / "m0", other, "--register", mine, "-o", tmp_path / folder, *options)
        code, out, _ = attngeo(*call)
        ARCHITECTURES.pop("another")
        assert code == 0 and sorted(out.splitlines()) == [str(tmp_path / folder / name) for name in ("m0", "m1")]
    for file in ("layers.csv", "heads.csv", "images.npz"):
        here, there = (tmp_path / folder / "m0" / file for folder in ("here", "workers"))
        assert here.read_bytes() == there.read_bytes()
    assert (tmp_path / "here/m0/layers.csv").read_text().count("\n") == 1 + len(open_checkpoint(weights / "m0"))
    record = json.loads((tmp_path / "here/m0/record.json").read_text())
    opened = open_checkpoint(weights / "m0")
    assert record["bytes_read"] == 3 * 2 * 16 * 16 * 4
    assert (record["left_out"], record["remarks"]) == (opened.left_out, opened.remarks)


def test_any_exception_of_one_model_leaves_the_others_their_records(weights, tmp_path):
    def fail_at_m0(checkpoint, done):
        if checkpoint.name == "m0":
            raise AttributeError("a bug")

    asked = [Model(name, str(weights / name)) for name in ("m0", "m1")]
    outcome = {model.name: end for model, end in survey(asked, tmp_path, 2.0, on_layer=fail_at_m0)}
    assert f"{outcome['m0']}" == "m0 failed with AttributeError: a bug" and outcome["m1"] == tmp_path / "m1"
    assert [path.name for path in tmp_path.iterdir()] == ["m1"]


def test_a_folder_that_is_no_record_is_not_replaced(weights, tmp_path, attngeo):
    """Here the records would lie beside the weights, and the record of a model would take the place of its weights."""
    mine = shutil.copytree(weights / "m0", tmp_path / "m0")
    code, _, err = attngeo("survey", mine, "-o", tmp_path)
    assert code == 2 and f"{mine} would be replaced" in err and "it contains config.json" in err
    assert {path.name for path in mine.iterdir()} == {path.name for path in (weights / "m0").iterdir()}


def test_names_ids_addresses_paths_and_groups_become_models(weights, tmp_path, monkeypatch):
    monkeypatch.delenv("ATTNGEO_WEIGHTS", raising=False)
    (tiny,) = chosen_models(("BERT-tiny", "google/bert_uncased_L-2_H-128_A-2"))
    assert tiny.source == "google/bert_uncased_L-2_H-128_A-2"
    link, path = tmp_path / "link", f"{weights / 'm0'}"
    link.symlink_to(path)
    assert chosen_models((path, f"{path}/", str(link))) == [Model(path, path)]  # by whatever link
    assert len(chosen_models(("gpt2-medium",), "gpt")) == len(chosen_models((), "gpt"))
    address = "https://huggingface.co/owner/name/tree/v1"
    for name, revision in {address: "v1", "huggingface.co/owner/name?library=x": "", "owner/name@v1": "v1"}.items():
        assert chosen_models((name,)) == [Model(name, "owner/name", revision)]
    assert record_folder(f"{address}/sub", tmp_path) == tmp_path / "owner--name--sub"
    shutil.copytree(weights / "m0", tmp_path / "bert-tiny-google")
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(tmp_path))
    assert chosen_models(("BERT-tiny",)) == [Model("BERT-tiny", str(tmp_path / "bert-tiny-google"))]


def test_the_list_reads_nothing(attngeo, monkeypatch):
    monkeypatch.delenv("ATTNGEO_WEIGHTS", raising=False)
    code, out, err = attngeo("survey", "--list")
    assert (code, err) == (0, "") and "  figure-s2 " in out and "L34" in out and "recorded" in out
    code, out, _ = attngeo("survey", "--list", "--group", "llama-3.1")
    assert code == 0 and len(out.splitlines()) == 3 and "gated" in out


def test_bad_input_is_one_sentence(refused, tmp_path, monkeypatch):
    monkeypatch.delenv("ATTNGEO_WEIGHTS", raising=False)
    for arguments, named in (
        (["--group", "nothing"], "no group 'nothing'"),
        (["--list", "nothing"], "no model 'nothing'"),
        ([], "ATTNGEO_WEIGHTS is not set"),
    ):
        assert named in refused("survey", *arguments)
    monkeypatch.setenv("ATTNGEO_WEIGHTS", str(tmp_path))
    assert "contains no checkpoints" in refused("survey")
