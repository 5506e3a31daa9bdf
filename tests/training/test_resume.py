import errno
import io
import json
import os
import shutil
import signal
from dataclasses import asdict
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file
from small_runs import assert_same_curve, curve, small_config, write_text

from attngeo.cli import main
from attngeo.files.manifest import MANIFEST
from attngeo.runs.record import RunError, read_run
from attngeo.training import train as train_module
from attngeo.training.corpora.registry import open_corpus
from attngeo.training.corpora.vocabulary import open_vocabulary
from attngeo.training.recorder import Recorder, TrainingStopped
from attngeo.training.run_folder import saved_config
from attngeo.training.train import RecordedTrainer, train


@pytest.fixture(scope="module")
def unbroken(text, tmp_path_factory):
    return train(small_config(text), tmp_path_factory.mktemp("unbroken") / "run")


class Killed(BaseException):
    """Nothing in the package may catch it: as a kill, it leaves things as they are."""


def killed_at(step):
    def listen(row):
        if row["step"] == step:
            raise Killed

    return listen


@pytest.mark.parametrize("step", [6, 8, 11])
def test_a_killed_run_resumes_to_the_curve_of_an_unbroken_one(text, unbroken, tmp_path, step):
    """Checkpoints at 5 and 10, records at 3, 6, 9: sums of losses between records survive, and so does dropout."""
    folder = tmp_path / "run"
    with pytest.raises(Killed):
        train(small_config(text), folder, listen=killed_at(step))
    assert read_run(folder).about["status"] == "running"
    heard = []
    resumed = train(small_config(text), folder, resume=True, listen=heard.append)
    assert heard[0]["step"] == (6 if step < 10 else 11)
    assert_same_curve(unbroken, resumed)
    assert not (folder / "checkpoints").exists()


def test_all_checkpoints_are_kept_where_asked_for_and_compared(text, unbroken, tmp_path, capsys):
    run = train(small_config(text, checkpoint_every=3, keep_checkpoints=True), tmp_path / "run")
    assert_same_curve(unbroken, run)
    with pytest.raises(SystemExit) as stopped:
        main(["diff", str(tmp_path / "run"), "--format", "csv"])
    assert not stopped.value.code
    found = pd.read_csv(io.StringIO(capsys.readouterr().out))
    ends = [Path(name).name for name in found["checkpoint"].unique()]
    assert ends == [f"checkpoint-{step}" for step in range(3, run.about["steps_done"], 3)] + ["model"]
    assert (found.groupby("layer")["relative_change"].max() > 0).all()


def test_a_run_can_be_killed_again_and_again(text, unbroken, tmp_path):
    for step in (6, 7, 11):
        with pytest.raises(Killed):
            train(small_config(text), tmp_path / "run", resume=step > 6, listen=killed_at(step))
    assert_same_curve(unbroken, train(small_config(text), tmp_path / "run", resume=True))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_finishes_the_step_and_leaves_a_checkpoint(text, unbroken, tmp_path, number):
    before = signal.getsignal(number)

    def listen(row):
        if row["step"] == 7:
            os.kill(os.getpid(), number)

    with pytest.raises(TrainingStopped, match="--resume") as stopped:
        train(small_config(text), tmp_path / "run", listen=listen)
    assert stopped.value.exit_code == 128 + number
    assert signal.getsignal(number) == before
    assert read_run(tmp_path / "run").about["status"] == "interrupted"
    assert_same_curve(unbroken, train(small_config(text), tmp_path / "run", resume=True))


