"""What the whole book costs, cold and with nothing changed (``make benchmarks``)."""

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("profile", ["smoke", "cpu"])
def test_build_of_the_book(record, tmp_path, profile):
    """A cold build of a copy of the checkout, then a second one that has nothing to execute."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name, follow_symlinks=False)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", "book"]
    environment = os.environ | {"ATTNGEO_PROFILE": profile}
    for build in ("cold", "warm"):
        start, before = time.perf_counter(), processor_seconds()
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
        took = {"seconds": time.perf_counter() - start, "processor_seconds": processor_seconds() - before}
        record.append({"profile": profile, "build": build} | {name: round(value, 1) for name, value in took.items()})


def processor_seconds() -> float:
    """Of all processes that have ended below this one."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
