"""The lock file, from which the book, the tests and CI install their packages."""

import re
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]


def pins() -> list[Requirement]:
    """What constraints.txt fixes, for all versions of Python and all systems."""
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    return [Requirement(line) for line in lines if not line.startswith("#")]


def test_the_lock_fixes_all_that_the_tests_and_the_book_ask_for():
    declared = (ROOT / "pyproject.toml").read_text("utf-8")
    lists = re.findall(r"^(dependencies|train|book|pdf|release|test|cluster) = (\[.*?\])$", declared, re.M | re.S)
    assert len(lists) == 7
    wanted = {canonicalize_name(Requirement(one).name) for _, text in lists for one in re.findall(r'"([^"]+)"', text)}
    assert wanted - {"attngeo"} <= {canonicalize_name(pin.name) for pin in pins()}


def test_every_pin_is_one_version_without_an_address():
    assert len(pins()) > 200
    assert all(re.fullmatch(r"==[^*,]+", str(pin.specifier)) and pin.url is None for pin in pins())
