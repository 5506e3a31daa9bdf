import errno
import os
import shutil
import signal
import time
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from small_runs import assert_same_curve, small_config

from attngeo.files.manifest import MANIFEST
from attngeo.runs.record import FINISHED, RunError, read_run
from attngeo.training.corpora.registry import open_corpus
from attngeo.training.corpora.vocabulary import open_vocabulary
from attngeo.training.recorder import Recorder, TrainingStopped
from attngeo.training.run_folder import enough_room, last_checkpoint, saved_config
from attngeo.training.train import RecordedTrainer, train


class Killed(BaseException):
    """Nothing in the package may catch it: as a kill, it leaves things as they are."""


def killed_at(step, heard=None):
    def listen(row):
        (heard if heard is not None else []).append(row["step"])
        if row["step"] == step:
            raise Killed

    return listen


def test_a_run_killed_again_and_again_ends_as_an_unbroken_one(text, unbroken, tmp_path):
    """Checkpoints at 5 and 10, records at 3, 6, 9: sums of losses between records survive, and so does dropout."""
    folder, first = tmp_path / "run", []
    for step in (6, 8, 11, 13):  # there is no step 13
        heard = []
        try:
            run = train(small_config(text), folder, step > 6, killed_at(step, heard))
        except Killed:
            assert read_run(folder).about["status"] == "running"
        first.append(heard[0])
    assert first == [0, 6, 6, 11]
    assert_same_curve(unbroken, run)
    assert not (folder / "checkpoints").exists()


def test_an_interrupt_finishes_the_step_and_leaves_a_checkpoint(text, unbroken, tmp_path):
    before = signal.getsignal(signal.SIGTERM)

    def listen(row):
        if row["step"] == 7:
            for _ in range(2):  # as timeout does: to the process, and to its group
                signal.raise_signal(signal.SIGTERM)

    with pytest.raises(TrainingStopped, match="--resume") as stopped:
        train(small_config(text), tmp_path / "run", listen=listen)
    assert stopped.value.exit_code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) == before
    assert read_run(tmp_path / "run").about["status"] == "interrupted"
    assert_same_curve(unbroken, train(small_config(text), tmp_path / "run", resume=True))


def test_a_second_interrupt_ends_at_once(text, tmp_path, monkeypatch):
    monkeypatch.setattr("attngeo.training.recorder.SAME_SIGNAL_SECONDS", 0.0)
    reached = []

    def listen(row):
        if row["step"] == 7:
            signal.raise_signal(signal.SIGINT)
            time.sleep(0.01)
            signal.raise_signal(signal.SIGINT)
            reached.append("the end of the step")

    with pytest.raises(KeyboardInterrupt):
        train(small_config(text), tmp_path / "run", listen=listen)
    assert not reached


def test_a_run_is_finished_once_its_model_is_written(text, unbroken, tmp_path, monkeypatch):
    """Killed after its last step, while the model is written."""

    def dies(recorder, status):
        if status == FINISHED:
            (tmp_path / "run" / "model" / "model.safetensors").write_bytes(b"half")
            raise Killed
        write(recorder, status)

    write = Recorder.write
    monkeypatch.setattr(Recorder, "write", dies)
    with pytest.raises(Killed):
        train(small_config(text), tmp_path / "run")
    assert read_run(tmp_path / "run").about["status"] == "running"
    monkeypatch.undo()
    assert_same_curve(unbroken, train(small_config(text), tmp_path / "run", resume=True))
    written, expected = (load_file(run / "model/model.safetensors") for run in (tmp_path / "run", unbroken))
    assert all(torch.equal(written[key], expected[key]) for key in expected) and written.keys() == expected.keys()
    assert not (tmp_path / "run" / "checkpoints").exists()


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


def test_a_damaged_checkpoint_is_passed_over_and_named(text, unbroken, cut_off, tmp_path, caplog):
    for file, damage in (("optimizer.pt", altered), ("rng_state.pth", os.remove), (MANIFEST, os.remove)):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        folder = shutil.copytree(cut_off, tmp_path / "run")
        damage(folder / "checkpoints" / "checkpoint-10" / file)
        (folder / "checkpoints" / "checkpoint-best").mkdir()  # not ours
        assert last_checkpoint(folder) == folder / "checkpoints" / "checkpoint-5"
        assert f"checkpoint-10 is unfinished or damaged ({file}" in caplog.text
    (folder / "history.parquet").write_bytes(b"damaged too; the checkpoint has its own")
    heard = []
    assert_same_curve(unbroken, train(small_config(text), folder, resume=True, listen=heard.append))
    assert heard[0]["step"] == 6