@pytest.mark.parametrize("owner, name", [(Recorder, "finish"), (train_module, "drop_checkpoints")])
def test_a_run_is_finished_once_its_model_is_written(text, unbroken, tmp_path, monkeypatch, owner, name):
    """Killed after its last step: while the model is written, or while the checkpoints are removed."""

    def dies(*given):
        (tmp_path / "run" / "model" / "model.safetensors").write_bytes(b"half") if owner is Recorder else None
        raise Killed

    monkeypatch.setattr(owner, name, dies)
    with pytest.raises(Killed):
        train(small_config(text), tmp_path / "run")
    assert read_run(tmp_path / "run").about["status"] == ("running" if owner is Recorder else "finished")
    monkeypatch.undo()
    assert_same_curve(unbroken, train(small_config(text), tmp_path / "run", resume=True))
    expected = train(small_config(text), tmp_path / "whole") and load_file(tmp_path / "whole/model/model.safetensors")
    found = load_file(tmp_path / "run/model/model.safetensors")
    assert all(torch.equal(found[key], expected[key]) for key in expected) and found.keys() == expected.keys()
    assert not (tmp_path / "run" / "checkpoints").exists()


def test_a_checkpoint_that_was_not_completed_is_passed_over(text, unbroken, tmp_path):
    folder = tmp_path / "run"
    with pytest.raises(Killed):
        train(small_config(text), folder, listen=killed_at(11))
    (folder / "checkpoints" / "checkpoint-10" / MANIFEST).unlink()  # as if killed while it was written
    (folder / "checkpoints" / "checkpoint-10" / "model.safetensors").write_bytes(b"half")
    assert_same_curve(unbroken, train(small_config(text), folder, resume=True))


@pytest.fixture(scope="module")
def cut_off(text, tmp_path_factory):
    """A run killed after its second checkpoint."""
    folder = tmp_path_factory.mktemp("cut") / "run"
    with pytest.raises(Killed):
        train(small_config(text), folder, listen=killed_at(11))
    return folder


def altered(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    "file, damage",
    [("optimizer.pt", altered), ("rng_state.pth", os.remove), ("recording.json", altered), ("scores.parquet", altered)],
)
def test_a_damaged_checkpoint_is_passed_over_and_named(text, unbroken, cut_off, tmp_path, caplog, file, damage):
    folder = shutil.copytree(cut_off, tmp_path / "run")
    damage(folder / "checkpoints" / "checkpoint-10" / file)
    (folder / "history.parquet").write_bytes(b"damaged too; the checkpoint has its own")
    heard = []
    assert_same_curve(unbroken, train(small_config(text), folder, resume=True, listen=heard.append))
    assert heard[0]["step"] == 6
    assert f"checkpoint-10 is unfinished or damaged ({file}" in caplog.text


@pytest.mark.parametrize("content", ["{", None], ids=["damaged", "gone"])
def test_a_run_json_that_cannot_be_read_is_restored_from_the_last_checkpoint(
    text, unbroken, cut_off, tmp_path, content
):
    folder = shutil.copytree(cut_off, tmp_path / "run")
    (folder / "run.json").unlink()
    if content:
        (folder / "run.json").write_text(content)
    assert saved_config(folder) == asdict(small_config(text))
    assert (folder / "run.json").read_bytes() == (folder / "checkpoints/checkpoint-10/run.json").read_bytes()
    assert_same_curve(unbroken, train(small_config(text), folder, resume=True))


def test_a_run_json_that_nothing_restores_is_named_with_a_way_out(tmp_path):
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(RunError, match=r"run\.json is damaged.*another folder"):
        saved_config(tmp_path)
    assert (tmp_path / "run.json").read_text() == "{"


def test_a_run_without_a_whole_checkpoint_or_with_other_settings_is_refused(text, cut_off, tmp_path):
    folder = shutil.copytree(cut_off, tmp_path / "run")
    about = json.loads((folder / "run.json").read_text())
    about["config"]["seed"] = 1
    (folder / "run.json").write_text(json.dumps(about))
    with pytest.raises(RunError, match="seed is 1"):
        train(small_config(text, seed=1), folder, resume=True)
    for model in folder.glob("checkpoints/*/model.safetensors"):
        altered(model)
    with pytest.raises(RunError, match="checkpoint"):
        train(small_config(text, seed=1), folder, resume=True)


