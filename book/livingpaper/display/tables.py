"""Data frames as Markdown tables."""

import re

import pandas as pd

from attngeo.plot.typeset import typeset


def markdown_table(frame: pd.DataFrame, formats: dict[str, str] | None = None) -> str:
    """The columns of a frame as a Markdown table, with numbers aligned on the right."""
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


def _cell(value: object, spec: str) -> str:
    if pd.isna(value):
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not spec and isinstance(value, float):
        spec = ".4g"
    text = format(value, spec)
    return _escape(text if isinstance(value, str) else typeset(text))


def _escape(text: str) -> str:
    return re.sub(r"[ \t\r\n]+", " ", text.replace("|", "\\|")).strip(" ")