def test_a_run_json_that_cannot_be_read_is_restored_from_the_last_checkpoint(text, cut_off, tmp_path):
    for damage in (os.remove, lambda file: file.write_text("{")):
        shutil.rmtree(tmp_path / "run", ignore_errors=True)
        folder = shutil.copytree(cut_off, tmp_path / "run")
        damage(folder / "run.json")
        assert saved_config(folder) == asdict(small_config(text))
        assert (folder / "run.json").read_bytes() == (folder / "checkpoints/checkpoint-10/run.json").read_bytes()
        shutil.rmtree(folder / "checkpoints")
        damage(folder / "run.json")
        with pytest.raises(RunError, match="run"):
            saved_config(folder)


def test_a_run_without_a_whole_checkpoint_or_with_other_settings_or_text_is_refused(text, cut_off, tmp_path):
    folder = shutil.copytree(cut_off, tmp_path / "run")
    with pytest.raises(RunError, match=r"lr is 0\.1"):
        train(small_config(text, lr=0.1), folder, resume=True)
    before = text.read_text()
    text.write_text(before + "\n\nanother document")
    with pytest.raises(RunError, match="corpus"):
        train(small_config(text), folder, resume=True)
    text.write_text(before)
    for model in folder.glob("checkpoints/*/model.safetensors"):
        altered(model)
    with pytest.raises(RunError, match=r"no whole checkpoint.* --checkpoint-every"):
        train(small_config(text), folder, resume=True)


def test_a_run_is_not_continued_with_another_tokenizer(text, tmp_path):
    file, tokenizer = tmp_path / "tokenizer.json", open_vocabulary("trained", open_corpus(str(text)), size=80).tokenizer
    tokenizer.save(str(file))
    config = small_config(text, tokenizer=str(file))
    with pytest.raises(Killed):
        train(config, tmp_path / "run", listen=killed_at(6))
    tokenizer.add_tokens(["another"])
    tokenizer.save(str(file))
    with pytest.raises(RunError, match="tokenizer"):
        train(config, tmp_path / "run", resume=True)


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
    assert found.history["loss"].equals(read_run(unbroken).history["loss"][:3])
    monkeypatch.undo()
    assert_same_curve(unbroken, train(small_config(text), tmp_path / "run", resume=True))


LACKING = {
    OSError(errno.ENOSPC, "No space left on device"): "disk",
    RuntimeError("[enforce fail at inline_container.cc:858] . PytorchStreamWriter failed writing file"): "disk",
    Exception("Error while serializing: I/O error: No space left on device (os error 28)"): "disk",
    RuntimeError("DefaultCPUAllocator: can't allocate memory"): "micro_batch",
    MemoryError(): "micro_batch",
    RuntimeError("a bug"): "a bug",
}


def test_what_does_not_suffice_is_named_with_the_way_out(tmp_path):
    for error, said in LACKING.items():
        with pytest.raises(RunError if said != "a bug" else RuntimeError, match=said), enough_room(tmp_path):
            raise error


def test_a_full_disk_loses_nothing(text, unbroken, tmp_path, monkeypatch):
    real = torch.save

    def save(value, file, *rest, **options):
        if "checkpoint-10" in str(file):
            Path(file).write_bytes(b"half")
            raise next(iter(LACKING))
        return real(value, file, *rest, **options)

    monkeypatch.setattr(torch, "save", save)
    with pytest.raises(RunError, match=r"disk.*--resume"):
        train(small_config(text), tmp_path / "run")
    monkeypatch.undo()
    assert_same_curve(unbroken, train(small_config(text), tmp_path / "run", resume=True))


def test_a_checkpoint_without_the_recorders_marks_is_refused(unbroken):
    with pytest.raises(RunError, match="earlier attngeo"):
        Recorder.restore(None, unbroken)
