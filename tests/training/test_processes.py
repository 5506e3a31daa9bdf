import os
import subprocess
import sys

import pytest
import torch
from small_runs import assert_same_curve, small_config, write_text
from transformers import BertForMaskedLM

from attngeo.runs.record import read_run
from attngeo.training.train import train

COMMON = {"dropout": 0.0, "steps": 8, "record_every": 2, "evaluate_every": 4, "checkpoint_every": 4}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNGEO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield write_text(tmp_path_factory.mktemp("text") / "text.txt")


def torchrun(processes, config, folder, *program, **environment):
    """The command line, or a program in its place, under torchrun, one core per process."""
    settings = {key.replace("_", "-"): value for key, value in config.to_dict().items() if value is not None}
    flags = [f"--{key}={value}" for key, value in settings.items() if not isinstance(value, bool)]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    return subprocess.run(
        [*launcher, *(program[:1] or ("-m", "attngeo")), "train", "-o", str(folder), *flags, *program[1:]],
        env=os.environ | {"OMP_NUM_THREADS": "1"} | environment,
        capture_output=True,
        text=True,
        timeout=240,
    )


@pytest.mark.parametrize("change", [{}, {"micro_batch": 2}], ids=["whole", "accumulated"])
def test_two_processes_give_the_curve_of_one(text, tmp_path, change):
    config = small_config(text, **COMMON, **change)
    ended = torchrun(2, config, tmp_path / "two")
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("finished after 8 steps") == 1
    two, one = read_run(tmp_path / "two"), train(config, tmp_path / "one")
    assert (two.about["processes"], one.about["processes"]) == (2, 1)
    assert_same_curve(one, two, tolerance=1e-5)
    assert one.about["corpus"] == two.about["corpus"] and one.about["tokenizer"] == two.about["tokenizer"]


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
from attngeo.recording import Recorder

start, record = PartialState.__init__, Recorder._record

def pretending(self, *rest, **options):
    start(self, *rest, **options)
    if self.distributed_type == DistributedType.MULTI_CPU:  # where accelerate would not share the weights
        self.distributed_type = DistributedType.MULTI_GPU

def dying(self, step, learning_rate):
    if step == 6 and "--resume" not in sys.argv:
        os.kill(os.getpid(), signal.SIGKILL)
    record(self, step, learning_rate)

PartialState.__init__, Recorder._record = pretending, dying
main()
"""


def test_processes_that_share_the_weights_give_the_curve_of_one_also_after_a_kill(text, tmp_path):
    """FSDP 2 by accelerate, which has it for GPUs only; so the two processes say that they are GPUs."""
    (tmp_path / "on_gpus.py").write_text(ON_GPUS)
    config = small_config(text, **COMMON)
    ended = torchrun(2, config, tmp_path / "two", tmp_path / "on_gpus.py", **FSDP)
    assert ended.returncode != 0 and read_run(tmp_path / "two").about["status"] == "running"
    ended = torchrun(2, config, tmp_path / "two", tmp_path / "on_gpus.py", "--resume", **FSDP)
    assert ended.returncode == 0, ended.stderr
    two, one = read_run(tmp_path / "two"), train(config, tmp_path / "one")
    assert (two.about["sharing"], one.about["sharing"]) == ("fsdp", "no")
    assert_same_curve(one, two, tolerance=1e-5)
    found, expected = (
        BertForMaskedLM.from_pretrained(tmp_path / name / "model").state_dict() for name in ("two", "one")
    )
    for name in expected:
        torch.testing.assert_close(found[name], expected[name], rtol=1e-4, atol=1e-5)


SHARDED = """
import copy, torch, torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from attngeo import score
from attngeo.models import Shape, build_model, forms
from attngeo.model_scores import whole_forms

dist.init_process_group("gloo")
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
        assert [float(score(form).symmetry) for form in found] == expected
print("equal")
dist.destroy_process_group()
"""


def test_scores_of_sharded_weights_are_those_of_whole_ones(tmp_path):
    (tmp_path / "sharded.py").write_text(SHARDED)
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    program = [*launcher, str(tmp_path / "sharded.py")]
    ended = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=240)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.count("equal") == 2
