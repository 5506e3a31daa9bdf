import json

import numpy as np
import pandas as pd
import pytest

from attngeo.experiments.runs import record
from attngeo.experiments.runs.record import (
    FINISHED,
    RunError,
    is_recorded,
    read_about,
    read_levels,
    read_run,
    read_runs,
)
from attngeo.experiments.runs.writing import merge_runs, write_run


def write(folder, seed, status=FINISHED, **more):
    """A run of two steps, with a picture if its seed is even; ``more`` are further columns of its scores."""
    about = {"name": folder.name, "config": {"seed": seed}, "status": status}
    history = [{"step": step, "loss": seed + step / 3, "held_out_loss": float("nan")} for step in (0, 1)]
    history = [row | {"seconds": 0.5, "learning_rate": 0.1} for row in history]
    history[1]["held_out_loss"] = seed / 7
    scores = [{"step": step, "layer": 0, "head": -1, "symmetry": seed / 9, "directionality": 0.1} for step in (0, 1)]
    pictures = {(0, 1): np.full((2, 2), seed, dtype=np.int8)} if seed % 2 == 0 else {}
    write_run(folder, about, history, [row | more for row in scores], pictures)


def assert_equal(run, former):
    assert (run.name, run.about) == (former.name, former.about)
    pd.testing.assert_frame_equal(run.history, former.history, check_exact=True)
    pd.testing.assert_frame_equal(run.scores, former.scores, check_exact=True)
    assert run.pictures.keys() == former.pictures.keys()
    for place, picture in run.pictures.items():
        np.testing.assert_array_equal(picture, former.pictures[place])


def test_runs_are_equal_after_they_have_moved_into_the_tables_of_their_experiment(tmp_path):
    write(tmp_path / "a-0", 0)
    write(tmp_path / "a-1", 1, coin_rank=0.3)
    write(tmp_path / "b-1", 3, "running")
    (tmp_path / "a-1" / "model").mkdir()
    before = {name: read_run(tmp_path / name) for name in ("a-0", "a-1")}
    assert merge_runs(tmp_path) == ["a-0", "a-1"]
    assert not (tmp_path / "a-0").exists() and [path.name for path in (tmp_path / "a-1").iterdir()] == ["model"]
    assert [run.name for run in read_runs(tmp_path)] == ["a-0", "a-1"]
    for name, former in before.items():
        assert_equal(read_run(tmp_path / name), former)
    assert read_levels(tmp_path / "a-0")[0, 1].dtype == np.int8 and read_levels(tmp_path / "a-1") == {}
    assert is_recorded(tmp_path / "a-0") and is_recorded(tmp_path / "b-1") and not is_recorded(tmp_path / "c-0")


def test_runs_are_added_to_the_tables_and_a_run_that_was_made_again_replaces_its_record(tmp_path):
    write(tmp_path / "a-0", 0)
    write(tmp_path / "b-0", 2)
    merge_runs(tmp_path)
    kept = read_run(tmp_path / "b-0")
    write(tmp_path / "a-0", 4)
    write(tmp_path / "c-0", 6)
    again = read_run(tmp_path / "a-0")
    assert again.config["seed"] == 4
    assert merge_runs(tmp_path) == ["a-0", "c-0"] and merge_runs(tmp_path) == []
    assert [run.name for run in read_runs(tmp_path)] == ["a-0", "b-0", "c-0"]
    assert_equal(read_run(tmp_path / "b-0"), kept)
    assert_equal(read_run(tmp_path / "a-0"), again)


def test_a_damaged_run_leaves_everything_as_it_was(tmp_path):
    write(tmp_path / "a-0", 0)
    write(tmp_path / "b-0", 1)
    (tmp_path / "b-0" / "scores.parquet").write_bytes(b"PAR1")
    with pytest.raises(RunError, match="b-0 does not contain a readable run"):
        merge_runs(tmp_path)
    assert read_run(tmp_path / "a-0").config["seed"] == 0 and not (tmp_path / "runs.json").exists()
    (tmp_path / "b-0" / "run.json").unlink()
    merge_runs(tmp_path)
    (tmp_path / "history.parquet").write_bytes(b"PAR1")
    (tmp_path / "runs.json").touch()
    with pytest.raises(RunError, match="a-0 does not contain a readable run"):
        read_run(tmp_path / "a-0")


def test_a_run_recorded_before_a_setting_was_there_has_the_value_that_was_in_force(tmp_path, monkeypatch):
    monkeypatch.setattr(record, "IN_FORCE", {"optimiser": "adamw", "seed": 7})
    (tmp_path / "run.json").write_text(json.dumps({"config": {"seed": 1}, "status": "finished"}))
    assert read_about(tmp_path)["config"] == {"optimiser": "adamw", "seed": 1}


@pytest.mark.parametrize("content", ["", "{}", '{"config": 3, "status": "finished"}', '{"config": {}}'])
def test_a_damaged_record_is_refused(tmp_path, content):
    (tmp_path / "run.json").write_text(content)
    with pytest.raises(RunError, match=tmp_path.name):
        read_about(tmp_path)


def test_a_column_without_a_number_is_not_dropped_without_a_word(tmp_path):
    write(tmp_path / "a-0", 0, coin_rank=float("nan"))
    with pytest.raises(RunError, match=r"scores\.parquet has no number in its column coin_rank"):
        merge_runs(tmp_path)
    assert "coin_rank" in read_run(tmp_path / "a-0").scores
