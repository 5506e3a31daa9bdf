import json
import os
import signal
import subprocess
import sys
import time

import pytest
from small_runs import assert_same_curve, flags, small_config

from attngeo.errors import ParameterError
from attngeo.experiments.runs.record import read_run
from attngeo.experiments.training.train import train

COMMON = {"dropout": 0.0, "steps": 8, "record_every": 2, "evaluate_every": 4, "checkpoint_every": 4}
CHANGES = {"whole": {}, "accumulated": {"micro_batch": 2}}


# every command line is one run
TWO = """
import json, sys
from attngeo.cli import main

for command in json.loads(sys.argv[1]):
    try:
        main(command)
    except SystemExit as ended:
        assert not ended.code
"""


@pytest.fixture(scope="module")
def two(text, tmp_path_factory):
    """The folder of the runs of two processes, and what they printed."""
    folder = tmp_path_factory.mktemp("two")
    configs = {name: small_config(text, **COMMON, **change) for name, change in CHANGES.items()}
    commands = [["train", "-o", str(folder / name), *flags(**vars(config))] for name, config in configs.items()]
    (folder / "two.py").write_text(TWO)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    program = [*launcher, str(folder / "two.py"), json.dumps(commands)]
    ended = subprocess.run(program, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    return folder, ended.stdout


def test_two_processes_give_the_curve_of_one(text, two, tmp_path):
    folder, said = two
    assert said.count("finished") == len(CHANGES)  # one of the processes speaks
    single = train(small_config(text, **COMMON), tmp_path / "run")
    for name in CHANGES:
        several = read_run(folder / name)
        assert (several.about["processes"], single.about["processes"]) == (2, 1)
        assert_same_curve(single, several, tolerance=1e-5)
        assert all(single.about[what] == several.about[what] for what in ("corpus", "tokenizer"))


def test_weights_are_not_shared(text, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(ParameterError, match="launch it without FSDP"):
        train(small_config(text, **COMMON), tmp_path / "run")


# a run with two data-loader workers, which waits for a line at step 7
WAITING = """
import sys
from attngeo.cli import main
from attngeo.experiments.commands import train as command
from attngeo.experiments.training import train as training

arguments_for_devices = training.trainer_arguments


def arguments_with_workers(*given):
    arguments = arguments_for_devices(*given)
    arguments.dataloader_num_workers = 2
    return arguments


def wait_at_seven(progress, row):
    if row["step"] == 7:
        print("waiting", flush=True)
        sys.stdin.readline()


training.trainer_arguments = arguments_with_workers
command._Progress.show = wait_at_seven
main(sys.argv[1:])
"""


def test_a_signal_to_the_process_group_leaves_a_checkpoint(text, unbroken, tmp_path):
    """As timeout and Slurm send it: the workers of the data loader get it, too."""
    folder = tmp_path / "run"
    command = ["train", "-o", str(folder), *flags(**vars(small_config(text)))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    program = [sys.executable, "-c", WAITING, *command]
    with subprocess.Popen(program, text=True, start_new_session=True, **pipes) as process:
        assert process.stdout.readline() == "waiting\n", process.stderr.read()
        os.killpg(process.pid, signal.SIGTERM)
        time.sleep(0.2)  # in which a worker would die
        _, said = process.communicate("\n", timeout=120)
    assert process.returncode == 128 + signal.SIGTERM, said
    assert said.splitlines()[-1] == "attngeo: interrupted after step 7; continue with --resume."
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):  # no worker is left
        os.killpg(process.pid, 0)
    assert_same_curve(unbroken, train(small_config(text), folder, resume=True))
