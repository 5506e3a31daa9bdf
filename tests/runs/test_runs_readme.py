import re
import shlex
from dataclasses import asdict

import pytest

from attngeo.cli.train import command
from attngeo.records import checkout
from attngeo.runs.arms import Contrast, arms
from attngeo.runs.record import FINISHED, read_about, read_run
from attngeo.training.batches import TrainingObjective
from attngeo.training.bert import model_flops
from attngeo.training.config import DEFAULTS, configure
from attngeo.training.initialisations import Initialisation

README = checkout.data("runs", "README.md").read_text("utf-8")
RECORDED = sorted(checkout.data("runs").glob("*/run.json"))
VALUES = {
    "OBJECTIVE": "|".join(objective.value for objective in TrainingObjective),
    "INIT": "|".join(sorted((init.value for init in Initialisation), key=len, reverse=True)),
    "SEED": r"\d+",
}


def expanded(line: str) -> str:
    """A command with the README's own shell variables put in."""
    for _ in range(3):
        for name, value in re.findall(r'^(\w+)="(.*)"$', README, re.M):
            line = line.replace(f"${name} ", f"{value} ")
    return line.replace("\\$", "$")


def config(line: str):
    context = command.make_context("train", [*shlex.split(expanded(line))[2:], "-o", "folder"])
    flags = {name: value for name, value in context.params.items() if value is not None}
    return configure({name: value for name, value in flags.items() if name not in ("output", "file", "resume")})


def commands() -> dict[str, str]:
    """Commands of the recorded runs, by the pattern of their folders' names."""
    return dict(re.findall(r"^\| `([\w-]+)` \| `(attngeo train [^`]*)` \|", README, re.M))


def patterns(folder: str) -> dict[str, dict[str, str]]:
    """The patterns that fit the name of a folder, each with the values that the name puts in."""
    found = {}
    for pattern in commands():
        regex = re.sub("|".join(VALUES), lambda m: f"(?P<{m[0]}>{VALUES[m[0]]})", pattern)
        if match := re.fullmatch(regex, folder):
            found[pattern] = match.groupdict()
    return found


@pytest.mark.parametrize("line", re.findall(r"attngeo train --[^`\n]*", README))
def test_every_command_for_a_gpu_is_accepted(line):
    assert config(line.replace("INIT", "random").replace("OBJECTIVE", "mlm").replace("SEED", "0")).steps >= 1000


def test_every_initialisation_is_named_and_every_command_has_a_run():
    assert all(f"`{i.value}`" in README for i in Initialisation)
    recorded = [path.parent.name for path in RECORDED]
    assert not [pattern for pattern in commands() if not any(pattern in patterns(name) for name in recorded)]


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_every_recorded_run_is_whole_and_is_what_its_command_says(path):
    run = read_run(path.parent)
    assert run.about["status"] == FINISHED and run.history["step"].iloc[-1] == run.config["steps"]
    assert run.history["held_out_loss"].notna().sum() > 1
    assert set(run.layer_scores()["layer"]) == set(range(run.config["layers"]))
    ((pattern, values),) = patterns(run.name).items()
    line = re.sub("|".join(VALUES), lambda m: values[m[0]], commands()[pattern])
    assert asdict(config(line)) == run.config


@pytest.mark.parametrize("model", ["decoder", "encoder"])
def test_runs_that_are_pictured_as_they_train_are_what_their_commands_say(model):
    run = read_run(checkout.data("runs", "one_start", model))
    objective = {"decoder": "clm", "encoder": "mlm"}[model]
    (line,) = re.findall(rf"^(attngeo train .*--picture-every.*--objective {objective}.*)$", README, re.M)
    assert asdict(config(line)) == run.config and run.about["status"] == FINISHED
    assert sorted(step for layer, step in run.pictures if layer == 0) == list(range(0, 1501, 50))


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_every_recorded_run_has_every_setting_once_it_is_read(path):
    """A setting that is new gets, in `IN_FORCE`, the value that the runs recorded before it had."""
    assert set(read_about(path.parent)["config"]) == set(DEFAULTS)


def test_the_speed_of_the_recorded_runs_is_what_was_recorded():
    about = [read_run(path.parent).about for path in RECORDED]
    reached = [run["flops_per_step"] * run["steps_done"] / run["seconds"] / 1e12 for run in about]
    low, high = map(float, re.search(r"reached ([\d.]+) to ([\d.]+) TFLOP/s", README).groups())
    assert round(min(reached), 2) == low and round(max(reached), 2) == high


def test_the_gain_that_called_for_more_seeds_is_what_was_recorded():
    """Encoders on plain text, `symmetric` less `random`, seeds 0 to 2."""
    words = re.search(r"ended there below `random` by ([\d.]+)\s+\[([\d.]+), ([\d.]+)\]", README).groups()
    (random,), (symmetric,) = (
        arms(read_run(checkout.data("runs") / f"plain_long-mlm-{init}-{seed}") for seed in range(3))
        for init in ("random", "symmetric")
    )
    gain = Contrast(random, symmetric).difference()
    assert [f"{x:.3f}" for x in (gain.value, gain.low, gain.high)] == list(words)


@pytest.mark.parametrize("row", [r for r in README.splitlines() if re.match(r"\| \d+\. ", r)], ids=lambda row: row[2:4])
def test_costs_of_the_runs_for_a_gpu_are_those_of_the_model(row):
    _, _, command_cell, tokens, operations, hours, _ = row.split("|")
    line = re.search(r"`(.*)`", command_cell)[1].replace("INIT", "random").replace("SEED", "0")
    objectives = ["mlm", "clm"] if len(operations.split(",")) > 1 else ["mlm"]
    for objective, printed, printed_hours in zip(objectives, operations.split(","), hours.split(","), strict=True):
        run = config(line.replace("OBJECTIVE", objective))
        blocks = run.steps * run.batch_size
        targets = round(run.mask_rate * run.block_size) if objective == "mlm" else run.block_size
        counted = blocks * model_flops(run.shape(run.vocab_size), run.block_size, targets)
        assert float(tokens) == pytest.approx(blocks * run.block_size, rel=0.02)
        assert float(printed) == pytest.approx(counted, rel=0.05)
        assert float(printed_hours) == pytest.approx(counted / 400e12 / 3600, rel=0.15)
