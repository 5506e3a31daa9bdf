"""What other tools leave in a folder is called by its name, with the way out; what is a run's model is called so."""

import json
import shutil

import pytest
import torch
from safetensors.torch import save_file
from small_models import small_model

from attngeo import open_checkpoint, score_table
from attngeo.errors import CheckpointError


def deepspeed(folder):
    (folder / "global_step10").mkdir()


def distributed(folder):
    (folder / "pytorch_model_fsdp_0").mkdir()
    (folder / "pytorch_model_fsdp_0" / "__0_0.distcp").touch()


def metas(folder):
    (folder / "params.json").touch()
    (folder / "consolidated.00.pth").touch()
    (folder / "config.json").unlink()


def megatrons(folder):
    (folder / "mp_rank_00").mkdir()


def timms(folder):
    (folder / "config.json").write_text(json.dumps({"architecture": "vit_tiny", "pretrained_cfg": {}}))


def two_files(folder):
    for name in "ab":
        save_file({name: torch.zeros(1)}, folder / f"{name}.safetensors")


FORMATS = {
    deepspeed: "global_step10.*zero_to_fp32.py",
    distributed: "__0_0.distcp.*dcp_to_torch_save",
    metas: "convert_llama_weights_to_hf.py",
    megatrons: "Megatron-LM",
    timms: "a checkpoint of timm .architecture 'vit_tiny'",
    two_files: "a.safetensors, b.safetensors.*name one of them, such as .*a.safetensors",
}


@pytest.mark.parametrize("leave", FORMATS, ids=lambda leave: leave.__name__)
def test_another_tool_is_named_with_the_way_out(leave, tmp_path, as_user):
    small_model("llama")().config.save_pretrained(tmp_path)
    leave(tmp_path)
    with pytest.raises(CheckpointError, match=FORMATS[leave]) as caught:
        open_checkpoint(tmp_path)
    assert "fetch" not in str(caught.value)


def test_a_type_that_a_folder_s_name_suggests_is_told_to_be_a_guess(tmp_path, as_user):
    folder = tmp_path / "my-bert"
    small_model("gpt2")().save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": None}))
    with pytest.raises(CheckpointError, match=r"h\.0\.attn\.c_attn\.weight.*'bert' was inferred from the name my-bert"):
        open_checkpoint(folder)


@pytest.fixture
def runs(tmp_path):
    for run in ("first", "second"):
        folder = tmp_path / "runs" / run
        for place in ("model", "checkpoints/checkpoint-7"):
            small_model("bert")().save_pretrained(folder / place)
        (folder / "run.json").write_text("{}")
    return tmp_path / "runs"


def test_a_run_s_model_is_named_after_the_run(runs, attngeo):
    assert {row.model for row in score_table(runs / "first" / "model")} == {"first"}
    assert open_checkpoint(runs / "second" / "checkpoints" / "checkpoint-7").name == "second/checkpoint-7"
    records = runs.parent / "records"
    attngeo("survey", runs / "first" / "model", runs / "second" / "model", "-o", records)
    assert sorted(path.name for path in records.iterdir()) == ["first", "second"]
    (runs / "first" / "run.json").unlink()
    assert open_checkpoint(runs / "first" / "model").name == "model"


def test_parts_of_one_model_without_their_index_are_called_so(tmp_path, as_user):
    small_model("bert")().save_pretrained(tmp_path)
    (tmp_path / "model.safetensors").rename(tmp_path / "model-00001-of-00002.safetensors")
    shutil.copy(tmp_path / "model-00001-of-00002.safetensors", tmp_path / "model-00002-of-00002.safetensors")
    with pytest.raises(
        CheckpointError, match=r"parts 1 to 2 of one model, but model\.safetensors\.index\.json is missing"
    ):
        open_checkpoint(tmp_path)


def test_the_root_of_the_file_system_is_no_checkpoint(as_user):
    with pytest.raises(CheckpointError, match=r"^/ has no config\.json"):
        open_checkpoint("/")
