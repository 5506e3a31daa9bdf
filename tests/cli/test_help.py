"""What starts with the command line, before there is anything to do."""

import subprocess
import sys
from dataclasses import fields

from attngeo.cli import COMMANDS
from attngeo.experiments.training.config import TrainingConfig

CALL = """
import sys
from attngeo.cli import cli
for name in sys.argv[1:]:
    try:
        cli([name, "--help"])
    except SystemExit:
        print("loaded:", *sys.modules)
"""
LARGE = {"torch", "numpy", "pandas", "transformers", "huggingface_hub", "matplotlib", "datasets", "nbformat"}


def test_help_waits_for_no_large_package_and_has_every_setting_of_a_training():
    said = subprocess.run([sys.executable, "-c", CALL, *COMMANDS], capture_output=True, text=True, check=True).stdout
    assert said.count("Usage: ") == len(COMMANDS) == said.count("loaded:")
    assert not LARGE & {module for line in said.splitlines() if line.startswith("loaded:") for module in line.split()}
    assert all(f"--{field.name.replace('_', '-')}" in said for field in fields(TrainingConfig))
    words = " ".join(said.split())  # click breaks lines at the width of the terminal
    assert "[default: mlm]" in words and "[default: 200000]" in words


def test_a_missing_extra_is_one_sentence_before_anything_is_read(tmp_path):
    for missing, command, extra in (
        ("matplotlib", "score /nowhere --plot s.svg", "plot"),
        ("accelerate", "train -o run", "train"),
        ("jupytext", "run --list", "book"),
    ):
        hidden = f"import sys; sys.modules[{missing!r}] = None; from attngeo.cli import main; main()"
        call = [sys.executable, "-c", hidden, *command.split()]
        done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 2 and done.stderr.count("\n") == 1, done.stderr
        assert f"needs the package {missing}" in done.stderr and f"'attngeo[{extra}]'" in done.stderr
        assert not list(tmp_path.iterdir())
