import re
import shutil
import subprocess
from collections import Counter

import pytest
from small_runs import write_plan

from attngeo.experiments.runs.experiments import (
    END,
    START,
    ExperimentError,
    State,
    Status,
    read_experiment,
    read_experiments,
    recorded_runs,
    with_table,
)
from attngeo.experiments.runs.record import FINISHED, IN_FORCE, read_about, read_run, read_runs
from attngeo.experiments.training.config import DEFAULTS, configure
from attngeo.files import checkout

EXPERIMENTS = read_experiments(checkout.data("runs"))
RECORDED = [(e, run) for e in EXPERIMENTS for run in e.runs if run.state is State.RECORDED]
LOST = {"positions_characters", "positions_characters_new_seeds", "positions_pieces", "positions_values"}
PLANNED = [experiment for experiment in EXPERIMENTS if experiment.status is Status.CONFIRMATORY]


def plan(folder, **parts):
    """A plan of three arms."""
    whole = {"question": "does it\nhelp?", "settings": {"steps": 10}, "arms": ["random", "symmetric", "scaled"]}
    return write_plan(folder, **whole | parts)


def names(experiment):
    return [run.name for run in experiment.runs]


def test_runs_are_made_in_the_order_of_the_plan(tmp_path):
    """Without a contrast seed by seed; else the primary contrast first, and then arm by arm."""
    experiment = read_experiment(plan(tmp_path / "a"))
    assert names(experiment) == ["random-0", "symmetric-0", "scaled-0", "random-1", "symmetric-1", "scaled-1"]
    assert experiment.runs[1].settings == {"steps": 10, "init": "symmetric", "seed": 0}
    assert (experiment.name, experiment.question, experiment.status) == ("a", "does it help?", Status.EXPLORATORY)
    parts = {"primary contrast": {"arm": "symmetric", "against": "random"}, "arms": ["scaled", "random", "symmetric"]}
    parts["seeds"] = {"primary contrast": [0, 1, 2], "other arms": [0, 1]}
    first = ["random-0", "symmetric-0", "random-1", "symmetric-1", "random-2", "symmetric-2"]
    assert names(read_experiment(plan(tmp_path / "a", **parts))) == [*first, "scaled-0", "scaled-1"]


def test_arms_and_runs_have_seeds_and_settings_of_their_own(tmp_path):
    arms = ["random", {"warm": {"init": "random", "warmup": 4}}]
    experiment = read_experiment(plan(tmp_path / "a", arms=arms, seeds={"random": [1], "warm": [0, 1]}))
    assert names(experiment) == ["warm-0", "random-1", "warm-1"]
    assert experiment.runs[0].settings == {"steps": 10, "init": "random", "warmup": 4, "seed": 0}
    experiment = read_experiment(plan(tmp_path / "a", runs={"encoder": {"objective": "mlm"}}))
    assert [(run.name, run.settings) for run in experiment.runs] == [("encoder", {"steps": 10, "objective": "mlm"})]


def test_what_cannot_be_understood_is_named(tmp_path):
    with pytest.raises(ExperimentError, match="no experiment"):
        read_experiment(tmp_path)
    for parts, said in (
        ({"status": "sure"}, "sure"),
        ({"settings": 3}, "not a valid plan"),
        ({"arms": None}, "not a valid plan"),
        ({"seeds": {"random": [0]}}, "other arms"),
        ({"primary contrast": {"arm": "skew", "against": "random"}}, "'skew'"),
        ({"question": None}, "not a valid plan"),
    ):
        with pytest.raises(ExperimentError, match=rf"experiment\.yml.*{said}"):
            read_experiment(plan(tmp_path / "a", **parts))
    for text, said in (("a: [", "not a valid plan"), ("[" * 2**20, "more than 64 levels"), ("question: why", "status")):
        (tmp_path / "experiment.yml").write_text(text)
        with pytest.raises(ExperimentError, match=rf"experiment\.yml.*{said}"):
            read_experiment(tmp_path)


def test_every_planned_run_has_every_setting_and_can_be_run():
    for experiment in EXPERIMENTS:
        assert len({run.name for run in experiment.runs}) == len(experiment.runs) > 0
        for run in experiment.runs:
            configure(dict(run.settings))
            assert set(DEFAULTS) - set(run.settings) <= set(IN_FORCE), run.folder


