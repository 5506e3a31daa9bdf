"""Functions for chapters that show checks with verdicts and numbered tables, and that put numbers into the prose.

Everything is stored in the outputs of the notebook, so that a chapter is complete whichever tool executed it. The book
reads captions, labels and results of checks from the metadata of the outputs, under the key ``attngeo``.
"""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

import pandas as pd
from IPython.display import display
from nbformat import NotebookNode

from attngeo.errors import ParameterError
from attngeo.plot import METADATA_KEY
from attngeo.plot.typeset import typeset
from livingpaper.claims.results import Result
from livingpaper.display.check_line import badge, check_line
from livingpaper.display.tables import markdown_table

__all__ = ["badge", "glue", "outputs", "show", "table"]

GLUE_PREFIX = "application/papermill.record/"  # no front end shows this type; MyST-NB looks for it


def show(*results: Result, unfolded: bool = False) -> None:
    """Show checks, each as a line that unfolds to its numbers and their code.

    The results are recorded in the notebook, where the status and errata pages collect them
    (`livingpaper.display.verdicts.reported_checks`).

    Args:
        results: one or more checks.
        unfolded: show the code and the numbers at once.
    """
    blocks = [check_line(result, unfolded) for result in results]
    # JSON has no NaN and no infinity, so they become text, which `float` reads back
    records = [json.loads(json.dumps(result.to_dict()), parse_constant=str) for result in results]
    display({"text/markdown": "\n\n".join(blocks)}, raw=True, metadata={METADATA_KEY: {"results": records}})


def glue(name: str, value: object, spec: str = "") -> None:
    """Keep ``format(value, spec)``, in one line, for the prose of the same page. The name must not contain a colon.

    The prose shows it with ``{glue:text}`name` ``, or with ``{glue:md}`name:myst` `` if it is a sentence with formulas.
    """
    text = format(value, spec)
    text = re.sub("[ \n]+", " ", text) if isinstance(value, str) else typeset(text)
    display(
        {
            f"{GLUE_PREFIX}text/plain": repr(text),
            f"{GLUE_PREFIX}text/html": html.escape(text),
            f"{GLUE_PREFIX}text/markdown": text,
        },
        raw=True,
        metadata={"scrapbook": {"name": name, "mime_prefix": GLUE_PREFIX}},
    )


def table(
    frame: pd.DataFrame, name: str, caption: str, formats: dict[str, str] | None = None, folded: str = ""
) -> None:
    """Show a data frame as a numbered table with a caption, to be cited as ``{numref}`name` ``.

    Args:
        frame: its columns, and its index where that has a name. Text in cells and headings is MyST.
        name: label, unique in the book, ``tab-...``.
        caption: one or two sentences of MyST.
        formats: format specification per column, such as ``{"symmetry": ".3f"}``; other floats are shown as ``.4g``.
        folded: title of a fold that hides the table at first; "" shows the table at once.

    Raises:
        ParameterError: a format names no column.
    """
    if isinstance(frame.index, pd.MultiIndex) or frame.index.name is not None:
        frame = frame.reset_index()
    if unknown := sorted(set(formats or {}) - set(frame.columns)):
        raise ParameterError(f"Table {name} has no column {unknown[0]!r}; its columns are {', '.join(frame.columns)}.")
    caption = " ".join(caption.split())
    display(
        {"text/markdown": f"*{caption}*\n\n{markdown_table(frame, formats)}", "text/plain": frame.to_string()},
        raw=True,
        metadata={METADATA_KEY: {"table": {"name": name, "caption": caption} | ({"folded": folded} if folded else {})}},
    )


def outputs(run: NotebookNode) -> Iterator[tuple[NotebookNode, dict[str, Any]]]:
    """Each output of an executed chapter, with what `show`, `table` or a figure recorded about it."""
    for cell in run.cells:
        for output in cell.get("outputs", []):
            yield output, output.get("metadata", {}).get(METADATA_KEY, {})
