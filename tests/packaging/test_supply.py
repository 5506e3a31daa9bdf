"""The lock file, from which CI installs its packages."""

import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
CUDA = re.compile(r"nvidia-|cuda-|triton$")  # of torch's build, which pip chooses where no lock is asked for


def pins(name: str) -> set[tuple[str, str]]:
    lines = (ROOT / name).read_text("utf-8").splitlines()
    found = (Requirement(line.rstrip(" \\")) for line in lines if re.match(r"\w", line))
    return {(canonicalize_name(one.name), str(one.specifier)) for one in found}


def test_the_lock_has_the_versions_of_the_constraints():
    """Renewed by ``make lock``."""
    assert {pin for pin in pins("requirements.lock") if not CUDA.match(pin[0])} <= pins("constraints.txt")


def test_the_lock_has_all_that_the_tests_and_the_book_ask_for():
    declared = (ROOT / "pyproject.toml").read_text("utf-8")
    lists = re.findall(r"^(dependencies|train|book|pdf|release|test|cluster) = (\[.*?\])$", declared, re.M | re.S)
    assert len(lists) == 7
    wanted = {canonicalize_name(Requirement(one).name) for _, text in lists for one in re.findall(r'"([^"]+)"', text)}
    assert wanted - {"attngeo"} <= {name for name, _ in pins("requirements.lock")}


def test_every_package_of_the_lock_has_its_hashes_and_no_address():
    text = (ROOT / "requirements.lock").read_text("utf-8")
    packages = re.split(r"^(?=\w)", text, flags=re.M)[1:]
    assert len(packages) > 200 and "://" not in text
    assert all(re.search(r"--hash=sha256:[0-9a-f]{64}\b", package) for package in packages)
