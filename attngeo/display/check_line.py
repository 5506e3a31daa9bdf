"""A check as the book shows it: one line, which unfolds to its numbers."""

import html
import re

import pandas as pd

from attngeo.display.check_rows import Row, is_identity, largest_error, rows
from attngeo.display.interval_bar import bar
from attngeo.display.tables import markdown_table
from attngeo.display.typeset import typeset
from attngeo.paper.checks import Result, Standing
from attngeo.paper.numbering import of_the_paper
from attngeo.paper.wording import Verdict

MARKS = {
    Verdict.HOLDS: "✓",
    Verdict.MISPRINT: "≠",
    Verdict.ASSUMPTION: "+",
    Verdict.CHANGES: "×",
    Verdict.UNDECIDED: "?",
}
STANDING = {Standing.AGREES: "✓", Standing.CONTRADICTS: "×", Standing.UNDECIDED: "?", Standing.TOLD: "–"}
SHORT = 70  # characters of what is printed that go into the line


def badge(verdict: str, supported: bool = True) -> str:
    """A verdict as the book prints it: a mark and words in a coloured frame (HTML, also inside Markdown)."""
    if not supported:
        return '<span class="verdict verdict-unsupported">not supported by this run</span>'
    found = Verdict(verdict)
    mark = f'<span aria-hidden="true">{MARKS[found]}</span>'
    return f'<span class="verdict verdict-{found.name.lower()}">{mark} {verdict}</span>'


def check_line(result: Result) -> str:
    """The check in MyST and HTML: a line, and below it, folded, what is printed, the numbers and the source."""
    found = rows(result)
    parts = [
        badge(str(result.verdict), result.supported),
        f'<span class="check-said">{_said(result)}{_missed(found)}</span>',
        f'<span class="check-ours">{_ours(result, found)}</span>',
        f'<span class="check-count">{_count(len(result.comparisons), "number")}</span>',
    ]
    folded = [_texts(result), markdown_table(_frame(found)) if found else "", _source(result)]
    opened = "" if result.supported else " open"
    head = f'<details class="check"{opened}><summary>\n\n{" ".join(parts)}\n\n</summary>'
    return "\n\n".join(filter(None, [head, *folded, "</details>"]))


def plain_line(result: Result) -> str:
    """The same without the numbers, for a terminal."""
    held = sum(c.holds for c in result.comparisons)
    name = of_the_paper(result.statement, result.part)
    return f"{name}: {result.title}: {result.verdict} ({held} of {_count(len(result.comparisons), 'comparison')} hold)"


def _said(result: Result) -> str:
    name = of_the_paper(result.statement, result.part)
    brief = result.printed if 0 < _length(result.printed) <= SHORT else result.title
    return f"**{name}** {typeset(brief).rstrip('.')}"


def _length(text: str) -> int:
    """Of what a reader sees: a command of TeX is one character."""
    return len(re.sub(r"[${}^_]", "", re.sub(r"\\[a-zA-Z]+|\\.", "x", text)))


def _missed(found: list[Row]) -> str:
    for row in found:
        if row.missed:
            return f": {typeset(row.quantity)} **{row.measured}**, paper {row.paper}"
    return ""


def _ours(result: Result, found: list[Row]) -> str:
    if not result.supported:
        return ""
    kept = [c for c in result.comparisons if c.claim is None or c.standing is Standing.AGREES]
    exact = [c for c in kept if is_identity(c)]
    if result.verdict is Verdict.UNDECIDED:
        n = sum(row.standing in (Standing.UNDECIDED, Standing.TOLD) for row in found)
        return f"? {n} of {_count(len(found), 'row')} decide{'s' * (n == 1)} nothing" if n else ""
    whose = "" if result.verdict is Verdict.HOLDS else "ours: "
    if exact and 2 * len(exact) >= len(kept):
        return f'<span aria-hidden="true">✓</span> {whose}error {largest_error(exact)}'
    if len(kept) == 1:
        (row,) = [row for row in found if row.comparison is kept[0]]
        return f'<span aria-hidden="true">✓</span> {whose}{typeset(row.quantity)}: {row.measured}'
    return f'<span aria-hidden="true">✓</span> {whose}{len(kept)} agree' if kept else ""


def _texts(result: Result) -> str:
    place = f" ({result.place})" if result.place else ""
    texts = [
        f"**{typeset(result.title[:1].upper() + result.title[1:])}.**",
        f"*Printed*{place}: {result.printed}" if result.printed else "",
        f"*Holds*: {result.corrected}" if result.corrected else "",
        result.remark,
    ]
    return " ".join(typeset(text) for text in texts if text)


def _frame(found: list[Row]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "quantity": typeset(row.quantity),
            "paper": _labelled("paper", row.paper),
            "ours": _labelled("ours", row.ours),
            "measured": _labelled("measured", f"{row.measured} {bar(row)}".strip().replace(" ± ", "\u00a0±\u00a0")),
            "outcome": _standing(row),
        }
        for row in found
    )
    return frame.drop(columns=[name for name in ("paper", "ours") if not frame[name].any()])


def _labelled(column: str, text: str) -> str:
    """With the column's name, which a narrow screen shows instead of the head of the table."""
    return f'<span class="check-label">{column}</span> {text}' if text else ""


def _standing(row: Row) -> str:
    return f'<span class="standing-{row.standing.name.lower()}">{STANDING[row.standing]} {row.standing.value}</span>'


def _source(result: Result) -> str:
    if not result.source:
        return ""
    given = ", ".join(f"{name}={value!r}" for name, value in result.parameters.items())
    call = html.escape(f"{result.source.rpartition('.')[2]}({given})")
    # the book links the code, whose full name is for it alone
    return f'<p class="check-source">Checked by <code data-source="{result.source}">{call}</code></p>'


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
