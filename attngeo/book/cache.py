"""Executed chapters, kept until something they were made from changes.

A run counts while its key is the same: a hash of the chapter's text, the values of its parameters, the package's
sources (where the chapter uses the package; of the chapters' rooms only those it imports), the data it reads, the
versions of what it runs on and, for a chapter that comes last, the reports of the others.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from nbformat import NotebookNode

import attngeo
from attngeo.book.notebooks import Book, Chapter
from attngeo.files.atomic import write_text
from attngeo.files.provenance import sha256, versions

PACKAGE = Path(attngeo.__file__).parent
_ROOM = re.compile(r"\battngeo\.chapters\.(\w+)")


class Kept(NamedTuple):
    """An executed chapter and the record of its run."""

    notebook: NotebookNode
    record: dict[str, Any]

    def fingerprint(self) -> str:
        """Changes whenever the page has to be made again."""
        return _digest([nbformat.writes(self.notebook), self.record])


def key(chapter: Chapter, values: Mapping[str, Any], book: Book, reports: Any = None) -> str:
    """The hash of everything a run of this chapter depends on (see the module)."""
    files: dict[str, dict[str, Any]] = {}
    for place in chapter.reads:
        if not place.isupper():
            files[place] = {name: sha256(file) for name, file in _files(book.root / place)}
        elif folder := os.environ.get(place):  # gigabytes are not read for a key
            stats = ((name, file.stat()) for name, file in _files(Path(folder)))
            files[place] = {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats}
    code = "\n".join(c.source for c in chapter.notebook().cells if c.cell_type == "code")
    if "attngeo" in code:
        used = "|".join(set(_ROOM.findall(code)))
        unused = re.compile(rf"(book|cli)/|chapters/(?!({used})/)\w+/|.*\.(?!(py|yml|csv|mplstyle)$)")
        files[""] = {name: sha256(file) for name, file in _files(PACKAGE) if not unused.match(name)}
    return _digest([chapter.text, dict(values), versions(), reports, files])


def load(book: Book, profile: str, chapter: Chapter, expected: str | None = None) -> Kept | None:
    """The kept run if its key is the expected one (None for any key), else None."""
    notebook, record = _paths(book, profile, chapter)
    try:
        recorded = json.loads(record.read_text(encoding="utf-8"))
        if expected in (None, recorded["key"]):
            return Kept(nbformat.read(notebook, as_version=4), recorded)
    except (OSError, ValueError, KeyError):  # missing, or cut short by a full disk: as good as none
        pass
    return None


def store(book: Book, profile: str, chapter: Chapter, kept: Kept) -> None:
    """Keep a run. The record is written last, so that a notebook without one does not count."""
    notebook, record = _paths(book, profile, chapter)
    record.unlink(missing_ok=True)
    write_text(notebook, nbformat.writes(kept.notebook) + "\n")
    write_text(record, json.dumps(kept.record, indent=1, ensure_ascii=False) + "\n")


def _paths(book: Book, profile: str, chapter: Chapter) -> tuple[Path, Path]:
    folder = book.cache / profile
    return folder / f"{chapter.name}.ipynb", folder / f"{chapter.name}.json"


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _files(place: Path) -> Iterator[tuple[str, Path]]:
    """Those of a folder by their paths in it, or the file itself."""
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    yield from ((file.relative_to(place).as_posix(), file) for file in files if file.is_file())
