"""What the checks of all chapters say of each part of a statement, in the order of the paper.

A verdict counts only where its check ran and is supported; nothing here states one otherwise.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from attngeo.display.page import badge
from attngeo.paper.checks import Flaw, Verdict


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
