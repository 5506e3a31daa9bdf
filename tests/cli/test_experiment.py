import json
import subprocess
from dataclasses import asdict

import pytest
import yaml
from small_runs import small_config, write_text

from attngeo.cli import main
from attngeo.files import checkout
from attngeo.runs.experiments import State, read_experiment


def attngeo(capsys, *arguments):
    with pytest.raises(SystemExit) as end:
        main(["experiment", *map(str, arguments)])
    return end.value.code, *capsys.readouterr()


@pytest.fixture
def folder(tmp_path):
    """An experiment of two runs, each of a second."""
    text = write_text(tmp_path / "text.txt")
    settings = {k: v for k, v in asdict(small_config(text)).items() if k not in ("init", "seed")}
    plan = {"question": "?", "status": "exploratory", "date": "2026-11-22", "settings": settings}
    (tmp_path / "e").mkdir()
    (tmp_path / "e" / "experiment.yml").write_text(yaml.safe_dump(plan | {"arms": ["random"], "seeds": [0, 1]}))
    return tmp_path / "e"


def states(folder):
    experiment = read_experiment(folder)
    return [experiment.state(run) for run in experiment.runs]


def begun(folder, name, status="interrupted", commit=None):
    (folder / name).mkdir()
    about = {"config": {}, "status": status, "versions": {"commit": commit}}
    (folder / name / "run.json").write_text(json.dumps(about))


def test_a_dry_run_says_what_is_there_and_starts_nothing(folder, capsys):
    begun(folder, "random-1")
    code, out, _ = attngeo(capsys, folder, "--dry-run")
    assert code == 0
    assert out.splitlines()[:2] == ["random-0: missing", "random-1: cut off"] and "0 of 2 runs" in out
    assert states(folder) == [State.MISSING, State.CUT_OFF]


def test_only_runs_that_have_nothing_are_made_where_that_is_asked(folder, capsys):
    begun(folder, "random-1")
    code, out, _ = attngeo(capsys, folder, "--missing")
    assert code == 0 and "random-0: made" in out
    assert states(folder) == [State.RECORDED, State.CUT_OFF]
    code, out, _ = attngeo(capsys, folder)
    assert code == 0 and "random-1: made" in out and states(folder) == [State.RECORDED] * 2
    code, out, _ = attngeo(capsys, folder)
    assert code == 0 and out == "2 of 2 runs of e are recorded.\n"


def test_a_run_that_fails_ends_with_one_sentence(folder, capsys):
    plan = yaml.safe_load((folder / "experiment.yml").read_text())
    plan["settings"]["corpus"] = str(folder / "nowhere.txt")
    (folder / "experiment.yml").write_text(yaml.safe_dump(plan))
    code, out, err = attngeo(capsys, folder)
    assert code == 2 and out.count("nowhere.txt") == 2 and "2 of 2 runs of e failed" in err


def test_all_experiments_are_listed(capsys):
    code, out, _ = attngeo(capsys)
    lines = out.splitlines()
    assert code == 0 and ["matrix_spaced-mlm", "exploratory", "44", "of", "44", "recorded"] in map(str.split, lines)
    assert len(lines) == len(list(checkout.data("runs").glob("*/experiment.yml"))) and max(map(len, lines)) <= 80


def test_a_confirmatory_experiment_is_finished_with_its_own_code(folder, capsys):
    commit = subprocess.run(["git", "-C", str(checkout.root()), "rev-parse", "HEAD"], capture_output=True, check=False)
    if commit.returncode:
        pytest.skip("no git here")
    plan = yaml.safe_load((folder / "experiment.yml").read_text())
    (folder / "experiment.yml").write_text(yaml.safe_dump(plan | {"status": "confirmatory"}))
    begun(folder, "random-1", "finished", "4" * 40)
    code, _, err = attngeo(capsys, folder)
    assert code == 2 and "4444444444" in err and states(folder)[0] is State.MISSING
    code, _, _ = attngeo(capsys, folder, "--any-code")
    assert code == 0 and states(folder)[0] is State.RECORDED


@pytest.mark.parametrize(
    ("arguments", "said"),
    [(["nowhere"], "experiment.yml"), (["e", "--workers", 2, "--scheduler", "tcp://a:1"], "--scheduler")],
)
def test_what_cannot_be_done_is_said(capsys, arguments, said):
    code, _, err = attngeo(capsys, *arguments)
    assert code == 2 and said in err and err.count("\n") == 1
