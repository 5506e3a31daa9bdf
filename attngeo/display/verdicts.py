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

    statement: str
    part: str
    title: str
    verdict: Verdict
    flaw: Flaw | None
    printed: str
    corrected: str
    remark: str
    maybe_copying: bool
    chapters: tuple[str, ...]
    supported: bool  # in every chapter that shows it

    @property
    def number(self) -> str:
        """Statement and part, as the book prints them."""
        return f"{self.statement} {self.part}".strip()

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
    found = [_finding(same) for same in grouped.values()]
    place = {number: i for i, number in enumerate(order)}
    return sorted(found, key=lambda f: place.get(f.statement, len(place)))


def _finding(same: list[Mapping]) -> Finding:
    first = same[0]
    return Finding(
        verdict=Verdict(first["verdict"]),
        flaw=Flaw(first["flaw"]) if first["flaw"] else None,
        chapters=tuple(dict.fromkeys(report["chapter"] for report in same)),
        supported=all(report["supported"] and report["verdict"] == first["verdict"] for report in same),
        **{
            key: first[key] for key in ("statement", "part", "title", "printed", "corrected", "remark", "maybe_copying")
        },
    )


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
        by_statement.setdefault(finding.statement, []).append(finding)
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
    """The supported findings of one group: entry (number, verdict, chapter), and what is printed and what holds."""
    rows = [
        {
            "entry": f"**{f.number}**{f' {MAYBE_COPYING}' if f.maybe_copying else ''} {f.badge} in {f.links}",
            "as printed, and what holds": f"*Printed:* {f.printed}<br>*Holds:* {f.corrected or f.remark}",
        }
        for f in found
        if f.supported and f.flaw is flaw
    ]
    return pd.DataFrame(rows, columns=["entry", "as printed, and what holds"])
