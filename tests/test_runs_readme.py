import re
import shlex

import pytest

from attngeo import checkout
from attngeo.cli.train import command
from attngeo.initialisations import Initialisation
from attngeo.run_record import FINISHED, read_run
from attngeo.training_config import configure

README = checkout.data("runs", "README.md").read_text("utf-8")


def commands():
    text = README.replace("\\\n", " ")
    common = re.search(r'COMMON="(.*?)"', text)[1]
    for line in re.findall(r"attngeo train [^`\n]*", text):
        if "..." not in line and "--resume" not in line:
            yield line.replace("$COMMON", common).replace("INIT", "random")


@pytest.mark.parametrize("line", list(commands()))
def test_every_command_of_the_readme_is_accepted(line):
    line = line.replace("$objective", "mlm").replace("$init", "random").replace("$seed", "0").replace("\\$", "$")
    context = command.make_context("train", shlex.split(line)[2:])
    skipped = ("output", "file", "resume")
    values = {name: value for name, value in context.params.items() if value is not None and name not in skipped}
    assert configure(values).steps in (5000, 200_000)


def test_the_readme_names_every_initialisation():
    assert all(i.value in README for i in Initialisation)


@pytest.mark.parametrize("path", sorted(checkout.data("runs").glob("*/run.json")), ids=lambda path: path.parent.name)
def test_every_recorded_run_is_whole_and_holds_no_path(path):
    run = read_run(path.parent)
    assert run.about["status"] == FINISHED and run.history["step"].iloc[-1] == run.config["steps"]
    assert run.history["held_out_loss"].notna().sum() > 1
    assert set(run.layer_scores()["layer"]) == set(range(run.config["layers"]))
    assert not run.config["corpus"].startswith(("/", "~"))