def test_every_recorded_run_is_planned_whole_and_what_its_plan_says():
    for experiment in EXPERIMENTS:
        recorded = {run.name.rpartition("/")[2] for run in read_runs(experiment.folder)}
        assert recorded <= {run.name for run in experiment.runs}, experiment.name
    for experiment, planned in RECORDED:
        run = read_run(planned.folder)
        assert (run.name, run.about["status"]) == (f"{experiment.name}/{planned.name}", FINISHED)
        assert run.config == IN_FORCE | dict(planned.settings), run.name
        assert set(run.config) == set(DEFAULTS), "a new setting gets, in `IN_FORCE`, the value that was in force before"
        assert run.history["step"].iloc[-1] == run.config["steps"], run.name
        assert run.history["held_out_loss"].notna().sum() > 1, run.name
        assert set(run.layer_scores()["layer"]) == set(range(run.config["layers"])), run.name


def test_confirmatory_runs_and_pictured_ones_are_read_only_where_asked_for():
    runs = checkout.data("runs")
    exploratory = [run.name for run in recorded_runs(runs)]
    counted = Counter(experiment.status for experiment, _ in RECORDED)
    assert len(exploratory) == counted[Status.EXPLORATORY] == len(set(exploratory))
    assert exploratory == sorted(exploratory, key=lambda name: name.split("/"))
    pictured = [run.name for run in recorded_runs(runs, statuses=[Status.ILLUSTRATION])]
    assert {name.split("/")[0] for name in pictured} == {"one_start", "positions_pictures"}
    assert len(recorded_runs(runs, lambda config: config["objective"] == "clm")) < len(exploratory)


def test_a_run_is_read_once_and_again_when_it_has_changed(tmp_path):
    copy = shutil.copytree(checkout.data("runs") / "pieces-mlm", tmp_path / "pieces-mlm")
    first = read_run(copy / "random-0")
    names = ["pieces-mlm/random-0", "pieces-mlm/released-0"]
    assert read_run(copy / "random-0") is first and [run.name for run in read_runs(copy)] == names
    (copy / "runs.json").write_text((copy / "runs.json").read_text() + "\n")
    assert read_run(copy / "random-0") is not first


def test_the_table_of_the_page_is_made_from_the_plans(tmp_path):
    readme = checkout.data("runs", "README.md").read_text("utf-8")
    assert with_table(readme, EXPERIMENTS) == readme, "run: attngeo experiment --tables"
    experiment = read_experiment(plan(tmp_path / "a", seeds={"random": [0, 1, 2], "symmetric": [0, 2], "scaled": [4]}))
    row = "| `a` | exploratory | 6 | does it help? | `random` 0 to 2, `symmetric` 0, 2, `scaled` 4 |\n"
    page = with_table(f"before\n{START}old\n{END}after", [experiment])
    assert page.startswith(f"before\n{START}") and page.endswith(f"{row}{END}after")


def git(*words):
    done = subprocess.run(["git", "-C", str(checkout.root()), *words], capture_output=True, text=True, check=False)
    return done.stdout.split() if done.returncode == 0 else []


@pytest.fixture(scope="module")
def added():
    """The commits that added files below data/runs, oldest first: the hash and the files of each, a line for each."""
    if git("rev-parse", "--is-shallow-repository") != ["false"]:
        pytest.skip("no history of git here")
    commits = git("log", "--diff-filter=A", "--reverse", "--format=:%H", "--name-only", "--", "data/runs")
    return "\n".join(commits).split(":")[1:]


@pytest.mark.parametrize("experiment", PLANNED, ids=lambda e: e.name)
def test_a_plan_was_committed_before_its_first_run(experiment, added):
    plan = f"data/runs/{experiment.name}/experiment.yml"
    record = rf"^data/runs/{experiment.name}/(.*/run|runs)\.json$"
    planned = [commit[:40] for commit in added if plan in commit.split()]
    runs = [commit[:40] for commit in added if re.search(record, commit, re.M)]
    if not runs:
        pytest.skip("no run is committed yet")
    if experiment.name in LOST:  # the history that had the plan first was never published, which is said
        readme = " ".join(checkout.data("runs", "README.md").read_text("utf-8").split())
        said = readme.rpartition("was lost before it was published")[0].rpartition(" - We wrote the plans ")[2]
        assert f"`{experiment.name}`" in said
        return
    assert planned[0] not in runs
    assert git("merge-base", planned[0], runs[0]) == [planned[0]]


def test_what_was_planned_has_not_been_changed_since():
    for experiment in PLANNED:
        started = [read_about(r.folder)["started"] for e, r in RECORDED if e is experiment]
        assert all(experiment.date <= day[:10] for day in started)
