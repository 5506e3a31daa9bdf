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
