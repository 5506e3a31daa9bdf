"""The numbers behind a check, as the rows of a table."""

from collections.abc import Hashable, Iterable
from typing import NamedTuple

import pandas as pd

from attngeo.plot.typeset import significant, typeset, with_error, within
from livingpaper.claims.results import Claim, Comparison, Result, Standing
from livingpaper.display.tables import markdown_table

STANDING = {
    Standing.AGREES: "✓",
    Standing.CONTRADICTS: "×",
    Standing.UNDECIDED: "?",
    Standing.TOLD: "–",
    Standing.SHORT: "◐",
}
ROUNDING = 1e-6  # a comparison with 0 whose tolerance is at most this is an identity


class Row(NamedTuple):
    """One line of the table behind a check: a comparison, or several identities that are merged."""

    comparison: Comparison
    quantity: str
    paper: str  # the paper's number; "" if the paper has none
    ours: str  # our number; "" if it is the paper's
    measured: str  # "" if the paper has both numbers

    @property
    def standing(self) -> Standing:
        """The standing of the comparison."""
        return self.comparison.standing

    @property
    def missed(self) -> bool:
        """Whether the paper has a number here that our measurement contradicts."""
        return bool(self.paper) and self.standing is Standing.CONTRADICTS

    @property
    def outcome(self) -> str:
        """The standing with its mark. If the paper claims a sign and we find 0, it is called *not found*."""
        c, words = self.comparison, self.standing.value
        if c.claim and c.claim.relation in ("<", ">") and (c.relation, c.expected) == ("=", c.claim.number) and c.holds:
            words = "not found"
        return f"{STANDING[self.standing]} {words}"


def rows(result: Result) -> list[Row]:
    """The rows of a result.

    The two ends of an interval share a row. Identities that hold up to rounding share one as well: those of the paper,
    and those that are ours alone.
    """
    identities: dict[bool, list[Comparison]] = {True: [], False: []}  # by whether they are ours alone
    others: dict[Hashable, Row] = {}
    for c in result.comparisons:
        key = _measurement(c)
        if is_identity(c):
            identities[c.claim is None].append(c)
        elif key in others and c.interval and not c.claim:  # the other end of an interval around a number
            others[key] = others[key]._replace(ours=f"interval contains {significant(c.expected)}")
        else:
            others.setdefault(key, _row(c))
    merged = [_merged(same) if len(same) > 1 else _row(same[0]) for same in identities.values() if same]
    return sorted([*others.values(), *merged], key=lambda row: (not row.missed, not row.paper))


def _measurement(c: Comparison) -> Hashable:
    """The same for both ends of an interval, and different for everything else that was measured."""
    return c.quantity, c.interval or (c.measured, c.relation, c.expected)


def distinct(comparisons: Iterable[Comparison]) -> list[Comparison]:
    """One comparison for each measurement."""
    found: dict[Hashable, Comparison] = {}
    for c in comparisons:
        found.setdefault(_measurement(c), c)
    return list(found.values())


def is_identity(c: Comparison) -> bool:
    """Whether the comparison states that a number is 0 up to rounding, and the number is."""
    exact = c.relation == "=" and c.expected == 0 and c.standard_error is None and c.tolerance <= ROUNDING
    return exact and c.holds and (c.claim is None or c.standing is Standing.AGREES)


def largest_error(identities: list[Comparison]) -> str:
    """The largest difference from 0, with a single digit."""
    return significant(max(abs(c.measured) for c in identities))


def _merged(same: list[Comparison]) -> Row:
    words = "; ".join(dict.fromkeys(c.quantity for c in same))
    quantity = f'{len(same)} identities <span class="check-merged">{words}</span>'
    paper, ours = ("0", "") if same[0].claim else ("", "0")
    error = largest_error(same)
    return Row(same[0], quantity, paper, ours, error if error == "0" else f"at most {error}")


def _row(c: Comparison) -> Row:
    if c.places:
        printed = zip((c.expected, c.measured), c.places, strict=True)
        paper = ", ".join(f"{significant(number)} in {place}" for number, place in printed)
        return Row(c, c.quantity, paper, ours="", measured="")
    paper = _number(*c.claim) if c.claim else ""
    corrects_paper = c.relation == "=" and c.interval is None and c.claim != Claim("=", c.expected)
    ours = _number(c.relation, c.expected) if c.claim is None or corrects_paper else ""
    if c.asked is not None:
        ours = f"{_number(c.relation, c.asked)}, as we had planned"
    return Row(c, c.quantity, paper, ours, _measured(c))


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


def rows_table(lines: list[Row]) -> str:
    """The rows as a Markdown table without empty columns."""
    frame = pd.DataFrame(
        {
            "quantity": typeset(row.quantity),
            "paper": _labelled("paper", row.paper),
            "ours": _labelled("ours", row.ours),
            "measured": _labelled("measured", row.measured.replace(" ± ", "\u00a0±\u00a0")),
            "outcome": f'<span class="standing-{row.standing.name.lower()}">{row.outcome}</span>',
        }
        for row in lines
    )
    return markdown_table(frame.drop(columns=[name for name in frame if not frame[name].any()]))


def _labelled(column: str, text: str) -> str:
    """The text with its column's name, which a narrow screen shows because the head of the table is hidden there."""
    return f'<span class="check-label">{column}</span> {text}' if text else ""
