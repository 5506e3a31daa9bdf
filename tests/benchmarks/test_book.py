"""How long the whole book takes, cold and with nothing changed (``make benchmarks``)."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("profile", ["smoke", "cpu"])
def test_build_of_the_book(benchmark, tmp_path, profile):
    """A cold build of a copy of the checkout, then a second one that has nothing to execute."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.split("\0")):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tmp_path / name, follow_symlinks=False)
    command = [sys.executable, "-m", "jupyter_book", "build", "book"]
    environment = os.environ | {"ATTNGEO_PROFILE": profile, "ATTNGEO_BOOK": str(tmp_path)}

    def build() -> None:
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)

    start = time.perf_counter()
    build()
    benchmark.extra_info["cold_seconds"] = time.perf_counter() - start
    benchmark.pedantic(build, rounds=1)
    benchmark.extra_info["cold_over_warm"] = benchmark.extra_info["cold_seconds"] / benchmark.stats["min"]
