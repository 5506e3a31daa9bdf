import re
import shlex

import pytest

from attngeo import checkout
from attngeo.cli.train import command
from attngeo.initialisations import Initialisation
from attngeo.run_record import FINISHED, read_run
from attngeo.training_config import configure

README = checkout.data("runs", "README.md").read_text("utf-8")
RECORDED = sorted(checkout.data("runs").glob("*/run.json"))


def expanded(line: str) -> str:
    """A command with the README's own shell variables put in."""
    for _ in range(2):
        for name, value in re.findall(r'^(\w+)="(.*)"$', README, re.M):
            line = line.replace(f"${name}", value)
    return line.replace("\\$", "$")


def config(line: str):
    context = command.make_context("train", [*shlex.split(expanded(line))[2:], "-o", "folder"])
    flags = {name: value for name, value in context.params.items() if value is not None}
    return configure({name: value for name, value in flags.items() if name not in ("output", "file", "resume")})


def by_folder() -> dict[str, str]:
    """Commands of the recorded runs, by the pattern of their folders' names."""
    return dict(re.findall(r"^\| `(\w+-OBJECTIVE-INIT-SEED)` \| `([^`]*)` \|$", README, re.M))


@pytest.mark.parametrize("line", re.findall(r"attngeo train --[^`\n]*", README))
def test_every_command_for_a_gpu_is_accepted(line):
    assert config(line.replace("INIT", "random")).steps == 200_000


def test_every_kind_of_run_and_every_initialisation_is_named():
    assert set(by_folder()) == {f"{kind}-OBJECTIVE-INIT-SEED" for kind in ("spaced", "long", "words")}
    assert all(f"`{i.value}`" in README for i in Initialisation)


@pytest.mark.parametrize("path", RECORDED, ids=lambda path: path.parent.name)
def test_every_recorded_run_is_whole_and_is_what_its_command_says(path):
    run = read_run(path.parent)
    assert run.about["status"] == FINISHED and run.history["step"].iloc[-1] == run.config["steps"]
    assert run.history["held_out_loss"].notna().sum() > 1
    assert set(run.layer_scores()["layer"]) == set(range(run.config["layers"]))
    kind, objective, init, seed = re.fullmatch(r"(\w+)-(mlm|clm|released-decoder)-([a-z-]+)-(\d+)", run.name).groups()
    line = by_folder()[f"{kind}-OBJECTIVE-INIT-SEED"]
    line = line.replace("OBJECTIVE", objective).replace("INIT", init).replace("SEED", seed)
    assert config(line).to_dict() == run.config
