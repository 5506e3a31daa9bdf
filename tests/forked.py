"""Command lines in processes of their own, forked from one that has imported what a training needs.

The imports take longer than a small run.
"""

import multiprocessing
import os
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

FORKED = multiprocessing.get_context("forkserver")
FORKED.set_forkserver_preload(["attngeo.experiments.training.train"])


def carry_out(commands: list[list[str]], printed: Path, prepare: Callable[[], None]) -> None:
    """Carry out command lines one after the other, until one fails. What they print is written to a file."""
    from attngeo.cli import main

    with printed.open("wb") as file:
        for stream in (1, 2):
            os.dup2(file.fileno(), stream)
    multiprocessing.set_start_method(None, force=True)  # data loaders start their workers as in any other process
    prepare()
    for command in commands:
        try:
            main(command)
        except SystemExit as ended:
            if ended.code:
                raise


def join_others(rank: int, world: int, port: int) -> None:
    """Make the process one of several that share a training, by the variables that torchrun sets."""
    named = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": world, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ |= {name: f"{value}" for name, value in named.items()}


def wait_at_seven(test: Connection) -> None:
    """Give the process a group of its own, and let its training have two data-loader workers and wait at step 7."""
    from attngeo.experiments.commands import train as command
    from attngeo.experiments.training import train as training

    os.setsid()
    arguments_for_devices = training.trainer_arguments

    def arguments_with_workers(*given):
        arguments = arguments_for_devices(*given)
        arguments.dataloader_num_workers = 2
        return arguments

    def wait(progress, row):
        if row["step"] == 7:
            test.send("waiting")
            test.recv()

    training.trainer_arguments = arguments_with_workers
    command._Progress.show = wait