def test_a_batch_that_memory_cannot_hold_is_refused_before_it_is_taken(text, tmp_path):
    with pytest.raises(RunError, match="micro_batch"):
        train(small_config(text, batch_size=2**20, block_size=2**12), tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("what", ["corpus", "tokenizer"])
def test_a_run_is_not_continued_on_text_that_has_changed(text, tmp_path, what):
    own = write_text(tmp_path / "text.txt")
    vocabulary = open_vocabulary("trained", open_corpus(str(own)), size=80)
    vocabulary.tokenizer.save(str(tmp_path / "tokenizer.json"))
    config = small_config(own, tokenizer=str(tmp_path / "tokenizer.json"))
    with pytest.raises(Killed):
        train(config, tmp_path / "run", listen=killed_at(6))
    if what == "corpus":
        own.write_text(own.read_text() + "\n\nanother document")
    else:
        vocabulary.tokenizer.add_tokens(["another"])
        vocabulary.tokenizer.save(str(tmp_path / "tokenizer.json"))
    with pytest.raises(RunError, match=what):
        train(config, tmp_path / "run", resume=True)


def test_a_run_killed_before_its_first_checkpoint_says_so(text, tmp_path):
    with pytest.raises(Killed):
        train(small_config(text), tmp_path / "run", listen=killed_at(2))
    with pytest.raises(RunError, match=r"no whole checkpoint.* --checkpoint-every"):
        train(small_config(text), tmp_path / "run", resume=True)


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_record(text, unbroken, tmp_path, monkeypatch):
    real = RecordedTrainer.compute_loss

    def spoiled(self, model, inputs, *rest, **options):
        if self.state.global_step == 7:
            next(iter(model.parameters())).data.fill_(float("inf"))
        return real(self, model, inputs, *rest, **options)

    monkeypatch.setattr(RecordedTrainer, "compute_loss", spoiled)
    with pytest.raises(TrainingStopped, match=r"step 8\b.*\blr\b.*step 6\b"):
        train(small_config(text), tmp_path / "run")
    found = read_run(tmp_path / "run")
    assert found.about["status"].startswith("stopped") and "step 8" in found.about["status"]
    assert curve(found).equals(curve(unbroken)[:3])
    monkeypatch.undo()
    assert_same_curve(unbroken, train(small_config(text), tmp_path / "run", resume=True))


DISK_FULL = {
    "python": OSError(errno.ENOSPC, "No space left on device"),
    "torch": RuntimeError("[enforce fail at inline_container.cc:858] . PytorchStreamWriter failed writing file"),
    "rust": Exception("Error while serializing: I/O error: No space left on device (os error 28)"),
}


@pytest.mark.parametrize("kind", DISK_FULL)
def test_a_full_disk_ends_in_one_sentence_and_loses_nothing(text, unbroken, tmp_path, monkeypatch, kind):
    folder = tmp_path / "run"
    real, written = torch.save, []

    def save(value, file, *rest, **options):
        if "checkpoint-10" in str(file):
            with open(file, "wb") as half:
                half.write(b"half")
            raise DISK_FULL[kind]
        written.append(file)
        return real(value, file, *rest, **options)

    monkeypatch.setattr(torch, "save", save)
    with pytest.raises(RunError, match=r"disk.*--resume"):
        train(small_config(text), folder)
    assert written and [p.name for p in (folder / "checkpoints").iterdir()] == ["checkpoint-5"]
    monkeypatch.undo()
    assert_same_curve(unbroken, train(small_config(text), folder, resume=True))


def test_another_error_is_not_taken_for_a_full_disk(text, tmp_path, monkeypatch):
    def broken(self, *rest, **options):
        raise RuntimeError("a bug")

    monkeypatch.setattr(RecordedTrainer, "compute_loss", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        train(small_config(text), tmp_path / "run")
