"""Writing the rows of a table to a file: the format that belongs to a file name, and the text in each format."""

import csv
import io
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from attngeo import __version__
from attngeo.cli.terminal import say
from attngeo.errors import ParameterError
from attngeo.files.atomic import atomic_path

SUFFIXES = {
    "table": (".txt",),
    "csv": (".csv",),
    "json": (".json",),
    "html": (".html", ".htm"),
}
PICTURES = (".svg", ".png", ".pdf")
MARKS = ("config.json", "adapter_config.json", "run.json")  # files that mark a folder in which no file may be replaced


def format_of(asked: str | None, output: Path | None) -> str:
    """The format according to ``--format`` and the suffix of the output file, which must agree."""
    suffix = output.suffix.lower() if output else ""
    told = next((name for name, suffixes in SUFFIXES.items() if suffix in suffixes), None if output else "table")
    form = asked or told
    if form is None or (suffix and told != form):
        known = SUFFIXES[asked] if asked else [suffix for suffixes in SUFFIXES.values() for suffix in suffixes]
        what = f"the format {asked}" if asked else "a known format"
        figure = ", or draw a figure with --plot" if suffix in PICTURES else ""
        raise ParameterError(
            f"the name {output} does not end with the suffix of {what}; use {', '.join(known)}{figure}. For other"
            " formats, convert a CSV file in Python (pandas.read_csv)."
        )
    require_place(output)
    if form == "html" and output is None:
        raise ParameterError("the format html needs a file; add -o FILE.html.")
    return form


def require_place(file: Path | None) -> None:
    """Refuse a file whose folder does not exist, and an existing file in the folder of a checkpoint or a run."""
    if file and not file.parent.is_dir():
        raise ParameterError(f"there is no folder {file.parent} for {file}; create it, or give another file.")
    if file and file.is_file() and any((file.resolve().parent / mark).is_file() for mark in MARKS):
        raise ParameterError(f"{file} already exists in the folder of a checkpoint or a run; give another file.")


class View(NamedTuple):
    """A table for people, with rounded numbers and explanatory sentences."""

    title: str
    names: Sequence[str]
    cells: Sequence[Sequence[str]]
    notes: Sequence[str]
    svg: str = ""  # a figure of the same rows, for the HTML report
    alt: str = ""  # alternative text of the figure


def deliver(rows: Sequence[dict], view: View, form: str, output: Path | None) -> None:
    """Write rows, or their view, to a file or to stdout, in a format from `format_of`."""
    if output is None:
        click.echo(text_of(rows, view, form), nl=False)
        return
    with atomic_path(output) as temporary:
        temporary.write_bytes(text_of(rows, view, form).encode())
    say(f"{len(rows)} row{'s' if len(rows) > 1 else ''} written to {output}")


def text_of(rows: Sequence[dict], view: View, form: str) -> str:
    """The rows, or their view, as text in the given format."""
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: "" if x != x else x for name, x in row.items()} for row in rows)  # NaN: missing
        return text.getvalue()
    if form == "json":
        return json.dumps([_finite(row) for row in rows], indent=1) + "\n"
    if form == "html":
        from attngeo.plot.report import report

        return report(*view, f"Made by attngeo {__version__}.")
    from attngeo.bilinear.tables import drawn  # this imports torch, for which --help should not wait

    return drawn(*view[:4]) + "\n"


def _finite(row: dict) -> dict:
    """The row with null instead of NaN and infinite numbers, which JSON does not have."""
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in row.items()}
