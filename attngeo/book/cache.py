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
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
from nbformat import NotebookNode

import attngeo
from attngeo.book.notebooks import Book, Chapter
from attngeo.files.atomic import write_text
from attngeo.files.provenance import sha256, versions

PACKAGE = Path(attngeo.__file__).parent
MACHINERY = ("book", "cli")  # parts of the package that no chapter computes with
_ROOM = re.compile(r"\battngeo\.chapters\.(\w+)")


@dataclass(frozen=True)
class Kept:
    """An executed chapter and the record of its run."""

    notebook: NotebookNode
    record: dict[str, Any]

    def fingerprint(self) -> str:
        """Changes whenever the page has to be made again."""
        return _digest([nbformat.writes(self.notebook), self.record])


def key(chapter: Chapter, values: Mapping[str, Any], book: Book, reports: Any = None) -> str:
    """The hash of everything a run of this chapter depends on (see the module)."""
    ingredients = [chapter.text, dict(values), versions(), reports]
    code = "\n".join(c.source for c in chapter.notebook().cells if c.cell_type == "code")
    if "attngeo" in code:
        ingredients.append(_sources(PACKAGE, set(_ROOM.findall(code))))
    for place in chapter.reads:
        ingredients.append([place, _listing(place) if place.isupper() else _contents(book.root / place)])
    return _digest(ingredients)


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


def _sources(package: Path, used: set[str]) -> list[tuple[str, str]]:
    """Of the package, without what no chapter computes with and the rooms of chapters that this one does not use."""
    files = (f for f in _files(package) if f.suffix in (".py", ".yml", ".csv", ".mplstyle"))
    paths = {f: f.relative_to(package).parts for f in files}
    return [
        ("/".join(parts), sha256(f))
        for f, parts in paths.items()
        if parts[0] not in MACHINERY and (parts[0] != "chapters" or len(parts) == 2 or parts[1] in used)
    ]


def _contents(place: Path) -> list[tuple[str, str]]:
    return [(str(f.relative_to(place)), sha256(f)) for f in _files(place)]


def _listing(variable: str) -> list[tuple[str, int, int]]:
    """Names, sizes and times below the folder that a variable names: gigabytes are not read for a key."""
    if not os.environ.get(variable):
        return []
    place = Path(os.environ[variable])
    return [(str(f.relative_to(place)), f.stat().st_size, f.stat().st_mtime_ns) for f in _files(place)]


def _files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
    yield from sorted(f for f in place.rglob("*") if f.is_file() and "__pycache__" not in f.parts)
