import re
import shlex

import pytest

from attngeo.experiments.commands.train import command
from attngeo.experiments.runs.arms import Contrast, arms
from attngeo.experiments.runs.experiments import recorded_runs
from attngeo.experiments.runs.record import read_run, read_runs
from attngeo.experiments.training.bert import model_flops
from attngeo.experiments.training.config import configure
from attngeo.files import checkout

README = checkout.data("runs", "README.md").read_text("utf-8")


def config(line: str):
    context = command.make_context("train", [*shlex.split(line)[2:], "-o", "folder"])
    flags = {name: value for name, value in context.params.items() if value is not None}
    return configure({name: value for name, value in flags.items() if name not in ("output", "file", "resume")})


def test_runs_that_are_pictured_as_they_train_have_a_picture_every_fifty_steps():
    for name in ("one_start", "positions_pictures"):
        for run in read_runs(checkout.data("runs", name)):
            assert run.config["objective"] == ("clm" if run.name.endswith("decoder") else "mlm")
            assert sorted(step for layer, step in run.pictures if layer == 0) == list(range(0, 1501, 50))


def test_the_speed_of_the_recorded_runs_is_what_was_recorded():
    about = [run.about for run in recorded_runs(checkout.data("runs"))]
    reached = [run["flops_per_step"] * run["steps_done"] / run["seconds"] / 1e12 for run in about]
    low, high = map(float, re.search(r"reached\s([\d.]+) to ([\d.]+) TFLOP/s", README).groups())
    assert round(min(reached), 2) == low and round(max(reached), 2) == high


def test_the_gain_that_called_for_more_seeds_is_what_was_recorded():
    """Encoders on plain text, `symmetric` less `random`, seeds 0 to 2."""
    words = re.search(
        r"([\d.]+) \[([\d.]+), ([\d.]+)\] nats lower with the `symmetric`", " ".join(README.split())
    ).groups()
    (random,), (symmetric,) = (
        arms(read_run(checkout.data("runs", "plain_long-mlm") / f"{init}-{seed}") for seed in range(3))
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
