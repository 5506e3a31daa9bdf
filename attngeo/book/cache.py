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
from typing import Any

import nbformat
from nbformat import NotebookNode

import attngeo
from attngeo.book.execution import RECORD
from attngeo.book.notebooks import Book, Chapter
from attngeo.files.atomic import write_text
from attngeo.files.provenance import sha256, versions

PACKAGE = Path(attngeo.__file__).parent
_IMPORT = re.compile(r"^\s*(?:from|import) attngeo\b", re.M)
_ROOM = re.compile(r"\battngeo\.chapters\.(\w+)")


def fingerprint(run: NotebookNode) -> str:
    """Changes whenever the page of an executed chapter has to be made again."""
    return _digest(nbformat.writes(run))


def key(chapter: Chapter, values: Mapping[str, Any], book: Book, reports: Any = None) -> str:
    """The hash of everything a run of this chapter depends on (see the module)."""
    files: dict[str, dict[str, Any]] = {}
    for place in chapter.reads:
        if not place.isupper():
            files[place] = {name: sha256(file) for name, file in _files(book.root / place)}
        elif folder := os.environ.get(place):  # gigabytes are not read for a key
            stats = ((name, file.stat()) for name, file in _files(Path(folder)))
            files[place] = {name: [stat.st_size, stat.st_mtime_ns] for name, stat in stats}
    if _IMPORT.search(chapter.text):
        used = "|".join(set(_ROOM.findall(chapter.text)))
        unused = re.compile(rf"(book|cli)/|chapters/(?!({used})/)\w+/|.*\.(?!(py|yml|csv|mplstyle)$)")
        files[""] = {name: sha256(file) for name, file in _files(PACKAGE) if not unused.match(name)}
    return _digest([chapter.text, dict(values), versions(), reports, files])


def load(book: Book, profile: str, chapter: Chapter, expected: str | None = None) -> NotebookNode | None:
    """The kept run if its key is the expected one (None for any key), else None."""
    try:
        run = nbformat.read(book.cache / profile / f"{chapter.name}.ipynb", as_version=4)
        return run if expected in (None, run.metadata[RECORD]["key"]) else None
    except (OSError, ValueError, LookupError, TypeError, AttributeError, nbformat.ValidationError):
        return None  # missing, or damaged: as good as none


def store(book: Book, profile: str, chapter: Chapter, run: NotebookNode, key: str) -> None:
    """Keep a run under its key."""
    run.metadata[RECORD]["key"] = key
    write_text(book.cache / profile / f"{chapter.name}.ipynb", nbformat.writes(run) + "\n")


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _files(place: Path) -> Iterator[tuple[str, Path]]:
    """Those of a folder by their paths in it, or the file itself."""
    files = sorted(place.rglob("*")) if place.is_dir() else [place]
    yield from ((file.relative_to(place).as_posix(), file) for file in files if file.is_file())
