"""A table with its figure as an HTML page that needs no network, in light and dark, with rows to sort and filter."""

import re
from collections.abc import Sequence
from html import escape
from importlib import resources
from string import Template

# colours of the house style, with replacements that are readable on light and dark backgrounds
_INK = {
    "#000000": "currentColor",
    "#333333": "currentColor",
    "#595959": "currentColor",
    "#ffffff": "var(--paper)",
    "#e3e3e3": "color-mix(in srgb, currentColor 15%, transparent)",
}


def report(
    title: str,
    names: Sequence[str],
    cells: Sequence[Sequence[str]],
    notes: Sequence[str],
    svg: str = "",
    alt: str = "",
    made_by: str = "",
) -> str:
    """An HTML page with a figure in the house style, a table in which starred cells are marked, and notes below it."""
    head = "".join(f'<th scope="col"><button type="button">{escape(name)}</button></th>' for name in names)
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in cells)
    lines = "".join(f"<p>{escape(note)}</p>" for note in notes)
    page = Template(resources.files(__package__).joinpath("report.html").read_text("utf-8"))
    return page.substitute(
        title=escape(title), notes=lines, figure=_figure(svg, alt), head=head, body=body, made_by=escape(made_by)
    )


def _cell(text: str) -> str:
    return f"<td{' class=outside' if text.endswith('*') else ''}>{escape(text)}</td>"


def _figure(svg: str, alt: str) -> str:
    if not svg:
        return ""
    # without the XML declaration and the metadata, which contain addresses
    drawing = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    for colour, variable in _INK.items():
        drawing = drawing.replace(colour, variable).replace(colour.upper(), variable)
    return drawing.replace("<svg", f'<figure><svg role="img" aria-label="{escape(alt)}"', 1) + "</figure>"
