"""A check as the book shows it: one line, which unfolds to its numbers."""

import re
from typing import NamedTuple

import pandas as pd

from attngeo.plot.typeset import significant, typeset, with_error, within
from livingpaper.claims.published import of_the_paper
from livingpaper.claims.results import Claim, Comparison, Result, Standing, Verdict
from livingpaper.display.tables import markdown_table

MEANINGS = {  # in the order of their consequence
    Verdict.CHANGES: "what the paper concludes here falls",
    Verdict.UNDECIDED: "what was measured does not tell, differs between cases, or is of models too small or too "
    "briefly trained",
    Verdict.SHORT: "a plan of ours found the effect, but smaller or less certain than the plan had required",
    Verdict.ASSUMPTION: "true once something is added that the paper does not say",
    Verdict.STATED: "true under an assumption that the paper states; whether models meet it is a question of its own",
    Verdict.MISPRINT: "a slip; what is concluded stands once it is mended",
    Verdict.HOLDS: "true as printed or, where a remark says that it is ours, true",
}
MARKS = dict(zip(MEANINGS, "×?◐+⊢≠✓", strict=True))
UNSUPPORTED = "not supported by this run"
STANDING = {
    Standing.AGREES: "✓",
    Standing.CONTRADICTS: "×",
    Standing.UNDECIDED: "?",
    Standing.TOLD: "–",
    Standing.SHORT: "◐",
}
CODE = "<!-- code of {} -->"
SHORT = 70  # characters of what is printed that go into the line
FIRST = 4  # rows of numbers that an open check shows; one more is shown, too
ROUNDING = 1e-6  # what is 0 to within less is an identity
TICK = '<span aria-hidden="true">✓</span>'


def badge(verdict: str, supported: bool = True) -> str:
    """A verdict as the book prints it: a mark and words in a frame, and what it means for who points at it (HTML)."""
    if not supported:
        means = "a number behind the verdict came out otherwise"
        return f'<span class="verdict verdict-unsupported" data-means="{means}">{UNSUPPORTED}</span>'
    found = Verdict(verdict)
    mark = f'<span aria-hidden="true">{MARKS[found]}</span>'
    return f'<span class="verdict verdict-{found.name.lower()}" data-means="{MEANINGS[found]}">{mark} {verdict}</span>'


def legend() -> str:
    """A list of what every badge means (MyST)."""
    return "\n".join(f"- {badge(verdict.value)} {words}" for verdict, words in MEANINGS.items())


class Row(NamedTuple):
    """One line of the table behind a check; of several identities where they are merged."""

    comparison: Comparison
    quantity: str
    paper: str  # "" where the paper has nothing for it
    ours: str  # "" where it is the paper's
    measured: str

    @property
    def missed(self) -> bool:
        """Whether the paper has a number here that is not met."""
        return bool(self.paper) and self.comparison.standing is Standing.CONTRADICTS

    @property
    def outcome(self) -> str:
        """The standing in words; a claimed sign where there is neither is not found."""
        c = self.comparison
        no_sign = c.holds and (c.relation, c.expected) == ("=", c.claim.number if c.claim else None)
        return "not found" if no_sign and c.claim.relation in ("<", ">") else c.standing.value


def check_line(result: Result, unfolded: bool = False) -> str:
    """The check in MyST and HTML: a line, and below it, folded, what is printed, the numbers and their code.

    Unfolded, the code stands before the numbers that it makes.
    """
    lines = rows(result)
    n = len(result.comparisons)
    missed = [f": {typeset(row.quantity)} **{row.measured}**, paper {row.paper}" for row in lines if row.missed]
    parts = [
        badge(str(result.verdict), result.supported),
        f'<span class="check-said">{_said(result)}{"".join(missed[:1])}</span>',
        f'<span class="check-ours">{_ours(result, lines)}</span>',
        f'<span class="check-count">{n} number{"s" * (n != 1)}</span>',
    ]
    code = CODE.format(result.source) if result.source else ""  # the book puts the code of its cell here
    shown = FIRST if unfolded and len(lines) > FIRST + 1 else len(lines)
    tables = [markdown_table(_frame(part)) for part in (lines[:shown], lines[shown:]) if part]
    more = f"<details><summary>{len(lines) - shown} more numbers</summary>"
    numbers = f"\n\n{more}\n\n".join(tables) + "\n\n</details>" * (len(tables) - 1)
    opened = " open" if unfolded or not result.supported else ""
    head = f'<details class="check"{opened}><summary>\n\n{" ".join(parts)}\n\n</summary>'
    folded = [_texts(result), *((code, numbers) if unfolded else (numbers, code))]
    return "\n\n".join(filter(None, [head, *folded, "</details>"]))


def rows(result: Result) -> list[Row]:
    """Rows of a result: both ends of an interval are one, and so are identities up to rounding on the same side."""
    identities: dict[bool, list[Comparison]] = {True: [], False: []}
    others: dict[tuple, Row] = {}
    for c in result.comparisons:
        if _is_identity(c):
            identities[c.claim is None].append(c)
        else:
            others.setdefault((c.quantity, c.interval or (c.measured, c.relation, c.expected)), _row(c))
    merged = [_merged(same) if len(same) > 1 else _row(same[0]) for same in identities.values() if same]
    return sorted([*others.values(), *merged], key=lambda row: (not row.missed, not row.paper))


