"""What the checks of all chapters say, ordered for the record: the state of every statement, and the errata.

A verdict counts only where its check ran and is supported; nothing here states one otherwise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from attngeo.display.page import badge
from attngeo.paper.checks import Flaw, Verdict

NOT_YET = "not yet"
MAYBE_COPYING = "†"  # behind the number of an entry that could be an error of our text copy


@dataclass(frozen=True)
class Finding:
    """One judged part of a statement: the reports of one check, from every chapter that shows it."""

    report: Mapping  # the first of them, `Result.to_dict()`
    chapters: tuple[str, ...]
    supported: bool  # in every chapter that shows it

    @property
    def number(self) -> str:
        """Statement and part, as the book prints them."""
        return f"{self.report['statement']} {self.report['part']}".strip()

    @property
    def verdict(self) -> Verdict:
        """What the checks say of it."""
        return Verdict(self.report["verdict"])

    @property
    def flaw(self) -> Flaw | None:
        """Its group on the errata page."""
        return Flaw(self.report["flaw"]) if self.report["flaw"] else None

    @property
    def badge(self) -> str:
        """The verdict in its frame, or that this run does not support it."""
        return badge(self.verdict.value, self.supported)

    @property
    def links(self) -> str:
        """The chapters, linked from another chapter's page."""
        return ", ".join(f"[{name.replace('_', ' ')}]({name}.py)" for name in self.chapters)


def findings(reports: Iterable[Mapping], order: Iterable[str] = ()) -> list[Finding]:
    """Reported checks (`attngeo.book.reported_checks`), one entry for each statement and part.

    Args:
        reports: what the chapters showed; a check shown twice becomes one entry.
        order: numbers of statements; entries follow it, and those it does not name come last.
    """
    grouped: dict[tuple[str, str], list[Mapping]] = {}
    for report in reports:
        grouped.setdefault((report["statement"], report["part"]), []).append(report)
    found = [
        Finding(
            same[0],
            chapters=tuple(dict.fromkeys(report["chapter"] for report in same)),
            supported=all(report["supported"] and report["verdict"] == same[0]["verdict"] for report in same),
        )
        for same in grouped.values()
    ]
    place = {number: i for i, number in enumerate(order)}
    return sorted(found, key=lambda f: place.get(f.report["statement"], len(place)))


def states(statements: pd.DataFrame, found: Iterable[Finding]) -> pd.DataFrame:
    """Every statement with its state.

    Args:
        statements: `attngeo.paper.published.statements`.
        found: what the checks say.

    Returns:
        Indexed by number: kind, title, checks (how many), state (badges of the verdicts, or "not yet") and chapters
        (links).
    """
    by_statement: dict[str, list[Finding]] = {number: [] for number in statements.index}
    for finding in found:
        by_statement.setdefault(finding.report["statement"], []).append(finding)
    rows = {
        number: {
            "kind": statements.kind.get(number, ""),
            "title": statements.title.get(number, ""),
            "checks": len(same),
            "state": _state(same),
            "chapters": ", ".join(dict.fromkeys(f.links for f in same)),
        }
        for number, same in by_statement.items()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("number")


def _state(same: list[Finding]) -> str:
    supported = [f.verdict for f in same if f.supported]
    badges = [
        badge(verdict.value) + (f" ×{supported.count(verdict)}" if supported.count(verdict) > 1 else "")
        for verdict in Verdict
        if verdict in supported
    ]
    if len(supported) < len(same):
        badges.append(badge(Verdict.FAILS.value, supported=False))
    return " ".join(badges) or NOT_YET


def counts(table: pd.DataFrame) -> pd.DataFrame:
    """How many statements of each kind there are, have a check, and have none, with a sum."""
    checked = table.state != NOT_YET
    kinds = pd.DataFrame({"kind": table.kind, "in the paper": 1, "checked": checked * 1, NOT_YET: ~checked * 1})
    summed = kinds.groupby("kind", sort=False).sum()
    return pd.concat([summed, summed.sum().rename("all").to_frame().T]).rename_axis("kind")


def errata(found: Iterable[Finding], flaw: Flaw) -> pd.DataFrame:
    """The supported findings of one group: entry (number, verdict, chapter), what is printed where, what holds."""
    rows = []
    for f in (f for f in found if f.supported and f.flaw is flaw):
        r, mark = f.report, f" {MAYBE_COPYING}" if f.report["maybe_copying"] else ""
        printed = f"*Printed* ({r['place']}): {r['printed']}" if r["place"] else f"*Printed:* {r['printed']}"
        rows.append(
            {
                "entry": f"**{f.number}**{mark} {f.badge} in {f.links}",
                "as printed, and what holds": f"{printed}<br>*Holds:* {r['corrected'] or r['remark']}",
            }
        )
    return pd.DataFrame(rows, columns=["entry", "as printed, and what holds"])
