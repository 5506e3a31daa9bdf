import json

import pytest
import yaml
from small_runs import small_settings, write_plan

from attngeo.experiments.runs.experiments import State, read_experiment
from attngeo.files import checkout, provenance


@pytest.fixture
def folder(text, tmp_path):
    """An experiment of two runs, each of a second; of the second one something is there."""
    return begun(write_plan(tmp_path / "e", settings=small_settings(text, steps=2), arms=["random"]), "interrupted")


def begun(folder, status, commit=None):
    (folder / "random-1").mkdir(exist_ok=True)
    about = {"config": {}, "status": status, "versions": {"commit": commit}}
    (folder / "random-1" / "run.json").write_text(json.dumps(about))
    return folder


def test_runs_are_made_where_that_is_asked_and_not_again(folder, attngeo):
    code, out, _ = attngeo("experiment", folder, "--dry-run")
    assert (code, out) == (0, "random-0: missing\nrandom-1: cut off\n0 of 2 runs of e are recorded.\n")
    for options, expected, made in (
        (["--missing"], [State.RECORDED, State.CUT_OFF], ["random-0: made"]),
        ([], [State.RECORDED] * 2, ["random-1: made"]),
        ([], [State.RECORDED] * 2, []),
    ):
        code, out, _ = attngeo("experiment", folder, *options)
        assert code == 0 and [line for line in out.splitlines() if line.endswith("made")] == made
        assert read_experiment(folder).states() == expected
    code, out, _ = attngeo("experiment", folder, "--tables")
    assert (code, out) == (0, "e: 2 runs moved into its tables.\n")
    assert read_experiment(folder).states() == [State.RECORDED] * 2 and not (folder / "random-0" / "run.json").exists()


def test_runs_that_fail_are_named(folder, attngeo):
    plan = yaml.safe_load((folder / "experiment.yml").read_text())
    plan["settings"]["corpus"] = str(folder / "nowhere.txt")
    write_plan(folder, **plan)
    code, out, err = attngeo("experiment", folder)
    assert code == 2 and out.count("nowhere.txt") == 2 and "2 of 2 runs of e failed" in err


def test_all_experiments_are_listed(attngeo):
    code, out, _ = attngeo("experiment")
    lines = out.splitlines()
    assert code == 0 and ["matrix_spaced-mlm", "exploratory", "44", "of", "44", "recorded"] in map(str.split, lines)
    assert len(lines) == len(list(checkout.data("runs").glob("*/experiment.yml"))) and max(map(len, lines)) <= 80


def test_a_confirmatory_experiment_is_finished_with_its_own_code(folder, attngeo):
    if not provenance.head(checkout.root()):
        pytest.skip("no git here")
    write_plan(folder, **yaml.safe_load((folder / "experiment.yml").read_text()) | {"status": "confirmatory"})
    begun(folder, "finished", "4" * 40)
    code, _, err = attngeo("experiment", folder)
    assert code == 2 and "4444444444" in err and read_experiment(folder).states()[0] is State.MISSING
    assert attngeo("experiment", folder, "--any-code")[0] == 0 and read_experiment(folder).states()[0] is State.RECORDED


def test_an_experiment_that_is_nowhere_is_said(refused):
    assert "experiment.yml" in refused("experiment", "nowhere")
