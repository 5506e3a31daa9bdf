"""What starts with the command line, before there is anything to do."""

import subprocess
import sys

import pytest

from attngeo.cli import COMMANDS

CALL = "import sys; from attngeo.cli import cli; cli(sys.argv[1:], standalone_mode=False); print(*sys.modules)"
LARGE = {"torch", "numpy", "pandas", "transformers", "huggingface_hub", "matplotlib", "datasets", "nbformat"}


@pytest.mark.parametrize("name", COMMANDS)
def test_help_waits_for_no_large_package(name):
    done = subprocess.run([sys.executable, "-c", CALL, name, "--help"], capture_output=True, text=True, check=True)
    assert name in done.stdout and not LARGE & set(done.stdout.splitlines()[-1].split())
