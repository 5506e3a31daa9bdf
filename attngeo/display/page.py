"""What a chapter shows: checks with their verdicts, numbered tables, and numbers for the prose.

Everything stands in the outputs of the notebook itself: a chapter executed by any tool is complete, and `attngeo.book`
reads captions, labels and check reports back from the output metadata under the key ``attngeo``.
"""

import html
import math
import re

import pandas as pd
from IPython.display import display

from attngeo.display.labels import METADATA_KEY, check_label
from attngeo.errors import ParameterError
from attngeo.paper.checks import Comparison, Result, Verdict

GLUE_PREFIX = "application/papermill.record/"  # a type no front end shows; MyST-NB looks for it


def show(*results: Result) -> None:
    """Show checks: verdict, and each comparison with number, tolerance and outcome.

    The results are recorded in the notebook, from where the status and errata pages collect them
    (`attngeo.book.reported_checks`).
    """
    blocks = [_block(result) for result in results]
    records = [_json_ready(result.to_dict()) for result in results]
    display(
        {"text/markdown": "\n\n".join(blocks), "text/plain": "\n".join(map(_line, results))},
        raw=True,
        metadata={METADATA_KEY: {"results": records}},
    )


def glue(name: str, value: object, spec: str = "") -> None:
    """Keep ``format(value, spec)`` for ``{glue:text}`name` `` in the prose of the same page.

    Another page writes ``{glue:any}`chapter.py::name` ``.

    Raises:
        ParameterError: the name holds a colon, which the role would read as the start of a format.
    """
    if ":" in name:
        raise ParameterError(f"The name {name!r} of a number for the prose may not hold a colon.")
    text = format(value, spec)
    display(
        {f"{GLUE_PREFIX}text/plain": repr(text), f"{GLUE_PREFIX}text/html": html.escape(text)},
        raw=True,
        metadata={"scrapbook": {"name": name, "mime_prefix": GLUE_PREFIX}},
    )


def table(frame: pd.DataFrame, name: str, caption: str, formats: dict[str, str] | None = None) -> None:
    """Show a data frame as a numbered table with a caption, to be cited as ``{numref}`name` ``.

    Args:
        frame: its columns, and its index where that has a name. Text in cells and headings is MyST.
        name: label, unique in the book, ``tab-...``.
        caption: one or two sentences of MyST.
        formats: format specification per column, such as ``{"symmetry": ".3f"}``; other floats are shown as ``.4g``.

    Raises:
        ParameterError: the label is malformed, the caption is empty, or a format names no column.
    """
    check_label(name, "tab")
    if not caption.strip():
        raise ParameterError(f"Table {name} needs a caption.")
    if isinstance(frame.index, pd.MultiIndex) or frame.index.name is not None:
        frame = frame.reset_index()
    if unknown := sorted(set(formats or {}) - set(frame.columns)):
        raise ParameterError(f"Table {name} has no column {unknown[0]!r}; its columns are {', '.join(frame.columns)}.")
    caption = " ".join(caption.split())
    display(
        {"text/markdown": f"*{caption}*\n\n{markdown_table(frame, formats)}", "text/plain": frame.to_string()},
        raw=True,
        metadata={METADATA_KEY: {"table": {"name": name, "caption": caption}}},
    )


def markdown_table(frame: pd.DataFrame, formats: dict[str, str] | None = None) -> str:
    """The columns of a frame as a Markdown table; numbers stand on the right."""
    formats = formats or {}
    columns = [frame[c] for c in frame.columns]
    right = [pd.api.types.is_numeric_dtype(c) and not pd.api.types.is_bool_dtype(c) for c in columns]
    cells = [[_cell(value, formats.get(str(c.name), "")) for value in c] for c in columns]
    rows = [
        [_escape(str(c)) for c in frame.columns],
        ["---:" if r else "---" for r in right],
        *zip(*cells, strict=True),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def badge(verdict: str, supported: bool = True) -> str:
    """A verdict as the book prints it: words in a coloured frame (HTML, also inside Markdown)."""
    if not supported:
        return '<span class="verdict verdict-unsupported">not supported by this run</span>'
    return f'<span class="verdict verdict-{Verdict(verdict).name.lower()}">{verdict}</span>'


def _block(result: Result) -> str:
    head = f"**{_number(result)}** {result.title} {badge(str(result.verdict), result.supported)}"
    rows = pd.DataFrame([_row(c) for c in result.comparisons])
    return f"{head}\n\n{markdown_table(rows)}" if len(rows) else head


def _row(c: Comparison) -> dict[str, str]:
    measured = _decimal(c.measured)
    if c.standard_error is not None:
        measured = f"{_decimal(c.measured, 4)} ± {_decimal(c.standard_error, 2)}"
    return {
        "quantity": c.quantity,
        "measured": measured.replace(" ", "\u00a0"),  # kept on one line
        "expected": f"{c.relation}\u00a0{_decimal(c.expected)}",
        "difference": _decimal(abs(c.measured - c.expected), 2),
        "tolerance": _decimal(c.tolerance, 2),
        "holds": "yes" if c.holds else "**no**",
    }


def _decimal(value: float, digits: int = 6) -> str:
    """``2.2e-16`` as a power of ten in LaTeX, small ones with two digits; other numbers with at most ``digits``."""
    text = format(value, f".{digits}g")
    if "e" not in text:
        return text
    mantissa, _, exponent = format(value, f".{digits if abs(value) > 1 else 2}g").partition("e")
    factor = "" if mantissa == "1" else f"{mantissa}\\cdot{{}}"
    return f"${factor}10^{{{int(exponent)}}}$"


def _number(result: Result) -> str:
    return f"{result.statement} {result.part}".strip()


def _line(result: Result) -> str:
    held = sum(c.holds for c in result.comparisons)
    return f"{_number(result)} {result.title}: {result.verdict} ({held} of {len(result.comparisons)} comparisons hold)"


def _cell(value: object, spec: str) -> str:
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not spec and isinstance(value, float):
        spec = ".4g"
    return _escape(format(value, spec))


def _escape(text: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text.replace("|", "\\|")).strip(" ")


def _json_ready(value):
    """JSON has no NaN and no infinity: those become text, which `float` reads back."""
    if isinstance(value, dict):
        return {key: _json_ready(v) for key, v in value.items()}
    if isinstance(value, list | tuple):
        return [_json_ready(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value
