"""A release as one archive: the built book, its PDF, the executed notebooks, the package, and their checksums."""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from attngeo import __version__
from attngeo.book.notebooks import find_book
from attngeo.errors import AttngeoError
from attngeo.files.atomic import atomic_path

SUMS = "SHA256SUMS"


class ReleaseError(AttngeoError):
    """Something that belongs into a release has not been made."""


def release(root: Path) -> Path:
    """Write ``dist/attngeo-VERSION-release.zip``; of the same files it is the same, byte for byte.

    Args:
        root: the checkout, with what ``make pdf`` and ``python -m build`` make of it.

    Raises:
        ReleaseError: one of these has not been made.
    """
    folder = f"attngeo-{__version__}"
    target = root / "dist" / f"{folder}-release.zip"
    sums = []
    with atomic_path(target) as temporary, ZipFile(temporary, "w") as archive:
        for name, path in sorted(_files(root)):
            content = path.read_bytes()
            sums.append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
            archive.writestr(_entry(f"{folder}/{name}"), content)
        archive.writestr(_entry(f"{folder}/{SUMS}"), "".join(sums))
    return target


def _files(root: Path) -> Iterator[tuple[str, Path]]:
    """Names in the release, and where the files are."""
    html, dist = root / "book" / "_build" / "html", root / "dist"
    made = {
        "make book": [p for p in html.rglob("*") if p.is_file() and p.name != ".buildinfo"],
        "make pdf": [p for p in [root / "book" / "_build" / "pdf" / "attngeo.pdf"] if p.is_file()],
        "python -m build": [*dist.glob(f"attngeo-{__version__}-*.whl"), *dist.glob(f"attngeo-{__version__}.tar.gz")],
    }
    for command, paths in made.items():
        if not paths:
            raise ReleaseError(f"The release lacks what {command} makes: run {command} first.")
    yield from ((f"book/{path.relative_to(html).as_posix()}", path) for path in made["make book"])
    yield from ((f"notebooks/{path.name}", path) for path in html.glob("notebooks/*.ipynb"))
    yield from ((f"attngeo-{__version__}{path.suffix}", path) for path in made["make pdf"])
    yield from ((path.name, path) for path in made["python -m build"])


def _entry(name: str) -> ZipInfo:
    entry = ZipInfo(name)  # of 1980, whenever it is made
    entry.compress_type, entry.external_attr = ZIP_DEFLATED, 0o644 << 16
    return entry


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{release(find_book().root)}\n")
    except AttngeoError as error:
        sys.stderr.write(f"Error: {error}\n")
        sys.exit(2)
