"""The wheel as a user gets it: in a fresh environment with what it declares and no more, used in an empty folder."""

import json
import os
import re
import shutil
import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
import torch
from packaging.requirements import Requirement
from small_models import small_model

ROOT = Path(__file__).parents[2]
EXTRAS = {"pandas", "pyarrow", "transformers", "matplotlib", "scipy", "datasets", "papermill", "IPython"}
CALLS = """
import json, sys, contextlib, io
from attngeo.cli import main
found = []
for call in json.loads(sys.argv[1]):
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(call)
        except SystemExit as end:
            found.append([end.code or 0, out.getvalue(), err.getvalue()])
import attngeo, inspect, pydoc
from attngeo import *
from attngeo import ScoreCallback
assert {"ScoreCallback", "score"} <= dict(inspect.getmembers(attngeo)).keys() and pydoc.render_doc(attngeo)
missing = []
try:
    ScoreCallback(every=10)
except ImportError as error:
    missing.append(str(error))
modules = [m for m in sys.modules if "." not in m]
print(json.dumps({"missing": missing, "calls": found, "modules": modules, "file": attngeo.__file__}))
"""


def brought(distribution: metadata.Distribution, found: dict[str, metadata.Distribution]) -> None:
    """Add what a distribution brings without extras, by name."""
    for needed in map(Requirement, distribution.requires or ()):
        if needed.name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            found[needed.name] = metadata.distribution(needed.name)
            brought(found[needed.name], found)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    (folder / "CITATION.cff").write_text("repository-code: https://example.org/we/attngeo\n")
    for package in ("attngeo", "book/livingpaper", "notebooks/chapters"):
        shutil.copytree(ROOT / package, folder / package, ignore=shutil.ignore_patterns("__pycache__"))
    build = [sys.executable, "-c", "from setuptools import build_meta; build_meta.build_wheel('.')"]  # as pip does
    subprocess.run(build, cwd=folder, capture_output=True, check=True, timeout=300)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def described(wheel) -> metadata.Distribution:
    """What a package index shows of the wheel."""
    (found,) = metadata.distributions(path=[str(wheel)])
    return found


def test_links_of_the_long_description_lead_to_the_configured_address(described):
    readme = described.metadata["Description"]
    assert "](https://example.org/we/attngeo/blob/main/book/use/score.md)" in readme
    assert re.findall(r"\]\((?!https?:|#)", readme) == []
    addresses = {"Paper, https://arxiv.org/abs/2502.10927", "Source, https://example.org/we/attngeo"}
    assert set(described.metadata.get_all("Project-URL")) == addresses


@pytest.fixture(scope="module")
def python(wheel, described, tmp_path_factory) -> Path:
    """An environment with the wheel, and of the test's own packages those alone that the wheel's requirements bring."""
    folder, needed = tmp_path_factory.mktemp("fresh"), {}
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index", "-q"]
    subprocess.run([*pip, wheel], check=True, timeout=300)
    site = next(folder.glob("lib/python*/site-packages"))
    brought(described, needed)
    for distribution in needed.values():
        for top in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            if not (site / top).exists():
                (site / top).symlink_to(distribution.locate_file(top))
    return python


@pytest.fixture(scope="module")
def used(python, tmp_path_factory) -> dict:
    """What each command did in an empty folder: exit code, output, errors; by its first words."""
    folder, models = tmp_path_factory.mktemp("empty"), tmp_path_factory.mktemp("models")
    torch.manual_seed(0)
    small_model("bert", num_attention_heads=2)().save_pretrained(models / "tiny")
    tiny = str(models / "tiny")
    calls = {
        "score": ["score", tiny],
        "score csv": ["score", tiny, "--per-head", "-o", "s.csv"],
        "list": ["survey", "--list", "--group", "bert"],
        "survey": ["survey", tiny, "-o", "d"],
        "survey nowhere": ["survey", tiny],
        "train": ["train", "-o", "run"],
        "run": ["run", "directionality"],
    }
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ATTNGEO_", "PYTHON"))}
    done = subprocess.run(
        [python, "-I", "-c", CALLS, json.dumps(list(calls.values()))],
        cwd=folder, env=kept, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    return told | dict(zip(calls, told["calls"], strict=True)) | {"folder": folder}


def test_the_package_alone_is_light_and_what_it_reads_travels(wheel, described):
    small = {"click", "filelock", "huggingface_hub", "jaxtyping", "msgspec", "numpy", "pyyaml", "rich", "safetensors"}
    assert {needed.name for needed in map(Requirement, described.requires) if not needed.marker} == small | {"torch"}
    with ZipFile(wheel) as archive:
        names = set(archive.namelist())
    kinds = {".yml", ".csv", ".html", ".js", ".mplstyle", ".typed"}
    read = {file.relative_to(ROOT).as_posix() for file in (ROOT / "attngeo").rglob("*") if file.suffix in kinds}
    assert len(read) > 5 and read <= names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"attngeo"}  # and its dist-info
    assert "attngeo/experiments/training/train.py" in names
    assert (described.read_text("top_level.txt") or "attngeo").split() == ["attngeo"]


def test_it_is_the_installed_package_and_nothing_else_that_was_used(used, python):
    assert Path(used["file"]).is_relative_to(python.parents[1])
    assert not EXTRAS & set(used["modules"])
    assert "attngeo[train]" in used["missing"][0]  # every public name is there, and says what it needs when it is used


def test_what_needs_no_extra_works_and_what_is_missing_is_named_in_one_sentence(used):
    for name in ("score", "score csv", "list", "survey"):
        assert used[name][0] == 0, used[name]
    missing = {"train": "attngeo[train]", "run": "ATTNGEO_BOOK"}
    for name, word in (missing | {"survey nowhere": "-o"}).items():
        code, out, err = used[name]
        assert (code, out) == (2, "") and err.count("\n") == 1 and word in err
    assert "google-bert/bert-base-uncased" in used["list"][1]


def test_what_was_asked_for_is_in_the_folder(used):
    assert sorted(path.name for path in used["folder"].iterdir()) == ["d", "s.csv"]
    record = used["folder"] / "d" / "tiny"
    assert {path.name for path in record.iterdir()} == {
        "record.json",
        "layers.csv",
        "heads.csv",
        "coherence.csv",
        "images.npz",
    }
    assert len((record / "heads.csv").read_text().splitlines()) == 1 + 2 * 2
