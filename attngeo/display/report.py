"""A table with its figure as one page that asks for nothing: no script, no font, no address; light or dark."""

import re
from collections.abc import Sequence
from html import escape

# of the house style's figures, by what reads on either ground: ink, frame, paper and grid
_INK = {
    "#000000": "currentColor",
    "#333333": "currentColor",
    "#595959": "currentColor",
    "#ffffff": "var(--paper)",
    "#e3e3e3": "color-mix(in srgb, currentColor 15%, transparent)",
}
_STYLE = """
:root { color-scheme: light dark; --paper: #ffffff; --ink: #1b1b1b; --line: #d0d0d0; --mark: #fbe9c6; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #16181c; --ink: #e6e6e6; --line: #44484f; --mark: #4a3a12; }
}
body { background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; max-width: 62rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
figure { margin: 1.5rem 0; }
svg { max-width: 100%; height: auto; fill: currentColor; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.55rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td.outside { background: var(--mark); }
footer { margin-top: 2rem; font-size: 0.875rem; }
"""


def report(
    title: str,
    names: Sequence[str],
    cells: Sequence[Sequence[str]],
    notes: Sequence[str],
    svg: str = "",
    alt: str = "",
    made_by: str = "",
) -> str:
    """A page of HTML: notes below the title, a figure in the house style, a table whose starred cells are marked."""
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in names)
    body = "\n".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in cells)
    lines = "".join(f"<li>{escape(note)}</li>" for note in notes)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{escape(title)}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{escape(title)}</h1>
<ul>{lines}</ul>
{_figure(svg, alt)}
<div class="wide"><table>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table></div>
<footer>{escape(made_by)}</footer>
</body>
</html>
"""


def _cell(text: str) -> str:
    return f"<td{' class=outside' if text.endswith('*') else ''}>{escape(text)}</td>"


def _figure(svg: str, alt: str) -> str:
    if not svg:
        return ""
    # without the XML declaration and the metadata, which name addresses
    drawing = re.sub(r"<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.S)
    for colour, variable in _INK.items():
        drawing = drawing.replace(colour, variable).replace(colour.upper(), variable)
    return drawing.replace("<svg", f'<figure><svg role="img" aria-label="{escape(alt)}"', 1) + "</figure>"
