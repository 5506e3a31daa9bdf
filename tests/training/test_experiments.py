"""Runs of an experiment: made once, taken up where they were cut off, or left to another process."""

import json

import pytest
from filelock import FileLock
from small_runs import assert_same_curve, small_settings, write_plan

from attngeo.experiments.runs.experiments import ExperimentError, State, read_experiment
from attngeo.experiments.runs.record import read_about
from attngeo.experiments.training import experiments
from attngeo.experiments.training.experiments import Attempt, make_run, make_runs
from attngeo.experiments.training.recorder import TrainingStopped
from attngeo.experiments.workers import WorkersError


def planned(folder, text, **change):
    settings = small_settings(text, **change)
    return read_experiment(write_plan(folder, settings=settings, arms=["random", "symmetric"], seeds=[0]))


def test_what_is_recorded_or_made_by_another_process_is_not_made_again(text, tmp_path):
    experiment = planned(tmp_path / "e", text, steps=2)
    with FileLock(experiment.folder / ".random-0.lock"):
        assert [*dict(make_runs(experiment, experiment.runs)).values()] == [Attempt.ELSEWHERE, Attempt.MADE]
    assert experiment.states() == [State.MISSING, State.RECORDED]
    record = experiment.folder / "symmetric-0" / "run.json"
    before = record.stat().st_mtime_ns
    assert [outcome for _, outcome in make_runs(experiment, experiment.runs)] == [Attempt.MADE, Attempt.THERE]
    assert record.stat().st_mtime_ns == before
    with pytest.raises(ExperimentError, match="'skew-0'"):
        make_run(experiment.folder, "skew-0")
    assert read_about(record.parent)["config"] == json.loads(json.dumps(dict(experiment.runs[1].settings)))


@pytest.mark.parametrize("checkpoints", [5, 0])
def test_what_was_cut_off_ends_as_if_it_had_not_been(text, unbroken, tmp_path, checkpoints):
    """With checkpoints it goes on from the last, without it starts anew."""
    experiment = planned(tmp_path / "e", text, checkpoint_every=checkpoints)
    heard = []

    def cut(row):
        heard.append(row["step"])
        if heard == [*range(10)]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        make_run(experiment.folder, "random-0", cut)
    assert experiment.states()[0] is State.CUT_OFF
    assert make_run(experiment.folder, "random-0", cut) is Attempt.MADE
    assert heard[10] == (6 if checkpoints else 0)
    assert_same_curve(unbroken, experiment.folder / "random-0")


def test_an_interrupt_of_one_run_leaves_the_runs_after_it(text, tmp_path, monkeypatch):
    begun = []

    def interrupted(folder, name):
        begun.append(name)
        raise TrainingStopped("interrupted after step 7; continue with --resume.", 143)

    monkeypatch.setattr(experiments, "make_run", interrupted)
    experiment = planned(tmp_path / "e", text)
    with pytest.raises(TrainingStopped, match="step 7"):
        list(make_runs(experiment, experiment.runs))
    assert begun == ["random-0"]


def test_a_scheduler_that_is_not_there_is_named(text, tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")

    def unreachable(*args, **options):
        raise OSError("refused")

    monkeypatch.setattr(distributed, "Client", unreachable)
    experiment = planned(tmp_path / "e", text)
    with pytest.raises(WorkersError, match="tcp://nowhere:1"):
        list(make_runs(experiment, experiment.runs, scheduler="tcp://nowhere:1"))
