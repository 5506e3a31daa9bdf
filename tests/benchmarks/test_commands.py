"""What a command costs before and beside its work (``make benchmarks``)."""

import resource
import subprocess
import sys

import torch
from transformers import GPT2Config, GPT2Model

COMMANDS = (["train", "--help"], ["score", "gpt2"])


def test_seconds_of_commands(record, tmp_path):
    """Processor time of fresh processes that take turns, beside that of importing torch; GPT-2 has random weights."""
    torch.manual_seed(0)
    GPT2Model(GPT2Config()).save_pretrained(tmp_path / "gpt2")
    ways = {"import torch": ["-c", "import torch"]}
    ways |= {f"attngeo {' '.join(words)}": ["-m", "attngeo", *words] for words in COMMANDS}
    seconds = {name: [] for name in ways}
    for _ in range(3):
        for name, words in ways.items():
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words], cwd=tmp_path, check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            seconds[name].append(round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 3))
    record.extend({"command": name, "seconds": found} for name, found in seconds.items())
