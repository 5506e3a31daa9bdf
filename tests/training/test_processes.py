import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict

import pytest
import torch
from small_runs import assert_same_curve, small_config
from transformers import BertForMaskedLM

from attngeo.runs.record import read_run
from attngeo.training.train import train

COMMON = {"dropout": 0.0, "steps": 8, "record_every": 2, "evaluate_every": 4, "checkpoint_every": 4}
CHANGES = {"whole": {}, "accumulated": {"micro_batch": 2}}


def flags(config, folder):
    """What the command line is given for a configuration."""
    values = {key.replace("_", "-"): value for key, value in asdict(config).items() if value is not None}
    given = [f"--{key}={value}" for key, value in values.items() if not isinstance(value, bool)]
    return ["train", "-o", str(folder), *given]


def torchrun(file, program, *arguments, **environment):
    """A program under torchrun: two processes of one core each."""
    file.write_text(program)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    return subprocess.run(
        [*launcher, str(file), *arguments], env=os.environ | environment, capture_output=True, text=True, timeout=240
    )


@pytest.fixture(scope="module")
def one(text, tmp_path_factory):
    """The folder of a run of one process."""
    folder = tmp_path_factory.mktemp("one") / "run"
    train(small_config(text, **COMMON), folder)
    return folder


# every command line is one run; then the weights are shared in both ways of torch
TWO = """
import copy, json, sys, torch
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from attngeo import score
from attngeo.cli import main
from attngeo.training.bert import build_model, forms, whole_forms
from attngeo.training.choices import Shape

for command in json.loads(sys.argv[1]):
    try:
        main(command)
    except SystemExit as ended:
        assert not ended.code
model = build_model(Shape(layers=2, d_model=16, heads=2, d_ff=16, vocab_size=30), False)
expected = [float(score(form).symmetry) for form in forms(model)]
old = FullyShardedDataParallel(copy.deepcopy(model), use_orig_params=True, device_id=torch.device("cpu"))
new = copy.deepcopy(model)
for layer in new.bert.encoder.layer:
    fully_shard(layer, mesh=init_device_mesh("cpu", (2,)))
fully_shard(new, mesh=init_device_mesh("cpu", (2,)))
for wrapped, inner in ((old, old.module), (new, new)):
    local = sum(getattr(p, "_local_tensor", p).numel() for p in inner.parameters())
    assert local < 0.7 * sum(p.numel() for p in model.parameters()), "not sharded"
    with torch.no_grad(), whole_forms(wrapped, inner) as found:
        print("equal" if [float(score(form).symmetry) for form in found] == expected else "other", flush=True)
"""


@pytest.fixture(scope="module")
def two(text, tmp_path_factory):
    """The folder of the runs of two processes, and what they printed."""
    folder = tmp_path_factory.mktemp("two")
    commands = [flags(small_config(text, **COMMON, **change), folder / name) for name, change in CHANGES.items()]
    ended = torchrun(folder / "two.py", TWO, json.dumps(commands))
    assert ended.returncode == 0, ended.stderr
    return folder, ended.stdout


@pytest.mark.parametrize("name", CHANGES)
def test_two_processes_give_the_curve_of_one(text, one, two, tmp_path, name):
    folder, said = two
    assert said.count("finished") == len(CHANGES)  # one of the processes speaks
    several = read_run(folder / name)
    single = train(small_config(text, **COMMON, **CHANGES[name]), tmp_path / "run") if CHANGES[name] else read_run(one)
    assert (several.about["processes"], single.about["processes"]) == (2, 1)
    assert_same_curve(single, several, tolerance=1e-5)
    assert all(single.about[what] == several.about[what] for what in ("corpus", "tokenizer"))


def test_scores_of_sharded_weights_are_those_of_whole_ones(two):
    assert (two[1].count("equal"), two[1].count("other")) == (4, 0)  # two ways, two processes


FSDP = {  # what accelerate launch sets from its configuration
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_TRANSFORMER_CLS_TO_WRAP": "BertLayer",
}
ON_GPUS = """
import os, signal, sys
from accelerate.state import PartialState
from accelerate.utils import DistributedType
from attngeo.cli import main
from attngeo.training.recorder import Recorder

start, end_step = PartialState.__init__, Recorder.on_step_end

def pretending(self, *rest, **options):
    start(self, *rest, **options)
    if self.distributed_type == DistributedType.MULTI_CPU:  # where accelerate would not share the weights
        self.distributed_type = DistributedType.MULTI_GPU

def dying(self, args, state, control, **others):
    if state.global_step == 7 and "--resume" not in sys.argv:  # nothing is written at this step
        os.kill(os.getpid(), signal.SIGKILL)
    end_step(self, args, state, control, **others)

PartialState.__init__, Recorder.on_step_end = pretending, dying
main()
"""


def test_processes_that_share_the_weights_give_the_curve_of_one_also_after_a_kill(text, one, tmp_path):
    """FSDP 2 by accelerate, which has it for GPUs only; so the two processes say that they are GPUs."""
    command = flags(small_config(text, **COMMON), tmp_path / "two")
    ended = torchrun(tmp_path / "on_gpus.py", ON_GPUS, *command, **FSDP)
    assert f"(exitcode: {-signal.SIGKILL})" in ended.stderr
    assert ended.returncode != 0 and read_run(tmp_path / "two").about["status"] == "running"
    ended = torchrun(tmp_path / "on_gpus.py", ON_GPUS, *command, "--resume", **FSDP)
    assert ended.returncode == 0, ended.stderr
    several, single = read_run(tmp_path / "two"), read_run(one)
    assert (several.about["sharing"], single.about["sharing"]) == ("fsdp", "no")
    assert_same_curve(single, several, tolerance=1e-5)
    found, expected = (
        BertForMaskedLM.from_pretrained(folder / "model").state_dict() for folder in (tmp_path / "two", one)
    )
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-4, atol=1e-5)
