import os
import subprocess
import sys

import pytest
from small_runs import assert_same_curve, small_config, write_text

from attngeo.run_record import read_run
from attngeo.training import train

COMMON = {"dropout": 0.0, "steps": 8, "record_every": 2, "evaluate_every": 4, "checkpoint_every": 4}


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ATTNGEO_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield write_text(tmp_path_factory.mktemp("text") / "text.txt")


def torchrun(processes, config, folder):
    """The command line under torchrun, one core per process."""
    settings = {key.replace("_", "-"): value for key, value in config.to_dict().items() if value is not None}
    flags = [f"--{key}={value}" for key, value in settings.items() if not isinstance(value, bool)]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc_per_node={processes}"]
    return subprocess.run(
        [*launcher, "-m", "attngeo", "train", "-o", str(folder), *flags],
        env=os.environ | {"OMP_NUM_THREADS": "1"},
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
