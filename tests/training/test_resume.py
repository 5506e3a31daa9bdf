import shutil
import signal

import pytest
import torch
from small_runs import assert_same_curve, small_config
from torch._inductor.exc import InductorError, TritonMissing

from attngeo.errors import ParameterError
from attngeo.experiments.runs.record import RunError, read_run
from attngeo.experiments.training.devices import named_causes
from attngeo.experiments.training.recorder import TrainingStopped
from attngeo.experiments.training.run_folder import last_checkpoint, saved_config
from attngeo.experiments.training.train import RecordedTrainer, train


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


def test_an_interrupt_finishes_the_step_and_leaves_a_checkpoint(text, tmp_path):
    """That the run can be continued from it is tested in `test_processes`."""
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
    assert last_checkpoint(tmp_path / "run").name == "checkpoint-7"


@pytest.fixture(scope="module")
def cut_off(text, tmp_path_factory):
    """A run killed after its second checkpoint."""
    folder = tmp_path_factory.mktemp("cut") / "run"
    with pytest.raises(Killed):
        train(small_config(text), folder, listen=killed_at(11))
    return folder


def test_a_run_without_a_checkpoint_or_with_other_settings_is_refused(text, cut_off, tmp_path):
    folder = shutil.copytree(cut_off, tmp_path / "run")
    with pytest.raises(RunError, match=r"lr is 0\.1"):
        train(small_config(text, lr=0.1), folder, resume=True)
    shutil.rmtree(folder / "checkpoints")
    with pytest.raises(RunError, match=r"no checkpoint.* --checkpoint-every"):
        train(small_config(text), folder, resume=True)
    (folder / "run.json").unlink()
    with pytest.raises(RunError, match="no run to continue"):
        saved_config(folder)


@pytest.mark.parametrize(
    "failure, said",
    [
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2 GiB."), r"CUDA out of memory.* micro_batch"),
        (
            InductorError(RuntimeError("no such operator\n" + "line\n" * 300), None),
            "no such operator.*leave --compile out",
        ),
        (TritonMissing(None), "Triton.*leave --compile out"),
    ],
)
def test_what_the_device_or_the_compiler_lacks_is_named_with_the_way_out(failure, said):
    with pytest.raises(ParameterError, match=said) as refused, named_causes(True):
        raise failure
    assert len(str(refused.value)) < 500 and "\n" not in str(refused.value)
    with pytest.raises(ZeroDivisionError), named_causes(True):
        raise ZeroDivisionError


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
