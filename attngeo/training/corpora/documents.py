"""Local text: a file or a folder becomes documents."""

import csv
import hashlib
import io
import json
import lzma
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from attngeo.errors import AttngeoError
from attngeo.files.provenance import sha256
from attngeo.inputs import cause, checked, parse_json

TEXT_FIELDS = ("text", "raw_content", "content", "comment_text", "comment", "body")  # first found, first taken
SUFFIXES = (".txt", ".jsonl", ".csv", ".parquet")
COMPRESSED = (".xz", ".gz", ".zst")
LONGEST = 2**24  # characters of a document or a line
BLANKEST = 2**20  # characters between two documents


class CorpusError(AttngeoError):
    """A corpus is unknown, unreadable, empty or too short."""


@dataclass(frozen=True)
class Corpus:
    """Documents that can be gone through any number of times, and what identifies them."""

    name: str  # for records; no path of this machine
    digest: str  # sha256 of the content, or of what determines it
    documents: Callable[[], Iterator[str]]  # a fresh iterator, always in the same order
    sources: tuple[dict, ...] = ()  # files with their sha256, packages with their versions, Hub revisions


def limited(documents: Iterator[str], max_characters: int | None, name: object = "the text") -> Iterator[str]:
    """Documents until their lengths reach ``max_characters``; blank ones are left out.

    Raises:
        CorpusError: one of them is longer than `LONGEST`, or what is blank between two than `BLANKEST`.
    """
    room = float("inf") if max_characters is None else max_characters
    blank = 0
    for document in documents:
        if room <= 0:
            return
        blank = 0 if document.strip() else blank + len(document) + 1
        if blank > BLANKEST:
            raise CorpusError(f"{name} has a gap of more than {BLANKEST:,} characters; take it out.")
        if len(document) > LONGEST:
            raise CorpusError(f"{name} has a document of more than {LONGEST:,} characters; break it up.")
        if document := document.strip():
            document = document[: int(room)] if len(document) > room else document
            room -= len(document)
            yield document


def local_corpus(path: Path, max_characters: int | None = None) -> Corpus:
    """The documents of a file, or of all readable files of a folder in the order of their names.

    A file is ``.txt`` (documents apart by a blank line; one per line where there is none), ``.jsonl``, ``.csv`` or
    ``.parquet`` (one document per row, in a column named text, raw_content, content, comment_text, comment or body),
    each also with ``.xz``, ``.gz`` or ``.zst``; a folder has such files, subfolders included.

    Raises:
        CorpusError: nothing there, nothing readable, or no text in it.
    """
    files = _files(path)
    try:
        sources = tuple({"file": file.relative_to(path.parent).as_posix(), "sha256": sha256(file)} for file in files)
    except OSError as error:
        raise CorpusError(f"{error.filename} cannot be read: {error.strerror}.") from error
    key = json.dumps([[source["sha256"] for source in sources], max_characters])

    def documents() -> Iterator[str]:
        return limited((document for file in files for document in read_documents(file)), max_characters, path)

    if next(documents(), None) is None:
        raise CorpusError(f"{path} holds no text; give a file or folder of {', '.join(SUFFIXES)}.")
    return Corpus(path.name, hashlib.sha256(key.encode()).hexdigest(), documents, sources)