def _is_identity(c: Comparison) -> bool:
    """Whether it says that something is 0 up to rounding, and it is."""
    exact = c.relation == "=" and c.expected == 0 and c.standard_error is None and c.tolerance <= ROUNDING
    return exact and c.holds and (c.claim is None or c.standing is Standing.AGREES)


def _largest_error(identities: list[Comparison]) -> str:
    return f"error {significant(max(abs(c.measured) for c in identities))}"


def _merged(same: list[Comparison]) -> Row:
    words = "; ".join(dict.fromkeys(c.quantity for c in same))
    quantity = f'{len(same)} identities <span class="check-merged">{words}</span>'
    return Row(same[0], quantity, *(("0", "") if same[0].claim else ("", "0")), _largest_error(same))


def _row(c: Comparison) -> Row:
    by_number = c.relation == "=" and c.interval is None and c.claim != Claim("=", c.expected)
    ours = _number(c.relation, c.expected) if c.claim is None or by_number else ""
    if c.asked is not None:
        ours = f"{_number(c.relation, c.asked)} by its plan"
    return Row(c, c.quantity, _number(*c.claim) if c.claim else "", ours, _measured(c))


def _number(relation: str, value: float) -> str:
    return significant(value) if relation == "=" else f"{relation} {significant(value)}"


def _measured(c: Comparison) -> str:
    if c.interval:
        return within(c.interval.value, c.interval.low, c.interval.high)
    if c.standard_error is not None:
        return with_error(c.measured, c.standard_error)
    tolerance = max(ROUNDING, ROUNDING * abs(c.expected))
    if c.relation == "=" and c.tolerance > tolerance:
        return f"{significant(c.measured)} (to within {significant(c.tolerance, 2)})"
    return significant(c.measured, 6 if abs(c.measured - c.expected) <= tolerance else 4)


def _said(result: Result) -> str:
    """Number, and what is printed, if that is short: to a reader a command of TeX is one character."""
    seen = re.sub(r"[${}^_]", "", re.sub(r"\\[a-zA-Z]+|\\.", "x", result.printed))
    brief = result.printed if 0 < len(seen) <= SHORT else result.title
    name = ("Ours, on " if result.ours else "") + of_the_paper(result.statement, result.part)
    return f"**{name}** {typeset(brief).rstrip('.')}"


def _ours(result: Result, lines: list[Row]) -> str:
    if not result.supported:
        return ""
    if result.verdict is Verdict.UNDECIDED:
        standings = [row.comparison.standing for row in lines]
        reasons = [reason for reason in (Standing.TOLD, Standing.UNDECIDED) if reason in standings]
        words = [f"{standings.count(reason)} of {len(lines)} {reason.value}" for reason in reasons]
        return f"? {', '.join(words)}" if words else ""
    if result.verdict is Verdict.SHORT:
        short = [row.comparison.standing for row in lines].count(Standing.SHORT)
        return f"{STANDING[Standing.SHORT]} {short} of {len(lines)} {Standing.SHORT.value}"
    kept = [c for c in result.comparisons if c.standing is Standing.AGREES]
    exact = [c for c in kept if _is_identity(c)]
    if not kept:
        return ""
    words = f"{len(kept)} agree"
    if 2 * len(exact) >= len(kept):
        words = _largest_error(exact)
    elif len(kept) == 1:
        (row,) = [row for row in lines if row.comparison is kept[0]]
        words = f"{typeset(row.quantity)}: {row.measured}"
    return f"{TICK} {'' if result.verdict in (Verdict.HOLDS, Verdict.STATED) else 'ours: '}{words}"


def _texts(result: Result) -> str:
    place = f" ({result.place})" if result.place else ""
    texts = [
        f"**{result.title[:1].upper() + result.title[1:]}.**",
        f"*Printed*{place}: {result.printed}" if result.printed else "",
        f"*Holds*: {result.corrected}" if result.corrected else "",
        result.remark,
    ]
    return " ".join(typeset(text) for text in texts if text)


def _frame(lines: list[Row]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "quantity": typeset(row.quantity),
            "paper": _labelled("paper", row.paper),
            "ours": _labelled("ours", row.ours),
            "measured": _labelled("measured", row.measured.replace(" ± ", "\u00a0±\u00a0")),
            "outcome": f'<span class="standing-{found.name.lower()}">{STANDING[found]} {row.outcome}</span>',
        }
        for row in lines
        for found in [row.comparison.standing]
    )
    return frame.drop(columns=[name for name in ("paper", "ours") if not frame[name].any()])


def _labelled(column: str, text: str) -> str:
    """With the column's name, which a narrow screen shows instead of the head of the table."""
    return f'<span class="check-label">{column}</span> {text}' if text else ""
