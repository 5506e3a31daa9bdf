"""What a command costs before and beside its work (``make benchmarks``)."""

import resource
import subprocess
import sys

import pytest
import torch
from transformers import GPT2Config, GPT2Model

COMMANDS = (["score", "--help"], ["train", "--help"], ["score", "gpt2"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """GPT-2's shape with random weights."""
    folder = tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    GPT2Model(GPT2Config()).save_pretrained(folder / "gpt2")
    return folder


def test_seconds_of_commands(record, folder):
    """Processor time of fresh processes that take turns, beside that of importing torch."""
    ways = {"import torch": ["-c", "import torch"]}
    ways |= {f"attngeo {' '.join(words)}": ["-m", "attngeo", *words] for words in COMMANDS}
    seconds = {name: [] for name in ways}
    for _ in range(3):
        for name, words in ways.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds[name].append(round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3))
    record.extend({"command": name, "seconds": found} for name, found in seconds.items())