def read_documents(file: Path) -> Iterator[str]:
    """The documents of one file, read as they are asked for.

    Raises:
        CorpusError: the file cannot be read or is not what its name says, or a line is longer than `LONGEST`.
    """
    kind = _kind(file)
    try:
        if kind == ".parquet":
            yield from _parquet(file)
            return
        with _opened(file) as text:
            yield from {".txt": _plain, ".jsonl": _json_lines, ".csv": _table}[kind](_lines(text, file), file)
    except (OSError, EOFError, lzma.LZMAError, UnicodeDecodeError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise CorpusError(f"{file} cannot be read ({reason}); check that it is complete and in UTF-8.") from error


def _files(path: Path) -> list[Path]:
    if path.is_file():
        if not _kind(path):
            raise CorpusError(f"{path} is of no known kind; give {', '.join(SUFFIXES)}, with {', '.join(COMPRESSED)}.")
        return [path]
    if not path.is_dir():
        raise CorpusError(f"{path} does not exist; give a text file, a folder of them, or the name of a corpus.")
    files = sorted(file for file in path.rglob("*") if file.is_file() and _kind(file))
    if not files:
        raise CorpusError(f"{path} holds no file of {', '.join(SUFFIXES)}; put text there or name another folder.")
    return files


def _kind(file: Path) -> str:
    suffixes = [suffix.lower() for suffix in file.suffixes[-2:]]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return suffixes[-1] if suffixes and suffixes[-1] in SUFFIXES else ""


def _opened(file: Path) -> io.TextIOBase:
    suffix = file.suffix.lower()
    if suffix == ".xz":
        return lzma.open(file, "rt", encoding="utf-8")
    if suffix in (".gz", ".zst"):
        import pyarrow

        compression = {".gz": "gzip", ".zst": "zstd"}[suffix]
        return io.TextIOWrapper(pyarrow.input_stream(os.fspath(file), compression), encoding="utf-8")
    return open(file, encoding="utf-8")


def _lines(text: io.TextIOBase, file: Path) -> Iterator[str]:
    """Lines, none of them longer than LONGEST."""
    while line := text.readline(LONGEST + 1):
        if len(line) > LONGEST:
            raise CorpusError(f"{file} has a line of more than {LONGEST:,} characters; break it up.")
        if "\0" in line:  # UTF-16 without a mark of its order is valid UTF-8
            raise CorpusError(f"{file} has characters of zero, as no text in UTF-8 has; convert it to UTF-8.")
        yield line


def _plain(lines: Iterator[str], file: Path) -> Iterator[str]:
    """Documents apart by blank lines; where the first LONGEST characters have none, every line is a document."""
    held: list[str] = []
    length, several = 0, False
    for line in lines:
        if line.strip():
            held.append(line)
            length += len(line)
        elif held:
            yield "".join(held)
            held, length, several = [], 0, True
        else:
            yield ""
        if length > LONGEST:
            yield from ["".join(held)] if several else held
            yield from lines
    yield from ["".join(held)] if several else held


def _json_lines(lines: Iterator[str], file: Path) -> Iterator[str]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            yield ""
            continue
        refuse = partial(_no_row, f"line {number} of {file}")
        row = parse_json(line, str | dict[str, Any], refuse)
        row = {"text": row} if isinstance(row, str) else row
        document = checked(row[_text_field(row, file)], str | None, refuse) or ""
        if not document.isascii() and any("\ud800" <= c <= "\udfff" for c in document):
            raise refuse("half of a surrogate pair")
        yield document


def _no_row(place: str, why: str) -> CorpusError:
    return CorpusError(f"{place} is no row of text ({why}); mend or fetch the file.")


def _table(lines: Iterator[str], file: Path) -> Iterator[str]:
    csv.field_size_limit(LONGEST)
    rows = csv.DictReader(lines)
    name = _text_field(rows.fieldnames or (), file)
    yield from (row[name] or "" for row in rows)


def _parquet(file: Path) -> Iterator[str]:
    from pyarrow import parquet

    try:
        name = _text_field(parquet.read_schema(file).names, file)
        table = parquet.ParquetFile(file, read_dictionary=[name])  # what is repeated is held once
        for batch in table.iter_batches(1024, columns=[name]):
            for value in batch.column(0):
                yield checked(value.as_py(), str | None, partial(_no_row, f"{file}")) or ""
    except CorpusError:
        raise
    except Exception as error:  # damaged bytes make pyarrow raise anything
        raise CorpusError(f"{file} is not a readable parquet file ({cause(error)}); fetch it again.") from error


def _text_field(names, file: Path) -> str:
    for name in TEXT_FIELDS:
        if name in names:
            return name
    raise CorpusError(f"{file} has no column of text; name one of its columns {' or '.join(TEXT_FIELDS[:4])}.")
