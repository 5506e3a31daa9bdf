"""What starts with the command line, before there is anything to do."""

import os
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


def test_completion_is_a_script_and_completes():
    environment = {**os.environ, "_ATTNGEO_COMPLETE": "zsh_source"}
    call = [sys.executable, "-c", "from attngeo.cli import cli; cli(prog_name='attngeo')"]
    script = subprocess.run(call, capture_output=True, text=True, check=True, env=environment).stdout
    assert script.startswith("#compdef attngeo") and "_ATTNGEO_COMPLETE=zsh_complete" in script
    asked = {"_ATTNGEO_COMPLETE": "bash_complete", "COMP_WORDS": "attngeo score --fold", "COMP_CWORD": "2"}
    done = subprocess.run(call, capture_output=True, text=True, check=True, env={**os.environ, **asked})
    assert done.stdout == "plain,--fold-norm\n"
