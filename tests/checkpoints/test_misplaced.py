import argparse
import os
import shutil

import pytest
import torch
from safetensors.torch import load_file
from small_models import small_model

from attngeo import open_checkpoint
from attngeo.cli import main


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    torch.manual_seed(0)
    folder = tmp_path_factory.mktemp("models") / "tiny"
    small_model("bert")().save_pretrained(folder)
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    (tmp_path / "x").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path / "x"


def file(name: str, text: str = "x"):
    """A folder that holds a file of that name."""

    def make(here, saved) -> None:
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(text)

    return make


def without(name: str, *folders: str):
    """Copies of the checkpoint that lack a file."""

    def make(here, saved) -> None:
        for folder in folders:
            shutil.copytree(saved, here / folder, ignore=shutil.ignore_patterns(name), dirs_exist_ok=True)

    return make


def of_another_name(here, saved) -> None:
    without("model.safetensors", ".")(here, saved)
    for name in ("a", "b"):
        shutil.copy(saved / "model.safetensors", here / f"{name}.safetensors")


def lightning(state):
    """A checkpoint of Lightning with the model's config beside it."""

    def make(here, saved) -> None:
        shutil.copy(saved / "config.json", here)
        weights = load_file(saved / "model.safetensors")
        whole = {"state_dict": {f"model.{name}": t for name, t in weights.items()}, "hyper_parameters": state}
        torch.save(whole | {"epoch": 3, "optimizer_states": []}, here / "epoch=3.ckpt")

    return make


INSTEAD = {  # what is there, what is given, what the sentence says
    "an adapter": (file("adapter_config.json", "{}"), "x", "attngeo score BASE --adapter x"),
    "a run": (without("", "checkpoints/checkpoint-9", "checkpoints/checkpoint-10", "model"), "x", "score x/model"),
    "a run not finished": (without("", "checkpoints/checkpoint-9", "checkpoints/checkpoint-10"), "x", "checkpoint-10"),
    "no config for a file": (without("config.json", "."), "x/model.safetensors", "config.json"),
    "two models": (of_another_name, "x", "no weights of a usual name"),
    "Lightning, with objects": (lightning(argparse.Namespace(lr=1)), "x/epoch=3.ckpt", "safetensors"),
    "an ONNX file": (file("model.onnx"), "x/model.onnx", ".safetensors"),
    "a trainer's state": (file("optimizer.pt"), "x", "save_pretrained"),
}


@pytest.mark.parametrize("make, given, said", INSTEAD.values(), ids=INSTEAD)
def test_what_is_no_checkpoint_ends_in_one_sentence_with_the_way_out(make, given, said, here, saved, capsys, as_user):
    make(here, saved)
    before = sorted(here.parent.rglob("*"))
    with pytest.raises(SystemExit) as stopped:
        main(["score", given, "-o", "scores.csv"])
    out, err = capsys.readouterr()
    assert stopped.value.code == 2 and out == "" and err.count("\n") == 1 and err.startswith("attngeo: ")
    assert said in err
    assert sorted(here.parent.rglob("*")) == before


def test_a_checkpoint_of_lightning_is_read_where_its_config_is_there(here, saved):
    lightning({"lr": 1e-3})(here, saved)
    for given in (here, here / "epoch=3.ckpt"):
        for a, b in zip(open_checkpoint(given), open_checkpoint(saved), strict=True):
            assert torch.equal(a.form.wq, b.form.wq) and torch.equal(a.form.wk, b.form.wk)


def test_a_trainer_s_own_files_are_no_weights(here, saved):
    without("", ".")(here, saved)
    os.rename(here / "model.safetensors", here / "mine.bin")  # found as the only one, whatever it is called
    torch.save(load_file(saved / "model.safetensors"), here / "mine.bin")
    torch.save({}, here / "training_args.bin")
    assert len(open_checkpoint(here)) == 2
