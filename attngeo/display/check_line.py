"""A check as the book shows it: one line, which unfolds to its numbers."""

import re

import pandas as pd

from attngeo.claims.numbering import of_the_paper
from attngeo.claims.results import Result, Standing
from attngeo.claims.verdict import Verdict
from attngeo.display.check_rows import Row, is_identity, largest_error, rows
from attngeo.display.tables import markdown_table
from attngeo.display.typeset import typeset

MARKS = {
    Verdict.HOLDS: "✓",
    Verdict.STATED: "⊢",
    Verdict.MISPRINT: "≠",
    Verdict.ASSUMPTION: "+",
    Verdict.CHANGES: "×",
    Verdict.UNDECIDED: "?",
}
MEANINGS = {  # in the order of their consequence
    Verdict.CHANGES: "what the paper concludes here falls",
    Verdict.UNDECIDED: "what was measured does not tell, differs between cases, or is of models too small or too "
    "briefly trained",
    Verdict.ASSUMPTION: "true once something is added that the paper does not say",
    Verdict.STATED: "true under an assumption that the paper states; whether models meet it is a question of its own",
    Verdict.MISPRINT: "a slip; what is concluded stands once it is mended",
    Verdict.HOLDS: "true as printed or, where a remark says that it is ours, true",
}
UNSUPPORTED = "not supported by this run"
STANDING = {Standing.AGREES: "✓", Standing.CONTRADICTS: "×", Standing.UNDECIDED: "?", Standing.TOLD: "–"}
CODE = "<!-- code of {} -->"
SHORT = 70  # characters of what is printed that go into the line


def badge(verdict: str, supported: bool = True) -> str:
    """A verdict as the book prints it: a mark and words in a frame, and what it means for who points at it (HTML)."""
    if not supported:
        means = "a number behind the verdict came out otherwise"
        return f'<span class="verdict verdict-unsupported" data-means="{means}">{UNSUPPORTED}</span>'
    found = Verdict(verdict)
    mark = f'<span aria-hidden="true">{MARKS[found]}</span>'
    return f'<span class="verdict verdict-{found.name.lower()}" data-means="{MEANINGS[found]}">{mark} {verdict}</span>'


def legend() -> str:
    """What every badge means, folded (MyST)."""
    rows = (f"- {badge(verdict.value)} {words}" for verdict, words in MEANINGS.items())
    return "\n".join(["::::{dropdown} What the badges mean", *rows, "::::"])


def check_line(result: Result, unfolded: bool = False) -> str:
    """The check in MyST and HTML: a line, and below it, folded, what is printed, the numbers and their code.

    Unfolded, the code stands before the numbers that it makes.
    """
    found = rows(result)
    parts = [
        badge(str(result.verdict), result.supported),
        f'<span class="check-said">{_said(result)}{_missed(found)}</span>',
        f'<span class="check-ours">{_ours(result, found)}</span>',
        f'<span class="check-count">{_count(len(result.comparisons), "number")}</span>',
    ]
    folded = [_texts(result), markdown_table(_frame(found)) if found else "", _source(result)]
    if unfolded:
        folded[1:] = folded[:0:-1]
    opened = " open" if unfolded or not result.supported else ""
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
    whose = "" if result.verdict in (Verdict.HOLDS, Verdict.STATED) else "ours: "
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
            "measured": _labelled("measured", row.measured.replace(" ± ", "\u00a0±\u00a0")),
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
    return CODE.format(result.source) if result.source else ""  # the book puts the code of its cell here


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
