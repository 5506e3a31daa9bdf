"""What make release packs."""

import subprocess
from zipfile import ZipFile

import pytest

from attngeo import __version__
from attngeo.book.release import ReleaseError, release

FILES = {
    "book/_build/html/index.html": "book/index.html",
    "book/_build/html/notebooks/one.html": "book/notebooks/one.html",
    "book/_build/html/notebooks/one.ipynb": "notebooks/one.ipynb",
    "book/_build/pdf/attngeo.pdf": f"attngeo-{__version__}.pdf",
    f"dist/attngeo-{__version__}.tar.gz": f"attngeo-{__version__}.tar.gz",
    f"dist/attngeo-{__version__}-py3-none-any.whl": f"attngeo-{__version__}-py3-none-any.whl",
}


@pytest.fixture
def made(tmp_path):
    for path in FILES:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(path)
    return tmp_path


def test_the_checksums_are_those_of_all_that_is_packed(made, tmp_path):
    archive = release(made)
    assert archive.name == f"attngeo-{__version__}-release.zip"
    ZipFile(archive).extractall(tmp_path / "unpacked")
    folder = tmp_path / "unpacked" / f"attngeo-{__version__}"
    for path, name in FILES.items():
        assert (folder / name).read_text() == path
    check = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=folder, capture_output=True, text=True
    )
    packed = [p for p in folder.rglob("*") if p.is_file() and p.name != "SHA256SUMS"]
    assert check.returncode == 0 and check.stdout.count(": OK") == len(packed) == len(FILES) + 1  # a notebook twice


def test_the_same_files_make_the_same_archive(made):
    first = release(made).read_bytes()
    for path in FILES:
        (made / path).touch()
    assert release(made).read_bytes() == first


@pytest.mark.parametrize("path", ["book/_build/html", "book/_build/pdf/attngeo.pdf", "dist"])
def test_what_is_missing_is_named_and_nothing_is_packed(made, path):
    (made / path).rename(made / "elsewhere")
    with pytest.raises(ReleaseError, match=r"^[^\n]*\.$"):
        release(made)
    assert not list(made.glob("dist/*.zip"))
