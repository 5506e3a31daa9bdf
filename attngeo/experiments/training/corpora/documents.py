"""Local text: a file or a folder becomes documents."""

import gzip
import hashlib
import json
import lzma
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from attngeo.errors import AttngeoError
from attngeo.files.provenance import sha256
from attngeo.inputs import cause, checked

TEXT_FIELDS = ("text", "raw_content", "content", "comment_text", "comment", "body")  # the first that is there is used
SUFFIXES = (".txt", ".jsonl", ".parquet")
COMPRESSED = {".xz": lzma.open, ".gz": gzip.open}
LOOKED_AT = 2**24  # if the first so many characters have no blank line, each line is a document


class CorpusError(AttngeoError):
    """A corpus is unknown, unreadable, empty or too short."""


@dataclass(frozen=True)
class Corpus:
    """Documents that can be read any number of times, and what identifies them."""

    name: str  # for records, without a path of this machine
    digest: str  # sha256 of the content, or of what determines it
    documents: Callable[[], Iterator[str]]  # a fresh iterator, always in the same order
    sources: tuple[dict, ...] = ()  # files with their sha256, packages with their versions, Hub revisions


def limited(documents: Iterator[str | None], max_characters: int | None) -> Iterator[str]:
    """The documents that are not blank, until their lengths add up to ``max_characters``."""
    room = max_characters or sys.maxsize
    for document in documents:
        if document := (document or "").strip()[:room]:
            yield document
            room -= len(document)
        if not room:
            return


def local_corpus(path: Path, max_characters: int | None = None) -> Corpus:
    """The documents of a file, or of all readable files of a folder in the order of their names.

    A file can be ``.txt`` (documents are separated by blank lines; if there are none, each line is a document), or
    ``.jsonl`` or ``.parquet`` (one document per row, in a column named text, raw_content, content, comment_text,
    comment or body). The first two can also be compressed as ``.xz`` or ``.gz``. Files in subfolders of a folder are
    included.

    Raises:
        CorpusError: the path does not exist, cannot be read, or contains no text.
    """
    files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
    files = [file for file in files if _kind(file) in SUFFIXES]
    try:
        sources = tuple({"file": file.relative_to(path.parent).as_posix(), "sha256": sha256(file)} for file in files)
    except OSError as error:
        raise CorpusError(f"{error.filename} cannot be read: {error.strerror}.") from error
    key = json.dumps([[source["sha256"] for source in sources], max_characters])

    def documents() -> Iterator[str]:
        return limited((document for file in files for document in read_documents(file)), max_characters)

    if next(documents(), None) is None:
        known = f"{', '.join(SUFFIXES)}, also with {', '.join(COMPRESSED)}"
        raise CorpusError(f"{path} contains no text; give a file or folder of {known}.")
    return Corpus(path.name, hashlib.sha256(key.encode()).hexdigest(), documents, sources)


def read_documents(file: Path) -> Iterator[str | None]:
    """The documents of one file, which are read one after the other.

    Raises:
        CorpusError: the file cannot be read, or its content does not fit its suffix.
    """
    try:
        for document in _rows(file):
            yield checked(document, str | None, ValueError)
    except Exception as error:  # damaged bytes make pyarrow raise anything
        raise CorpusError(
            f"{file} cannot be read ({cause(error)}); check that it is complete, in UTF-8 and, if it has rows, that"
            f" their text is in a column {' or '.join(TEXT_FIELDS[:4])}."
        ) from error


def _rows(file: Path) -> Iterator[str | None]:
    if _kind(file) == ".parquet":
        from pyarrow import parquet

        name = _text_field(parquet.read_schema(file).names)
        table = parquet.ParquetFile(file, read_dictionary=[name])  # a repeated text is stored once
        for batch in table.iter_batches(1024, columns=[name]):
            yield from (value.as_py() for value in batch.column(0))
        return
    with COMPRESSED.get(file.suffix.lower(), open)(file, "rt", encoding="utf-8") as text:
        if _kind(file) == ".txt":
            yield from _plain(text)
            return
        for row in map(json.loads, filter(str.strip, text)):
            yield row if isinstance(row, str) else row[_text_field(row)]


def _kind(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes if suffix.lower() not in COMPRESSED]
    return suffixes[-1] if suffixes else ""


def _plain(lines: Iterator[str]) -> Iterator[str]:
    """Documents separated by blank lines. In a text without blank lines, every line is a document."""
    held: list[str] = []
    length = 0
    several = False
    for line in lines:
        if line.strip():
            held.append(line)
            length += len(line)
        elif held:
            yield "".join(held)
            held = []
            length = 0
            several = True
        if length > LOOKED_AT and not several:
            yield from held
            yield from lines
            return
    yield from ["".join(held)] if several else held


def _text_field(names) -> str:
    if name := next((name for name in TEXT_FIELDS if name in names), None):
        return name
    raise ValueError("it has no column with text")
