"""The rows of a check: what was compared, what the paper has for it, what we have, what was measured, how it stands."""

from collections.abc import Iterable
from dataclasses import dataclass

from attngeo.claims.results import Comparison, Result, Standing
from attngeo.display.typeset import number, with_error, within

ROUNDING = 1e-6  # what is 0 to within less is an identity


@dataclass(frozen=True)
class Row:
    """One line of the table behind a check; of several identities where they are merged."""

    comparison: Comparison
    quantity: str
    paper: str  # "" where the paper has nothing for it
    ours: str  # "" where it is the paper's
    measured: str

    @property
    def standing(self) -> Standing:
        """How the paper's claim stands or, without one, ours."""
        return self.comparison.standing

    @property
    def missed(self) -> bool:
        """Whether the paper has a number here that is not met."""
        return bool(self.paper) and self.standing is Standing.CONTRADICTS


def rows(result: Result) -> list[Row]:
    """Rows of a result: both ends of an interval are one, and so are identities up to rounding on the same side."""
    identities: dict[bool, list[Comparison]] = {True: [], False: []}
    others: dict[tuple, Comparison] = {}
    for c in result.comparisons:
        if is_identity(c):
            identities[c.claim is None].append(c)
        else:
            others.setdefault((c.quantity, c.interval or (c.measured, c.relation, c.expected)), c)
    merged = [_merged(same) if len(same) > 1 else _row(same[0]) for same in identities.values() if same]
    told = [_row(c) for c in others.values()]
    return sorted([*told, *merged], key=lambda row: (not row.missed, not row.paper))


def is_identity(c: Comparison) -> bool:
    """Whether it says that something is 0 up to rounding, and it is."""
    exact = c.relation == "=" and c.expected == 0 and c.standard_error is None and c.tolerance <= ROUNDING
    return exact and c.holds and (c.claim is None or c.standing is Standing.AGREES)


def largest_error(comparisons: Iterable[Comparison]) -> str:
    """Of identities."""
    return number(max(abs(c.measured) for c in comparisons))


def _merged(same: list[Comparison]) -> Row:
    words = "; ".join(dict.fromkeys(c.quantity for c in same))
    quantity = f'{len(same)} identities <span class="check-merged">{words}</span>'
    claimed = same[0].claim is not None
    return Row(same[0], quantity, "0" if claimed else "", "" if claimed else "0", f"error {largest_error(same)}")


def _row(c: Comparison) -> Row:
    paper = _said(c.claim.relation, c.claim.number) if c.claim else ""
    by_number = c.relation == "=" and (c.claim is None or c.claim.number != c.expected or c.claim.relation != "=")
    ours = _said(c.relation, c.expected) if c.claim is None or (by_number and c.interval is None) else ""
    return Row(c, c.quantity, paper, ours, _measured(c))


def _said(relation: str, value: float) -> str:
    return number(value) if relation == "=" else f"{relation} {number(value)}"


def _measured(c: Comparison) -> str:
    if c.interval:
        return within(*c.interval)
    if c.standard_error is not None:
        return with_error(c.measured, c.standard_error)
    tolerance = max(ROUNDING, ROUNDING * abs(c.expected))
    if c.relation == "=" and c.tolerance > tolerance:
        return f"{number(c.measured)} (to within {number(c.tolerance, 2)})"
    return number(c.measured, 6 if abs(c.measured - c.expected) <= tolerance else 4)
