"""Rows of a table as a file: which format a name asks for, and the text of each."""

import csv
import io
import json
import math
import os
import re
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click
from rich.console import Console, Group
from rich.table import Table

from attngeo import __version__
from attngeo.cli.terminal import say, screen
from attngeo.errors import ParameterError, needs
from attngeo.files.atomic import atomic_path

SUFFIXES = {
    "table": (".txt",),
    "csv": (".csv",),
    "json": (".json",),
    "jsonl": (".jsonl", ".ndjson"),
    "markdown": (".md",),
    "parquet": (".parquet",),
    "html": (".html", ".htm"),
}
PICTURES = (".svg", ".png", ".pdf")
MARKS = ("config.json", "adapter_config.json", "run.json")  # of folders in which nothing is replaced
# formats that are of no use on a terminal, with what they need: extra, package, what it is called
FILES_ONLY = {"parquet": ("parquet", "pyarrow", "a Parquet file"), "html": ("plot", "matplotlib", "a report")}


def format_of(asked: str | None, output: Path | None, default: str = "table") -> str:
    """The format that ``--format`` and the suffix of the output agree on; whatever it needs is there.

    Raises:
        ParameterError: they differ, the suffix is unknown or missing, the format needs a file, or a file of that
            name lies beside a checkpoint.
        MissingExtra: a package that writes it is not installed.
    """
    if output is None:
        if asked in FILES_ONLY:
            raise ParameterError(f"{asked} needs a file: add -o FILE{SUFFIXES[asked][0]}.")
        return asked or default
    if output.is_dir():
        raise ParameterError(f"{output} is a folder; -o needs a file name.")
    folders = (output.parent, Path(os.path.realpath(output)).parent)
    if output.is_file() and any((folder / mark).is_file() for folder in folders for mark in MARKS):
        raise ParameterError(f"{output} is there already, in the folder of a checkpoint or a run; name another file.")
    suffix = output.suffix.lower()
    named = next((name for name, suffixes in SUFFIXES.items() if suffix in suffixes), None)
    if asked is None and named is None:
        if suffix in PICTURES:
            raise ParameterError(f"{output} is the name of a figure; give it to --plot {output}.")
        known = ", ".join(suffix for suffixes in SUFFIXES.values() for suffix in suffixes)
        raise ParameterError(f"the name {output} does not tell a format; end it in one of {known}, or add --format.")
    if asked is not None and suffix and named != asked:
        raise ParameterError(f"--format {asked} and the name {output} disagree; end it in {SUFFIXES[asked][0]}.")
    form = asked or named or default
    if form in FILES_ONLY:
        extra, package, what = FILES_ONLY[form]
        with needs(extra, what):
            import_module(package)
    return form


def check_picture(path: Path) -> None:
    """Refuse what cannot become the file of a figure.

    Raises:
        ParameterError: it is a folder, or its suffix is none of PICTURES.
        MissingExtra: matplotlib is not installed.
    """
    if path.is_dir() or path.suffix.lower() not in PICTURES:
        raise ParameterError(f"{path} cannot hold a figure; end its name in one of {', '.join(PICTURES)}.")
    with needs("plot", "a figure"):
        import_module("matplotlib")


class View(NamedTuple):
    """A table for people: rounded numbers, and what they say."""

    title: str
    names: Sequence[str]
    cells: Sequence[Sequence[str]]
    notes: Sequence[str]
    svg: str = ""  # a figure of the same rows, for a report
    alt: str = ""  # what it shows


def deliver(rows: Sequence[dict], view: View, form: str, output: Path | None) -> None:
    """Write rows, or their view, to a file or to stdout, in a format that `format_of` gave."""
    if output is not None:
        with atomic_path(output) as temporary:
            if form == "parquet":
                write_parquet(rows, temporary)
            else:
                temporary.write_text(text_of(rows, view, form), encoding="utf-8")
        say(f"{len(rows)} rows written to {output}")
    elif form == "table" and (console := screen()).is_terminal:
        console.print(_fitting(view, console), highlight=False, markup=False, crop=False)
    else:
        click.echo(text_of(rows, view, form), nl=False)


def text_of(rows: Sequence[dict], view: View, form: str) -> str:
    """Rows, or their view, in a format of text."""
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()
    if form == "json":
        return json.dumps([_finite(row) for row in rows], indent=1) + "\n"
    if form == "jsonl":
        return "".join(json.dumps(_finite(row)) + "\n" for row in rows)
    if form == "html":
        return _report(view)
    return _markdown(view) if form == "markdown" else _drawn(view)


def write_parquet(rows: Sequence[dict], path: Path) -> None:
    """A Parquet file."""
    import pyarrow
    from pyarrow import parquet

    content = io.BytesIO()  # pyarrow cannot write to a pipe
    parquet.write_table(pyarrow.Table.from_pylist(list(rows)), content)
    path.write_bytes(content.getvalue())


def _drawn(view: View) -> str:
    text = io.StringIO()
    console = Console(file=text, width=120, force_terminal=False)
    console.print(_fitting(view, console), highlight=False, markup=False, crop=False)
    return text.getvalue()


def _fitting(view: View, console: Console) -> Group:
    """The view for a console, every cell whole: on a narrow one without lines, on a very narrow one wider than it."""
    lined = _table(view, view.names)
    plain = _table(view, [name.replace(" ", "\n") for name in view.names], box=None, padding=(0, 1, 0, 0))
    needed = console.measure(lined, options=console.options.update(width=10_000)).minimum
    return Group(plain if needed > console.width else lined, *view.notes)


def _table(view: View, headings: Sequence[str], **style: Any) -> Table:
    table = Table(title=view.title, **style)
    for heading, *column in zip(headings, *view.cells, strict=True):
        least = max(map(len, (*heading.split("\n"), *column)))
        table.add_column(heading, justify="right" if table.columns else "left", min_width=least)
    for cells in view.cells:
        table.add_row(*cells)
    return table


def _markdown(view: View) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(_escaped(cell.strip()) for cell in cells)} |\n"

    sides = ["---:" if number else "---" for number in range(len(view.names))]
    rows = "".join(map(line, (view.names, sides, *view.cells)))
    return f"**{_escaped(view.title)}**\n\n{rows}\n" + "".join(f"- {_escaped(note)}\n" for note in view.notes)


def _report(view: View) -> str:
    from attngeo.display.report import report

    words = f"Made by attngeo {__version__}."
    return report(view.title, view.names, view.cells, view.notes, view.svg, view.alt, words)


def _escaped(text: str) -> str:
    """Text in which Markdown sees no marks of its own."""
    return re.sub(r"([\\|*_`<\[])", r"\\\1", text)


def _finite(row: dict) -> dict:
    """JSON has no infinite numbers: null in their place."""
    return {name: None if isinstance(x, float) and not math.isfinite(x) else x for name, x in row.items()}
