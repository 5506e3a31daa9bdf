import os
import signal
import socket
import time
from functools import partial

import pytest
from forked import FORKED, carry_out, join_others, wait_at_seven
from small_runs import assert_same_curve, flags, small_config

from attngeo.errors import ParameterError
from attngeo.experiments.runs.record import read_run
from attngeo.experiments.training.train import train

COMMON = {"dropout": 0.0, "steps": 8, "record_every": 2, "evaluate_every": 4, "checkpoint_every": 4}
CHANGES = {"whole": {}, "accumulated": {"micro_batch": 2}}


def test_two_processes_give_the_curve_of_one(text, tmp_path):
    configs = {name: small_config(text, **COMMON, **change) for name, change in CHANGES.items()}
    commands = [["train", "-o", str(tmp_path / name), *flags(**vars(config))] for name, config in configs.items()]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    processes = []
    for rank in (0, 1):
        arguments = (commands, tmp_path / f"printed-{rank}", partial(join_others, rank, 2, port))
        processes.append(FORKED.Process(target=carry_out, args=arguments, daemon=True))
        processes[rank].start()
    for process in processes:
        process.join(240)
    printed = [(tmp_path / f"printed-{rank}").read_text() for rank in (0, 1)]
    assert [process.exitcode for process in processes] == [0, 0], printed
    assert [words.count("finished") for words in printed] == [len(CHANGES), 0]  # one of the processes speaks
    single = train(small_config(text, **COMMON), tmp_path / "run")
    for name in CHANGES:
        several = read_run(tmp_path / name)
        assert (several.about["processes"], single.about["processes"]) == (2, 1)
        assert_same_curve(single, several, tolerance=1e-5)
        assert all(single.about[what] == several.about[what] for what in ("corpus", "tokenizer"))


def test_weights_are_not_shared(text, tmp_path, monkeypatch):
    monkeypatch.setenv("ACCELERATE_USE_FSDP", "true")
    with pytest.raises(ParameterError, match="launch it without FSDP"):
        train(small_config(text, **COMMON), tmp_path / "run")


def test_a_signal_to_the_process_group_leaves_a_checkpoint(text, unbroken, tmp_path):
    """As timeout and Slurm send it: the workers of the data loader get it, too."""
    folder, printed = tmp_path / "run", tmp_path / "printed"
    command = ["train", "-o", str(folder), *flags(**vars(small_config(text)))]
    here, there = FORKED.Pipe()
    process = FORKED.Process(target=carry_out, args=([command], printed, partial(wait_at_seven, there)))
    process.start()
    there.close()
    assert here.recv() == "waiting"
    os.killpg(process.pid, signal.SIGTERM)
    time.sleep(0.2)  # in which a worker would die
    here.send("go on")
    process.join(120)
    said = printed.read_text()
    assert process.exitcode == 128 + signal.SIGTERM, said
    assert said.splitlines()[-1] == "attngeo: interrupted after step 7; continue with --resume."
    assert "Traceback" not in said
    with pytest.raises(ProcessLookupError):  # no worker is left
        os.killpg(process.pid, 0)
    assert_same_curve(unbroken, train(small_config(text), folder, resume=True))
